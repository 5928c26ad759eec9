"""Write one section of a report as CSV."""

import re

import polars as pl

from tracelens.errors import UsageError
from tracelens.report import Report
from tracelens.views.formats.format import Format
from tracelens.views.values import printable

_FORMULA = r"^[=+\-@\t\r]"
"""Matches the beginning of a text that a spreadsheet would run as a formula."""


def to_csv(report: Report) -> str:
    """Return the report's only section as CSV, with column names and all rows.

    None is an empty cell, and times are integers.
    """
    (section,) = report.sections
    # Texts may be hostile: invisible characters are escaped, and a quote precedes text that a
    # spreadsheet would run as a formula.
    cleaned = []
    for name in section.frame.select(pl.selectors.string()).columns:
        words = section.frame[name].unique().drop_nulls()
        shown = pl.Series(
            [_cell(word) for word in words],
            dtype=pl.String,
        )
        cleaned.append(
            section.frame[name].replace_strict(words, shown, default=None)
            if len(words)
            else pl.col(name)
        )
    try:
        return section.frame.with_columns(cleaned).write_csv()
    except pl.exceptions.ComputeError as error:
        raise UsageError(
            "csv cannot hold lists, and a column of these rows has them: say --format json"
        ) from error


def _cell(text: str) -> str:
    """Escape a text's invisible characters, and quote what a spreadsheet would run as a formula."""
    seen = printable(text)
    return f"'{seen}" if re.match(_FORMULA, seen) else seen


FORMAT = Format(
    "csv",
    (".csv",),
    lambda report, _: to_csv(report),
    holds_one_table=True,
)
