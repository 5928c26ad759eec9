"""Talk to gdb over its machine interface (MI), with pygdbmi's parser."""

import importlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tracelens.derive.stacks.frame_names import (
    UNKNOWN_FUNCTION,
    PrintedFrame,
    file_name,
    without_folders,
)
from tracelens.derive.stacks.stack_tables import StackFrame
from tracelens.errors import ToolError
from tracelens.running.program import start

_ANSWER_S = 120.0
"""The seconds within which gdb must answer a command.

Unwinding 16,000 frames, or reading CUDA's symbols, takes several seconds.
"""
_GRACE_S = 3.0
_KEPT_WORDS = 40

Record = dict[str, Any]


class GdbGoneError(Exception):
    """Raised when gdb itself has ended, or no longer answers."""


class RefusedError(Exception):
    """Raised with gdb's own text when gdb answers a command with an error."""


class Session:
    """Controls a running gdb.

    `on_notice` is called with every asynchronous record other than a stop (libraries loaded,
    breakpoints modified). `wake` is a file descriptor that ends a wait when it becomes readable.
    """

    def __init__(
        self,
        command: Sequence[str],
        streams: Sequence[int],
        on_notice: Callable[[str, Record], None],
        wake: int | None,
    ) -> None:
        """Run gdb in its own process group, so that the terminal's Ctrl-C does not reach it.

        gdb inherits the file descriptors `streams` for the program. Raises ToolError if pygdbmi is
        absent or gdb cannot be run.
        """
        try:
            manager = importlib.import_module("pygdbmi.IoManager")
        except ImportError as error:
            raise ToolError(
                "a live gdb capture needs pygdbmi, which is absent; pip install pygdbmi py-spy"
            ) from error
        self.on_notice, self.wake = on_notice, wake
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the session
        try:
            self.process = start(
                command[0],
                command,
                at_death=signal.SIGKILL,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                bufsize=0,
                process_group=0,
                pass_fds=streams,
                # gdb starts the program through $SHELL, in the syntax of sh
                env={**os.environ, "SHELL": "/bin/sh"},
            )
        except ToolError:
            self.errors.close()
            raise
        self._reader: Any = manager.IoManager(self.process.stdin, self.process.stdout, None, 0)
        self._token = 0
        self._stops: deque[Record] = deque()
        self._answers: dict[int, Record] = {}
        self._console: list[str] | None = None
        self._words: deque[str] = deque(maxlen=_KEPT_WORDS)

    def ask(self, command: str, timeout_s: float = _ANSWER_S) -> Record:
        """Return the payload of gdb's answer to a command. Raises RefusedError or GdbGoneError."""
        self._token += 1
        token = self._token
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{token}{command}\n".encode())
        except OSError as error:
            raise GdbGoneError(self.last_words()) from error
        end = time.monotonic() + timeout_s
        while token not in self._answers:
            if not self._read(end, watch=False) and time.monotonic() >= end:
                raise GdbGoneError(
                    f"gdb has not answered {command.split(maxsplit=1)[0]} within {timeout_s:g} s"
                )
        answer = self._answers.pop(token)
        payload: Record = answer["payload"] or {}
        if answer["message"] == "error":
            raise RefusedError(str(payload.get("msg", "gdb gave no reason")))
        return payload

    def ask_console(self, command: str) -> str:
        """Run a console command of gdb, and return its output."""
        printed: list[str] = []
        self._console = printed
        escaped = command.replace("\\", "\\\\").replace('"', '\\"')
        try:
            self.ask(f'-interpreter-exec console "{escaped}"')
        finally:
            self._console = None
        return "".join(printed)

    def wait_stop(self, deadline: float | None, *, wakeable: bool = True) -> Record | None:
        """Return the next stop's payload.

        Return None when the deadline (by time.monotonic) has come or `wake` is readable.
        """
        while not self._stops:
            if not self._read(deadline, watch=wakeable):
                return None
        return self._stops.popleft()

    def last_words(self) -> str:
        """Return gdb's last lines of standard error and log, for error messages."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").splitlines()
        kept = [line.strip() for line in (*self._words, *lines[-_KEPT_WORDS:]) if line.strip()]
        return "; ".join(dict.fromkeys(kept[-6:])) or "gdb gave no reason"

    def close(self) -> None:
        """End gdb and the program. Raises no error."""
        if self.process.poll() is None:
            with suppress(OSError, AssertionError):
                assert self.process.stdin is not None
                self.process.stdin.write(b"-gdb-exit\n")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE_S)
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _read(self, deadline: float | None, *, watch: bool) -> bool:
        """Read gdb's next records.

        Return False if the deadline came first, or if `wake` became readable first and `watch` is
        True. Raises GdbGoneError if gdb has ended.
        """
        assert self.process.stdout is not None
        watched = [self.process.stdout.fileno()]
        if watch and self.wake is not None:
            watched.append(self.wake)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select(watched, [], [], left)
        if not ready or self.wake in ready:
            return False
        records = self._reader.get_gdb_response(0, raise_error_on_timeout=False)
        if not records and self.process.poll() is not None:
            raise GdbGoneError(self.last_words())
        for record in records:
            self._dispatch(record)
        return True

    def _dispatch(self, record: Record) -> None:
        kind, message = record["type"], record["message"]
        if kind == "result":
            if record["token"] is not None:
                self._answers[record["token"]] = record
        elif kind == "notify" and message == "stopped":
            self._stops.append(record["payload"] or {})
        elif kind == "notify":
            self.on_notice(message, record["payload"] or {})
        elif kind == "console" and self._console is not None:
            self._console.append(record["payload"] or "")
        elif kind == "log":
            self._words.append(record["payload"] or "")


def mi_frame(record: Mapping[str, str]) -> StackFrame | None:
    """Return the frame of a `frame={…}` record, None if the record has no level.

    File and library names are without folders.
    """
    level, number = record.get("level", ""), record.get("line", "")
    if not (level.isascii() and level.isdigit() and len(level) < 8):
        return None
    printed = PrintedFrame(
        without_folders(record.get("func", "")) or UNKNOWN_FUNCTION,
        file_name(record.get("from", "")),
        file_name(record.get("file", "")),
        int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None,
    )
    return StackFrame(int(level), record.get("addr"), printed)
