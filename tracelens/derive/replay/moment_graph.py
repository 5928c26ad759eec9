"""Build the dependency graph of a replay, and compute the times of its moments.

This is Daydream's dependency graph (Zhu et al., ATC 2020). Each activity has two moments, its begin
and its end. An edge from one moment to another gives the least time between them. The earliest
times are the longest paths from the first moment (the critical path method).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tracelens.native import LIBRARY
from tracelens.schemas.results.replay import STRETCHES

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
KINDS = tuple(STRETCHES)
OP, PYTHON, CALL, LAUNCH, KERNEL, COPY, FILL, COLLECTIVE, QUEUE, DEPENDENCY, WAIT, START = range(
    len(KINDS)
)
NONE = -1


class MomentGraph(Struct, frozen=True):
    """Holds a graph of moments, with the edges sorted by their target.

    The edges from `offsets[m]` up to `offsets[m + 1]` lead to moment m. `sources` has the index of
    each edge's source moment, which is below the target's index. `weights` are in ns. A moment
    without incoming edges is at time 0.
    """

    offsets: Ints
    sources: Ints
    weights: Ints

    @property
    def n_moments(self) -> int:
        """The number of moments."""
        return len(self.offsets) - 1


class Edges(Struct):
    """Collects the edges of a replay graph, as parts of columns that `columns` joins."""

    parts: list[tuple[Ints, ...]] = field(default_factory=list)

    def add(  # noqa: PLR0913 - a column each
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        ns: npt.ArrayLike,
        kind: npt.ArrayLike,
        items: npt.ArrayLike = NONE,
        *,
        n_ops: npt.ArrayLike = 0,
        n_python: npt.ArrayLike = 0,
        n_generated: npt.ArrayLike = 0,
        n_calls: npt.ArrayLike = 0,
        profiler_ns: npt.ArrayLike = 0,
        is_inferred: npt.ArrayLike = 0,
    ) -> None:
        """Add edges, given as columns; a single value applies to all added edges."""
        counts = (n_ops, n_python, n_generated, n_calls, profiler_ns)
        values = (sources, targets, ns, kind, items, *counts, is_inferred)
        columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, np.int64)) for v in values))
        self.parts.append(tuple(columns))

    def columns(self) -> tuple[Ints, ...]:
        """Return an array for each column: sources, targets, ns, kinds, items and the counts."""
        return tuple(np.concatenate(column) for column in zip(*self.parts, strict=True))


class EdgeTable(Struct, frozen=True):
    """Holds the edges of a graph, in the order of the graph, with their descriptions.

    `items` are row numbers of ops, of API calls or of device work, depending on the edge's kind.
    The host's time in an edge contains the profiler's costs of recorded events. `n_ops`, `n_python`
    and `n_generated` count the begins and ends of spans in the edge. `n_calls` counts API calls.
    `profiler_ns` is the time that the host spent in the profiler itself.
    """

    graph: MomentGraph
    targets: Ints
    kinds: Ints
    items: Ints
    n_ops: Ints
    n_python: Ints
    n_generated: Ints
    n_calls: Ints
    profiler_ns: Ints
    is_inferred: Ints
    recorded: Ints
    """The recorded time of each moment."""


def build_table(edges: Edges, times: Ints, classes: Ints) -> tuple[EdgeTable, Ints]:
    """Return the table of edges sorted by target, and the new index of each moment.

    Moments are sorted by recorded time, and by class at equal times. Edges that lead back in this
    order are left out. They occur between moments of the same time if recorded times are coarse.
    """
    order = np.lexsort((np.arange(len(times)), classes, times))
    place = np.empty(len(times), np.int64)
    place[order] = np.arange(len(times))
    sources, targets, ns, *others = edges.columns()
    sources = place[sources]
    targets = place[targets]
    forward = np.flatnonzero(sources < targets)
    by_target = forward[np.lexsort((forward, targets[forward]))]
    counts = np.bincount(targets[by_target], minlength=len(times))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    graph = MomentGraph(
        offsets,
        np.ascontiguousarray(sources[by_target]),
        ns[by_target].copy(),
    )
    columns = [column[by_target] for column in (targets, *others)]
    kinds, items, n_ops, n_python, n_generated, n_calls, profiler_ns, is_inferred = columns[1:]
    return (
        EdgeTable(
            graph,
            columns[0],
            kinds,
            items,
            n_ops,
            n_python,
            n_generated,
            n_calls,
            profiler_ns,
            is_inferred,
            times[order],
        ),
        place,
    )


def picked(flags: Flags, rows: Ints) -> Flags:
    """Return the flag at each of these rows; False for a number that is not a row."""
    known = (rows >= 0) & (rows < len(flags))
    return np.append(flags, [False])[np.where(known, rows, len(flags))]


def earliest_times(graph: MomentGraph) -> tuple[Ints, Ints]:
    """Return the time of each moment in ns, and the edge that decides it, -1 without edges.

    This is the critical path method (Kelley and Walker, 1959): times are longest paths in an
    acyclic graph, found in topological order. If several edges decide, the first is returned.
    """
    if LIBRARY is not None:
        times = np.empty(graph.n_moments, np.int64)
        deciding = np.empty(graph.n_moments, np.int64)
        LIBRARY.longest_paths(graph.offsets, graph.sources, graph.weights, times, deciding)
        return times, deciding
    return earliest_times_in_python(graph)


def earliest_times_in_python(graph: MomentGraph) -> tuple[Ints, Ints]:
    """Compute the longest paths in Python, which defines the result of `longest_paths` in C."""
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
    """Return the edges that decide a moment, in order from the moment back to the first moment."""
    path = []
    while (edge := int(deciding[moment])) >= 0:
        path.append(edge)
        moment = int(graph.sources[edge])
    return path
