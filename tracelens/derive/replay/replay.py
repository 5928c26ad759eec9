"""Build the graph of a rank's steps, and replay the steps as recorded or changed.

Two copies of the graph run one after the other. The second copy gives the steps' steady-state time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.replay.device import Latency, Work, add_device_edges, read_work
from tracelens.derive.replay.excerpt import Excerpt, read_excerpt
from tracelens.derive.replay.host import Timeline, covered_ns, host_timelines
from tracelens.derive.replay.moment_graph import (
    CALL,
    LAUNCH,
    NONE,
    OP,
    PYTHON,
    QUEUE,
    START,
    WAIT,
    Edges,
    EdgeTable,
    Flags,
    Ints,
    MomentGraph,
    build_table,
    earliest_times,
)
from tracelens.derive.replay.waits import HostWait, find_waits
from tracelens.trace import Trace

_WORKERS = "MultiProcessing|poll|acquire"
"""Pattern of call paths in which a data loader waits for its worker processes."""


class Replay(Struct, frozen=True, dict=True):
    """Holds the dependency graph of an excerpt, with indices of its moments."""

    excerpt: Excerpt
    table: EdgeTable  # edges of the graph
    work: Work
    origin: int  # moment at which the excerpt begins
    marks: Ints  # moments at which steps begin, and the end of the last step
    begins: Ints  # moments at which device work begins
    work_ends: Ints  # moments at which device work ends
    work_steps: Ints  # step that launched each work, -1 for a launch before the excerpt
    call_ops: Ints  # row of the op around each API call
    timeline_ends: list[tuple[int, int]]  # first and last moment of each timeline of the host
    usual: Latency
    waits: list[HostWait]
    worker_waits: tuple[Ints, Ints]  # begins and ends of waits for a loader's workers
    waited: Ints  # time of such waits in each edge

    @cached_property
    def twice(self) -> Twice:
        """Two copies of the graph in a row, built once for all changes."""
        return Twice.of(self)


class Twice(Struct, frozen=True):
    """Holds two copies of an excerpt's graph, one after the other.

    Joints are added edges through which each timeline and queue continues in the second copy.
    """

    offsets: Ints
    sources: Ints
    origins: Ints  # edge of the excerpt that each edge repeats, -1 for a joint
    is_free: Flags  # True for edges that take no time in the second copy
    joint_ns: Ints  # time of each joint, 0 for other edges

    @classmethod
    def of(cls, replay: Replay) -> Twice:
        """Build two copies of the replay's graph."""
        table = replay.table
        n_moments = table.graph.n_moments
        from_first, to_second, joint_ns = zip(*_joints(replay), strict=True)
        sources = np.concatenate([table.graph.sources, table.graph.sources + n_moments, from_first])
        targets = np.concatenate([table.targets, table.targets + n_moments, to_second])
        numbers = np.arange(len(table.targets))
        joints = np.full(len(joint_ns), -1)
        by_target = np.argsort(targets, kind="stable")
        counts = np.bincount(targets, minlength=2 * n_moments)
        is_free = np.concatenate(
            [
                np.zeros(len(numbers), bool),
                _is_free(replay),
                joints > 0,
            ]
        )
        none = np.zeros(2 * len(numbers), np.int64)
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            sources[by_target].astype(np.int64),
            np.concatenate([numbers, numbers, joints])[by_target],
            is_free[by_target],
            np.concatenate([none, joint_ns])[by_target],
        )

    def graph(self, weights: Ints) -> MomentGraph:
        """Return the graph of the two copies, with these weights for the edges of each copy."""
        both = np.where(self.is_free, 0, np.append(weights, 0)[self.origins])
        return MomentGraph(self.offsets, self.sources, (both + self.joint_ns).astype(np.int64))


def replays(trace: Trace) -> dict[int, Replay]:
    """Return, by rank, a replay of the steps around the rank's median step.

    A rank is left out if its host was not recorded, or if too many of its threads work at once.
    """
    return trace.derived(_all_ranks)


def _all_ranks(trace: Trace) -> dict[int, Replay]:
    by_rank = {rank: replay_of(trace, rank) for rank in trace.manifest.ranks}
    return {rank: replay for rank, replay in by_rank.items() if replay is not None}


