"""Write a report as text for a terminal: questions, tables that fit its width, and notes."""

import io
import textwrap
from collections.abc import Sequence
from typing import Literal

import polars as pl
from msgspec.structs import replace
from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from tracelens.report import Report, Section
from tracelens.storage.table import Table
from tracelens.views.columns import PROSE, useful
from tracelens.views.digest import digest, endings, title
from tracelens.views.formats.format import Screen
from tracelens.views.values import Shown, printable, shorten, show

_NARROWEST, _NARROWEST_FIRST = 16, 36
"""Least widths of text columns, and of the first column, which names the row.

A column that would be narrower is left out.
"""
_WIDEST = 72
"""Greatest width of a text column; a longer name loses its middle."""
_MOST_HEADING_LINES = 4
"""Largest number of lines of a column's heading, which has a label and a unit."""
_GAP = 2
"""Number of characters that rich puts between two columns."""


def to_text(report: Report, screen: Screen) -> str:
    """Return the whole report as text, the verdict first.

    Each section without an answer has one line at the end.
    """
    parts: list[RenderableType] = [_head(report)]
    for section, rows in digest(report, screen.rows):
        parts += [Text(), _section(section, replace(screen, rows=rows))]
    for head, lines in endings(report):
        parts += [
            Text(),
            Text(head, style="bold cyan"),
            *(_bullet(line) for line in lines),
        ]
    return _render(Group(*parts), screen)


def frame_to_text(frame: pl.DataFrame, screen: Screen) -> str:
    """Return a DataFrame as a table in text, for commands that show no report."""
    columns = show(
        Table("", "", ()),
        frame,
        frame.columns,
        screen.rows,
    )
    return _render(_draw_table(columns, frame.height, screen), screen)


def _render(what: RenderableType, screen: Screen) -> str:
    """Return the text that rich draws, without trailing spaces and without parsing markup."""
    stream = io.StringIO()
    Console(
        file=stream,
        width=screen.width,
        force_terminal=screen.color,
        color_system="standard" if screen.color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        force_jupyter=False,  # otherwise a notebook shows what is only written into the stream
    ).print(what)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _draw_table(columns: Sequence[Shown], height: int, screen: Screen) -> RenderableType:
    """Return a table of the columns that fit, and a line on the rows and columns left out.

    `height` is the number of all rows.
    """
    fitted, left_out = _fit(columns, screen.width)
    grid = Grid(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        show_edge=False,
        header_style="bold",
    )
    headings = [_heading(column, width) for column, width in fitted]
    n_lines = max(map(len, headings), default=0)
    for (column, width), heading in zip(fitted, headings, strict=True):
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        lines = [""] * (n_lines - len(heading)) + heading
        grid.add_column(
            Text("\n".join(lines)),
            justify=justify,
            width=width,
            overflow="fold",
        )
    for row in zip(
        *(column.cells for column, _ in fitted),
        strict=True,
    ):
        cells = zip(row, fitted, strict=True)
        grid.add_row(
            *(
                Text(cell if column.name in PROSE else shorten(cell, width))
                for cell, (column, width) in cells
            )
        )
    rest = []
    if screen.rows is not None and height > screen.rows:
        rest.append(f"{screen.rows:,} of {height:,} rows")
    if left_out:
        rest.append(
            f"not shown for lack of width: {', '.join(column.label for column in left_out)}"
        )
    return (
        Group(
            grid,
            Text("; ".join(rest), style="dim"),
        )
        if rest
        else grid
    )


def _head(report: Report) -> RenderableType:
    manifest = report.trace.manifest
    line = Text(printable(title(report)), style="bold")
    about = [f"from {printable(report.sources)}"] if report.sources else []
    if len(manifest.ranks) > 1 and report.headline is None:
        about.append(f"{len(manifest.ranks)} ranks")
    if not manifest.complete:
        about.append("incomplete: see tracelens check")
    return (
        Group(
            line,
            Text("; ".join(about), style="dim"),
        )
        if about
        else line
    )


def _section(section: Section, screen: Screen) -> RenderableType:
    analysis = section.analysis
    title = Text.assemble(
        (printable(analysis.question), "bold cyan"),
        (f"  {analysis.name}", "dim"),
    )
    parts: list[RenderableType] = [title]
    if section.absent is not None:
        parts.append(_bullet(section.absent))
    elif screen.rows != 0:
        names, words = useful(section), section.words
        columns = show(analysis.result, section.frame, names, screen.rows, words)
        parts.append(_draw_table(columns, section.frame.height, screen))
    return Group(
        *parts,
        *(_bullet(note) for note in section.notes),
    )


def _bullet(note: str) -> RenderableType:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text("*"), Text(printable(note)))
    return grid


def _fit(columns: Sequence[Shown], width: int) -> tuple[list[tuple[Shown, int]], list[Shown]]:
    """Return the columns that fit, with their widths, and the columns that are left out.

    The last columns are left out first. The first column and the first column of numbers are always
    kept.
    """
    wanted = [_wanted_width(column) for column in columns]
    least = _least_widths(
        columns,
        wanted,
        min(_NARROWEST_FIRST, max(width // 2, _NARROWEST)),
    )
    n = len(columns)
    while n > 1 and sum(least[:n]) + _GAP * n > width:
        n -= 1
    number = next(
        (i for i, column in enumerate(columns) if column.is_number),
        0,
    )
    if number >= max(n, 2):
        others = [column for column in columns[1:] if column is not columns[number]]
        return _fit(
            [columns[0], columns[number], *others],
            width,
        )
    spare = width - sum(least[:n]) - _GAP * n
    widths = least[:n]
    nearest_first = sorted(
        range(n),
        key=lambda i: wanted[i] - least[i],
    )
    for i in nearest_first:
        n_too_narrow = sum(wanted[j] > widths[j] for j in range(n))
        share = spare // n_too_narrow if n_too_narrow else 0
        added = max(
            min(wanted[i] - widths[i], share),
            0,
        )
        widths[i] += added
        spare -= added
    return list(zip(columns[:n], widths, strict=True)), list(columns[n:])


def _least_widths(
    columns: Sequence[Shown],
    wanted: Sequence[int],
    first: int,
) -> list[int]:
    """Return the least width of each column.

    Columns of numbers keep their wanted width. `first` is the least width of the first column if it
    has text.
    """
    is_first_text = True
    widths = []
    for column, width in zip(columns, wanted, strict=True):
        if column.is_number:
            widths.append(width)
            continue
        widths.append(min(width, first if is_first_text else _NARROWEST))
        is_first_text = False
    return widths


def _heading(column: Shown, width: int) -> list[str]:
    lines = textwrap.wrap(column.label, width, break_long_words=False)
    return [*lines, column.symbol] if column.symbol else lines


def _wanted_width(column: Shown) -> int:
    longest = max(map(cell_len, column.cells), default=0)
    heading = max(cell_len(word) for word in [*column.label.split(), column.symbol])
    while len(_heading(column, heading)) > _MOST_HEADING_LINES:
        heading += 1
    return max(
        heading,
        longest if column.name in PROSE else min(longest, _WIDEST),
    )
