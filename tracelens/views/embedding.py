"""Embed tables and drawings in the page as compressed columns, within a budget.

Columns are encoded as base64. A script of the page inflates them (DecompressionStream).
"""

import base64
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

import msgspec
import polars as pl

from tracelens.report import Section
from tracelens.storage.table import Table
from tracelens.views.bar_views import Bars
from tracelens.views.columns import PROSE, useful
from tracelens.views.drawings import Drawing
from tracelens.views.palette import colors_of
from tracelens.views.values import Shown, printable, shorten_apart, show

BUDGET = 3_500_000
"""Largest number of characters of embedded data. Of larger tables, only first rows are embedded."""
_LEAST = 500_000
"""Number of characters that tables may have even if the drawings use up the budget."""
MOST_ROWS = 100_000
"""Largest number of packed rows of one table.

Packing 3 million kernel names would take 4.5 GB, and only a hundredth of them fit the budget.
"""
LONGEST = 4_000
"""Largest number of characters of one text; a longer one loses its middle."""
NAME_WIDTH = 60
"""Width in characters to which names are shortened."""

_EXACT = 2**53
_DIGITS = 7
"""Significant digits of embedded fractions."""
_MOST_CHOICES = 40
_SUMMED = re.compile(
    r"n_|library_|primitive_|share_frac$|(\w+_)?(total|self|estimate|low|high|only)_ns$"
)
"""Matches columns whose values add up over the layers of a tree."""


def packed(data: Any) -> str:
    """Return the data as deflated JSON in base64."""
    return base64.b64encode(zlib.compress(msgspec.json.encode(data), 6)).decode()


def clip(text: str) -> str:
    """Return the text in printable form, without its middle if it is too long for a page."""
    half = LONGEST // 2
    if len(text) > LONGEST:
        text = f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"
    return printable(text)


def embed(
    drawings: Iterable[Drawing],
    tables: Sequence[tuple[Section, Sequence[Shown]]],
) -> tuple[list[dict[str, Any]], dict[str, tuple[str, int]]]:
    """Pack drawings and tables within the budget.

    Drawings are packed whole. Tables get as many rows as the remaining budget allows. A table is a
    section with the heads of its columns. The cells come from the section.

    The first result has the packed drawings for the page's template. The second has one entry per
    section name: the packed table and its number of rows.
    """
    packed_drawings = [_packed_drawing(drawing) for drawing in drawings]
    used = sum(len(view["data"]) for drawing in packed_drawings for view in drawing["views"])
    first_tries = [packed(_table_data(section, heads, MOST_ROWS)) for section, heads in tables]
    budget = max(BUDGET - used, min(_LEAST, BUDGET))
    limit = _share([len(text) for text in first_tries], budget)
    tables_by_name = {}
    for (section, heads), first_try in zip(tables, first_tries, strict=True):
        n_rows, part = min(section.frame.height, MOST_ROWS), first_try
        while len(part) > limit and n_rows > 1:
            n_rows = max(int(n_rows * min(0.95 * limit / len(part), 0.9)), 1)
            part = packed(_table_data(section, heads, n_rows))
        tables_by_name[section.analysis.name] = part, n_rows
    return packed_drawings, tables_by_name


def _packed_drawing(drawing: Drawing) -> dict[str, Any]:
    views = [
        {
            "rank": view.rank,
            "step": view.step,
            "data": packed(_picture_data(view.picture)),
        }
        for view in drawing.views
    ]
    return {
        "name": drawing.name,
        "title": drawing.title,
        "notes": drawing.notes,
        "views": views,
        "overviews": {whose: packed(steps) for whose, steps in drawing.overviews.items()},
    }


def _picture_data(picture: Bars | dict[str, Any]) -> dict[str, Any]:
    """Return a picture's data for page.js: columns, a note, and colours by kind.

    A column of texts has its distinct words, and an index into them per row.
    """
    if not isinstance(picture, Bars):
        return picture
    columns: dict[str, Any] = {}
    for series in picture.frame:
        if series.dtype != pl.String:
            columns[series.name] = series.to_list()
            continue
        words = series.unique(maintain_order=True)
        at = series.to_frame().join(
            words.to_frame().with_row_index("at"),
            on=series.name,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )["at"]
        columns[series.name] = {
            "words": [clip(word) if word is not None else "(none)" for word in words],
            "at": at.to_list(),
        }
    kinds = columns["kind" if "kind" in columns else "primitive"]["words"]
    return {
        "kind": picture.kind,
        "length": picture.length,
        "note": picture.note,
        "columns": columns,
        "colors": colors_of([*dict.fromkeys([*kinds, "module", "op"])]),
    }


