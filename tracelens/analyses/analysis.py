"""Declare an analysis: its question, result, function and notes, and how to show the result.

Charts only name the data that they show. The package `views` draws them.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from inspect import signature
from types import MappingProxyType
from typing import TypeAlias

import polars as pl
from msgspec import Struct, field

from tracelens.storage.table import Table

TOP = 20
"""Largest number of bars in one chart. The table has the other rows, too."""


class Bars(Struct, frozen=True):
    """One bar per row for the largest values of `measure`, coloured by the column `color`.

    `names` are columns, or expressions that are evaluated for the drawn rows only.
    """

    title: str
    frame: pl.DataFrame
    names: Sequence[str | pl.Expr]
    measure: str
    color: str | None = None


class SplitBars(Struct, frozen=True):
    """Bars that split each row into parts, stacked or one below the other."""

    title: str
    frame: pl.DataFrame
    # Rows with the same names are summed.
    names: Sequence[str]
    # Displayed words by column. Each column is a part.
    parts: Mapping[str, str]
    stacked: bool = True
    # If False, the longest bars come first.
    in_order: bool = False


class Points(Struct, frozen=True):
    """One point per row, sized by its total duration. The x axis is logarithmic."""

    title: str
    frame: pl.DataFrame
    names: Sequence[str | pl.Expr]
    axes: tuple[str, str]
    color: str
    # By colour: the largest y, and the slope of the line that limits y at small x. If roofs are
    # given, they are drawn as lines, and the y axis is logarithmic, too.
    roofs: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Lines(Struct, frozen=True):
    """Step lines of several columns over the time `x`.

    `parts` maps columns to displayed words.
    """

    title: str
    frame: pl.DataFrame
    x: str
    parts: Mapping[str, str]


class Density(Struct, frozen=True):
    """The distribution of a ratio, as one curve per group."""

    title: str
    frame: pl.DataFrame
    measure: str
    group: str


Chart: TypeAlias = Bars | SplitBars | Points | Lines | Density


def named(frame: pl.DataFrame, *names: str) -> list[str]:
    """Return `names`, preceded by rank or device_id where the frame has several values of it."""
    several = [c for c in ("rank", "device_id") if c in frame.columns and frame[c].n_unique() > 1]
    return [*several, *names]


class Scope(Enum):
    """The traces that an analysis is run on if the user names no analysis."""

    ANY = "any"
    HOST = "those without kernels, as it reads all spans"
    RANKS = "those of several ranks, which it compares"
    PROFILERS = "pairs of captures by two profilers, which it joins"
    ASKED = "none"


class Parallel(Enum):
    """The ways to run an analysis in parallel."""

    NOTHING = "nothing: it takes the whole trace"
    BY_RANK = "the analysis: each rank's rows depend on that rank alone, and stand together"
    OF_TIME = "the breakdown of each rank's time, which the time model is put together from"


class Analysis(Struct, frozen=True):
    """Declares an analysis for the report, the views, the documentation and the tests."""

    question: str
    result: Table
    # Takes one trace, or base and other. It may also take `base` (the trace to compare with, or
    # None), `rules` (how to judge a comparison) and `peaks` (a device's measured peaks).
    run: Callable[..., pl.DataFrame]
    # Takes the same traces, the resulting frame and `base`. Returns sentences on the finding and on
    # reasons for doubt, one or two in an entry.
    notes: Callable[..., list[str]] | None = None
    # Columns that people need first; empty means all. A narrow terminal drops the last of these.
    # HTML shows the other columns after these. CSV and JSON always have all columns.
    shown: Sequence[str] = ()
    # Displayed words of stored values, by column
    words: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    # Takes the resulting frame.
    charts: Callable[[pl.DataFrame], Sequence[Chart]] | None = None
    scope: Scope = Scope.ANY
    parallel: Parallel = Parallel.NOTHING
    # If True, the analysis is not run on pairs of different programs.
    of_one_program: bool = False

    @property
    def name(self) -> str:
        """The function's name.

        The result and the section of the report have the same name. `--section` takes it, too.
        """
        return self.result.name

    @property
    def is_pair(self) -> bool:
        """True for a comparison of two traces: its first parameters are base and other."""
        return _parameters(self.run)[:2] == ["base", "other"]

    @property
    def takes_base(self) -> bool:
        """True if the analysis takes one trace and, optionally, a base to compare it with."""
        return "base" in _parameters(self.run)[1:]

    @property
    def takes_rules(self) -> bool:
        """True if the analysis judges a comparison by rules."""
        return "rules" in _parameters(self.run)

    @property
    def takes_peaks(self) -> bool:
        """True if the analysis accepts the measured peaks of a device."""
        return "peaks" in _parameters(self.run)


def _parameters(function: Callable[..., object]) -> list[str]:
    return [*signature(function).parameters]
