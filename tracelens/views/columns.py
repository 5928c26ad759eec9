"""Choose the columns of a section to show, and their order."""

import polars as pl

from tracelens.analyses.analysis import Scope
from tracelens.report import Section
from tracelens.views.values import SHARES, largest_of

UNANSWERED = "What this trace cannot answer"
"""The heading over sections without an answer."""

PROSE = (
    "change",
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
"""Columns of sentences, which are wrapped. In other columns, long names lose their middle."""
_PLACES = ("rank", "device_id")
_IF_ANY = (
    *SHARES,
    "idle_",
    "cuda_self_",
    "cuda_total_",
    "device_total_",
    "device_own_",
    "projected_",
    "other_threads_",
    "n_kernels",
    "n_launches",
)
"""Prefixes of columns that are shown only if they are not all 0."""


def ordered(section: Section) -> list[str]:
    """Return the section's informative columns, beginning with those that people need first."""
    first = useful(section)
    return [
        *first,
        *(name for name in _informative(section) if name not in first),
    ]


def useful(section: Section) -> list[str]:
    """Return the informative columns that the analysis lists in `shown`; all if it lists none."""
    if section.is_query:
        return section.frame.columns
    available, shown = _informative(section), section.analysis.shown
    return [name for name in shown if name in available] if shown else available


def _informative(section: Section) -> list[str]:
    """Return the columns that have more than one value, or whose single value tells something.

    In a trace of several ranks, a section's only rank is kept: it is the answer, such as the rank
    for which others wait.
    """
    frame = section.frame
    columns = informative(frame)
    is_answer = (
        section.analysis.scope is Scope.RANKS
        and "rank" in frame.columns
        and frame["rank"].count() > 0
    )
    return [name for name in frame.columns if name in columns or (is_answer and name == "rank")]


def informative(frame: pl.DataFrame) -> list[str]:
    """Return the columns worth showing.

    Columns without values, a single rank or device, and libraries or causes without time are left
    out.
    """
    if frame.is_empty():
        return frame.columns
    dull = {name for name in frame.columns if frame[name].null_count() == frame.height}
    dull |= {
        name for name in frame.columns if name.startswith(_IF_ANY) and largest_of(frame[name]) == 0
    }
    dull |= {name for name in _PLACES if name in frame.columns and frame[name].n_unique() == 1}
    return [name for name in frame.columns if name not in dull]
