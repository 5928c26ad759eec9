"""`collect torch -- COMMAND`: real scripts under the real profiler, on the CPU."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tracelens.collectors.torch.live.settings import Settings
from tracelens.errors import ToolError
from tracelens.live import LiveRun, capture_program

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed")

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
TRAIN = (
    MODEL
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_of = nn.CrossEntropyLoss()
x, y = torch.randn(2, 3, 8, 8), torch.tensor([0, 1])

def step():
    optimizer.zero_grad()
    loss_of(model(x), y).backward()
    optimizer.step()
"""
)
EVERY_SECOND = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (batch,) in enumerate(loader):
    (model(batch) + model(batch)).sum().backward()
    if i % 2:
        optimizer.step()
"""


def run(folder: Path, code: str, *words: str, **options: Any) -> LiveRun:
    """Capture a script; the options are those of Settings."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    return capture_program([sys.executable, str(script), *words], Settings("", **options))


def steps(run: LiveRun) -> list[str]:
    """The profiler's marks of steps, in order."""
    spans = run.trace.spans.filter(pl.col("name").str.starts_with("ProfilerStep#")).sort("start_ns")
    return spans["name"].to_list()


def manifest_settings(run: LiveRun) -> dict[str, Any]:
    settings = run.trace.manifest.sources[0]["settings"]
    assert isinstance(settings, dict)
    return settings


def test_a_training_script_gives_its_active_steps_and_exact_layers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = (
        TRAIN
        + """
for _ in range(9):
    step()
own = lambda m: sum(p.numel() for p in m.parameters(recurse=False))
print(json.dumps({n or type(m).__name__: [type(m).__name__, own(m)] for n, m in model.named_modules()}))
"""
    )
    done = run(tmp_path, code)
    assert done.outcome.exit_code == 0
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]
    # What the script itself says of its modules.
    named = json.loads(capfd.readouterr().out)
    layers = done.trace.layers.filter(pl.col("module_path") != "CrossEntropyLoss")
    assert {
        path: [kind, n] for path, kind, n in layers.select("module_path", "class_name", "n_parameters").rows()
    } == named
    assert layers["module_path"].to_list()[:4] == ["Net", "stem", "layer1", "layer1.0"]
    conv = json.loads(layers.filter(pl.col("module_path") == "layer1.1.conv")["hyperparameters"][0])
    assert conv["kernel_size"] == [3, 3]
    assert conv["bias"] is False
    ops = done.trace.spans.filter(pl.col("name") == "aten::conv2d")
    assert ops.group_by("module_path").len().sort("module_path").rows() == [
        ("layer1.0.conv", 3), ("layer1.1.conv", 3), ("stem", 3),
    ]  # fmt: skip
    backward = done.trace.spans.filter(pl.col("name") == "aten::convolution_backward")
    assert sorted(backward["module_path"].to_list()) == ["layer1.0.conv"] * 3 + ["layer1.1.conv"] * 3 + ["stem"] * 3
    assert ops["input_shapes"].null_count() == 0
    assert done.trace.spans.filter(pl.col("kind") == "python").height > 100
    assert "recorded steps 3 to 5 of 9, found from the optimizer" in done.notes
    assert "do not read end-to-end time from this trace" in done.notes[-1]
    settings = manifest_settings(done)
    assert (settings["step_source"], settings["n_active"], settings["wait"]) == ("optimizer", 3, 2)
    assert settings["profiled_step_median_ns"] > 0
    assert settings["step_median_ns"] > 0
    assert (
        "GPU utilisation was not sampled" in done.trace.manifest.empty_tables["counters"] or done.trace.counters.height
    )


def test_options_are_the_profilers(tmp_path: Path) -> None:
    code = TRAIN + "for _ in range(3): step()"
    bare = run(tmp_path, code, wait=0, warmup=0, active=1, stacks=False, modules=False, shapes=False, memory=True)
    assert steps(bare) == ["ProfilerStep#0"]
    assert not bare.trace.layers.height
    assert bare.trace.allocations.height
    assert bare.trace.spans["input_shapes"].null_count() == bare.trace.spans.height
    assert not bare.trace.spans.filter(pl.col("kind") == "python").height


