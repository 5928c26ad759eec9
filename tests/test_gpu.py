"""Live capture on a real GPU: `python -m pytest -m gpu`. Elsewhere it is skipped.

Results of such runs lie in samples/.
"""

import functools
import importlib.util
import os
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import polars as pl
import pytest

import tracelens as tl
from tracelens.analyses import layer_attribution
from tracelens.analyses.layer_attribution import notes
from tracelens.running.nvml import Sampler


@functools.cache
def n_gpus() -> int:
    """Ask in a separate process, so that no test runs in one that has used CUDA."""
    if importlib.util.find_spec("torch") is None or not (
        find_library("cuda") or find_library("nvcuda")
    ):
        return 0  # without the driver's library, importing torch would take two seconds to say so
    asked = "import torch; print(torch.cuda.device_count())"
    return int(
        subprocess.run([sys.executable, "-c", asked], capture_output=True, check=False).stdout or 0
    )


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not n_gpus(), reason="needs an NVIDIA GPU and a torch with CUDA"),
]
ROOT = Path(__file__).resolve().parents[1]
SCRIPT = """
import sys
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.BatchNorm2d(64), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
).eval().cuda()
mode = sys.argv[1]
x = torch.randn(32, 3, 64, 64, device="cuda")
run = model if mode == "eager" else torch.compile(model, mode=None if mode == "default" else mode)
with torch.no_grad():
    for _ in range(10):
        run(x)
        torch.cuda.synchronize()
"""


def captured(folder: Path, mode: str, *options: str, **variables: str) -> tl.Trace:
    """The script's trace, taken by the command that a user types."""
    (folder / "script.py").write_text(SCRIPT)
    out = folder / f"{mode}.tracelens"
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        *options,
        "--out",
        str(out),
        "--",
    ]
    subprocess.run(
        [*command, sys.executable, "script.py", mode],
        cwd=folder,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), **variables},
    )
    return tl.open(out)


def named_ns(trace: tl.Trace, base: tl.Trace | None = None) -> tuple[int, int]:
    """Return nanoseconds of kernels with a named layer, and of all."""
    frame = layer_attribution(trace, base=base)
    named = frame.filter(~pl.col("layer").str.starts_with("("))
    return int(named["estimate_ns"].sum()), int(trace.kernels["duration_ns"].sum())


def test_kernels_waits_and_counters_of_a_program(tmp_path: Path) -> None:
    trace = captured(tmp_path, "eager", "--cuda-sync", "--memory")
    assert {"forward"} <= set(layer_attribution(trace)["phase"].drop_nulls())
    named, total = named_ns(trace)
    assert named == total > 0
    assert trace.synchronizations.height >= 3, "each of the three steps waits once"
    assert trace.allocations.height
    assert {"gpu_utilization", "gpu_memory_used"} <= set(trace.counters["name"])


# The host is done with a step long before the device, and says itself at the end how long twenty
# steps take.
AHEAD = """
import time, torch
from torch import nn
model = nn.Sequential(*[nn.Linear(4096, 4096, bias=False) for _ in range(16)]).cuda()
x = torch.randn(4096, 4096, device="cuda")
with torch.no_grad():
    for _ in range(20):
        model(x)
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for _ in range(20):
        model(x)
    torch.cuda.synchronize()
print((time.perf_counter_ns() - began) // 20)
"""


