"""How a program under `collect torch` ends, and which of its processes record, on the CPU."""

import importlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from tests.command_line import command_line
from tests.never_compiled import NEVER_COMPILED
from tests.test_live_torch import (
    LIGHT_TRAIN,
    ROOT,
    TRAIN,
    LiveRun,
    capture_program,
    manifest_settings,
    run,
    steps,
)
from tracelens.collectors.torch.live.settings import Settings
from tracelens.errors import ToolError

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("raise RuntimeError('of the script')", 1, "RuntimeError: of the script"),
        # The command line's test has a program that exits with a code.
        pytest.param("sys.exit(7)", 7, "", marks=pytest.mark.exhaustive),
        pytest.param(
            "os.kill(os.getpid(), signal.SIGINT)",
            130,
            "KeyboardInterrupt",
            marks=pytest.mark.exhaustive,
        ),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143, ""),
    ],
)
def test_the_scripts_end_passes_through(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], end: str, code: int, said: str
) -> None:
    script = LIGHT_TRAIN + f"for i in range(9):\n    step()\n    if i == 4: {end}"
    done = run(tmp_path, script, is_fork="SIGTERM" not in end)
    assert done.exit_code == code
    assert said in capfd.readouterr().err
    assert steps(done)[:2] == ["ProfilerStep#3", "ProfilerStep#4"], done.notes
    assert "the program ended before all 3 steps asked for; the last one may be cut" in done.notes
    assert done.trace.spans.filter(pl.col("name") == "aten::conv2d").height == 6


FORGETFUL = """
stop = torch.profiler.profile.stop
def forgetful(self):
    exec("pass")
    stop(self)
torch.profiler.profile.stop = forgetful
for _ in range(5): step()
os.kill(os.getpid(), signal.SIGINT)
"""


def test_an_interrupted_program_ends_so_whatever_runs_at_its_end(tmp_path: Path) -> None:
    """Code from text that runs at exit, such as a dataclass's, had Python forget the interrupt.

    Torch 2.11's profiler runs such code.
    """
    assert run(tmp_path, LIGHT_TRAIN + FORGETFUL).exit_code == 130


INTERRUPTED = """
prepare = torch.profiler.profile.prepare_trace
def interrupted(self):
    os.kill(os.getpid(), signal.SIGINT)
    prepare(self)
torch.profiler.profile.prepare_trace = interrupted
for _ in range(9): step()
"""


def test_an_interrupt_while_the_profiler_starts_waits_for_it(tmp_path: Path) -> None:
    """A profiler was left that nobody could stop.

    `Profiler must be initialized before ending a trace`, it said.
    """
    done = run(tmp_path, LIGHT_TRAIN + INTERRUPTED)
    assert done.exit_code == 130
    assert not [note for note in done.notes if "the profiler failed" in note]


def test_an_event_whose_name_is_no_text_hides_no_module(tmp_path: Path) -> None:
    """After an error of a device, events have such names (torch 2.11).

    The events after the first one were not looked at.
    """
    modules = importlib.import_module("tracelens.collectors.torch.live.modules")

    class Event(SimpleNamespace):
        @property
        def name(self) -> str:
            return str(self.text, "utf-8")

    module = SimpleNamespace(module=SimpleNamespace(self_ptr=7))
    inner = Event(
        text=b"nn.Module: Linear_0",
        tag=modules._EventType.PyCall,
        typed=(None, module),
        children=[],
    )
    outer = Event(text=b"\xff", tag=modules._EventType.TorchOp, children=[inner])
    results = SimpleNamespace(experimental_event_tree=lambda: [outer])
    profiler = SimpleNamespace(profiler=SimpleNamespace(kineto_results=results))
    trace = tmp_path / "run.json"
    trace.write_bytes(b'{"name": "nn.Module: Linear_0"}, {"name": "nn.Module: \xff"}')
    assert list(modules.numbered_modules(profiler, trace)) == [("Linear_0", 7)]


def test_steps_of_another_thread(tmp_path: Path) -> None:
    """The ops before them were recorded in the main thread.

    Stopping that profiler twice crashed.
    """
    threaded = (
        "import threading\nt = threading.Thread(target=lambda: [step() for _ in"
        " range(8)])\nt.start()\nt.join()"
    )
    done = run(tmp_path, LIGHT_TRAIN + threaded, stacks=False)
    assert done.exit_code == 0
    assert steps(done) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]


