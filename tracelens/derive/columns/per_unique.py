"""Computing on each distinct text once: a million event names are a few thousand different ones."""

from collections.abc import Callable

import polars as pl

# Categories are numbered over all columns of a program's life: a table by number may be so much
# longer than a column.
_SPARSE, _FEW = 4, 1 << 16
_AT_ONCE = 1 << 16
"""Texts that are in memory at a time. A million distinct names would take hundreds of MB."""


def matching(words: pl.Series, *patterns: str) -> list[pl.Series]:
    """Return, for each pattern, whether it matches the text of each row of a Categorical column.

    It is False for None.
    """
    distinct = words.unique()
    has = _of_texts(
        [distinct],
        lambda texts: texts.select(
            pl.nth(0).str.contains(p).alias(str(i)) for i, p in enumerate(patterns)
        ),
    )
    matched = (distinct.filter(matches.fill_null(value=False)) for matches in has.get_columns())
    return [words.is_in(matches.implode()).fill_null(value=False) for matches in matched]


def each_once(words: pl.Series, compute: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    """Evaluate the expression `compute` for each row's text.

    It is evaluated once for each distinct text, None included. A result of strings is returned as
    Categorical.
    """
    rows, places = distinct_rows(words.cast(pl.Categorical).to_physical())
    results = _of_texts(
        [words.gather(rows)], lambda texts: texts.select(compute(pl.nth(0)).alias(words.name))
    )
    return results.to_series().gather(places)


def each_pair_once(
    first_words: pl.Series, second_words: pl.Series, compute: Callable[[pl.DataFrame], pl.DataFrame]
) -> pl.DataFrame:
    """Return the columns that `compute` returns for a frame of two text columns.

    It is called with each distinct pair once. Columns of strings are returned as Categorical.
    """
    (_, first), (of_other, second) = (
        distinct_rows(words.cast(pl.Categorical).to_physical())
        for words in (first_words, second_words)
    )
    n_others = len(of_other)
    pair = first if n_others == 1 else first.cast(pl.Int64) * n_others + second
    rows, places = distinct_rows(pair)
    return _of_texts([words.gather(rows) for words in (first_words, second_words)], compute).select(
        pl.all().gather(places)
    )


def _of_texts(
    words: list[pl.Series], compute: Callable[[pl.DataFrame], pl.DataFrame]
) -> pl.DataFrame:
    """Return the function `compute` of rows of text, called for _AT_ONCE of them at a time.

    Strings become Categorical.
    """
    parts = [
        compute(pl.DataFrame([column.slice(first, _AT_ONCE).cast(pl.String) for column in words]))
        for first in range(0, max(1, len(words[0])), _AT_ONCE)
    ]
    return pl.concat(
        part.with_columns(pl.selectors.string().cast(pl.Categorical)) for part in parts
    )


def distinct_rows(numbers: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the rows where each distinct number, None included, first stands.

    Also return, for each row, the index of its number among those.
    """
    # Mostly the first rows have all numbers, and looking a number up is far cheaper than finding
    # all distinct ones.
    rows = numbers.head(_FEW).arg_unique()
    places = _places(numbers, rows)
    if len(numbers) > _FEW and (places.max() == len(rows) or places.null_count()):
        rows = numbers.arg_unique()
        places = _places(numbers, rows)
    return rows, places


def _places(numbers: pl.Series, rows: pl.Series) -> pl.Series:
    """Return each number's index among the numbers at `rows`.

    The index of a number that is not there is `len(rows)`; that of a None that is not there is
    None.
    """
    distinct, n = numbers.gather(rows), len(rows)
    places = pl.int_range(n, dtype=pl.UInt32, eager=True)
    is_null = distinct.is_null()
    lowest, highest = numbers.min(), numbers.max()
    if (
        isinstance(lowest, int)
        and isinstance(highest, int)
        and highest - lowest <= _SPARSE * len(numbers) + _FEW
    ):
        # Checked casts and gathering nulls take several times as long.
        place_of, width = _from_zero(lowest, highest)
        table = pl.repeat(n, width, dtype=pl.UInt32, eager=True)
        indices = table.scatter(
            place_of(distinct.filter(~is_null)), places.filter(~is_null)
        ).gather(place_of(numbers))
    else:
        indices = numbers.replace_strict(distinct, places, default=n, return_dtype=pl.UInt32)
    return indices.fill_null(is_null.arg_max()) if is_null.any() else indices


def _from_zero(lowest: int, highest: int) -> tuple[Callable[[pl.Series], pl.Series], int]:
    """Return a function that maps numbers to indices of a table from 0 on.

    Also return the table's length.
    """
    if 0 <= lowest <= _FEW:
        return lambda numbers: numbers.cast(pl.UInt32, wrap_numerical=True), highest + 1
    return (
        lambda numbers: (numbers.cast(pl.Int64) - lowest).cast(pl.UInt32, wrap_numerical=True),
        highest - lowest + 1,
    )
