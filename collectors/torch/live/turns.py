"""Find the turns of a loop in the order in which it calls modules."""

from __future__ import annotations

from collections import Counter
from typing import Any

_MOST_CALLS = 64
"""Calls that are remembered; the calls of a longer turn are steps themselves."""


class Turns:
    """The latest calls of modules, from which turns of the program's loop are recognised.

    A turn is the shortest sequence of calls that repeats. A module that is called once in each turn
    shows best where a turn begins: two views of a picture may be encoded by the same module, and
    compared by another one. If no sequence repeats, as in a loop that writes texts of different
    lengths, there is no turn.
    """

    def __init__(self) -> None:
        self._calls: list[Any] = []
        self._n_in_turn = 1

    def note(self, module: Any) -> None:
        """Note a call."""
        self._calls.append(module)
        del self._calls[:-_MOST_CALLS]

    def is_once(self, module: Any, main: Any) -> bool:
        """Return whether the last call, of `module`, begins a turn that calls `main` several times.

        The turn that has just ended must repeat the one before.
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
        """Return whether the loop seems to call `main` no more.

        This is so if, since the last call of `main`, the latest module was called more often than
        any module in one turn.
        """
        since: list[Any] = []
        for called in reversed(self._calls):
            if called is main:
                break
            since.append(called)
        return sum(called is since[0] for called in since) > self._n_in_turn if since else False


def _are_same(some: list[Any], others: list[Any]) -> bool:
    """Return whether two lists have the same modules in the same order."""
    return len(some) == len(others) and all(map(_is, some, others))


def _is(one: Any, other: Any) -> bool:
    return one is other
