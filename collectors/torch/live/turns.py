"""Find the iterations of a program's loop (`turns`) from its calls of modules."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from operator import is_
from types import FrameType
from typing import Any

from .loops import Loop, Loops

_MOST_CALLS = 64
"""At most this many calls are remembered.

If an iteration of a loop has more calls, each call of a module counts as a step instead.
"""
_SHORT = 8
"""If an iteration of a loop has more calls than this, steps are iterations of a loop inside it."""


@dataclass(frozen=True)
class Step:
    """Describes a step of the program: an iteration of a loop, or a call of a module.

    `turn` lists the modules called in an iteration. `loop` is None if each call of `module` begins
    a step.
    """

    module: Any
    turn: list[Any]
    loop: Loop | None = None


class Turns:
    """Recognises iterations of the program's loop from its latest calls of modules.

    The loop is the outermost loop with short iterations, if its last two iterations called the same
    modules in the same order. If no frame shows such a loop, an iteration is the shortest sequence
    of calls that repeats. If no calls repeat, there are no iterations.
    """

    def __init__(self) -> None:
        self._calls: list[Any] = []
        self._turned: list[Loop | None] = []
        self._loops = Loops()
        self._n_in_turn = 1

    def begin(self, caller: FrameType | None) -> None:
        """Follow the calls of this frame and of the functions that it calls."""
        self._loops.begin(caller)

    def note(self, module: Any, caller: FrameType | None = None) -> Loop | None:
        """Add a call, and return the loop that began another iteration before it.

        Return None if no loop did. No loop is found without the caller's frame.
        """
        loop = self._loops.turned(caller)
        for kept, new in ((self._calls, module), (self._turned, loop)):
            kept.append(new)
            del kept[:-_MOST_CALLS]
        return loop

    def step(self, caller: FrameType | None) -> Step | None:
        """Return what a step of the program is, None while this is unknown.

        - A step is an iteration of the outermost loop if the loop's last two iterations made the
          same calls.
        - A step is a call of the present module if there is no loop, or if the last iteration
          called only this module.
        """
        module, n_calls = self._calls[-1], len(self._calls)
        outermost: Loop | None = None
        for loop in filter(None, self._turned):
            if outermost is None or loop.is_around(outermost):
                outermost = loop
        begins = self._begins(outermost)
        turns = [self._calls[begin:end] for begin, end in pairwise(begins)][-2:]
        is_alike = len(turns) == 2 and _are_same(*turns)
        # Among the first calls, an outer loop may not have begun its second iteration yet.
        is_known = n_calls > _SHORT or self._loops.is_outermost(outermost, caller)
        if is_known and (outermost is None or turns[-1] == [module]):
            return Step(module, [module])
        if is_known and is_alike:
            return _step(turns[0], outermost)
        ((most_called, _),) = Counter(map(id, self._calls)).most_common(1)
        # After this many calls without a step, a step is a call of the most called module.
        is_irregular = n_calls > 2 * _SHORT
        return Step(module, [module]) if is_irregular and most_called == id(module) else None

    def _begins(self, loop: Loop | None) -> list[int]:
        """Return the indices of calls that begin an iteration of the loop or of a loop around it.

        The first index is 0, the first call.
        """
        if loop is None:
            return [0]
        turned = enumerate(self._turned)
        return [
            0,
            *(i for i, turn in turned if turn and turn.is_around(loop)),
        ]

    def is_once(self, module: Any, main: Any) -> bool:
        """Return whether the loop calls `main` several times between two calls of `module`.

        The latest call was of `module`. The calls just before it and just before the previous call
        of `module` must be the same.
        """
        *before, _ = self._calls
        places = [n for n, called in enumerate(before) if called is module]
        turn = before[places[-1] + 1 :] if places else []
        n = sum(called is main for called in turn)
        is_again = n > 1 and _are_same(turn, before[: places[-1]][-len(turn) :])
        if is_again:
            self._n_in_turn = max(Counter(map(id, turn)).values())
        return is_again

    def is_left(self, main: Any) -> bool:
        """Return whether the loop seems to call `main` no more."""
        since: list[Any] = []
        for called in reversed(self._calls):
            if called is main:
                break
            since.append(called)
        # Since the last call of `main`, the latest module was called more often than any module in
        # one iteration.
        return sum(called is since[0] for called in since) > self._n_in_turn if since else False


def _step(turn: list[Any], loop: Loop | None) -> Step:
    counts = Counter(map(id, turn))
    for module in turn:
        if counts[id(module)] == 1:
            return Step(module, turn)
    return Step(turn[0], turn, loop)


def _are_same(some: list[Any], others: list[Any]) -> bool:
    """Return whether two lists have the same modules in the same order."""
    return len(some) == len(others) and all(map(is_, some, others))
