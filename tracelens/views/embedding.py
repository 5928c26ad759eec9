"""Embed tables and drawings in the page as compressed columns, within a budget that it states.

A script of the page inflates them (DecompressionStream). base64 has no character that could end its
element.
"""

import base64
import re
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
import polars as pl

from tracelens.report import Section
from tracelens.storage.table import Table
from tracelens.views.columns import PROSE, useful
from tracelens.views.palette import colors_of
from tracelens.views.values import Shown, printable, shorten_apart, show

BUDGET = 3_500_000
"""The budget of characters for embedded data; of larger tables, the first rows are embedded."""
_LEAST = 500_000
"""Characters that tables may have at least, however much drawings take."""
MOST_ROWS = 100_000
"""Most rows of one table that are packed.

Packing all of 3 million kernel names took 4.5 GB, to embed a hundredth of them.
"""
LONGEST = 4_000
"""Most characters of one text; a longer one loses its middle."""
NAME_WIDTH = 60
"""Width in characters in which a name is shown."""

_EXACT = 2**53
_DIGITS = 7
"""Significant digits of embedded fractions."""
_MOST_CHOICES = 40
_SUMMED = re.compile(
    r"n_|library_|primitive_|share_frac$|(\w+_)?(total|self|estimate|low|high|only)_ns$"
)
"""Pattern of columns whose values add up over the layers of a tree."""


def packed(data: Any) -> str:
    """Pack the data as base64 of deflated JSON."""
    return base64.b64encode(zlib.compress(msgspec.json.encode(data), 6)).decode()


def clip(text: str) -> str:
    """Make the text printable, and cut its middle where it is too long for a page."""
    half = LONGEST // 2
    if len(text) > LONGEST:
        text = f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"
    return printable(text)


def packed_bars(kind: str, frame: pl.DataFrame, length: int, note: str) -> str:
    """Pack the frame's columns, texts as words and places, with a note and the kinds' colours."""
    columns: dict[str, Any] = {}
    for series in frame:
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
    return packed(
        {
            "kind": kind,
            "length": length,
            "note": note,
            "columns": columns,
            "colors": colors_of([*dict.fromkeys([*kinds, "module", "op"])]),
        }
    )


def embed(
    sections: Sequence[tuple[Section, Sequence[str]]], used: int = 0
) -> list[tuple[str, int]]:
    """Pack each section's named columns; return the packed text and its number of rows.

    All rows are packed where the budget allows. `used` is the number of its characters that
    drawings took already.
    """
    made = [
        packed(table_data(section, names, min(section.frame.height, MOST_ROWS)))
        for section, names in sections
    ]
    limit = _share([len(text) for text in made], max(BUDGET - used, min(_LEAST, BUDGET)))
    sizes = []
    for (section, names), whole in zip(sections, made, strict=True):
        n_rows, part = min(section.frame.height, MOST_ROWS), whole
        while len(part) > limit and n_rows > 1:
            n_rows = max(int(n_rows * min(0.95 * limit / len(part), 0.9)), 1)
            part = packed(table_data(section, names, n_rows))
        sizes.append((part, n_rows))
    return sizes


def _share(sizes: Sequence[int], budget: int) -> int:
    """Return the most that one table may take, so that all fit the budget.

    Tables below that stay whole.
    """
    left, limit = budget, budget
    for rest, size in enumerate(sorted(sizes)):
        limit = left // (len(sizes) - rest)
        if size > limit:
            break
        left -= size
    return limit


def table_data(section: Section, names: Sequence[str], rows: int | None = None) -> dict[str, Any]:
    """Return the first rows of a section's named columns, for tables.js.

    A column that equals an earlier one has that one's index in place of its values. `first` are the
    columns that people need, which are printed. `choices` are those to select rows by: rank, step,
    and columns with few declared words. `tree` is the column of paths where the table splits a
    whole by layer.
    """
    frame, result = section.frame, section.analysis.result
    part = frame if rows is None else frame.head(rows)
    columns = [_column(one, part, result) for one in show(result, frame, names, 0)]
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


def _column(shown: Shown, frame: pl.DataFrame, table: Table) -> dict[str, Any]:
    """Return a column: its head, how its numbers are written, and its values.

    Repeated words are stored once, with each row's index into them.
    """
    name = shown.name
    found = {
        "name": name,
        "label": shown.label,
        "unit": shown.symbol,
        "doc": shown.doc,
        "number": shown.is_number,
        "prose": name in PROSE,
        "summed": bool(_SUMMED.match(name)),
    }
    if (
        name in frame.columns
        and frame[name].dtype.is_numeric()
        and not (name == "value" and "unit" in frame.columns)
    ):
        return found | {
            "divisor": shown.divisor,
            "decimals": shown.decimals,
            "values": _numbers(frame[name]),
        }
    shown_of = [name] if name in frame.columns else [f"{name}_{axis}" for axis in "xyz"]
    rows = frame.select(
        *shown_of, *(["unit"] if name == "value" and "unit" in frame.columns else [])
    )
    distinct = rows.unique(maintain_order=True).with_row_index(
        "number"
    )  # each is made text of once
    (whole,) = show(table, distinct, shown_of)
    cells = pl.Series(whole.cells, dtype=pl.String)
    words = cells.unique(maintain_order=True)
    place = (
        cells.replace_strict(words, range(len(words)), return_dtype=pl.Int64)
        if len(words)
        else cells
    )
    number = rows.join(
        distinct, on=rows.columns, how="left", nulls_equal=True, maintain_order="left"
    )["number"]
    at = place.gather(number)
    clipped = [clip(word) for word in words]
    short = {} if found["prose"] or shown.is_number else shorten_apart(clipped, NAME_WIDTH)
    shorts = {str(i): short[word] for i, word in enumerate(clipped) if word in short}
    return found | {"words": clipped, "short": shorts, "at": at.to_list()}


def _numbers(values: pl.Series) -> list[Any]:
    """Return numbers as JSON can hold them.

    Infinities, and numbers that a script cannot hold exactly, are text.
    """
    if values.dtype.is_float():
        values = values.round_sig_figs(_DIGITS).fill_nan(None)
    if (values.cast(pl.Float64).abs() < _EXACT).all():
        return values.to_list()
    return [
        value if value is None or abs(value) <= _EXACT else str(value) for value in values.to_list()
    ]
