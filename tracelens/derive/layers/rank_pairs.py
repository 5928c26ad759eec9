"""Compare two ranks with each other.

Comparisons match rows by rank number, so the rank of the trace `base` is given the number of the
rank of the trace `other`.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl
from msgspec.structs import replace

from tracelens.schemas import TABLES
from tracelens.trace import Trace

_P = ParamSpec("_P")
_T = TypeVar("_T")


def one_rank_each(base: Trace, other: Trace) -> bool:
    """Return whether each trace has one rank and the two rank numbers differ."""
    ranks = base.manifest.ranks, other.manifest.ranks
    return len(ranks[0]) == len(ranks[1]) == 1 and ranks[0] != ranks[1]


def _as_rank(trace: Trace, rank: int) -> Trace:
    """Return a trace of one rank with another number for that rank."""
    tables = {name: trace.scan(name).with_columns(rank=pl.lit(rank, pl.Int32)) for name in TABLES}
    sources = [source | {"rank": rank} for source in trace.manifest.sources]
    return Trace(
        replace(trace.manifest, ranks=[rank], sources=sources),
        tables,
        trace.path,
    )


def pairs_ranks(
    compare: Callable[Concatenate[Trace, Trace, _P], _T],
) -> Callable[Concatenate[Trace, Trace, _P], _T]:
    """Wrap a comparison so that it compares two ranks when each trace has only one rank."""

    @wraps(compare)
    def paired(
        base: Trace,
        other: Trace,
        /,
        *args: _P.args,
        **more: _P.kwargs,
    ) -> _T:
        if one_rank_each(base, other):
            base = base.derived(_as_rank, other.manifest.ranks[0])
            rules: Any = more.get("rules")
            if rules is not None:
                sides = {"base_runs": rules.base_runs, "other_runs": rules.other_runs}
                runs = {
                    side: [run.derived(_as_rank, other.manifest.ranks[0]) for run in trace]
                    for side, trace in sides.items()
                }
                more["rules"] = replace(rules, **runs)
        return compare(base, other, *args, **more)

    return paired


def says_ranks(
    notes: Callable[Concatenate[Trace, Trace, _P], list[str]],
) -> Callable[Concatenate[Trace, Trace, _P], list[str]]:
    """Wrap the notes of a comparison: if two ranks are compared, the first sentence names them."""

    @wraps(notes)
    def with_ranks(
        base: Trace,
        other: Trace,
        /,
        *args: _P.args,
        **more: _P.kwargs,
    ) -> list[str]:
        sentences = pairs_ranks(notes)(base, other, *args, **more)
        if one_rank_each(base, other):
            base_rank = base.manifest.ranks[0]
            other_rank = other.manifest.ranks[0]
            sentences.insert(
                0,
                f"Rank {base_rank} of base is compared with rank {other_rank} of other, the only one"
                " of each.",
            )
        return sentences

    return with_ranks
