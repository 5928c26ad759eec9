"""Measure each rank's host time per step, with and without waits for devices and other ranks.

While a rank waits for other ranks, its host runs ahead of its device. So the host's time is
measured between step marks on the host.
"""

from __future__ import annotations

import polars as pl

from tracelens.derive.columns.intervals import union
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.thread_axis import LAUNCHES
from tracelens.derive.time.time_parts import TimeModel

_BLOCKED_NS = 1_000_000
"""A launch this long or longer waits because the device's queue is full."""
_BLOCKED = ("sync", "communication", "allocation")
"""Causes of activities in which a host may wait for its device, and thus for other ranks."""
_START, _END = pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns")


def host_paces(model: TimeModel) -> pl.DataFrame:
    """Return the host's working time per rank and step: rank, step, pace_ns, launching_ns.

    - `pace_ns`: time from the step's mark to the next mark, without waits for the device or for
      other ranks
    - `launching_ns`: the part of pace_ns in which the host calls ops and launches work

    Ranks without steps, or without a device, have no rows.
    """
    key = ["rank", "step"]
    steps = _host_steps(model)
    has_device = ~pl.col("rank").is_in([*model.processes])
    paced = steps.filter(pl.col("is_marked"), has_device)
    blocked = _in_steps(_blocked_times(model), steps)
    blocked_ns = blocked.group_by(key).agg(blocked_ns=pl.col("spent_ns").sum())
    launches = host_causes(model).filter(cause="launch")
    launch_ns = launches.select(*key, launch_ns="spent_ns")
    with_blocked = paced.join(blocked_ns, on=key, how="left")
    with_launch = with_blocked.join(launch_ns, on=key, how="left")
    times = with_launch.with_columns(pl.col("blocked_ns", "launch_ns").fill_null(0))
    step_ns = pl.col("until_ns") - pl.col("begin_ns")
    pace_ns = (step_ns - pl.col("blocked_ns")).clip(0)
    paces = times.with_columns(pace_ns=pace_ns)
    launching_ns = pl.min_horizontal("pace_ns", "launch_ns")
    of_steps = paces.select(*key, "pace_ns", launching_ns=launching_ns)
    return of_steps.sort(key)


def _blocked_times(model: TimeModel) -> pl.DataFrame:
    """Return the intervals in which a rank's host waits for its device or for other ranks.

    Columns: rank, start_ns and end_ns. A rank's intervals are disjoint.
    """
    columns = ("rank", "start_ns", "duration_ns")
    calls = model.trace.select("api_calls", "kind", *columns)
    is_launch = pl.col("kind").is_in(LAUNCHES)
    is_blocked = pl.col("duration_ns") >= _BLOCKED_NS
    into_full_queue = calls.filter(is_launch & is_blocked)
    is_wait = pl.col("cause").is_in(_BLOCKED)
    waits = model.host.filter(is_wait)
    both = pl.concat([into_full_queue.select(columns), waits.select(columns)])
    times = both.select("rank", "start_ns", end_ns=_END)
    in_order = times.sort("rank", "start_ns")
    return union(in_order, by="rank")


def host_causes(model: TimeModel) -> pl.DataFrame:
    """Return the host's time as spent_ns, one row per rank, step and cause.

    The profiler's own work is left out. On a rank without steps, step is None.
    """
    is_program = pl.col("what").ne_missing(PROFILER)
    times = model.host.filter(is_program).select(
        "rank",
        "cause",
        "start_ns",
        end_ns=_END,
    )
    inside = _in_steps(times, _host_steps(model))
    unmarked = times.join(model.steps, on="rank", how="anti")
    whole = unmarked.select(
        "rank",
        "cause",
        step=pl.lit(None, inside.schema["step"]),
        spent_ns=pl.col("end_ns") - _START,
    )
    both = pl.concat([inside.select(whole.columns), whole])
    return both.group_by("rank", "step", "cause").agg(pl.col("spent_ns").sum())


def _host_steps(model: TimeModel) -> pl.DataFrame:
    """Return each rank's steps on the host: rank, step, is_marked, begin_ns and until_ns.

    A step without spans has the times of the table `steps`, and is_marked is False.
    """
    key = ["rank", "step"]
    spans = model.trace.select("spans", *key, "start_ns").drop_nulls("step")
    marks = spans.group_by(key).agg(marked_ns=_START.min())
    steps = model.steps.join(marks, on=key, how="left")
    marked_ns = pl.col("marked_ns")
    is_marked = marked_ns.is_not_null()
    begin_ns = pl.coalesce(marked_ns, "start_ns")
    host_ns = pl.when(is_marked).then("host_ns").otherwise("duration_ns")
    return steps.select(
        *key,
        is_marked=is_marked,
        begin_ns=begin_ns,
        until_ns=begin_ns + host_ns,
    )


def _in_steps(times: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Split intervals by step: one row per interval and step, with step and spent_ns.

    Time before the rank's first step is left out.
    """
    by_begin = steps.sort("rank", "begin_ns")
    position = pl.int_range(pl.len(), dtype=pl.Int64)
    numbered = by_begin.with_columns(position=position)
    earliest = numbered.group_by("rank").agg(earliest=pl.col("position").min())
    with_positions = times.with_columns(
        first=_step_positions(times, "start_ns", numbered),
        last=_step_positions(times, "end_ns", numbered),
    )
    placed = with_positions.drop_nulls("last").join(earliest, on="rank")
    # Time that begins before the first step counts from the first step's begin.
    first = pl.coalesce("first", "earliest")
    positions = pl.int_ranges(first, pl.col("last") + 1)
    by_step = placed.with_columns(position=positions).explode("position")
    of_step = numbered.select("position", "step", "begin_ns", "until_ns")
    in_step = by_step.join(of_step, on="position")
    begin_ns = pl.max_horizontal("start_ns", "begin_ns")
    end_ns = pl.min_horizontal("end_ns", "until_ns")
    spent = in_step.with_columns(spent_ns=end_ns - begin_ns)
    return spent.filter(pl.col("spent_ns") > 0)


def _step_positions(times: pl.DataFrame, edge: str, numbered: pl.DataFrame) -> pl.Series:
    """Return, per interval, the position of the rank's last step to begin before `edge`.

    `edge` names the column start_ns or end_ns. The position is None before the first step.
    """
    begins = numbered.select("rank", "position", "begin_ns")
    edges = times.select("rank", edge).with_row_index("row")
    nearest = edges.sort(edge).join_asof(
        begins.sort("begin_ns"),
        left_on=edge,
        right_on="begin_ns",
        by="rank",
        check_sortedness=False,
    )
    return nearest.sort("row")["position"]
