"""What a span inherits from the spans around it, by pointer doubling: whole columns, log2(depth) passes."""

from __future__ import annotations

import polars as pl


def nearest(parent: pl.Series, values: pl.Series) -> pl.Series:
    """Each row's own value, or where null its nearest ancestor's. `parent` holds row numbers, null at the top."""
    up = parent
    result = values
    while up.null_count() < len(up):
        result = result.zip_with(result.is_not_null(), result.gather(up))
        up = up.gather(up)
    return result


def outermost(parent: pl.Series, values: pl.Series) -> pl.Series:
    """The value of the outermost row, among the row itself and its ancestors, that has one."""
    up = parent
    result = values
    while up.null_count() < len(up):
        above = result.gather(up)
        result = above.zip_with(above.is_not_null(), result)
        up = up.gather(up)
    return result


def count_among(parent: pl.Series, flags: pl.Series) -> pl.Series:
    """How many of the row itself and its ancestors are flagged."""
    up = parent
    count = flags.cast(pl.Int32)
    while up.null_count() < len(up):
        count = count + count.gather(up).fill_null(0)
        up = up.gather(up)
    return count
