"""How much of the host's recorded time is the profiler's, where it recorded Python calls."""

import polars as pl

from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.step_table import activities_of
from tracelens.trace import Trace

RECORDING_NS = (200, 2_000)
"""Recording one Python call takes at least and at most this long.

torch 2.11 takes 0.3 µs for one that does nothing on a processor of 2023, and several times as
long where the call has arguments to format, or the machine is slow.
"""
_END = pl.col("start_ns") + pl.col("duration_ns")
_THREAD = ["rank", "process_id", "thread_id"]
_PLACE = ["cause", "what"]
_SLOWED = {"cause": pl.String, "what": pl.String, "least": pl.Float64, "most": pl.Float64}


def slowed_parts(trace: Trace) -> pl.DataFrame:
    """Bound what recording Python calls added to the host's time: one row per cause and place.

    The place is `what`. `least` and `most` are the shares of the recorded time that are the
    program's own: each Python call that was recorded meanwhile took RECORDING_NS. Empty where no
    calls were recorded.
    """
    return trace.derived(_slowed_parts)


def _slowed_parts(trace: Trace) -> pl.DataFrame:
    is_python = pl.col("kind") == "python"
    calls = trace.select("spans", *_THREAD, "start_ns", where=is_python)
    did = activities_of(trace).filter(pl.col("what").ne_missing(PROFILER))
    if calls.is_empty() or did.is_empty():
        return pl.DataFrame(schema=_SLOWED)
    did = did.select(*_THREAD, "start_ns", "duration_ns", pl.col(_PLACE).cast(pl.String))
    # Only a process without a device has places of launching, and they are judged together.
    did = did.with_columns(what=pl.when(pl.col("cause") != "launch").then("what"))
    during = did.drop("duration_ns").with_columns(end_ns=did.select(_END).to_series())
    placed = calls.sort("start_ns").join_asof(
        during.sort("start_ns"), on="start_ns", by=_THREAD, check_sortedness=False
    )
    counts = placed.filter(pl.col("start_ns") < pl.col("end_ns")).group_by(_PLACE).len("n")
    times = did.group_by(_PLACE).agg(ns=pl.col("duration_ns").sum())
    rows = times.join(counts, on=_PLACE, nulls_equal=True).filter(pl.col("ns") > 0)
    least, most = (
        (1 - cost * pl.col("n") / pl.col("ns")).clip(0, 1) for cost in reversed(RECORDING_NS)
    )
    return rows.select(*_PLACE, least=least, most=most)
