"""Compute the times of a graph of moments: a moment waits for others, each time along an edge.

This is Daydream's dependency graph (Zhu et al., ATC 2020). Each activity has two moments, its begin
and its end, so that every rule is an edge. The earliest times are the longest paths from the first
moment (the critical path method).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tracelens.native import LIBRARY

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class MomentGraph(Struct, frozen=True):
    """A graph of moments. Edges `offsets[m]` up to `offsets[m + 1]` lead to moment m.

    `sources` are the moments from which edges come; each is earlier than the moment to which its
    edge leads. `weights` are ns. A moment to which no edge leads is at time 0.
    """

    offsets: Ints
    sources: Ints
    weights: Ints

    @property
    def n_moments(self) -> int:
        """The number of moments."""
        return len(self.offsets) - 1


def earliest_times(graph: MomentGraph) -> tuple[Ints, Ints]:
    """Return the time of each moment, and the edge that decides it: the critical path method.

    Times are longest paths in an acyclic graph, found in topological order (Kelley and Walker,
    1959). If several edges decide, the first one is returned; -1 for a moment without edges.
    """
    if LIBRARY is not None:
        times = np.empty(graph.n_moments, np.int64)
        deciding = np.empty(graph.n_moments, np.int64)
        LIBRARY.longest_paths(graph.offsets, graph.sources, graph.weights, times, deciding)
        return times, deciding
    return earliest_times_in_python(graph)


def earliest_times_in_python(graph: MomentGraph) -> tuple[Ints, Ints]:
    """Compute the longest paths in Python. This defines the result of `longest_paths` in C."""
    offsets = graph.offsets.tolist()
    sources = graph.sources.tolist()
    weights = graph.weights.tolist()
    times: list[int] = []
    deciding: list[int] = []
    begin = offsets[0]
    for end in offsets[1:]:
        latest = 0
        edge = -1
        for i in range(begin, end):
            moment = times[sources[i]] + weights[i]
            if edge < 0 or moment > latest:
                latest = moment
                edge = i
        times.append(latest)
        deciding.append(edge)
        begin = end
    return np.array(times, np.int64), np.array(deciding, np.int64)


def deciding_path(graph: MomentGraph, deciding: Ints, moment: int) -> list[int]:
    """Return the edges that decide a moment, from the moment back to the first one."""
    path = []
    while (edge := int(deciding[moment])) >= 0:
        path.append(edge)
        moment = int(graph.sources[edge])
    return path
