"""Refuse sources that cannot be ranks of one program, by the facts that they record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import polars as pl
from msgspec import Struct, field

from tracelens.errors import SourceError
from tracelens.trace.capture import Capture, Diagnostics, SourceFile

WORLD_SIZE = "world_size"
"""Key of a capture's settings for the number of ranks of the program, if it is known."""
NOT_TOGETHER = "ranks_apart"
"""Diagnostic code for ranks that did not run at the same time."""
FORCED = "forced_mix"
"""Diagnostic code for contradicting ranks that `force_mix` combined."""
FAR_NS = 3_600 * 10**9
"""Ranks that lie this far apart are not of one job, even if two machines' clocks differ."""
HOW_TO_FORCE = (
    "collect each into a trace of its own and compare them (--against), or, where they are ranks"
    " all the same, add --force-mix (from Python force_mix=True)"
)
_TIMED = ("kernels", "api_calls", "spans")


class RankFacts(Struct, frozen=True):
    """Facts of a rank's source that show which ranks are of one program."""

    source: SourceFile
    rank: int | None
    world_size: int | None
    groups: Mapping[str, tuple[int, ...]]
    extent: tuple[int, int] | None
    """The start of the first event and the end of the last event, in nanoseconds.

    It is None if the times do not count from the Unix epoch.
    """
    collectives: pl.LazyFrame | None
    """The rank's rows of the table `collectives`."""
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    """Collects warnings that ranks may not belong together."""
    processes: frozenset[int] = frozenset()
    """The process ids of the spans, only for a source that states no rank."""

    @classmethod
    def of(cls, capture: Capture) -> RankFacts:
        """Return the facts of a capture, with the capture's own diagnostics."""
        size, collectives = capture.settings.get(WORLD_SIZE), capture.table("collectives")
        return cls(
            capture.source,
            capture.rank,
            size if isinstance(size, int) else None,
            capture.host_facts.groups,
            extent_of(capture),
            None if collectives is None else collectives.lazy(),
            capture.diagnostics,
            frozenset() if capture.rank is not None else _processes(capture),
        )


def refuse_unrelated(ranks: Sequence[RankFacts], *, force_mix: bool = False) -> None:
    """Raise SourceError if sources of one profiler cannot be ranks of one program.

    Sources are refused in these cases:

    - Two sources state different numbers of ranks.
    - A source states fewer ranks than there are files.
    - A source states a rank beyond its number of ranks.
    - Two process groups of one name have some ranks in common, but not all.
    - Two sources lie an hour or more apart. This is accepted if both issue the same collectives, or
      if all sources state the number of ranks.
    - One process wrote two sources one after the other, and neither states its rank.

    With `force_mix`, these cases get a warning instead. Ranks that did not run at the same time
    always get a warning.
    """
    for one, other, why in (
        *_sizes(ranks),
        *_groups(ranks),
        *_windows(ranks),
        *_far(ranks),
    ):
        if not force_mix:
            raise SourceError(
                f"{one.source.name} and {other.source.name} are not ranks of one program: {why};"
                f" {HOW_TO_FORCE}"
            )
        text = (
            f"not ranks of one program with {one.source.name}, and put together nevertheless: {why}"
        )
        other.diagnostics.add("warning", FORCED, text)


def _sizes(ranks: Sequence[RankFacts]) -> Iterator[tuple[RankFacts, RankFacts, str]]:
    """Yield the first two sources that disagree on the number of ranks, and the reason.

    A source may also state fewer ranks than there are files, or a rank beyond its number of ranks.
    Such a source is yielded with an arbitrary other source.
    """
    n_files = len({rank.source.sha256 for rank in ranks})
    stated = [
        (rank, rank.world_size)
        for rank in ranks
        if rank.world_size is not None and rank.world_size > 0
    ]
    for (one, size), (other, other_size) in combinations(stated, 2):
        if size != other_size and one.source.sha256 != other.source.sha256:
            yield one, other, f"one is of {size:,} ranks, the other of {other_size:,}"
            return
    if stated and stated[0][1] < n_files:
        one = stated[0][0]
        other = next(rank for rank in ranks if rank.source.sha256 != one.source.sha256)
        yield (
            one,
            other,
            f"{one.source.name} is of {stated[0][1]:,} ranks, and {n_files:,} were given",
        )
        return
    for one, size in stated:
        if one.rank is not None and one.rank >= size and n_files > 1:
            other = next(rank for rank in ranks if rank is not one)
            yield (
                one,
                other,
                f"{one.source.name} says that it is rank {one.rank:,} of {size:,}, counted from 0",
            )
            return


