"""Evaluate expressions once per distinct text.

A million event names have a few thousand distinct texts.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import polars as pl

from tracelens.derive.columns.filling import filled, repeated

# Polars numbers the categories of all columns of a process together, so a table indexed by the
# number may be far longer than a column.
_SPARSE = 4
_FEW = 1 << 16
_SHORT = 64
"""Up to this number of rows, evaluating each row is faster than finding distinct texts."""
_REMEMBERED = 512
"""Number of results that are cached.

Compiling patterns takes longer than matching few texts. The ranks and analyses of a small trace
repeat the same matches: the cache lowers the processor time of a read from 150 ms to 119 ms.
"""
_AT_ONCE = 1 << 16
"""Number of texts in memory at a time: a million distinct names would take hundreds of MB."""
_OnTexts: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]
"""A function that returns columns of results for a frame of texts, row by row."""
_OnNumbers: TypeAlias = Callable[[pl.Series], pl.Series]


def matching(words: pl.Series, *patterns: str) -> list[pl.Series]:
    """Return one Boolean column per pattern: whether the pattern matches each row's text.

    `words` is Categorical. None matches no pattern.
    """
    rows, indices = distinct_rows(_codes(words))
    flags = _of_texts([words[rows]], _matches(patterns))
    return [filled(flag, value=False)[indices] for flag in flags.get_columns()]


@lru_cache(_REMEMBERED)
def _matches(patterns: tuple[str, ...]) -> _OnTexts:
    """Return a function that makes a Boolean column per pattern: whether it matches each text."""
    text = pl.nth(0)
    columns = []
    for number, pattern in enumerate(patterns):
        has_pattern = text.str.contains(pattern)
        columns.append(has_pattern.alias(str(number)))
    return _selecting(*columns)


def _selecting(*columns: pl.Expr) -> _OnTexts:
    """Return a function that evaluates the expressions on a frame."""

    def select(texts: pl.DataFrame) -> pl.DataFrame:
        return texts.select(columns)

    return select


def each_once(
    words: pl.Series,
    compute: Callable[[pl.Expr], pl.Expr],
) -> pl.Series:
    """Evaluate an expression on each row's text (or None), once per distinct text.

    A result of strings is returned as Categorical.
    """
    evaluate = _on_frames(compute)
    if len(words) <= _SHORT:
        of_rows = _of_texts([words], evaluate)
        return of_rows.to_series().alias(words.name)
    rows, indices = distinct_rows(_codes(words))
    distinct = words[rows]
    of_distinct = _of_texts([distinct], evaluate)
    results = of_distinct.to_series()
    return results[indices].alias(words.name)


def _codes(words: pl.Series) -> pl.Series:
    """Return each text's category number."""
    categories = words.cast(pl.Categorical)
    return categories.to_physical()


@lru_cache(_REMEMBERED)
def _on_frames(compute: Callable[[pl.Expr], pl.Expr]) -> _OnTexts:
    """Return a function that evaluates the expression on a frame's only column."""
    only_column = pl.nth(0)
    return _selecting(compute(only_column))


def each_pair_once(
    first_words: pl.Series,
    second_words: pl.Series,
    compute: _OnTexts,
) -> pl.DataFrame:
    """Evaluate `compute` on each row's pair of texts, once per distinct pair.

    `compute` takes a frame of two columns, and returns one row per pair. Strings become
    Categorical.
    """
    _, first = distinct_rows(_codes(first_words))
    seconds, second = distinct_rows(_codes(second_words))
    n_seconds = len(seconds)
    pair = first
    if n_seconds != 1:
        pair = first.cast(pl.Int64) * n_seconds + second
    rows, indices = distinct_rows(pair)
    distinct_pairs = [words[rows] for words in (first_words, second_words)]
    results = _of_texts(distinct_pairs, compute)
    of_each_row = pl.all().gather(indices)
    return results.select(of_each_row)