def replay_of(trace: Trace, rank: int) -> Replay | None:
    """Return the replay of one rank; None for a rank that `replays` leaves out."""
    excerpt = read_excerpt(trace, rank)
    return None if excerpt is None else build(excerpt)


def build(excerpt: Excerpt) -> Replay | None:
    """Return the replay of an excerpt; None if too many threads work at once.

    The limit is in `host_timelines`.
    """
    edges = Edges()
    timelines = host_timelines(excerpt)
    if not timelines:
        return None
    # Moment 0 is the excerpt's beginning; the moments of each timeline and of work follow.
    lengths = [len(timeline.times) for timeline in timelines]
    firsts = [1 + sum(lengths[:number]) for number in range(len(timelines))]
    n_host_moments = 1 + sum(lengths)
    work = read_work(excerpt, n_host_moments)
    times = [
        np.zeros(1, np.int64),
        *(timeline.times for timeline in timelines),
        work.starts,
        work.ends,
    ]
    classes = [
        np.zeros(1, np.int64),
        np.full(n_host_moments - 1, 1),
        np.full(len(work.starts), 2),
        np.where(work.ends > work.starts, 0, 3),
    ]
    waits = find_waits(excerpt, work)
    worker_waits = _worker_waits(excerpt)
    call_begins, call_ends, call_ops = _moments_of_calls(excerpt, timelines, firsts)
    step_moments = firsts[0] + timelines[0].marks
    for timeline, first in zip(timelines, firsts, strict=True):
        _add_host_edges(edges, excerpt, timeline, first, waits, step_moments)
    for wait in waits:
        if call_ends[wait.call] >= 0:
            edges.add(
                work.end_moments[wait.work],
                call_ends[wait.call],
                max(wait.return_ns, 0),
                WAIT,
                wait.call,
                is_inferred=wait.is_inferred,
            )
    usual = add_device_edges(edges, excerpt, work, call_begins, 0)
    table, new_index = build_table(
        edges,
        np.concatenate(times),
        np.concatenate(classes),
    )
    ends = [
        (
            int(new_index[first]),
            int(new_index[first + length - 1]),
        )
        for first, length in zip(firsts, lengths, strict=True)
        if length
    ]
    step_begins = np.array(excerpt.marks[:-1], np.int64)
    steps = np.searchsorted(step_begins, work.launched, "right") - 1
    return Replay(
        excerpt,
        table,
        work,
        int(new_index[0]),
        new_index[step_moments],
        new_index[work.begin_moments],
        new_index[work.end_moments],
        np.where(work.launched >= 0, steps, -1),
        call_ops,
        ends,
        usual,
        waits,
        worker_waits,
        _waited_ns(table, *worker_waits) if len(worker_waits[0]) else np.zeros_like(table.kinds),
    )


def _worker_waits(excerpt: Excerpt) -> tuple[Ints, Ints]:
    """Return begins and ends of the waits for a loader's workers, in ns since the excerpt began."""
    is_wait = (pl.col("cause") == "input") & pl.col("what").cast(pl.String).str.contains(_WORKERS)
    waits = excerpt.activities.filter(is_wait)
    begins = waits["start_ns"].to_numpy() - excerpt.origin_ns
    return begins, begins + waits["duration_ns"].to_numpy()


def _waited_ns(table: EdgeTable, begins: Ints, ends: Ints) -> Ints:
    """Return the time that the host waited for a loader's workers, for each edge of the graph."""
    from_ns, to_ns = table.recorded[table.graph.sources], table.recorded[table.targets]
    inside = covered_ns(to_ns, begins, ends) - covered_ns(from_ns, begins, ends)
    return np.where(np.isin(table.kinds, (OP, PYTHON)), inside, 0)


