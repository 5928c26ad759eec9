"""The steps of a window over and over: the time of one once each finds what the one before left."""

from __future__ import annotations

import numpy as np

from tracelens.derive.replay.edges import START
from tracelens.derive.replay.graph import Graph, Ints, earliest_times
from tracelens.derive.replay.replay import Replay, last_moment, step_ends


def twice(replay: Replay, weights: Ints) -> tuple[Graph, Ints]:
    """Repeat the window's graph: the second copy begins where the host ended the first.

    Queues stay as the first left them.
    What ran before the window has no place the second time. Returns the graph, and for each of its
    edges the edge of the window that it repeats, -1 for the joints between the two.
    """
    graph, work = replay.table.graph, replay.work
    n, end = graph.n_moments, int(replay.marks[-1])
    begins = replay.begins
    later = weights.copy()
    earlier = np.flatnonzero(work.calls < 0)
    no_call = np.zeros(n, bool)
    no_call[begins[earlier]] = no_call[replay.work_ends[earlier]] = True
    has_begun = (replay.table.kinds == START) & np.isin(replay.table.targets, begins)
    later[no_call[replay.table.targets] | has_begun] = 0
    joints: list[tuple[int, int, int]] = [(end, n + replay.origin, 0)]
    joints += [(last, n + first, 0) for first, last in replay.chain_ends[1:]]
    for queue in np.unique(work.queues):
        rows = np.flatnonzero(work.queues == queue)
        last = rows[np.argmax(work.ends[rows])]
        joints.append((int(replay.work_ends[last]), n + int(begins[rows[0]]), replay.usual.gap_ns))
    sources = np.concatenate([graph.sources, graph.sources + n, [j[0] for j in joints]])
    targets = np.concatenate(
        [replay.table.targets, replay.table.targets + n, [j[1] for j in joints]]
    )
    both = np.concatenate([weights, later, [j[2] for j in joints]])
    order = np.argsort(targets, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=2 * n))])
    numbers = np.arange(len(weights))
    origins = np.concatenate([numbers, numbers, np.full(len(joints), -1)])[order]
    graph = Graph(
        offsets.astype(np.int64), sources[order].astype(np.int64), both[order].astype(np.int64)
    )
    return graph, origins


def steady_step_ns(replay: Replay, weights: Ints | None = None) -> float:
    """Return the mean time of a step in the steady state.

    There each step finds what the one before left. Without weights, the recorded ones count.
    """
    graph, _ = twice(replay, replay.table.graph.weights if weights is None else weights)
    times, _ = earliest_times(graph)
    n = replay.table.graph.n_moments
    first, second = step_ends(replay, times[:n]), step_ends(replay, times[n:])
    return float(second[-1] - first[-1]) / len(first)


def steady_path(replay: Replay, weights: Ints) -> list[tuple[int, int]]:
    """Return the window's edges that its steps wait for, with their ns.

    Each step finds what the one before left.
    """
    graph, origins = twice(replay, weights)
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
