"""Trace analysis for PyTorch performance work: read profiler traces and call stacks, ask what abstraction costs."""

from tracelens import analyses
from tracelens.calling import apply_calls
from tracelens.collectors import collect
from tracelens.collectors.torch.running import capture
from tracelens.measuring import Protocol, measure
from tracelens.plan import Plan, apply_plan, make_plan
from tracelens.trace import Trace
from tracelens.trace.combine import add_timings

open = Trace.open  # noqa: A001 - tl.open reads like gzip.open

__all__ = [
    "Plan",
    "Protocol",
    "Trace",
    "add_timings",
    "analyses",
    "apply_calls",
    "apply_plan",
    "capture",
    "collect",
    "make_plan",
    "measure",
    "open",
]