def _moments_of_calls(
    excerpt: Excerpt,
    timelines: Sequence[Timeline],
    firsts: Sequence[int],
) -> tuple[Ints, Ints, Ints]:
    """Return each API call's begin and end moment, and the row of the op around the call.

    A missing moment or row is -1. `firsts` has the first moment of each timeline.
    """
    begins = np.full(excerpt.calls.height, -1, np.int64)
    ends = np.full(excerpt.calls.height, -1, np.int64)
    ops = np.full(excerpt.calls.height, NONE, np.int64)
    for timeline, first in zip(timelines, firsts, strict=True):
        begins[timeline.call_rows] = first + timeline.call_begins
        ends[timeline.call_rows] = first + timeline.call_ends
        has_interval = timeline.call_begins < len(timeline.ops)
        ops[timeline.call_rows[has_interval]] = timeline.ops[timeline.call_begins[has_interval]]
    return begins, ends, ops


def _add_host_edges(  # noqa: PLR0913, PLR0917 - of three tables each
    edges: Edges,
    excerpt: Excerpt,
    timeline: Timeline,
    first: int,
    waits: list[HostWait],
    marks: Ints,
) -> None:
    """Add the graph edges of a timeline, one per interval between its moments."""
    if not len(timeline.times):
        return
    ns = np.diff(timeline.times)
    pieces = np.arange(len(ns))
    place_of = {
        int(row): int(end) for row, end in zip(timeline.call_rows, timeline.call_ends, strict=True)
    }
    # The wait itself becomes a dependency on device work, so the call's last interval is without
    # it.
    for wait in waits:
        end = place_of.get(wait.call)
        if end is not None and end > 0:
            ns[end - 1] = min(int(ns[end - 1]), wait.own_ns)
    in_call = timeline.calls >= 0
    in_op = timeline.ops >= 0
    kinds = np.where(
        in_call,
        CALL,
        np.where(in_op, OP, PYTHON),
    )
    items = np.where(
        in_call,
        timeline.calls,
        np.where(in_op, timeline.ops, NONE),
    )
    ends_call = np.zeros(len(ns), np.int64)
    ends_call[timeline.call_ends[timeline.call_ends > 0] - 1] = 1
    edges.add(
        first + pieces,
        first + pieces + 1,
        ns,
        kinds,
        items,
        n_ops=timeline.n_op_edges,
        n_python=timeline.n_python_edges,
        n_generated=timeline.n_generated_edges,
        n_calls=ends_call * in_call,
        profiler_ns=timeline.profiler_ns,
        is_helper=not timeline.is_main,
    )
    edges.add(0, first, timeline.times[0], START)
    if not timeline.is_main:
        # A data loader's queue ties these threads to the main team, so they follow the steps'
        # marks.
        at_marks = np.searchsorted(
            timeline.times,
            excerpt.marks[:-1],
            "left",
        )
        for step, moment in enumerate(at_marks.tolist()):
            if moment < len(timeline.times):
                since = int(timeline.times[moment]) - excerpt.marks[step]
                edges.add(marks[step], first + moment, since, START)


def _is_free(replay: Replay) -> Flags:
    """Flag the edges that take no time in the second copy.

    They stand for device work that was launched before the excerpt.
    """
    table = replay.table
    without_call = np.flatnonzero(replay.work.calls < 0)
    is_without_call = np.zeros(table.graph.n_moments, bool)
    is_without_call[replay.begins[without_call]] = True
    is_without_call[replay.work_ends[without_call]] = True
    # Edges from the excerpt's begin to other work stand for earlier work that delays it.
    is_start = (table.kinds == START) & np.isin(table.targets, replay.begins)
    free: Flags = is_without_call[table.targets] | is_start
    return free


def _joints(replay: Replay) -> list[tuple[int, int, int]]:
    """Return the edges that tie the second copy to the first: source, target and time in ns.

    Each timeline and each queue continues where it ended.
    """
    n_moments = replay.table.graph.n_moments
    work = replay.work
    joints = [
        (
            int(replay.marks[-1]),
            n_moments + replay.origin,
            0,
        )
    ]
    joints += [(last, n_moments + first, 0) for first, last in replay.timeline_ends[1:]]
    for queue in sorted(set(work.queues.tolist())):
        rows = np.flatnonzero(work.queues == queue)
        last_work = rows[np.argmax(work.ends[rows])]
        source = int(replay.work_ends[last_work])
        target = int(replay.begins[rows[0]])
        joints.append((source, n_moments + target, replay.usual.gap_ns))
    return joints


