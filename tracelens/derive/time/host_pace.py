"""Measure what each rank's host does in a step, and how fast it would be without any waiting.

While a rank waits for others, its host runs ahead, so its device does not show what the host does.
The host's own clock is read instead: from a step's mark to the next one.
"""

from __future__ import annotations

import polars as pl

from tracelens.derive.columns.intervals import union
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.time_parts import TimeModel

_BLOCKED_NS = 1_000_000
"""A launch this long or longer waits because the device's queue is full."""
_QUEUED = ("kernel_launch", "graph_launch", "memcpy", "memset")
_BLOCKED = ("sync", "communication", "allocation")
"""Causes of activities in which a host may wait for its device, and thus for other ranks."""
_START, _END = pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns")


def host_paces(model: TimeModel) -> pl.DataFrame:
    """Return how long each rank's host works in a step: rank, step, pace_ns, launching_ns.

    pace_ns is the time from the step's mark to the next one, without the time in which a thread
    waits for the device or for other ranks. launching_ns is the part of pace_ns in which it calls
    ops and launches work. Ranks without steps, or without a device, have no rows.
    """
    steps = _host_steps(model)
    calls = model.trace.select("api_calls", "rank", "kind", "start_ns", "duration_ns")
    is_blocked = pl.col("kind").is_in(_QUEUED) & (pl.col("duration_ns") >= _BLOCKED_NS)
    waits = model.host.filter(pl.col("cause").is_in(_BLOCKED))
    blocked = pl.concat(
        frame.select("rank", "start_ns", end_ns=_END) for frame in (calls.filter(is_blocked), waits)
    )
    inside = _in_steps(union(blocked.sort("rank", "start_ns"), by="rank"), steps)
    blocked_ns = inside.group_by("rank", "step").agg(pl.col("spent_ns").sum())
    pace_ns = pl.col("until_ns") - pl.col("begin_ns") - pl.col("spent_ns").fill_null(0)
    paces = steps.join(blocked_ns, on=["rank", "step"], how="left")
    is_known = pl.col("is_marked") & ~pl.col("rank").is_in([*model.processes])
    paces = paces.filter(is_known).select("rank", "step", pace_ns=pace_ns.clip(0))
    launching = host_causes(model).filter(cause="launch").drop("cause")
    both = paces.join(launching, on=["rank", "step"], how="left")
    launching_ns = pl.min_horizontal("pace_ns", pl.col("spent_ns").fill_null(0))
    return both.select("rank", "step", "pace_ns", launching_ns=launching_ns).sort("rank", "step")


def host_causes(model: TimeModel) -> pl.DataFrame:
    """Return one row per rank, step and cause: spent_ns, without the profiler's work.

    Steps begin and end by the host's own clock. On a rank without steps, step is None.
    """
    is_program = pl.col("what").ne_missing(PROFILER)
    did = model.host.filter(is_program).select("rank", "cause", "start_ns", end_ns=_END)
    inside = _in_steps(did, _host_steps(model))
    unmarked = did.join(model.steps, on="rank", how="anti")
    no_step = pl.lit(None, inside.schema["step"]).alias("step")
    whole = unmarked.select("rank", no_step, "cause", spent_ns=pl.col("end_ns") - _START)
    both = pl.concat([inside.select(whole.columns), whole])
    return both.group_by("rank", "step", "cause").agg(pl.col("spent_ns").sum())


def _host_steps(model: TimeModel) -> pl.DataFrame:
    """Return when each rank's host begins a step, and the next one: begin_ns, until_ns.

    A step's mark is the first of its spans to begin. If a trace has no spans, the steps' own times
    are taken, and is_marked is False.
    """
    marks = model.trace.select("spans", "rank", "step", "start_ns").drop_nulls("step")
    marks = marks.group_by("rank", "step").agg(marked_ns=_START.min())
    steps = model.steps.join(marks, on=["rank", "step"], how="left")
    begin_ns = pl.coalesce("marked_ns", "start_ns")
    is_marked = pl.col("marked_ns").is_not_null()
    host_ns = pl.when(is_marked).then("host_ns").otherwise("duration_ns")
    return steps.select(
        "rank", "step", is_marked=is_marked, begin_ns=begin_ns, until_ns=begin_ns + host_ns
    )


def _in_steps(times: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Return the time spent in each step: step and spent_ns.

    Times that cross a mark are split there.
    """
    numbered = steps.sort("rank", "begin_ns").with_row_index("at")
    by_begin = numbered.select("rank", "at", "begin_ns").sort("begin_ns")
    ends = {}
    for edge in ("start_ns", "end_ns"):
        moments = times.select("rank", edge).with_row_index("row").sort(edge)
        nearest = moments.join_asof(
            by_begin, left_on=edge, right_on="begin_ns", by="rank", check_sortedness=False
        )
        ends[edge] = nearest.sort("row")["at"].cast(pl.Int64)
    placed = times.with_columns(first=ends["start_ns"], last=ends["end_ns"]).drop_nulls("last")
    firsts = numbered.group_by("rank").agg(earliest=pl.col("at").min().cast(pl.Int64))
    placed = placed.join(firsts, on="rank").with_columns(pl.coalesce("first", "earliest"))
    spread = placed.with_columns(at=pl.int_ranges("first", pl.col("last") + 1)).explode("at")
    of_step = numbered.select(pl.col("at").cast(pl.Int64), "step", "begin_ns", "until_ns")
    inside = spread.join(of_step, on="at")
    end_ns = pl.min_horizontal("end_ns", "until_ns")
    spent_ns = end_ns - pl.max_horizontal("start_ns", "begin_ns")
    return inside.with_columns(spent_ns=spent_ns).filter(pl.col("spent_ns") > 0)
