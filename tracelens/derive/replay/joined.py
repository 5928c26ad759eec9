"""Replay the steps of all ranks of a job together.

No rank leaves a collective before the last rank has begun it and the data are transferred.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import median

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.replay.moment_graph import (
    CALL,
    COLLECTIVE,
    Flags,
    Ints,
    MomentGraph,
    earliest_times,
)
from tracelens.derive.replay.replay import Replay, replays, step_durations, step_ends
from tracelens.trace import Trace

_BLOCKED_NS = 1_000_000
"""An API call this long that lasts until a collective's last rank begins waits for that rank."""
_NEVER_LAST_NS = -(2**40)
"""Weight of an edge into a meeting from a rank that the others do not wait for."""


class Joined(Struct, frozen=True):
    """Holds one graph of two copies of each rank's excerpt, as in `Twice`, with meetings.

    A meeting is a moment in which the last rank begins a collective. Edges lead to it from the
    begin of each rank's collective, and from it to the ends. Edges are sorted by target.
    """

    replays: Sequence[Replay]
    begins_ns: Sequence[int]  # start of each rank's excerpt, in ns since the first rank's
    places: Sequence[Ints]  # moment of the joint graph for each moment of a rank's two copies
    offsets: Ints
    sources: Ints
    origins: Ints  # edge of the ranks' own graphs, one rank after another, -1 for an added edge
    is_free: Flags  # True for edges of the ranks that take no time
    is_early: Flags  # True for edges of work that was launched before the excerpt, in both copies
    added_ns: Ints  # time of each added edge, 0 for others
    transfers_ns: Ints  # time of transfers in a collective's edge, -1 for edges of other things
    arriving: Ints  # index of the rank whose arrival at a meeting an edge stands for, else -1
    blocked_ns: Sequence[Ints]  # time of each rank's edges in which an API call waits at a meeting

    def times_of(
        self,
        weights: Sequence[Ints],
        network: float = 1.0,
        ignored: Collection[int] = (),
    ) -> list[Ints]:
        """Return the earliest time of each rank's moments in ns, first and second copy.

        - `weights`: times of the edges of each rank's graph
        - `network`: factor by which transfers are faster
        - `ignored`: ranks that the others do not wait for
        """
        blocked_ns = np.concatenate(self.blocked_ns)
        edges_ns = np.concatenate(weights)
        edges_ns -= np.minimum(blocked_ns, edges_ns.clip(0))
        of_ranks = np.append(edges_ns, 0)[self.origins]
        # If nobody waits for late ranks, no work from before the excerpt delays the work in it.
        is_early = self.is_early & bool(ignored)
        unlinked = np.where(self.is_free | is_early, 0, of_ranks)
        linked = np.where(
            self.transfers_ns >= 0,
            self.transfers_ns / network,
            unlinked + self.added_ns,
        )
        of_ignored = [
            number
            for number, replay in enumerate(self.replays)
            if replay.excerpt.rank in {*ignored}
        ]
        is_ignored = np.isin(self.arriving, of_ignored)
        waited_for = np.where(is_ignored, _NEVER_LAST_NS, linked)
        graph = MomentGraph(
            self.offsets,
            self.sources,
            waited_for.astype(np.int64),
        )
        times, _ = earliest_times(graph)
        return [times[places] for places in self.places]

    def step_ns(
        self,
        weights: Sequence[Ints],
        network: float = 1.0,
        ignored: Collection[int] = (),
    ) -> float:
        """Return the mean time in ns of a steady step, in the median of the ranks not ignored."""
        steps = [
            _steady_ns(replay, times)
            for replay, times in zip(
                self.replays,
                self.times_of(weights, network, ignored),
                strict=True,
            )
            if replay.excerpt.rank not in ignored
        ]
        return median(steps)

    def error_frac(self) -> float:
        """Return the largest relative difference of a rank's median step from the recorded one."""
        errors = []
        every = self.times_of([replay.table.graph.weights for replay in self.replays])
        for replay, times, begin_ns in zip(self.replays, every, self.begins_ns, strict=True):
            first = times[: replay.table.graph.n_moments] - begin_ns
            recorded = float(np.median(replay.excerpt.steps["duration"].to_numpy()))
            replayed = float(np.median(step_durations(replay, first)))
            errors.append(abs(replayed / recorded - 1) if recorded else 0.0)
        return max(errors)


