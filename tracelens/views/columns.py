"""Which of a section's columns are shown, in which order, and which of them are sentences."""

from collections.abc import Sequence

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


def ordered(shown: Sequence[str], available: Sequence[str]) -> list[str]:
    """The available columns, those that an analysis has people see first."""
    first = useful(shown, available)
    return [*first, *(name for name in available if name not in first)]


def useful(shown: Sequence[str], available: Sequence[str]) -> list[str]:
    """The available ones of the columns that an analysis has people see; all where it names none."""
    return [name for name in shown if name in available] if shown else list(available)