def _groups(ranks: Sequence[RankFacts]) -> Iterator[tuple[RankFacts, RankFacts, str]]:
    """Yield the first two sources that disagree on the ranks of a process group, and the reason."""
    known: dict[str, dict[tuple[int, ...], RankFacts]] = {}
    for other in ranks:
        for name, members in other.groups.items():
            like = known.setdefault(name, {})
            for of_one, one in like.items() if members not in like else ():
                # Some libraries name groups by their purpose, so two groups of one name may have no
                # rank in common.
                if not {*members}.isdisjoint(of_one):
                    why = (
                        f"process group {name[:40]} has {_listed(of_one)} in one,"
                        f" {_listed(members)} in the other"
                    )
                    yield one, other, why
                    return
            like.setdefault(members, other)


def _listed(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:8]))
    return f"ranks {shown}, … ({len(ranks):,} in all)" if len(ranks) > 8 else f"ranks {shown}"


def _processes(capture: Capture) -> frozenset[int]:
    """Return the process ids of the capture's spans."""
    spans = capture.table("spans")
    if spans is None:
        return frozenset()
    return frozenset(spans.lazy().select(pl.col("process_id").unique()).collect()["process_id"])


def _windows(ranks: Sequence[RankFacts]) -> Iterator[tuple[RankFacts, RankFacts, str]]:
    """Yield the first two files that one process wrote one after the other, and the reason.

    Both files are then traces of the same rank.
    """
    by_process: dict[frozenset[int], RankFacts] = {}
    for other in ranks:
        one = by_process.setdefault(other.processes, other)
        if not other.processes or one.extent is None or other.extent is None:
            continue
        (first, second) = sorted((one.extent, other.extent))
        if one.source.sha256 != other.source.sha256 and first[1] < second[0]:
            yield one, other, "they are two windows of one process, and so of one rank"
            return


def _far(ranks: Sequence[RankFacts]) -> Iterator[tuple[RankFacts, RankFacts, str]]:
    """Yield the first two sources that lie too far apart, and the distance in words.

    Too far is an hour or more, unless something else shows that the sources belong together. Also
    warn about each source that began after all earlier sources had ended.
    """
    extents = [(rank, rank.extent) for rank in ranks if rank.extent is not None]
    extents.sort(key=lambda pair: pair[1])
    are_told = all(rank.world_size is not None for rank in ranks)
    is_refused = False
    for at, (other, (begins, _)) in enumerate(extents[1:], 1):
        one, ended = max(
            ((rank, end) for rank, (_, end) in extents[:at]),
            key=lambda pair: pair[1],
        )
        gap_ns = begins - ended
        is_one_file = one.source.sha256 == other.source.sha256
        # Sources in one file, or with the same collectives, may lie farther apart. So may all
        # sources if each states the number of ranks.
        if gap_ns >= FAR_NS and not (
            are_told or is_refused or is_one_file or _kinds(one) == _kinds(other) != frozenset()
        ):
            is_refused = True
            yield (
                one,
                other,
                f"the second began {gap_ns / FAR_NS:.1f} hours after the first had ended",
            )
        if gap_ns > 0:
            text = (
                f"{one.source.name} ended {gap_ns / 1e9:.1f} s before {other.source.name} began;"
                " unless they are ranks of one program, nothing here that compares ranks holds:"
                " collect each into a trace of its own"
            )
            other.diagnostics.add("warning", NOT_TOGETHER, text)


def _kinds(rank: RankFacts) -> frozenset[tuple[object, ...]]:
    rows = rank.collectives
    columns = ("name", "dtype", "size_in_bytes", "size_out_bytes")
    if rows is None:
        return frozenset()
    known = [pl.col(name).cast(pl.String) for name in columns if name in rows.collect_schema()]
    return frozenset(rows.select(known).unique().collect().rows())


def extent_of(capture: Capture) -> tuple[int, int] | None:
    """Return the start of the capture's first event and the end of its last event.

    Both are nanoseconds since the Unix epoch. Return None if there is no event, or if the times
    count from another origin.
    """
    if capture.time_base != "unix_epoch":
        return None
    ends = pl.col("start_ns").cast(pl.Int64) + pl.col("duration_ns").cast(pl.Int64)
    bounds = []
    for name in _TIMED:
        rows = capture.table(name)
        if rows is not None:
            extents = (
                rows.lazy()
                .select(first=pl.col("start_ns").min().cast(pl.Int64), last=ends.max())
                .collect()
                .row(0)
            )
            bounds += [] if extents[0] is None else [extents]
    if not bounds:
        return None
    return min(first for first, _ in bounds), max(last for _, last in bounds)
