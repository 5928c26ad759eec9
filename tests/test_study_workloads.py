"""The study's programs, on the CPU: all levels hold one model; one that fails stops no other."""

import csv
import functools
import importlib
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

STUDY = Path(__file__).resolve().parents[1] / "samples/study"
TINY = ("--batch", "2", "--size", "32", "--iterations", "1", "--warmup", "1", "--device", "cpu")
PARAMETERS = 25_557_032  # as torchvision documents its resnet50


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the study, whose files stand beside each other as scripts do."""
    monkeypatch.syspath_prepend(str(STUDY))

    def load(name: str) -> ModuleType:
        for known in ("plan", "resnet", "run", "workload"):
            sys.modules.pop(known, None)
        module = importlib.import_module(name)
        if (
            name == "run"
        ):  # a test that runs it as a program asks torch for its version; once is enough
            monkeypatch.setattr(module, "versions", lambda _: {})
        return module

    return load


def lines(command: list[str]) -> list[dict[str, Any]]:
    """The points that a level printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


# Runs levels as programs, one after another in a Python that imports torch once.
ONE_BY_ONE = """
import json, runpy, sys
sys.path.insert(0, sys.argv[1])
for level, *words in json.loads(sys.argv[2]):
    sys.argv = [level, *words]
    runpy.run_path(f"{sys.path[0]}/{level}.py", run_name="__main__")
"""


UNCOMPILED = tuple(
    (level, "--mode", mode) for mode in ("infer", "train") for level in ("eager", "torchscript")
)


@functools.cache
def python(*levels: tuple[str, ...]) -> list[dict[str, Any]]:
    """The points of levels in Python, each a name and its options."""
    pytest.importorskip(
        "torch", reason="torch is not installed: the study's Python levels cannot run"
    )
    words = [[level, *TINY, *options] for level, *options in levels]
    return lines([sys.executable, "-c", ONE_BY_ONE, str(STUDY), json.dumps(words)])


