"""`tl.capture`: a block or a function of a real program, on the CPU.

One Python runs many of them, one by one.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import tracelens as tl
from tests.test_live_torch import LIGHT_TRAIN
from tracelens.errors import SourceError, ToolError, UsageError

ROOT = Path(__file__).resolve().parents[1]
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)


def python(folder: Path, code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


# Runs programs one by one as if each were alone: in a folder and a __main__ of its own, its modules
# gone after it.
ONE_BY_ONE = """
import contextlib, gc, io, json, os, sys, traceback
home, ended = os.getcwd(), {}
for name, code in json.loads(sys.argv[1]).items():
    os.mkdir(name)
    os.chdir(name)
    said, error = io.StringIO(), ""
    with contextlib.redirect_stdout(said):
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
        except Exception:
            error = traceback.format_exc()
    gc.collect()
    os.chdir(home)
    ended[name] = said.getvalue(), error
json.dump(ended, open("ended.json", "w"))
"""


class Ended(NamedTuple):
    """The folder of a program, its output, and the traceback it ended with."""

    folder: Path
    said: str
    error: str


def one_by_one(home: Path, programs: Mapping[str, str]) -> dict[str, Ended]:
    """Return how the programs ended.

    They run in one Python one after another: it imports torch once.
    """
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch, which is not installed")
    done = python(home, ONE_BY_ONE, json.dumps(programs))
    assert done.returncode == 0, done.stderr
    return {
        name: Ended(home / name, *told)
        for name, told in json.loads((home / "ended.json").read_text()).items()
    }


PROGRAMS = {
    "whole": (
        """
model(x)
with tl.capture("run.tracelens") as cap:
    for _ in range(2):
        step()
        cap.step()
model(x)
print(cap.trace.spans.height, cap.notes[0])
"""
    ),
    "function": (
        """
original = nn.Module.__call__, torch.optim.Optimizer.__init__, torch.profiler.profile.start

@tl.capture("run.tracelens", wait=1, active=2, stacks=False)
def epoch(n):
    for _ in range(n): step()
    return n

assert [epoch(5), epoch(1)] == [5, 1]
assert original == (nn.Module.__call__, torch.optim.Optimizer.__init__, torch.profiler.profile.start)
"""
    ),
    "within": (
        """
with tl.capture("outer.tracelens", stacks=False):
    step()
    try:
        with tl.capture("inner.tracelens"): pass
    except tl.errors.UsageError as error: print(error)
    step()
"""
    ),
    "raises": (
        """
with tl.capture("run.tracelens"):
    step()
    raise KeyError("of the block")
"""
    ),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    begin = LIGHT_TRAIN + "import tracelens as tl\n"
    return one_by_one(
        tmp_path_factory.mktemp("blocks"), {name: begin + code for name, code in PROGRAMS.items()}
    )


def test_a_block_is_recorded_whole_with_its_layers(ended: dict[str, Ended]) -> None:
    folder, said, error = ended["whole"]
    assert not error
    trace = tl.open(folder / "run.tracelens")
    height, note = said.strip().split(" ", 1)
    assert trace.spans.height == int(height)
    assert note == "recorded steps 0 to 1 of 2, marked by the program"
    convolutions = trace.spans.filter(pl.col("name") == "aten::conv2d")
    assert convolutions.group_by("module_path").len().sort("module_path").rows() == [
        ("layer1.0.conv", 2),
        ("layer1.1.conv", 2),
        ("stem", 2),
    ]
    assert sorted(convolutions["step"].to_list()) == [0, 0, 0, 1, 1, 1]


def test_steps_of_a_block_and_a_function_recorded_once(
    ended: dict[str, Ended],
) -> None:
    assert not ended["function"].error
    trace = tl.open(ended["function"].folder / "run.tracelens")
    assert trace.spans.filter(pl.col("name") == "aten::conv2d").height == 6
    assert trace.manifest.sources[0]["settings"]["step_source"] == "optimizer"


def test_what_the_block_raises_goes_on(
    ended: dict[str, Ended],
) -> None:
    assert "KeyError: 'of the block'" in ended["raises"].error
    trace = tl.open(ended["raises"].folder / "run.tracelens")
    assert trace.spans.filter(pl.col("name") == "aten::conv2d").height == 3


def test_a_capture_within_another_is_refused(
    ended: dict[str, Ended],
) -> None:
    folder, said, error = ended["within"]
    assert not error
    assert "inner.tracelens: a capture is under way in this process" in said
    assert (
        tl.open(folder / "outer.tracelens").spans.filter(pl.col("name") == "aten::conv2d").height
        == 6
    )
    assert not (folder / "inner.tracelens").exists()


CELLS = [
    LIGHT_TRAIN,
    (
        "import tracelens as tl\nwith tl.capture('run.tracelens') as cap:\n    step()\n   "
        " cap.step()\n    step()"
    ),
    (
        "import asyncio\n@tl.capture('function.tracelens')\ndef two():\n    step();"
        " step()\ntwo()\nawait asyncio.sleep(0)"
    ),
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
        assert sorted(convolutions["module_path"]) == sorted(
            ["layer1.0.conv", "layer1.1.conv", "stem"] * n_steps
        )


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


def test_torch_is_asked_for_only_by_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "tracelens.collectors.torch.live.recorder", raising=False)
    with (
        pytest.raises(ToolError, match="pip install torch"),
        tl.capture(tmp_path / "run.tracelens"),
    ):
        pytest.fail("the block ran")
    check = "import sys, tracelens.cli; sys.exit('torch' in sys.modules)"
    assert python(tmp_path, check).returncode == 0
