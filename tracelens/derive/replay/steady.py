"""Replay the steps of an excerpt twice in a row, to time steps in a steady state."""

from __future__ import annotations

from tracelens.derive.replay.moment_graph import Ints, earliest_times
from tracelens.derive.replay.replay import Replay, last_moment, step_ends


def steady_step_ns(replay: Replay, weights: Ints | None = None) -> float:
    """Return the mean time of a step in the steady state.

    In this state, each step begins with the queues and caches that the step before left. `weights`
    replace the recorded ones.
    """
    graph = replay.twice.graph(replay.table.graph.weights if weights is None else weights)
    times, _ = earliest_times(graph)
    n = replay.table.graph.n_moments
    first = step_ends(replay, times[:n])
    second = step_ends(replay, times[n:])
    return float(second[-1] - first[-1]) / len(first)


def steady_path(replay: Replay, weights: Ints) -> list[tuple[int, int]]:
    """Return the edges of the excerpt that decide its time in the steady state, with their ns."""
    graph = replay.twice.graph(weights)
    origins = replay.twice.origins
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
