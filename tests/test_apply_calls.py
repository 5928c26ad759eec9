"""Call plans applied to models: same results, refused plans, and calls timed alone."""

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

import tracelens as tl
from tests.advised import CAPTURES, model, needs_torch, traced, with_costs
from tests.cases import make_trace
from tracelens.advisor import CallPlan, apply_calls, time_calls
from tracelens.advisor.plan_file import PlannedCall
from tracelens.derive.calls.advising import advise_rank, candidates_of, plan_of
from tracelens.derive.calls.call_graph import read_calls
from tracelens.errors import SourceError, ToolError, UsageError


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch 2.13's own, of torch.export
@pytest.mark.parametrize(
    "cheap",
    [
        "conv_relu",
        pytest.param("conv_as_gemm_relu", marks=pytest.mark.exhaustive),
        pytest.param("conv", marks=pytest.mark.exhaustive),
        pytest.param("conv_as_gemm", marks=pytest.mark.exhaustive),
    ],
)
def test_an_applied_plan_computes_what_the_model_does(tmp_path: Path, cheap: str) -> None:
    import torch  # noqa: PLC0415 - only where it is installed

    trace = traced(tmp_path)
    first = advise_rank(trace, 0, z3=False)
    assert [node.op for node in first.calls.nodes] == [
        "conv2d",
        "batch_norm",
        "relu",
        "conv2d",
        "relu",
        "view",
    ]
    assert [node.device_ns for node in first.calls.nodes] == [100_000.0] * 5 + [0.0]
    advice = advise_rank(trace, 0, [with_costs(candidates_of(first), cheap)], z3=False)
    functions = [call.function for part in advice.parts for call in part.calls]
    assert any(name.removesuffix("_bn") == cheap for name in functions), functions
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_of(advice, {})))
    own, given = model(), torch.randn(2, 4, 6, 6)
    before = {name: value.clone() for name, value in own.state_dict().items()}
    made = apply_calls(own, file)
    with torch.no_grad():
        assert torch.allclose(made(given), own(given), atol=1e-5)
    assert all(torch.equal(value, own.state_dict()[name]) for name, value in before.items()), (
        "the model is as it was"
    )


@pytest.mark.exhaustive  # the small model has the same calls
@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_plan_of_mobilenet_computes_the_same() -> None:
    """With torch's own initial weights its features vanish, so any sequence would pass."""
    import torch  # noqa: PLC0415 - only where it is installed

    own = importlib.import_module("samples.advisor.models").mobilenet_v1().eval()
    torch.manual_seed(0)
    for module in own.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
    given = torch.randn(1, 3, 224, 224)
    made = apply_calls(own, CAPTURES / "mobilenet_v1_b1_plan.json", given)
    with torch.no_grad():
        features, expected = own[:-1](given), own(given)
        assert features.abs().max() > 0.1
        assert float((made(given) - expected).abs().max() / expected.abs().max()) < 1e-5


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_plan_is_refused_that_does_not_fit(tmp_path: Path) -> None:
    trace = traced(tmp_path)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_of(advise_rank(trace, 0, z3=False), {})))
    plan = CallPlan.read(file)
    with pytest.raises(UsageError, match=r"training mode.*call model.eval\(\) first"):
        apply_calls(model().train(), plan)
    guessed = CallPlan("adjacency", plan.calls, plan.inputs)
    with pytest.raises(
        UsageError,
        match=r"a guess or names no node; capture it with tracelens collect torch --graph",
    ):
        apply_calls(model(), guessed)
    with pytest.raises(UsageError, match="which the model's graph does not have"):
        apply_calls(model()[:2].eval(), plan)
    wrong = [
        (
            PlannedCall("conv", "conv2d", ("conv2d_1", "relu_1"), c.inputs, c.layouts, c.layout)
            if c.nodes == ("conv2d_1",)
            else c
        )
        for c in plan.calls
        if c.nodes != ("relu_1",)
    ]
    with pytest.raises(
        ToolError, match=r"give another output: it differs by .* the model is as it was"
    ):
        apply_calls(model(), CallPlan("export", tuple(wrong), plan.inputs))
    for torn in (replace(plan.calls[0], nodes=()), replace(plan.calls[0], layouts=())):
        calls = (torn, *plan.calls[1:])
        with pytest.raises(UsageError, match="the plan does not fit the model's graph"):
            apply_calls(model(), CallPlan("export", calls, plan.inputs))


