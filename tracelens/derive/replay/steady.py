"""Replay the steps of an excerpt twice in a row, to time steps in a steady state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracelens.derive.replay.edges import START
from tracelens.derive.replay.moment_graph import Flags, Ints, MomentGraph, earliest_times
from tracelens.derive.replay.replay import Replay, last_moment, step_ends


@dataclass(frozen=True, slots=True)
class Twice:
    """An excerpt's graph repeated: the second copy begins where the host ended the first.

    Queues stay as the first copy left them. Work from before the excerpt runs only once. `origins`
    are the edges of the excerpt that each edge repeats; -1 for the joints between the two copies.
    The graph is built once for a replay, and gets new weights for each change.
    """

    offsets: Ints
    sources: Ints
    origins: Ints
    is_free: Flags
    """Flags of edges that take no time in the second copy: see `_is_free`."""
    joint_ns: Ints

    @classmethod
    def of(cls, replay: Replay) -> Twice:
        """Repeat the replay's excerpt."""
        table = replay.table
        n_moments = table.graph.n_moments
        from_first, to_second, joint_ns = zip(*_joints(replay), strict=True)
        sources = np.concatenate([table.graph.sources, table.graph.sources + n_moments, from_first])
        targets = np.concatenate([table.targets, table.targets + n_moments, to_second])
        numbers = np.arange(len(table.targets))
        joints = np.full(len(joint_ns), -1)
        by_target = np.argsort(targets, kind="stable")
        counts = np.bincount(targets, minlength=2 * n_moments)
        is_free = np.concatenate([np.zeros(len(numbers), bool), _is_free(replay), joints > 0])
        none = np.zeros(2 * len(numbers), np.int64)
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            sources[by_target].astype(np.int64),
            np.concatenate([numbers, numbers, joints])[by_target],
            is_free[by_target],
            np.concatenate([none, joint_ns])[by_target],
        )

    def graph(self, weights: Ints) -> MomentGraph:
        """Return both copies with these weights of the excerpt's edges."""
        both = np.where(self.is_free, 0, np.append(weights, 0)[self.origins])
        return MomentGraph(self.offsets, self.sources, (both + self.joint_ns).astype(np.int64))


def _is_free(replay: Replay) -> Flags:
    """Flag edges that take no time in the second copy: those of work without a call.

    Starts of chains take none either, as chains do not wait there until the time at which they
    began in the trace.
    """
    table = replay.table
    without_call = np.flatnonzero(replay.work.calls < 0)
    is_without_call = np.zeros(table.graph.n_moments, bool)
    is_without_call[replay.begins[without_call]] = True
    is_without_call[replay.work_ends[without_call]] = True
    is_start = (table.kinds == START) & np.isin(table.targets, replay.begins)
    free: Flags = is_without_call[table.targets] | is_start
    return free


def _joints(replay: Replay) -> list[tuple[int, int, int]]:
    """List the edges from the first copy to the second: source, target and time.

    The host, each other chain and each queue continue where they ended.
    """
    n_moments = replay.table.graph.n_moments
    work = replay.work
    joints = [(int(replay.marks[-1]), n_moments + replay.origin, 0)]
    joints += [(last, n_moments + first, 0) for first, last in replay.chain_ends[1:]]
    for queue in np.unique(work.queues):
        rows = np.flatnonzero(work.queues == queue)
        last_work = rows[np.argmax(work.ends[rows])]
        source = int(replay.work_ends[last_work])
        target = int(replay.begins[rows[0]])
        joints.append((source, n_moments + target, replay.usual.gap_ns))
    return joints


def steady_step_ns(
    replay: Replay, weights: Ints | None = None, repeated: Twice | None = None
) -> float:
    """Return the mean time of a step in the steady state.

    In this state, each step begins with the queues and caches that the step before left. `weights`
    replace the recorded ones.
    """
    repeated = Twice.of(replay) if repeated is None else repeated
    graph = repeated.graph(replay.table.graph.weights if weights is None else weights)
    times, _ = earliest_times(graph)
    n = replay.table.graph.n_moments
    first = step_ends(replay, times[:n])
    second = step_ends(replay, times[n:])
    return float(second[-1] - first[-1]) / len(first)


def steady_path(replay: Replay, weights: Ints) -> list[tuple[int, int]]:
    """Return the edges of the excerpt that decide its time in the steady state, with their ns."""
    repeated = Twice.of(replay)
    graph = repeated.graph(weights)
    origins = repeated.origins
    times, deciding = earliest_times(graph)
    n = replay.table.graph.n_moments
    begin = int(step_ends(replay, times[:n])[-1])
    moment = n + last_moment(replay, times[n:], len(replay.marks) - 2)
    path = []
    while (edge := int(deciding[moment])) >= 0 and times[moment] > begin:
        source = int(graph.sources[edge])
        took = int(times[moment]) - max(int(times[source]), begin)
        if took > 0 and origins[edge] >= 0:
            path.append((int(origins[edge]), took))
        moment = source
    return path
