"""Add the host to a replay's graph, with one timeline per team of threads.

A team's threads work one at a time, such as the main thread and the autograd thread.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.replay.excerpt import Excerpt
from tracelens.derive.replay.moment_graph import Ints

_LARGEST_OVERLAP = 0.1
"""Largest overlap of threads of one team, as a share of the less busy thread's time."""


_MOST_TEAMS = 64
"""At most this many teams of threads are replayed.

The number is limited because each thread is compared with every team.
"""


class Timeline(Struct, frozen=True):
    """Holds the moments at which a team of threads acts, and the intervals between them.

    The threads of a team work one at a time.
    """

    times: Ints
    calls: Ints  # row of the API call around each interval, -1 for none
    ops: Ints  # row of the op around each interval, -1 for none
    n_op_edges: Ints  # begins and ends of ops in each interval
    n_python_edges: Ints  # begins and ends of Python calls
    n_generated_edges: Ints  # begins and ends of launches of generated kernels
    profiler_ns: Ints  # time of each interval in the profiler itself
    call_rows: Ints  # rows of the team's API calls
    call_begins: Ints  # indices into `times`
    call_ends: Ints  # indices into `times`
    marks: Ints  # begins of steps, as indices into `times`
    is_main: bool


def host_timelines(excerpt: Excerpt) -> list[Timeline]:
    """Return the timeline of each team of host threads, first the team with the most API calls.

    This team has the marks of steps. The list is empty if there are more than _MOST_TEAMS teams.
    """
    teams = _teams(excerpt)
    return [_timeline(excerpt, team, is_main=i == 0) for i, team in enumerate(teams)]


def _teams(excerpt: Excerpt) -> list[pl.DataFrame]:
    """Return teams of threads, each as a frame with process_id and thread_id.

    A team's threads work one at a time. The list is empty if there are more than _MOST_TEAMS teams.
    """
    key = ["process_id", "thread_id"]
    active = pl.concat(
        [
            excerpt.calls.select(*key, "start", "end"),
            excerpt.ops.select(*key, "start", "end"),
        ]
    )
    if not active.height:
        return [active.select(key).clear()]
    busy = {
        thread: _merged(rows["start"].to_numpy(), rows["end"].to_numpy())
        for thread, rows in active.sort("start").partition_by(key, as_dict=True).items()
    }
    n_calls = {
        thread: rows.height
        for thread, rows in excerpt.calls.partition_by(key, as_dict=True).items()
    }
    lengths = {thread: _length(intervals) for thread, intervals in busy.items()}
    order = sorted(
        busy,
        key=lambda thread: (-n_calls.get(thread, 0), -lengths[thread]),
    )
    teams: list[_Team] = []
    for thread in order:
        team = next(
            (team for team in teams if team.takes(busy[thread], lengths[thread])),
            None,
        )
        if team is None and len(teams) == _MOST_TEAMS:
            return []
        if team is None:
            teams.append(_Team([thread], *busy[thread], lengths[thread]))
        else:
            team.threads.append(thread)
    return [
        pl.DataFrame(team.threads, schema=dict.fromkeys(key, pl.Int64), orient="row")
        for team in teams
    ]


class _Team(Struct):
    """Holds threads that work one at a time, and the union of their active intervals."""

    threads: list[tuple[object, ...]]
    begins: Ints
    ends: Ints
    length: int

    def takes(self, intervals: tuple[Ints, Ints], length: int) -> bool:
        """Add a thread if its intervals hardly overlap the team's; return whether it was added.

        `length` is the total time of the intervals.
        """
        # Only nearby intervals are compared, because there may be thousands of short threads.
        first = np.searchsorted(self.ends, intervals[0][0], "left")
        after = np.searchsorted(self.begins, intervals[1][-1], "right")
        near = self.begins[first:after], self.ends[first:after]
        merged = _merged(*_by_start(intervals, near))
        added = _length(merged) - _length(near)
        if length - added >= _LARGEST_OVERLAP * max(min(length, self.length), 1):
            return False
        self.begins = np.concatenate(
            [
                self.begins[:first],
                merged[0],
                self.begins[after:],
            ]
        )
        self.ends = np.concatenate(
            [
                self.ends[:first],
                merged[1],
                self.ends[after:],
            ]
        )
        self.length += added
        return True