def test_a_file_that_is_no_call_plan_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    for content, said in (("{", "none that can be read"), ("{}", "found other JSON")):
        file.write_text(content)
        with pytest.raises(SourceError, match=said):
            CallPlan.read(file)
    with pytest.raises(SourceError, match=r"tracelens advise TRACE --out plan\.json"):
        CallPlan.read(tmp_path / "none.json")


@pytest.mark.slow
@needs_torch
def test_calls_are_timed_alone_and_what_fails_says_why() -> None:
    conv = '["conv2d", [[1, 4, 6, 6], [8, 4, 3, 3], [8]], [[1, 1], [1, 1], [1, 1], 1]]'
    rows = [
        {"function": function, "call": conv, "dtype": "float32", "layout": "NHWC"}
        for function in ("conv_relu", "conv_add_relu", "unheard_of", "conv_as_gemm")
    ]
    costs = time_calls(rows, n_calls=3).frame("call_costs")
    assert costs["function"].to_list() == [
        "conv_relu",
        "conv_add_relu",
        "unheard_of",
        "conv_as_gemm",
    ]
    assert costs["problem"].is_null().to_list() == [True, True, False, False]
    assert (costs.filter(pl.col("problem").is_null())["median_ns"] > 0).all()


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_without_export_the_graph_is_of_what_ran(tmp_path: Path) -> None:
    """A branch depends on the data.

    Edges come from tensors' ids, in place or not. Calls have the times of like calls.
    """
    import torch  # noqa: PLC0415 - only where it is installed

    class Branching(torch.nn.Module):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Conv2d(4, 8, 3, padding=1), torch.nn.Conv2d(8, 8, 1)

        def forward(self, x: Any) -> Any:
            y = torch.relu_(self.first(x))
            return torch.flatten(self.second(y) + y if float(y.sum()) > -1 else y, 1)

    with torch.no_grad(), tl.capture(tmp_path / "run.tracelens", graph=True) as cap:
        Branching().eval()(torch.randn(2, 4, 6, 6))
    assert cap.trace is not None
    graph = cap.trace.frame("graph")
    assert graph["source"].unique().to_list() == ["observer"]
    calls = graph.filter(~pl.col("op").is_in(["input", "parameter"]))
    names = dict(zip(graph["node"], graph["op"], strict=True))
    read = [[names[name] for name in json.loads(own) if name] for own in calls["inputs"]]
    assert list(zip(calls["op"], read, strict=True)) == [
        ("conv2d", ["input", "parameter", "parameter"]),
        ("relu", ["conv2d"]),
        ("sum", ["relu"]),
        ("conv2d", ["relu", "parameter", "parameter"]),
        ("add", ["conv2d", "relu"]),
        ("flatten", ["add"]),
    ]
    assert calls["is_output"].to_list() == [False, False, True, False, False, True]
    convolutions = [
        ("[[2,4,6,6],[8,4,3,3],[8]]", "[1, 1]", 300),
        ("[[2,8,6,6],[8,8,1,1],[8]]", "[0, 0]", 200),
    ]
    spans = [
        {
            "name": "aten::conv2d",
            "kind": "op",
            "input_shapes": shapes,
            "start_ns": ns,
            "concrete_inputs": json.dumps(
                [None, None, None, [1, 1], json.loads(padding), [1, 1], 1]
            ),
        }
        for shapes, padding, ns in convolutions
    ]
    kernels = [{"span_id": at, "duration_ns": own[2]} for at, own in enumerate(convolutions)]
    trace = make_trace(spans=spans, kernels=kernels, graph=graph.to_dicts())
    found = read_calls(trace, 0)
    assert [(n.op, n.device_ns) for n in found.nodes if n.op == "conv2d"] == [
        ("conv2d", 300.0),
        ("conv2d", 200.0),
    ]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(plan_of(advise_rank(trace, 0, z3=False), {})))
    with pytest.raises(UsageError, match="without the model's exported graph"):
        apply_calls(Branching().eval(), plan)
