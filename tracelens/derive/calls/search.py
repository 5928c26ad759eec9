"""Find the cheapest sequence of calls that covers a graph, by A* search.

A* expands the state with the least sum of its cost so far and a lower bound of its remaining cost
(Hart, Nilsson and Raphael, IEEE Transactions on Systems Science and Cybernetics 4, 1968).
"""

import heapq
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from tracelens.derive.calls.call_graph import GIVEN, Node
from tracelens.derive.calls.call_tensors import is_flat, places_of
from tracelens.derive.calls.constraints import (
    LAYOUTS,
    NCHW,
    NHWC,
    Facts,
    Solve,
    enumerate_layouts,
)
from tracelens.derive.calls.costs import Cost, Costs
from tracelens.derive.calls.libraries import TORCH
from tracelens.derive.calls.op_catalog import OTHER, Function

MOST_NODES = 24
MOST_STATES = 1_000
"""At most this many states are expanded for one sub-graph.

The largest sub-graph of ResNet-50 takes 156 states; a damaged graph may take endlessly many.
"""
_VIEW = "view"
TRANSFORMS = ("to_nhwc", "to_nchw")  # they convert a tensor to another layout


class Call(Struct, frozen=True):
    """Holds a call of a sequence: function, covered nodes, inputs, and cost.

    `layouts` are the layouts of the inputs, `layout` is the layout of the result.
    """

    function: str
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    layouts: tuple[str, ...]
    layout: str
    realisation: str
    cost: Cost


Have: TypeAlias = frozenset[tuple[str, str]]
"""Tensors that have been computed, each with a layout."""


class Statistics(Struct):
    """Counts a search's expanded states, checks by the solver, and searched sub-graphs.

    `is_bound` is True if the search was cut short, so that a cheaper sequence may exist.
    """

    n_states: int = 0
    n_checks: int = 0
    n_parts: int = 0
    is_bound: bool = False