def _steady_ns(replay: Replay, times: Ints) -> float:
    """Return the mean time in ns of a step of the second copy."""
    n_moments = replay.table.graph.n_moments
    first = step_ends(replay, times[:n_moments])
    second = step_ends(replay, times[n_moments:])
    return float(second[-1] - first[-1]) / len(first)


def joined_replay(trace: Trace) -> Joined | None:
    """Return the joint replay of all ranks of a job.

    Return None if a rank cannot be replayed, if the ranks' excerpts are of different steps, or if
    no collective in them could be matched.
    """
    return trace.derived(_join)


def _join(trace: Trace) -> Joined | None:
    by_rank = replays(trace)
    each = [by_rank[rank] for rank in sorted(by_rank)]
    if len(each) < 2 or {*by_rank} != {*trace.manifest.ranks}:
        return None
    if len({tuple(replay.excerpt.steps["step"].to_list()) for replay in each}) > 1:
        return None
    meetings = _meetings(trace, each)
    if meetings.is_empty():
        return None
    shifts = dict(meetings.select("number", "shift_ns").unique("number").iter_rows())
    origins_ns = [
        replay.excerpt.origin_ns + shifts.get(number, 0) for number, replay in enumerate(each)
    ]
    begins_ns = [origin_ns - min(origins_ns) for origin_ns in origins_ns]
    return _graph(each, begins_ns, meetings)


def _meetings(trace: Trace, each: Sequence[Replay]) -> pl.DataFrame:
    """Return the collectives that all their ranks' excerpts hold, one row per rank and call.

    Columns: number (index of the rank), row (of the rank's work), meeting, last_start_ns,
    transfer_ns and shift_ns (from the rank's clock to the job's).
    """
    starts = [
        pl.DataFrame(
            {
                "rank": pl.repeat(
                    replay.excerpt.rank, len(replay.work.starts), dtype=pl.Int32, eager=True
                ),
                "number": pl.repeat(number, len(replay.work.starts), dtype=pl.Int64, eager=True),
                "row": np.arange(len(replay.work.starts)),
                "own_start_ns": replay.work.starts + replay.excerpt.origin_ns,
            }
        ).filter(pl.Series(replay.work.kinds == COLLECTIVE))
        for number, replay in enumerate(each)
    ]
    key = ["rank", "own_start_ns"]
    rows = pl.concat(starts).unique(key, keep="none")
    calls = match_collectives(trace).calls.unique(key, keep="none").join(rows, on=key)
    call = ["group_key", "call"]
    complete = calls.filter(pl.len().over(call) == pl.col("n_ranks"), pl.len().over(call) > 1)
    start_ns = pl.col("start_ns")
    last_start_ns = pl.col("last_start_ns")
    return complete.select(
        "number",
        "row",
        "last_start_ns",
        meeting=pl.struct(call).rank("dense").cast(pl.Int64) - 1,
        transfer_ns=(pl.col("end_ns") - last_start_ns).clip(0),
        shift_ns=start_ns - pl.col("own_start_ns"),
    )


