"""The declaration of an analysis: its question, result, function, notes, and how its result is shown.

Charts say what data they show; `views` draws them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import polars as pl

from tracelens.storage.table import Table

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

    Rows with the same names are summed. Those with the largest value, or sum where stacked, come
    first, unless `in_order`.
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

    With `roofs`, by colour the largest y and the most that y may be for each x, both axes are, and
    these are lines.
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


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysis, as the report, the views, the documentation and the tests use it.

    `run` takes one Trace, or (base, other) where `is_pair`. `notes` takes the same and the
    resulting frame, and gives the finding in words, plus whatever the reader must know to trust it;
    plain text, one sentence or two an entry. `shown`: the columns that people need first, all where
    there is none; a narrow terminal drops the last ones, HTML has the others after them, CSV and
    JSON have all as they are declared. `charts` takes the resulting frame. `takes_base`: the trace
    compared with, where there is one, is passed as `base`, to `notes` after the frame. `of_host`:
    it reads all spans, for what a trace without kernels is asked; a report on one with kernels has
    it where it is named. `of_one_program`: it matches what two runs of one program have in common,
    and is not run on others. `is_judged`: it takes `rules`. `takes_peaks`: it takes a device's
    `peaks`, where some are given. `of_ranks`: it compares ranks, and a report of one has it only
    where it is named. `of_profilers`: it joins captures by two profilers, and a report on any
    others has it only where it is named. `by_rank`: each rank's rows, which stand together, depend
    on that rank alone. `of_time`: it takes what `break_down` finds of each rank. An engine can run
    both rank by rank.
    """

    question: str
    result: Table
    run: Callable[..., pl.DataFrame]
    notes: Callable[..., list[str]] | None = None
    shown: Sequence[str] = ()
    charts: Callable[[pl.DataFrame], Sequence[Chart]] | None = None
    is_pair: bool = False
    takes_base: bool = False
    of_host: bool = False
    of_one_program: bool = False
    is_judged: bool = False
    takes_peaks: bool = False
    of_ranks: bool = False
    of_profilers: bool = False
    by_rank: bool = False
    of_time: bool = False

    @property
    def name(self) -> str:
        """The name of the function, the result, the section of the report and the word for `--section`."""
        return self.result.name
