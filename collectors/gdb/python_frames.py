"""Python's own frames, read by py-spy while gdb holds the program, and where among the native ones they belong."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tracelens.capture import Diagnostics
from tracelens.derive.frame_names import UNKNOWN_FUNCTION, PrintedFrame, file_name, normalise_function
from tracelens.derive.stack_tables import StackFrame

_EVAL = "_PyEval_EvalFrameDefault"
_INTERPRETER = re.compile(r"_?Py[A-Z_]|pymain_")
_LIBPYTHON = re.compile(r"libpython\d")
_PATH = re.compile(r"/[^\s:'\"]+")
_PATIENCE_S = 10
_MOST_FAILURES = 3


@dataclass(frozen=True, slots=True)
class PythonFrame:
    """A frame as py-spy tells it; `is_entry`: the interpreter's C function was entered with it."""

    printed: PrintedFrame
    is_entry: bool


@dataclass(slots=True)
class PythonStacks:
    """Asks py-spy; after a few failures in a row no more."""

    program: str | None
    diagnostics: Diagnostics
    _n_failures: int = 0

    def read(self, process_id: int) -> dict[int, list[PythonFrame]] | None:
        """Frames from the innermost by the system's thread id; null where they could not be read."""
        if self.program is None:
            self._fail("py-spy is absent: Python's frames are missing; pip install 'tracelens-toolkit[gdb]'")
            return None
        if self._n_failures >= _MOST_FAILURES:
            return None
        try:
            # Nonblocking: gdb holds the program, and a process can have one tracer only.
            answer = subprocess.run(  # noqa: S603 - py-spy, found on PATH
                [self.program, "dump", "--nonblocking", "--json", "--pid", str(process_id)],
                capture_output=True,
                timeout=_PATIENCE_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            threads = json.loads(answer.stdout) if answer.returncode == 0 else None
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            self._n_failures += 1
            self._fail(f"py-spy failed ({type(error).__name__}): Python's frames are missing")
            return None
        if threads is None:
            self._n_failures += 1
            said = answer.stderr.decode(errors="replace").strip().splitlines()
            reason = _PATH.sub("…", said[-1].removeprefix("Error: "))[:200] if said else f"code {answer.returncode}"
            self._fail(f"py-spy could not read the program: Python's frames are missing ({reason})")
            return None
        self._n_failures = 0
        return {thread["os_thread_id"]: [_frame(frame) for frame in thread["frames"]] for thread in threads}

    def _fail(self, text: str) -> None:
        self.diagnostics.add("warning", "python_frames_unavailable", text)


def _frame(said: dict[str, object]) -> PythonFrame:
    line = said.get("line")
    place = file_name(str(said.get("filename", "")))
    printed = PrintedFrame(
        str(said.get("name", UNKNOWN_FUNCTION)), None, place, line if isinstance(line, int) and line > 0 else None
    )
    return PythonFrame(printed, bool(said.get("is_entry", True)))


def has_interpreter(native: Sequence[StackFrame], *, is_python: bool) -> bool:
    """Whether an interpreter's frames are in the stack; `is_python`: frames of the program itself are such."""
    return any(
        _is_interpreter(frame)
        or (is_python and frame.printed.library is None and frame.printed.raw_function == UNKNOWN_FUNCTION)
        for frame in native
    )


def merge(native: Sequence[StackFrame], python: Sequence[PythonFrame], *, truncated: bool) -> list[StackFrame] | None:
    """Both kinds of frames in one list from the innermost, numbered anew; null where they do not fit together.

    An activation of the interpreter's loop runs the Python frames up to the one it was entered with: they stand right
    inside it. Where the loop has no name (a stripped interpreter) each run of the interpreter's frames is taken for one
    activation, if there are as many. Of a stack that was cut, the outer Python frames are left out.
    """
    groups = _by_entry(python)
    at = [i for i, frame in enumerate(native) if _is_eval(frame)]
    if not at:
        at = _unnamed_loops(native)
    if len(at) != len(groups) and not (truncated and len(at) <= len(groups)):
        return None
    inside = dict(zip(at, groups, strict=False))
    merged: list[StackFrame] = []
    for i, frame in enumerate(native):
        for own in inside.get(i, ()):
            merged.append(StackFrame(len(merged), None, own.printed, is_python=True))
        merged.append(StackFrame(len(merged), frame.address, frame.printed, frame.has_debug_info))
    return merged


def _by_entry(python: Sequence[PythonFrame]) -> list[list[PythonFrame]]:
    """The frames of each activation of the interpreter's loop."""
    groups: list[list[PythonFrame]] = [[]]
    for frame in python:
        groups[-1].append(frame)
        if frame.is_entry:
            groups.append([])
    return [group for group in groups if group]


def _is_eval(frame: StackFrame) -> bool:
    return frame.printed.raw_function.startswith(_EVAL) and normalise_function(frame.printed.raw_function) == _EVAL


def _is_interpreter(frame: StackFrame) -> bool:
    library = frame.printed.library
    return _INTERPRETER.match(frame.printed.raw_function) is not None or (
        library is not None and _LIBPYTHON.match(library) is not None
    )


def _unnamed_loops(native: Sequence[StackFrame]) -> list[int]:
    """The innermost frame without a name in each run of frames of the interpreter: libpython's, or the program's."""
    found = []
    for inside, run in groupby(enumerate(native), key=lambda pair: _is_in_interpreter(pair[1])):
        unnamed = [i for i, frame in run if frame.printed.raw_function == UNKNOWN_FUNCTION]
        if inside and unnamed:
            found.append(unnamed[0])
    return found


def _is_in_interpreter(frame: StackFrame) -> bool:
    """Whether the frame's code is libpython's or, where Python is linked statically, the program's own."""
    return frame.printed.library is None or _LIBPYTHON.match(frame.printed.library) is not None
