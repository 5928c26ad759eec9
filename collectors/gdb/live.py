"""Run a program under gdb, and read its call stack at every stop at a breakpoint."""

import logging
import os
import re
import shlex
import signal
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import asdict

from tracelens.collectors.gdb.breakpoints import DEFAULT_SYMBOL, Breakpoints
from tracelens.collectors.gdb.ending import (
    Interruption,
    Outcome,
    borrowed_terminal,
    failed_to_start,
    interruptible,
    outcome_of,
)
from tracelens.collectors.gdb.logs import KIND, count_losses
from tracelens.collectors.gdb.mi import GdbGoneError, Record, RefusedError, Session
from tracelens.collectors.gdb.stops import StopReader
from tracelens.collectors.gdb.targets import find_gdb, find_py_spy, resolve
from tracelens.derive.stacks.stack_tables import Stop, find_function, stack_tables
from tracelens.errors import ToolError, UsageError
from tracelens.running.program import LAUNCH, SIGNAL_BASE, program_at, script_name
from tracelens.schemas import TABLES
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.collector import Run

_LOG = logging.getLogger(__name__)


class Limits(Struct, frozen=True):
    """Limits which stacks are kept, and how long the program runs."""

    hits: int = 100
    """After this many kept stacks of a symbol, its breakpoint is deleted."""
    skip: int = 0
    """The number of calls of each symbol that are skipped before the first stack is kept.

    Only calls with the function `where_frame` in their stack count.
    """
    where_frame: str | None = None
    """A function that must be in the stack, as a plain name or a regular expression."""
    timeout_s: float | None = None
    """After this time the program is killed, and the capture is incomplete."""
    frames: int = 1000
    """At most this many frames of a stack are listed."""

    def check(self) -> None:
        """Raise UsageError for impossible values."""
        if (
            self.hits < 1
            or self.skip < 0
            or self.frames < 1
            or (self.timeout_s is not None and self.timeout_s <= 0)
        ):
            raise UsageError("hits, frames and the timeout must be above 0, skip 0 or more")
        if self.where_frame is not None:
            find_function([""], self.where_frame)  # raises if the pattern is invalid


_GRACE_S = 10.0
_SETTINGS = (
    "confirm off",
    "pagination off",
    "breakpoint pending on",
    "print frame-arguments none",  # reading values takes time, and they may be secrets
    "print entry-values no",
    # libpython's own script for gdb would filter the frames
    "auto-load python-scripts off",
    "debuginfod enabled off",
    "startup-with-shell on",
    "detach-on-fork on",
    "follow-fork-mode parent",
    "cuda api_failures ignore",
)


class LiveStacks(Run, frozen=True):
    """Holds the result of a run under gdb.

    `hit_seconds` has, for each kept stack, how many seconds the program was stopped.
    """

    hit_seconds: Sequence[float] = ()


def run(
    command: Sequence[str],
    breaks: Sequence[str] = (DEFAULT_SYMBOL,),
    *,
    limits: Limits | None = None,
    gdb: str | None = None,
    implementation: str | None = None,
) -> LiveStacks:
    """Run the command under gdb and keep the stack of every call of the functions in `breaks`.

    The program uses this process's standard streams. A signal that asks this process to end is
    sent to the program. `gdb` is the path of gdb or cuda-gdb, None to search for it.
    `implementation` labels the stacks, by default with the script's name. Raises ToolError if gdb
    or the program cannot be run, or if no stack was captured.
    """
    limits = limits or Limits()
    limits.check()
    symbols = tuple(dict.fromkeys(breaks))
    if not symbols or not command:
        raise UsageError("a live gdb capture needs a command and at least one symbol to break at")
    debugger = find_gdb(gdb)
    with interruptible() as interruption, borrowed_terminal():
        live = _Live(symbols, limits, Diagnostics())
        outcome = live.drive(debugger, resolve(command), interruption)
    _LOG.debug("the program has ended")
    return live.result(outcome, implementation or script_name(command))


