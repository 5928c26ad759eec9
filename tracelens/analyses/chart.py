"""Declarations of charts: the data that each kind shows; `views` draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import polars as pl

TOP = 20
"""Bars in one chart; the table has the other rows."""


@dataclass(frozen=True, slots=True)
class Bars:
    """One bar a row for the largest values of `measure`, coloured by the column `color`.

    `names` are columns, or expressions that only the rows drawn are asked for.
    """

    title: str
    frame: pl.DataFrame
    names: Sequence[str | pl.Expr]
    measure: str
    color: str | None = None


@dataclass(frozen=True, slots=True)
class SplitBars:
    """The columns of `parts` (column: word) as one bar of stacked pieces a row, or as bars below each other.

    Rows with the same names are summed. Those with the largest value, or sum where stacked, come first, unless
    `in_order`.
    """

    title: str
    frame: pl.DataFrame
    names: Sequence[str]
    parts: Mapping[str, str]
    stacked: bool = True
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class Points:
    """One point a row, the first of the axes logarithmic, as large as its total duration.

    With `roofs`, by colour the largest y and the most that y may be for each x, both axes are, and these are lines.
    """

    title: str
    frame: pl.DataFrame
    names: Sequence[str | pl.Expr]
    axes: tuple[str, str]
    color: str
    roofs: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lines:
    """The columns of `parts` (column: word) over time `x`, each value until the next one."""

    title: str
    frame: pl.DataFrame
    x: str
    parts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Density:
    """The distribution of a ratio, a curve for each group."""

    title: str
    frame: pl.DataFrame
    measure: str
    group: str


Chart: TypeAlias = Bars | SplitBars | Points | Lines | Density


def named(frame: pl.DataFrame, *names: str) -> list[str]:
    """The columns that name a row: `names`, after rank and device where there are several of these."""
    several = [c for c in ("rank", "device_id") if c in frame.columns and frame[c].n_unique() > 1]
    return [*several, *names]
