"""Write a report as JSON: `{"trace": …, "sections": {NAME: {"rows": […], "n_rows": 3, …}}}`."""

import json
import math
from collections.abc import Sequence
from typing import Any

from tracelens.report import Report, Section
from tracelens.trace import Trace
from tracelens.views.columns import useful
from tracelens.views.formats.format import Format

_ANSWER = ("job", "verdict", "changes")
"""Sections that have the answer. They have few rows, and are written with all columns."""

_ROWS = 12


def to_json(report: Report, rows: int | None = None) -> str:
    """Return the report as JSON, with each section's rows under the names of their columns.

    - "rows": at most `rows` rows of a section, all rows of an SQL query
    - "n_rows": number of rows without the limit
    - "missing": the reason if a section has no answer
    - "base": only in a comparison
    - "gate": only with --fail-on

    If `rows` is given and the user chose no sections, most sections are written with fewer columns:
    those of the report in text, rounded to four digits. "n_columns" then counts all columns. The
    sections in `_ANSWER` keep all columns, and have up to `_ROWS` rows even if `rows` is smaller.

    Times are integer nanoseconds. NaN and infinity become JSON's null value.
    """
    document: dict[str, Any] = {"trace": _trace(report.trace)}
    if report.base is not None:
        document["base"] = _trace(report.base)
    if report.gate is not None:
        document["gate"] = _finite([verdict.as_dict() for verdict in report.gate])
    is_short = rows is not None and not report.is_asked
    sections = {}
    for section in report.sections:
        name = section.analysis.name
        if section.is_query or rows is None:
            sections[name] = section_document(section, None)
        elif not is_short:
            sections[name] = section_document(section, rows)
        elif name in _ANSWER:
            sections[name] = section_document(section, max(rows, _ROWS))
        else:
            sections[name] = _rounded(section_document(section, rows, useful(section)))
    document["sections"] = sections
    return (
        json.dumps(
            document,
            allow_nan=False,
            default=str,
            separators=(",", ":"),
        )
        + "\n"
    )


def section_document(
    section: Section,
    rows: int | None,
    columns: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return a section as a dict of `rows`, `n_rows` and `notes`.

    If the section has no answer, `missing` says why. With `columns`, rows have only these columns,
    and `n_columns` counts all columns.
    """
    frame = section.frame if rows is None else section.frame.head(rows)
    written = {
        "rows": _finite((frame if columns is None else frame.select(columns)).to_dicts()),
        "n_rows": section.frame.height,
        "notes": section.notes,
    }
    if columns is not None and len(columns) < frame.width and frame.height:
        written["n_columns"] = frame.width
    return written | ({} if section.missing is None else {"missing": section.missing})


def _trace(trace: Trace) -> dict[str, Any]:
    return {"name": trace.name, **_finite(trace.manifest.as_dict())}


def _rounded(section: dict[str, Any]) -> dict[str, Any]:
    """Return a section's document with fractions rounded to four digits."""
    rows = [
        {
            name: float(f"{cell:.4g}") if isinstance(cell, float) else cell
            for name, cell in row.items()
        }
        for row in section["rows"]
    ]
    return section | {"rows": rows}


def _finite(value: Any) -> Any:
    """Replace NaN and infinity by None, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


FORMAT = Format(
    "json",
    (".json",),
    lambda report, screen: to_json(report, screen.rows),
    rows=_ROWS,
    rows_of_all=4,
)