def _share(sizes: Sequence[int], budget: int) -> int:
    """Return the largest number of characters per table with which all tables fit the budget."""
    left, limit = budget, budget
    for rest, size in enumerate(sorted(sizes)):
        limit = left // (len(sizes) - rest)
        if size > limit:
            break
        left -= size
    return limit


def _table_data(section: Section, heads: Sequence[Shown], n_rows: int) -> dict[str, Any]:
    """Return a section's first rows for tables.js.

    - `columns`: the columns. If a column equals an earlier column, its `values` are the earlier
      column's index.
    - `first`: True for each column that the table shows before the user asks for more columns.
    - `choices`: indices of the columns that select rows: rank, step, and enums with few words.
    - `tree`: index of the column `layer` if the table has shares of layers, else None.
    """
    frame, result = section.frame, section.analysis.result
    part = frame.head(n_rows)
    written = section.words
    columns = [_column(head, part, result, written.get(head.name, {})) for head in heads]
    for at, column in enumerate(columns):
        before = [
            i
            for i, one in enumerate(columns[:at])
            if "values" in one and one["values"] == column.get("values")
        ]
        if before:
            column["values"] = before[0]
    words = {column.name for column in result if column.values} & {*frame.columns}
    few = {name for name in words if frame[name].n_unique() <= _MOST_CHOICES} | {"rank", "step"}
    has, first = [column["name"] for column in columns], useful(section)
    return {
        "name": section.analysis.name,
        "height": part.height,
        "columns": columns,
        "first": [name in first for name in has],
        "choices": [
            at for at, name in enumerate(has) if name in few and frame[name].n_unique() > 1
        ],
        "tree": has.index("layer") if {"layer", "share_frac"} <= {*has} else None,
    }


def _column(
    head: Shown,
    frame: pl.DataFrame,
    table: Table,
    written: Mapping[str, str],
) -> dict[str, Any]:
    """Return a column's head, format and values for tables.js.

    Distinct texts are listed once, with an index per row. `written` has the words that replace
    stored values on the page.
    """
    name = head.name
    column = {
        "name": name,
        "label": head.label,
        "unit": head.symbol,
        "doc": head.doc,
        "number": head.is_number,
        "prose": name in PROSE,
        "summed": bool(_SUMMED.match(name)),
    }
    has_units = name == "value" and "unit" in frame.columns
    if name in frame.columns and frame[name].dtype.is_numeric() and not has_units:
        return column | {
            "divisor": head.divisor,
            "decimals": head.decimals,
            "values": _numbers(frame[name]),
        }
    shown_of = [name] if name in frame.columns else [f"{name}_{axis}" for axis in "xyz"]
    words, row_words = _distinct_words(frame, table, shown_of, ["unit"] if has_units else [])
    clipped = [clip(word) for word in words]
    short = {} if column["prose"] or head.is_number else shorten_apart(clipped, NAME_WIDTH)
    shorts = {str(i): short[word] for i, word in enumerate(clipped) if word in short}
    # A table that the user copies has the stored values.
    stored = {str(i): word for i, word in enumerate(clipped) if word in written}
    if stored:
        clipped = [written.get(word, word) for word in clipped]
    return column | {"words": clipped, "short": shorts, "at": row_words, "stored": stored}


def _distinct_words(
    frame: pl.DataFrame,
    table: Table,
    shown_of: Sequence[str],
    units: Sequence[str],
) -> tuple[list[str], list[int]]:
    """Return the distinct texts of a shown column, and each row's index into these texts.

    `shown_of` names the columns of `frame` that the shown column combines. `units` names the column
    with the units of the values; without such a column, `units` is empty.
    """
    rows = frame.select(*shown_of, *units)
    numbers = dict[tuple[Any, ...], int]()
    value_numbers = [numbers.setdefault(row, len(numbers)) for row in rows.iter_rows()]
    values = pl.DataFrame([*numbers], schema=rows.schema, orient="row")
    (shown,) = show(table, values, shown_of)
    words = dict[str, int]()
    word_numbers = [words.setdefault(cell, len(words)) for cell in shown.cells]
    return [*words], [word_numbers[number] for number in value_numbers]


def _numbers(values: pl.Series) -> list[Any]:
    """Return numbers for JSON: NaN is None, and infinities and inexact integers are text.

    JavaScript holds integers beyond 53 bits only inexactly.
    """
    if values.dtype.is_float():
        values = values.round_sig_figs(_DIGITS)
    known = [None if value is None or isnan(value) else value for value in values.to_list()]
    return [value if value is None or abs(value) <= _EXACT else str(value) for value in known]
