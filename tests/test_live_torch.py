"""`collect torch -- COMMAND`: real scripts under the real profiler, on the CPU."""

import contextlib
import importlib.util
import json
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from tests.forked_programs import CAN_FORK, start_fork
from tests.never_compiled import NEVER_COMPILED, RANDOM_NUMBERS
from tracelens.collectors import run_program
from tracelens.collectors.torch.live.settings import Settings
from tracelens.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)

MODEL = """
import json, os, signal, sys
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, stride=1, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.act = nn.ReLU()
    def forward(self, x):
        return self.act(self.norm(self.conv(x))) + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.layer1 = nn.Sequential(Block(), Block())
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(self.layer1(self.stem(x)).mean((2, 3)))

model = Net()
"""
STEPS = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_of = nn.CrossEntropyLoss()
x, y = torch.randn(2, 3, 8, 8), torch.tensor([0, 1])

def step():
    optimizer.zero_grad()
    loss_of(model(x), y).backward()
    optimizer.step()
"""
LIGHT_MODEL = NEVER_COMPILED + MODEL
LIGHT_TRAIN = LIGHT_MODEL + STEPS
TRAIN = MODEL + STEPS
"""Training that replaces nothing of torch's own.

It is for programs that compile.
"""
EVERY_SECOND = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (batch,) in enumerate(loader):
    (model(batch) + model(batch)).sum().backward()
    if i % 2:
        optimizer.step()
"""


class LiveRun(NamedTuple):
    """A program that ran under the profiler: its exit code, its trace, what the user was told."""

    exit_code: int
    trace: Trace
    notes: list[str]


def capture_program(command: list[str], settings: Settings) -> LiveRun:
    trace, done = run_program("torch", command, settings=settings)
    return LiveRun(done.exit_code, trace, [*done.remarks, *filter(None, [done.cost])])


MOST_CAPTURES = 5


def check_a_capture(capture: Callable[[], LiveRun], check: Callable[[LiveRun], None]) -> None:
    """Check captures until one passes.

    While other programs have the processors, time is truly of no op.
    """
    for _ in range(MOST_CAPTURES - 1):
        with contextlib.suppress(AssertionError):
            check(capture())
            return
    check(capture())


def run(folder: Path, code: str, *words: str, is_fork: bool = True, **options: Any) -> LiveRun:
    """Capture a script, as a fork where it compiles nothing; the options are those of Settings."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    command = [sys.executable, str(script), *words]
    with pytest.MonkeyPatch.context() as patch:
        if is_fork and CAN_FORK and NEVER_COMPILED in code:
            patch.setattr("tracelens.running.program.start", start_fork)
        return capture_program(command, Settings("", **options))


def steps(run: LiveRun) -> list[str]:
    """The profiler's marks of steps, in order."""
    spans = run.trace.spans.filter(pl.col("name").str.starts_with("ProfilerStep#")).sort("start_ns")
    return spans["name"].to_list()


def manifest_settings(run: LiveRun) -> dict[str, Any]:
    settings = run.trace.manifest.sources[0]["settings"]
    assert isinstance(settings, dict)
    return settings


def test_a_training_script_gives_steps_and_exact_layers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = (
        LIGHT_TRAIN
        + """
for _ in range(9):
    step()
own = lambda m: sum(p.numel() for p in m.parameters(recurse=False))
print(json.dumps({n or type(m).__name__: [type(m).__name__, own(m)] for n, m in model.named_modules()}))
"""
    )
    done = run(tmp_path, code, is_fork=False)
    assert done.exit_code == 0
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
    # What the script itself says of its modules.
    named = json.loads(capfd.readouterr().out)
    layers = done.trace.layers.filter(pl.col("module_path") != "CrossEntropyLoss")
    assert {
        path: [kind, n]
        for path, kind, n in layers.select("module_path", "class_name", "n_parameters").rows()
    } == named
    assert layers["module_path"].to_list()[:4] == ["Net", "stem", "layer1", "layer1.0"]
    conv = json.loads(layers.filter(pl.col("module_path") == "layer1.1.conv")["hyperparameters"][0])
    assert conv["kernel_size"] == [3, 3]
    assert conv["bias"] is False
    ops = done.trace.spans.filter(pl.col("name") == "aten::conv2d")
    assert ops.group_by("module_path").len().sort("module_path").rows() == [
        ("layer1.0.conv", 3),
        ("layer1.1.conv", 3),
        ("stem", 3),
    ]
    backward = done.trace.spans.filter(pl.col("name") == "aten::convolution_backward")
    assert (
        sorted(backward["module_path"].to_list())
        == ["layer1.0.conv"] * 3 + ["layer1.1.conv"] * 3 + ["stem"] * 3
    )
    assert ops["input_shapes"].null_count() == 0
    assert done.trace.spans.filter(pl.col("kind") == "python").height > 100
    assert "recorded steps 3 to 5 of 9, found from the optimizer" in done.notes
    settings = manifest_settings(done)
    # On a busy machine the three steps without the profiler may have taken longer than those with
    # it.
    times = settings["profiled_step_ns"]["mean"], settings["unprofiled_step_ns"]["median"]
    is_slower = times[0] > 1.05 * times[1]
    warned = "do not read end-to-end time from this trace" in done.notes[-1]
    assert warned == is_slower, done.notes
    assert (settings["step_source"], settings["n_active"], settings["wait"]) == ("optimizer", 3, 2)
    assert f"BLAS_INFO={settings['blas']}" in importlib.import_module("torch").__config__.show()
    # Steps 7 and 8, which follow each other, and not 6, right after the recording; step 1 is alone.
    # On a busy machine one of the two may take too long to count.
    assert settings["unprofiled_step_ns"]["n"] in (1, 2)
    assert settings["profiled_step_ns"]["n"] == 3
    assert (
        "GPU utilisation was not sampled" in done.trace.manifest.empty_tables["counters"]
        or done.trace.counters.height
    )