class Part(Struct, frozen=True):
    """Holds a sub-graph."""

    nodes: tuple[Node, ...]  # in order
    given: tuple[Node, ...]  # tensors from outside
    wanted: tuple[str, ...]  # results for other parts, in the requested layout
    returned: tuple[str, ...] = ()  # results of the model, in any layout

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the names of the tensors that are needed after this part."""
        return (*self.wanted, *self.returned)


class _Match(Struct, frozen=True):
    function: Function
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]


_Cheapest: TypeAlias = tuple[float, list[Call]] | None
_State: TypeAlias = tuple[frozenset[str], Have]


class Search(Struct):
    """Finds the sequence of calls that computes a sub-graph at the least total cost.

    The cost of a call is its kernel time plus `launch_ns`.
    """

    costs: Costs  # kernel time of each call; calls of unknown time are not used
    solve: Solve = enumerate_layouts  # returns the legal layouts of a call's result
    functions: Sequence[Function] = TORCH
    statistics: Statistics = field(default_factory=Statistics)
    launch_ns: float = 0.0
    _legal: dict[object, list[str]] = field(default_factory=dict)
    _results: dict[object, tuple[list[str], _Cheapest]] = field(default_factory=dict)

    def matches(self, part: Part) -> list[_Match]:
        """Return every match of a library function with nodes of the part, regardless of cost."""
        readers: dict[str, list[Node]] = {}
        for node in part.nodes:
            for name in node.inputs:
                readers.setdefault(name, []).append(node)
        kept = frozenset(part.kept)
        matches: list[_Match] = []
        for node in part.nodes:
            fits = (_fit(function, node, readers, kept) for function in self.functions)
            fitting = [match for match in fits if match]
            matches += fitting
            if all(len(match.nodes) != 1 for match in fitting):
                matches.append(_Match(OTHER, (node,), node.inputs))
        inside = {node.name for node in (*part.given, *part.nodes)}
        return [
            replace(
                match,
                inputs=tuple(name for name in match.inputs if name in inside),
            )
            for match in matches
        ]

    def best(self, part: Part, given: Have, wanted: str) -> _Cheapest:
        """Return the cost and the cheapest calls that compute the part from the `given` tensors.

        The part's results for other parts get the layout `wanted`. Return None if no calls compute
        the part, or if the search ends after MOST_STATES states.
        """
        names = [node.name for node in (*part.given, *part.nodes)]
        key = _cache_key(part, given, wanted)
        if key not in self._results:
            self._results[key] = names, self._best_first(part, given, wanted)
        their_names, cheapest = self._results[key]
        if cheapest is None:
            return None
        name_here = dict(zip(their_names, names, strict=True))
        return cheapest[0], [
            replace(
                call,
                nodes=tuple(name_here[n] for n in call.nodes),
                inputs=tuple(name_here[n] for n in call.inputs),
            )
            for call in cheapest[1]
        ]

    def _best_first(self, part: Part, given: Have, wanted: str) -> _Cheapest:
        """Return the result of `best` by A* search."""
        self.statistics.n_parts += 1
        nodes = {node.name: node for node in (*part.given, *part.nodes)}
        readers = {name: [n.name for n in part.nodes if name in n.inputs] for name in nodes}
        matches = self.matches(part)
        # The least costs of nodes that are not covered yet bound the remaining cost from below.
        least = self._least(part, matches)
        all_names = frozenset(node.name for node in part.nodes)
        order = itertools.count()
        start: _State = (frozenset(), given)
        queue: list[tuple[float, int, float, _State, tuple[Call, ...]]] = [
            (
                sum(least.values()),
                next(order),
                0.0,
                start,
                (),
            )
        ]
        expanded: set[_State] = set()
        while queue:
            _, _, cost, state, calls = heapq.heappop(queue)
            if state in expanded:
                continue
            if len(expanded) == MOST_STATES:
                self.statistics.is_bound = True
                return None
            expanded.add(state)
            self.statistics.n_states += 1
            covered, have = state
            if covered == all_names and _are_there(part.wanted, nodes, have, wanted):
                return cost, list(calls)
            for call, results in self._next(part, nodes, matches, covered, have):
                following = _after(call, (covered, have | results), part, readers)
                cost_then = cost + call.cost.ns + self.launch_ns
                least_rest = sum(ns for name, ns in least.items() if name not in following[0])
                heapq.heappush(
                    queue,
                    (
                        cost_then + least_rest,
                        next(order),
                        cost_then,
                        following,
                        (*calls, call),
                    ),
                )
        return None

    def _least(self, part: Part, matches: Sequence[_Match]) -> dict[str, float]:
        """Return the least cost of covering each node.

        The cost of a call is divided equally among the nodes that it covers.
        """
        least = {node.name: math.inf for node in part.nodes}
        for match in matches:
            for layout in LAYOUTS:
                cost = self.costs.of(match.function, match.nodes, layout)
                share = math.inf if cost is None else (cost.ns + self.launch_ns) / len(match.nodes)
                for node in match.nodes:
                    least[node.name] = min(least[node.name], share)
        return {name: 0.0 if cost == math.inf else cost for name, cost in least.items()}

    def _next(
        self,
        part: Part,
        nodes: dict[str, Node],
        matches: Sequence[_Match],
        covered: frozenset[str],
        have: Have,
    ) -> Iterator[tuple[Call, Have]]:
        """Yield every call that can come next, with the tensor that it returns.

        Calls that compute come before calls that convert a layout.
        """
        for match in matches:
            if any(node.name in covered for node in match.nodes):
                continue
            ways = [
                [layout for layout in LAYOUTS if (name, layout) in have] for name in match.inputs
            ]
            if not all(ways):
                continue
            for layouts in itertools.product(*ways):
                cost = self.costs.of(
                    match.function,
                    match.nodes,
                    layouts[0] if layouts else NCHW,
                )
                if cost is None:
                    continue
                function = match.function
                last = match.nodes[-1]
                names = tuple(node.name for node in match.nodes)
                for out in self._legal_layouts(part, nodes, match, layouts, covered):
                    call = Call(
                        function.name, names, match.inputs, layouts, out, function.realisation, cost
                    )
                    yield call, frozenset({(last.name, NCHW if is_flat(last) else out)})
        for name, layout in have:
            other = NHWC if layout == NCHW else NCHW
            if (name, other) not in have and not is_flat(nodes[name]):
                which = f"to_{other.lower()}"
                cost = self.costs.transform(nodes[name], other)
                yield (
                    Call(
                        which,
                        (name,),
                        (name,),
                        (layout,),
                        other,
                        "contiguous",
                        cost,
                    ),
                    frozenset({(name, other)}),
                )

    def _legal_layouts(
        self,
        part: Part,
        nodes: dict[str, Node],
        match: _Match,
        layouts: Sequence[str],
        covered: frozenset[str],
    ) -> list[str]:
        """Return the legal layouts of the call's result; the solver's answers are cached."""
        first = match.inputs[0] if match.inputs else ""
        source = nodes[first].alias_of if first in nodes else ""
        views = [n.name for n in part.nodes if n.alias_of == first and n.name in covered]
        if source in nodes:
            views.append(source)
        covered_then = covered | {node.name for node in match.nodes}
        given = {node.name for node in part.given if node.op in GIVEN}
        is_view_of_outside = source != "" and source not in nodes
        places = places_of(
            match.nodes,
            [nodes[name] for name in match.inputs],
            layouts,
        )
        # The solver has to know whether the call may overwrite its first input.
        places["in0"] = replace(
            places["in0"],
            live=_is_live(first, part, covered_then),
            fixed=first in given or source in given or is_view_of_outside,
            aliases=(_VIEW,) if views else (),
        )
        is_view_live = any(_is_live(view, part, covered_then) for view in views)
        places[_VIEW] = Facts(
            (1, 1, 1, 1),
            (1, 1, 1, 1),
            live=is_view_live,
        )
        key = (match.function.name, tuple(sorted(places.items())))
        if key not in self._legal:
            self.statistics.n_checks += 1
            self._legal[key] = self.solve(match.function.constraints, places)
        return self._legal[key]


def _after(call: Call, state: _State, part: Part, readers: Mapping[str, list[str]]) -> _State:
    """Return the state after a call, without tensors that no later call reads."""
    covered, have = state
    if call.function not in TRANSFORMS:
        covered |= frozenset(call.nodes)
    still_read = frozenset(
        (name, layout)
        for name, layout in have
        if name in part.kept or any(reader not in covered for reader in readers[name])
    )
    return covered, still_read


def _is_live(
    name: str,
    part: Part,
    covered: frozenset[str] | set[str],
) -> bool:
    return name in part.kept or any(
        name in node.inputs and node.name not in covered for node in part.nodes
    )


def _cache_key(part: Part, given: Have, wanted: str) -> tuple[object, ...]:
    """Return a key by which the result of a search is cached.

    Parts that differ only in the names of tensors have the same key.
    """
    every_node = (*part.given, *part.nodes)
    number_of = {node.name: number for number, node in enumerate(every_node)}
    nodes = []
    for node in part.nodes:
        inputs = tuple(number_of.get(name, -1) for name in node.inputs)
        nodes.append((node.op, inputs, node.shape, node.dtype, node.call))
    return (
        tuple(nodes),
        tuple((node.shape, node.op in GIVEN) for node in part.given),
        tuple(number_of[name] for name in part.wanted),
        tuple(number_of[name] for name in part.returned),
        frozenset((number_of[name], layout) for name, layout in given),
        wanted,
    )


def _are_there(
    names: Sequence[str],
    nodes: dict[str, Node],
    have: Have,
    layout: str,
) -> bool:
    """Return whether all tensors exist in the layout; a flat tensor exists in every layout."""

    def is_there(name: str) -> bool:
        layouts = LAYOUTS if is_flat(nodes[name]) else (layout,)
        return any((name, each_layout) in have for each_layout in layouts)

    return all(map(is_there, names))


def _fit(
    function: Function,
    node: Node,
    readers: dict[str, list[Node]],
    wanted: Collection[str],
) -> _Match | None:
    """Return the match of a function with `node` and the nodes that follow it, None without one."""
    if not function.pattern or node.op != function.pattern[0]:
        return None
    nodes = [node]
    for op in function.pattern[1:]:
        last = nodes[-1].name
        next_nodes = readers.get(last, [])
        if (
            len(next_nodes) != 1
            or next_nodes[0].op != op
            or last in wanted
            or next_nodes[0].inputs.count(last) != 1
        ):
            return None
        nodes.append(next_nodes[0])
    if function.fits is not None and not function.fits(nodes):
        return None
    names = {n.name for n in nodes}
    inputs = [name for n in nodes for name in n.inputs if name not in names]
    return _Match(function, tuple(nodes), tuple(dict.fromkeys(inputs)))
