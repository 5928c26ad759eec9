"""Handle the end of a run under gdb: the program's outcome, signals, and the terminal."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from msgspec import Struct

from tracelens.collectors.gdb.mi import Record
from tracelens.running.program import SIGNAL_BASE, handling

_PTRACE_DENIED = (
    "ptrace: Operation not permitted",
    "Could not trace the inferior process",
    "Cannot PTRACE_TRACEME",
)


class Outcome(Struct, frozen=True):
    """Holds how the program ended."""

    exit_code: int
    """The program's exit code, 128+n if signal n ended it."""
    reason: str | None = None
    """A description of a failure, else None."""
    was_cut: bool = False
    """True if the program did not end by itself."""

    def in_words(self) -> str:
        """Return how the program ended, as a clause for a message."""
        return self.reason or f"the program ended with exit code {self.exit_code}"


def outcome_of(stop: Record) -> Outcome | None:
    """Return how the program ended, from gdb's record of a stop.

    Return None if the program has not ended.
    """
    match stop.get("reason"):
        case "exited-normally":
            return Outcome(0)
        case "exited":
            # gdb prints exit codes in octal.
            return Outcome(int(str(stop.get("exit-code", "1")), 8))
        case "exited-signalled":
            name = str(stop.get("signal-name", ""))
            number = (
                getattr(signal, name, signal.SIGKILL) if name.startswith("SIG") else signal.SIGKILL
            )
            return Outcome(
                SIGNAL_BASE + int(number), f"the program was ended by {name}", was_cut=True
            )
    return None


def failed_to_start(reason: str, printed: str) -> str:
    """Return the message for a program that gdb could not start.

    `printed` is the output of gdb and the program.
    """
    if any(words in f"{reason} {printed}" for words in _PTRACE_DENIED):
        return (
            "gdb may not trace programs here (ptrace: Operation not permitted): in a container,"
            " start it with --cap-add=SYS_PTRACE; else see /proc/sys/kernel/yama/ptrace_scope,"
            " which must not be 3"
        )
    return f"gdb could not start the program: {reason} ({printed})"


class Interruption(Struct):
    """Holds the number of the first signal that asked this process to end, None before a signal.

    `wake` is a file descriptor that the signal makes readable.
    """

    wake: int | None = None
    number: int | None = None

    def drain(self) -> None:
        """Empty `wake`, so that only a later signal makes it readable again."""
        if self.wake is not None:
            with suppress(BlockingIOError):
                os.read(self.wake, 4096)


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Record SIGINT, SIGTERM and SIGHUP that come during the `with` block.

    These signals then do not end this process. Outside the main thread, do nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Interruption()
        return
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    interruption = Interruption(ends[0])

    def note(number: int, _frame: FrameType | None) -> None:
        interruption.number = interruption.number or number

    kept = signal.set_wakeup_fd(ends[1], warn_on_full_buffer=False)
    try:
        with handling({signal.SIGINT: note, signal.SIGTERM: note, signal.SIGHUP: note}):
            yield interruption
    finally:
        signal.set_wakeup_fd(kept)
        for end in ends:
            os.close(end)


@contextmanager
def borrowed_terminal() -> Iterator[None]:
    """Take the terminal back at the end of the `with` block, if this process had it before.

    gdb gives the terminal to the program, so that the program can read from it.
    """
    try:
        had_it = os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        had_it = False
    try:
        yield
    finally:
        if had_it:
            kept = signal.getsignal(signal.SIGTTOU)
            with suppress(OSError, ValueError):
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                os.tcsetpgrp(0, os.getpgrp())
                signal.signal(signal.SIGTTOU, kept)
