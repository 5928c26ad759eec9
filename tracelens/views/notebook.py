"""A report for Python: it shows itself in a notebook, prints as text, and writes the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import polars as pl

from tracelens.errors import UsageError, near
from tracelens.report import Report, Section, build_report
from tracelens.storage.atomic_write import write_text
from tracelens.trace import Trace
from tracelens.views.columns import useful
from tracelens.views.formats import FORMATS
from tracelens.views.formats.format import Screen
from tracelens.views.values import printable, show

_ROWS = 12


@dataclass(frozen=True, slots=True, repr=False)
class ReportView:
    """A report with its sections by name: `view["verdict"]` is the DataFrame."""

    report: Report

    @classmethod
    def of(cls, trace: Trace, sections: Sequence[str], against: Trace | None) -> ReportView:
        """The report on a trace.

        Raises UsageError for unknown sections, and comparisons without `against`.
        """
        return cls(build_report(trace, against, sections))

    def __getitem__(self, name: str) -> pl.DataFrame:
        """A section's rows. Raises UsageError where the report has no such section."""
        found = {section.analysis.name: section.frame for section in self.report.sections}
        if name not in found:
            raise UsageError(f"this report has no section {name}; {near(name, found)}")
        return found[name]

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page, which is also written to the path where one is given.

        Raises SourceError where it cannot be.
        """
        form = FORMATS["html"]
        page = str(form.write(self.report, Screen(rows=form.rows)))
        if path is not None:
            write_text(page, Path(path))
        return page

    def __repr__(self) -> str:
        """The report as text."""
        return str(FORMATS["text"].write(self.report, Screen(rows=_ROWS)))

    def _repr_html_(self) -> str:
        """Each section's question, first rows and findings; names are escaped."""
        parts = [
            f"<h3>{_text(self.report.title)}</h3>",
            *(_section(one) for one in self.report.to_read()),
        ]
        parts += [f"<p>{_text(line)}</p>" for line in self.report.unanswered()]
        return "".join(parts)


def _section(section: Section) -> str:
    heading = f"<h4>{_text(section.analysis.question)}</h4>"
    notes = "".join(f"<li>{_text(note)}</li>" for note in section.notes)
    body = f"<p>{_text(section.absent)}</p>" if section.absent is not None else _table(section)
    return f"{heading}{body}<ul>{notes}</ul>"


def _table(section: Section) -> str:
    columns = show(section.analysis.result, section.frame, useful(section), _ROWS)
    head = "".join(f"<th>{_text(column.heading)}</th>" for column in columns)
    rows = (
        "".join(f"<td>{_text(cell)}</td>" for cell in row)
        for row in zip(*(c.cells for c in columns), strict=True)
    )
    more = (
        f"<p>{_ROWS} of {section.frame.height:,} rows</p>" if section.frame.height > _ROWS else ""
    )
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>{more}"


def _text(text: str) -> str:
    return escape(printable(text))
