"""`tracelens collect gdb -- COMMAND`: the program's streams, terminal and end; nothing is left."""

import os
import platform
import pty
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import tracelens as tl
from tests.command_line import command_line
from tests.selection import only
from tests.stand_in import NEEDS_GDB, program
from tracelens.cli import doctor
from tracelens.collectors.gdb import targets

pytestmark = NEEDS_GDB

ROOT = Path(__file__).resolve().parents[1]
COLLECT = (sys.executable, "-m", "tracelens", "collect", "gdb")
PATIENCE_S = 60

ECHO = """
#include <stdio.h>
#include <stdlib.h>
int cudnnConvolutionForward(int);
int main(void) {
    char line[100] = "";
    fgets(line, 100, stdin);
    printf("out %s", line);
    fprintf(stderr, "err %s", getenv("COLUMNS") ? "COLUMNS" : "plain");
    return cudnnConvolutionForward(2);
}
"""
WAITS = """
#include <stdio.h>
#include <unistd.h>
int cudnnConvolutionForward(int);
int main(void) {
    cudnnConvolutionForward(2);
    printf("ready %d %d %d\\n", getpid(), isatty(0), isatty(1));
    fflush(stdout);
    for (;;) pause();
}
"""


def collect(*words: str | Path, **options: object) -> "subprocess.Popen[bytes]":
    environment = {
        name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}
    }
    process: subprocess.Popen[bytes] = subprocess.Popen(
        [*COLLECT, *map(str, words)],
        env=environment | {"PYTHONPATH": str(ROOT)},
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        | options,  # type: ignore[call-overload]
    )
    return process


def has_ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], PATIENCE_S)[0])


