"""Compute what measuring costs: a model by each timing method, and by the state of its process."""

from __future__ import annotations

import tracelens as tl
from samples.kit.significance import Range
from samples.thesis.figures import Run

CONFIGURATIONS = {"cuda": "CUDA", "triton": "compiled"}
METHODS = {
    ("sync", False): "synchronised",
    ("timed", False): "timed",
    ("timed-sync", False): "timed and synchronised",
}
"""Methods that are compared with plain executions: variant, and whether the profiler ran."""
PLAIN = ("pure", False)
OF = ("eager", "compiled")
NEVER, UNDER, AFTER = "never profiled", "profiled", "after profiling"
"""States of a process: before the profiler ran, under it, and after it."""
Times = dict[tuple[str, bool], Range]
"""Milliseconds of a model in one configuration, by variant and whether the profiler ran."""


def times_of(run: Run, model: str, configuration: str) -> Times:
    """Return the wall times of a model's executions; the list is empty if none were taken.

    On CUDA they are from a process that had not profiled yet.
    """
    if configuration == "cuda":
        return {
            (row["variant"], row["profiled"]): Range(*row["wall_ms"])
            for row in run.baselines
            if row["model"] == model and "variant" in row
        }
    trace = run.captures.get(f"{model}_timings_cuda")
    if trace is None:
        return {}
    return wall_times(trace, configuration)


def wall_times(trace: tl.Trace, configuration: str) -> Times:
    """Return the wall times in a capture of timings."""
    frame = tl.analyses.timing_methods(trace).filter(configuration=configuration, quantity="wall")
    by = ("variant", "profiled", "low_ns", "median_ns", "high_ns")
    return {
        (variant, profiled): Range(
            low / 1e6,
            middle / 1e6,
            high / 1e6,
        )
        for variant, profiled, low, middle, high in frame.select(by).iter_rows()
    }


def states(run: Run, model: str, of: str) -> dict[str, Range]:
    """Return the milliseconds of a model, eager or compiled, by the state of its process."""
    return {
        row["state"]: Range.of([ns / 1e6 for ns in row["durations_ns"]])
        for row in run.baselines
        if row["model"] == model and row.get("of") == of
    }
