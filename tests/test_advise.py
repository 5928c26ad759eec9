"""Advice on real captures, plans and their refusals, and the words where something is missing."""

import importlib
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from benchmarks.enlarge_tables import enlarge
from tests.cases import make_trace
from tests.command_line import command_line
from tracelens.advisor import CallPlan, apply_calls, time_calls
from tracelens.advisor.plan_file import PlannedCall
from tracelens.analyses import advise
from tracelens.analyses.advise import ADVISE, notes
from tracelens.derive.calls.advising import advise_rank, candidates_of, plan_of
from tracelens.derive.calls.constraints import has_z3
from tracelens.derive.calls.graphs import ADJACENCY, read_calls
from tracelens.errors import SourceError, ToolError, UsageError

ROOT = Path(__file__).resolve().parents[1]
EAGER = ROOT / "samples/torch/resnet50_eager.pt.trace.json.gz"
LAST = ROOT / "samples/torch/resnet50_channels_last.pt.trace.json.gz"
CAPTURES = ROOT / "samples/advisor/captures"
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
needs_z3 = pytest.mark.skipif(
    not has_z3(), reason="needs z3-solver (the extra advisor), which is not installed"
)


@pytest.fixture(scope="module")
def eager() -> tl.Trace:
    return tl.collect(EAGER)


def test_eager_resnet_should_run_in_channels_last(eager: tl.Trace) -> None:
    """By the kernels' table: 64 kernels of primitive layout per step, 592.6 µs of 4.955 ms."""
    frame = advise(eager)
    whole = frame.row(0, named=True)
    assert whole["n_transforming"] == 64
    assert whole["transform_now_ns"] / 1e3 == pytest.approx(592.6, abs=0.05)
    assert whole["device_ns"] / 1e6 == pytest.approx(4.955, abs=0.0005)
    assert whole["transform_now_ns"] / whole["device_ns"] == pytest.approx(0.1196, abs=0.00005)
    assert whole["change"].startswith("memory_format=torch.channels_last")
    assert whole["saving_low_ns"] < 570_000 < whole["saving_high_ns"]
    assert whole["source"] == "adjacency"
    said = notes(eager, frame)
    assert said[0].startswith("Run the model in channels_last: ")
    assert any("guessed" in text and "--graph" in text for text in said)


def test_parts_that_save_nothing_have_no_row() -> None:
    """A model in channels_last runs most of its parts as they should be."""
    parts = advise(tl.collect(LAST)).filter(pl.col("sub_graph").is_not_null())
    assert (parts["saving_high_ns"] > 0).all()


def test_kernel_time_of_channels_last_is_predicted(eager: tl.Trace) -> None:
    advice = advise_rank(eager, 0, [tl.collect(LAST)], z3=False)
    assert advice.total() / 1e6 == pytest.approx(4.032, rel=0.03)
    assert {
        call.layout for part in advice.parts for call in part.calls if call.function == "conv"
    } == {"NHWC"}


@pytest.mark.parametrize(
    ("path", "share", "is_problem"),
    [
        ("samples/torch/alexnet_eager.pt.trace.json.gz", 0.059, True),
        ("samples/thesis/captures/mobilenet_v2_eager.tracelens", 0.008, False),
    ],
)
def test_layout_is_a_problem_or_not(path: str, share: float, is_problem: bool) -> None:
    trace = tl.open(ROOT / path) if path.endswith(".tracelens") else tl.collect(ROOT / path)
    frame = advise(trace)
    whole = frame.row(0, named=True)
    assert whole["transform_now_ns"] / whole["device_ns"] == pytest.approx(share, abs=0.0006)
    said = " ".join(notes(trace, frame))
    assert ("Layout is not this model's problem" in said) is not is_problem
    assert said.startswith("Run the model in channels_last") is is_problem


MODEL = {
    "rank": 0,
    "sub_graph": None,
    "layers": "(model)",
    "calls_now": "3 conv2d",
    "calls_advised": "3 conv NHWC",
    "device_ns": 5_000_000,
    "transform_now_ns": 9_000,
    "transform_then_ns": 9_000,
    "n_transforming": 2.0,
    "saving_low_ns": 2_000_000,
    "saving_ns": 2_000_000,
    "saving_high_ns": 2_000_000,
    "evidence": "measured",
    "change": "memory_format=torch.channels_last",
    "n_unmatched": 0,
    "unjudged_ns": 0,
    "source": "export",
}
"""Kernels of 5 ms a step, hardly any of which change a layout; channels_last saves 2 ms of them."""


