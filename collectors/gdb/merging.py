"""Inserting Python's own frames at their places among a stack's native frames."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tracelens.collectors.gdb.python_frames import PythonFrame
from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION, normalise_function
from tracelens.derive.stacks.stack_tables import StackFrame

_EVAL = "_PyEval_EvalFrameDefault"
_TAIL_CALL = "_TAIL_CALL_"
"""Prefix of the instruction handlers in CPython 3.14's interpreter built with tail calls: the running handler has a
frame right inside the loop's.
"""

_INTERPRETER = re.compile(r"_?Py[A-Z_]|pymain_")
_LIBPYTHON = re.compile(r"libpython\d")


@dataclass(frozen=True, slots=True)
class Loops:
    """Indices of native frames that run Python frames, or may.

    `named` are certainly activations of the interpreter's loop; each of `unnamed`, the interpreter's frames without a
    name, may be one.
    """

    named: tuple[int, ...]
    unnamed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placing:
    """Python's frames by activation of the loop, from the innermost, and the native frames that each activation may be.

    `least` and `most` are the innermost and outermost possible native frame, by activation. Where they are equal, the
    merge is exact.
    """

    groups: tuple[tuple[PythonFrame, ...], ...]
    least: tuple[int, ...]
    most: tuple[int, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every activation has only one possible native frame."""
        return self.least == self.most

    def calls_above(self, pattern: str) -> tuple[str, int, int] | None:
        """The innermost Python function with this ending, and the least and most calls between it and frame 0."""
        sizes = [0, *accumulate(len(group) for group in self.groups)]
        for i, group in enumerate(self.groups):
            for k, frame in enumerate(group):
                if frame.printed.raw_function.endswith(pattern):
                    before = sizes[i] + k
                    return frame.printed.raw_function, self.least[i] + before, self.most[i] + before
        return None


def has_interpreter(native: Sequence[StackFrame], *, is_python: bool) -> bool:
    """Whether the stack has an interpreter's frames; with `is_python`, unnamed frames of the program are such."""
    return any(
        _is_interpreter(frame)
        or (is_python and frame.printed.library is None and frame.printed.raw_function == UNKNOWN_FUNCTION)
        for frame in native
    )


def find_loops(native: Sequence[StackFrame]) -> Loops:
    """The activations of the interpreter's loop, and frames that may be some where its symbols were stripped.

    The symbol itself is exported and outlives stripping, but not those of the parts that a compiler splits off: code in
    `_PyEval_EvalFrameDefault.cold` has no name then.
    """
    named, unnamed = [], []
    for i, frame in enumerate(native):
        if _is_eval(frame):
            inner = i - 1 if i and _is_tail_call(native[i - 1]) else i
            # A part of the loop that the compiler made a function is called by the loop's own frame.
            if not (i and native[i - 1].printed.raw_function.startswith(f"{_EVAL}.part.")):
                named.append(inner)
        elif _is_tail_call(frame) and not (i + 1 < len(native) and _is_eval(native[i + 1])):
            named.append(i)
        elif frame.printed.raw_function == UNKNOWN_FUNCTION and _is_in_interpreter(frame):
            unnamed.append(i)
    return Loops(tuple(named), tuple(unnamed))


def place(loops: Loops, python: Sequence[PythonFrame], *, truncated: bool) -> Placing | None:
    """The native frames that may run each Python frame; null where the two kinds do not fit together.

    An activation of the loop runs the Python frames up to the one it was entered with. Each named loop is one; further
    activations are among the frames without a name. In a stack that was cut, the outer Python frames are left out, if
    every loop in it has a name.
    """
    groups = _by_entry(python)
    named = loops.named
    if truncated and not loops.unnamed and len(named) <= len(groups):
        groups = groups[: len(named)]
    if len(named) == len(groups):
        return Placing(tuple(groups), named, named)
    all_of_them = sorted((*named, *loops.unnamed))
    last = len(groups) - 1
    least, most = [], []
    for j in range(len(groups)):
        # Every named loop is used, in order, and leaves enough loops on both sides for the other activations.
        may = [
            at
            for i, at in enumerate(all_of_them)
            if bisect_left(named, at) <= j <= i
            and len(named) - bisect_left(named, at + 1) <= last - j <= len(all_of_them) - 1 - i
        ]
        if truncated or not may:
            return None
        least.append(may[0])
        most.append(may[-1])
    return Placing(tuple(groups), tuple(least), tuple(most)) if groups else None


def merge(native: Sequence[StackFrame], placing: Placing) -> list[StackFrame]:
    """Both kinds of frames in one list from the innermost, renumbered: Python's stand right inside their loop."""
    inside = dict(zip(placing.least, placing.groups, strict=True))
    merged: list[StackFrame] = []
    for i, frame in enumerate(native):
        for own in inside.get(i, ()):
            merged.append(StackFrame(len(merged), None, own.printed, is_python=True))
        merged.append(StackFrame(len(merged), frame.address, frame.printed, frame.has_debug_info))
    return merged


def _by_entry(python: Sequence[PythonFrame]) -> list[tuple[PythonFrame, ...]]:
    """The frames of each activation of the interpreter's loop."""
    groups: list[list[PythonFrame]] = [[]]
    for frame in python:
        groups[-1].append(frame)
        if frame.is_entry:
            groups.append([])
    return [tuple(group) for group in groups if group]


def _is_eval(frame: StackFrame) -> bool:
    return frame.printed.raw_function.startswith(_EVAL) and normalise_function(frame.printed.raw_function) == _EVAL


def _is_tail_call(frame: StackFrame) -> bool:
    return frame.printed.raw_function.startswith(_TAIL_CALL)


def _is_interpreter(frame: StackFrame) -> bool:
    library = frame.printed.library
    return _INTERPRETER.match(frame.printed.raw_function) is not None or (
        library is not None and _LIBPYTHON.match(library) is not None
    )


def _is_in_interpreter(frame: StackFrame) -> bool:
    """Whether the frame's code is in libpython or, where Python is linked statically, in the program."""
    return frame.printed.library is None or _LIBPYTHON.match(frame.printed.library) is not None
