"""Run the program that a capture looks at: as if the user had started it, and never outliving the capture."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from tracelens.errors import ToolError

_GRACE_S = 10.0
_SIGNAL_BASE = 128

# Becomes the program: asks the kernel for SIGTERM when tracelens dies (torchrun and the like then end their workers,
# which SIGKILL would leave running), undoes what Python did to signals, and reports why it could not start on fd 1 of
# its arguments. Popen's preexec_fn could do the same, but not safely in a process with threads.
_START = """
import ctypes, os, signal, sys
report, parent = int(sys.argv[1]), int(sys.argv[2])
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != parent:
    os._exit(1)
for name in ("SIGPIPE", "SIGXFSZ"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
os.set_inheritable(report, False)
try:
    os.execv(sys.argv[3], sys.argv[4:])
except OSError as error:
    os.write(report, str(error.errno).encode())
    os._exit(126)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended: its exit code as a shell reports it (128+n for signal n), and how long it ran.

    `timed_out`: it was told to end because its time was over.
    """

    exit_code: int
    wall_ns: int
    process_id: int
    timed_out: bool = False


def run_program(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    on_start: Callable[[int], None] | None = None,
) -> Outcome:
    """Run the command to its end with this process's standard streams, and `environment` on top of its variables.

    Ctrl-C reaches the program, which stands in the same process group, and this process waits for it to end; SIGTERM
    and SIGHUP are passed on. After `timeout_s` seconds the program gets SIGTERM, ten seconds later SIGKILL. On Linux
    the program gets SIGTERM when this process dies. `on_start` is called with its process id.

    Raises ToolError when the program cannot be started.
    """
    path = find_program(command[0], environment)
    variables = {**os.environ, **(environment or {})}
    began = time.monotonic_ns()
    with _passing_signals() as children:
        process = _start(path, list(command), variables)
        children.append(process)
        if on_start is not None:
            on_start(process.pid)
        code, timed_out = _wait(process, timeout_s)
    return Outcome(code if code >= 0 else _SIGNAL_BASE - code, time.monotonic_ns() - began, process.pid, timed_out)


def find_program(name: str, environment: Mapping[str, str] | None = None) -> str:
    """The program's file, looked up as a shell does. Raises ToolError when there is none."""
    folders = (environment or os.environ).get("PATH", os.environ.get("PATH"))
    path = shutil.which(name, path=folders)
    if path is None:
        where = "there is no such program file" if os.sep in name else "no folder of PATH has a program of that name"
        if os.sep in name and os.path.isfile(name):  # noqa: PTH113 - as text
            where = "the file is not executable (chmod +x)"
        raise ToolError(f"{name}: cannot be run: {where}; everything after -- is the command to run")
    return path


def _start(path: str, command: list[str], variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """The running program. Raises ToolError when it cannot be executed."""
    if not sys.platform.startswith("linux") or not sys.executable:
        try:
            return subprocess.Popen(command, executable=path, env=variables)  # noqa: S603 - the user's own command
        except OSError as error:
            raise _cannot_run(command[0], error.errno) from error
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own command
            [sys.executable, "-I", "-S", "-c", _START, str(writing), str(os.getpid()), path, *command],
            env=variables,
            pass_fds=[writing],
        )
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        failure = pipe.read()
    if failure:
        process.wait()
        raise _cannot_run(command[0], int(failure))
    return process


def _cannot_run(name: str, number: int | None) -> ToolError:
    if number == errno.ENOEXEC:
        return ToolError(f"{name}: cannot be run: it is no program and names none in a first line #!; name its program")
    return ToolError(f"{name}: cannot be run: {os.strerror(number or errno.EINVAL)}")


def _wait(process: subprocess.Popen[bytes], timeout_s: float | None) -> tuple[int, bool]:
    """The return code, negative for a signal, and whether the program ran out of time."""
    try:
        return process.wait(timeout_s), False
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        return process.wait(_GRACE_S), True
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait(), True


@contextmanager
def _passing_signals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """While the body runs, signals are for the program: this process passes them on and lives to see it end.

    Only the main thread can take signals over; a capture from another one leaves them alone.
    """
    children: list[subprocess.Popen[bytes]] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        for child in children:
            with suppress(OSError):
                child.send_signal(number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        # A terminal's Ctrl-C goes to the whole foreground group, the program included; a second one would be too much.
        if not _is_in_foreground():
            forward(number, frame)

    handlers = {signal.SIGINT: interrupt, signal.SIGTERM: forward, signal.SIGHUP: forward}
    kept = {}
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            # What is ignored (nohup, a job in the background of a script) stays so, here and in the program.
            if signal.getsignal(number) is not signal.SIG_IGN:
                kept[number] = signal.signal(number, handler)
    try:
        yield children
    finally:
        for number, old in kept.items():
            signal.signal(number, old)


def _is_in_foreground() -> bool:
    """Whether this process stands in the foreground group of its terminal, which gets its Ctrl-C."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