def told(**row: Any) -> str:
    """The advice on a whole model with this row."""
    return " ".join(notes(make_trace(), ADVISE.conform(pl.DataFrame([MODEL | row]))))


def test_layout_is_the_problem_where_channels_last_helps() -> None:
    """Though no kernel only changes layouts: the convolutions themselves run faster."""
    assert told().startswith("Run the model in channels_last: 2.00 to 2.00 ms of 5.00 ms")
    assert "not this model's problem" not in told()
    for saved, change in ((0, ""), (50_000, MODEL["change"])):  # nothing, and 1 %
        little = dict.fromkeys(("saving_low_ns", "saving_ns", "saving_high_ns"), saved)
        assert told(change=change, **little).startswith("Layout is not this model's problem: 2 ")


@pytest.mark.parametrize(
    ("now", "then", "saved", "is_limit"),
    [
        pytest.param(1_400_000, 500_000, 2_000_000, False, id="kernels take longer than launches"),
        pytest.param(6_000_000, 500_000, 3_000_000, True, id="launches take longer"),
        pytest.param(4_000_000, 3_500_000, 1_500_000, True, id="launches of the plan would"),
    ],
)
def test_launches_limit_what_is_shorter_than_they(
    now: int, then: int, saved: int, is_limit: bool
) -> None:
    """Of 5 ms of kernels now: a sequence takes the longer of its launches and its kernels."""
    saving = dict.fromkeys(("saving_low_ns", "saving_ns", "saving_high_ns"), saved)
    said = told(host_now_ns=now, host_then_ns=then, **saving)
    assert ("Launches limit this trace" in said) is is_limit
    assert ("The device waits for the host" in said) is not is_limit
    assert f"launches now {now / 1e6:.2f} ms" in said


SUBJECTS = [
    "resnet50_b1",
    *(
        pytest.param(subject, marks=pytest.mark.exhaustive)
        for subject in ("resnet50_b32", "mobilenet_v1_b1", "mobilenet_v1_b32")
    ),
]


def of_subject(subject: str, what: str) -> tl.Trace:
    return tl.open(CAPTURES / f"{subject}_{what}.tracelens")


@pytest.mark.parametrize("z3", [False, pytest.param(True, marks=needs_z3)])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_whole_model_is_searched_within_a_minute(subject: str, z3: bool) -> None:
    """Seconds of this process: others' load does not count."""
    before = sum(os.times()[:2])
    others = [of_subject(subject, "channels_last"), of_subject(subject, "calls")]
    advice = advise_rank(of_subject(subject, "eager"), 0, others, z3=z3)
    assert sum(os.times()[:2]) - before < 60
    plan = CallPlan.read(CAPTURES / f"{subject}_plan.json")
    assert round(advice.total()) == plan.predicted["then_ns"]
    assert [call.function for part in advice.parts for call in part.calls] == [
        call.function for call in plan.calls
    ]
    assert advice.calls.source != ADJACENCY
    assert all(node.device_ns is not None for node in advice.calls.nodes)


def test_the_advised_resnet_takes_what_was_predicted() -> None:
    plan = CallPlan.read(CAPTURES / "resnet50_b32_plan.json")
    measured = of_subject("resnet50_b32", "advised").kernels["duration_ns"].sum() / 3
    assert measured < 3_300_000
    assert plan.predicted["then_ns"] == pytest.approx(measured, rel=0.15)


SEQUENCE = [
    ("conv2d", "0"),
    ("batch_norm", "1"),
    ("relu", "2"),
    ("conv2d", "3"),
    ("relu", "4"),
    ("flatten", "5"),
]


