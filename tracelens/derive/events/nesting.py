"""Nesting: the span that encloses each span and each API call.

By the walk in C where there are many.
"""

import polars as pl
import pyarrow as pa

from tracelens.derive.events.nesting_walk import TOLERANCE_NS, Nesting, nest_in_python
from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series

_MANY = 1 << 10
"""Below this number of spans and calls the Python loop is faster than preparing columns for C."""
_I32, _I64 = pl.Int32(), pl.Int64()


def nest(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Nest spans and place calls in them.

    Spans have process_id, thread_id, start_ns, duration_ns and parent_hint. Within a thread, spans
    nest by containment: sorted by start, longest first, each is the child of the innermost span
    still open that it ends in, within TOLERANCE_NS. `parent_hint` is the row of the caller that the
    profiler itself recorded, or None: an open span between that caller and this one is over,
    whatever its recorded end. A zero-length span encloses nothing. `self_ns` is the duration less
    the union of the children's time within it; for a span that was over before its recorded end,
    the time until then. A call goes to the innermost open span that contains it.
    """
    is_fast = LIBRARY is not None and spans.height + calls.height >= _MANY
    return nest_fast(spans, calls) if is_fast else nest_in_python(spans, calls)


def nest_fast(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """As `nest`, in C, with Series in the result.

    Rows that are in time order already, as `assemble` has them, need no sorting and a third of the
    memory.
    """
    assert LIBRARY is not None
    order, call_order = _time_order(spans), _time_order(calls)
    spans_at, calls_at = (None if rows is None else rows.arg_sort() for rows in (order, call_order))
    lanes, n_lanes = _lanes(spans, calls)
    n = spans.height
    parents, depths, tops = (pa.allocate_buffer(4 * size) for size in (n, n, n_lanes))
    own, covered = pa.allocate_buffer(8 * n), pa.allocate_buffer(8 * n)
    around = pa.allocate_buffer(4 * calls.height)
    n_overlaps, n_unreturned = LIBRARY.nest(
        *_times(spans, order),
        _lane(lanes, 0, order),
        _hints(spans, order, spans_at),
        parents,
        depths,
        own,
        covered,
        *_times(calls, call_order),
        _lane(lanes, 1, call_order),
        around,
        n_lanes,
        TOLERANCE_NS,
        tops,
    )
    return Nesting(
        _at(_rows_of(series(parents, _I32), order), spans_at),
        _at(series(depths, _I32), spans_at),
        _at(series(own, _I64), spans_at),
        _at(_rows_of(series(around, _I32), order), calls_at),
        n_overlaps,
        n_unreturned,
    )


def _time_order(frame: pl.DataFrame) -> pl.Series | None:
    """Return the time order of the rows, by start and longest first.

    Return None where they are in it already.
    """
    later, shorter = pl.col("start_ns").diff(), pl.col("duration_ns").diff()
    is_sorted = frame.select(
        ((later > 0) | ((later == 0) & (shorter <= 0))).fill_null(value=True).all()
    ).item()
    if is_sorted:
        return None
    order = pl.arg_sort_by("start_ns", "duration_ns", descending=[False, True], maintain_order=True)
    return frame.select(order).to_series()


def _at(values: pl.Series, rows: pl.Series | None) -> pl.Series:
    return values if rows is None else values.gather(rows)


def _rows_of(places: pl.Series, order: pl.Series | None) -> pl.Series:
    """Return the rows that stand at these places in time order; -1 stays."""
    return (
        places
        if order is None
        else order.cast(pl.Int32).gather(places.set(places < 0, None)).fill_null(-1)
    )


def _times(frame: pl.DataFrame, order: pl.Series | None) -> tuple[pa.Buffer, pa.Buffer]:
    """Starts and ends in time order."""
    starts = frame["start_ns"].cast(pl.Int64)
    return memory(_at(starts, order), _I64), memory(_at(starts + frame["duration_ns"], order), _I64)


def _hints(
    spans: pl.DataFrame, order: pl.Series | None, places: pl.Series | None
) -> pa.Buffer | None:
    """Recorded callers' places in time order, -1 for none; None where no span has one."""
    if "parent_hint" not in spans.columns or not spans["parent_hint"].count():
        return None
    hints = spans["parent_hint"].cast(pl.Int64)
    hints = _at(hints.set(~hints.is_between(0, spans.height - 1), None), order)
    return memory(
        (hints if places is None else places.cast(pl.Int64).gather(hints)).fill_null(-1), _I32
    )


def _lanes(spans: pl.DataFrame, calls: pl.DataFrame) -> tuple[list[pl.Series] | None, int]:
    """Return a number for the thread of each span and of each call.

    Also return the most threads that there are. Return None for one thread.
    """
    lanes = [pl.zeros(frame.height, pl.Int64, eager=True) for frame in (spans, calls)]
    n_lanes = 1
    for name in ("process_id", "thread_id"):
        columns = [frame[name].cast(pl.Int64) for frame in (spans, calls)]
        # Mostly there is one thread of one process, which is seen sooner than all distinct values
        # are found.
        edges = {
            edge for column in columns for edge in (column.min(), column.max()) if edge is not None
        }
        if len(edges) <= 1 and not any(column.null_count() for column in columns):
            continue
        values = pl.concat([column.unique() for column in columns]).unique()
        numbers = pl.int_range(len(values), eager=True)
        coded = [
            column.replace_strict(values, numbers, return_dtype=pl.Int64) for column in columns
        ]
        lanes = [lane * len(values) + code for lane, code in zip(lanes, coded, strict=True)]
        n_lanes *= len(values)
    if n_lanes > spans.height + calls.height + _MANY:
        dense = pl.concat(lanes).rank("dense").cast(pl.Int64) - 1
        return [dense[: spans.height], dense[spans.height :]], spans.height + calls.height
    return (None if n_lanes == 1 else lanes), n_lanes


def _lane(lanes: list[pl.Series] | None, which: int, order: pl.Series | None) -> pa.Buffer | None:
    return None if lanes is None else memory(_at(lanes[which], order), _I32)
