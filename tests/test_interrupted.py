"""A collect that is killed, told to stop, or finds no room leaves a whole trace or none."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tracelens as tl

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "samples" / "torch" / "resnet50_eager.pt.trace.json.gz"


def collect(out: Path, **kwargs: object) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tracelens", "collect", "torch", str(SAMPLE), "--out", str(out)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT, **kwargs)  # type: ignore[call-overload,no-any-return]


def finished(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Exit code, and the errors it printed."""
    said = process.communicate()[1].decode()
    return process.returncode, "\n".join(line for line in said.splitlines() if line.startswith("error"))


def is_whole_or_absent(out: Path) -> bool:
    """Whether the trace is complete, or nothing stands under its name."""
    if not out.exists():
        return False
    assert tl.open(out).kernels.height == 717
    return True


@pytest.fixture(scope="module")
def whole_run_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    started = time.monotonic()
    assert finished(collect(tmp_path_factory.mktemp("whole") / "run.tracelens")) == (0, "")
    return time.monotonic() - started


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_collect_leaves_a_whole_trace_or_none(
    tmp_path: Path, sent: signal.Signals, whole_run_s: float
) -> None:
    absent = 0
    for turn in range(6):
        out = tmp_path / f"run{turn}.tracelens"
        with collect(out) as process:
            try:
                process.communicate(timeout=whole_run_s * (0.4 + turn / 10))
            except subprocess.TimeoutExpired:
                process.send_signal(sent)
                process.communicate()
        absent += not is_whole_or_absent(out)
    assert absent, "every run ended before it was stopped, so this showed nothing"
    if sent != signal.SIGKILL:
        assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_what_a_killed_collect_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    out = tmp_path / "run.tracelens"
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    gone = int(dead.stdout)
    stale, fresh = (tmp_path / f".run.tracelens.{gone}.{word}.part" for word in ("stale", "fresh"))
    busy = tmp_path / f".run.tracelens.{os.getpid()}.busy.part"
    other = tmp_path / f".other.tracelens.{gone}.stale.part"
    for folder in (stale, fresh, busy, other):
        folder.mkdir()
        if folder != fresh:
            os.utime(folder, (time.time() - 7200,) * 2)
    assert finished(collect(out)) == (0, "")
    assert is_whole_or_absent(out)
    assert [folder.exists() for folder in (stale, fresh, busy, other)] == [False, True, True, True]


def test_a_file_size_limit_is_an_error_that_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run.tracelens"
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731 - runs in the child
    code, said = finished(collect(out, preexec_fn=limit, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}))
    assert code == 1
    assert "run.tracelens" in said
    assert list(tmp_path.iterdir()) == []


def test_a_full_device_is_an_error_that_leaves_nothing(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(device)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a device that fills up cannot be mounted here (needs root)")
    try:
        code, said = finished(collect(device / "run.tracelens"))
        assert code == 1
        assert "No space left" in said
        assert list(device.iterdir()) == []
    finally:
        subprocess.run(["umount", str(device)], check=True)
