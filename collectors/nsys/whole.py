"""Tables of millions of rows put together from chunks: each column as narrow as its values allow, and in one piece."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from tracelens.storage.table import Table
from tracelens.trace.capture import Diagnostics


def narrow(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with each column of integers as narrow as its values allow."""
    return frame.with_columns(column.shrink_dtype() for column in frame.get_columns() if column.dtype == pl.Int64)


def together(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Chunks as one frame in one piece; a column that is narrow in some chunks only is as wide as its widest."""
    return pl.concat(parts, how="vertical_relaxed", rechunk=True)


def fitting(table: Table, frame: pl.DataFrame, diagnostics: Diagnostics) -> pl.DataFrame:
    """The frame with null for numbers that a 32-bit column cannot hold, or without the row where one is needed."""
    text = f"numbers of {table.name} that nothing there can have; left out, with the row where it needs one"
    for column in table:
        if column.dtype != pl.Int32 or frame.schema.get(column.name) != pl.Int64:
            continue
        fits = pl.col(column.name).is_between(-(2**31), 2**31 - 1) | pl.col(column.name).is_null()
        diagnostics.add("loss", "number_out_of_range", text, int(frame.select((~fits).sum()).item()))
        frame = frame.with_columns(pl.when(fits).then(column.name)) if column.nullable else frame.filter(fits)
    return frame
