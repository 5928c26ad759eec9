"""Divide without infinities, and mark rows that only one of two runs has."""

import polars as pl


def over(
    part: pl.Expr,
    whole: pl.Expr,
    otherwise: float | None = None,
) -> pl.Expr:
    """Return part / whole if the whole is above 0, else `otherwise`."""
    quotient = part / whole
    is_positive = whole > 0
    return pl.when(is_positive).then(quotient).otherwise(otherwise)


def speedup(base: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Return base / other, None if either is missing or not above 0.

    Times that are differences of noisy measurements may be negative.
    """
    quotient = base / other
    are_positive = (base > 0) & (other > 0)
    return pl.when(are_positive).then(quotient)


def sum_if_known(name: str) -> pl.Expr:
    """Return the sum of the column; None if any value is None."""
    column = pl.col(name)
    is_known = column.null_count() == 0
    return pl.when(is_known).then(column.sum()).alias(name)


def percent(part: float, whole: float) -> str:
    """Return part / whole as text such as `12.5%`.

    Return `0.0%` if the whole is 0.
    """
    share = part / whole if whole else 0
    return f"{share:.1%}"


def which_side(
    base: str,
    other: str,
    words: tuple[str, str, str] = ("only_base", "only_other", "both"),
) -> pl.Expr:
    """Return, for each row, the word for the runs that have the row.

    `base` and `other` each name a column of one run. A run does not have the row if its column is
    None. `words` are the words for base only, for other only, and for both.
    """
    only_base, only_other, both = map(pl.lit, words)
    lacks_other = pl.col(other).is_null()
    lacks_base = pl.col(base).is_null()
    word_with_other = pl.when(lacks_base).then(only_other).otherwise(both)
    return pl.when(lacks_other).then(only_base).otherwise(word_with_other)
