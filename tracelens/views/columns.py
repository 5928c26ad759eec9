"""Which of a section's columns are shown, in which order, and which of them are sentences."""

from tracelens.report import Section
from tracelens.views.values import informative

UNANSWERED = "What this trace cannot answer"
"""The heading over sections without an answer."""

PROSE = (
    "evidence",
    "text",
    "reason",
    "meaning",
    "doc",
    "used_for",
    "to_get_it",
    "a row is",
    "empty because",
    "answers",
)
"""Columns of sentences, which are wrapped; names are cut in their middle instead."""


def ordered(section: Section) -> list[str]:
    """The section's columns that say something, those that people need first in front."""
    first = useful(section)
    return [*first, *(name for name in informative(section.frame) if name not in first)]


def useful(section: Section) -> list[str]:
    """The columns that its analysis has people see and that say something; all that do where it names none."""
    available, shown = informative(section.frame), section.analysis.shown
    return [name for name in shown if name in available] if shown else available