def _graph(each: Sequence[Replay], begins_ns: Sequence[int], meetings: pl.DataFrame) -> Joined:
    """Return the joint graph. Its moment 0 is the begin of the first rank's excerpt."""
    lengths = [replay.table.graph.n_moments for replay in each]
    firsts = np.concatenate([[0], np.cumsum(lengths)])
    first_ns = each[0].excerpt.origin_ns - begins_ns[0]
    by_meeting = meetings.sort("meeting").group_by("meeting", maintain_order=True)
    shift_of_first = meetings.filter(number=0)["shift_ns"]
    first_ns += shift_of_first[0] if len(shift_of_first) else 0
    last_starts = by_meeting.agg(pl.col("last_start_ns").first())
    met_ns = last_starts["last_start_ns"].to_numpy() - first_ns
    times = [
        replay.table.recorded + begin_ns for replay, begin_ns in zip(each, begins_ns, strict=True)
    ]
    recorded = np.concatenate([*times, met_ns])
    n_moments = len(recorded)
    # At the same time, the arrivals come before their meeting.
    is_meeting = np.arange(n_moments) >= firsts[-1]
    order = np.lexsort((np.arange(n_moments), is_meeting, recorded))
    position = np.empty(n_moments, np.int64)
    position[order] = np.arange(1, n_moments + 1)
    blocked = [
        _blocked_calls(replay, meetings.filter(number=number)) for number, replay in enumerate(each)
    ]
    edges = _edges(
        each,
        begins_ns,
        meetings,
        blocked,
        position,
        firsts,
    )
    sources, targets, *columns = (np.concatenate(column) for column in zip(*edges, strict=True))
    # Clocks differ a little, so an edge may lead backwards. Such edges are left out.
    forward = np.flatnonzero(sources < targets)
    by_target = forward[np.argsort(targets[forward], kind="stable")]
    counts = np.bincount(targets[by_target], minlength=2 * n_moments + 1)
    origins, is_free, is_early, added_ns, transfers_ns, arriving = (
        column[by_target] for column in columns
    )
    moments_of_ranks = np.split(position, firsts[1:])[:-1]
    return Joined(
        each,
        begins_ns,
        [np.concatenate([moments, moments + n_moments]) for moments in moments_of_ranks],
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.ascontiguousarray(sources[by_target]),
        origins,
        is_free.astype(bool),
        is_early.astype(bool),
        added_ns,
        transfers_ns,
        arriving,
        [
            _sums(rows["edge"], rows["blocked_ns"], len(replay.table.targets))
            for rows, replay in zip(blocked, each, strict=True)
        ],
    )


def _sums(places: pl.Series, values: pl.Series, n_places: int) -> Ints:
    """Return the sum of the values at each place."""
    return np.bincount(places.to_numpy(), values.to_numpy(), n_places).astype(np.int64)


def _blocked_calls(replay: Replay, met: pl.DataFrame) -> pl.DataFrame:
    """Return API calls that wait at meetings, one row per call.

    `met` has the rows of `_meetings` of this rank. Columns: edge (the call's last one), meeting
    (the last that the call waits for), blocked_ns, after_ns (from the meeting to the call's end).
    """
    calls = replay.excerpt.calls
    starts, ends = calls["start"].to_numpy(), calls["end"].to_numpy()
    known = {wait.call for wait in replay.waits}
    last_edge = np.full(calls.height, -1)
    is_call = replay.table.kinds == CALL
    last_edge[replay.table.items[is_call]] = np.flatnonzero(is_call)
    rows = met["row"].to_numpy()
    begins = replay.work.starts[rows]
    transfer_ns = met["transfer_ns"].to_numpy()
    lasts = np.maximum(replay.work.ends[rows] - transfer_ns, begins)
    blocked: list[tuple[int, ...]] = []
    is_long = ends - starts >= _BLOCKED_NS
    for call in np.flatnonzero(is_long & (last_edge >= 0)).tolist():
        since = np.maximum(starts[call], begins)
        until = np.minimum(ends[call], lasts)
        inside = (until - since).clip(0)
        inside[lasts > ends[call]] = 0
        if call in known or not inside.any():
            continue
        last = int(np.argmax(np.where(inside > 0, lasts, -1)))
        row = (
            int(last_edge[call]),
            met["meeting"][last],
            int(inside.sum()),
            int(ends[call] - lasts[last]),
        )
        blocked.append(row)
    columns = ("edge", "meeting", "blocked_ns", "after_ns")
    schema = dict.fromkeys(columns, pl.Int64)
    return pl.DataFrame(
        blocked,
        schema,
        orient="row",
    )


