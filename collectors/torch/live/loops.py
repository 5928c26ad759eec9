"""Tell which loop of the program has turned between two calls, from the frames that make them."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from dataclasses import dataclass
from types import CodeType, FrameType


@dataclass(frozen=True)
class Loop:
    """A loop of a function, as far as calls show it: its calls lie between two instructions.

    `depth` is the number of frames around the function's frame.
    """

    depth: int
    code: CodeType
    low: int
    high: int

    def is_around(self, other: Loop) -> bool:
        """Return whether the other loop is this one, or turns inside it."""
        if self.depth != other.depth:
            return self.depth < other.depth
        return self.code is other.code and self.low <= other.low and other.high <= self.high


class _Mark:
    """Marks a frame that was seen, and says at which instruction.

    `began` is the instruction at which the frame was when calls began to be followed, if it was
    there by then.
    """

    __slots__ = ("at", "began", "depth", "owner")

    def __init__(
        self,
        owner: Loops,
        depth: int,
        at: int,
        began: int | None = None,
    ) -> None:
        self.owner, self.depth, self.at, self.began = owner, depth, at, began

    def __call__(self, *_: object) -> None:
        """Let a debugger that begins later trace nothing in this frame."""


class Loops:
    """Follows the frames of a thread from call to call.

    Of the frames that make a call, some were there at the call before; the innermost of these is
    where the program went on. If it is at the same instruction again, or at an earlier one, a loop
    of its function has turned. A frame is known by a mark in its `f_trace`, which a function's next
    run does not have, even if its frame has the same address. Nothing is followed under a debugger,
    which uses `f_trace` itself.
    """

    def begin(self, frame: FrameType | None) -> None:
        """Follow calls from here on, and mark `frame` and its callers.

        Loops around this place are assumed not to turn again, so `is_outermost` ignores them.
        """
        if sys.gettrace() is None:
            frames = []
            while frame is not None:
                frames.append(frame)
                frame = frame.f_back
            for depth, one in enumerate(reversed(frames)):
                one.f_trace = _Mark(self, depth, one.f_lasti, one.f_lasti)

    def turned(self, frame: FrameType | None) -> Loop | None:
        """Return the loop that has turned since the last call; `frame` makes this call."""
        if sys.gettrace() is not None:
            return None
        new: list[FrameType] = []
        mark: _Mark | None = None
        while frame is not None and (mark := self._mark(frame)) is None:
            new.append(frame)
            frame = frame.f_back
        loop, depth = None, 0
        if frame is not None and mark is not None:
            at = frame.f_lasti
            if at <= mark.at:
                loop = Loop(mark.depth, frame.f_code, at, mark.at)
            mark.at, depth = at, mark.depth + 1
        for below, one in enumerate(reversed(new)):
            one.f_trace = _Mark(self, depth + below, one.f_lasti)
        return loop

    def is_outermost(self, loop: Loop | None, frame: FrameType | None) -> bool:
        """Return whether no loop is seen around this one in the code of `frame` and its callers.

        Without a loop, return whether none is seen at all. The search ends at a generator: a
        loop over the generator turns once per turn of the loop inside, so it is not counted.
        """
        while frame is not None:
            mark = self._mark(frame)
            if loop is None or (mark is not None and mark.depth <= loop.depth):
                began = mark.began if mark and mark.began is not None else -1
                loops = _loops(frame.f_code)
                around = sum(a <= frame.f_lasti <= b and not a <= began <= b for a, b in loops)
                is_own = loop is not None and mark is not None and mark.depth == loop.depth
                if around > is_own:
                    return False
                if inspect.CO_GENERATOR & frame.f_code.co_flags:
                    return True
            frame = frame.f_back
        return True

    def _mark(self, frame: FrameType) -> _Mark | None:
        """Return this object's mark of a frame."""
        mark = frame.f_trace
        return mark if isinstance(mark, _Mark) and mark.owner is self else None


_AFTER_HANDLER = 5
"""Most instructions between the POP_EXCEPT of an exception handler and its jump back.

They delete the exception and its name.
"""


@functools.cache
def _loops(code: CodeType) -> list[tuple[int, int]]:
    """List the first and last instruction of each loop of a function.

    A jump back right after the end of an exception's handler leads behind its statement: it is no
    loop.
    """
    found: dict[int, int] = {}
    latest: list[str] = []
    for one in dis.get_instructions(code):
        is_back = "JUMP_BACKWARD" in one.opname and "NO_INTERRUPT" not in one.opname
        if is_back and "POP_EXCEPT" not in latest[-_AFTER_HANDLER:]:
            found[one.argval] = one.offset
        latest.append(one.opname)
    return [*found.items()]