@pytest.fixture(scope="module")
def libtorch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The C++ level, built as its README says but without optimisation and debug information.

    That takes half the time.
    """
    torch = pytest.importorskip(
        "torch", reason="torch is not installed: there is no LibTorch to build against"
    )
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 9):
        pytest.skip(
            f"torch {torch.__version__}: the C++ level needs 2.9, from which on allocators are"
            " asked by device"
        )
    missing = [tool for tool in ("cmake", "ninja", "g++") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: the C++ level cannot be built")
    build = tmp_path_factory.mktemp("build")
    asked = ["-DCMAKE_BUILD_TYPE=None", f"-DPython_EXECUTABLE={sys.executable}"]
    for command in (
        ["cmake", "-S", str(STUDY / "cpp"), "-B", str(build), "-G", "Ninja", *asked],
        ["cmake", "--build", str(build), "--target", "libtorch"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return str(build / "libtorch")


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["infer", "train"])
def test_all_levels_that_run_here_compute_the_same(libtorch: str, mode: str) -> None:
    found = python(*UNCOMPILED)
    assert [(point["level"], "--mode", point["mode"]) for point in found] == [*UNCOMPILED]
    points = {point["level"]: point for point in found if point["mode"] == mode}
    (points["libtorch"],) = lines([libtorch, *TINY, "--mode", mode])
    for level, point in points.items():
        assert point["level"] == level
        assert point["n_parameters"] == PARAMETERS
        assert len(point["step_ms"]) == 1
        assert point["checksum"] == pytest.approx(points["eager"]["checksum"], rel=1e-4), level


@pytest.mark.exhaustive
def test_compiled_computes_what_eager_does() -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed: torch.compile cannot compile for the CPU")
    (compiled,), (eager, *_) = python(("compiled", "--mode", "infer")), python(*UNCOMPILED)
    assert compiled["checksum"] == pytest.approx(eager["checksum"], rel=1e-4)


@pytest.mark.exhaustive
def test_libtorch_knows_the_options(libtorch: str) -> None:
    sweep = lines([libtorch, *TINY, "--sweep", "1x32,3x48", "--input-dtype", "float64"])
    assert [(p["batch"], p["size"], p["input_dtype"]) for p in sweep] == [
        (1, 32, "float64"),
        (3, 48, "float64"),
    ]
    wrong = subprocess.run(
        [libtorch, "--nothing", "1"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 1
    assert "no option is called --nothing" in wrong.stderr


def test_the_model_is_torchvisions(study: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torchvision = pytest.importorskip(
        "torchvision", reason="torchvision is not installed: nothing to compare with"
    )
    ours = study("resnet").resnet50().eval()
    theirs = torchvision.models.resnet50().eval()
    theirs.load_state_dict(ours.state_dict())
    images = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(ours(images), theirs(images))


def test_noise_is_the_same_in_every_language(study: Any) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    # The hash by Python's integers of any size: index 3 of the layer with seed 2.
    h = (3 + 2 * 0x9E3779B1) % 2**32
    h = ((h ^ h >> 15) * 0x85EBCA6B) % 2**32
    h = ((h ^ h >> 13) * 0xC2B2AE35) % 2**32
    assert study("resnet").noise(4, 2)[3].item() == (h ^ h >> 16) / 2**32
    values = study("resnet").noise(100_000, 1)
    assert 0 <= values.min() < 0.001
    assert 0.999 < values.max() < 1
    assert values.mean().item() == pytest.approx(0.5, abs=4 / math.sqrt(12 * 100_000))


def test_every_job_says_how_to_repeat_it(study: Any) -> None:
    jobs = study("plan")
    named = [
        *jobs.stacks("cuda-gdb"),
        *jobs.traces(),
        *jobs.timelines("nsys"),
        *jobs.sweeps(),
        *jobs.warming(),
    ]
    assert len({job.name for job in named}) == len(named)
    driver = study("run")
    (old,) = [job for job in named if job.name == "stack_eager_old"]
    text = driver.readable(old)
    assert text.startswith("TORCH_CUDNN_V8_API_DISABLED=1 tracelens collect gdb ")
    assert "--out stack_eager_old.tracelens" in text
    assert text.endswith("-- python samples/study/eager.py --batch 4 --size 64 --iterations 1")


def test_a_batch_of_the_papers_bytes_is_among_the_copies(study: Any) -> None:
    widths = {"float64": 8, "float32": 4, "float16": 2}
    sizes = set()
    for name, batch, options in study("plan").COPIES:
        words: dict[str, str] = dict(zip(options[::2], options[1::2], strict=False))
        dtype = words.get("--input-dtype") or words.get("--dtype", "float32")
        assert f"b{batch}_f{8 * widths[dtype]}" in name
        sizes.add((batch, dtype, batch * 3 * 256 * 256 * widths[dtype]))
    assert {(16, "float64", 25_165_824), (16, "float32", 12_582_912)} <= sizes
    assert {(32, "float32", 25_165_824), (32, "float16", 12_582_912)} <= sizes


@pytest.mark.slow
def test_the_driver_goes_on_where_a_job_fails(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = study("run")
    jobs = driver.plan
    runner = driver.Study(tmp_path, minutes=1, tools={})
    point = {
        "level": "eager",
        "mode": "infer",
        "batch": 1,
        "size": 8,
        "dtype": "float32",
        "input_dtype": "float32",
        "memory": "pageable",
        "device": "cpu",
        "n_parameters": 1,
        "checksum": 1.0,
        "start_ns": 0,
        "end_ns": 1,
        "step_ms": [4.0, 1.0, 2.0, 3.0, 5.0],
    }
    runner.sweep(
        [
            jobs.Job("fails", ("python", "-c", "raise SystemExit(3)")),
            jobs.Job("hangs", ("python", "-c", "while True: pass"), timeout_s=1),
            jobs.Job("absent", ("/no/such/program",)),
            jobs.Job("works", ("python", "-c", f"print({json.dumps(json.dumps(point))})")),
        ]
    )
    outcomes = {
        job["name"]: job["outcome"]
        for job in json.loads((tmp_path / "versions.json").read_text())["commands"]
    }
    assert outcomes == {
        "fails": "exit 3",
        "hangs": "timeout",
        "absent": "not run: No such file or directory",
        "works": "exit 0",
    }
    with (tmp_path / "measurements.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["p25_ms"], row["median_ms"], row["p75_ms"]) == ("2.000000", "3.000000", "4.000000")
    assert (row["used_mib"], row["n_samples"]) == ("", "0")
    assert "exit 3" in capsys.readouterr().out


@pytest.mark.slow
def test_parts_that_run_one_by_one_add_up(study: Any, tmp_path: Path) -> None:
    driver = study("run")
    jobs = driver.plan
    for names in (("a", "b"), ("b", "c")):
        runner = driver.Study(tmp_path, minutes=1, tools={})
        runner.run([jobs.Job(name, ("python", "-c", "pass")) for name in names])
        runner.write()
    assert [
        job["name"] for job in json.loads((tmp_path / "versions.json").read_text())["commands"]
    ] == ["a", "b", "c"]
    point = {
        "level": "eager",
        "mode": "infer",
        "batch": 1,
        "size": 8,
        "dtype": "float32",
        "input_dtype": "float32",
        "memory": "pageable",
        "device": "cpu",
        "n_parameters": 1,
        "checksum": 1.0,
        "start_ns": 0,
        "end_ns": 1,
    }
    for batch, time in ((1, 4.0), (2, 5.0), (1, 6.0)):
        text = json.dumps(point | {"batch": batch, "step_ms": [time]})
        runner = driver.Study(tmp_path, minutes=1, tools={})
        runner.sweep([jobs.Job("sweep", ("python", "-c", f"print({text!r})"))])
    with (tmp_path / "measurements.csv").open() as file:
        assert [(r["batch"], r["median_ms"]) for r in csv.DictReader(file)] == [
            ("2", "5.000000"),
            ("1", "6.000000"),
        ]


def test_samples_count_for_the_point_they_fall_into(study: Any) -> None:
    driver = study("run")
    point = dict.fromkeys(
        (
            "level",
            "mode",
            "batch",
            "size",
            "dtype",
            "input_dtype",
            "memory",
            "device",
            "n_parameters",
        ),
        0,
    ) | {"checksum": 0.0, "start_ns": 1_000_000_000, "end_ns": 2_000_000_000, "step_ms": [1.0]}
    samples = [
        (900_000_000, 900 << 20, 1),  # before the point
        (
            1_000_000_000,
            100 << 20,
            90,
        ),  # its memory counts; its utilisation is still that of before
        (1_500_000_000, 200 << 20, 40),
        (2_000_000_000, 150 << 20, 50),
        (2_000_000_001, 999 << 20, 99),  # after it
    ]
    row = driver.row(point, samples)
    assert (row["used_mib"], row["gpu_util_percent"], row["n_samples"]) == ("200", "45.0", 2)


def test_no_time_left_starts_nothing(study: Any, tmp_path: Path) -> None:
    driver = study("run")
    jobs = driver.plan
    runner = driver.Study(tmp_path, minutes=0, tools={})
    runner.run([jobs.Job("late", ("python", "-c", f"open({str(tmp_path / 'ran')!r}, 'w')"))])
    assert runner.done[0]["outcome"].startswith("skipped")
    assert not (tmp_path / "ran").exists()


@pytest.mark.exhaustive
def test_quick_runs_without_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    command = [
        sys.executable,
        str(STUDY / "run.py"),
        "--quick",
        "--only",
        "sweep",
        "--out",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stderr
    assert "1 of 1 jobs done; not: none" in done.stdout
    with (tmp_path / "measurements.csv").open() as file:
        assert [(r["batch"], r["n_parameters"]) for r in csv.DictReader(file)] == [
            ("1", "25557032"),
            ("2", "25557032"),
        ]
