"""Search a whole graph for its cheapest calls.

1. The graph is cut where only one tensor is passed on.
2. Each part is searched, for each layout of the passed tensors.
3. Dynamic programming over these layouts joins the parts.
"""

from collections.abc import Sequence

from msgspec import Struct

from tracelens.derive.calls.call_graph import ADJACENCY, Calls, Node
from tracelens.derive.calls.constraints import LAYOUTS, NCHW
from tracelens.derive.calls.costs import MEASURED, Cost
from tracelens.derive.calls.search import MOST_NODES, Call, Have, Part, Search


class Advised(Struct, frozen=True):
    """Holds a part of the graph with its advised calls."""

    part: Part
    calls: tuple[Call, ...]
    is_judged: bool = True  # False if no sequence was found: the calls are as recorded


def advise_calls(calls: Calls, search: Search) -> list[Advised]:
    """Return the cheapest sequence for the whole graph, part by part; empty without a graph.

    If `search.statistics.is_bound` is set, a cheaper sequence may exist.
    """
    parts = split(calls, search)
    best: dict[str, tuple[float, list[Advised]]] = {NCHW: (0.0, [])}
    for part in parts:
        cheapest = min(
            best.values(),
            key=lambda sequence: sequence[0],
        )
        reached: dict[str, tuple[float, list[Advised]]] = {}
        for layout, (cost, done) in best.items():
            for wanted in LAYOUTS:
                advised = _searched(calls, part, search, layout, wanted)
                if advised is not None and (
                    wanted not in reached or cost + advised[0] < reached[wanted][0]
                ):
                    reached[wanted] = cost + advised[0], [*done, advised[1]]
        best = reached or {NCHW: (cheapest[0], [*cheapest[1], _as_it_ran(part)])}
    return min(
        best.values(),
        key=lambda sequence: sequence[0],
    )[1]


def _searched(
    calls: Calls,
    part: Part,
    search: Search,
    layout: str,
    wanted: str,
) -> tuple[float, Advised] | None:
    """Return a part's cost and calls for an input layout and a wanted layout, None if illegal."""
    if any(node.device_ns is None for node in part.nodes):  # stays as recorded
        return (0.0, _as_it_ran(part)) if layout == wanted == NCHW else None
    # If edges are guessed, only the first tensor surely comes from outside.
    outside = set(calls.given) if calls.source != ADJACENCY else {next(iter(calls.given))}
    given: Have = frozenset(
        (
            node.name,
            NCHW if len(node.shape) != 4 else node.layout if node.name in outside else layout,
        )
        for node in part.given
    )
    cheapest = search.best(part, given, wanted)
    return cheapest and (cheapest[0], Advised(part, tuple(cheapest[1])))


def split(calls: Calls, search: Search) -> list[Part]:
    """Cut the graph into parts, each of which passes on only its last result.

    A part of MOST_NODES nodes is cut off even if it passes on more results.
    """
    nodes = calls.nodes
    last_read = {name: index for index, node in enumerate(nodes) for name in node.inputs}
    crossed = _crossed(calls, search)
    parts: list[Part] = []
    alive: list[Node] = []
    begin = reach = 0
    for index, node in enumerate(nodes):
        is_cut = reach <= index and index not in crossed
        is_full = index + 1 - begin >= MOST_NODES
        reach = max(reach, last_read.get(node.name, -1))
        if is_cut or is_full or index == len(nodes) - 1:
            search.statistics.is_bound |= is_full and not is_cut and index < len(nodes) - 1
            part_nodes = nodes[begin : index + 1]
            parts.append(_part(calls, part_nodes, alive, last_read, index))
            alive = [
                earlier
                for earlier in (*alive, *part_nodes)
                if last_read.get(earlier.name, -1) > index
            ]
            begin = index + 1
    return parts


def _crossed(calls: Calls, search: Search) -> set[int]:
    """Return the indices of nodes after which the graph must not be cut."""
    index_of = {node.name: index for index, node in enumerate(calls.nodes)}
    outputs = tuple(node.name for node in calls.nodes if node.is_output)
    whole = Part(calls.nodes, tuple(calls.given.values()), (), outputs)
    # A cut must not divide the nodes that a function covers. It must not divide the readers of a
    # graph input either, because each part might then convert the input.
    ranges = [[index_of[node.name] for node in match.nodes] for match in search.matches(whole)]
    readers: dict[str, list[int]] = {}
    for index, node in enumerate(calls.nodes):
        for name in node.inputs:
            if name in calls.given and calls.given[name].op != "parameter":
                readers.setdefault(name, []).append(index)
    return {
        index
        for crossing in (*ranges, *readers.values())
        for index in range(min(crossing), max(crossing))
    }


def _part(
    calls: Calls,
    nodes: Sequence[Node],
    alive: Sequence[Node],
    last_read: dict[str, int],
    end: int,
) -> Part:
    """Return the part of the graph that has these nodes, the last one at the index `end`.

    `alive` are earlier results that this part or a later part reads.
    """
    read = dict.fromkeys(name for node in nodes for name in node.inputs)
    given = [node for node in alive if node.name in read]
    given += [
        node
        for name in read
        if (node := calls.given.get(name)) is not None and node.op != "parameter"
    ]
    # If edges are guessed, the next chain is assumed to read the end of this one.
    ends = {node.name for node in nodes if node.is_output}
    handed = {node.name for node in nodes if last_read.get(node.name, -1) > end}
    handed |= ends if calls.source == ADJACENCY else set()
    passed = [node for node in alive if node.name not in read]
    later = [node.name for node in alive if last_read[node.name] > end]
    wanted = [
        *later,
        *(node.name for node in nodes if node.name in handed),
    ]
    returned = tuple(node.name for node in nodes if node.name in ends - handed)
    return Part(
        tuple(nodes),
        (*given, *passed),
        tuple(wanted),
        returned,
    )


def _as_it_ran(part: Part) -> Advised:
    return Advised(
        part,
        tuple(_call_that_ran(node, part) for node in part.nodes),
        is_judged=False,
    )


def _call_that_ran(node: Node, part: Part) -> Call:
    inside = {other.name for other in (*part.nodes, *part.given)}
    inputs = tuple(name for name in node.inputs if name in inside)
    ns = node.device_ns or 0.0
    cost = Cost(ns, ns, ns, MEASURED)
    return Call(
        "other",
        (node.name,),
        inputs,
        (NCHW,) * len(inputs),
        NCHW,
        "as it is",
        cost,
    )