def test_options_are_the_profilers(tmp_path: Path) -> None:
    code = LIGHT_TRAIN + "for _ in range(3): step()"
    bare = run(
        tmp_path,
        code,
        wait=0,
        warmup=0,
        active=1,
        stacks=False,
        modules=False,
        shapes=False,
        memory=True,
    )
    assert steps(bare) == ["ProfilerStep#0"]
    assert not bare.trace.layers.height
    assert bare.trace.allocations.height
    assert bare.trace.spans["input_shapes"].null_count() == bare.trace.spans.height
    assert not bare.trace.spans.filter(pl.col("kind") == "python").height


def test_without_stacks_modules_are_marked_one_by_one(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        LIGHT_TRAIN + "for _ in range(5): step()\nassert 'sympy' not in sys.modules, 'compiler'",
        wait=1,
        warmup=1,
        active=2,
        stacks=False,
    )
    assert done.exit_code == 0
    calls = done.trace.spans.filter(pl.col("kind") == "module").group_by("module_path").len()
    paths = ["CrossEntropyLoss", "Net", "fc", "layer1", "stem"]
    paths += [
        f"layer1.{block}{part}" for block in (0, 1) for part in ("", ".act", ".conv", ".norm")
    ]
    assert dict(calls.rows()) == dict.fromkeys(paths, 2)
    assert not done.trace.spans.filter(pl.col("kind") == "python").height


@pytest.mark.parametrize(
    ("loop", "source", "recorded"),
    [
        pytest.param(
            "for _ in range(6): model(x)",
            "outermost module",
            [3, 4, 5],
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            "for _ in range(6): model(next(iter(loader))[0])",
            "data loader",
            [3, 4, 5],
            marks=pytest.mark.exhaustive,
        ),
        ("for (batch,) in loader: model(batch)", "data loader", [3, 4, 5]),
        pytest.param(
            "batch = next(iter(loader))[0]\nfor _ in range(9): model(batch)",
            "outermost module",
            [3, 4, 5],
            marks=pytest.mark.exhaustive,
        ),
        # Two calls a step and an optimizer that steps every second batch: the optimizer's word
        # counts.
        (EVERY_SECOND, "optimizer", [3, 4]),
    ],
)
def test_steps_are_found(tmp_path: Path, loop: str, source: str, recorded: list[int]) -> None:
    code = (
        LIGHT_MODEL
        + RANDOM_NUMBERS
        + """
x = torch.randn(2, 3, 8, 8)
data = torch.utils.data.TensorDataset(torch.randn(20, 3, 8, 8))
loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=int(sys.argv[1]))
"""
    )
    n_workers = 2 if loop.startswith("for (batch,)") else 0
    done = run(tmp_path, code + loop, str(n_workers), is_fork=not n_workers)
    assert manifest_settings(done)["step_source"] == source
    # The rest of the program, after its last step, may stand as one more.
    assert steps(done)[: len(recorded)] == [f"ProfilerStep#{n}" for n in recorded]
    assert f"recorded steps 3 to {recorded[-1]} of " in done.notes[0]
    assert done.trace.manifest.ranks == [0]
    # Every recorded step holds the model, with its layers.
    per_step = done.trace.spans.filter(pl.col("module_path") == "stem", pl.col("kind") == "module")[
        "step"
    ].to_list()
    assert sorted(set(per_step)) == recorded


@pytest.mark.exhaustive
def test_compiled_modules_are_left_as_they_are(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = (
        TRAIN
        + """
import warnings
warnings.simplefilter("error")
from torch._dynamo.utils import counters
model = torch.compile(model, backend="eager")
for _ in range(8): step()
print(counters["stats"]["unique_graphs"], dict(counters["graph_break"]))
"""
    )
    done = run(tmp_path, code)
    assert capfd.readouterr().out == "1 {}\n"
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]


