"""The passes of `ancestry`, `charging` and `breakdown` in machine code; each is None where that cannot be.

There may be no machine code here, or parents that do not stand before their children.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tracelens.fast.kernel import MACHINE, Kernel, ready
from tracelens.fast.memory import Words, bytes_at, lend

SOURCES = (Path(__file__).with_name("ancestry_kernel.py"), MACHINE)
# As in ancestry_kernel, which is not imported: it would bring numba along.
(
    NEAREST, OUTERMOST, COUNT, WITHIN, ABOVE, CHARGE, CALLS, PLACED, LAUNCHED, TIMES, ORDERED, TOTALS, LENGTHS,
) = range(13)  # fmt: skip
NONE = -(1 << 62)
_ARRAYS = (
    "rows", "flags", "own", "result", "n_result", "starts", "ends", "lanes", "table", "n_table", "first", "parents",
    "n_parents", "codes", "kinds", "nodes", "places", "n_places", "valid", "n_skipped", "names", "n_names", "sorts",
    "n_sorts",
)  # fmt: skip
_WRITTEN = ("result", "table", "nodes", "places")


def kernel() -> Kernel | None:
    """The passes in machine code; None where there is none."""
    return ready("tracelens.derive.ancestry_kernel", "climb", SOURCES)


def nearest_row(parent: pl.Series, flags: pl.Series) -> pl.Series | None:
    """What `ancestry.nearest_row` gives."""
    return _rows(_among(NEAREST, parent, flags))


def outermost_row(parent: pl.Series, flags: pl.Series) -> pl.Series | None:
    """What `ancestry.outermost_row` gives."""
    return _rows(_among(OUTERMOST, parent, flags))


def count_among(parent: pl.Series, flags: pl.Series) -> pl.Series | None:
    """What `ancestry.count_among` gives."""
    found = _among(COUNT, parent, flags)
    return None if found is None else series(found).alias(flags.name)


def sum_within(parent: pl.Series, own: pl.Series) -> pl.Series | None:
    """What `ancestry.sum_within` gives."""
    found = own.to_numpy().copy()
    return series(found).alias(own.name) if _by_part(WITHIN, parent, result=found) else None


def above(parent: pl.Series, marks: pl.Series, rows: pl.Series) -> pl.DataFrame | None:
    """What `ancestry.above` gives."""
    found = np.empty((len(rows), 3), np.int64)
    parents = whole(parent)
    arrays = {"rows": filled(rows), "flags": marks.to_numpy(), "parents": parents, "n_parents": len(parents)}
    if not run(ABOVE, len(rows), result=found, **arrays):
        return None
    columns = frame(found, ["top", "n_ones", "n_twos"])
    return columns.with_columns(pl.when(pl.col("top") >= 0).then("top"))


def charge(rows: pl.Series, values: pl.Series, n_rows: int) -> Words | None:
    """What `charging.charge` gives."""
    found = np.zeros(n_rows, np.int64)
    arrays = {"rows": filled(rows), "own": values.cast(pl.Int64).to_numpy(), "result": found, "n_result": n_rows}
    return found if run(CHARGE, len(rows), **arrays) else None


def lengths(rows: pl.DataFrame, n_groups: int) -> Words | None:
    """The measures of `breakdown`, six a group, of device work in order of group and start: also work and returned."""
    found = np.zeros((n_groups, 6), np.int64)
    arrays = {"rows": rows["group"].to_numpy(), "flags": rows["work"].cast(pl.UInt8).to_numpy(), "result": found}
    arrays |= {"starts": rows["start_ns"].to_numpy(), "own": filled(rows["returned"])}
    ends = (rows["start_ns"] + rows["duration_ns"]).to_numpy()
    return found if run(LENGTHS, rows.height, ends=ends, n_result=n_groups, **arrays) else None


def _among(what: int, parent: pl.Series, flags: pl.Series) -> Words | None:
    """One of the passes that ask which of a row and its ancestors are flagged."""
    found = np.empty(len(parent), np.int64)
    return found if _by_part(what, parent, flags=_bytes(flags), result=found) else None


def _by_part(what: int, parent: pl.Series, **arrays: Any) -> bool:
    """Run a pass part by part of the parents, so that they are nowhere copied as a whole."""
    parts = parent.get_chunks()
    firsts = [0, *accumulate(len(part) for part in parts)]
    order = range(len(parts))
    return all(
        run(what, len(parts[k]), rows=filled(parts[k]), first=firsts[k], **arrays)
        for k in (reversed(order) if what == WITHIN else order)
    )


def run(what: int, n_rows: int, **arrays: Any) -> bool:
    """Run one pass over the arrays and numbers that it needs; whether it could be."""
    climb = kernel()
    if climb is None:
        return False
    held = {
        name: value if isinstance(value, int) else lend(np.ascontiguousarray(value)) for name, value in arrays.items()
    }
    assert all(held[name] is arrays[name] for name in _WRITTEN if name in arrays)
    words = [held.get(name, 0) for name in _ARRAYS]
    addresses = (word if isinstance(word, int) else bytes_at(word) for word in words)
    # Held by name: memory of an array that nothing holds is another thread's before the kernel has read it.
    state = lend(np.array([what, n_rows, *addresses], np.int64))
    return climb.run(bytes_at(state)) == 0


def filled(rows: pl.Series) -> Words:
    """Row numbers, NONE for null."""
    return rows.fill_null(NONE).cast(pl.Int64).to_numpy()


def series(array: Any) -> pl.Series:
    """Words as Polars'. From the array itself Polars would make it by numpy.ma, which takes 0.05 s to import."""
    return frame(np.reshape(array, (-1, 1)), [""]).to_series()


def frame(array: Any, names: Sequence[str]) -> pl.DataFrame:
    """Columns of words as Polars', as `series`: by a table, of one column too, because of that pyarrow.compute."""
    columns = [np.ascontiguousarray(array[:, place], np.int64) for place in range(len(names))]
    words = [pa.Array.from_buffers(pa.int64(), len(array), [None, pa.py_buffer(column)]) for column in columns]
    found = pl.from_arrow(pa.Table.from_arrays(words, list(names)))
    assert isinstance(found, pl.DataFrame)
    return found


def whole(parent: pl.Series) -> Words:
    """Row numbers of all parts, NONE for null, in one piece."""
    parts = parent.get_chunks()
    return filled(parts[0]) if len(parts) == 1 else np.concatenate([filled(part) for part in parts])


def _bytes(flags: pl.Series) -> Any:
    return flags.fill_null(value=False).cast(pl.UInt8).to_numpy()


def _rows(found: Words | None) -> pl.Series | None:
    """Row numbers, null for none."""
    if found is None:
        return None
    rows = series(found)
    return rows.to_frame("row").select(pl.when(pl.col("row") >= 0).then("row")).to_series()
