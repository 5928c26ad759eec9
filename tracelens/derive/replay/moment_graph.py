"""Build the dependency graph of a replay, and compute when each activity begins and ends.

1. Each activity has two moments, its begin and its end. They are the nodes of the graph.
2. An edge from one moment to another has a weight: the least time between them in ns.
3. The earliest time of a moment is the longest path to it (the critical path method).

The graph follows Daydream (Zhu et al., ATC 2020).
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
    """Holds a graph of moments: edges sorted by target, in compressed sparse form.

    The edges from index `offsets[m]` up to `offsets[m + 1]` lead to moment m.
    """

    offsets: Ints
    sources: Ints  # moment where each edge begins, always below its target
    weights: Ints  # least time of each edge in ns

    @property
    def n_moments(self) -> int:
        """The number of moments."""
        return len(self.offsets) - 1


class Edges(Struct):
    """Collects the edges of a replay's graph."""

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
        is_helper: npt.ArrayLike = 0,
    ) -> None:
        """Add edges, given as columns. A single value applies to all added edges."""
        counts = (n_ops, n_python, n_generated, n_calls, profiler_ns)
        values = (sources, targets, ns, kind, items, *counts, is_inferred, is_helper)
        columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, np.int64)) for v in values))
        self.parts.append(tuple(columns))

    def columns(self) -> tuple[Ints, ...]:
        """Return an array for each column: sources, targets, ns, kinds, items and the counts."""
        return tuple(np.concatenate(column) for column in zip(*self.parts, strict=True))


class EdgeTable(Struct, frozen=True):
    """Holds the edges of a graph with their descriptions, sorted as in the graph."""

    graph: MomentGraph
    targets: Ints
    kinds: Ints
    items: Ints  # row of the op, API call or device work, depending on the kind
    n_ops: Ints  # begins and ends of ops in the edge
    n_python: Ints  # begins and ends of Python calls
    n_generated: Ints  # begins and ends of launches of generated kernels
    n_calls: Ints  # API calls
    profiler_ns: Ints  # time that the host spent in the profiler itself
    is_inferred: Ints
    is_helper: Ints  # 1 for a host interval of threads that work beside the main ones
    recorded: Ints  # recorded time of each moment in ns


def build_table(edges: Edges, times: Ints, classes: Ints) -> tuple[EdgeTable, Ints]:
    """Return the table of edges, sorted by target, and the new index of each moment.

    Moments are sorted by recorded time. Of moments at the same time, the one with the lowest number
    in `classes` comes first.
    """
    order = np.lexsort((np.arange(len(times)), classes, times))
    new_index = np.empty(len(times), np.int64)
    new_index[order] = np.arange(len(times))
    sources, targets, ns, *others = edges.columns()
    sources = new_index[sources]
    targets = new_index[targets]
    # Coarse times may give two moments the same time. Edges that then lead backwards are left out.
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
    targets, kinds, items, n_ops, n_python, n_generated, n_calls, profiler_ns, *flags = columns
    return (
        EdgeTable(
            graph,
            targets,
            kinds,
            items,
            n_ops,
            n_python,
            n_generated,
            n_calls,
            profiler_ns,
            is_inferred=flags[0],
            is_helper=flags[1],
            recorded=times[order],
        ),
        new_index,
    )


def picked(flags: Flags, rows: Ints) -> Flags:
    """Return the flag at each of these rows; False for a number that is not a row."""
    known = (rows >= 0) & (rows < len(flags))
    return np.append(flags, [False])[np.where(known, rows, len(flags))]


def earliest_times(graph: MomentGraph) -> tuple[Ints, Ints]:
    """Return the earliest time of each moment in ns, and the index of the edge that decides it.

    A moment without incoming edges is at 0, with index -1. If several edges decide, the first is
    returned.
    """
    # Critical path method (Kelley and Walker, 1959): longest paths in topological order.
    if LIBRARY is not None:
        times = np.empty(graph.n_moments, np.int64)
        deciding = np.empty(graph.n_moments, np.int64)
        LIBRARY.longest_paths(graph.offsets, graph.sources, graph.weights, times, deciding)
        return times, deciding
    return earliest_times_in_python(graph)


def earliest_times_in_python(graph: MomentGraph) -> tuple[Ints, Ints]:
    """Compute longest paths in Python. The C function `longest_paths` must give the same result."""
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
    """Return the critical path to a moment as edges, from this moment back to the first."""
    path = []
    while (edge := int(deciding[moment])) >= 0:
        path.append(edge)
        moment = int(graph.sources[edge])
    return path
