"""Convert between Polars columns and the plain memory that the C library uses, without NumPy."""

from typing import Any

import polars as pl
import pyarrow as pa

_NOTHING = pa.py_buffer(b"")
_ARROW: dict[pl.DataType, pa.DataType] = {
    pl.Int32(): pa.int32(),
    pl.UInt32(): pa.uint32(),
    pl.Int64(): pa.int64(),
    pl.UInt8(): pa.uint8(),
    pl.Float64(): pa.float64(),
}


def memory(column: pl.Series, dtype: pl.DataType) -> pa.Buffer:
    """Return the column's values as contiguous memory of this dtype; no value may be None."""
    of_dtype = column.cast(dtype)
    array = of_dtype.rechunk().to_arrow()
    assert not array.null_count
    return values(array)


def values(array: pa.Array) -> pa.Buffer:
    """Return the memory of an Arrow array of numbers, without a copy.

    For None, the memory has an arbitrary value.
    """
    _, buffer = array.buffers()
    if buffer is None:
        return _NOTHING
    size = array.type.bit_width // 8
    first_byte = array.offset * size
    n_bytes = len(array) * size
    return buffer.slice(first_byte, n_bytes)


def series(data: Any, dtype: pl.DataType) -> pl.Series:
    """Return a column from values that lie one after another in `data`."""
    kind = _ARROW[dtype]
    buffer = pa.py_buffer(data)
    n_bits = buffer.size * 8
    n_values = n_bits // kind.bit_width
    array = pa.Array.from_buffers(kind, n_values, [None, buffer])
    # Given the array itself, Polars would import pyarrow.compute, which takes 0.05 s.
    table = pa.Table.from_arrays([array], [""])
    frame: Any = pl.from_arrow(table)
    return pl.DataFrame(frame).to_series()
