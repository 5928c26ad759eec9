"""`tl.capture`: a block or a function of a real program, on the CPU. Each runs in a Python of its own."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.test_live_torch import TRAIN
from tracelens.errors import SourceError, ToolError, UsageError

ROOT = Path(__file__).resolve().parents[1]
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)


def python(folder: Path, code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, check=False, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@needs_torch
def test_a_block_is_recorded_whole_with_its_layers(tmp_path: Path) -> None:
    code = (
        TRAIN
        + """
import tracelens as tl
model(x)
with tl.capture("run.tracelens") as cap:
    for _ in range(2):
        step()
        cap.step()
model(x)
print(cap.trace.spans.height, cap.notes[0])
"""
    )
    done = python(tmp_path, code)
    assert done.returncode == 0, done.stderr
    trace = tl.open(tmp_path / "run.tracelens")
    said, note = done.stdout.strip().split(" ", 1)
    assert trace.spans.height == int(said)
    assert note == "recorded steps 0 to 1 of 2, marked by the program"
    convolutions = trace.spans.filter(pl.col("name") == "aten::conv2d")
    assert convolutions.group_by("module_path").len().sort("module_path").rows() == [
        ("layer1.0.conv", 2), ("layer1.1.conv", 2), ("stem", 2),
    ]  # fmt: skip
    assert sorted(convolutions["step"].to_list()) == [0, 0, 0, 1, 1, 1]


@needs_torch
def test_steps_are_found_in_a_block_and_a_function_is_recorded_once(tmp_path: Path) -> None:
    code = (
        TRAIN
        + """
import tracelens as tl
original = nn.Module.__call__, torch.optim.Optimizer.__init__, torch.profiler.profile.start

@tl.capture("run.tracelens", wait=1, active=2, stacks=False)
def epoch(n):
    for _ in range(n): step()
    return n

assert [epoch(5), epoch(1)] == [5, 1]
assert original == (nn.Module.__call__, torch.optim.Optimizer.__init__, torch.profiler.profile.start)
"""
    )
    done = python(tmp_path, code)
    assert done.returncode == 0, done.stderr
    trace = tl.open(tmp_path / "run.tracelens")
    assert trace.spans.filter(pl.col("name") == "aten::conv2d").height == 6
    assert trace.manifest.sources[0]["settings"]["step_source"] == "optimizer"


@needs_torch
def test_what_the_block_raises_goes_on_and_what_was_recorded_is_kept(tmp_path: Path) -> None:
    code = (
        TRAIN
        + """
import tracelens as tl
with tl.capture("run.tracelens"):
    step()
    raise KeyError("of the block")
"""
    )
    done = python(tmp_path, code)
    assert done.returncode == 1
    assert "KeyError: 'of the block'" in done.stderr
    assert tl.open(tmp_path / "run.tracelens").spans.filter(pl.col("name") == "aten::conv2d").height == 3


CELLS = [
    TRAIN,
    "import tracelens as tl\nwith tl.capture('run.tracelens') as cap:\n    step()\n    cap.step()\n    step()",
    "import asyncio\n@tl.capture('function.tracelens')\ndef two():\n    step(); step()\ntwo()\nawait asyncio.sleep(0)",
    "with tl.capture('cut.tracelens'):\n    step()\n    raise KeyboardInterrupt",
]
KERNEL = """
# Runs cells as a notebook's kernel does: one after another in a __main__ without a file, inside an event loop.
import ast, asyncio, inspect, json, sys
main = sys.modules["__main__"].__dict__
cells = json.loads(sys.argv[1])

async def run():
    for number, cell in enumerate(cells):
        code = compile(cell, f"<cell {number}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        try:
            result = eval(code, main)
            if inspect.isawaitable(result):
                await result
        except KeyboardInterrupt:
            print("interrupted")

assert "__file__" not in main
asyncio.run(run())
"""


@needs_torch
def test_cells_of_a_notebook_are_recorded(tmp_path: Path) -> None:
    done = python(tmp_path, KERNEL, json.dumps(CELLS))
    assert done.returncode == 0, done.stderr
    assert "interrupted" in done.stdout
    for name, n_steps in (("run", 2), ("function", 2), ("cut", 1)):
        trace = tl.open(tmp_path / f"{name}.tracelens")
        convolutions = trace.spans.filter(pl.col("name") == "aten::conv2d")
        assert sorted(convolutions["module_path"]) == sorted(["layer1.0.conv", "layer1.1.conv", "stem"] * n_steps)


@needs_torch
def test_a_capture_within_another_is_refused_and_costs_the_outer_one_nothing(tmp_path: Path) -> None:
    code = (
        TRAIN
        + """
import tracelens as tl
with tl.capture("outer.tracelens", stacks=False):
    step()
    try:
        with tl.capture("inner.tracelens"): pass
    except tl.errors.UsageError as error: print(error)
    step()
"""
    )
    done = python(tmp_path, code)
    assert done.returncode == 0, done.stderr
    assert "inner.tracelens: a capture is under way in this process" in done.stdout
    assert tl.open(tmp_path / "outer.tracelens").spans.filter(pl.col("name") == "aten::conv2d").height == 6
    assert not (tmp_path / "inner.tracelens").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"actve": 3}, "no option 'actve'; its options are wait, warmup, active"),
        ({"active": 0}, "active is 1 or more"),
        ({"wait": -1}, "wait and warmup are 0 or more"),
    ],
)
def test_options_that_cannot_be_are_refused(options: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tl.capture("run.tracelens", **options)
    with pytest.raises(UsageError, match="inside of with"):
        tl.capture("run.tracelens").step()


def test_an_existing_target_is_refused_before_the_block(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="exists already"), tl.capture(tmp_path):
        pytest.fail("the block ran")


def test_torch_is_asked_for_only_by_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "tracelens.collectors.torch.live.recorder", raising=False)
    with pytest.raises(ToolError, match=r"tracelens-toolkit\[torch\]"), tl.capture(tmp_path / "run.tracelens"):
        pytest.fail("the block ran")
    check = "import sys, tracelens.cli; sys.exit('torch' in sys.modules)"
    assert python(tmp_path, check).returncode == 0
