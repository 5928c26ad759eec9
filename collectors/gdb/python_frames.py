"""Read Python's own frames with py-spy, and insert them among a stack's native frames.

py-spy reads Python's frames while gdb holds the program.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct

from tracelens.derive.stacks.frame_names import (
    UNKNOWN_FUNCTION,
    PrintedFrame,
    file_name,
    normalise_function,
)
from tracelens.derive.stacks.stack_tables import StackFrame
from tracelens.errors import ToolError
from tracelens.running.program import ask
from tracelens.trace.capture import Diagnostics

_PATH = re.compile(r"/[^\s:'\"]+")
_PATIENCE_S = 10
_MOST_FAILURES = 3
_EVAL = "_PyEval_EvalFrameDefault"
_TAIL_CALL = "_TAIL_CALL_"
"""Prefix of the names of C functions that each execute one kind of bytecode instruction.

A CPython 3.14 that was built with tail calls has these functions. In a native stack, such a
function stands directly inside `_PyEval_EvalFrameDefault`.
"""
_INTERPRETER = re.compile(r"_?Py[A-Z_]|pymain_")
_LIBPYTHON = re.compile(r"libpython\d")


class PythonFrame(Struct, frozen=True):
    """Holds a Python frame from py-spy's answer.

    One call of `_PyEval_EvalFrameDefault` may run several Python frames. `is_entry` is True for the
    outermost of these frames.
    """

    printed: PrintedFrame
    is_entry: bool


class PythonStacks(Struct):
    """Reads Python's frames with py-spy, and gives up after a few failures in a row."""

    program: str | None
    diagnostics: Diagnostics
    _n_failures: int = 0

    def read(self, process_id: int) -> dict[int, list[PythonFrame]] | None:
        """Return each thread's Python frames, innermost first, by the system's thread id.

        Before Python 3.11, the key is the address of the pthread. Return None if py-spy fails.
        """
        if self.program is None:
            self._fail("py-spy is absent: Python's frames are missing; pip install pygdbmi py-spy")
            return None
        if self._n_failures >= _MOST_FAILURES:
            return None
        try:
            # Nonblocking, because gdb holds the program already, and a process can have only one
            # tracer.
            answer = ask(
                [self.program, "dump", "--nonblocking", "--json", "--pid", str(process_id)],
                _PATIENCE_S,
            )
            if answer.returncode == 0:
                threads = json.loads(answer.stdout)
                self._n_failures = 0
                return read_threads(threads)
            lines = answer.stderr.strip().splitlines()
            reason = (
                _PATH.sub("…", lines[-1].removeprefix("Error: "))[:200]
                if lines
                else f"code {answer.returncode}"
            )
            why = f"py-spy could not read the program: Python's frames are missing ({reason})"
        except ToolError as error:
            why = f"{error}: Python's frames are missing"
        except ValueError:
            why = "py-spy wrote no JSON: Python's frames are missing"
        self._n_failures += 1
        self._fail(why)
        return None

    def _fail(self, text: str) -> None:
        self.diagnostics.add("warning", "python_frames_unavailable", text)


def read_threads(threads: list[dict[str, Any]]) -> dict[int, list[PythonFrame]]:
    """Return each thread's Python frames from py-spy's answer, by thread id.

    Threads that py-spy could not read are left out.
    """
    return {
        int(thread.get("os_thread_id") or thread["thread_id"]): [
            _frame(frame) for frame in thread["frames"] if not _is_trampoline(frame)
        ]
        for thread in threads
        if not thread.get("error")
    }


def _frame(frame: dict[str, object]) -> PythonFrame:
    line = frame.get("line")
    printed = PrintedFrame(
        str(frame.get("name", UNKNOWN_FUNCTION)),
        None,
        file_name(str(frame.get("filename", ""))),
        line if isinstance(line, int) and line > 0 else None,
    )
    return PythonFrame(
        printed,
        # CPython 3.11 marks entry frames itself. From 3.12 on, py-spy marks them (0.4.1 and later).
        bool(frame.get("is_entry", True) or frame.get("is_shim_entry")),
    )


def _is_trampoline(frame: dict[str, object]) -> bool:
    """Return whether this is the frame that Python 3.12 adds to check the result of `__init__`."""
    return frame.get("name") == frame.get("filename") == "__init__"


class Loops(Struct, frozen=True):
    """Holds the indices of native frames that run Python frames, or that may run them.

    - `named`: frames of `_PyEval_EvalFrameDefault`, the C function that runs Python frames
    - `unnamed`: frames of the interpreter without a function name, which may also run Python frames
    """

    named: tuple[int, ...]
    unnamed: tuple[int, ...]


