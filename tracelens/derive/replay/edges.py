"""Collect the edges of a replay graph: what waits for what, how long, and for what cause."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tracelens.derive.replay.moment_graph import Flags, Ints, MomentGraph
from tracelens.schemas.results.replay import STRETCHES

KINDS = tuple(STRETCHES)
OP, PYTHON, CALL, LAUNCH, KERNEL, COPY, FILL, COLLECTIVE, QUEUE, DEPENDENCY, WAIT, START = range(
    len(KINDS)
)
NONE = -1


class Edges(Struct):
    """Edges of a replay graph, as parts of columns that `columns` joins."""

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
        """Add edges, given as columns; a single value applies to all of them."""
        counts = (n_ops, n_python, n_generated, n_calls, profiler_ns)
        values = (sources, targets, ns, kind, items, *counts, is_inferred)
        columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, np.int64)) for v in values))
        self.parts.append(tuple(columns))

    def columns(self) -> tuple[Ints, ...]:
        """Return an array for each column: sources, targets, ns, kinds, items and the counts."""
        return tuple(np.concatenate(column) for column in zip(*self.parts, strict=True))


class EdgeTable(Struct, frozen=True):
    """The edges of a graph, in the order of the graph, with their descriptions.

    `items` are rows: of ops for op, of API calls for call, launch and wait, else of device work.
    Three columns count events in each edge's time, to which the profiler adds: `n_ops`, `n_python`
    and `n_generated` begins and ends of recorded spans, `n_calls` recorded API calls. `profiler_ns`
    is the part of an edge's time that the host spent in the profiler itself.
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
    """Sort moments by recorded time (and class, if equal), and edges by their target.

    Return the table, and the new position of each moment. An edge that leads back in this order is
    left out: coarse times can produce one between moments of the same time.
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
    graph = MomentGraph(offsets, np.ascontiguousarray(sources[by_target]), ns[by_target].copy())
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
