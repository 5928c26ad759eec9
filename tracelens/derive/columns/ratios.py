"""Divide without infinities: None where the divisor is 0. Also tell which run has a row."""

import polars as pl


def over(part: pl.Expr, whole: pl.Expr, otherwise: float | None = None) -> pl.Expr:
    """Return the quotient where the whole is above 0, else `otherwise`."""
    quotient = part / whole
    return pl.when(whole > 0).then(quotient).otherwise(otherwise)


def speedup(base: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Divide base by other.

    Return None where either is missing, or not above 0 as differences of noisy times can be.
    """
    are_positive = (base > 0) & (other > 0)
    return pl.when(are_positive).then(base / other)


def percent(part: float, whole: float) -> str:
    """Return the share as text; it is 0.0% of nothing."""
    return f"{part / whole:.1%}" if whole else "0.0%"


def which_side(
    base: str, other: str, words: tuple[str, str, str] = ("only_base", "only_other", "both")
) -> pl.Expr:
    """Return the word for rows that only base has, only other has, or both have.

    Base alone has a row where `other` is None.
    """
    only_base, only_other, both = map(pl.lit, words)
    lacks_other = pl.col(other).is_null()
    lacks_base = pl.col(base).is_null()
    return pl.when(lacks_other).then(only_base).when(lacks_base).then(only_other).otherwise(both)
