"""Judging text once for each distinct one: a million names of events are a few thousand different ones."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

# Categories are numbered over all columns of a program's life: a table by number may be so much longer than a column.
_SPARSE, _FEW = 4, 1 << 16
_NUMBER_BITS = 32


def as_categories(words: pl.Series) -> pl.Series:
    """The column as Categorical, which it may be already."""
    return words if words.dtype == pl.Categorical else words.cast(pl.Categorical)


def each_once(words: pl.Series, say: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    """What `say` makes of the text of each row, null included, once for each distinct text; strings are Categorical."""
    numbers = as_categories(words).to_physical()
    firsts = numbers.arg_unique()
    texts = pl.DataFrame({"text": words.gather(firsts).cast(pl.String)})
    said = texts.select(say(pl.col("text")).alias(words.name)).to_series()
    if said.dtype == pl.String:
        said = said.cast(pl.Categorical)
    return said.gather(_places(numbers, numbers.gather(firsts)))


def each_pair_once(one: pl.Series, other: pl.Series, say: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    """What `say` makes of the rows of two columns of text, once for each distinct pair; strings are Categorical."""
    numbers = [as_categories(words).to_physical().cast(pl.Int64).fill_null(-1) for words in (one, other)]
    pair = numbers[0] * 2**_NUMBER_BITS + numbers[1]
    firsts = pair.arg_unique()
    said = say(pl.DataFrame([words.gather(firsts).cast(pl.String) for words in (one, other)]))
    places = pl.int_range(len(firsts), dtype=pl.UInt32, eager=True)
    found = pair.replace_strict(pair.gather(firsts), places, return_dtype=pl.UInt32)
    return said.with_columns(pl.selectors.string().cast(pl.Categorical)).select(pl.all().gather(found))


def _places(numbers: pl.Series, distinct: pl.Series) -> pl.Series:
    """Where each number stands among the distinct ones."""
    places = pl.int_range(len(distinct), dtype=pl.UInt32, eager=True)
    highest = distinct.max()
    if not isinstance(highest, int) or highest > _SPARSE * len(numbers) + _FEW:
        return numbers.replace_strict(distinct, places, return_dtype=pl.UInt32)
    is_null = distinct.is_null()
    table = pl.repeat(None, highest + 1, dtype=pl.UInt32, eager=True)
    found = table.scatter(distinct.filter(~is_null), places.filter(~is_null)).gather(numbers)
    return found.fill_null(is_null.arg_max()) if is_null.any() else found
