"""Convert between Polars columns and the plain memory that the C library uses, without NumPy."""

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
    """Return the column's values as contiguous memory of this dtype. No value may be None."""
    array = column.cast(dtype).rechunk().to_arrow()
    assert not array.null_count
    return values(array)


def values(array: pa.Array) -> pa.Buffer:
    """Return the memory of the values of an Arrow array of numbers, without a copy.

    Where the array has None, the value is undefined.
    """
    size = array.type.bit_width // 8
    buffer = array.buffers()[1]
    return _NOTHING if buffer is None else buffer.slice(array.offset * size, len(array) * size)


def series(data: Any, dtype: pl.DataType) -> pl.Series:
    """Return a column over memory that holds its values one after another."""
    kind, size = _ARROW[dtype]
    buffer = pa.py_buffer(data)
    array = pa.Array.from_buffers(kind, buffer.size // size, [None, buffer])
    # Given the array itself, Polars would import pyarrow.compute, which takes 0.05 s.
    table: Any = pl.from_arrow(pa.Table.from_arrays([array], [""]))
    return pl.DataFrame(table).to_series()