@pytest.mark.parametrize("options", [[], ["--window", "5:3"]], ids=["steps", "time"])
def test_a_host_that_runs_ahead_is_timed_by_the_device(tmp_path: Path, options: list[str]) -> None:
    again = "for _ in range(600):" if options else "for _ in range(20):"
    (tmp_path / "ahead.py").write_text(AHEAD.replace("for _ in range(20):", again, 1))
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        *options,
        "--out",
        "ahead.tracelens",
        "--",
    ]
    done = subprocess.run(
        [*command, sys.executable, "ahead.py"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    trace = tl.open(tmp_path / "ahead.tracelens")
    assert not trace.kernels.filter(link="pre_window").height
    settings = trace.manifest.sources[0]["settings"]
    assert settings["unprofiled_step_ns"]["median"] == pytest.approx(
        int(done.stdout.split()[-1]), rel=0.1
    )
    if not options:
        assert trace.kernels.filter(pl.col("name").str.contains("(?i)gemm")).height == 3 * 16


def test_sampling_takes_at_most_a_hundredth_of_a_core(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(
        "import time, torch\nx = torch.randn(4096, 4096, device='cuda')\nend = time.time() + 8\n"
        "while time.time() < end:\n    x @ x\n    torch.cuda.synchronize()\n"
    )
    with Sampler() as sampler:
        subprocess.run([sys.executable, "busy.py"], cwd=tmp_path, check=True)
    capture = sampler.capture()
    use = capture.tables["counters"].filter(name="gpu_utilization")["value"]
    assert use.max() > 50  # type: ignore[operator]
    assert capture.settings["cpu_frac"] < 0.01


def test_compiled_kernels_are_placed_by_provenance_and_by_a_log(tmp_path: Path) -> None:
    trace = captured(tmp_path, "default", "--compile-provenance", "--keep", str(tmp_path / "kept"))
    named, total = named_ns(trace)
    assert named == total > 0
    log = tmp_path / "log"
    captured(
        tmp_path,
        "default",
        "--force",
        "--keep",
        str(tmp_path / "bare"),
        TORCH_TRACE=str(log),
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "cache"),
    )
    files = list((tmp_path / "bare").glob("*.pt.trace.json"))
    named, total = named_ns(tl.collect([*files, log]))
    assert named > total / 2, "weaker evidence names most of it"


def test_replayed_graphs_are_placed_by_the_mode_without(tmp_path: Path) -> None:
    base = captured(tmp_path, "default", "--compile-provenance")
    replayed = captured(tmp_path, "reduce-overhead", "--compile-provenance")
    assert "graph" in set(replayed.kernels["link"])
    # What the program launches itself, such as the copy of the input to where the graph reads it,
    # is no layer's.
    in_graphs = replayed.kernels.filter(link="graph")["duration_ns"].sum()
    assert named_ns(replayed, base)[0] == in_graphs > 0


MODELS = ("vit", "vit_bf16", "resnet")
MAIN = (
    pl.col("primitive_conv_ns") + pl.col("primitive_gemm_ns") + pl.col("primitive_attention_ns") > 0
)


def run_replayed(folder: Path, *words: str) -> None:
    """Run a program of tests/gpu/replayed.py."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    subprocess.run([*words], cwd=folder, check=True, env=variables)


def of_replayed(folder: Path, model: str, batch: int, mode: str, *options: str) -> tl.Trace:
    """The trace of a model in a mode, taken by the command that a user types."""
    out = folder / f"{model}_{batch}_{mode}.tracelens"
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        *options,
        "--out",
        str(out),
        "--",
    ]
    run_replayed(
        folder,
        *command,
        sys.executable,
        str(ROOT / "tests/gpu/replayed.py"),
        model,
        str(batch),
        mode,
    )
    return tl.open(out)


def layers_of(frame: pl.DataFrame) -> set[str]:
    return set(frame.filter(~pl.col("layer").str.starts_with("("))["layer"])


@pytest.mark.parametrize("model", MODELS)
def test_replays_of_a_compiled_model_are_named(tmp_path: Path, model: str) -> None:
    pytest.importorskip("torchvision")
    eager = layer_attribution(of_replayed(tmp_path, model, 8, "eager"))
    replayed = of_replayed(tmp_path, model, 8, "reduce-overhead", "--compile-provenance")
    assert "graph" in set(replayed.kernels["link"])
    # torch copies the input to where the graph reads it, which is no layer's; that is a twentieth
    # of so small a model.
    in_graphs = int(replayed.kernels.filter(link="graph")["duration_ns"].sum())
    assert named_ns(replayed)[0] >= 0.95 * in_graphs
    frame = layer_attribution(replayed)
    assert layers_of(frame) <= layers_of(eager)
    assert layers_of(frame.filter(MAIN)) == layers_of(eager.filter(MAIN))
    # A capture of another batch size places nothing.
    other = of_replayed(tmp_path, model, 2, "default", "--compile-provenance")
    assert "base capture" not in set(layer_attribution(replayed, base=other)["evidence"])


@pytest.mark.parametrize("model", MODELS)
def test_replays_are_placed_by_the_capture_of_their_graph(tmp_path: Path, model: str) -> None:
    pytest.importorskip("torchvision")
    for batch in (2, 4):
        program = str(ROOT / "tests/gpu/replayed.py")
        run_replayed(tmp_path, sys.executable, program, model, str(batch), "graphs", str(tmp_path))
    traces = {
        (what, batch): tl.collect(tmp_path / f"{model}_{batch}_{what}.pt.trace.json.gz")
        for what in ("capture", "replay", "both", "eager")
        for batch in (2, 4)
    }
    for batch in (2, 4):
        # Two replays, and two calls without a graph.
        eager = layer_attribution(traces["eager", batch]).filter(pl.col("n_kernels") > 0)
        for what, base in (("replay", traces["capture", batch]), ("both", None)):
            replayed = traces[what, batch]
            named, total = named_ns(replayed, base)
            assert named >= 0.95 * total
            frame = layer_attribution(replayed, base=base).filter(
                pl.col("evidence") == "graph capture"
            )
            columns = ["layer", "phase", "n_kernels"]
            assert set(frame.select(columns).rows()) == set(
                eager.filter(~pl.col("layer").str.starts_with("(")).select(columns).rows()
            )
        refused = traces["capture", 6 - batch]
        frame = layer_attribution(traces["replay", batch], base=refused)
        assert named_ns(traces["replay", batch], refused)[0] == 0
        assert "captured is not the one replayed" in " ".join(
            notes(traces["replay", batch], frame, refused)
        )


def test_layers_are_timed_by_every_method(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "from torch import nn, randn\ndef made():\n    return nn.Sequential(nn.Conv2d(3, 32, 3),"
        " nn.ReLU(), nn.Conv2d(32, 32, 3)).eval(), randn(8, 3, 64, 64)\n"
    )
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "timings",
        "net.py:made",
        "--out",
        "t.tracelens",
    ]
    chosen = ["--configuration", "cuda", "--configuration", "triton"]
    subprocess.run(
        [*command, *chosen],
        cwd=tmp_path,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    timings = tl.open(tmp_path / "t.tracelens").timings
    assert set(timings["method"]) == {"e2e", "layer", "subtraction", "profiler", "cuda_event"}
    cuda_self = timings.filter(method="profiler", quantity="CUDA_self", is_warmup=False)
    assert cuda_self["duration_ns"].min() > 0  # type: ignore[operator]


# Rank 1 has three times the batch of the others.
RANKS = """
import os, torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("nccl")
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
model = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(4096, 4096), nn.ReLU())]).to(device)
model = DistributedDataParallel(model, device_ids=[device.index])
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(1024 * (3 if dist.get_rank() == 1 else 1), 4096, device=device)
for _ in range(30):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
torch.cuda.synchronize()
dist.destroy_process_group()
"""


@pytest.mark.skipif(n_gpus() < 2, reason="needs two GPUs")
def test_ranks_that_torchrun_started_wait_for_the_slow_one(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS)
    start = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "train.py",
    ]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "tracelens",
            "collect",
            "torch",
            "--out",
            "t.tracelens",
            "--",
            *start,
        ],
        cwd=tmp_path,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    trace = tl.open(tmp_path / "t.tracelens")
    assert trace.ranks["node"].to_list() == [0, 0]
    row = tl.analyses.job(trace).row(0, named=True)
    assert (row["bound"], row["rank"], row["cause"]) == ("straggler", 1, "compute")
    waits = tl.analyses.waiting(trace).sort("rank")
    assert waits["awaited_rank"][0] == 1
    assert waits["exposed_ns"][0] > waits["exposed_ns"][1]
