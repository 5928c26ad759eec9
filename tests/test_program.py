"""Running the user's program: its streams, end and signals; it never outlives the capture."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tracelens.errors import ToolError
from tracelens.running.program import run_program

ROOT = Path(__file__).resolve().parents[1]
LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="asks Linux to end the program with its parent"
)

# Runs a program that says "ready", waits for signals, and tells which one ended it. It looks for
# them again and again: one that comes just before signal.pause() would not end that.
PARENT = """
import sys
from tracelens.running.program import run_program
outcome = run_program([sys.executable, "-u", "-c", sys.argv[1]])
print("outcome", outcome, flush=True)
"""
WAITS = """
import os, signal, sys, time
def told(number, frame):
    print("told", number, flush=True)
    sys.exit(7)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, told)
print("ready", os.getpid(), flush=True)
while True:
    time.sleep(0.05)
"""
# Counts interrupts, which stay blocked, so that none comes between two lines.
COUNTS = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("ready", flush=True)
signal.sigwait([signal.SIGINT])
again = signal.sigtimedwait([signal.SIGINT], 1)
print("interrupts", 1 if again is None else 2, flush=True)
sys.exit(7)
"""
# Takes the terminal on its standard input for its own and becomes another program.
ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, sys.argv[1:])
"""


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code), *words]


@pytest.mark.parametrize(
    ("code", "expected"), [("pass", 0), ("raise SystemExit(3)", 3), ("import os; os.abort()", 134)]
)
def test_the_exit_code_is_what_a_shell_reports(code: str, expected: int) -> None:
    exit_code = run_program(python(code))
    shell = subprocess.run(
        ["sh", "-c", '"$@"; exit $?', "sh", *python(code)], check=False, capture_output=True
    )
    assert exit_code == shell.returncode == expected


def test_streams_arguments_environment_and_folder_are_the_users(tmp_path: Path) -> None:
    script = (
        "import os, sys; print(sys.stdin.read(), sys.argv[1:], os.environ['ADDED'], os.getcwd())"
    )
    parent = (
        "import sys; from tracelens.running.program import run_program;"
        "run_program(sys.argv[1:], environment={'ADDED': 'so'}); print('after', flush=True)"
    )
    command = [sys.executable, "-c", parent, sys.executable, "-c", script, "--flag", "--", "a b"]
    done = subprocess.run(
        command,
        input="typed",
        text=True,
        capture_output=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.splitlines() == [f"typed ['--flag', '--', 'a b'] so {tmp_path}", "after"]


def test_what_cannot_be_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match="no-such-program: cannot be run: no folder of PATH"):
        run_program(["no-such-program"])
    with pytest.raises(ToolError, match="no such program file"):
        run_program([str(tmp_path / "absent")])
    for name, text, why in (
        ("bare", "exit 0\n", "names none in a first line"),
        ("lost", "#!/no/such/interpreter\n", "No such file"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
        with pytest.raises(ToolError, match=why):
            run_program([str(tmp_path / name)])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="lost: cannot be run"):
        run_program(["lost"])


def test_a_pipe_that_closes_ends_the_program_as_in_a_shell() -> None:
    code = "import signal; raise SystemExit(signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN)"
    assert (
        run_program(python(code)) == 1
    )  # Python itself ignores it; what it was given shows in a shell
    assert run_program(["sh", "-c", "trap '' USR1; kill -PIPE $$; exit 5"]) == 128 + signal.SIGPIPE


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_the_program_and_tracelens_waits(
    sent: signal.Signals,
) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, WAITS],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline().startswith("ready")
    parent.send_signal(sent)
    said = parent.communicate(timeout=60)[0]
    assert said.splitlines() == [f"told {int(sent)}", "outcome 7"]
    assert parent.returncode == 0


@LINUX
def test_a_terminals_interrupt_reaches_the_program_once() -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", ON_TERMINAL, sys.executable, "-c", PARENT, COUNTS]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, start_new_session=True
    )
    os.close(theirs)
    with process, os.fdopen(ours, "r+b", buffering=0) as terminal:
        said = b""
        while b"ready" not in said:
            said += terminal.read(1024)
        terminal.write(b"\x03")
        # A terminal hands over what is there: the last line is whole once it ends.
        while b"\n" not in said.partition(b"outcome")[2]:
            said += terminal.read(1024)
    assert b"interrupts 1\r\n" in said
    assert b"outcome 7" in said


@LINUX
def test_a_killed_capture_leaves_no_program_behind() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, WAITS], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert parent.stdout is not None
    ready, child = parent.stdout.readline().split()
    assert ready == "ready"
    parent.kill()
    # The program says so, and its end closes the pipe; the system may need a moment more to be rid
    # of it.
    assert parent.communicate(timeout=60)[0].splitlines() == [f"told {int(signal.SIGTERM)}"]
    deadline = time.monotonic() + 60
    while _runs(child):
        assert time.monotonic() < deadline, "the program still runs"
        time.sleep(0.01)


def _runs(pid: str) -> bool:
    """Return whether the process is there.

    One that has ended, and that nobody waited for, is not.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
