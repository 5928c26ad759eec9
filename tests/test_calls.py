"""The search for the cheapest legal calls: constraints, calls in place, cost beside trying all."""

import functools
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from tests.conftest import examples
from tracelens.derive.calls.advising import Greedy
from tracelens.derive.calls.call_graph import Calls, Node
from tracelens.derive.calls.call_tensors import places_of
from tracelens.derive.calls.constraints import (
    LAYOUTS,
    NCHW,
    NHWC,
    Facts,
    Solve,
    Z3Solver,
    enumerate_layouts,
    has_z3,
)
from tracelens.derive.calls.costs import MEASURED, Cost, Costs
from tracelens.derive.calls.libraries import TORCH
from tracelens.derive.calls.op_catalog import Function
from tracelens.derive.calls.search import MOST_NODES, MOST_STATES, Call, Part, Search
from tracelens.derive.calls.sequence import advise_calls

needs_z3 = pytest.mark.skipif(
    not has_z3(), reason="needs z3-solver (the extra advisor), which is not installed"
)
SOLVERS = [pytest.param("enumeration"), pytest.param("z3", marks=needs_z3)]
IMAGE = (2, 8, 4, 4)
BY_NAME = {function.name: function for function in TORCH}


def solver(name: str) -> Solve:
    return Z3Solver() if name == "z3" else enumerate_layouts


# The paper's example (Tang and Zhai, section 3): level 1 of BLAS takes any stride but 0.
BLAS = [
    Function(name, "blas", (name,), ("!=", ("STRIDE", "in0", 0), 0), name)
    for name in ("dot", "axpy", "scal")
]


@pytest.mark.parametrize("name", SOLVERS)
def test_blas_refuses_a_stride_of_zero(name: str) -> None:
    solve = solver(name)
    out = Facts((8, 1, 1, 1), (1, 1, 1, 1))
    for function in BLAS:
        assert (
            solve(function.constraints, {"in0": Facts((8, 1, 1, 1), (0, 1, 1, 1)), "out": out})
            == []
        )
        assert solve(
            function.constraints, {"in0": Facts((8, 1, 1, 1), (3, 1, 1, 1)), "out": out}
        ) == [NCHW]
    places = {
        "in0": Facts(IMAGE, (128, 16, 4, 1)),
        "in1": Facts(IMAGE, (0, 1, 0, 0)),
        "out": Facts(IMAGE),
    }
    assert solve(BY_NAME["add"].constraints, places) == [NCHW]
    other = places | {"in1": Facts(IMAGE, (128, 1, 32, 8))}
    assert solve(BY_NAME["add"].constraints, other) == [], "summands of one shape have one layout"


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    ("given", "layouts"),
    [((128, 16, 4, 1), [NCHW]), ((128, 1, 32, 8), [NHWC]), ((128, 4, 32, 1), [])],
)
def test_a_convolution_gives_the_layout_of_its_input(
    name: str, given: tuple[int, ...], layouts: list[str]
) -> None:
    weight = Facts((8, 8, 1, 1), (8, 1, 1, 1))
    assert (
        solver(name)(
            BY_NAME["conv"].constraints,
            {"in0": Facts(IMAGE, given), "weight": weight, "out": Facts(IMAGE)},
        )
        == layouts
    )


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    ("layout", "shape", "window", "is_legal"),
    [
        (NHWC, (2, 8, 1), [[1, 1], [0, 0]], True),
        (NCHW, (2, 8, 1), [[1, 1], [0, 0]], False),
        (NCHW, (1, 8, 1), [[1, 1], [0, 0]], True),
        (NHWC, (2, 8, 3), [[1, 1], [1, 1]], False),
        (NHWC, (2, 4, 1), [[1, 1], [0, 0]], False),  # in two groups
        # With padding, a stride of 2 gives an image of 2×2 of one: shapes alone do not tell.
        (NHWC, (2, 8, 1), [[2, 2], [1, 1]], False),
        (NHWC, (2, 8, 1), [], False),
    ],
)
def test_when_a_convolution_is_a_matrix_product(
    name: str, layout: str, shape: tuple[int, int, int], window: list[list[int]], *, is_legal: bool
) -> None:
    """For a batch, with weights for so many channels, of a kernel this high and wide."""
    batch, channels, kernel = shape
    image = Node("x", "input", (), "", (batch, 8, 2, 2))
    call = json.dumps(["conv2d", [[batch, 8, 2, 2], [8, channels, kernel, kernel], []], window])
    conv = Node("c", "conv2d", ("x",), call, (batch, 8, 2, 2), (8, channels, kernel, kernel))
    places = places_of((conv,), [image], (layout,))
    assert solver(name)(BY_NAME["conv_as_gemm"].constraints, places) == [layout] * is_legal