def test_without_stacks_modules_are_marked_one_by_one(tmp_path: Path) -> None:
    done = run(tmp_path, TRAIN + "for _ in range(5): step()", wait=1, warmup=0, active=2, stacks=False)
    calls = done.trace.spans.filter(pl.col("kind") == "module").group_by("module_path").len()
    paths = ["CrossEntropyLoss", "Net", "fc", "layer1", "stem"]
    paths += [f"layer1.{block}{part}" for block in (0, 1) for part in ("", ".act", ".conv", ".norm")]
    assert dict(calls.rows()) == dict.fromkeys(paths, 2)
    assert not done.trace.spans.filter(pl.col("kind") == "python").height


@pytest.mark.parametrize(
    ("loop", "source", "recorded"),
    [
        ("for _ in range(6): model(x)", "outermost module", [3, 4, 5]),
        ("for _ in range(6): model(next(iter(loader))[0])", "data loader", [3, 4, 5]),
        ("for (batch,) in loader: model(batch)", "data loader", [3, 4, 5]),
        ("batch = next(iter(loader))[0]\nfor _ in range(9): model(batch)", "outermost module", [3, 4, 5]),
        # Two calls a step and an optimizer that steps every second batch: the optimizer's word counts.
        (EVERY_SECOND, "optimizer", [3, 4]),
    ],
)  # fmt: skip
def test_steps_are_found(tmp_path: Path, loop: str, source: str, recorded: list[int]) -> None:
    code = (
        MODEL
        + """
x = torch.randn(2, 3, 8, 8)
data = torch.utils.data.TensorDataset(torch.randn(20, 3, 8, 8))
loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=int(sys.argv[1]))
"""
    )
    workers = "2" if loop.startswith("for (batch,)") else "0"
    done = run(tmp_path, code + loop, workers)
    assert manifest_settings(done)["step_source"] == source
    # The rest of the program, after its last step, may stand as one more.
    assert steps(done)[: len(recorded)] == [f"ProfilerStep#{n}" for n in recorded]
    assert f"recorded steps 3 to {recorded[-1]} of " in done.notes[0]
    assert done.trace.manifest.ranks == [0]
    # Every recorded step holds the model, with its layers.
    per_step = done.trace.spans.filter(pl.col("module_path") == "stem", pl.col("kind") == "module")["step"].to_list()
    assert sorted(set(per_step)) == recorded


def test_compiled_modules_are_left_as_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = (
        TRAIN
        + """
import warnings
warnings.simplefilter("error")
from torch._dynamo.utils import counters
model = torch.compile(model, backend="aot_eager")
for _ in range(8): step()
print(counters["stats"]["unique_graphs"], dict(counters["graph_break"]))
"""
    )
    plain = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    done = run(tmp_path, code)
    assert capfd.readouterr().out == plain.stdout == "1 {}\n"
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]


@pytest.mark.parametrize(
    "code",
    [
        'model.compile(backend="eager")\nfor _ in range(9): model(x)',
        # The model is known for what marks steps by then, and is called by what is compiled in one graph.
        "for _ in range(9): model(x)\ntorch.compile(lambda x: model(x) * 2, backend='eager', fullgraph=True)(x)",
    ],
    ids=["in place", "by a function"],
)
def test_what_looks_for_steps_is_in_no_compiled_graph(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], code: str
) -> None:
    begin = "from torch._dynamo.utils import counters\ntorch.set_grad_enabled(False)\nx = torch.randn(2, 3, 8, 8)\n"
    end = "\nprint(counters['stats']['unique_graphs'], dict(counters['graph_break']))"
    done = run(tmp_path, MODEL + begin + code + end)
    assert capfd.readouterr().out == "1 {}\n"
    assert "recorded steps 3 to 5 of 9, found from the outermost module" in done.notes


