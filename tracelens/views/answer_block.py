"""The answer as the first screen of the page: sentence, bars and changes, ready for the template."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from tracelens.answers import make_answer
from tracelens.answers.answer import Answer, Bar, Change, Part, rounded_percents
from tracelens.report import Report
from tracelens.views.answer_text import after_head, after_text

_SHADES = 4
"""Colours of each kind of part in style.css."""


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a drawn bar: begin and width in percent of the longest bar, and its class of colour."""

    label: str
    percent: int
    begin: float
    width: float
    colour: str


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A bar with its label, the text behind it, and its parts."""

    label: str
    text: str
    parts: tuple[BarPart, ...]


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """What the page shows first; `changes` are texts with what is left of a step, and the place."""

    answer: Answer
    bars: tuple[DrawnBar, ...]
    changes: tuple[tuple[str, str, str | None], ...]
    after_head: str


def answer_block(report: Report) -> AnswerBlock:
    """Make the answer of a report's trace, compared with its base where it has one."""
    answer = make_answer(report.trace, report.base)
    colours = _colours(part for bar in answer.bars for part in bar.parts)
    bars = tuple(_drawn(bar, colours) for bar in answer.bars)
    return AnswerBlock(answer, bars, tuple(map(_worded, answer.changes)), after_head(answer))


def _colours(parts: Iterable[Part]) -> dict[str, str]:
    """Name the class of each label, alike in all bars: work0, work1, …, wait0, …, rest0."""
    colours: dict[str, str] = {}
    n_used: dict[str, int] = {}
    for part in parts:
        if part.label not in colours:
            shade = n_used.get(part.kind, 0)
            n_used[part.kind] = shade + 1
            colours[part.label] = f"{part.kind}{shade % _SHADES}"
    return colours


def _drawn(bar: Bar, colours: dict[str, str]) -> DrawnBar:
    shares = [part.share for part in bar.parts]
    whole = sum(shares) or 1.0
    begins = accumulate(shares, initial=0.0)
    scale = 100 * bar.length / whole
    parts = zip(bar.parts, rounded_percents(shares), begins, strict=False)
    return DrawnBar(
        bar.label,
        bar.text,
        tuple(
            BarPart(
                part.label,
                percent,
                round(begin * scale, 3),
                round(part.share * scale, 3),
                colours[part.label],
            )
            for part, percent, begin in parts
        ),
    )


def _worded(change: Change) -> tuple[str, str, str | None]:
    text = change.text[:1].upper() + change.text[1:]
    return text, after_text(change), change.place
