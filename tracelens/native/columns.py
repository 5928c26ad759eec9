"""Convert between Polars columns and the plain memory that the C library uses, without a copy."""

from typing import Any

import numpy as np
import polars as pl

# Not by way of pyarrow, which takes 0.03 s to import. NumPy is needed anyway.
_OF_NUMPY: dict[pl.DataType, type[np.number[Any]]] = {
    pl.Int32(): np.int32,
    pl.UInt32(): np.uint32,
    pl.Int64(): np.int64,
    pl.UInt8(): np.uint8,
    pl.Float64(): np.float64,
}


def memory(column: pl.Series, dtype: pl.DataType) -> memoryview:
    """Return the column's values as contiguous memory of this dtype; no value may be None."""
    of_dtype = column.cast(dtype)
    return of_dtype.rechunk().to_numpy(allow_copy=False).data


def series(data: Any, dtype: pl.DataType) -> pl.Series:
    """Return a column from values that lie one after another in `data`."""
    return pl.Series(np.frombuffer(data, _OF_NUMPY[dtype]))