SCRIPTED = {
    # Each calls the model itself before: to trace it and to check the trace, or to warm up.
    "traced": "made = torch.jit.trace(model, x)",
    "scripted": "made = torch.jit.freeze(torch.jit.script(model))\nmodel(x)\nmodel(x)",
}


@pytest.mark.parametrize("level", SCRIPTED)
def test_steps_of_torchscript_are_calls_of_what_was_made(tmp_path: Path, level: str) -> None:
    code = (
        "import warnings\nwarnings.filterwarnings('ignore', message=r'`torch.jit')\n"
        + MODEL
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
    assert done.outcome.exit_code == 0
    # The scripted level's ten: the model's first call, its second with the first of what was made, eight more of that.
    n_steps = 10 if level == "scripted" else 9
    assert f"recorded steps 4 to 6 of {n_steps}, found from the outermost module" in done.notes
    assert not [note for note in done.notes if "failed" in note]
    calls = done.trace.spans.filter(pl.col("kind") == "module")
    assert calls["module_path"].to_list().count("Net") == 3


def test_a_program_without_steps_keeps_its_beginning_and_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, "import torch\na = torch.ones(8, 8)\nfor _ in range(3): a = a @ a\n")
    assert done.trace.spans.filter(pl.col("name") == "aten::mm").height == 3
    (row,) = done.trace.diagnostics.filter(pl.col("code") == "opening_only").to_dicts()
    assert row["severity"] == "warning"
    early = run(tmp_path, TRAIN + "step(); step()")
    assert early.trace.spans.filter(pl.col("name") == "aten::conv2d").height == 3  # those of the first step
    assert "opening_only" in early.trace.diagnostics["code"].to_list()


def test_a_window_of_time(tmp_path: Path) -> None:
    code = TRAIN + "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: step()"
    done = run(tmp_path, code, window_s=(0.0, None))
    calls = done.trace.spans.filter(pl.col("kind") == "module")
    assert {"stem", "layer1.0.conv", "fc"} <= set(calls["module_path"])
    assert calls["start_ns"].max() - calls["start_ns"].min() > 1_000_000_000  # type: ignore[operator]
    part = run(tmp_path, code, window_s=(0.5, 0.5))
    spans = part.trace.spans.filter(pl.col("name") == "aten::conv2d")
    assert 0 < spans["start_ns"].max() - spans["start_ns"].min() < 1_500_000_000  # type: ignore[operator]


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("raise RuntimeError('of the script')", 1, "RuntimeError: of the script"),
        ("sys.exit(7)", 7, ""),
        ("os.kill(os.getpid(), signal.SIGINT)", 130, "KeyboardInterrupt"),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143, ""),
    ],
)
def test_the_scripts_end_passes_through_and_what_was_captured_is_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], end: str, code: int, said: str
) -> None:
    done = run(tmp_path, TRAIN + f"for i in range(9):\n    step()\n    if i == 4: {end}")
    assert done.outcome.exit_code == code
    assert said in capfd.readouterr().err
    assert steps(done)[:2] == ["ProfilerStep#3", "ProfilerStep#4"], done.notes
    assert "the program ended before all 3 steps asked for; the last one may be cut" in done.notes
    assert done.trace.spans.filter(pl.col("name") == "aten::conv2d").height == 6


def test_a_killed_program_keeps_its_steps_and_what_was_compiled(tmp_path: Path) -> None:
    # Two products, which need no compiler of C++.
    compiled = "torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)))(torch.randn(2, 4))"
    code = TRAIN + f"{compiled}\nfor _ in range(8): step()\nos.kill(os.getpid(), signal.SIGKILL)"
    done = run(tmp_path, code, recorders=["compile_provenance"], stacks=False)
    assert done.outcome.exit_code == 137
    assert "recorded steps 3 to 5 of at least 6, found from the optimizer" in done.notes
    assert manifest_settings(done)["n_active"] == 3
    assert set(done.trace.provenance["module_path"]) == {"0", "1"}
    assert "killed_later" in done.trace.diagnostics["code"].to_list()


