"""How much of the host's recorded time is the profiler's, where it recorded Python calls."""

import polars as pl

from tracelens.derive.time.host_activity import PROFILER
from tracelens.derive.time.step_table import activities_of
from tracelens.trace import Trace

RECORDING_NS = (200, 2_000)
"""Recording one Python call takes at least and at most this long.

torch 2.11 takes 0.3 µs for one that does nothing on a processor of 2023, and several times as
long where the call has arguments to format, or the machine is slow.
"""
_END = pl.col("start_ns") + pl.col("duration_ns")
_THREAD = ["rank", "process_id", "thread_id"]


def least_and_most_kept(trace: Trace) -> dict[str, tuple[float, float]]:
    """For each cause the least and the most of its recorded time that is the program's own.

    Each Python call that was recorded meanwhile took the profiler RECORDING_NS. A cause is left
    out where no calls were recorded.
    """
    return trace.derived(_least_and_most_kept)


def _least_and_most_kept(trace: Trace) -> dict[str, tuple[float, float]]:
    is_python = pl.col("kind") == "python"
    calls = trace.select("spans", *_THREAD, "start_ns", where=is_python)
    did = activities_of(trace).filter(pl.col("what").ne_missing(PROFILER))
    if calls.is_empty() or did.is_empty():
        return {}
    did = did.select(*_THREAD, "cause", "start_ns", "duration_ns", end_ns=_END)
    did = did.with_columns(pl.col("cause").cast(pl.String)).sort("start_ns")
    placed = calls.sort("start_ns").join_asof(
        did.drop("duration_ns").with_columns(begun="start_ns"),
        on="start_ns",
        by=_THREAD,
        check_sortedness=False,
    )
    counts = placed.filter(pl.col("start_ns") < pl.col("end_ns")).group_by("cause").len("n")
    times = did.group_by("cause").agg(ns=pl.col("duration_ns").sum())
    rows = times.join(counts, on="cause").filter(pl.col("ns") > 0)
    low, high = (
        (1 - cost * pl.col("n") / pl.col("ns")).clip(0, 1) for cost in reversed(RECORDING_NS)
    )
    return {
        cause: (least, most)
        for cause, least, most in rows.select("cause", least=low, most=high).iter_rows()
    }
