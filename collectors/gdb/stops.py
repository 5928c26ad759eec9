"""Read the stack of each stop at a breakpoint, with its thread, libraries and Python's frames."""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tracelens.collectors.gdb.mi import Record, RefusedError, Session, mi_frame
from tracelens.collectors.gdb.python_frames import (
    Placing,
    PythonStacks,
    find_loops,
    has_interpreter,
    merge,
    place,
)
from tracelens.collectors.gdb.targets import find_py_spy
from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION, file_name, normalise_function
from tracelens.derive.stacks.stack_tables import StackFrame, Stop, find_function
from tracelens.trace.capture import Diagnostics

_LWP = re.compile(r"(?:Thread (0x[0-9a-f]+) )?\(?LWP (\d+)")
_LIST = "-stack-list-frames --no-frame-filters"
_NO_SUCH_FILE = "^[.]no-such-file$"
_CALL = ".forward"
"""Ending of the names of Python's `forward` methods.

If Python's frames cannot be merged into a stack, a message says how many calls lead from the
innermost `forward` to frame 0.
"""


class _Call(Struct, frozen=True):
    """Identifies a call in progress on one thread."""

    function: str
    library: str | None
    return_address: str
    stack_pointer: str


@dataclass(slots=True)
class Libraries:
    """Follows gdb's notices of the program's libraries.

    `debug` holds whether a library has debug information, None if gdb does not list the library.
    The program's own file counts as a library.
    """

    debug: dict[str, bool | None] = field(default_factory=dict)
    _ranges: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)

    def loaded(self, payload: dict[str, Any]) -> None:
        """Handle gdb's notice `=library-loaded`."""
        if name := file_name(str(payload.get("target-name", payload.get("id", "")))):
            self._ranges[str(payload.get("id", name))] = [
                (
                    int(item["from"], 16),
                    int(item["to"], 16),
                    name,
                )
                for item in payload.get("ranges", [])
                if isinstance(item, dict) and "from" in item and "to" in item
            ]

    def unloaded(self, payload: dict[str, Any]) -> None:
        """Handle gdb's notice `=library-unloaded`."""
        self._ranges.pop(str(payload.get("id", "")), None)

    def at(self, address: str | None) -> str | None:
        """Return the library with the code at this address.

        Return None for the program's own code, and for code that was generated at run time.
        """
        number = int(address, 16) if address is not None else -1
        spans = (span for spans in self._ranges.values() for span in spans)
        return next(
            (name for low, high, name in spans if low <= number < high),
            None,
        )

    def look_up(self, session: Session, libraries: Iterable[str | None]) -> None:
        """Ask gdb which object files have debug information."""
        unknown = {library for library in libraries if library is not None} - self.debug.keys()
        # The query takes tenths of a second.
        if not unknown:
            return
        # gdb before version 12 lacks this query.
        with suppress(RefusedError):
            answer = session.ask(
                f"-file-list-exec-source-files --group-by-objfile -- {_NO_SUCH_FILE}"
            )
            for item in answer.get("files", []):
                path = str(item.get("filename", ""))
                # gdb also lists separate files of debug information. They are skipped, because
                # their libraries are listed as having debug information.
                if (
                    path.startswith("/")
                    and not path.endswith(".debug")
                    and (name := file_name(path))
                ):
                    self.debug[name] = item.get("debug-info") != "none"
        for library in unknown:
            self.debug.setdefault(library)

    def build_kinds(self) -> dict[str, str]:
        """Return the build of each library and of the program: debug, release or unknown."""
        words = {True: "debug", False: "release", None: "unknown"}
        return {name: words[debug] for name, debug in sorted(self.debug.items())}