@pytest.mark.exhaustive  # another program compiles a model, too
@pytest.mark.parametrize(
    "code",
    [
        'model.compile(backend="eager")\nfor _ in range(9): model(x)',
        # The model is known for what marks steps by then, and is called by what is compiled in one
        # graph.
        (
            "for _ in range(9): model(x)\ntorch.compile(lambda x: model(x) * 2, backend='eager',"
            " fullgraph=True)(x)"
        ),
    ],
    ids=["in place", "by a function"],
)
def test_what_looks_for_steps_is_in_no_compiled_graph(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], code: str
) -> None:
    begin = (
        "from torch._dynamo.utils import counters\ntorch.set_grad_enabled(False)\nx ="
        " torch.randn(2, 3, 8, 8)\n"
    )
    end = "\nprint(counters['stats']['unique_graphs'], dict(counters['graph_break']))"
    done = run(tmp_path, MODEL + begin + code + end)
    assert capfd.readouterr().out == "1 {}\n"
    assert "recorded steps 3 to 5 of 9, found from the outermost module" in done.notes


SCRIPTED = {
    # Each calls the model itself before: to trace it and to check the trace, or to warm up.
    "traced": "made = torch.jit.trace(model, x)",
    "scripted": "made = torch.jit.freeze(torch.jit.script(model))\nmodel(x)\nmodel(x)",
}


@pytest.mark.parametrize(
    "level", [pytest.param("traced", marks=pytest.mark.exhaustive), "scripted"]
)
def test_steps_of_torchscript_are_calls_of_what_was_made(tmp_path: Path, level: str) -> None:
    code = (
        "import warnings\nwarnings.filterwarnings('ignore', message=r'`torch.jit')\n"
        + LIGHT_MODEL
        + f"""
model.eval()
x = torch.randn(2, 3, 8, 8)
with torch.no_grad():
    {SCRIPTED[level].replace(chr(10), chr(10) + "    ")}
    for _ in range(9):
        made(x)
"""
    )
    done = run(tmp_path, code, wait=3, stacks=level == "scripted")
    assert done.exit_code == 0
    # The scripted level's ten: the model's first call, its second with the first of what was made,
    # eight more of that.
    n_steps = 10 if level == "scripted" else 9
    assert f"recorded steps 4 to 6 of {n_steps}, found from the outermost module" in done.notes
    assert not [note for note in done.notes if "failed" in note]
    calls = done.trace.spans.filter(pl.col("kind") == "module")
    assert calls["module_path"].to_list().count("Net") == 3


def test_a_program_without_steps_keeps_its_beginning_and_says_so(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        f"{NEVER_COMPILED}import torch\na = torch.ones(8, 8)\nfor _ in range(3): a = a @ a\n",
        is_fork=False,
    )
    assert done.trace.spans.filter(pl.col("name") == "aten::mm").height == 3
    (row,) = done.trace.diagnostics.filter(pl.col("code") == "opening_only").to_dicts()
    assert row["severity"] == "warning"
    early = run(tmp_path, LIGHT_TRAIN + "step(); step()")
    assert (
        early.trace.spans.filter(pl.col("name") == "aten::conv2d").height == 3
    )  # those of the first step
    assert "opening_only" in early.trace.diagnostics["code"].to_list()


def test_a_window_without_an_end_lasts_to_the_programs_end(tmp_path: Path) -> None:
    """It begins soon after torch is imported, so that the first step may be missing."""
    code = f"{LIGHT_TRAIN}import time\nfor _ in range(4): step(); time.sleep(0.2)\n"
    end = "with torch.profiler.record_function('last'): pass"
    done = run(tmp_path, code + end, window_s=(0.0, None))
    calls = done.trace.spans.filter(pl.col("kind") == "module")
    assert {"stem", "layer1.0.conv", "fc"} <= set(calls["module_path"])
    assert calls["start_ns"].n_unique() > 1
    assert done.trace.spans.filter(pl.col("name") == "last").height == 1


@pytest.mark.slow
def test_recording_does_not_warn_of_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch 2.6 to 2.11 warn at the first cycle already, later ones at the second."""
    from torch.profiler import ProfilerActivity  # noqa: PLC0415 - needs torch

    from tracelens.collectors.torch.live.window import QuietProfile  # noqa: PLC0415 - as above

    monkeypatch.setattr("torch.profiler.profiler._WARNINGS_SHOWN", set(), raising=False)
    profiler = QuietProfile(activities=[ProfilerActivity.CPU])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            profiler.start()
            profiler.stop()
    made: Any = profiler.profiler
    assert not made.acc_events