def _of_texts(words: list[pl.Series], compute: _OnTexts) -> pl.DataFrame:
    """Call `compute` with frames of at most _AT_ONCE texts, and concatenate its results.

    Strings become Categorical.
    """
    n_rows = max(1, len(words[0]))
    if n_rows <= _SHORT:
        texts = [(column.name, *column.cast(pl.String)) for column in words]
        return _of_few(compute, *texts)
    parts = []
    for first in range(0, n_rows, _AT_ONCE):
        rows = [column.slice(first, _AT_ONCE) for column in words]
        # Each column is cast by itself: to cast a frame takes 0.1 ms more.
        frame = pl.DataFrame([column.cast(pl.String) for column in rows])
        parts.append(_with_categories(compute(frame)))
    if len(parts) == 1:
        return parts[0]
    return pl.concat(parts)


@lru_cache(_REMEMBERED)
def _of_few(compute: _OnTexts, *columns: tuple[str | None, ...]) -> pl.DataFrame:
    """Call `compute` with a frame of few texts, and cache the result.

    A column is given as a tuple of its name and its texts.
    """
    words = []
    for name, *texts in columns:
        words.append(pl.Series(name, texts, pl.String))
    results = compute(pl.DataFrame(words))
    return _with_categories(results)


def _with_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with its String columns cast to Categorical."""
    texts = pl.selectors.string()
    return frame.with_columns(texts.cast(pl.Categorical))


def distinct_rows(numbers: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Find the distinct numbers; None counts as one of them.

    Return the row of each distinct number's first occurrence, and for each row, the index of its
    number among the distinct numbers.
    """
    # Usually the first rows have all numbers, and looking a number up is far cheaper than finding
    # all distinct ones.
    rows = numbers.head(_FEW).arg_unique()
    indices = _indices(numbers, rows)
    if len(numbers) <= _FEW:
        return rows, indices
    has_unknown = indices.max() == len(rows) or indices.has_nulls()
    if has_unknown:
        rows = numbers.arg_unique()
        indices = _indices(numbers, rows)
    return rows, indices


def _indices(numbers: pl.Series, rows: pl.Series) -> pl.Series:
    """Return the index of each number among the distinct numbers, `numbers[rows]`.

    A number that is not among the distinct numbers gets the index `len(rows)`.
    """
    distinct = numbers[rows]
    indices = _indices_by_table(numbers, distinct)
    if indices is None:
        indices = numbers.replace_strict(
            distinct,
            _numbers_up_to(len(rows)),
            default=len(rows),
            return_dtype=pl.UInt32,
        )
    # The index of None is None, unless the distinct numbers include None.
    if distinct.has_nulls():
        index_of_none = distinct.is_null().arg_max()
        return indices.fill_null(index_of_none)
    return indices


def _numbers_up_to(n: int) -> pl.Series:
    """Return the numbers from 0 to n - 1 as UInt32."""
    return pl.int_range(
        n,
        dtype=pl.UInt32,
        eager=True,
    )


def _indices_by_table(numbers: pl.Series, distinct: pl.Series) -> pl.Series | None:
    """Return the result of `_indices` by a look-up table.

    Return None if the table would be far longer than the column.
    """
    lowest = numbers.min()
    highest = numbers.max()
    if not isinstance(lowest, int) or not isinstance(highest, int):
        return None
    widest_table = _SPARSE * len(numbers) + _FEW
    if highest - lowest > widest_table:
        return None
    n_distinct = len(distinct)
    known_indices = _numbers_up_to(n_distinct)
    if distinct.has_nulls():
        is_known = distinct.is_not_null()
        distinct = distinct.filter(is_known)
        known_indices = known_indices.filter(is_known)
    # Checked casts and gathering None values take several times as long.
    slot_of, width = _from_zero(lowest, highest)
    unknown = repeated(n_distinct, width, pl.UInt32)
    table = unknown.scatter(slot_of(distinct), known_indices)
    return table[slot_of(numbers)]


def _from_zero(lowest: int, highest: int) -> tuple[_OnNumbers, int]:
    """Return a function that maps numbers to positions in a table, and the table's length."""
    if 0 <= lowest <= _FEW:
        return _wrapped, highest + 1

    def above_lowest(numbers: pl.Series) -> pl.Series:
        wide = numbers.cast(pl.Int64)
        return _wrapped(wide - lowest)

    return above_lowest, highest - lowest + 1


def _wrapped(numbers: pl.Series) -> pl.Series:
    """Cast numbers to UInt32 without a check.

    A checked cast takes several times as long.
    """
    return numbers.cast(pl.UInt32, wrap_numerical=True)