# Two products, which need no compiler of C++.
COMPILED = "torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)))(torch.randn(2, 4))\n"


@pytest.mark.parametrize(
    ("begin", "recorders", "modules"),
    [
        (LIGHT_TRAIN, (), set()),
        # What was compiled is kept by the window that test_compile_provenance has.
        pytest.param(
            TRAIN + COMPILED, ("compile_provenance",), {"0", "1"}, marks=pytest.mark.exhaustive
        ),
    ],
    ids=["steps", "and what was compiled"],
)
def test_a_killed_program_keeps_what_was_recorded(
    tmp_path: Path, begin: str, recorders: tuple[str, ...], modules: set[str]
) -> None:
    code = begin + "for _ in range(8): step()\nos.kill(os.getpid(), signal.SIGKILL)"
    done = run(tmp_path, code, recorders=list(recorders), stacks=False)
    assert done.exit_code == 137
    assert "recorded steps 3 to 5 of at least 6, found from the optimizer" in done.notes
    assert manifest_settings(done)["n_active"] == 3
    assert set(done.trace.provenance["module_path"]) == modules
    assert "killed_later" in done.trace.diagnostics["code"].to_list()


# Only what decides which processes record: how the real ones start the script, and that they use
# torch themselves.
LAUNCH = f"""#!{sys.executable}
{NEVER_COMPILED}
import os, subprocess, torch
torch.ones(3).sum()
script = next(word for word in sys.argv[1:] if word.endswith(".py"))
words = [sys.executable, "-u", script]
sys.exit(subprocess.call(words, env=dict(os.environ, RANK="1")))
"""


def test_what_another_launcher_starts_are_ranks_and_it_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = tmp_path / "bin" / "accelerate"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCH)
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{launcher.parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "train.py").write_text(LIGHT_TRAIN + "for _ in range(3): step()\nsys.exit(3)")
    settings = Settings("", wait=0, warmup=0, active=1, stacks=False)
    done = capture_program(["accelerate", "launch", str(tmp_path / "train.py")], settings)
    assert done.exit_code == 3
    assert done.trace.manifest.ranks == [1]
    assert steps(done) == ["ProfilerStep#0"]
    assert done.trace.spans.filter(pl.col("name") == "aten::ones")["rank"].to_list() == []