def node(name: str, op: str, *inputs: str, alias_of: str = "") -> Node:
    """An operator on images of one shape. No other node has the same call."""
    weight = (8, 8, 1, 1) if op == "conv2d" else ()
    call = f'["{op}", [[2, 8, 4, 4], [8, 8, 1, 1], []], [[1, 1], [0, 0], [1, 1], 1, "{name}"]]'
    return Node(name, op, inputs, call, IMAGE, weight, alias_of=alias_of, device_ns=1.0)


@dataclass
class Table(Costs):
    """Costs by function, first node and layout: given by a test, or drawn."""

    draw: random.Random | None = None
    known: dict[tuple[str, str, str], float] = field(default_factory=dict)

    def ns(self, name: str, first: str, layout: str) -> float:
        """A call's time, drawn when it is first asked for."""
        drawn = float(self.draw.randint(1, 20)) if self.draw else 1.0
        return self.known.setdefault((name, first, layout), drawn)

    def of(self, function: Function, nodes: Sequence[Node], layout: str) -> Cost | None:
        """The same as a cost."""
        ns = self.ns(function.key, nodes[0].name, layout)
        return Cost(ns, ns, ns, MEASURED)

    def transform(self, node: Node, layout: str) -> Cost:
        """Return the cost of a change of layout."""
        ns = self.ns("to", node.name, layout)
        return Cost(ns, ns, ns, MEASURED, ns)


def chosen(name: str, part: Part) -> dict[str, str]:
    """The function that covers each node."""
    found = Search(Table(), solver(name)).best(
        part, frozenset((n.name, NCHW) for n in part.given), NCHW
    )
    assert found is not None
    return {covered: call.function for call in found[1] for covered in call.nodes}


@pytest.mark.parametrize("name", SOLVERS)
def test_in_place_only_where_nobody_else_needs_the_input(name: str) -> None:
    """The cost of both is the same, and in place is preferred."""
    x, w = Node("x", "input", (), "", IMAGE), Node("w", "parameter", (), "", IMAGE)
    plain = Part((node("a", "sigmoid", "x"), node("r", "relu", "a")), (x,), ("r",))
    assert chosen(name, plain)["r"] == "relu_"
    of_input = Part((node("r", "relu", "x"),), (x,), ("r",))
    assert chosen(name, of_input)["r"] == "relu"
    of_parameter = Part((node("r", "relu", "w"),), (w,), ("r",))
    assert chosen(name, of_parameter)["r"] == "relu"
    residual = Part(
        (node("a", "sigmoid", "x"), node("r", "relu", "a"), node("s", "add", "r", "a")),
        (x,),
        ("s",),
    )
    assert chosen(name, residual)["r"] == "relu", "a is added afterwards"
    assert chosen(name, residual)["s"] == "add_"
    view = node("v", "view", "a", alias_of="a")
    of_view = Part(
        (node("a", "sigmoid", "x"), view, node("r", "relu", "v"), node("s", "add", "r", "a")),
        (x,),
        ("s",),
    )
    assert chosen(name, of_view)["r"] == "relu", (
        "v lies in the memory of a, which is added afterwards"
    )
    behind = Part(
        (node("a", "sigmoid", "x"), view, node("r", "relu", "a"), node("s", "mul", "r", "v")),
        (x,),
        ("s",),
    )
    assert chosen(name, behind)["r"] == "relu", (
        "v, which lies in the memory of a, is read afterwards"
    )
    of_inputs_view = Part(
        (node("v", "view", "x", alias_of="x"), node("r", "relu", "v")), (x,), ("r",)
    )
    assert chosen(name, of_inputs_view)["r"] == "relu"


OPS = ("conv2d", "batch_norm", "relu", "add", "sigmoid", "strange", "view")


