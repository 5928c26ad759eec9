"""Whether two runs are of one program and did the same work."""

from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tests.cases import make_trace
from tests.command_line import command_line
from tests.sources import torch_trace
from tracelens.analyses import compare_setup
from tracelens.analyses.compare_setup import notes
from tracelens.answers import make_answer
from tracelens.cli.app import main
from tracelens.derive.comparing.comparability import unrelated
from tracelens.derive.comparing.op_inputs import other_work
from tracelens.derive.comparing.significance import Rules
from tracelens.report import build_report
from tracelens.schemas.results.comparing import COMPARE_SETUP
from tracelens.trace import Trace

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "torch"


def sample(name: str) -> Path:
    return SAMPLES / f"{name}.pt.trace.json.gz"


def run(*kernels: tuple[str, int], **tables: list[dict[str, Any]]) -> Trace:
    return make_trace(kernels=[{"name": name, "duration_ns": ns} for name, ns in kernels], **tables)


def differing(base: Trace, other: Trace) -> dict[str, tuple[str, str]]:
    found = COMPARE_SETUP.check(compare_setup(base, other)).filter(status="differs")
    assert found["invalidates"].null_count() == 0
    return {
        what: (one, two) for what, one, two in found.select("what", "base", "other").iter_rows()
    }


def test_the_same_run_differs_in_nothing() -> None:
    trace = tl.collect(sample("resnet50_train_f32_pinned"))
    assert differing(trace, trace) == {}


def test_each_difference_is_a_line_with_what_it_invalidates() -> None:
    op: dict[str, Any] = {"kind": "op", "name": "aten::mm", "input_dtypes": '["float"]'}
    base = run(
        ("gemm", 9),
        ("add", 1),
        devices=[{"name": "NVIDIA A100"}],
        spans=[op | {"input_shapes": "[[8, 8]]"}] * 2,
    )
    kernels: list[dict[str, Any]] = [
        {"name": "gemm", "step": 0, "link": "graph"},
        {"name": "gemm", "step": 1},
        {"name": "triton_poi_fused_add_0"},
    ]
    other = make_trace(
        kernels=[row | {"duration_ns": 5} for row in kernels],
        devices=[{"name": "NVIDIA H200"}],
        spans=[op | {"input_shapes": "[[8, 8]]"}, op | {"input_shapes": "[[16, 8]]"}],
    )
    assert differing(base, other) == {
        "gpu": ("NVIDIA A100", "NVIDIA H200"),
        "steps": ("none marked", "2"),
        "calls": ("2 kernels in all", "1 kernels a step"),
        "shapes": ("aten::mm: only what the other has too", "aten::mm [[16, 8]]"),
        "compiled": ("no", "yes"),
        "graphs": ("none", "replayed"),
    }
    said = notes(base, other, compare_setup(base, other))
    assert (
        "differ in gpu: NVIDIA A100 in base, NVIDIA H200 in new; not to be compared: every time;"
        " nothing is" in said[0]
    )
    assert said[-1] == "Not known for at least one run: driver, software, profiler, options."


@pytest.mark.slow
def test_copies_of_other_dtypes_are_another_work() -> None:
    base, other = (
        tl.collect(sample(f"resnet50_train_{kind}")) for kind in ("f64_pageable", "f32_pinned")
    )
    found = differing(base, other)
    assert list(found) == ["calls", "dtypes"]
    assert "double" in found["dtypes"][0]


@pytest.mark.parametrize(
    ("base", "other", "differs"),
    [
        (("aten::mm", "[[32, 8], [8, 4]]"), ("aten::mm", "[[16, 8], [8, 4]]"), True),
        (("aten::mm", "[[32, 8], [8, 4]]"), ("aten::mm", "[[32, 8], [8, 4]]"), False),
        # Views, and what an out= variant is given beside its operands, are no work.
        (("aten::as_strided", "[[9, 9], []]"), ("aten::as_strided", "[[7], []]"), False),
        (
            ("aten::addmm", "[[4], [32, 8], [8, 4]]"),
            ("aten::addmm", "[[4], [32, 8], [8, 4], [32, 4]]"),
            False,
        ),
        (("aten::relu", "[[32, 8]]"), ("aten::relu", "[[16, 8]]"), True),
    ],
)
def test_other_work_is_told_by_inputs(
    base: tuple[str, str], other: tuple[str, str], *, differs: bool
) -> None:
    traces = [
        make_trace(spans=[{"name": name, "kind": "op", "input_shapes": shapes}])
        for name, shapes in (base, other)
    ]
    assert (other_work(*traces) is not None) == differs