@dataclass(slots=True)
class StopReader:
    """Reads the stops of one program from gdb and py-spy."""

    where_frame: str | None
    most_frames: int
    diagnostics: Diagnostics
    process_id: int | None = None
    n_forwarded: int = 0
    libraries: Libraries = field(default_factory=Libraries)
    python: PythonStacks = field(init=False)
    _calls: dict[str, _Call] = field(default_factory=dict)
    _lwps: dict[str, int | None] = field(default_factory=dict)
    _pthreads: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.python = PythonStacks(find_py_spy(), self.diagnostics)

    def is_forwarded(self, session: Session, stop: Record) -> bool:
        """Return whether the stop belongs to a call that was counted already.

        cuDNN 9 forwards a function to the function of the same name in another library, by a call
        or by a jump.
        """
        frame, thread = stop.get("frame", {}), str(stop.get("thread-id", ""))
        function, library = str(frame.get("func", UNKNOWN_FUNCTION)), self._library(frame)
        try:
            caller: Record = session.ask(f"{_LIST} 1 1")["stack"][0]
            stack_pointer = session.ask(
                f"-data-evaluate-expression --thread {thread} --frame 1 $sp"
            )["value"]
        except (RefusedError, KeyError, IndexError):
            return False
        call = _Call(function, library, str(caller.get("addr")), str(stack_pointer))
        before = self._calls.get(thread)
        # After a jump, the stop has the same stack and return address as the thread's last stop.
        jumped = (
            before is not None
            and before.library != library
            and before == replace(call, library=before.library)
        )
        called = caller.get("func") == function and self._library(caller) not in {library, None}
        if library is None or function == UNKNOWN_FUNCTION or not (jumped or called):
            self._calls[thread] = call
            return False
        self.n_forwarded += 1
        return True

    def frames(self, session: Session, stop: Record) -> Stop:
        """Return the stop with its innermost native frames, at most `most_frames`.

        If there are more frames, the returned stop's `depth` is the number of all frames.
        """
        most, thread = self.most_frames, str(stop.get("thread-id", ""))
        try:
            records: Sequence[Record] = session.ask(f"{_LIST} 0 {most - 1}")["stack"]
        except (RefusedError, KeyError):
            records = [{"level": "0", **stop.get("frame", {})}]
            self.diagnostics.add(
                "warning", "backtrace_stopped", "stacks that gdb could not unwind to their end"
            )
            return Stop(self._frames(records), thread, truncated=True)
        listed = Stop(self._frames(records), thread)
        if len(listed.frames) >= most:
            listed.depth = self._depth(session, len(listed.frames))
            listed.truncated = listed.depth > len(listed.frames)
            text = f"stacks of more than {most} frames, listed up to there"
            self.diagnostics.add("warning", "frames_cut", text, int(listed.truncated))
        return listed

    def matches(self, stop: Stop) -> bool:
        """Return whether the stack contains `where_frame`; True if `where_frame` is None."""
        if self.where_frame is None:
            return True
        names = [normalise_function(frame.printed.raw_function) for frame in stop.frames]
        return find_function(names, self.where_frame) is not None

    def complete(self, session: Session, stop: Stop, symbol: str) -> None:
        """Add the system's thread id, each frame's debug information, and Python's frames."""
        stop.process_id = self.process_id
        stop.thread_id = self._lwp(session, stop.thread or "")
        self.libraries.look_up(
            session,
            {frame.printed.library for frame in stop.frames},
        )
        stop.frames = [
            replace(
                frame,
                has_debug_info=self.libraries.debug.get(frame.printed.library or ""),
            )
            for frame in stop.frames
        ]
        if stop.frames[0].printed.raw_function == UNKNOWN_FUNCTION:
            stop.symbol = symbol
        stop.python_frames = self._add_python(stop)

    def _add_python(self, stop: Stop) -> str:
        """Merge Python's frames into the stack, and return the outcome.

        The outcome is none (no interpreter), unavailable or merged.
        """
        if self.process_id is None or not has_interpreter(
            stop.frames, is_python=_is_python(self.process_id)
        ):
            return "none"
        threads = self.python.read(self.process_id)
        if threads is None:
            return "unavailable"
        key = next(
            (
                key
                for key in (stop.thread_id, self._pthreads.get(stop.thread or ""))
                if key in threads
            ),
            None,
        )
        if key is None:
            text = "stacks of threads that py-spy does not list: Python's frames are missing"
            self.diagnostics.add("warning", "python_frames_unavailable", text)
            return "unavailable"
        python, loops = threads[key], find_loops(stop.frames)
        placing = place(loops, python, truncated=stop.truncated)
        if placing is None or not placing.is_exact:
            self._unplaced(placing)
            return "unavailable"
        if stop.depth is not None:
            stop.depth += len(python)
        stop.frames = merge(stop.frames, placing)
        return "merged"

    def _unplaced(self, placing: Placing | None) -> None:
        """Report that a stack's Python frames are left out.

        If `placing` is known, also report bounds on the number of calls between a Python function
        and frame 0.
        """
        text = "stacks whose Python frames do not fit the native ones; they were left out"
        self.diagnostics.add("warning", "python_frames_unfit", text)
        bounds = placing and (placing.calls_above(_CALL) or placing.calls_above(""))
        if bounds:
            name, least, most = bounds
            text = (
                f"stacks in which {name} is {least} to {most} calls above frame 0, by the native"
                " frames that have names"
            )
            self.diagnostics.add("info", "python_frames_between", text)

    def _frames(self, records: Sequence[Record]) -> list[StackFrame]:
        frames = [frame for record in records if (frame := mi_frame(record))]
        return [
            (
                frame
                if frame.printed.library
                else replace(
                    frame,
                    printed=replace(frame.printed, library=self.libraries.at(frame.address)),
                )
            )
            for frame in frames
        ]

    def _library(self, record: Record) -> str | None:
        """Return the library of a frame.

        gdb leaves the library out of a frame that has debug information.
        """
        return file_name(str(record.get("from", ""))) or self.libraries.at(record.get("addr"))

    def _depth(self, session: Session, at_least: int) -> int:
        try:
            return int(session.ask("-stack-info-depth")["depth"])
        except (RefusedError, KeyError, ValueError):
            return at_least + 1

    def _lwp(self, session: Session, thread: str) -> int | None:
        if thread not in self._lwps:
            try:
                (about,) = session.ask(f"-thread-info {thread}")["threads"]
                match = _LWP.search(str(about.get("target-id", "")))
            except (RefusedError, KeyError, ValueError):
                match = None
            # gdb names no LWP if the program has one thread and no libpthread. The id of its only
            # thread is the process id.
            self._lwps[thread] = int(match[2]) if match else self.process_id
            if match and match[1]:
                self._pthreads[thread] = int(match[1], 16)
        return self._lwps[thread]


def _is_python(process_id: int) -> bool:
    try:
        program = os.readlink(f"/proc/{process_id}/exe")  # noqa: PTH115 - as text
    except OSError:
        return False
    return (file_name(program) or "").startswith("python")
