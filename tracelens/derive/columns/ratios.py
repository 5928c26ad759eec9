"""Divide without infinities, and name the run that has a row."""

import polars as pl


def over(
    part: pl.Expr,
    whole: pl.Expr,
    otherwise: float | None = None,
) -> pl.Expr:
    """Return the quotient if the whole is above 0, else `otherwise`."""
    quotient = part / whole
    return pl.when(whole > 0).then(quotient).otherwise(otherwise)


def speedup(base: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Divide base by other.

    The result is None if either is missing or not above 0, as differences of noisy times may be.
    """
    are_positive = (base > 0) & (other > 0)
    return pl.when(are_positive).then(base / other)


def percent(part: float, whole: float) -> str:
    """Return the share as text in percent; it is 0.0% if the whole is 0."""
    return f"{part / whole:.1%}" if whole else "0.0%"


def which_side(
    base: str,
    other: str,
    words: tuple[str, str, str] = ("only_base", "only_other", "both"),
) -> pl.Expr:
    """Return the word that says which of two runs have a row: both, only base, or only other.

    A row with None in `other` exists only in base, and one with None in `base` only in other.
    """
    only_base, only_other, both = map(pl.lit, words)
    lacks_other = pl.col(other).is_null()
    lacks_base = pl.col(base).is_null()
    return pl.when(lacks_other).then(only_base).when(lacks_base).then(only_other).otherwise(both)
