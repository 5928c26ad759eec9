"""Dictionary coding: a column of few distinct words as integer codes and the list of words, as Parquet stores it."""

from __future__ import annotations

import polars as pl

_FIRST_ROWS = 1 << 17


def coded(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The column as integer codes (null where it is null), and the distinct words that the codes index."""
    categories = values.cast(pl.Categorical)
    # Mostly the first rows have all words; looking up a code is far cheaper than looking for distinct words.
    for rows in (categories.head(_FIRST_ROWS), categories):
        words = rows.unique().cast(pl.String).drop_nulls().sort()
        codes = _codes(categories.to_physical(), words)
        if codes.null_count() == values.null_count():
            break
    return codes.alias(values.name), words


def _codes(numbers: pl.Series, words: pl.Series) -> pl.Series:
    """Each category's index in `words`, in the narrowest integer type; null for one that is none of them."""
    place = pl.DataFrame({"number": words.cast(pl.Categorical).to_physical()}).with_row_index("code")
    width = int(numbers.max() or 0) + 1  # type: ignore[arg-type]
    codes = pl.repeat(None, width, dtype=pl.UInt32, eager=True).scatter(place["number"], place["code"])
    fitting = pl.UInt8 if len(words) <= 1 << 8 else pl.UInt16 if len(words) <= 1 << 16 else pl.UInt32
    return codes.cast(fitting, wrap_numerical=True).gather(numbers)  # a checked cast takes ten times as long
