"""What a step would gain from each op, layer and cause taking a tenth less time."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, named
from tracelens.derive.replay.replay import replay_error_frac, replays
from tracelens.derive.replay.sensitivity import sensitivity_of
from tracelens.derive.replay.unprofiled import LARGEST_ERROR, unprofiled_steps
from tracelens.derive.time.step_table import require_time
from tracelens.schemas.results.replay import SENSITIVITY
from tracelens.trace import Trace


def sensitivity(trace: Trace) -> pl.DataFrame:
    """List the ops, layers and causes that take most of a step, and what a tenth less would give.

    There is one row per rank and op, layer or cause. Steps around the median one are replayed
    without the profiler. What the step does not wait for saves nothing. Raises MissingTableError
    without kernels and ops.
    """
    require_time(trace, "sensitivity")
    steps = unprofiled_steps(trace)
    parts = [
        sensitivity_of(trace, replay, steps.get(rank))
        for rank, replay in replays(trace).items()
        if replay_error_frac(replay) <= LARGEST_ERROR
    ]
    rows = pl.concat([SENSITIVITY.empty(), *(SENSITIVITY.conform(part) for part in parts)])
    return rows.sort(
        "rank", "saved_ns", "total_ns", "kind", "what", descending=[False, True, True, False, False]
    )


def notes(_trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Name the row that gives most."""
    if not frame.height:
        return ["No step is replayed, so nothing is said of what would shorten one."]
    best = frame.sort("saved_ns", descending=True, maintain_order=True).row(0, named=True)
    if not best["saved_ns"]:
        return ["Nothing alone that takes a tenth less time shortens a step."]
    saved = f"{best['saved_ns'] / 1e6:.2f} ms"
    return [f"A tenth less time for {best['what']} shortens a step most: by {saved}."]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    title = "What a tenth less would save"
    return [Bars(title, frame, named(frame, "kind", "what"), "saved_ns", "kind")]


ANALYSIS = Analysis(
    "What would shorten a step?",
    SENSITIVITY,
    sensitivity,
    notes=notes,
    shown=("rank", "kind", "what", "total_ns", "saved_ns"),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