def _merged(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return the begins and the ends of the union of intervals.

    `begins` must be sorted.
    """
    reached = np.maximum.accumulate(ends)
    is_first = np.r_[True, begins[1:] > reached[:-1]]
    firsts = np.flatnonzero(is_first)
    return begins[firsts], reached[np.r_[firsts[1:] - 1, len(ends) - 1]]


def _length(intervals: tuple[Ints, Ints]) -> int:
    return int((intervals[1] - intervals[0]).sum())


def _by_start(
    first: tuple[Ints, Ints],
    second: tuple[Ints, Ints],
) -> tuple[Ints, Ints]:
    begins = np.concatenate([first[0], second[0]])
    order = np.argsort(begins, kind="stable")
    return begins[order], np.concatenate([first[1], second[1]])[order]


def _timeline(excerpt: Excerpt, team: pl.DataFrame, *, is_main: bool) -> Timeline:
    """Return the timeline of a team of threads; `is_main` adds the marks of steps."""
    key = ["process_id", "thread_id"]
    calls = excerpt.calls.with_row_index("row").join(
        team, on=key, how="semi", maintain_order="left"
    )
    ops = excerpt.ops.with_row_index("row").join(team, on=key, how="semi", maintain_order="left")
    starts = calls["start"].to_numpy()
    ends = calls["end"].to_numpy()
    op_starts = ops["start"].to_numpy()
    op_ends = ops["end"].to_numpy()
    marks = np.array(excerpt.marks if is_main else [], np.int64)
    moments = np.concatenate([marks, starts, ends, op_starts, op_ends])
    # At equal times, the end of a call comes before the begin of the next one. A call without
    # length begins first.
    rank = np.concatenate(
        [
            np.full(len(marks), 1),
            np.where(ends > starts, 2, 0),
            np.zeros(len(ends), np.int64),
            np.full(len(ops), 2),
            np.zeros(len(ops), np.int64),
        ]
    )
    order = np.lexsort((np.arange(len(moments)), rank, moments))
    position = np.empty(len(moments), np.int64)
    position[order] = np.arange(len(moments))
    times = moments[order]
    n_marks = len(marks)
    n_calls = len(starts)
    edges = _span_edges(excerpt, team, times)
    return Timeline(
        times,
        _rows_around(times, starts, ends, calls["row"].to_numpy()),
        _rows_around(times, op_starts, op_ends, ops["row"].to_numpy()),
        *edges,
        _profiler_ns(excerpt, team, times),
        calls["row"].to_numpy().astype(np.int64),
        position[n_marks : n_marks + n_calls],
        position[n_marks + n_calls : n_marks + 2 * n_calls],
        position[:n_marks],
        is_main,
    )


def _profiler_ns(excerpt: Excerpt, team: pl.DataFrame, times: Ints) -> Ints:
    """Return the time that the team's threads spent in the profiler between successive times."""
    calls = excerpt.profiler.join(team, on=["process_id", "thread_id"], how="semi").sort("start")
    if not calls.height or not len(times):
        return _zeros_between(times)
    begins, ends = _merged(calls["start"].to_numpy(), calls["end"].to_numpy())
    return np.diff(covered_ns(times, begins, ends))


def _zeros_between(times: Ints) -> Ints:
    """Return a 0 for each interval between successive times."""
    return np.zeros(max(len(times) - 1, 0), np.int64)


def covered_ns(moments: Ints, begins: Ints, ends: Ints) -> Ints:
    """Return the total length of the intervals before each moment, in ns.

    The intervals are sorted and disjoint.
    """
    sums = np.concatenate([[0], np.cumsum(ends - begins)])
    row = np.searchsorted(begins, moments, "right") - 1
    last = np.maximum(row, 0)
    covered: Ints = sums[last] + np.minimum(moments, ends[last]) - begins[last]
    return np.where(row >= 0, covered, 0)


def _rows_around(times: Ints, starts: Ints, ends: Ints, rows: Ints) -> Ints:
    """Return, for each interval, the row of the event that covers it, -1 for none.

    - Interval i lasts from `times[i]` to `times[i + 1]`.
    - Event j lasts from `starts[j]` to `ends[j]`, and its row is `rows[j]`. Events do not overlap.
    """
    if not len(starts):
        return _zeros_between(times) - 1
    begins = times[:-1]
    stops = times[1:]
    last_begun = np.searchsorted(starts, begins, "right") - 1
    has_length = stops > begins
    lies_in = (last_begun >= 0) & (ends[last_begun] >= stops) & has_length
    candidates = rows.astype(np.int64)[last_begun]
    return np.where(lies_in, candidates, -1)


def _span_edges(excerpt: Excerpt, team: pl.DataFrame, times: Ints) -> tuple[Ints, Ints, Ints]:
    """Count the begins and ends of spans in each interval between successive times.

    Return three counts: for ops, for Python calls, and for launches of generated kernels.
    """
    spans = excerpt.spans.join(team, on=["process_id", "thread_id"], how="semi")
    counts = []
    for flag in ("is_op", "is_python", "is_generated"):
        chosen = spans.filter(flag)
        edges = np.concatenate(
            [
                chosen.filter("begins_inside")["start"].to_numpy(),
                chosen.filter("ends_inside")["end"].to_numpy(),
            ]
        )
        edges.sort()
        before = np.searchsorted(edges, times, "right")
        counts.append(np.diff(before).astype(np.int64))
    return counts[0], counts[1], counts[2]
