"""The walk of `nesting` in machine code: the same Nesting, as columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tracelens.derive.nesting import TOLERANCE_NS, Nesting
from tracelens.fast.kernel import MACHINE, Kernel, ready
from tracelens.fast.memory import bytes_at, lend

SOURCES = (Path(__file__).with_name("nesting_kernel.py"), MACHINE)
_N_OVERLAPS, _N_UNRETURNED = 14, 15


def kernel() -> Kernel | None:
    """The walk in machine code; None where there is none."""
    return ready("tracelens.derive.nesting_kernel", "walk", SOURCES)


def nest_fast(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting | None:
    """What `nesting.nest` gives, its sequences as Series; None where there is no kernel."""
    walk = kernel()
    if walk is None:
        return None
    n_spans, n_calls = spans.height, calls.height
    columns = ["process_id", "thread_id", "start_ns", "duration_ns"]
    both = pl.concat([spans.select(columns), calls.select(columns)], how="vertical_relaxed").cast(pl.Int64)
    starts = both["start_ns"].to_numpy()
    ends = (both["start_ns"] + both["duration_ns"]).to_numpy()
    lanes = _lanes(both)
    order = _time_order(lanes, starts, ends)
    hints = np.full(n_spans, -1, np.int64)
    if "parent_hint" in spans.columns:
        hints = spans["parent_hint"].fill_null(-1).cast(pl.Int64).to_numpy()
    parents, call_spans = np.full(n_spans, -1, np.int64), np.full(n_calls, -1, np.int64)
    depths, own = np.zeros(n_spans, np.int64), spans["duration_ns"].to_numpy().copy()
    arrays = [
        order, lanes, starts, ends, hints, parents, depths, own, starts[:n_spans].copy(), call_spans,
        np.empty(n_spans + 1, np.int64),
    ]  # fmt: skip
    arrays = [lend(np.ascontiguousarray(array)) for array in arrays]
    state = [n_spans + n_calls, n_spans, *(bytes_at(array) for array in arrays), TOLERANCE_NS, 0, 0]
    words = lend(np.array(state, np.int64))
    walk.run(bytes_at(words))
    return Nesting(
        pl.Series(parents), pl.Series(depths), pl.Series(own), pl.Series(call_spans),
        int(words[_N_OVERLAPS]), int(words[_N_UNRETURNED]),
    )  # fmt: skip


def _lanes(both: pl.DataFrame) -> npt.NDArray[np.int64]:
    """A number for each thread of each process, in their order."""
    return both.select(pl.struct("process_id", "thread_id").rank("dense").cast(pl.Int64)).to_series().to_numpy()


def _time_order(lanes: Any, starts: Any, ends: Any) -> npt.NDArray[np.int64]:
    """Rows sorted so that a parent comes before its children."""
    frame = pl.DataFrame({"lane": lanes, "start": starts, "end": ends}).with_row_index("row")
    ordered = frame.sort("lane", "start", "end", "row", descending=[False, False, True, False])
    return ordered["row"].cast(pl.Int64).to_numpy()
