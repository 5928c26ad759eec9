"""A transformer's calls: written-out attention is found, fused and applied; lookalikes are not."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import tracelens as tl
from tests.cases import make_trace
from tracelens.advisor import CallPlan, apply_calls, time_calls
from tracelens.derive.calls.advising import advise_rank, candidates_of, plan_of
from tracelens.derive.calls.call_graph import Calls, Node
from tracelens.derive.calls.costs import Costs
from tracelens.derive.calls.measured_calls import call_key
from tracelens.derive.calls.op_catalog import ATTENTION
from tracelens.derive.calls.search import Part, Search

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
HEADS, TURNED, SCORES = (2, 4, 8, 16), (2, 4, 16, 8), (2, 4, 8, 8)


def node(name: str, op: str, shape: tuple[int, ...], inputs: str, *read: Any, **more: Any) -> Node:
    """A node of 10 µs. `read` are the shapes that it reads, and its arguments come last."""
    *shapes, arguments = read
    call = call_key(op, shapes, arguments)
    return Node(name, op, tuple(inputs.split()), call, shape, device_ns=10_000.0, **more)


QUERY, KEY, VALUE, MASK = (
    Node(name, "input", (), "", shape)
    for name, shape in (("q", HEADS), ("k", TURNED), ("v", HEADS), ("mask", (8, 8)))
)
PRODUCT = node("product", "matmul", SCORES, "q k", HEADS, TURNED, [])
SCALED = node("scaled", "div", SCORES, "product", SCORES, [8.0])
MASKED = node("masked", "add", SCORES, "scaled mask", SCORES, (8, 8), [1])
SOFT = node("soft", "softmax", SCORES, "scaled", SCORES, [-1])
OUT = node("out", "matmul", HEADS, "soft v", SCORES, HEADS, [], is_output=True)
SOFT_OF_MASKED = replace(SOFT, inputs=("masked",))


def fused(*nodes: Node) -> list[tuple[str, str]]:
    """Return the fused attentions that fit, with their names in timings."""
    part = Part(nodes, (QUERY, KEY, VALUE, MASK), (), ("out",))
    search = Search(Costs(Calls(nodes, {}, "export")))
    rows = [
        (match.function.name, search.costs.candidate(match.function, match.nodes, "NCHW"))
        for match in search.matches(part)
        if match.function.key == ATTENTION
    ]
    return [(name, row["call"]) for name, row in rows if row is not None]


def test_products_around_a_softmax_are_one_call() -> None:
    """They are one call even with turned keys, and with a mask."""
    shapes = [list(HEADS), list(HEADS), list(HEADS)]
    assert fused(PRODUCT, SCALED, SOFT, OUT) == [
        ("attention_div", json.dumps([ATTENTION, [*shapes, []], []]))
    ]
    assert fused(PRODUCT, SCALED, MASKED, SOFT_OF_MASKED, OUT) == [
        ("attention_div_masked", json.dumps([ATTENTION, [*shapes, [8, 8]], []]))
    ]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(replace(SOFT, call=call_key("softmax", [SCORES], [1])), id="along heads"),
        pytest.param(
            replace(SCALED, call=call_key("div", [SCORES, (8, 8)], []), inputs=("product", "mask")),
            id="divided by a tensor",
        ),
        pytest.param(replace(OUT, inputs=("v", "soft")), id="values from the left"),
        pytest.param(replace(SCALED, is_output=True), id="scores are returned"),
    ],
)
def test_what_only_looks_like_attention_is_left(changed: Node) -> None:
    nodes = [changed if own.name == changed.name else own for own in (PRODUCT, SCALED, SOFT, OUT)]
    if changed.is_output:
        part = Part(tuple(nodes), (QUERY, KEY, VALUE), (), ("out", changed.name))
        search = Search(Costs(Calls(tuple(nodes), {}, "export")))
        assert [m for m in search.matches(part) if m.function.key == ATTENTION] == []
    else:
        assert fused(*nodes) == []


def model() -> Any:
    import torch  # noqa: PLC0415 - only where it is installed

    class Block(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        """Attention written out, halves that change places, a residual, GELU and a norm."""

        def __init__(self) -> None:
            super().__init__()
            self.rise = torch.nn.Linear(16, 16)
            self.norm = torch.nn.LayerNorm(16)
            self.gelu = torch.nn.GELU(approximate="tanh")
            self.fall = torch.nn.Linear(16, 16, bias=False)
            self.register_buffer("mask", torch.full((8, 8), float("-inf")).triu(1))

        def forward(self, x: Any) -> Any:
            """Return scores of one head with itself, masked, and the rest of the block."""
            q = self.gelu(self.rise(self.norm(x))).view(2, 8, 4, 4).transpose(1, 2)
            one, two = q.chunk(2, -1)
            q = torch.cat([-two, one], -1)
            scores = torch.matmul(q, q.transpose(-2, -1)) / 2.0 + self.mask
            found = torch.matmul(torch.softmax(scores, -1), q).transpose(1, 2).reshape(2, 8, 16)
            return x + self.fall(found)

    torch.manual_seed(0)
    return Block().eval()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tl.Trace:
    """The graph as recorded, and kernels as a GPU would have."""
    import torch  # noqa: PLC0415 - only where it is installed

    path = tmp_path_factory.mktemp("graph") / "run.tracelens"
    with torch.no_grad(), tl.capture(path, graph=True) as cap:
        model()(torch.randn(2, 8, 16))
    assert cap.trace is not None
    graph = cap.trace.frame("graph")
    views = ("view", "transpose", "_unsafe_view", "split", "getitem")
    ops = [
        row
        for row in graph.sort("call_order").iter_rows(named=True)
        if row["op"] not in ("input", "parameter", *views)
    ]
    names = {"clone": "reshape"}
    spans = [
        {
            "kind": "op",
            "name": f"aten::{names.get(row['op'], row['op'])}",
            "module_path": row["module_path"],
            "start_ns": at * 1000,
            "duration_ns": 500,
            "step": 0,
            "input_shapes": "[[2, 4, 8, 4]]",
        }
        for at, row in enumerate(ops)
    ]
    kernels = [
        {"span_id": at, "duration_ns": 100_000, "start_ns": at * 1000, "step": 0}
        for at in range(len(ops))
    ]
    return make_trace(spans=spans, kernels=kernels, graph=graph.to_dicts())


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("cheap", "call"),
    [
        (ATTENTION, ATTENTION),
        pytest.param("linear_add", "addmm", marks=pytest.mark.exhaustive),
        pytest.param("linear_gelu", "_addmm_activation", marks=pytest.mark.exhaustive),
    ],
)
def test_an_applied_plan_of_a_transformer_computes_the_same(
    tmp_path: Path, recorded: tl.Trace, cheap: str, call: str
) -> None:
    """Costs are in favour of one fused call."""
    import torch  # noqa: PLC0415 - only where it is installed

    wanted = candidates_of(advise_rank(recorded, 0, z3=False))
    assert cheap in {row["function"] for row in wanted}
    timed = time_calls([row for row in wanted if row["function"] == cheap], n_calls=2)
    assert timed.frame("call_costs")["problem"].to_list() == [None]
    rows = [
        dict.fromkeys(("median_ns", "q1_ns", "q3_ns"), 1000) | {"n_calls": 1, **row}
        for row in wanted
        if row["function"] == cheap
    ]
    advice = advise_rank(recorded, 0, [make_trace(call_costs=rows)], z3=False)
    assert all(part.is_judged for part in advice.parts)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(plan_of(advice, {})))
    planned = CallPlan.read(plan).calls
    assert {made.realisation for made in planned if len(made.nodes) > 1} == {call}
    assert "layer_norm" in {made.function for made in planned}
    x = torch.randn(2, 8, 16)
    with torch.no_grad():
        made = apply_calls(model(), plan, x)
        assert torch.allclose(made(x), model()(x), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "is_fused"), [(["tanh"], True), (["none"], False), ([None], False), ([], False)]
)
def test_only_an_approximate_gelu_is_fused_with_a_product(
    arguments: list[Any], is_fused: bool
) -> None:
    x = Node("x", "input", (), "", (8, 16))
    product = node("product", "linear", (8, 32), "x", (8, 16), (32, 16), (32,), [])
    gelu = node("gelu", "gelu", (8, 32), "product", (8, 32), arguments, is_output=True)
    nodes = (replace(product, weight=(32, 16)), gelu)
    search = Search(Costs(Calls(nodes, {}, "export")))
    matches = search.matches(Part(nodes, (x,), (), ("gelu",)))
    assert ("linear_gelu" in {match.function.name for match in matches}) == is_fused
