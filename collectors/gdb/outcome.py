"""How the program under gdb ended, and how this process is told to end while it runs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNAL_BASE = 128
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PTRACE_DENIED = ("ptrace: Operation not permitted", "Could not trace the inferior process", "Cannot PTRACE_TRACEME")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The program's exit code as a shell reports it (128+n for signal n), and what went wrong, where anything did.

    `was_cut`: it did not end by itself, or by a signal.
    """

    exit_code: int
    reason: str | None = None
    was_cut: bool = False

    def said(self) -> str:
        """In words."""
        return self.reason or f"the program ended with exit code {self.exit_code}"


def outcome_of(stop: dict[str, Any]) -> Outcome | None:
    """The program's end, if the stop is one. gdb prints exit codes in octal."""
    match stop.get("reason"):
        case "exited-normally":
            return Outcome(0)
        case "exited":
            return Outcome(int(str(stop.get("exit-code", "1")), 8))
        case "exited-signalled":
            name = str(stop.get("signal-name", ""))
            number = getattr(signal, name, signal.SIGKILL) if name.startswith("SIG") else signal.SIGKILL
            return Outcome(_SIGNAL_BASE + int(number), f"the program was ended by {name}", was_cut=True)
    return None


def failed_to_start(reason: str, said: str) -> str:
    """The message where gdb could not start the program; `said` is what gdb and the program wrote on their way."""
    if any(words in f"{reason} {said}" for words in _PTRACE_DENIED):
        return (
            "gdb may not trace programs here (ptrace: Operation not permitted): in a container, start it with "
            "--cap-add=SYS_PTRACE; else see /proc/sys/kernel/yama/ptrace_scope, which must not be 3"
        )
    return f"gdb could not start the program: {reason} ({said})"


@dataclass(slots=True)
class Interruption:
    """While entered, notes the first SIGINT, SIGTERM or SIGHUP in `number`, and makes `wake` readable by it.

    Only the main thread can take signals over; from another one, they are left alone. What is ignored stays so.
    """

    number: int | None = None
    wake: int | None = None
    _ends: tuple[int, int] | None = None
    _kept: dict[int, Any] = field(default_factory=dict)
    _kept_wakeup: int = -1

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._ends = os.pipe()
            for end in self._ends:
                os.set_blocking(end, False)
            self.wake = self._ends[0]
            self._kept_wakeup = signal.set_wakeup_fd(self._ends[1], warn_on_full_buffer=False)
            for number in _FORWARDED:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._kept[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._kept.items():
            signal.signal(number, handler)
        if self._ends is not None:
            signal.set_wakeup_fd(self._kept_wakeup)
            for end in self._ends:
                os.close(end)

    def drain(self) -> None:
        """Forget what woke up, where it was a signal of somebody else's."""
        if self.wake is not None:
            with suppress(BlockingIOError):
                os.read(self.wake, 4096)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.number = self.number or number


@contextmanager
def borrowed_terminal() -> Iterator[None]:
    """Take the terminal back afterwards, where this process had it: the program under gdb is given it to read from."""
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
