"""The time of each host thread by activity."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Parallel, Scope, SplitBars, named
from tracelens.derive.columns.ratios import over
from tracelens.derive.time.thread_times import thread_times
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import THREADS
from tracelens.trace import Trace

_PARTS = ("wait", "op", "api", "python", "unrecorded")


def threads(trace: Trace) -> pl.DataFrame:
    """List the threads with spans or API calls by rank and process.

    Those with most time in ops come first.
    Times are over the program: all steps, or the phase program on a rank that marks none. The parts
    add up to window_ns. Raises MissingTableError when the trace has neither.
    """
    if not trace.has("spans") and not trace.has("api_calls"):
        raise MissingTableError(
            "threads needs spans or api_calls, both empty here; tracelens collect torch or nsys"
            " gives them"
        )
    times = thread_times(trace)
    shares = (
        over(pl.col(f"{part}_ns"), pl.col("window_ns")).alias(f"{part}_frac") for part in _PARTS
    )
    times = times.with_columns(shares)
    order = ["rank", "op_ns", "api_ns", "python_ns", "process_id", "thread_id"]
    return THREADS.conform(times.sort(order, descending=[False, True, True, True, False, False]))


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {
        "op_ns": "ops",
        "wait_ns": "waits",
        "api_ns": "API calls",
        "python_ns": "Python",
        "unrecorded_ns": "nothing recorded",
    }
    return [
        SplitBars("What each thread did", frame, named(frame, "process_id", "thread_id"), parts)
    ]


ANALYSIS = Analysis(
    "What does each host thread do?",
    THREADS,
    threads,
    shown=(
        "rank",
        "process_id",
        "thread_id",
        "op_frac",
        "wait_frac",
        "api_frac",
        "python_frac",
        "unrecorded_frac",
        "op_ns",
        "n_ops",
    ),
    charts=_charts,
    scope=Scope.HOST,
    parallel=Parallel.BY_RANK,
)
