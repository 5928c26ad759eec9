"""Write an answer as text of at most 25 lines and 80 columns, readable without colour.

In a narrower terminal, there may be more lines.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from textwrap import wrap
from typing import TypeAlias

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size

from tracelens.answers.answer import REST, WAIT, WORK, Answer, Bar, Part
from tracelens.views.palette import KIND_COLORS, PART_COLORS
from tracelens.views.values import ELLIPSIS, printable

WIDTH, MOST_LINES = 80, 25
_NARROWEST = 32
"""Least width of the whole text, in characters; a narrower terminal breaks the lines."""
_LEAST_OF_CHANGE = 24
"""Least width of a proposed change's text, in characters, with the step time beside the text.

If less is left for the text, the step time stands below the text.
"""
_BAR = 56
_MOST_OF = {"sentence": 2, "place": 2, "detail": 2, "change": 3, "fact": 2}
"""Largest number of lines by kind of text; longer text is cut after a word."""
_BEFORE_UNIT = re.compile(r"(?<=[0-9]) (?=(?:ns|µs|ms|s|%)(?![a-z]))")
"""Matches the space between a number and its unit, where a line must not break."""
_GLYPHS = {WORK: "█▓▆▂", WAIT: "░▒▚▖", REST: "·"}
"""Characters of a bar by kind of part. Parts of the same kind take these characters in turn."""


_Line: TypeAlias = list[tuple[str, str]]
"""A line: texts, each with its style in Rich's words."""


def answer_text(
    answer: Answer,
    *,
    color: bool = False,
    width: int = WIDTH,
) -> str:
    """Return the answer as text, with colour codes if `color`, for a terminal of this width."""
    width = max(min(width, WIDTH), _NARROWEST)
    most = MOST_LINES * WIDTH // width
    lines = [*_lines(answer, width)]
    # The change with the smallest saving is dropped first
    while len(lines) > most and len(answer.changes) > 1:
        answer = replace(answer, changes=answer.changes[:-1])
        lines = [*_lines(answer, width)]
    if color:
        return _coloured(lines[:most])
    plain = ("".join(text for text, _ in line) for line in lines[:most])
    return "".join(f"{line.rstrip()}\n" for line in plain)


def _coloured(lines: Iterable[_Line]) -> str:
    """Return the lines as text with colour codes."""
    from rich.console import Console  # noqa: PLC0415 - takes 0.02 s, which only a terminal needs
    from rich.text import Text  # noqa: PLC0415

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=WIDTH + 1,
        force_terminal=True,
        color_system="256",
        legacy_windows=False,
        force_jupyter=False,
    )
    for line in lines:
        text = Text.assemble(*line)
        console.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)
    return stream.getvalue()


def _lines(answer: Answer, width: int) -> Iterator[_Line]:
    yield from _wrapped(answer.sentence, "sentence", width, style="bold")
    if answer.place:
        yield from _wrapped(answer.place, "place", width)
    for detail in answer.details:
        yield from _wrapped(detail, "detail", width)
    for row in answer.rows:
        text = printable(row)
        fits = cell_len(text) <= width
        yield [(text if fits else set_cell_size(text, width - 1) + ELLIPSIS, "")]
    if answer.bars:
        yield []
        yield from _drawn_bars(answer.bars, width)
    if answer.unprofiled:
        yield from _wrapped(answer.unprofiled, "fact", width, "  ")
    if answer.changes or answer.no_change:
        yield []
        yield from _drawn_changes(answer, width)
    if answer.about or answer.doubts:
        yield []
    for fact in (*filter(None, [answer.about]), *answer.doubts):
        yield from _wrapped(fact, "fact", width, "  ", style="dim")


def _wrapped(
    text: str,
    kind: str,
    width: int,
    indent: str = "",
    *,
    style: str = "",
) -> list[_Line]:
    """Return the text wrapped into lines, and cut if it is too long for its kind."""
    lines = _cut(printable(text), width - len(indent), _most_of(kind, width))
    return [[(indent + line, style)] for line in lines]


def _most_of(kind: str, width: int) -> int:
    """Return the largest number of lines of this width for a kind of text."""
    return ceil(_MOST_OF[kind] * WIDTH / width)


def _cut(text: str, width: int, most: int) -> list[str]:
    """Break the text into at most `most` lines of this width.

    An ellipsis stands for left-out words, and for the middle of a word longer than a line.
    """
    fitted = " ".join(_fitted(word, width) for word in text.split())
    units_beside_numbers = _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", fitted)
    wrapped = wrap(
        units_beside_numbers,
        width,
        break_on_hyphens=False,
        max_lines=most,
        placeholder=f" {ELLIPSIS}",
    )
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrapped] or [""]
    return [line if cell_len(line) <= width else set_cell_size(line, width) for line in lines]


