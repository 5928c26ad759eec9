"""Evaluate once per distinct text: a million event names have a few thousand different texts."""

from collections.abc import Callable
from functools import lru_cache

import polars as pl

# Polars numbers categories over all columns of a program's life, so a table indexed by number may
# be far longer than a column.
_SPARSE = 4
_FEW = 1 << 16
_SHORT = 64
"""Up to this number of rows, evaluating each row is faster than finding distinct texts."""
_REMEMBERED = 512
"""Number of results for few texts that are kept.

To compile the patterns takes longer than to match few texts with them: of a small trace, whose
ranks and analyses ask the same again, a read takes a fifth less processor time (119 ms for 150).
"""
_AT_ONCE = 1 << 16
"""Number of texts in memory at a time.

A million distinct names would take hundreds of MB.
"""


def matching(words: pl.Series, *patterns: str) -> list[pl.Series]:
    """Return, for each pattern, whether it matches the text of each row of a Categorical column.

    It is False for None.
    """
    distinct = words.unique()
    flags = _of_texts([distinct], _matches(patterns))
    results = []
    for flag in flags.get_columns():
        matched = distinct.filter(flag.fill_null(value=False))
        is_match = words.is_in(matched.implode())
        results.append(is_match.fill_null(value=False))
    return results


@lru_cache(_REMEMBERED)
def _matches(patterns: tuple[str, ...]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return a function that tells of each text which patterns match it, a column per pattern."""
    text = pl.nth(0)
    has_pattern = [text.str.contains(p).alias(str(i)) for i, p in enumerate(patterns)]
    return lambda texts: texts.select(has_pattern)


def each_once(
    words: pl.Series,
    compute: Callable[[pl.Expr], pl.Expr],
) -> pl.Series:
    """Evaluate the expression `compute` for each row's text.

    It is evaluated once for each distinct text, None included. A result of strings is returned as
    Categorical.
    """
    evaluate = _on_frames(compute)
    if len(words) <= _SHORT:
        return _of_texts([words], evaluate).to_series().alias(words.name)
    codes = words.cast(pl.Categorical).to_physical()
    rows, places = distinct_rows(codes)
    distinct = words.gather(rows)
    results = _of_texts([distinct], evaluate).to_series()
    return results.gather(places).alias(words.name)


@lru_cache(_REMEMBERED)
def _on_frames(compute: Callable[[pl.Expr], pl.Expr]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return a function that evaluates an expression of a frame's only column."""
    result = compute(pl.nth(0))
    return lambda texts: texts.select(result)


def each_pair_once(
    first_words: pl.Series,
    second_words: pl.Series,
    compute: Callable[[pl.DataFrame], pl.DataFrame],
) -> pl.DataFrame:
    """Return the columns that `compute` returns for a frame of two text columns.

    `compute` gets each distinct pair once. Columns of strings are returned as Categorical.
    """
    _, first = distinct_rows(first_words.cast(pl.Categorical).to_physical())
    seconds, second = distinct_rows(second_words.cast(pl.Categorical).to_physical())
    n_seconds = len(seconds)
    pair = first if n_seconds == 1 else first.cast(pl.Int64) * n_seconds + second
    rows, places = distinct_rows(pair)
    distinct_pairs = [first_words.gather(rows), second_words.gather(rows)]
    results = _of_texts(distinct_pairs, compute)
    return results.select(pl.all().gather(places))


def _of_texts(
    words: list[pl.Series],
    compute: Callable[[pl.DataFrame], pl.DataFrame],
) -> pl.DataFrame:
    """Call `compute` with frames of texts, _AT_ONCE rows at a time, and join its results.

    Strings become Categorical.
    """
    n_rows = max(1, len(words[0]))
    if n_rows <= _SHORT:
        texts = [(column.name, *column.cast(pl.String)) for column in words]
        return _of_few(compute, *texts)
    parts = []
    for first in range(0, n_rows, _AT_ONCE):
        columns = [column.slice(first, _AT_ONCE).cast(pl.String) for column in words]
        parts.append(_categorical(compute(pl.DataFrame(columns))))
    return pl.concat(parts) if len(parts) > 1 else parts[0]


@lru_cache(_REMEMBERED)
def _of_few(
    compute: Callable[[pl.DataFrame], pl.DataFrame],
    *columns: tuple[str | None, ...],
) -> pl.DataFrame:
    """Call `compute` with a frame of few texts; a column is given as its name and its texts."""
    frame = pl.DataFrame([pl.Series(name, texts, pl.String) for name, *texts in columns])
    return _categorical(compute(frame))


def _categorical(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with its strings as Categorical."""
    return frame.with_columns(pl.selectors.string().cast(pl.Categorical))


def distinct_rows(numbers: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the first row of each distinct number, None included.

    Also return, for each row, the index of its number among those.
    """
    # Usually the first rows have all numbers, and looking a number up is far cheaper than finding
    # all distinct ones.
    rows = numbers.head(_FEW).arg_unique()
    places = _places(numbers, rows)
    has_more_rows = len(numbers) > _FEW
    if has_more_rows and (places.max() == len(rows) or places.null_count()):
        rows = numbers.arg_unique()
        places = _places(numbers, rows)
    return rows, places


def _places(numbers: pl.Series, rows: pl.Series) -> pl.Series:
    """Return each number's index among the numbers at `rows`.

    A number that is not among them gets the index `len(rows)`. None gets None if it is not among
    them.
    """
    distinct = numbers.gather(rows)
    n = len(rows)
    places = pl.int_range(n, dtype=pl.UInt32, eager=True)
    is_null = distinct.is_null()
    lowest = numbers.min()
    highest = numbers.max()
    widest_table = _SPARSE * len(numbers) + _FEW
    if isinstance(lowest, int) and isinstance(highest, int) and highest - lowest <= widest_table:
        # Checked casts and gathering None values take several times as long.
        place_of, width = _from_zero(lowest, highest)
        table = pl.repeat(n, width, dtype=pl.UInt32, eager=True)
        slots = place_of(distinct.filter(~is_null))
        known_places = places.filter(~is_null)
        filled = table.scatter(slots, known_places)
        indices = filled.gather(place_of(numbers))
    else:
        indices = numbers.replace_strict(distinct, places, default=n, return_dtype=pl.UInt32)
    has_none = is_null.any()
    return indices.fill_null(is_null.arg_max()) if has_none else indices


def _from_zero(lowest: int, highest: int) -> tuple[Callable[[pl.Series], pl.Series], int]:
    """Return a function that maps numbers to indices of a table that begin at 0.

    Also return the table's length.
    """
    if 0 <= lowest <= _FEW:
        return lambda numbers: numbers.cast(pl.UInt32, wrap_numerical=True), highest + 1
    return (
        lambda numbers: (numbers.cast(pl.Int64) - lowest).cast(pl.UInt32, wrap_numerical=True),
        highest - lowest + 1,
    )
