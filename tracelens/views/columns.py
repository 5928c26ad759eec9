"""Choose and order the columns of a section that are shown."""

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
"""Columns of sentences, which are wrapped. Long texts of other columns lose their middle."""
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
    """Return the section's informative columns, with the `useful` columns first."""
    first = useful(section)
    return [*first, *(name for name in _informative(section) if name not in first)]


def useful(section: Section) -> list[str]:
    """Return the informative columns that the analysis lists in `shown`, by default all."""
    if section.is_query:
        return section.frame.columns
    available, shown = _informative(section), section.analysis.shown
    return [name for name in shown if name in available] if shown else available


def _informative(section: Section) -> list[str]:
    """Return the columns of a section that tell a reader something, as `informative` does.

    An analysis that compares ranks always keeps its column `rank`: a rank may be its answer.
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
    """Return the columns that tell a reader something.

    These columns are left out:

    - columns without values
    - the rank or device, if it is the same in all rows
    - columns with a prefix in `_IF_ANY`, if all values are 0
    """
    if frame.is_empty():
        return frame.columns
    dull = {name for name in frame.columns if frame[name].null_count() == frame.height}
    dull |= {
        name for name in frame.columns if name.startswith(_IF_ANY) and largest_of(frame[name]) == 0
    }
    dull |= {name for name in _PLACES if name in frame.columns and frame[name].n_unique() == 1}
    return [name for name in frame.columns if name not in dull]
