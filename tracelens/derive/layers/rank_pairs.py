"""Comparing one rank with one other rank: comparisons match rows by rank, so the two go by one number."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from tracelens.trace import Trace

_P = ParamSpec("_P")
_T = TypeVar("_T")


def one_rank_each(base: Trace, other: Trace) -> bool:
    """Whether each trace has one rank and the two differ."""
    ranks = base.manifest.ranks, other.manifest.ranks
    return len(ranks[0]) == len(ranks[1]) == 1 and ranks[0] != ranks[1]


def pairs_ranks(compare: Callable[Concatenate[Trace, Trace, _P], _T]) -> Callable[Concatenate[Trace, Trace, _P], _T]:
    """The comparison, which takes base's only rank for other's only one."""

    @wraps(compare)
    def paired(base: Trace, other: Trace, /, *args: _P.args, **more: _P.kwargs) -> _T:
        if one_rank_each(base, other):
            base = base.as_rank(other.manifest.ranks[0])
        return compare(base, other, *args, **more)

    return paired


def says_ranks(
    notes: Callable[Concatenate[Trace, Trace, _P], list[str]],
) -> Callable[Concatenate[Trace, Trace, _P], list[str]]:
    """The notes of a comparison, of ranks paired likewise, and first that they were."""

    @wraps(notes)
    def said(base: Trace, other: Trace, /, *args: _P.args, **more: _P.kwargs) -> list[str]:
        found = pairs_ranks(notes)(base, other, *args, **more)
        if one_rank_each(base, other):
            one, two = base.manifest.ranks[0], other.manifest.ranks[0]
            found.insert(0, f"Rank {one} of base is compared with rank {two} of other, the only one of each.")
        return found

    return said