def drawn_graph(draw: random.Random) -> tuple[Node, ...]:
    """Draw up to 7 operators that each read one before, a sum two.

    Results that nothing reads are returned.
    """
    nodes: list[Node] = []
    for at in range(draw.randint(1, 7)):
        op = draw.choice(OPS)
        names = ["x", *(n.name for n in nodes)]
        recent = names[-1] if draw.random() < 0.6 else draw.choice(names)
        inputs = (recent, draw.choice(names)) if op == "add" else (recent,)
        nodes.append(node(f"n{at}", op, *inputs))
    read = {name for n in nodes for name in n.inputs}
    return tuple(replace(n, is_output=n.name not in read) for n in nodes)


PATTERNS = {
    "conv": ("conv2d",),
    "conv_bias": ("conv2d", "batch_norm"),
    "conv_relu": ("conv2d", "relu"),
    "conv_relu_bn": ("conv2d", "batch_norm", "relu"),
    "conv_add_relu": ("conv2d", "add", "relu"),
    "conv_add_relu_bn": ("conv2d", "batch_norm", "add", "relu"),
    "conv_as_gemm": ("conv2d",),
    "conv_as_gemm_bn": ("conv2d", "batch_norm"),
    "conv_as_gemm_relu": ("conv2d", "relu"),
    "conv_as_gemm_relu_bn": ("conv2d", "batch_norm", "relu"),
    **{op: (op,) for op in ("batch_norm", "relu", "add", "sigmoid", "view")},
    "other": ("strange",),
}
"""The functions written again by hand: the nodes that each covers.

Gemm needs channels last, view and other need them first.
"""


def by_brute_force(nodes: tuple[Node, ...], costs: Table) -> float:
    """The least cost of any sequence of legal calls, in whichever layouts the results are."""
    readers = {n.name: [m for m in nodes if n.name in m.inputs] for n in nodes}

    def chains(name: str, first: Node) -> Iterator[list[Node]]:
        chain = [first]
        for op in PATTERNS[name][1:]:
            own = readers[chain[-1].name]
            if len(own) != 1 or own[0].op != op or own[0].inputs.count(chain[-1].name) != 1:
                return
            chain.append(own[0])
        yield chain

    calls = [
        (name, chain)
        for n in nodes
        for name, ops in PATTERNS.items()
        if n.op == ops[0]
        for chain in chains(name, n)
    ]

    @functools.cache
    def least(covered: frozenset[str], have: frozenset[tuple[str, str]]) -> float:
        if len(covered) == len(nodes):
            return 0.0
        best = math.inf
        for name, chain in calls:
            own = {n.name for n in chain}
            if own & covered:
                continue
            inputs = list(dict.fromkeys(i for n in chain for i in n.inputs if i not in own))
            for given in LAYOUTS:
                legal = NHWC if "gemm" in name else NCHW if name in ("view", "other") else given
                if given == legal and all((i, given) in have for i in inputs):
                    cost = costs.ns(name.removesuffix("_bn"), chain[0].name, given)
                    best = min(best, cost + least(covered | own, have | {(chain[-1].name, given)}))
        for tensor, now in have:
            other = NHWC if now == NCHW else NCHW
            needed = any(m.name not in covered for m in readers.get(tensor, nodes))
            if (tensor, other) not in have and needed:
                best = min(
                    best, costs.ns("to", tensor, other) + least(covered, have | {(tensor, other)})
                )
        return best

    return least(frozenset(), frozenset({("x", NCHW)}))


def test_the_search_finds_what_trying_everything_finds() -> None:
    """Hundreds of random graphs of up to 7 operators with random costs.

    Without Z3 and, if it is installed, with it.
    """
    solvers: list[Solve] = [enumerate_layouts, *([Z3Solver()] if has_z3() else [])]
    legal: list[dict[object, list[str]]] = [{} for _ in solvers]
    for seed in range(examples(500)):
        nodes = drawn_graph(random.Random(seed))  # noqa: S311
        costs = Table(random.Random(seed))  # noqa: S311
        expected = by_brute_force(nodes, costs)
        calls = Calls(nodes, {"x": Node("x", "input", (), "", IMAGE)}, "export")
        for solve, known in zip(solvers, legal, strict=True):
            advised = advise_calls(calls, Search(costs, solve, _legal=known))
            found = sum(call.cost.ns for part in advised for call in part.calls)
            assert found == expected, (seed, solve)
            covered = [n for part in advised for call in computing(part.calls) for n in call.nodes]
            assert sorted(covered) == sorted(n.name for n in nodes)