PROFILED = "import torch\nmodel = torch.nn.Identity()\nmodel(1)\n"
FOREIGN = "runs torch.profiler itself"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (["true"], "started no Python that tracelens could enter"),
        ([sys.executable, "-I", "-c", "print()"], "-I, -E, -S"),
        ([sys.executable, "-c", "print()"], "had not imported torch.*ENV/bin/python"),
        ("import torch, os; os._exit(5)", r"os\._exit.*exit code 5"),
        ("import torch, sys; sys.exit(3)", "failed before its first step.*exit code 3"),
        # With stacks, torch looks for calls of modules.
        (f"{PROFILED}with torch.profiler.profile(with_stack=True): model(1)", FOREIGN),
        pytest.param(
            f"{PROFILED}with torch.autograd.profiler.profile(with_stack=True): model(1)",
            FOREIGN,
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_where_nothing_was_captured_the_reason_is_named(
    tmp_path: Path, program: list[str] | str, why: str
) -> None:
    def capture() -> LiveRun:
        if isinstance(program, str):
            return run(tmp_path, NEVER_COMPILED + program)
        return capture_program(program, Settings(""))

    with pytest.raises(ToolError, match=f"nothing was captured: .*{why}") as raised:
        capture()
    if code := re.search(r"exit code (\d)$", why):
        assert raised.value.program_exit_code == int(code[1])


def test_the_command_line_exits_with_the_programs_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(
        LIGHT_TRAIN + "for _ in range(5): step()\nprint('result', flush=True)\nsys.exit(9)"
    )
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        "--wait",
        "1",
        "--warmup",
        "1",
        "--active",
        "2",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "--keep", "files", "--", sys.executable, "train.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (9, "result\n")
    assert "wrote train.tracelens: " in done.stderr
    assert "recorded steps 2 to 3 of 5, found from the optimizer" in done.stderr
    assert (tmp_path / "train.tracelens" / "manifest.json").is_file()
    # The kept files read again to the same layers, as files.
    (kept,) = (tmp_path / "files").glob("*.pt.trace.json")
    monkeypatch.chdir(tmp_path)
    again = command_line(capsys, "collect", "torch", kept, "--out", "again.tracelens")
    assert again.code == 0
    assert "wrote again.tracelens" in again.err
    parts = [
        tmp_path / name / "layers" / "rank=0" / "part-0.parquet"
        for name in ("train.tracelens", "again.tracelens")
    ]
    assert pl.read_parquet(parts[0]).equals(pl.read_parquet(parts[1]))
    for words, said in (
        ([str(kept), "--active", "2"], "--active belongs to a capture of a COMMAND"),
        (
            ["--window", "0:1", "--wait", "2", "--", "true"],
            "--wait belongs to a capture of steps, not of a --window",
        ),
    ):
        refused = command_line(capsys, "collect", "torch", *words)
        assert refused.code == 2
        assert said in refused.err


def test_modules_console_scripts_and_another_sitecustomize(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "work.py").write_text(LIGHT_TRAIN + "for _ in range(2): step()")
    (package / "sitecustomize.py").write_text("print('custom', flush=True)")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{package}")
    settings = Settings("", wait=0, warmup=0, active=1)
    script = tmp_path / "work"
    script.write_text(f"#!{sys.executable}\n" + LIGHT_TRAIN + "for _ in range(2): step()")
    script.chmod(0o755)
    assert steps(capture_program([str(script)], settings)) == ["ProfilerStep#0"]
    capfd.readouterr()
    shell = ["sh", "-c", f"echo before; {sys.executable} -m pkg.work; exit 4"]
    inside = capture_program(shell, settings)
    assert (inside.exit_code, steps(inside)) == (4, ["ProfilerStep#0"]), inside.notes
    assert capfd.readouterr().out == "before\ncustom\n"


def test_each_process_of_a_launch_is_a_rank(tmp_path: Path) -> None:
    # Without torch._dynamo, torch's data parallelism crashes where the program ends.
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
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
    ]
    done = capture_program(
        [*launch, str(tmp_path / "ddp.py")], Settings("", wait=1, warmup=0, active=2)
    )
    assert done.exit_code == 0
    assert done.trace.manifest.ranks == [0, 1]
    for rank in (0, 1):
        spans = done.trace.spans.filter(pl.col("rank") == rank)
        assert spans.filter(pl.col("name").str.starts_with("ProfilerStep#"))[
            "name"
        ].sort().to_list() == [
            "ProfilerStep#1",
            "ProfilerStep#2",
        ]
        layers = done.trace.layers.filter(pl.col("rank") == rank)["module_path"].to_list()
        assert {"stem", "layer1.1.conv", "fc"} <= set(layers)
    assert done.trace.spans.group_by("rank").agg(pl.col("process_id").n_unique())[
        "process_id"
    ].to_list() == [1, 1]


SPAWNS = f"""{NEVER_COMPILED}
import os, torch, torch.distributed as dist, torch.multiprocessing as mp

def work(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{{folder}}/meeting", rank=rank, world_size=2)
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


@pytest.mark.exhaustive  # those of a launcher are ranks in the same way
def test_processes_that_the_program_spawns_are_ranks(tmp_path: Path) -> None:
    done = run(tmp_path, SPAWNS, wait=1, warmup=0, active=1, stacks=False)
    assert done.exit_code == 0
    assert done.trace.manifest.ranks == [0, 1]
    marks = done.trace.spans.filter(pl.col("name").str.starts_with("ProfilerStep#"))
    assert sorted(marks.select("rank", "name").rows()) == [
        (0, "ProfilerStep#1"),
        (1, "ProfilerStep#1"),
    ]


def test_signals_reach_the_program_and_its_capture_is_written(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(
        LIGHT_TRAIN + "step()\nprint('ready', flush=True)\nwhile True: step()"
    )
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        "--wait",
        "0",
        "--active",
        "100000",
    ]
    process = subprocess.Popen(
        [*command, "--no-stacks", "--", sys.executable, "long.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert "wrote long.tracelens" in said
    assert "KeyboardInterrupt" in said
