"""What measuring costs: a whole model by each way of timing, beside the plain run."""

from __future__ import annotations

import polars as pl

import tracelens as tl
from samples.kit.significance import Range
from samples.thesis.figures import Run

CONFIGURATIONS = {"cuda": "CUDA", "triton": "compiled"}
METHODS = {
    ("sync", False): "synchronised",
    ("timed", False): "timed",
    ("timed-sync", False): "timed and synchronised",
    ("pure", True): "profiled",
}
"""Variant, and whether the profiler ran, of the executions that are compared with plain ones."""
PLAIN = ("pure", False)
Times = dict[tuple[str, bool], Range]
"""Milliseconds of a model in one configuration by variant and whether the profiler ran."""


def times_of(run: Run, model: str, configuration: str) -> Times:
    """Wall times of a model's executions; empty where none were taken."""
    trace = run.captures.get(f"{model}_timings_cuda")
    if trace is None:
        return {}
    frame = tl.analyses.timing_methods(trace).filter(configuration=configuration, quantity="wall")
    by = ("variant", "profiled", "low_ns", "median_ns", "high_ns")
    return {
        (variant, profiled): Range(low / 1e6, middle / 1e6, high / 1e6)
        for variant, profiled, low, middle, high in frame.select(by).iter_rows()
    }


def before_any_profiler(run: Run, model: str) -> float:
    """Milliseconds of the one warm execution that came before the process had profiled anything.

    It is the second of the first warm-up round; all later plain runs follow profiled ones.
    """
    timings = run.captures[f"{model}_timings_cuda"].timings
    first = timings.filter(
        ~pl.col("profiled"), ~pl.col("synchronized"), method="e2e", configuration="cuda", round=0
    )
    return float(first["duration_ns"][1]) / 1e6