@dataclass(slots=True)
class _Live:
    symbols: tuple[str, ...]
    limits: Limits
    diagnostics: Diagnostics
    breakpoints: Breakpoints = field(init=False)
    reader: StopReader = field(init=False)
    stops: list[Stop] = field(default_factory=list)
    hit_seconds: list[float] = field(default_factory=list)
    version: str | None = None

    def __post_init__(self) -> None:
        self.breakpoints = Breakpoints(self.symbols)
        self.reader = StopReader(self.limits.where_frame, self.limits.frames, self.diagnostics)

    def drive(self, debugger: str, command: list[str], interruption: Interruption) -> Outcome:
        """Run the program to its end, or until the timeout."""
        limit = self.limits.timeout_s
        deadline = None if limit is None else time.monotonic() + limit
        streams = [_copy(number) for number in range(3)]
        arguments = [debugger, "--nx", "--quiet", "--interpreter=mi3", "--args", *command]
        try:
            session = Session(arguments, streams, self._notice, interruption.wake)
        finally:
            for stream in streams:
                os.close(stream)
        try:
            self._set_up(session, streams)
            return self._run(session, deadline, interruption)
        except (GdbGoneError, RefusedError) as error:
            if not self.stops:
                raise ToolError(
                    f"{debugger} failed: {error}; try it alone: {debugger} --args PROGRAM"
                ) from error
            return Outcome(1, f"gdb failed: {error}", was_cut=True)
        finally:
            # The program may still run, with children in its process group.
            self._signal(signal.SIGKILL)
            session.close()

    def _set_up(self, session: Session, streams: list[int]) -> None:
        """Set gdb's settings and the breakpoints, before the program starts."""
        for setting in _SETTINGS:
            with suppress(RefusedError):  # some versions do not know this setting
                session.ask(f"-gdb-set {setting}")
        printed = session.ask_console("show version")
        self.version = (
            match[1]
            if (match := re.search(r"(?:gdb|GDB)\D{0,80}?(\d+\.\d[\w.]*)", printed))
            else None
        )
        # gdb passes signals on without stopping. Only a Ctrl-Z at the terminal would leave the
        # program stuck.
        for rule in (
            "all nostop noprint pass",
            "SIGINT nostop noprint pass",
            "SIGTSTP nostop noprint nopass",
        ):
            session.ask_console(f"handle {rule}")
        shell = os.environ.get("SHELL")
        session.ask_console(
            f"set environment SHELL {shell}" if shell else "unset environment SHELL"
        )
        unset = ",".join(name for name in ("LINES", "COLUMNS") if name not in os.environ)
        words = [
            *LAUNCH,
            "under_gdb",
            *map(str, streams),
            unset,
            str(os.getpid()),
        ]
        session.ask_console(f"set exec-wrapper {shlex.join(words)}")
        self.breakpoints.insert(session)

    def _run(self, session: Session, deadline: float | None, interruption: Interruption) -> Outcome:
        try:
            session.ask("-exec-run")
        except RefusedError as error:
            raise ToolError(failed_to_start(str(error), session.last_words())) from error
        while True:
            stop = session.wait_stop(deadline)
            if (
                stop is None
                and interruption.number is None
                and (deadline is None or time.monotonic() < deadline)
            ):
                interruption.drain()
                continue
            if stop is None:
                return self._end(session, interruption.number)
            outcome = outcome_of(stop)
            if outcome is not None:
                return outcome
            if stop.get("reason") == "breakpoint-hit":
                self._take(session, stop)
            elif str(stop.get("signal-name", "")).startswith("CUDA_EXCEPTION"):
                return Outcome(1, f"the program stopped with {stop['signal-name']} on the GPU")
            session.ask("-exec-continue")

    def _take(self, session: Session, stop: Record) -> None:
        """Read a stop at a breakpoint and keep its stack if it is wanted."""
        began = time.perf_counter()
        breakpoint_ = self.breakpoints.at(stop)
        # Checked at every stop, because the first call may load the library to which it is
        # forwarded.
        if breakpoint_ is None or self.reader.is_forwarded(session, stop):
            return
        breakpoint_.n_calls += 1
        if self.limits.where_frame is None and breakpoint_.n_calls <= self.limits.skip:
            breakpoint_.n_matching += 1  # not examined, which makes skipping fast
            return
        full_stop = self.reader.frames(session, stop)
        if not self.reader.matches(full_stop):
            return
        breakpoint_.n_matching += 1
        if breakpoint_.n_matching <= self.limits.skip:
            return
        full_stop.hit = breakpoint_.n_calls
        self.reader.complete(session, full_stop, breakpoint_.symbol)
        self.stops.append(full_stop)
        breakpoint_.n_kept += 1
        if breakpoint_.n_kept >= self.limits.hits:
            breakpoint_.remove(session)
        self.hit_seconds.append(time.perf_counter() - began)

    def _end(self, session: Session, number: int | None) -> Outcome:
        """End the program after a timeout, or after a signal to this process.

        The program gets the same signal, or SIGTERM after a timeout, and at last SIGKILL.
        """
        why = (
            f"the capture was ended by {signal.Signals(number).name}"
            if number
            else f"the program was killed after {self.limits.timeout_s:g} s"
        )
        for sent in (number or signal.SIGTERM, signal.SIGKILL):
            self._signal(sent)
            end = time.monotonic() + _GRACE_S
            while (stop := session.wait_stop(end, wakeable=False)) is not None:
                ended = outcome_of(stop)
                if ended is not None:
                    return Outcome(ended.exit_code, why, was_cut=True)
                self.breakpoints.remove_all(session)
                session.ask("-exec-continue")
        return Outcome(SIGNAL_BASE + signal.SIGKILL, why, was_cut=True)

    def _notice(self, message: str, payload: Record) -> None:
        if message == "library-loaded":
            self.reader.libraries.loaded(payload)
        elif message == "library-unloaded":
            self.reader.libraries.unloaded(payload)
        elif message == "breakpoint-modified":
            self.breakpoints.modified(payload.get("bkpt"))
        elif message == "thread-group-started":
            self.reader.process_id = int(payload["pid"])
        elif message == "thread-group-exited":
            self.reader.process_id = None

    def _signal(self, number: int) -> None:
        """Send a signal to the program's process group."""
        if self.reader.process_id is not None:
            with suppress(OSError):
                os.killpg(self.reader.process_id, number)

    def result(self, outcome: Outcome, implementation: str) -> LiveStacks:
        """Return the captured stacks and remarks. Raises ToolError if no stack was captured."""
        unreached = self.breakpoints.unreached()
        if not self.stops:
            raise ToolError(f"no stack was captured, and {outcome.in_words()}. {unreached}")
        if unreached is not None:
            self.diagnostics.add("info", "never_hit", unreached)
        if outcome.reason:
            self.diagnostics.add("warning", "program_cut", outcome.reason)
        text = "stops at the second export of a symbol, in the same call"
        self.diagnostics.add("info", "doubled_stop", text, self.reader.n_forwarded)
        count_losses(self.stops, self.diagnostics)
        held_ms = statistics.median(self.hit_seconds[1:] or self.hit_seconds) * 1e3
        of_which = (
            "median after the first" if len(self.stops) > 1 else "the first, which is the slowest"
        )
        remarks = [f"{outcome.in_words()}; a stack took {held_ms:.0f} ms ({of_which})"]
        remarks += [unreached] if unreached else []
        has_merged = any(stop.python_frames == "merged" for stop in self.stops)
        versions = {
            "gdb": self.version,
            "py-spy": program_at(find_py_spy()).version if has_merged else None,
        }
        capture = Capture(
            kind=KIND,
            source=SourceFile(implementation, KIND, 0, ""),
            tables=stack_tables(self.stops, implementation),
            producer="gdb",
            rank=0,
            versions={name: version for name, version in versions.items() if version},
            complete=not outcome.was_cut and not any(stop.truncated for stop in self.stops),
            settings={
                "symbols": list(self.symbols),
                **asdict(self.limits),
                "exit_code": outcome.exit_code,
                "build_kinds": self.reader.libraries.build_kinds(),
            },
            reasons=dict.fromkeys(TABLES, "a run under gdb gives call stacks only"),
            diagnostics=self.diagnostics,
        )
        return LiveStacks(
            [capture],
            outcome.exit_code,
            tuple(remarks),
            hit_seconds=tuple(self.hit_seconds),
        )


def _copy(number: int) -> int:
    """Return a copy of a file descriptor.

    If the descriptor is closed, return a descriptor of os.devnull.
    """
    try:
        return os.dup(number)
    except OSError:
        return os.open(os.devnull, os.O_RDWR)
