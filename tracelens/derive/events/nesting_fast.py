"""The walk of `nesting` in C, with columns as its result."""

import polars as pl
import pyarrow as pa

from tracelens.derive.events.nesting_walk import TOLERANCE_NS, Nesting
from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series

_FEW = 1 << 10
_I32, _I64 = pl.Int32(), pl.Int64()


def nest_fast(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting | None:
    """As `nesting.nest`, with Series in the result; null where the library is absent.

    Rows that are in time order already, as `assemble` has them, need no sorting and a third of the memory.
    """
    if LIBRARY is None:
        return None
    orders = _time_order(spans), _time_order(calls)
    lanes, n_lanes = _lanes(spans, calls, orders)
    (starts, ends), (call_starts, call_ends) = (
        _times(frame, order) for frame, order in zip((spans, calls), orders, strict=True)
    )
    n = spans.height
    parents, depths, tops = (pa.allocate_buffer(4 * size) for size in (n, n, n_lanes))
    own, covered = pa.allocate_buffer(8 * n), pa.allocate_buffer(8 * n)
    around = pa.allocate_buffer(4 * calls.height)
    n_overlaps, n_unreturned = LIBRARY.nest(
        starts, ends, lanes[0], _hints(spans, orders[0]), parents, depths, own, covered,
        call_starts, call_ends, lanes[1], around, n_lanes, TOLERANCE_NS, tops,
    )  # fmt: skip
    return Nesting(
        _back(_of_rows(series(parents, _I32), orders[0]), orders[0]),
        _back(series(depths, _I32), orders[0]),
        _back(series(own, _I64), orders[0]),
        _back(_of_rows(series(around, _I32), orders[0]), orders[1]),
        n_overlaps,
        n_unreturned,
    )


def _time_order(frame: pl.DataFrame) -> pl.Series | None:
    """The time order of the rows, by start and longest first; null where they are in it already."""
    later, shorter = pl.col("start_ns").diff(), pl.col("duration_ns").diff()
    is_sorted = frame.select(((later > 0) | ((later == 0) & (shorter <= 0))).fill_null(value=True).all()).item()
    if is_sorted:
        return None
    order = pl.arg_sort_by("start_ns", "duration_ns", descending=[False, True], maintain_order=True)
    return frame.select(order).to_series()


def _ordered(column: pl.Series, order: pl.Series | None) -> pl.Series:
    return column if order is None else column.gather(order)


def _times(frame: pl.DataFrame, order: pl.Series | None) -> tuple[object, object]:
    """Starts and ends in time order."""
    starts = frame["start_ns"].cast(pl.Int64)
    return memory(_ordered(starts, order), _I64), memory(_ordered(starts + frame["duration_ns"], order), _I64)


def _hints(spans: pl.DataFrame, order: pl.Series | None) -> object:
    """Recorded callers' places in time order, -1 for none, as memory; null where no span has one."""
    if "parent_hint" not in spans.columns or not spans["parent_hint"].count():
        return None
    hints = spans["parent_hint"].cast(pl.Int64)
    hints = hints.set(~hints.is_between(0, spans.height - 1), None)
    if order is not None:
        places = _back(pl.int_range(len(order), dtype=pl.Int32, eager=True), order)
        hints = places.gather(hints.gather(order))
    return memory(hints.fill_null(-1), _I32)


def _lanes(
    spans: pl.DataFrame, calls: pl.DataFrame, orders: tuple[pl.Series | None, pl.Series | None]
) -> tuple[tuple[object, object], int]:
    """A number for the thread of each span and of each call, in time order, and the number of threads at most.

    Both are null where there is one thread.
    """
    lanes = [pl.zeros(frame.height, pl.Int64, eager=True) for frame in (spans, calls)]
    n_lanes = 1
    for name in ("process_id", "thread_id"):
        columns = [frame[name].cast(pl.Int64) for frame in (spans, calls)]
        # Mostly there is one thread of one process, which is seen sooner than all distinct values are found.
        edges = {edge for column in columns for edge in (column.min(), column.max()) if edge is not None}
        if len(edges) <= 1 and not any(column.null_count() for column in columns):
            continue
        values = pl.concat([column.unique() for column in columns]).unique()
        numbers = pl.int_range(len(values), eager=True)
        coded = [column.replace_strict(values, numbers, return_dtype=pl.Int64) for column in columns]
        lanes = [lane * len(values) + code for lane, code in zip(lanes, coded, strict=True)]
        n_lanes *= len(values)
    if n_lanes == 1:
        return (None, None), 1
    if n_lanes > spans.height + calls.height + _FEW:
        dense = pl.concat(lanes).rank("dense").cast(pl.Int64) - 1
        lanes, n_lanes = [dense[: spans.height], dense[spans.height :]], spans.height + calls.height
    one, other = (memory(_ordered(lane, order), _I32) for lane, order in zip(lanes, orders, strict=True))
    return (one, other), n_lanes


def _of_rows(places: pl.Series, order: pl.Series | None) -> pl.Series:
    """The rows that stand at these places in time order; -1 stays."""
    if order is None:
        return places
    return order.cast(pl.Int32).gather(places.set(places < 0, None)).fill_null(-1)


def _back(values: pl.Series, order: pl.Series | None) -> pl.Series:
    """Values in time order put back into the rows' own order."""
    if order is None:
        return values
    return pl.repeat(0, len(order), dtype=values.dtype, eager=True).scatter(order, values)
