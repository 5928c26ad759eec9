"""Tables of millions of rows put together from chunks: each column as narrow as its values allow, and in one piece."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl


def narrow(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with each column of integers as narrow as its values allow."""
    return frame.with_columns(column.shrink_dtype() for column in frame.get_columns() if column.dtype == pl.Int64)


def together(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Chunks as one frame in one piece; a column that is narrow in some chunks only is as wide as its widest."""
    return pl.concat(parts, how="vertical_relaxed", rechunk=True)