def computing(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if not call.function.startswith("to_")]


def test_a_graph_of_too_many_orders_stays_as_it_ran() -> None:
    """20 calls that nothing orders have 2^20 states. Damaged names of nodes give such a graph."""
    nodes = tuple(node(f"n{at}", "sigmoid", "x") for at in range(20))
    search = Search(Table())
    advised = advise_calls(Calls(nodes, {"x": Node("x", "input", (), "", IMAGE)}, "export"), search)
    assert search.statistics.n_states <= len(LAYOUTS) * MOST_STATES
    assert search.statistics.is_bound
    assert [(part.is_judged, len(part.calls)) for part in advised] == [(False, 20)]
    assert sum(call.cost.ns for part in advised for call in part.calls) == sum(
        n.device_ns or 0 for n in nodes
    )


def test_where_launches_count_fewer_calls_may_be_better() -> None:
    """A convolution of 10 ns and a ReLU of 1, or one call of 14.

    The latter wins once a launch takes over 3.
    """
    x = Node("x", "input", (), "", IMAGE)
    part = Part((node("c", "conv2d", "x"), node("r", "relu", "c")), (x,), ("r",))
    known = {("conv", "c", NCHW): 10.0, ("relu", "r", NCHW): 1.0, ("conv_relu", "c", NCHW): 14.0}
    for launch_ns, expected in ((2.0, ["conv", "relu_"]), (4.0, ["conv_relu"])):
        costs = Table(known={**known, **{("to", name, NHWC): 99.0 for name in "xcr"}})
        found = Search(costs, launch_ns=launch_ns).best(part, frozenset({("x", NCHW)}), NCHW)
        assert found is not None
        assert [call.function for call in found[1]] == expected


def test_greed_takes_the_largest_match_whatever_it_costs() -> None:
    """A convolution of 10 ns and a ReLU of 1, or both in one call of 100 between transposes."""
    x = Node("x", "input", (), "", IMAGE)
    part = Part((node("c", "conv2d", "x"), node("r", "relu", "c")), (x,), ("r",))
    known = {(function.key, "c", layout): 100.0 for function in TORCH for layout in LAYOUTS}
    known |= {("conv", "c", NCHW): 10.0, ("to", "x", NHWC): 9.0}
    expected = {Greedy: (9 + 100 + 1, ["x", "c r", "r"]), Search: (10 + 1, ["c", "r"])}
    for kind, (cost, covered) in expected.items():
        found = kind(Table(known=dict(known))).best(part, frozenset({("x", NCHW)}), NCHW)
        assert found is not None
        assert found[0] == cost
        assert [" ".join(call.nodes) for call in found[1]] == covered


def test_isomorphic_parts_are_searched_once() -> None:
    blocks = []
    for at in range(4):
        blocks += [
            node(f"conv{at}", "conv2d", f"relu{at - 1}" if at else "x"),
            node(f"relu{at}", "relu", f"conv{at}"),
        ]
    same = [replace(n, call=node("any", n.op).call) for n in blocks]
    same[-1] = replace(same[-1], is_output=True)
    search = Search(Table())
    parts = advise_calls(
        Calls(tuple(same), {"x": Node("x", "sigmoid", (), "", IMAGE)}, "export"), search
    )
    assert len(parts) == 4
    assert not search.statistics.is_bound
    # Three are alike and between any two of two layouts; the last one, whose result the model
    # returns, is another.
    assert search.statistics.n_parts == 4 + 4


def test_a_part_without_a_bottleneck_is_cut_after_24_calls() -> None:
    """A is read by each of 27 sums. A bound is given, and a legal sequence of all calls."""
    nodes = [node("a", "sigmoid", "x"), node("s0", "add", "a", "a")]
    nodes += [node(f"s{at}", "add", f"s{at - 1}", "a") for at in range(1, MOST_NODES + 3)]
    nodes[-1] = replace(nodes[-1], is_output=True)
    search = Search(Table())
    parts = advise_calls(
        Calls(tuple(nodes), {"x": Node("x", "input", (), "", IMAGE)}, "export"), search
    )
    assert search.statistics.is_bound
    assert max(len(part.part.nodes) for part in parts) == MOST_NODES
    assert [name for part in parts for call in computing(part.calls) for name in call.nodes] == [
        n.name for n in nodes
    ]