@pytest.mark.parametrize(
    "other", ["resnet50_inductor", "resnet50_torchscript", "resnet50_cudagraph"]
)
def test_compilers_do_the_same_work(other: str) -> None:
    eager, compiled = torch_trace("resnet50_eager"), torch_trace(other)
    assert other_work(eager, compiled) is None


@pytest.mark.parametrize(
    ("base", "other", "refused"),
    [
        (run(("a", 90), ("b", 10)), run(("a", 5), ("c", 95)), "only 5% of kernel time are in both"),
        (run(("a", 90), ("b", 10)), run(("a", 12), ("c", 88)), None),
        # Much common code, and yet no layer in common.
        (
            run(("a", 40), ("b", 60), layers=[{"module_path": "fc", "class_name": "Linear"}]),
            run(("a", 40), ("c", 60), layers=[{"module_path": "conv", "class_name": "Conv2d"}]),
            "only 40% of kernel time and 0% of layers are in both",
        ),
        # An eager run and a compiled one, of which only the outermost module is known.
        (
            run(("a", 9), layers=[{"module_path": "net"}, {"module_path": "net.fc"}]),
            run(("triton", 9), layers=[{"module_path": "net"}]),
            None,
        ),
        (make_trace(), run(("a", 9)), None),
    ],
)
def test_two_programs_are_refused(base: Trace, other: Trace, refused: str | None) -> None:
    found = unrelated(base, other)
    assert found is None if refused is None else refused in str(found)
    if refused:
        sections = {
            section.analysis.name: section for section in build_report(other, base).sections
        }
        assert sections["compare_layers"].missing == found
        assert sections["compare_setup"].missing is None


def test_the_command_refuses_two_programs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "report",
                str(sample("alexnet_eager")),
                "--against",
                str(sample("resnet50_train_f32_pinned")),
            ]
        )
    assert ended.value.code == 1
    told = capsys.readouterr()
    # Of all kernels' time, the share of a name in both, added up from the files' events: 0.0847.
    assert "are two programs: only 8% of kernel time are in both" in told.err
    assert told.out == ""
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize("options", [["--all"], ["--section", "compare_time"]])
def test_two_programs_are_compared_by_force_only(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name in ("gemm", "sort"):
        rows = [{"name": name, "duration_ns": 9, "start_ns": 10 * i, "step": i} for i in range(3)]
        files.append(str(tmp_path / f"{name}.tracelens"))
        make_trace(kernels=rows).write(files[-1])
    command = ["report", files[0], "--against", files[1], *options]
    refused = command_line(capsys, *command)
    assert (refused.code, refused.out) == (1, "")
    assert "only 0% of kernel time are in both" in refused.err
    assert "compare_time" in command_line(capsys, *command, "--force").out
    trace, base = (Trace.open(file) for file in files)
    names, forced = ["compare_time"], Rules(any_program=True)
    assert "not compared" in build_report(trace, base, names).answer.sentence
    assert "not compared" not in build_report(trace, base, names, forced).answer.sentence


@pytest.mark.slow
@pytest.mark.parametrize("is_base", [True, False])
def test_captures_without_anything_in_common_are_refused(is_base: bool) -> None:
    """Stacks were shown alone, as if no base had been named; a run on the CPU ended in an error."""
    stacks, jax, torch = (
        tl.collect(SAMPLES.parent / name)
        for name in (
            "stacks/h200_torch211_cudnn_v7.txt",
            "jax/perceptron.trace.json.gz",
            "torch/alexnet_eager.pt.trace.json.gz",
        )
    )
    for one, another, reason in (
        (stacks, torch, "there is nothing to compare"),
        (jax, torch, "are two programs: only 0% of ops are in both"),
    ):
        pair = (one, another) if is_base else (another, one)
        assert reason in (unrelated(*pair) or "")
        assert reason in (make_answer(pair[1], pair[0]).refused or "")


def test_runs_with_and_without_a_gpu_have_a_step_in_common() -> None:
    op = {"name": "aten::mm", "kind": "op", "duration_ns": 9_000_000, "self_ns": 9_000_000}
    on_cpu = make_trace(spans=[op])
    on_gpu = make_trace(spans=[op], kernels=[{"name": "gemm", "duration_ns": 2_000_000}])
    assert make_answer(on_gpu, on_cpu).sentence.startswith("Only new used a GPU, base did not: ")
    assert make_answer(on_cpu, on_gpu).sentence.startswith("Only base used a GPU, new did not: ")