def _edges(  # noqa: PLR0913, PLR0917 - of several tables
    each: Sequence[Replay],
    begins_ns: Sequence[int],
    meetings: pl.DataFrame,
    blocked: Sequence[pl.DataFrame],
    position: Ints,
    firsts: Ints,
) -> list[tuple[Ints, ...]]:
    """Return the edges in groups of columns.

    The columns are sources, targets, and origins to arriving of `Joined`. `position` has the place
    of each moment in the first copy, and `firsts` the first moment of each rank.
    """
    n_moments = len(position)
    groups: list[tuple[Ints, ...]] = []
    first_edge = 0
    for number, replay in enumerate(each):
        twice = replay.twice
        targets = np.repeat(np.arange(len(twice.offsets) - 1), np.diff(twice.offsets))
        moments = position[firsts[number] : firsts[number + 1]]
        places = np.concatenate([moments, moments + n_moments])
        origins = np.where(twice.origins >= 0, twice.origins + first_edge, -1)
        transfers = np.full(len(replay.table.targets), -1)
        of_rank = meetings.filter(number=number)
        rows = of_rank["row"].to_numpy()
        transfer_ns = of_rank["transfer_ns"].to_numpy()
        # The collective's own edge lasts as long as its transfer, without its wait.
        of_work = np.full(len(replay.work.starts), -1)
        lengths = replay.work.ends[rows] - replay.work.starts[rows]
        of_work[rows] = np.minimum(transfer_ns, lengths)
        items = replay.table.items
        is_whole = (replay.table.kinds == COLLECTIVE) & (items >= 0)
        is_whole[is_whole] = replay.table.targets[is_whole] == replay.work_ends[items[is_whole]]
        transfers[is_whole] = of_work[items[is_whole]]
        is_early = np.zeros(len(transfers) + 1, bool)
        is_early[twice.origins[twice.is_free]] = True
        groups.append(
            (
                places[twice.sources],
                places[targets],
                origins,
                twice.is_free.astype(np.int64),
                is_early[twice.origins].astype(np.int64),
                twice.joint_ns,
                np.where(
                    (twice.origins >= 0) & ~twice.is_free,
                    transfers[twice.origins],
                    -1,
                ),
                np.full(len(targets), -1),
            )
        )
        # Work that was launched before the excerpt takes no time in the second copy.
        in_second = replay.work.calls[rows] >= 0
        in_first = np.ones_like(in_second)
        met_moments = position[firsts[-1] + of_rank["meeting"].to_numpy()]
        waiting = blocked[number]
        waited = position[firsts[-1] + waiting["meeting"].to_numpy()]
        last_edges = waiting["edge"].to_numpy()
        returns = moments[replay.table.targets[last_edges]]
        after_ns = waiting["after_ns"].to_numpy()
        for copy, is_in in ((0, in_first), (n_moments, in_second)):
            held = rows[is_in]
            met = copy + met_moments[is_in]
            begins = copy + moments[replay.begins[held]]
            ends = copy + moments[replay.work_ends[held]]
            groups += [
                _added(begins, met, arriving=number),
                _added(met, ends, transfers_ns=of_work[held]),
                _added(copy + waited, copy + returns, after_ns),
            ]
        start = np.array([moments[replay.origin]])
        groups.append(_added(np.zeros(1, np.int64), start, begins_ns[number]))
        first_edge += len(replay.table.targets)
    return groups


def _added(
    sources: Ints,
    targets: Ints,
    added_ns: Ints | int = 0,
    *,
    transfers_ns: Ints | int = -1,
    arriving: int = -1,
) -> tuple[Ints, ...]:
    """Return a group of edges that are not of a rank's own graph."""
    columns = np.broadcast_arrays(sources, targets, -1, 0, 0, added_ns, transfers_ns, arriving)
    return tuple(column.astype(np.int64) for column in columns)
