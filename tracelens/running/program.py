"""Run a program for a capture as if the user had started it, and look up programs and packages."""

import errno
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path, PurePath
from types import FrameType
from typing import Any

from tracelens.errors import ToolError
from tracelens.trace.collector import Found

_LOG = logging.getLogger(__name__)
LAUNCH = [sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py"))]
"""Beginning of a command line that starts a program through launch.py."""
SIGNAL_BASE = 128
"""A shell reports this number plus the signal's number for a program that a signal ended."""
VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_PATIENCE_S = 3
_DRIVER = Path("/proc/driver/nvidia/version")


def run_program(command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run the command to its end, and return the exit code that a shell would report.

    The program has this process's standard streams and environment, extended by `environment`. It
    gets SIGTERM and SIGHUP of this process. Ctrl-C is left to the program. On Linux the program
    gets SIGTERM when this process dies. Raises ToolError if the program cannot be started.
    """
    path = find_program(command[0], environment)
    children: list[subprocess.Popen[bytes]] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        for child in children:
            with suppress(OSError):
                child.send_signal(number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        # A terminal's Ctrl-C reaches the whole foreground group, the program included, so it is not
        # sent again.
        if not _is_in_foreground():
            forward(number, frame)

    with handling({signal.SIGINT: interrupt, signal.SIGTERM: forward, signal.SIGHUP: forward}):
        # SIGTERM makes torchrun and the like end their workers; SIGKILL would leave them running.
        process = start(
            path, command, at_death=signal.SIGTERM, env={**os.environ, **(environment or {})}
        )
        children.append(process)
        code = process.wait()
    _LOG.debug("the program has ended")
    return code if code >= 0 else SIGNAL_BASE - code


def find_program(name: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the program's file, looked up as by a shell; raise ToolError if there is none."""
    folders = (environment or os.environ).get("PATH", os.environ.get("PATH"))
    path = shutil.which(name, path=folders)
    if path is None:
        raise ToolError(
            f"{name}: cannot be run: {_why_not_found(name)}; give the program as you would start it"
            " in a shell: python train.py"
        )
    return path


def _why_not_found(name: str) -> str:
    if os.sep in name:
        is_file = os.path.isfile(name)  # noqa: PTH113 - as text
        return (
            "the file is not executable (chmod +x)" if is_file else "there is no such program file"
        )
    if name.endswith(".py"):
        return "there is no such file in this folder"
    return "no folder of PATH has a program of that name"


def script_name(command: Sequence[str]) -> str:
    """Return the name of the script, module or program that a command runs.

    For `python train.py` and `python -m pkg.train`, the name is `train`.
    """
    script = next((word for word in command[1:] if word.endswith(".py")), None)
    if script is None and "-m" in command[:-1]:
        script = command[command.index("-m") + 1].rpartition(".")[2]
    return PurePath(script or command[0]).name.removesuffix(".py")


def start(
    path: str,
    command: Sequence[str],
    *,
    at_death: signal.Signals,
    pass_fds: Sequence[int] = (),
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a program, and return its process.

    On Linux the program gets the signal `at_death` when this process dies. `options` are passed to
    Popen. Raises ToolError if the program cannot be executed.
    """
    if not sys.platform.startswith("linux") or not sys.executable:
        try:
            return subprocess.Popen(list(command), executable=path, pass_fds=pass_fds, **options)  # noqa: S603
        except OSError as error:
            raise _cannot_run(command[0], error.errno) from error
    reading, writing = os.pipe()
    words = ["child", str(int(at_death)), str(writing), str(os.getpid()), path, *command]
    try:
        process = subprocess.Popen([*LAUNCH, *words], pass_fds=[writing, *pass_fds], **options)  # noqa: S603
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
        return ToolError(
            f"{name}: cannot be run: it is not a program and names none in a first line #!; name its"
            " program"
        )
    return ToolError(f"{name}: cannot be run: {os.strerror(number or errno.EINVAL)}")


def ask(command: Sequence[str | Path], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a tool, and return the finished process with its output.

    Raises ToolError if the tool cannot be run, or takes longer than `timeout_s`.
    """
    words = [str(word) for word in command]
    name = PurePath(words[0]).name
    try:
        return subprocess.run(  # noqa: S603 - a tool of tracelens, or a program that the user named
            words,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"{name} came to no end within {timeout_s:.0f} s; give it less to do, or more time"
        ) from error
    except OSError as error:
        raise ToolError(f"{name} cannot be run: {error.strerror or error}") from error


@contextmanager
def handling(
    handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], None]],
) -> Iterator[None]:
    """Install the signal handlers until the end of the `with` block.

    Signals that are already ignored (nohup, background jobs) stay ignored.
    """
    kept = {}
    # Other threads cannot handle signals.
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                kept[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in kept.items():
            signal.signal(number, old)


def _is_in_foreground() -> bool:
    """Return whether this process group is in the foreground, so that it receives Ctrl-C."""
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def program(name: str) -> Found:
    """Look for a program on PATH and beside this Python."""
    return program_at(
        shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    )


def program_at(path: str | None) -> Found:
    """Return the program at a path with the version that it prints.

    A path of None means that there is no program.
    """
    if path is None:
        return Found(False)
    try:
        answer = ask([path, "--version"], _PATIENCE_S)
    except ToolError:
        return Found(True)
    versions = VERSION.findall((answer.stdout or answer.stderr).strip().split("\n", 1)[0])
    return Found(True, versions[-1] if versions else None)


def package(name: str) -> Found:
    """Look for an installed Python package and its version, without importing it."""
    try:
        return Found(True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Found(False)


def driver_version() -> str | None:
    """Return the version of the NVIDIA driver's kernel module, None if it is not loaded."""
    try:
        match = VERSION.search(_DRIVER.read_text())
    except OSError:
        return None
    return match.group() if match else None
