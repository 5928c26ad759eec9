"""Show a report from Python: in a notebook, as text, and as the page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import polars as pl

from tracelens.errors import UsageError, near
from tracelens.report import Report, Section, build_report
from tracelens.storage.atomic_write import write_text
from tracelens.trace import Trace
from tracelens.views.columns import useful
from tracelens.views.first_screen import AnswerBlock, DrawnBar, answer_block
from tracelens.views.formats import FORMATS
from tracelens.views.formats.format import Screen
from tracelens.views.values import printable, show

_ROWS = 12


@dataclass(frozen=True, slots=True, repr=False)
class ReportView:
    """A report with its sections by name: `view["verdict"]` is the DataFrame."""

    report: Report

    @classmethod
    def of(
        cls,
        trace: Trace,
        sections: Sequence[str],
        against: Trace | None,
    ) -> ReportView:
        """Return the report on a trace.

        Raises UsageError for unknown sections. It also raises UsageError if a section compares two
        traces and `against` is None.
        """
        return cls(build_report(trace, against, sections))

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Return a section's rows; raise UsageError if the report has no such section."""
        frames = self.report.frames
        if name not in frames:
            raise UsageError(f"this report has no section {name}; {near(name, frames)}")
        return frames[name]

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the page as HTML, and write it to `path` if given.

        Raises SourceError if the file cannot be written.
        """
        form = FORMATS["html"]
        page = str(form.write(self.report, Screen(rows=form.rows)))
        if path is not None:
            write_text(page, Path(path))
        return page

    def __repr__(self) -> str:
        """Return the report as text."""
        return str(FORMATS["text"].write(self.report, Screen(rows=_ROWS)))

    def _repr_html_(self) -> str:
        """Return the answer with its bars as HTML, followed by all sections in folded form."""
        parts = [
            *(_section(section) for section in self.report.to_read()),
            *(f"<p>{_text(line)}</p>" for line in self.report.unanswered()),
        ]
        more = f"<details><summary>All sections</summary>{''.join(parts)}</details>"
        return f"<h3>{_text(self.report.title)}</h3>{_answer(answer_block(self.report))}{more}"


def _answer(block: AnswerBlock) -> str:
    """Return the answer as HTML: sentences, coloured bars with legends, and changes."""
    answer = block.answer
    details = _paragraphs([answer.place, *answer.details, answer.unprofiled])
    rows = f"<pre>{_text(chr(10).join(answer.rows))}</pre>" if answer.rows else ""
    ends = _paragraphs([answer.no_change, answer.about, *answer.doubts])
    return "".join(
        (
            f"<p><b>{_text(answer.sentence)}</b></p>",
            *details,
            rows,
            *map(_bar, block.bars),
            _changes(block),
            *ends,
        )
    )


def _paragraphs(lines: Iterable[str | None]) -> list[str]:
    return [f"<p>{_text(line)}</p>" for line in lines if line]


def _changes(block: AnswerBlock) -> str:
    """Return the changes as a numbered HTML list with a heading, empty without changes."""
    if not block.changes:
        return ""
    changes = [
        f"{change}: {block.answer.after_head} {after}{f', {place}' if place else ''}"
        for change, after, place in block.changes
    ]
    items = "".join(f"<li>{_text(change)}</li>" for change in changes)
    return f"<p>{_text(block.answer.changes_head)}</p><ol>{items}</ol>"


def _bar(bar: DrawnBar) -> str:
    """Return one bar as HTML, with its label and the share of each part."""
    rects = "".join(
        f'<rect x="{part.begin}" width="{part.width}" height="8" fill="{part.look}"/>'
        for part in bar.parts
    )
    legend = ", ".join(
        f'<span style="color:{part.look}">■</span> {_text(part.label)} {part.percent} %'
        for part in bar.parts
    )
    head = _text(" ".join(filter(None, (bar.label, bar.text))))
    size = 'viewBox="0 0 100 8" preserveAspectRatio="none" width="100%" height="16"'
    return f"<p>{head}<br><svg {size}>{rects}</svg><br>{legend}</p>"


def _section(section: Section) -> str:
    heading = f"<h4>{_text(section.analysis.question)}</h4>"
    notes = "".join(f"<li>{_text(note)}</li>" for note in section.notes)
    body = f"<p>{_text(section.absent)}</p>" if section.absent is not None else _table(section)
    return f"{heading}{body}<ul>{notes}</ul>"


def _table(section: Section) -> str:
    names, words = useful(section), section.words
    columns = show(section.analysis.result, section.frame, names, _ROWS, words)
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
