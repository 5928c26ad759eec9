"""A collect that is killed, told to stop, or finds no room leaves a whole trace or none."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import tracelens as tl
from tests.command_line import command_line
from tests.selection import every

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "samples" / "torch" / "resnet50_eager.pt.trace.json.gz"


# Collects as the command line does, and sends itself a signal once the given number of tables is
# written.
STOPPED = """
import os, sys
from tracelens.cli.app import main
from tracelens.storage.table import Table

turns, number, write, written = int(sys.argv[1]), int(sys.argv[2]), Table.write, []

def write_and_stop(self, frame, path, *cells):
    write(self, frame, path, *cells)
    written.append(path)
    if len(written) == turns:
        os.kill(os.getpid(), number)

Table.write = write_and_stop
main(sys.argv[3:])
"""


# Begins as the command does, and interrupts itself where a module is imported.
IMPORTING = """
import os, signal, sys

module = sys.argv.pop(1)

class Interrupting:
    def find_spec(self, name, *_):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from tracelens.__main__ import main
main()
"""


LIMITED = """
import resource, sys
from tracelens.cli.app import main

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
main(sys.argv[1:])
"""


def collect(out: Path, *program: str) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable,
        *(program or ("-m", "tracelens")),
        "collect",
        "torch",
        str(SAMPLE),
        "--out",
        str(out),
    ]
    return subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT)


def finished(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Exit code, and the errors it printed."""
    said = process.communicate()[1].decode()
    return process.returncode, "\n".join(
        line for line in said.splitlines() if line.startswith("error")
    )


def collect_again(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Collect without being stopped, in this process, and look at what was written."""
    done = command_line(capsys, "collect", "torch", SAMPLE, "--out", out)
    assert done.code == 0, done.err
    assert is_whole(out)


def is_whole(out: Path) -> bool:
    """Whether the trace opens and holds every kernel of the sample."""
    return tl.open(out).kernels.height == 717


@pytest.mark.parametrize(
    ("tables", "sent", "code"),
    [
        pytest.param(1, signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.exhaustive),
        pytest.param(4, signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.exhaustive),
        (1, signal.SIGTERM, 128 + signal.SIGTERM),
        pytest.param(4, signal.SIGINT, 130, marks=pytest.mark.exhaustive),
    ],
)
def test_a_collect_stopped_while_writing_leaves_no_trace(
    tmp_path: Path, tables: int, sent: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.tracelens"
    process = collect(out, "-c", STOPPED, str(tables), str(int(sent)))
    assert finished(process)[0] == code
    assert not out.exists()
    left = [path.name for path in tmp_path.iterdir()]
    if sent != signal.SIGKILL:
        assert left == []
        return
    assert len(left) == 1, left
    collect_again(out, capsys)


@pytest.mark.parametrize(
    "module", every(2, ["polars", "tracelens.report", "tracelens.cli.io", "tracelens.cli.output"])
)
def test_interrupted_while_modules_are_imported(module: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", IMPORTING, module, "report", "no-such.json"],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert (process.returncode, process.stdout, process.stderr) == (130, b"", b"interrupted\n")


def test_an_interrupt_that_is_ignored_stays_so_in_the_program(tmp_path: Path) -> None:
    """This is the case behind a script's `&`.

    Importing Polars catches the signal, so that a program would no longer ignore it.
    """
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    words = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        "--",
        sys.executable,
        "-I",
        "-c",
        code,
    ]
    shell = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *words]
    done = subprocess.run(
        shell,
        capture_output=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.stdout == b"True\n"


def test_the_command_begins_where_that_is_answered() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"tracelens": "tracelens.__main__:main"}


def test_what_a_killed_collect_left_is_cleared_by_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.tracelens"
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    gone = int(dead.stdout)
    stale, fresh = (tmp_path / f".run.tracelens.{gone}.{word}.part" for word in ("stale", "fresh"))
    busy = tmp_path / f".run.tracelens.{os.getppid()}.busy.part"
    other = tmp_path / f".other.tracelens.{gone}.stale.part"
    for folder in (stale, fresh, busy, other):
        folder.mkdir()
        if folder != fresh:
            os.utime(folder, (time.time() - 7200,) * 2)
    collect_again(out, capsys)
    assert [folder.exists() for folder in (stale, fresh, busy, other)] == [False, True, True, True]


def test_a_file_size_limit_is_an_error_that_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run.tracelens"
    code, said = finished(collect(out, "-c", LIMITED))
    assert code == 1
    assert "run.tracelens" in said
    assert list(tmp_path.iterdir()) == []


def test_a_full_device_is_an_error_that_leaves_nothing(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(device)],
        capture_output=True,
        check=False,
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