class Placing(Struct, frozen=True):
    """Holds Python's frames in groups, with the native frames that may have run each group.

    A group is run by one call of the interpreter's loop. Groups are ordered from the innermost to
    the outermost. For each group, `least` and `most` have the indices of the innermost and the
    outermost native frame that may have run the group.
    """

    groups: tuple[tuple[PythonFrame, ...], ...]
    least: tuple[int, ...]
    most: tuple[int, ...]

    @property
    def is_exact(self) -> bool:
        """True if every group has only one possible native frame."""
        return self.least == self.most

    def calls_above(self, pattern: str) -> tuple[str, int, int] | None:
        """Return the innermost Python function whose name ends in `pattern`.

        The two numbers after its name bound the number of calls between the function and frame 0.
        Return None if there is no such function.
        """
        sizes = [0, *accumulate(len(group) for group in self.groups)]
        for i, group in enumerate(self.groups):
            for k, frame in enumerate(group):
                if frame.printed.raw_function.endswith(pattern):
                    before = sizes[i] + k
                    return frame.printed.raw_function, self.least[i] + before, self.most[i] + before
        return None


def has_interpreter(native: Sequence[StackFrame], *, is_python: bool) -> bool:
    """Return whether the stack has a frame of the interpreter.

    `is_python` is True if the program is Python itself. Unnamed frames of the program then count as
    frames of the interpreter.
    """
    return any(
        _is_interpreter(frame)
        or (
            is_python
            and frame.printed.library is None
            and frame.printed.raw_function == UNKNOWN_FUNCTION
        )
        for frame in native
    )


def find_loops(native: Sequence[StackFrame]) -> Loops:
    """Return which native frames are, or may be, calls of the interpreter's loop."""
    named, unnamed = [], []
    for i, frame in enumerate(native):
        if _is_eval(frame):
            inner = i - 1 if i and _is_tail_call(native[i - 1]) else i
            # If the compiler made a part of the loop a function, the loop's own frame calls it.
            if not (i and native[i - 1].printed.raw_function.startswith(f"{_EVAL}.part.")):
                named.append(inner)
        elif _is_tail_call(frame) and not (i + 1 < len(native) and _is_eval(native[i + 1])):
            named.append(i)
        elif frame.printed.raw_function == UNKNOWN_FUNCTION and _is_in_interpreter(frame):
            # A stripped interpreter has no names for parts that the compiler split off from the
            # loop, such as `_PyEval_EvalFrameDefault.cold`.
            unnamed.append(i)
    return Loops(tuple(named), tuple(unnamed))


def place(loops: Loops, python: Sequence[PythonFrame], *, truncated: bool) -> Placing | None:
    """Return Python's frames in groups, with the native frames that may run each group.

    Return None if Python's frames do not fit the native frames.
    """
    groups = _by_entry(python)
    named = loops.named
    if truncated and not loops.unnamed and len(named) <= len(groups):
        # A truncated stack lacks its outer frames.
        groups = groups[: len(named)]
    if len(named) == len(groups):
        return Placing(tuple(groups), named, named)
    # Each named loop runs one group. The other groups run in frames without a name.
    all_loops = sorted((*named, *loops.unnamed))
    last = len(groups) - 1
    least, most = [], []
    for j in range(len(groups)):
        # Every named loop must be used, in order, and leave enough loops on both sides for the
        # other groups.
        candidates = [
            loop
            for i, loop in enumerate(all_loops)
            if bisect_left(named, loop) <= j <= i
            and len(named) - bisect_left(named, loop + 1) <= last - j <= len(all_loops) - 1 - i
        ]
        if truncated or not candidates:
            return None
        least.append(candidates[0])
        most.append(candidates[-1])
    return Placing(tuple(groups), tuple(least), tuple(most)) if groups else None


def merge(native: Sequence[StackFrame], placing: Placing) -> list[StackFrame]:
    """Return native and Python frames in one list, innermost first, with new levels.

    Python's frames stand directly before the native frame that runs them.
    """
    inside = dict(zip(placing.least, placing.groups, strict=True))
    merged: list[StackFrame] = []
    for i, frame in enumerate(native):
        for python_frame in inside.get(i, ()):
            merged.append(StackFrame(len(merged), None, python_frame.printed, is_python=True))
        merged.append(StackFrame(len(merged), frame.address, frame.printed, frame.has_debug_info))
    return merged


def _by_entry(python: Sequence[PythonFrame]) -> list[tuple[PythonFrame, ...]]:
    """Group Python frames by the call of the interpreter's loop that runs them."""
    groups: list[list[PythonFrame]] = [[]]
    for frame in python:
        groups[-1].append(frame)
        if frame.is_entry:
            groups.append([])
    return [tuple(group) for group in groups if group]


def _is_eval(frame: StackFrame) -> bool:
    return (
        frame.printed.raw_function.startswith(_EVAL)
        and normalise_function(frame.printed.raw_function) == _EVAL
    )


def _is_tail_call(frame: StackFrame) -> bool:
    return frame.printed.raw_function.startswith(_TAIL_CALL)


def _is_interpreter(frame: StackFrame) -> bool:
    library = frame.printed.library
    return _INTERPRETER.match(frame.printed.raw_function) is not None or (
        library is not None and _LIBPYTHON.match(library) is not None
    )


def _is_in_interpreter(frame: StackFrame) -> bool:
    """Return whether the frame's code is Python's own.

    This code is in libpython or, if Python is linked statically, in the program.
    """
    return frame.printed.library is None or _LIBPYTHON.match(frame.printed.library) is not None
