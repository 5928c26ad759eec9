"""Find when threads communicate, and when a process without a device computes."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.intervals import END, covered_ns, union
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.columns.split_intervals import cut_at, overlay
from tracelens.derive.events.autograd_nodes import PYTHON_NODE
from tracelens.derive.processes.communication import (
    COMMUNICATION,
    ON_HOST,
    SPAN_KINDS,
    span_times,
)
from tracelens.derive.time.thread_axis import LAUNCHES, ThreadAxis

_IS_OPERATOR = r"^\w+::\w+$"
_EDGES = ["start_ns", "end_ns"]
COMPUTES = ("launch", "host", "communication")
"""Causes of activities during which ops count as computing; other causes explain the time."""


def with_op_time(
    activities: pl.DataFrame,
    spans: pl.DataFrame,
    marks: pl.DataFrame,
    mains: Sequence[tuple[int, int]],
) -> pl.DataFrame:
    """Add `op_ns`, the time of computing ops, to activities of processes without device calls.

    - `op_ns` is 0 for activities with a cause outside of COMPUTES.
    - `op_ns` is None on threads outside of `mains`, the main threads as (process, thread).

    A main thread's activities are cut at step marks. They are extended to cover the time from the
    first op of the process to the last.
    """
    ops = outermost_ops(spans)
    every_edge = pl.concat([marks["start_ns"], marks["end_ns"]]).cast(pl.Int64)
    edges = every_edge.unique().sort()
    process_id = pl.col("process_id")
    is_of_main = pl.lit(value=False)
    parts = []
    for process, thread in mains:
        is_of_process = process_id == process
        is_of_thread = is_of_process & (pl.col("thread_id") == thread)
        is_of_main |= is_of_thread
        of_main = activities.filter(is_of_thread)
        parts.append(_with_op_time_of_main(of_main, ops.filter(is_of_process), edges))
    is_other = ~is_of_main.fill_null(value=False)
    others = activities.filter(is_other).with_columns(op_ns=pl.lit(None, pl.Int64))
    return pl.concat([others, *parts]).sort("start_ns", maintain_order=True)


def _with_op_time_of_main(
    activities: pl.DataFrame,
    ops: pl.DataFrame,
    edges: pl.Series,
) -> pl.DataFrame:
    """Extend a main thread's activities over the ops, cut them at `edges`, and add op_ns.

    `edges` are times in ns.
    """
    extended = _extended_over(ops, activities).with_columns(end_ns=END)
    cut = cut_at(extended, edges)
    duration_ns = pl.col("end_ns") - pl.col("start_ns")
    timed = cut.with_columns(duration_ns=duration_ns).select(activities.columns)
    covered = covered_ns(timed, ops, ["process_id"])
    counts = pl.col("cause").cast(pl.String).is_in(COMPUTES)
    return timed.with_columns(op_ns=pl.when(counts).then(covered).otherwise(0))


def outermost_ops(spans: pl.DataFrame) -> pl.DataFrame:
    """Return process_id, start_ns and duration_ns of ops without an op as parent.

    Ops that communicate and autograd functions written in Python are left out.
    """
    names = spans["name"].cast(pl.Categorical)
    communicates, is_python_node = matching(names, COMMUNICATION, PYTHON_NODE)
    is_op = (spans["kind"] == "op") & ~is_python_node
    within = is_op.gather(spans["parent_id"]).fill_null(value=False)
    return span_times(spans, is_op & ~within & ~communicates)


def _extended_over(ops: pl.DataFrame, activities: pl.DataFrame) -> pl.DataFrame:
    """Add activities with the cause `host` before and after a main thread's activities.

    The added ones reach back to the first op of the process, and on to its last op.
    """
    if not ops.height:
        return activities.sort("start_ns")
    extent = {
        "first_ns": pl.col("start_ns").min(),
        "last_ns": END.max(),
    }
    low, high = activities.select(**extent).row(0)
    first, last = ops.select(**extent).row(0)
    added = []
    # Ops of other threads may start before the first activity or end after the last one.
    for start, end in ((first, low), (high, last)):
        if start < end:
            added.append(_host_activity(activities, start, end))
    return pl.concat([activities, *added]).sort("start_ns")


def _host_activity(activities: pl.DataFrame, start: int, end: int) -> pl.DataFrame:
    """Return an activity with the cause `host`, on the thread of the given activities."""
    schema = activities.schema
    nothing = {name: pl.lit(None, schema[name]) for name in ("what", "span_id", "api_call_id")}
    return activities.head(1).with_columns(
        start_ns=pl.lit(start, pl.Int64),
        duration_ns=pl.lit(end - start, pl.Int64),
        cause=pl.lit("host").cast(schema["cause"]),
        **nothing,
    )


def find_communication(axis: ThreadAxis, spans: pl.DataFrame) -> pl.DataFrame:
    """Find the time in which the axis's threads communicate: start_ns and end_ns.

    A thread communicates in an op of a process group, if the op launches nothing. It also
    communicates while a span of gloo or mpi is open and the thread runs no other op or call.
    `spans` are of all threads. The intervals are disjoint and sorted by start.
    """
    words = spans["name"].cast(pl.Categorical)
    in_groups, on_host = matching(words, COMMUNICATION, ON_HOST)
    if not in_groups.any() or not axis.calls_are_known:
        return pl.DataFrame(schema=dict.fromkeys(_EDGES, pl.Int64))
    axis_ops = axis.spans.filter(pl.col("kind") == "op")
    is_group, is_operator = matching(
        axis_ops["name"].cast(pl.Categorical),
        COMMUNICATION,
        _IS_OPERATOR,
    )
    operators = axis_ops.filter(is_operator & ~is_group).select(_EDGES)
    busy = pl.concat([operators, axis.calls[_EDGES]])
    open_spans = spans.filter(on_host & spans["kind"].is_in(SPAN_KINDS))
    layers = (
        _without_launches(axis_ops.filter(is_group), axis.calls),
        union(busy.sort("start_ns")),
        union(_on_axis(open_spans, axis).sort("start_ns")),
    )
    layered = overlay(layers)
    return union(layered.filter(pl.col("layer") != 1).select(_EDGES))


def _without_launches(ops: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the time of the ops that launch no device work, as disjoint intervals."""
    is_launch = pl.col("kind").is_in(LAUNCHES)
    launches = calls.filter(is_launch)["start_ns"]
    n_before_start = launches.search_sorted(ops["start_ns"])
    n_before_end = launches.search_sorted(ops["end_ns"])
    without_launch = ops.filter(n_before_start == n_before_end)
    return union(without_launch.select(_EDGES))


def _on_axis(spans: pl.DataFrame, axis: ThreadAxis) -> pl.DataFrame:
    """Return the spans' times on the thread axis, one row per span and thread.

    A main thread gets all spans of its process. Any other thread gets its own spans.
    """
    thread_id = pl.col("thread_id")
    threads = axis.threads.select(
        pl.col("process_id").cast(pl.Int64),
        "is_main",
        "shift_ns",
        counted_thread=thread_id,
    )
    start = pl.col("start_ns").cast(pl.Int64)
    timed = spans.select(
        pl.col("process_id", "thread_id").cast(pl.Int64),
        start_ns=start,
        end_ns=start + pl.col("duration_ns"),
    )
    is_own_thread = thread_id == pl.col("counted_thread")
    pairs = timed.join(threads, on="process_id")
    counted = pairs.filter(pl.col("is_main") | is_own_thread)
    return counted.select(pl.col(_EDGES) + pl.col("shift_ns"))
