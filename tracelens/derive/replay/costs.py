"""What a profiler adds to the host's time, and a replay without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import polars as pl

from tracelens.derive.replay.device import LEAST_LATENCY_NS
from tracelens.derive.replay.edges import CALL, COPY, KERNEL, LAUNCH, OP, PYTHON, picked
from tracelens.derive.replay.moment_graph import Ints
from tracelens.derive.replay.replay import Replay
from tracelens.trace import Trace

_LEAST_LEFT = 0.05
"""At least this share of each stretch of the host's time is the program's own."""
_HOST = (OP, PYTHON, CALL, LAUNCH)


@dataclass(frozen=True, slots=True)
class Costs:
    """The host time that a profiler adds to each op, Python call and API call that it records.

    `generated_ns` is added to each launch of a kernel that torch.compile generated, as well:
    Inductor's launcher describes the launch to a profiler.
    """

    op_ns: float
    python_ns: float
    call_ns: float
    generated_ns: float = 0

    def times(self, factor: float) -> Costs:
        """Multiply these costs by the factor."""
        return Costs(
            self.op_ns * factor,
            self.python_ns * factor,
            self.call_ns * factor,
            self.generated_ns * factor,
        )


@dataclass(frozen=True, slots=True)
class CostsBeside(Costs):
    """Costs of a profiler whose work for an API call is mostly before and after what it records.

    `beside_ns` is added to the host's time around each API call, half of it on either side.
    """

    beside_ns: float = 0

    def times(self, factor: float) -> CostsBeside:
        """Multiply these costs by the factor."""
        return CostsBeside(
            self.op_ns * factor,
            self.python_ns * factor,
            self.call_ns * factor,
            self.generated_ns * factor,
            self.beside_ns * factor,
        )


NO_COSTS = Costs(0, 0, 0)
TORCH_COSTS = {
    "plain": Costs(1_700, 0, 2_500, 12_000),
    "shapes": Costs(2_500, 0, 1_610, 24_750),
    "stacks": Costs(2_730, 730, 1_230, 60_000),
}
"""Costs of torch.profiler by what it recorded, for a trace of which nothing else is known.

Fitted by samples/whatif/fit.py on half of the programs of samples/whatif (torch 2.11, the host of
an H200), and judged on the other half: docs/accuracy.md. The last of stacks is chosen, since a fit
finds no upper bound for it.
"""
NSYS_COSTS = CostsBeside(0, 0, 2_000, 0, 5_000)
"""Costs of nsys, of CUDA alone or with the operating system's calls.

Fitted by samples/nsys/costs/fit.py on half of the programs there, and judged on the other half:
docs/accuracy.md. What nsys adds to an NVTX range, about 1 µs, is not taken off.
"""
_NSYS_LAUNCH_NS = 7_200
"""The median time of a recorded launch in the captures that NSYS_COSTS were fitted on."""
_LAUNCH_NS = 4_350
"""The median time of a recorded launch in the captures that TORCH_COSTS were fitted on."""
_BARE_LAUNCH_NS = _LAUNCH_NS - 2_500
"""What is left of it without the profiler."""
_LONG_LAUNCH_NS, _FEW_LAUNCHES = 50_000, 10
"""Launches that take longer wait for room in a queue; from fewer, no host's speed is told."""
_LEAST_SLOWNESS, _MOST_SLOWNESS = 0.25, 4.0
_GRAPH_KERNEL_NS = 156
"""What recording adds on the device to each kernel of a replayed CUDA graph.

Fitted on one program of samples/whatif, gpt_decode, and judged on two others.
"""
_MOST_NS = 1e9
"""No event costs a second."""
_SLOWER_HOST = 1.1
RUN_SHARE, HOST_SHARE, ADDED_SHARE = 0.02, 0.5, 0.2
"""Shares that make up the expected error of a step without the profiler.

They are shares of the step itself, of what a slower host would add to it, and of the time taken off
for the profiler. They are chosen; STEP_WIDTH says how many times their sum a range is wide, which
was measured."""
STEP_WIDTH, CHANGE_WIDTH = 2.2, 2.2
"""A range reaches this many times that sum to both sides.

So wide, it held the truth of nine in ten captures of samples/whatif, and of nine in ten changed
programs there.
"""
NSYS_STEP_WIDTH = 2.8
"""The same for a step under nsys: it held nine in ten captures of samples/nsys/costs."""


def kind_of_profile(trace: Trace, rank: int) -> str:
    """Return what torch.profiler recorded beside ops and kernels: stacks, shapes, memory, or plain.

    Memory counts as shapes. Where a capture has the times of a light window, these are plain.
    """
    for source in trace.manifest.sources:
        settings = source.get("settings")
        if source.get("rank") == rank and isinstance(settings, dict):
            if settings.get("light_window"):
                return "plain"
            if settings.get("with_stack"):
                return "stacks"
            if settings.get("record_shapes") or settings.get("profile_memory"):
                return "shapes"
    return "plain"


MOST_TIMES = 7
"""Costs more than this many times the usual ones have another cause than the profiler."""
SETTING = "profiler_costs"
"""A source's setting that keeps the costs measured on its own machine.

It has a list of the numbers of `Costs` by kind of profile.
"""