# Only what decides which processes record: how the real ones start the script, and that they use torch themselves.
LAUNCH = """#!{python}
import os, subprocess, sys, torch
torch.ones(3).sum()
script = next(word for word in sys.argv[1:] if word.endswith(".py"))
words = [sys.executable, "-u", script]
processes = [subprocess.Popen(words, env={{**os.environ, "RANK": str(rank)}}) for rank in range(2)]
sys.exit(max(process.wait() for process in processes))
"""


def test_what_another_launcher_starts_are_ranks_and_it_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = tmp_path / "bin" / "accelerate"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCH.format(python=sys.executable))
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{launcher.parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "train.py").write_text(TRAIN + "for _ in range(3): step()\nsys.exit(3)")
    settings = Settings("", wait=0, warmup=0, active=1, stacks=False)
    done = capture_program(["accelerate", "launch", str(tmp_path / "train.py")], settings)
    assert done.outcome.exit_code == 3
    assert done.trace.manifest.ranks == [0, 1]
    assert steps(done) == ["ProfilerStep#0", "ProfilerStep#0"]
    assert done.trace.spans.filter(pl.col("name") == "aten::ones")["rank"].to_list() == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["true"], "started no Python that tracelens could enter"),
        ([sys.executable, "-I", "-c", "import torch"], "-I, -E, -S"),
        ([sys.executable, "-c", "print()"], "never imported torch"),
        ([sys.executable, "-c", "import torch, os; os._exit(5)"], r"os\._exit.*exit code 5"),
        ([sys.executable, "-c", "import torch.profiler as p\nwith p.profile(): pass"], "runs torch.profiler itself"),
    ],
)
def test_where_nothing_was_captured_the_reason_is_named(command: list[str], why: str) -> None:
    with pytest.raises(ToolError, match=f"nothing was captured: .*{why}"):
        capture_program(command, Settings(""))


