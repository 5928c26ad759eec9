"""`tracelens advise`: advice and plan, what is missing, without Z3, greed beside the search."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.advised import CAPTURES, EAGER
from tests.cases import make_trace
from tests.command_line import command_line
from tracelens.advisor import CallPlan
from tracelens.analyses import advise
from tracelens.analyses.advise import notes
from tracelens.derive.calls.constraints import has_z3

MEASURED = """
import atexit, os, re
from tracelens.__main__ import main

def said():
    peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1] if os.path.exists("/proc") else 0
    os.write(2, f"\\n{sum(os.times()[:2])} {peak}\\n".encode())

atexit.register(said)
main()
"""
"""The command line, which prints its processor time and its peak at the end.

A rusage would mix these with the tests' own.
"""


def test_the_command_says_advice_and_writes_a_plan(
    tmp_path: Path,
) -> None:
    """ResNet-50's whole search, with Z3 if it is installed: the process's own time and memory.

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
    assert "assumed to read the one before it" in " ".join(done.out.split())


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
