"""Look up the interval, such as a step, that is in progress in a process at each moment."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

import polars as pl

_Interval: TypeAlias = tuple[int, int, object]
"""Start, end and label of an interval."""
_AFTER_ALL: _Interval = (2**63 - 1, 2**63 - 1, None)
"""A sentinel that starts after all intervals."""


def during(
    frame: pl.DataFrame,
    intervals: pl.DataFrame,
    label: str,
    dtype: pl.DataType | type[pl.DataType],
) -> pl.DataFrame:
    """Copy the column named by `label` from the interval that contains a row's start_ns.

    Only intervals of the row's process count. If several intervals contain start_ns, the last one
    to start is taken. If no interval contains start_ns, the value is None.
    """
    if not intervals.height or not frame.height:
        no_label = pl.lit(None, dtype).alias(label)
        return frame.with_columns(no_label)
    disjoint = innermost_by_process(intervals, label)
    process_id = pl.col("process_id").cast(pl.Int64)
    asked = frame.select(process_id, "start_ns")
    moments = asked["start_ns"]
    order = None if moments.is_sorted() else moments.arg_sort()
    ordered = asked if order is None else asked[order]
    joined = ordered.join_asof(
        disjoint,
        on="start_ns",
        by="process_id",
        check_sortedness=False,
    )
    is_in = pl.col("start_ns") < pl.col("end_ns")
    label_if_inside = pl.when(is_in).then(label).alias(label)
    labels = joined.select(label_if_inside).to_series()
    if order is not None:
        labels = labels.gather(order.arg_sort())
    return frame.with_columns(labels)


def innermost_by_process(intervals: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return each process's disjoint intervals with the innermost label, sorted by start."""
    process_id = pl.col("process_id")
    end_ns = pl.col("end_ns")
    start_ns = pl.col("start_ns")
    as_integer = process_id.cast(pl.Int64)
    with_process = intervals.with_columns(as_integer)
    with_length = with_process.filter(end_ns > start_ns)
    # The intervals nest, so the outer interval continues when an inner one ends.
    outer_first = with_length.sort(
        "process_id",
        "start_ns",
        "end_ns",
        descending=[False, False, True],
    )
    columns = outer_first.select("process_id", "start_ns", "end_ns", label)
    is_new_process = process_id.diff().ne(0)
    starts_after_previous = start_ns >= end_ns.shift()
    is_disjoint = starts_after_previous | is_new_process
    if columns.select(is_disjoint.all()).item():
        return columns.sort("start_ns")
    by_process = columns.group_by("process_id", maintain_order=True)
    rows = []
    for (process,), group in by_process:
        of_process = group.drop("process_id")
        pieces_of_process = _innermost(of_process.iter_rows())
        rows += [(process, *piece) for piece in pieces_of_process]
    pieces = pl.DataFrame(
        rows,
        schema=columns.schema,
        orient="row",
    )
    return pieces.sort("start_ns")


def _innermost(intervals: Iterable[_Interval]) -> Iterator[_Interval]:
    """Yield disjoint intervals, each with the label of the innermost interval that covers it.

    The given intervals nest, and outer intervals come before inner ones.
    """
    open_intervals: list[tuple[int, object]] = []
    cursor = 0
    for start, end, label in chain(intervals, [_AFTER_ALL]):
        while open_intervals and open_intervals[-1][0] <= start:
            closed_ns, closed_label = open_intervals.pop()
            if closed_ns > cursor:
                yield cursor, closed_ns, closed_label
                cursor = closed_ns
        if open_intervals and start > cursor:
            yield cursor, start, open_intervals[-1][1]
        open_intervals.append((end, label))
        cursor = start