def _fitted(word: str, width: int) -> str:
    """Return the word, without its middle if it is wider than `width`."""
    half = (width - 1) // 2
    return word if cell_len(word) <= width else f"{word[:half]}{ELLIPSIS}{word[-half:]}"


def _drawn_bars(bars: Sequence[Bar], columns: int) -> Iterator[_Line]:
    """Yield a line for each bar, and then lines that explain the bars' characters."""
    margin = max(4, *(cell_len(bar.label) for bar in bars))
    looks = _looks(part for bar in bars for part in bar.parts)
    room = columns - margin - 6 - max(cell_len(bar.text) for bar in bars)
    full = min(_BAR, room)
    for bar in bars:
        line: _Line = [(f"  {bar.label:<{margin}}   ", "")]
        width = max(round(full * bar.length), 1)
        cells = _cells_of(bar.parts, width)
        for part, n in zip(bar.parts, cells, strict=True):
            glyph, style = looks[part.label]
            line.append((glyph * n, style))
        if bar.text:
            line.append((f" {' ' * (full - width)}{bar.text}", ""))
        yield line
        if len(bars) == 1:
            yield from _legend(bar, looks, margin, columns)
    if len(bars) > 1 and len(looks) > 1:
        for bar in bars:
            yield from _legend(bar, looks, margin, columns, bar.label)


def _looks(parts: Iterable[Part]) -> dict[str, tuple[str, str]]:
    """Return the character and the style of each label, the same in all bars."""
    looks: dict[str, tuple[str, str]] = {}
    used = dict.fromkeys(_GLYPHS, 0)
    for part in parts:
        if part.label not in looks:
            n_used = used[part.kind]
            used[part.kind] += 1
            glyphs = _GLYPHS[part.kind]
            colour = PART_COLORS.get(part.label, KIND_COLORS[part.kind])
            looks[part.label] = glyphs[n_used % len(glyphs)], colour
    return looks


def _cells_of(parts: Sequence[Part], width: int) -> list[int]:
    """Return the number of characters of each part; the numbers sum to the bar's width."""
    whole = sum(part.share for part in parts) or 1
    ends = [0]
    reached = 0.0
    for part in parts:
        reached += part.share / whole
        ends.append(round(reached * width))
    return [end - begin for begin, end in pairwise(ends)]


def _legend(
    bar: Bar,
    looks: dict[str, tuple[str, str]],
    margin: int,
    columns: int,
    label: str = "",
) -> Iterator[_Line]:
    """Yield lines with the character, label and percentage of each part of a bar.

    The first line begins with the bar's `label`.
    """
    begin = f"  {label:<{margin}}   "
    line: _Line = [(begin, "")]
    for part, percent in zip(bar.parts, bar.percents, strict=True):
        if not percent:
            continue
        glyph, style = looks[part.label]
        entry = [(glyph, style), (f" {part.label} {percent} %", "")]
        if _width(line) > len(begin):
            if _width(line) + 3 + _width(entry) > columns:
                yield line
                line = [(" " * len(begin), "")]
            else:
                line.append(("   ", ""))
        line += entry
    yield line


def _width(line: _Line) -> int:
    return sum(cell_len(text) for text, _ in line)


def _drawn_changes(answer: Answer, columns: int) -> Iterator[_Line]:
    """Yield lines with the numbered changes, each with the step time after the change."""
    if not answer.changes:
        yield from _wrapped(answer.no_change or "", "fact", columns, "  ")
        return
    afters = [change.after_text for change in answer.changes]
    head = answer.after_head
    column = max(cell_len(head), *map(cell_len, afters))
    width = columns - 2 - column - 2
    is_beside = width >= _LEAST_OF_CHANGE
    if is_beside:
        yield [(f"  {answer.changes_head:<{width}}", "bold"), (f"  {head:>{column}}", "")]
    else:
        yield [(f"  {answer.changes_head}", "bold")]
    for number, (change, after) in enumerate(zip(answer.changes, afters, strict=True), 1):
        room = width - 3 if is_beside else columns - 5
        first, *more = _cut(printable(change.text), room, _most_of("change", columns))
        beside = f"{set_cell_size(first, room)}  {after:>{column}}" if is_beside else first
        yield [(f"  {number}  {beside}", "")]
        if change.place is not None:
            more += _cut(printable(change.place), columns - 5, _most_of("place", columns))
        if not is_beside:
            more += _cut(f"{head} {after}", columns - 5, _most_of("fact", columns))
        for line in more:
            yield [(f"     {line}", "")]