def parent_of(process_id: int) -> int:
    return int(Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_the_programs_streams_and_exit_code_are_its_own(tmp_path: Path) -> None:
    out = tmp_path / "run.tracelens"
    process = collect("--out", out, "--", program(tmp_path, ECHO, "-O0"))
    said, told = process.communicate(b"in\n", PATIENCE_S)
    assert said == b"out in\n"
    assert told.startswith(b"err plain")
    assert b"1 stacks" in told
    assert process.returncode == 3
    trace = tl.open(out)
    assert trace.stacks.select("symbol", "depth", "rank").rows() == [
        ("cudnnConvolutionForward", 2, 0)
    ]
    assert "GPU utilisation was not sampled" in trace.manifest.empty_tables.get(
        "counters", "a GPU was sampled"
    ) or (trace.counters.height)


def test_the_programs_name_is_the_traces(tmp_path: Path) -> None:
    process = collect("--", program(tmp_path, ECHO, "-O0"), cwd=tmp_path)
    process.communicate(b"", PATIENCE_S)
    assert tl.open(tmp_path / "program.tracelens").stacks.height == 1
    target = tmp_path / "program.tracelens"
    again = collect("--out", target, "--", tmp_path / "program", cwd=tmp_path)
    assert b"--force" in again.communicate(b"", PATIENCE_S)[1]
    assert again.returncode == 1


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--hits", "3", "log.txt"], 2, "--hits belongs to a capture of a COMMAND"),
        (["--break", "f", "log.txt"], 2, "--break belongs to a capture of a COMMAND"),
        (["--preset", "gpu", "--", "true"], 2, "the presets are cudnn, launch, cpu"),
        (["--where-frame", "(", "--", "true"], 1, "nor a regular expression"),
        (["--gdb", "/nowhere", "--", "true"], 1, "--gdb /nowhere: no such program"),
        pytest.param(
            ["--preset", "launch", "--", "true"],
            1,
            "cuLaunchKernelEx: never found, the breakpoint is still pending",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    result = command_line(capsys, "collect", "gdb", *words)
    assert said in " ".join(result.err.split())
    assert result.code == code
    assert list(here.iterdir()) == []


# Denies itself and its children ptrace, as a container without CAP_SYS_PTRACE may do, and becomes
# another program.
DENIED = """
import ctypes, os, platform, struct, sys
number = {"x86_64": 101, "aarch64": 117}[platform.machine()]
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)), 0, 0):
    sys.exit("no seccomp")
os.execv(sys.executable, sys.argv[1:])
"""


@pytest.mark.skipif(
    platform.machine() not in {"x86_64", "aarch64"},
    reason="knows the numbers of two machines' calls",
)
def test_where_ptrace_is_not_permitted_it_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DENIED, *COLLECT, "--", str(program(tmp_path, ECHO, "-O0"))]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if b"no seccomp" in done.stderr:
        pytest.skip("needs seccomp, to deny ptrace")
    assert b"gdb may not trace programs here" in done.stderr
    assert b"--cap-add=SYS_PTRACE" in done.stderr
    assert done.returncode == 1


# The terminal's interrupt has a test below.
@pytest.mark.parametrize(
    "number", only([signal.SIGTERM], [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
)
def test_a_signal_ends_the_program_and_keeps_the_stacks(
    tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "run.tracelens"
    process = collect("--out", out, "--", program(tmp_path, WAITS, "-O0"))
    assert process.stdout is not None
    process_id = int(process.stdout.readline().split()[1])
    pidfds = [os.pidfd_open(pid) for pid in (process_id, parent_of(process_id))]
    process.send_signal(number)
    told = process.communicate(timeout=PATIENCE_S)[1].decode()
    assert process.returncode == 128 + number
    assert number.name in told
    assert all(has_ended(pidfd) for pidfd in pidfds)
    trace = tl.open(out)
    assert trace.stacks.height == 1
    assert not trace.manifest.complete


def test_a_killed_capture_leaves_neither_gdb_nor_the_program(tmp_path: Path) -> None:
    process = collect("--out", tmp_path / "run.tracelens", "--", program(tmp_path, WAITS, "-O0"))
    assert process.stdout is not None
    process_id = int(process.stdout.readline().split()[1])
    gdb_id = parent_of(process_id)
    assert Path(f"/proc/{gdb_id}/exe").resolve().name == "gdb"
    pidfds = [os.pidfd_open(pid) for pid in (process_id, gdb_id)]
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    assert all(has_ended(pidfd) for pidfd in pidfds)


# The leader of a session that gets the terminal, as a shell is: runs a command and says what became
# of it.
SHELL = """
import fcntl, os, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
code = subprocess.run(sys.argv[1:]).returncode
print("code", code, "mine", os.tcgetpgrp(0) == os.getpgrp(), flush=True)
"""


def on_terminal(*words: str | Path) -> "tuple[subprocess.Popen[bytes], int]":
    """Start the command on a terminal of its own; return it and that terminal's other end."""
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    process = subprocess.Popen(
        [sys.executable, "-c", SHELL, *COLLECT, *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    os.close(theirs)
    return process, ours


def read_until(terminal: int, word: bytes) -> bytes:
    said = b""
    while word not in said:
        assert select.select([terminal], [], [], PATIENCE_S)[0], said
        said += os.read(terminal, 4096)
    return said


def test_the_program_reads_and_writes_the_users_terminal(tmp_path: Path) -> None:
    process, terminal = on_terminal(
        "--out", tmp_path / "run.tracelens", "--", program(tmp_path, ECHO, "-O0")
    )
    os.write(terminal, b"typed\n")
    said = read_until(terminal, b"mine True")
    assert said.startswith(b"out typed\r\n")
    assert b"code 3 mine True" in said
    process.communicate(timeout=PATIENCE_S)
    os.close(terminal)


def test_ctrl_c_reaches_the_program_and_its_stacks_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "run.tracelens"
    process, terminal = on_terminal("--out", out, "--", program(tmp_path, WAITS, "-O0"))
    _, process_id, *are_terminals = read_until(terminal, b"\n").split()
    assert are_terminals == [b"1", b"1"]
    pidfd = os.pidfd_open(int(process_id))
    os.write(terminal, b"\x03")
    assert b"code 130 mine True" in read_until(terminal, b"mine True")
    process.communicate(timeout=PATIENCE_S)
    os.close(terminal)
    assert has_ended(pidfd)
    assert tl.open(out).stacks.height == 1


@pytest.mark.slow
def test_doctor_finds_cuda_gdb_where_cuda_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cuda-13.0" / "bin"
    folder.mkdir(parents=True)
    (folder / "cuda-gdb").write_text("#!/bin/sh\necho NVIDIA '(R)' cuda-gdb 13.0\n")
    (folder / "cuda-gdb").chmod(0o755)
    monkeypatch.setattr(targets, "CUDA_FOLDERS", str(tmp_path / "cuda*" / "bin"))
    monkeypatch.setenv("PATH", "/bin")
    assert doctor.examine().filter(tool="cuda-gdb").select("found", "version").rows() == [
        (True, "13.0")
    ]
