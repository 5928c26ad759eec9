"""Every analysis: a pure function from a Trace (or a base and an other one) to a DataFrame.

A new analysis is its module, its result's columns in schemas/results, its test, and one entry in ANALYSES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from tracelens.table import Table


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysis as the report, the documentation and the tests know it.

    `run` takes one Trace, or (base, other) where `is_pair`. `notes` takes the same and the resulting frame, and gives
    the finding in words, plus whatever the reader must know to trust it; plain text, one sentence or two an entry.
    """

    name: str
    question: str
    result: Table
    run: Callable[..., pl.DataFrame]
    needs: tuple[str, ...]
    notes: Callable[..., list[str]] | None = None
    is_pair: bool = False


_IN_ORDER: tuple[Analysis, ...] = ()

ANALYSES: dict[str, Analysis] = {analysis.name: analysis for analysis in _IN_ORDER}
"""Analyses by name, in the order the report shows them."""

__all__ = ["ANALYSES", "Analysis"]
