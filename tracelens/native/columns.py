"""Columns of Polars as the library takes and gives them: plain memory, without NumPy and without a copy."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

_NOTHING = pa.py_buffer(b"")
_ARROW: dict[pl.DataType, tuple[pa.DataType, int]] = {
    pl.Int32(): (pa.int32(), 4),
    pl.UInt32(): (pa.uint32(), 4),
    pl.Int64(): (pa.int64(), 8),
    pl.UInt8(): (pa.uint8(), 1),
}


def memory(column: pl.Series, dtype: pl.DataType) -> pa.Buffer:
    """The column's values, of which none is null, one after another as this dtype."""
    array = column.cast(dtype).rechunk().to_arrow()
    assert not array.null_count
    return values(array)


def values(array: pa.Array) -> pa.Buffer:
    """The values of a column of whole numbers as it lies in Arrow's memory, whatever stands where one is null."""
    size = array.type.bit_width // 8
    buffer = array.buffers()[1]
    return _NOTHING if buffer is None else buffer.slice(array.offset * size, len(array) * size)


def frame(columns: dict[str, tuple[bytes | bytearray, pl.DataType]], n_rows: int) -> pl.DataFrame:
    """Columns whose values lie in memory one after another."""
    arrays = [
        pa.Array.from_buffers(_ARROW[dtype][0], n_rows, [None, pa.py_buffer(data)]) for data, dtype in columns.values()
    ]
    # From an array itself Polars would import pyarrow.compute, which takes 0.05 s.
    found: Any = pl.from_arrow(pa.Table.from_arrays(arrays, list(columns)))
    return pl.DataFrame(found)


def series(data: bytes | bytearray, dtype: pl.DataType) -> pl.Series:
    """One column, as `frame` has several."""
    return frame({"": (data, dtype)}, len(data) // _ARROW[dtype][1]).to_series()