def step_ends(replay: Replay, times: Ints) -> Ints:
    """Return the end of each step in ns.

    A step ends when the host has begun the next step and the device has finished the step's work.
    """
    ends = times[replay.marks[1:]].copy()
    is_own = (replay.work_steps >= 0) & (replay.work_steps < len(ends))
    np.maximum.at(
        ends,
        replay.work_steps[is_own],
        times[replay.work_ends[is_own]],
    )
    return np.maximum.accumulate(ends)


def last_moment(replay: Replay, times: Ints, step: int) -> int:
    """Return the index of the moment that ends a step.

    It is the next step's mark or the end of the step's last work, whichever is later.
    """
    end = int(step_ends(replay, times)[step])
    if int(times[replay.marks[step + 1]]) == end:
        return int(replay.marks[step + 1])
    until = (replay.work_steps <= step) & (replay.work_steps >= 0)
    rows = np.flatnonzero(until & (times[replay.work_ends] == end))
    return int(replay.work_ends[rows[0]]) if len(rows) else int(replay.marks[step + 1])


def step_durations(replay: Replay, times: Ints) -> Ints:
    """Return each step's time in ns, counted from the end of the step before.

    The first step is counted from its own start.
    """
    ends = step_ends(replay, times)
    first = int(replay.excerpt.steps["start"][0])
    return np.diff(np.concatenate([[first], ends]))


def replay_error_frac(replay: Replay) -> float:
    """Return the relative difference between the median replayed and the median recorded step."""
    times, _ = earliest_times(replay.table.graph)
    recorded = float(np.median(replay.excerpt.steps["duration"].to_numpy()))
    replayed = float(np.median(step_durations(replay, times)))
    return abs(replayed / recorded - 1) if recorded else 0.0


def steady_step_ns(replay: Replay, weights: Ints | None = None) -> float:
    """Return the mean time in ns of a step in the steady state, when queues are filled as usual.

    `weights` replace the recorded weights of the edges.
    """
    moment_graph = replay.twice.graph(replay.table.graph.weights if weights is None else weights)
    times, _ = earliest_times(moment_graph)
    n = replay.table.graph.n_moments
    first = step_ends(replay, times[:n])
    second = step_ends(replay, times[n:])
    return float(second[-1] - first[-1]) / len(first)


def keep_workers_pace(replay: Replay, weights: Ints, slower: float = 1) -> Ints:
    """Return the weights, with waits for a loader's workers adjusted to the host's new speed.

    Waits grow by the time per step that the host saves, because the workers do not get faster.
    `slower` is the factor by which the workers are slower than recorded.
    """
    saved_ns = slower * steady_step_ns(replay) - steady_step_ns(replay, weights)
    waited_in_step = replay.waited.sum() / (len(replay.marks) - 1)
    # Waits at most double, because a host that hardly waits would soon limit the step itself.
    share = float(np.clip(saved_ns / waited_in_step, -1, 1))
    return weights + (replay.waited * share).astype(np.int64)


def device_step_ns(replay: Replay, weights: Ints) -> float:
    """Return the time in ns that the device needs for a step, if the host takes no time."""
    is_host = np.isin(replay.table.kinds, (OP, PYTHON, CALL, LAUNCH, QUEUE))
    return steady_step_ns(replay, np.where(is_host, np.minimum(weights, 0), weights))


def steady_path(replay: Replay, weights: Ints) -> list[tuple[int, int]]:
    """Return the critical path of steady-state steps, from the end back to the begin.

    Each item is an edge's index in the excerpt's graph, with its time in ns.
    """
    moment_graph = replay.twice.graph(weights)
    origins = replay.twice.origins
    times, deciding = earliest_times(moment_graph)
    n = replay.table.graph.n_moments
    begin = int(step_ends(replay, times[:n])[-1])
    moment = n + last_moment(
        replay,
        times[n:],
        len(replay.marks) - 2,
    )
    path = []
    while (edge := int(deciding[moment])) >= 0 and times[moment] > begin:
        source = int(moment_graph.sources[edge])
        took = int(times[moment]) - max(int(times[source]), begin)
        if took > 0 and origins[edge] >= 0:
            path.append((int(origins[edge]), took))
        moment = source
    return path
