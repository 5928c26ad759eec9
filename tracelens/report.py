"""Running analyses over a trace into a report that the views draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.analyses import ANALYSES, Analysis
from tracelens.derive.comparing.gate import Verdict
from tracelens.derive.comparing.judging import DEFAULT, Rules
from tracelens.derive.comparing.same_work import unrelated
from tracelens.derive.rank_sentences import merge_ranks
from tracelens.errors import MissingTableError, UsageError
from tracelens.trace import Trace
from tracelens.trace.checking import blame_rows


@dataclass(frozen=True, slots=True)
class Section:
    """One analysis's result; `missing` says why there is none (the frame is then typed and empty)."""

    analysis: Analysis
    frame: pl.DataFrame
    notes: list[str]
    missing: str | None = None

    @property
    def absent(self) -> str | None:
        """Why the section has no rows, in words; null where it has some."""
        if self.missing is not None:
            return f"No answer: {self.missing}"
        return "Nothing in this trace." if self.frame.is_empty() else None


@dataclass(frozen=True, slots=True)
class Report:
    """The input of every view: a trace, the trace it is compared with, and sections in the order of the analyses.

    `is_asked`: the sections were asked for by name, so that each is drawn, with an answer or without.
    `refused` says why the two are not compared, where they are of two programs; `gate` what was asked with --fail-on.
    """

    trace: Trace
    base: Trace | None
    sections: list[Section]
    is_asked: bool = False
    refused: str | None = None
    gate: list[Verdict] | None = None

    @property
    def title(self) -> str:
        """The trace's name, with that of the trace it is compared with."""
        return self.trace.name if self.base is None else f"{self.trace.name} against {self.base.name}"

    @property
    def sources(self) -> str:
        """The files that the trace was read from, with their kinds."""
        return ", ".join(f"{source.get('name')} ({source.get('kind')})" for source in self.trace.manifest.sources)

    def to_read(self) -> list[Section]:
        """The sections to draw in reading order: the verdict first; sections without an answer only where asked for."""
        drawn = [one for one in self.sections if one.missing is None or self.is_asked]
        return sorted(drawn, key=lambda one: (one.missing is not None, one.analysis.name != "verdict"))

    def unanswered(self) -> list[str]:
        """A line for each reason why sections have no answer, with their names, unless they were asked for."""
        by_reason: dict[str, list[str]] = {}
        for section in self.sections:
            if section.missing is not None and not self.is_asked:
                name = section.analysis.name
                by_reason.setdefault(section.missing.removeprefix(f"{name} "), []).append(name)
        return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def check_sections(names: Sequence[str], *, has_base: bool) -> None:
    """Raise UsageError for unknown names, and for comparisons of two traces where only one is given."""
    unknown = [name for name in names if name not in ANALYSES]
    if unknown:
        raise UsageError(f"no section is called {', '.join(unknown)}; the sections are {', '.join(ANALYSES)}")
    needs_base = [name for name in names if ANALYSES[name].is_pair and not has_base]
    if needs_base:
        raise UsageError(f"{', '.join(needs_base)} compares two traces; name the other one with --against")


def build_report(trace: Trace, base: Trace | None = None, names: Sequence[str] = (), rules: Rules = DEFAULT) -> Report:
    """Run the named analyses (all that apply, where none is named) over the trace.

    Raises UsageError as `check_sections` does.
    """
    check_sections(names, has_base=base is not None)
    chosen = [a for a in ANALYSES.values() if (a.name in names if names else _applies(a, trace, base))]
    refused = unrelated(base, trace) if base is not None and any(a.of_one_program for a in chosen) else None
    sections = [
        Section(analysis, analysis.result.empty(), [], refused)
        if refused and analysis.of_one_program
        else run_section(analysis, trace, base, rules)
        for analysis in chosen
    ]
    return Report(trace, base, sections, bool(names), refused)


def _applies(analysis: Analysis, trace: Trace, base: Trace | None) -> bool:
    """Whether a report has the section when none are named."""
    return (base is not None or not analysis.is_pair) and not (analysis.of_host and trace.has("kernels"))


def run_section(analysis: Analysis, trace: Trace, base: Trace | None = None, rules: Rules = DEFAULT) -> Section:
    """Run one analysis; a table that is missing becomes the section's `missing` text, not an error."""
    traces = (base, trace) if analysis.is_pair else (trace,)
    more = ({"base": base} if analysis.takes_base else {}) | ({"rules": rules} if analysis.is_judged else {})
    try:
        with blame_rows(*(one for one in (base, trace) if one is not None)):
            frame = analysis.run(*traces, **more)
            return Section(analysis, frame, merge_ranks(analysis.notes(*traces, frame)) if analysis.notes else [])
    except MissingTableError as error:
        return Section(analysis, analysis.result.empty(), [], str(error))
