"""For a process without a device: the part of its main thread's activities during which its threads compute."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.intervals import END, covered_ns
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.columns.split_intervals import cut_at

COMMUNICATION = r"^c10d::|^gloo:|^mpi:"
"""Names of spans in which a process communicates with others: the ops of torch's process groups,
and what their threads run."""
COMPUTES = ("launch", "host")
"""Causes of activities during which ops count as computing; the others already say what the
process does."""


def with_op_time(
    activities: pl.DataFrame,
    spans: pl.DataFrame,
    marks: pl.DataFrame,
    mains: Sequence[tuple[int, int]],
) -> pl.DataFrame:
    """The activities with `op_ns` for processes without device calls; null on threads other than the main ones.

    `mains` has the (process, thread) of each main thread. Its activities are cut where marks of
    steps begin and end, so that none lies in two steps, and extend from the process's first op to
    its last.
    """
    columns = activities.columns
    ops = outermost_ops(spans)
    edges = pl.concat([marks["start_ns"], marks["end_ns"]]).cast(pl.Int64).unique().sort()
    is_main = pl.struct("process_id", "thread_id").is_in(
        [{"process_id": process, "thread_id": thread} for process, thread in mains]
    )
    parts = [activities.filter(~is_main).with_columns(op_ns=pl.lit(None, pl.Int64))]
    for process, thread in mains:
        own = activities.filter((pl.col("process_id") == process) & (pl.col("thread_id") == thread))
        of_process = ops.filter(pl.col("process_id") == process)
        own = cut_at(_reaching(own, of_process).with_columns(end_ns=END), edges)
        own = own.with_columns(duration_ns=pl.col("end_ns") - pl.col("start_ns")).select(columns)
        covered = covered_ns(own, of_process, ["process_id"])
        counts = pl.col("cause").cast(pl.String).is_in(COMPUTES)
        parts.append(own.with_columns(op_ns=pl.when(counts).then(covered).otherwise(0)))
    return pl.concat(parts).sort("start_ns", maintain_order=True)


def outermost_ops(spans: pl.DataFrame) -> pl.DataFrame:
    """process_id, start_ns and duration_ns of the ops that no op directly contains, communication left out."""
    is_op = spans["kind"] == "op"
    within = is_op.gather(spans["parent_id"]).fill_null(value=False)
    (communicates,) = matching(spans["name"].cast(pl.Categorical), COMMUNICATION)
    return _times(spans, is_op & ~within & ~communicates)


def communication_spans(spans: pl.DataFrame) -> pl.DataFrame:
    """process_id, start_ns and duration_ns of the spans in which a process communicates."""
    (communicates,) = matching(spans["name"].cast(pl.Categorical), COMMUNICATION)
    return _times(spans, communicates & spans["kind"].is_in(["op", "annotation"]))


def _times(spans: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    """The process and the times of the chosen spans, as wide integers."""
    columns = spans.select("process_id", "start_ns", "duration_ns")[chosen.arg_true()]
    return columns.select(pl.all().cast(pl.Int64))


def _reaching(own: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """A thread's activities, extended by cause host where other threads' ops start earlier or end later."""
    (low, high), (first, last) = (
        frame.select(pl.col("start_ns").min(), end=END.max()).row(0) for frame in (own, ops)
    )
    around = [(first, low), (high, last)] if ops.height else []
    more = [
        own.head(1).with_columns(
            start_ns=pl.lit(start, pl.Int64),
            duration_ns=pl.lit(end - start, pl.Int64),
            cause=pl.lit("host").cast(own.schema["cause"]),
            **{name: pl.lit(None, own.schema[name]) for name in ("what", "span_id", "api_call_id")},
        )
        for start, end in around
        if start < end
    ]
    return pl.concat([own, *more]).sort("start_ns")
