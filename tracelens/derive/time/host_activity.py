"""List activities of the host threads that launch device work: intervals with one cause each."""

import polars as pl

from tracelens.derive.columns.split_intervals import overlay
from tracelens.derive.time.activity_classes import causing_calls, interval_classes
from tracelens.derive.time.activity_places import CLASSES, with_places
from tracelens.derive.time.cpu_busy import with_op_time
from tracelens.derive.time.thread_axis import (
    LAUNCHES,
    ThreadAxis,
    axes_in_batches,
    launches_behind_allocation,
)


def list_activities(
    spans: pl.DataFrame,
    calls: pl.DataFrame,
    marks: pl.DataFrame,
) -> pl.DataFrame:
    """List the activities of every thread that launches device work or marks steps.

    The result has the columns of the table `activities` except the rank. A thread's activities do
    not overlap. Time outside of all spans is an activity on the main thread only.

    - `spans`: parent_id (a row number), kind, name, process_id, thread_id, start_ns, duration_ns
    - `calls`: kind, api, span_id (a row number), process_id, thread_id, start_ns, duration_ns
    - `marks`: the marks of steps
    """
    columns = (
        "process_id",
        "thread_id",
        "start_ns",
        "duration_ns",
        "cause",
        "what",
        "span_id",
        "api_call_id",
    )
    parts = []
    mains = []
    blocked = launches_behind_allocation(calls)
    for axis in axes_in_batches(spans, calls, marks):
        part = _of_axis(axis, spans, blocked)
        if part.height:
            parts.append(part.select(columns))
            busy = axis.threads.join(
                part,
                on=["process_id", "thread_id"],
                how="semi",
            )
            mains += busy.filter("is_main").select("process_id", "thread_id").rows()
    if not parts:
        return pl.DataFrame()
    activities = pl.concat(parts).sort("start_ns", maintain_order=True)
    has_launches = calls["kind"].is_in(LAUNCHES).any()
    if has_launches or not (spans["kind"] == "op").any():
        return activities
    return with_op_time(activities, spans, marks, mains)


def _of_axis(axis: ThreadAxis, spans: pl.DataFrame, blocked: pl.DataFrame) -> pl.DataFrame:
    """List the activities of the axis's threads, thread by thread.

    `blocked` is the result of `launches_behind_allocation`.
    """
    causing = causing_calls(axis.calls, blocked)
    classes = interval_classes(axis, spans, causing)
    layers = [part.select("start_ns", "end_ns", "cause", "row") for part in classes]
    layered = overlay(layers).select(
        "start_ns",
        "end_ns",
        pl.col("layer").alias("class"),
        "cause",
        at="row",
    )
    joined = _joined(layered)
    if not joined.height:
        return joined
    segments = _without_gaps(joined, axis)
    pause_ns = axis.of_threads("pause_ns", segments["start_ns"])
    length = pl.col("end_ns") - pl.col("start_ns")
    is_host = pl.col("class") == CLASSES.index("host")
    is_launching = is_host & (length < pause_ns)
    launching = pl.when(is_launching).then(CLASSES.index("launch"))
    with_launching = segments.with_columns(launching.otherwise("class").alias("class"))
    return with_places(_joined(with_launching), axis, spans, causing)


def _without_gaps(segments: pl.DataFrame, axis: ThreadAxis) -> pl.DataFrame:
    """Fill time between a main thread's segments with segments of class and cause `host`."""
    starts = segments["start_ns"]
    thread = axis.thread_of(starts)
    same_thread = thread == thread.shift(-1)
    is_main = axis.threads["is_main"].gather(thread) & same_thread
    missing = segments.select(
        start_ns="end_ns",
        end_ns=starts.shift(-1),
    ).filter(is_main & (pl.col("end_ns") > pl.col("start_ns")))
    if not missing.height:
        return segments
    host_class = pl.lit(CLASSES.index("host"), pl.Int32)
    missing = missing.with_columns(
        host_class.alias("class"),
        at=pl.lit(None, pl.Int64),
        cause=pl.lit("host"),
    )
    both = pl.concat([segments, missing.select(segments.columns)])
    return _joined(both.sort("start_ns"))


def _joined(segments: pl.DataFrame) -> pl.DataFrame:
    """Join adjacent segments that have the same class and call."""
    differs = pl.any_horizontal(
        pl.col(name).ne_missing(pl.col(name).shift(1)) for name in ("class", "at")
    )
    end_ns = pl.col("end_ns")
    is_apart = pl.col("start_ns") != end_ns.shift(1)
    is_new = differs | is_apart.fill_null(value=True)
    number = segments.select(is_new.cum_sum()).to_series()
    numbered = segments.with_columns(number.alias("number"))
    grouped = numbered.group_by("number", maintain_order=True)
    launch = CLASSES.index("launch")
    return grouped.agg(
        pl.col("start_ns", "class", "at").first(),
        end_ns.last(),
        cause=pl.when(pl.col("class").first() == launch)
        .then(pl.lit("launch"))
        .otherwise(pl.col("cause").first()),
    ).drop("number")
