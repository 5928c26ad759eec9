"""The declaration of an analysis: its question, result, function, notes, and how its result is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.analyses.chart import Chart
from tracelens.storage.table import Table


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysis, as the report, the views, the documentation and the tests use it.

    `run` takes one Trace, or (base, other) where `is_pair`. `notes` takes the same and the resulting frame, and returns
    the finding in words, plus what the reader must know to trust it: plain text, a sentence or two an entry. `shown`:
    the columns that people need first, or all if empty; a narrow terminal drops the last ones, HTML appends the others,
    CSV and JSON have all as they are declared. `charts` takes the resulting frame. `takes_base`: the trace to compare
    with, if any, is passed as `base`. `of_host`: it reads all spans and is meant for traces without kernels; a report
    on a trace with kernels has it only where it is named.
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

    @property
    def name(self) -> str:
        """The name of the function, the result, the section of the report and the word for `--section`."""
        return self.result.name