def costs_of(trace: Trace, replay: Replay) -> tuple[Costs, str]:
    """Return what the profiler added to a rank's events, and the evidence: calibrated, or table.

    What the table says is of one host. The profiler works on the host that it records, so its costs
    are longer by as much as what it added to a launch, which the recorded ones tell.
    """
    rank = replay.excerpt.rank
    kind = kind_of_profile(trace, rank)
    for source in trace.manifest.sources:
        settings = source.get("settings")
        if source.get("rank") == rank and isinstance(settings, dict):
            calibrated = costs_by_kind(settings.get(SETTING))
            if kind in calibrated:
                return calibrated[kind], "calibrated"
    if is_of(trace, rank, "nsys"):
        return NSYS_COSTS.times(slowness_under_nsys(replay)), "table"
    return TORCH_COSTS[kind].times(slowness(replay)), "table"


def is_of(trace: Trace, rank: int, kind: str) -> bool:
    """Return whether a rank's events are from this kind of source: torch, nsys."""
    return any(
        source.get("rank") == rank and source.get("kind") == kind
        for source in trace.manifest.sources
    )


def slowness(replay: Replay) -> float:
    """Return how many times longer the profiler takes for an event than where costs were fitted."""
    launch_ns = _launch_ns(replay)
    if launch_ns is None:
        return 1.0
    return _within_reason((launch_ns - _BARE_LAUNCH_NS) / (_LAUNCH_NS - _BARE_LAUNCH_NS))


def slowness_under_nsys(replay: Replay) -> float:
    """Return how many times longer nsys takes for a call than where its costs were fitted.

    A launch takes as many times longer as well: most of nsys' cost is beside it.
    """
    launch_ns = _launch_ns(replay)
    return 1.0 if launch_ns is None else _within_reason(launch_ns / _NSYS_LAUNCH_NS)


def _within_reason(slowness: float) -> float:
    return min(max(slowness, _LEAST_SLOWNESS), _MOST_SLOWNESS)


def _launch_ns(replay: Replay) -> float | None:
    """Return the median time of a launch; None where there are few."""
    calls = replay.excerpt.calls.filter(pl.col("api").str.contains("^cu.*LaunchKernel"))
    took_ns = (calls["end"] - calls["start"]).to_numpy()
    took_ns = took_ns[took_ns < _LONG_LAUNCH_NS]
    return float(np.median(took_ns)) if len(took_ns) >= _FEW_LAUNCHES else None


def costs_by_kind(stored: object) -> dict[str, Costs]:
    """Read the costs of each kind of profile from a manifest or file; {} from anything else."""
    if not isinstance(stored, Mapping):
        return {}
    return {kind: Costs(*stored[kind]) for kind in TORCH_COSTS if _are_costs(stored.get(kind))}


def _are_costs(stored: Any) -> bool:
    """Return whether this is one number for each field of `Costs`, none negative or infinite."""
    return (
        isinstance(stored, list)
        and len(stored) == len(astuple(NO_COSTS))
        and all(type(ns) in {int, float} and 0 <= ns < _MOST_NS for ns in stored)
    )


def weights_without(replay: Replay, costs: Costs, host_factor: float = 1) -> Ints:
    """Return the weights without the profiler: host time less what it adds, and graphs' kernels.

    No stretch falls below a rest.
    The host's time is multiplied by the factor, for a faster or a slower host; so are copies from
    and to pageable memory, whose bytes the host moves.
    """
    table = replay.table
    recorded = table.graph.weights
    added = (table.n_ops * costs.op_ns + table.n_python * costs.python_ns) / 2
    added += table.n_generated * costs.generated_ns / 2
    added += table.n_calls * costs.call_ns
    if isinstance(costs, CostsBeside):
        added += _n_calls_beside(replay) * costs.beside_ns / 2
    if costs != NO_COSTS:
        added += table.profiler_ns
    is_launch = table.kinds == LAUNCH
    least = np.where(is_launch, np.minimum(recorded, LEAST_LATENCY_NS), _LEAST_LEFT * recorded)
    bare = np.maximum(recorded - added, least)
    bare = np.where(is_launch, bare, bare * host_factor).astype(np.int64)
    on_device = recorded
    if costs != NO_COSTS:
        of_graph = (table.kinds == KERNEL) & picked(replay.work.is_graph == 1, table.items)
        on_device = np.where(of_graph, np.maximum(recorded - _GRAPH_KERNEL_NS, 0), recorded)
    is_pageable = replay.excerpt.work["is_pageable"].fill_null(value=False).to_numpy()
    is_staged = (table.kinds == COPY) & picked(is_pageable, table.items)
    on_device = np.where(is_staged, on_device * host_factor, on_device).astype(np.int64)
    return np.where(np.isin(table.kinds, _HOST), bare, on_device)


def _n_calls_beside(replay: Replay) -> Ints:
    """Count, for each stretch of the host outside of calls, the calls that it touches: 0 to 2."""
    table = replay.table
    sources, targets = table.graph.sources, table.targets
    is_call = table.kinds == CALL
    is_between = np.isin(table.kinds, (OP, PYTHON))
    n_beside = np.isin(sources, targets[is_call]).astype(np.int64)
    n_beside += np.isin(targets, sources[is_call])
    return np.where(is_between, n_beside, 0)


def weights_of_scenarios(replay: Replay, costs: Costs) -> tuple[Ints, Ints, Ints]:
    """Return the weights without the profiler, the same on a slower host, and with the profiler."""
    return (
        weights_without(replay, costs),
        weights_without(replay, costs, _SLOWER_HOST),
        replay.table.graph.weights,
    )


def uncertainty_ns(usual_ns: float, slower_ns: float, recorded_ns: float) -> float:
    """Return how large an error to expect of a step, from what it takes in the three scenarios."""
    return (
        RUN_SHARE * usual_ns
        + HOST_SHARE * abs(slower_ns - usual_ns)
        + ADDED_SHARE * abs(recorded_ns - usual_ns)
    )
