"""Name sets of ranks: nodes, pipeline stages and process groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import polars as pl
from msgspec import Struct

from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.ranks.pipeline import find_pipeline
from tracelens.trace import Trace

KINDS = ("rank", "node", "stage", "group", "ranks")
"""Kinds of sets of ranks: one rank, a host, a pipeline stage, a group, or a list."""
_AXES = {
    "tensor": r"tensor|(?<![a-z])tp(?![a-z])",
    "pipeline": r"pipeline|(?<![a-z])pp(?![a-z])",
    "data": r"data|fsdp|(?<![a-z])dp(?![a-z])",
    "expert": r"expert|moe|(?<![a-z])ep(?![a-z])",
    "context": r"context|(?<![a-z])cp(?![a-z])",
}
"""Kinds of parallelism, each with a pattern that matches the descriptions of its groups."""


class RankSet(Struct, frozen=True):
    """Holds a named set of ranks; `kind` is one of KINDS."""

    kind: str
    name: str
    ranks: tuple[int, ...]

    @property
    def text(self) -> str:
        """The set's name, followed by its ranks if the name does not list them."""
        if self.kind in ("rank", "ranks"):
            return self.name
        return f"{self.name} ({list_ranks(self.ranks)})"


def list_set(ranks: Iterable[int]) -> RankSet:
    """Return a set of ranks, named by the list of its ranks."""
    members = tuple(sorted({*ranks}))
    return RankSet(
        "rank" if len(members) == 1 else "ranks",
        list_ranks(members),
        members,
    )


def named_sets(trace: Trace) -> list[RankSet]:
    """Return the nodes, pipeline stages and process groups that have some of the trace's ranks.

    Sets with fewer than two of the trace's ranks are left out. Sets with all ranks are left out.
    """
    pipeline = trace.derived(find_pipeline)
    nodes = [*trace.ranks.select("rank", "node").drop_nulls().iter_rows()]
    stages = [*pipeline.stages.items()] if pipeline else []
    sets = [
        *_numbered_sets("node", "node", nodes),
        *_numbered_sets("stage", "pipeline stage", stages),
        *_groups(trace),
    ]
    given = {*trace.manifest.ranks}
    kept = (
        RankSet(
            rank_set.kind,
            rank_set.name,
            tuple(sorted({*rank_set.ranks} & given)),
        )
        for rank_set in sets
    )
    return [rank_set for rank_set in kept if 1 < len(rank_set.ranks) < len(given)]


def _numbered_sets(
    kind: str,
    word: str,
    numbers: Sequence[tuple[int, int]],
) -> list[RankSet]:
    """Return one set per number; `numbers` are pairs of a rank and its number."""
    members: dict[int, list[int]] = {}
    for rank, number in numbers:
        members.setdefault(number, []).append(rank)
    return [RankSet(kind, f"{word} {n}", tuple(ranks)) for n, ranks in sorted(members.items())]


def _groups(trace: Trace) -> list[RankSet]:
    """Return the process groups with matched collectives, one per set of member ranks."""
    matched = match_collectives(trace).calls
    calls = matched.filter(pl.col("name") != "send/recv")
    groups = calls.group_by("group_key").agg(
        pl.col("group").first(),
        pl.col("rank").unique(),
    )
    in_order = groups.sort("group_key").select("group", "rank")
    sets: dict[tuple[int, ...], RankSet] = {}
    for label, ranks in in_order.iter_rows():
        members = tuple(sorted(ranks))
        if members not in sets:
            sets[members] = RankSet("group", name_group(label), members)
    return [*sets.values()]


def name_group(description: str | None) -> str:
    """Return a phrase for a process group.

    If the description names an axis of _AXES, the phrase is like "tensor group". For any other
    description, the phrase is "group" and the description.
    """
    for axis, pattern in _AXES.items():
        if description and re.search(pattern, description.lower()):
            return f"{axis} group"
    return f"group {description}" if description else "group"


def join_sets(sets: Sequence[RankSet]) -> RankSet:
    """Join several sets of one kind into one, named "nodes 2 and 5" or "3 tensor groups"."""
    kind = sets[0].kind
    ranks = tuple(sorted(rank for rank_set in sets for rank in rank_set.ranks))
    if kind == "group":
        return RankSet("group", f"{len(sets)} {sets[0].name}s", ranks)
    words = [rank_set.name.rsplit(" ", 1) for rank_set in sets]
    word = words[0][0]
    *numbers, last = (number for _, number in words)
    name = f"{word}s {', '.join(numbers)} and {last}"
    return RankSet(kind, name, ranks)


def tied_ranks(trace: Trace, ranks: Collection[int]) -> tuple[str, list[int]] | None:
    """Return the smallest group that contains all of the ranks, and its other members.

    Return None if there is no such group.
    """
    around = [
        rank_set
        for rank_set in trace.derived(named_sets)
        if rank_set.kind == "group" and {*ranks} < {*rank_set.ranks}
    ]
    if not around:
        return None
    group = min(
        around,
        key=lambda rank_set: (len(rank_set.ranks), rank_set.name != "tensor group"),
    )
    return group.name, [rank for rank in group.ranks if rank not in ranks]
