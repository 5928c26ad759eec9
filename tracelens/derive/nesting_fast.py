"""The walk of `nesting` in machine code: the same Nesting, as columns."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from tracelens.allocator import give_back
from tracelens.derive.nesting import TOLERANCE_NS, Nesting
from tracelens.fast.kernel import MACHINE, Kernel, ready
from tracelens.fast.memory import Words, bytes_at, lend

SOURCES = (Path(__file__).with_name("nesting_kernel.py"), MACHINE)
_N_OVERLAPS, _N_UNRETURNED = 13, 14
_HIGH = 32
_FEW = 1 << 10
_Rows: TypeAlias = npt.NDArray[np.uint32]


def kernel() -> Kernel | None:
    """The walk in machine code; None where there is none."""
    return ready("tracelens.derive.nesting_kernel", "walk", SOURCES)


def nest_fast(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting | None:
    """What `nesting.nest` gives, its sequences as Series; None where there is no kernel.

    Rows that are in time order already, as `assemble` has them, need no sorting and a third of the memory.
    """
    walk = kernel()
    if walk is None:
        return None
    orders = _time_order(spans), _time_order(calls)
    starts, ends = _times(spans, orders[0])
    call_starts, call_ends = _times(calls, orders[1])
    places, lanes, n_lanes = _lanes(spans, calls, orders)
    places <<= _HIGH
    places |= _hints(spans, orders[0])
    ups, own, covered = np.zeros(len(starts), np.int64), ends - starts, starts.copy()
    arrays = [starts, ends, places, ups, own, covered, call_starts, call_ends, lanes, np.full(n_lanes, -1, np.int64)]
    addresses = [bytes_at(lend(array)) for array in arrays]
    words = lend(np.array([len(starts), len(lanes), *addresses, TOLERANCE_NS, 0, 0], np.int64))
    walk.run(bytes_at(words))
    parent, depth = ups.view(np.int32)[0::2] - 1, ups.view(np.int32)[1::2].copy()
    del arrays, ups, covered, places, ends, call_ends
    found = Nesting(
        pl.Series(_back(_of_rows(parent, orders[0]), orders[0])),
        pl.Series(_back(depth, orders[0])),
        pl.Series(_back(own, orders[0])),
        pl.Series(_back(_of_rows(lanes, orders[0]), orders[1])),
        int(words[_N_OVERLAPS]), int(words[_N_UNRETURNED]),
    )  # fmt: skip
    give_back()
    return found


def _time_order(frame: pl.DataFrame) -> _Rows | None:
    """Rows by start, those that start together longest first; None where they are so already."""
    later, shorter = pl.col("start_ns").diff(), pl.col("duration_ns").diff()
    is_sorted = frame.select(((later > 0) | ((later == 0) & (shorter <= 0))).fill_null(value=True).all()).item()
    if is_sorted:
        return None
    order = pl.arg_sort_by("start_ns", "duration_ns", descending=[False, True], maintain_order=True)
    return frame.select(order.cast(pl.UInt32)).to_series().to_numpy()


def _times(frame: pl.DataFrame, order: _Rows | None) -> tuple[Words, Words]:
    """Starts and ends in time order."""
    starts = frame["start_ns"].cast(pl.Int64)
    times = starts.to_numpy(), (starts + frame["duration_ns"]).to_numpy()
    if order is not None:
        times = times[0][order], times[1][order]
    return np.ascontiguousarray(times[0]), np.ascontiguousarray(times[1])


def _hints(spans: pl.DataFrame, order: _Rows | None) -> Words | int:
    """Rows of recorded callers, in time order, plus 1; 0 where there is none."""
    if "parent_hint" not in spans.columns:
        return 0
    hints: Words = spans["parent_hint"].cast(pl.Int64).fill_null(-1).to_numpy() + 1
    if order is not None:
        place = np.zeros(len(order) + 1, np.int64)
        place[order + 1] = np.arange(1, len(order) + 1)
        hints = place[np.maximum(hints[order], 0)]
    return np.maximum(hints, 0, out=hints)


def _lanes(
    spans: pl.DataFrame, calls: pl.DataFrame, orders: tuple[_Rows | None, _Rows | None]
) -> tuple[Words, Words, int]:
    """A number for the thread of each span and of each call, in time order, and how many numbers there may be."""
    lanes = [pl.zeros(frame.height, pl.Int64, eager=True) for frame in (spans, calls)]
    n_lanes = 1
    for name in ("process_id", "thread_id"):
        columns = [frame[name].cast(pl.Int64) for frame in (spans, calls)]
        # Mostly there is one thread of one process, which is sooner seen than all values are told apart.
        edges = {edge for column in columns for edge in (column.min(), column.max()) if edge is not None}
        if len(edges) == 1:
            continue
        values = pl.concat([column.unique() for column in columns]).unique()
        if len(values) > 1:
            numbers = pl.int_range(len(values), eager=True)
            coded = [column.replace_strict(values, numbers, return_dtype=pl.Int64) for column in columns]
            lanes = [lane * len(values) + code for lane, code in zip(lanes, coded, strict=True)]
            n_lanes *= len(values)
    if n_lanes > spans.height + calls.height + _FEW:
        dense = pl.concat(lanes).rank("dense").cast(pl.Int64) - 1
        lanes, n_lanes = [dense[: spans.height], dense[spans.height :]], spans.height + calls.height
    arrays = [lane.to_numpy() for lane in lanes]
    one, other = (array.copy() if order is None else array[order] for array, order in zip(arrays, orders, strict=True))
    return one, other, n_lanes


def _of_rows(sorted_rows: npt.NDArray[np.int32] | Words, order: _Rows | None) -> npt.NDArray[np.int32]:
    """Rows in time order as the rows they were; -1 stays."""
    rows = sorted_rows.astype(np.int32, copy=False)
    if order is None:
        return rows
    return np.where(rows < 0, np.int32(-1), order.astype(np.int32)[rows])


def _back(values: npt.NDArray[np.int32] | Words, order: _Rows | None) -> npt.NDArray[np.int32] | Words:
    """Values in time order in the order that the rows had."""
    if order is None:
        return values
    result = np.empty_like(values)
    result[order] = values
    return result