def test_the_command_line_exits_with_the_programs_code(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN + "for _ in range(4): step()\nprint('result', flush=True)\nsys.exit(9)")
    command = [sys.executable, "-m", "tracelens", "collect", "torch", "--wait", "1", "--warmup", "0", "--active", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "--keep", "files", "--", sys.executable, "train.py"], cwd=tmp_path, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (9, "result\n")
    assert "wrote train.tracelens: " in done.stderr
    assert "recorded steps 1 to 2 of 4, found from the optimizer" in done.stderr
    assert (tmp_path / "train.tracelens" / "manifest.json").is_file()
    # The kept files read again to the same layers, as files.
    (kept,) = (tmp_path / "files").glob("*.pt.trace.json")
    again = subprocess.run(
        [*command[:5], str(kept), "--out", "again.tracelens"], cwd=tmp_path, env=environment, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert "wrote again.tracelens" in again.stderr
    parts = [
        tmp_path / name / "layers" / "rank=0" / "part-0.parquet" for name in ("train.tracelens", "again.tracelens")
    ]
    assert pl.read_parquet(parts[0]).equals(pl.read_parquet(parts[1]))
    for words, said in (
        ([str(kept), "--active", "2"], "--active belongs to a capture of a COMMAND"),
        (["--window", "0:1", "--wait", "2", "--", "true"], "--wait belongs to a capture of steps, not of a --window"),
    ):
        refused = subprocess.run(
            [*command[:5], *words], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
        )  # fmt: skip
        assert refused.returncode == 2
        assert said in refused.stderr


def test_of_two_processes_of_a_rank_one_is_kept_with_its_own_sidecar(tmp_path: Path) -> None:
    code = """
import sys, torch
from torch import nn
model = torch.compile(nn.Sequential(nn.Linear(4, int(sys.argv[1])), nn.Linear(int(sys.argv[1]), 2)))
with torch.no_grad():
    for _ in range(int(sys.argv[2])): model(torch.randn(2, 4))
"""
    (tmp_path / "script.py").write_text(code)
    each = f"{sys.executable} {tmp_path / 'script.py'}"
    settings = Settings("", recorders=["compile_provenance"], stacks=False)
    done = capture_program(["sh", "-c", f"{each} 3 5; {each} 5 9"], settings)
    assert "other_process" in done.trace.diagnostics["code"].to_list()
    assert done.trace.provenance["graph_key"].n_unique() == 1
    # Four bytes a number, two rows: of the second process the first layer puts out five columns.
    assert sorted(done.trace.provenance["output_bytes"]) == [2 * 2 * 4, 2 * 5 * 4]


def test_modules_console_scripts_and_another_sitecustomize(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "work.py").write_text(TRAIN + "for _ in range(2): step()")
    (package / "sitecustomize.py").write_text("print('custom', flush=True)")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{package}")
    settings = Settings("", wait=0, warmup=0, active=1)
    by_name = capture_program([sys.executable, "-m", "pkg.work"], settings)
    assert steps(by_name) == ["ProfilerStep#0"], by_name.notes
    assert capfd.readouterr().out == "custom\n"
    script = tmp_path / "work"
    script.write_text(f"#!{sys.executable}\n" + TRAIN + "for _ in range(2): step()")
    script.chmod(0o755)
    assert steps(capture_program([str(script)], settings)) == ["ProfilerStep#0"]
    shell = ["sh", "-c", f"echo before; {sys.executable} -m pkg.work; exit 4"]
    inside = capture_program(shell, settings)
    assert (inside.outcome.exit_code, steps(inside)) == (4, ["ProfilerStep#0"])


def test_each_process_of_a_launch_is_a_rank(tmp_path: Path) -> None:
    code = (
        TRAIN
        + """
import torch.distributed as dist
dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4): step()
dist.destroy_process_group()
"""
    )
    (tmp_path / "ddp.py").write_text(code)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = capture_program([*launch, str(tmp_path / "ddp.py")], Settings("", wait=1, warmup=0, active=2))
    assert done.outcome.exit_code == 0
    assert done.trace.manifest.ranks == [0, 1]
    for rank in (0, 1):
        spans = done.trace.spans.filter(pl.col("rank") == rank)
        assert spans.filter(pl.col("name").str.starts_with("ProfilerStep#"))["name"].sort().to_list() == [
            "ProfilerStep#1", "ProfilerStep#2",
        ]  # fmt: skip
        layers = done.trace.layers.filter(pl.col("rank") == rank)["module_path"].to_list()
        assert {"stem", "layer1.1.conv", "fc"} <= set(layers)
    assert done.trace.spans.group_by("rank").agg(pl.col("process_id").n_unique())["process_id"].to_list() == [1, 1]


SPAWNS = """
import os, torch, torch.distributed as dist, torch.multiprocessing as mp

def work(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(2, 4)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, (os.path.dirname(os.path.abspath(__file__)),), nprocs=2)
"""


def test_processes_that_the_program_spawns_are_ranks(tmp_path: Path) -> None:
    done = run(tmp_path, SPAWNS, wait=1, warmup=0, active=1, stacks=False)
    assert done.outcome.exit_code == 0
    assert done.trace.manifest.ranks == [0, 1]
    marks = done.trace.spans.filter(pl.col("name").str.starts_with("ProfilerStep#"))
    assert sorted(marks.select("rank", "name").rows()) == [(0, "ProfilerStep#1"), (1, "ProfilerStep#1")]


def test_signals_reach_the_program_and_its_capture_is_written(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(TRAIN + "step()\nprint('ready', flush=True)\nwhile True: step()")
    command = [sys.executable, "-m", "tracelens", "collect", "torch", "--wait", "0", "--active", "100000"]
    process = subprocess.Popen(
        [*command, "--no-stacks", "--", sys.executable, "long.py"], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert "wrote long.tracelens" in said
    assert "KeyboardInterrupt" in said
