"""Running analyses over a trace into a report that the views draw and the exports write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.analyses import ANALYSES, Analysis
from tracelens.errors import MissingTableError, UsageError
from tracelens.trace import Trace


@dataclass(frozen=True, slots=True)
class Section:
    """One analysis's result; `missing` says why there is none (the frame is then typed and empty)."""

    analysis: Analysis
    frame: pl.DataFrame
    notes: list[str]
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a view draws: the trace, what it is compared with, and the sections in the analyses' order."""

    trace: Trace
    base: Trace | None
    sections: list[Section]

    def to_read(self) -> list[Section]:
        """The sections as one reads them: the verdict first, what has no answer last."""
        return sorted(self.sections, key=lambda one: (one.missing is not None, one.analysis.name != "verdict"))


def build_report(trace: Trace, base: Trace | None = None, names: Sequence[str] = ()) -> Report:
    """Run the named analyses (all that apply, where none is named) over the trace.

    Raises UsageError for an unknown name, or for a comparison that was named without a base.
    """
    unknown = [name for name in names if name not in ANALYSES]
    if unknown:
        raise UsageError(f"no section is called {', '.join(unknown)}; the sections are {', '.join(ANALYSES)}")
    needs_base = [name for name in names if ANALYSES[name].is_pair and base is None]
    if needs_base:
        raise UsageError(f"{', '.join(needs_base)} compares two traces; name the other one with --against")
    chosen = [a for a in ANALYSES.values() if (a.name in names if names else base is not None or not a.is_pair)]
    return Report(trace, base, [run_section(analysis, trace, base) for analysis in chosen])


def run_section(analysis: Analysis, trace: Trace, base: Trace | None = None) -> Section:
    """Run one analysis; a table that is missing becomes the section's `missing` text, not an error."""
    traces = (base, trace) if analysis.is_pair else (trace,)
    try:
        frame = analysis.run(*traces, base=base) if analysis.takes_base else analysis.run(*traces)
    except MissingTableError as error:
        return Section(analysis, analysis.result.empty(), [], str(error))
    return Section(analysis, frame, analysis.notes(*traces, frame) if analysis.notes else [])