def model() -> Any:
    import torch  # noqa: PLC0415 - only where it is installed

    torch.manual_seed(0)
    made = torch.nn.Sequential(
        torch.nn.Conv2d(4, 8, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
    )
    made[1].running_mean.normal_()
    made[1].running_var.uniform_(0.5, 2)
    return made.eval()


def traced(tmp_path: Path) -> tl.Trace:
    """The model's recorded graph, and for each operator a span and a kernel of 100 µs.

    A GPU would give such a trace.
    """
    import torch  # noqa: PLC0415 - only where it is installed

    with torch.no_grad(), tl.capture(tmp_path / "run.tracelens", graph=True) as cap:
        model()(torch.randn(2, 4, 6, 6))
    assert cap.trace is not None
    spans = [
        {
            "kind": "op",
            "name": f"aten::{op}",
            "module_path": path,
            "start_ns": at * 1000,
            "duration_ns": 500,
            "step": 0,
            "input_shapes": "[[2, 8, 6, 6]]",
        }
        for at, (op, path) in enumerate(SEQUENCE)
    ]
    kernels = [
        {
            "span_id": at,
            "duration_ns": 100_000,
            "start_ns": at * 1000,
            "step": 0,
            "primitive": "conv",
        }
        for at in range(5)
    ]
    return make_trace(spans=spans, kernels=kernels, graph=cap.trace.frame("graph").to_dicts())


def with_costs(candidates: list[dict[str, str]], cheap: str) -> tl.Trace:
    """A trace of calls timed alone: 1 µs for a function and layout changes, 1 ms for any other."""

    def ns(function: str) -> int:
        return 1000 if function in (cheap, "to_nhwc", "to_nchw") else 1_000_000

    rows = [
        dict.fromkeys(("median_ns", "q1_ns", "q3_ns"), ns(c["function"])) | {"n_calls": 1, **c}
        for c in candidates
    ]
    return make_trace(call_costs=rows)


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch 2.13's own, of torch.export
@pytest.mark.parametrize("cheap", ["conv_relu", "conv_as_gemm_relu", "conv", "conv_as_gemm"])
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


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_plan_of_mobilenet_computes_the_same() -> None:
    """With torch's own initial weights its features vanish, and any sequence would pass."""
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


MEASURED = """
import atexit, os, re
from tracelens.__main__ import main

def said():
    peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1] if os.path.exists("/proc") else 0
    os.write(2, f"\\n{sum(os.times()[:2])} {peak}\\n".encode())

atexit.register(said)
main()
"""
"""The command line; ends with its processor time and its peak, which a rusage would mix with
that of these tests."""


def test_the_command_says_advice_and_writes_a_plan(
    tmp_path: Path,
) -> None:
    """ResNet-50's whole search, with Z3 where it is installed: the process's own time and memory.

    It takes 2 s of processor time on two busy cores, half of them imports, so that no plan needs a
    cache.
    """
    out = tmp_path / "plan.json"
    eager, costs = (CAPTURES / f"resnet50_b32_{what}.tracelens" for what in ("eager", "calls"))
    command = [
        sys.executable,
        "-c",
        MEASURED,
        "advise",
        str(eager),
        "--costs",
        str(costs),
        "--out",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Run the model in channels_last: ")
    assert "cudnn_convolution_add_relu for 16 calls" in done.stdout
    assert CallPlan.read(out).source == "export"
    seconds, peak_kib = map(float, done.stderr.split()[-2:])
    assert seconds < 5
    assert peak_kib < 1 << 20, "at most 1 GiB"


def test_the_host_counts_where_launches_limit_a_trace() -> None:
    """MobileNet at batch 1: its step takes at least its launches.

    Each call counts with the median of those to an idle device.
    """
    trace = of_subject("mobilenet_v1_b1", "eager")
    costs = [of_subject("mobilenet_v1_b1", what) for what in ("channels_last", "calls")]
    both = trace.kernels.join(trace.frame("api_calls"), on="api_call_id", suffix="_of_call")
    delays, ended = [], 0
    for begin, ns, called in sorted(
        both.select("start_ns", "duration_ns", "start_ns_of_call").iter_rows()
    ):
        delays += [begin - called] * (called >= ended)
        ended = max(ended, begin + ns)
    launch = statistics.median(delays)
    advice = advise_rank(trace, 0, costs, z3=False)
    assert advice.launch_ns == pytest.approx(launch, abs=10)
    n_now = sum(bool(node.device_ns) for node in advice.calls.nodes)
    made = [call for part in advice.parts for call in part.calls if call.cost.ns]
    assert (advice.host_now, advice.host_then) == pytest.approx(
        (launch * n_now, launch * len(made)), rel=0.01
    )
    assert len(made) < n_now / 2
    whole = advise(trace, costs).row(0, named=True)
    step = [max(advice.host_now, advice.now), max(advice.host_then, advice.total())]
    assert whole["saving_ns"] == pytest.approx(step[0] - step[1], rel=0.01)
    assert any(
        text.startswith("Launches limit this trace (verdict)")
        for text in notes(trace, advise(trace, costs))
    )


def test_the_first_steps_are_looked_at(
    eager: tl.Trace,
) -> None:
    """The bundled capture 25 times over: 75 steps, each as before, and once without marks."""
    long = enlarge(eager, 24 * eager.kernels.height + 1)
    assert long.kernels["step"].n_unique() == 75
    frame, before = advise(long), advise(eager)
    assert frame["device_ns"].to_list() == pytest.approx(before["device_ns"].to_list(), rel=0.01)
    assert frame["calls_advised"].equals(before["calls_advised"])
    assert "The first 50 steps were looked at." in notes(long, frame)
    tables = {name: long.scan(name) for name in long.summary()["table"]}
    unmarked = {
        name: tables[name].with_columns(step=pl.lit(None, pl.Int64))
        for name in ("kernels", "spans", "steps")
    }
    bare = tl.Trace(long.manifest, tables | unmarked)
    assert advise(bare).is_empty()
    assert "mark the steps" in notes(bare, advise(bare))[0]


def test_what_is_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    kernels = [{"span_id": 0, "duration_ns": 10, "step": 0}]
    bare = make_trace(spans=[{"kind": "op", "name": "aten::relu"}], kernels=kernels)
    frame = advise(bare)
    assert frame.is_empty()
    assert notes(bare, frame) == [
        (
            "The trace has no shapes of inputs, so nothing can be advised: profile with"
            " record_shapes=True."
        )
    ]
    trains = make_trace(
        spans=[{"kind": "op", "name": "aten::relu", "input_shapes": "[[1]]", "phase": "backward"}],
        kernels=kernels,
    )
    assert notes(trains, advise(trains))[0].startswith("A training run: ")
    done = command_line(capsys, "report", EAGER, "--section", "advise")
    assert done.code == 0
    assert "guessed" in done.out


def test_without_the_extra_the_advice_is_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name in ("tracelens.cli.advise.has_z3", "tracelens.derive.calls.advising.has_z3"):
        monkeypatch.setattr(name, lambda: False)
    done = command_line(capsys, "advise", CAPTURES / "mobilenet_v1_b32_eager.tracelens")
    found.append(done.out)
    assert done.code == 0
    assert "pip install z3-solver" in done.err
    if has_z3():
        monkeypatch.undo()
        done = command_line(capsys, "advise", CAPTURES / "mobilenet_v1_b32_eager.tracelens")
        assert "tracelens[advisor]" not in done.err
        assert found == [done.out]


@pytest.mark.slow
def test_greed_loses_where_the_search_gains() -> None:
    """Largest match first, in channels-last, is by the same costs never cheaper than the search."""
    found = importlib.import_module("samples.advisor.analyse").orders("mobilenet_v1_b32")
    assert found["searched"] < found["eager"] < found["greedy"]


@pytest.mark.slow
def test_the_command_compares_greed_with_the_search(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The plan that it writes is the greedy one, and parts that lose by it are listed, too."""
    costs = [f"--costs={CAPTURES}/mobilenet_v1_b32_{what}.tracelens" for what in ("calls",)]
    trace, out = CAPTURES / "mobilenet_v1_b32_eager.tracelens", tmp_path / "greedy.json"
    done = command_line(capsys, "advise", trace, *costs, "--greedy", "--out", out)
    assert done.code == 0
    assert done.out.startswith("The greedy order (largest match first, in channels_last) takes ")
    assert re.search(r"^ +1 .*-\d\.\d", done.out, re.MULTILINE), "the first depthwise convolution"
    plan = CallPlan.read(out)
    assert {call.function for call in plan.calls if len(call.nodes) > 1} == {"conv_relu_bn"}
    assert plan.predicted["then_ns"] > plan.predicted["now_ns"]


@needs_torch
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_without_export_the_graph_is_of_what_ran(tmp_path: Path) -> None:
    """A branch on its data.

    Edges come from tensors' ids, in place or not; calls have the times of their like.
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


def test_times_that_no_call_takes_are_refused(eager: tl.Trace) -> None:
    wrong = {
        "function": "conv",
        "call": "x",
        "dtype": "float",
        "layout": "NCHW",
        "q1_ns": -(2**63),
        "q3_ns": 2**62,
    }
    costs = make_trace(call_costs=[wrong | {"median_ns": 5, "n_calls": 1, "device": "cpu"}])
    with pytest.raises(SourceError, match="1 rows of call_costs have times that no call takes"):
        advise(eager, costs=[costs])
