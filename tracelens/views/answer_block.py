"""Draw the answer as the page's first screen, ready for the template."""

from itertools import accumulate

from msgspec import Struct

from tracelens.answers.answer import Answer, Bar
from tracelens.answers.words import after_head, after_text
from tracelens.report import Report
from tracelens.views.palette import KIND_COLORS, PART_COLORS


class BarPart(Struct, frozen=True):
    """A part of a drawn bar: begin and width in percent of the longest bar, and its colour."""

    label: str
    percent: int
    begin: float
    width: float
    colour: str


class DrawnBar(Struct, frozen=True):
    """A bar with its label, the text at its end, and its parts."""

    label: str
    text: str
    parts: tuple[BarPart, ...]


class AnswerBlock(Struct, frozen=True):
    """The first block of the page.

    Each of `changes` has three texts: the change, the step after it, and its place or None.
    """

    answer: Answer
    bars: tuple[DrawnBar, ...]
    changes: tuple[tuple[str, str, str | None], ...]
    after_head: str


def answer_block(report: Report) -> AnswerBlock:
    """Draw a report's answer."""
    answer = report.answer
    bars, head = tuple(map(_drawn, answer.bars)), after_head(answer)
    changes = tuple(
        (change.text[:1].upper() + change.text[1:], after_text(change), change.place)
        for change in answer.changes
    )
    return AnswerBlock(answer, bars, changes, head)


def _drawn(bar: Bar) -> DrawnBar:
    shares = [part.share for part in bar.parts]
    whole = sum(shares) or 1.0
    begins = accumulate(shares, initial=0.0)
    scale = 100 * bar.length / whole
    parts = zip(bar.parts, bar.percents, begins, strict=False)
    return DrawnBar(
        bar.label,
        bar.text,
        tuple(
            BarPart(
                part.label,
                percent,
                round(begin * scale, 3),
                round(part.share * scale, 3),
                PART_COLORS.get(part.label, KIND_COLORS[part.kind]),
            )
            for part, percent, begin in parts
        ),
    )
