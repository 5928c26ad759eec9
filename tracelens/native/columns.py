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
    pl.Float64(): (pa.float64(), 8),
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


def series(data: Any, dtype: pl.DataType) -> pl.Series:
    """The column whose values lie in this memory, one after another."""
    kind, size = _ARROW[dtype]
    buffer = pa.py_buffer(data)
    array = pa.Array.from_buffers(kind, buffer.size // size, [None, buffer])
    # From the array itself Polars would import pyarrow.compute, which takes 0.05 s.
    found: Any = pl.from_arrow(pa.Table.from_arrays([array], [""]))
    return pl.DataFrame(found).to_series()
