"""Find which loop of the program began another iteration between two calls."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from dataclasses import dataclass
from types import CodeType, FrameType


@dataclass(frozen=True)
class Loop:
    """Describes a loop of a function.

    `depth` is the number of frames around the function's frame. `low` and `high` are the offsets of
    the loop's first and last instruction.
    """

    depth: int
    code: CodeType
    low: int
    high: int

    def is_around(self, other: Loop) -> bool:
        """Return whether the other loop is this loop, or lies inside it."""
        if self.depth != other.depth:
            return self.depth < other.depth
        return self.code is other.code and self.low <= other.low and other.high <= self.high


class _Mark:
    """Marks a frame that was seen at a call.

    `offset` is the offset of the instruction that makes this call. `first_offset` is the offset of
    the instruction that the frame was at when `Loops.begin` was called. `first_offset` is None
    if the frame did not exist then.
    """

    __slots__ = ("depth", "first_offset", "offset", "owner")

    def __init__(
        self,
        owner: Loops,
        depth: int,
        offset: int,
        first_offset: int | None = None,
    ) -> None:
        self.owner, self.depth, self.offset = owner, depth, offset
        self.first_offset = first_offset

    def __call__(self, *_: object) -> None:
        """Return None, so that a debugger that begins later traces nothing in this frame.

        Python calls this object because it is the frame's `f_trace`.
        """


class Loops:
    """Follows the frames of a thread from call to call, to find loops that begin another iteration.

    1. Some frames of a call's stack were already in the stack of the previous call.
    2. The program went on in the innermost of these frames.
    3. If this frame is at the same instruction again, or at an earlier one, a loop of its function
       began another iteration.

    Under a debugger, nothing is followed.
    """

    def begin(self, frame: FrameType | None) -> None:
        """Follow further calls, and store the present instruction of `frame` and its callers."""
        if sys.gettrace() is None:
            frames = []
            while frame is not None:
                frames.append(frame)
                frame = frame.f_back
            for depth, caller in enumerate(reversed(frames)):
                # The mark identifies the frame. A later run of the function has no mark, even if
                # its frame has the same address.
                caller.f_trace = _Mark(self, depth, caller.f_lasti, caller.f_lasti)

    def turned(self, frame: FrameType | None) -> Loop | None:
        """Return the loop that began another iteration since the last call, None if no loop did.

        `frame` makes the present call.
        """
        if sys.gettrace() is not None:
            return None
        new_frames: list[FrameType] = []
        mark: _Mark | None = None
        while frame is not None and (mark := self._mark(frame)) is None:
            new_frames.append(frame)
            frame = frame.f_back
        loop, depth = None, 0
        if frame is not None and mark is not None:
            offset = frame.f_lasti
            if offset <= mark.offset:
                loop = Loop(mark.depth, frame.f_code, offset, mark.offset)
            mark.offset, depth = offset, mark.depth + 1
        for below, new_frame in enumerate(reversed(new_frames)):
            new_frame.f_trace = _Mark(self, depth + below, new_frame.f_lasti)
        return loop

    def is_outermost(self, loop: Loop | None, frame: FrameType | None) -> bool:
        """Return whether `loop` is the outermost loop that runs in `frame` and its callers.

        If `loop` is None, return whether no loop runs. Loops that ran when `begin` was called are
        ignored.
        """
        while frame is not None:
            mark = self._mark(frame)
            if loop is None or (mark is not None and mark.depth <= loop.depth):
                started = mark.first_offset if mark and mark.first_offset is not None else -1
                loops = _loops(frame.f_code)
                n_around = sum(a <= frame.f_lasti <= b and not a <= started <= b for a, b in loops)
                has_loop = loop is not None and mark is not None and mark.depth == loop.depth
                if n_around > has_loop:
                    return False
                # A loop over a generator iterates whenever the loop inside the generator does.
                if inspect.CO_GENERATOR & frame.f_code.co_flags:
                    return True
            frame = frame.f_back
        return True

    def _mark(self, frame: FrameType) -> _Mark | None:
        """Return the mark that this object stored in the frame; None if there is none."""
        mark = frame.f_trace
        return mark if isinstance(mark, _Mark) and mark.owner is self else None


_AFTER_HANDLER = 5
"""An exception handler has a POP_EXCEPT among this many instructions before its jump back.

The instructions after the POP_EXCEPT delete the exception and its name.
"""


@functools.cache
def _loops(code: CodeType) -> list[tuple[int, int]]:
    """Return the offsets of the first and the last instruction of each loop of a function."""
    last_by_first: dict[int, int] = {}
    latest: list[str] = []
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        is_back = "JUMP_BACKWARD" in name and "NO_INTERRUPT" not in name
        # After an exception handler, a jump back leads behind the try statement, not to a loop.
        if is_back and "POP_EXCEPT" not in latest[-_AFTER_HANDLER:]:
            last_by_first[instruction.argval] = instruction.offset
        latest.append(name)
    return [*last_by_first.items()]
