"""Align kernels with recorded library calls, between two kernels that Inductor generated.

This is a Viterbi alignment (Viterbi, IEEE Transactions on Information Theory 13, 1967). The hidden
state is the current library call, each kernel is an observation, and the path with the best sum of
scores wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MAIN = ("conv", "gemm", "attention")
"""Primitives of which each library call has exactly one kernel.

The call's other kernels prepare or finish that one.
"""
FINISHES = ("reduction",)
"""Primitives of kernels that finish a library call's work."""
_RUNS = (
    ("attention", ("attention",)),
    ("conv", ("conv", "gemm")),
    ("mm", ("gemm",)),
)
"""Parts of library calls' names, with the primitives of the kernel that does the work of such a
call."""
_MOST_SKIPPED = 2
"""At most this many calls in a row may have launched nothing."""

# Scores only have to rank alignments: what a call's name tells outweighs all guesses.
_KNOWN_WORK = 3.0
"""Score of a kernel whose primitive is the one that the call's name implies."""
_UNKNOWN_KERNEL = 2.0
"""Score of a kernel whose name shows no primitive: it may do any call's work."""
_UNKNOWN_CALL = 1.0
"""Score within a call whose name implies no primitive: any kernel except a main one may be its own.
"""
_PREPARES = 0.25
"""Score of any other kernel that begins a call, such as a layout change."""
_FINISHES_WORK = 0.5
"""Score of a reduction after the main kernel: it is likely to finish its call."""
_SECOND_OF_BACKWARD = 1.0
"""Score of a backward call's second main kernel: it has one for the input and one for the weight.
"""
_SECOND_MAIN = -1.0
"""Score of a second main kernel in a call that is no backward call: it should have only one."""
_SKIPPED_CALL = -2.0
"""Score of a call that launched nothing."""
_WITHOUT_MAIN = -1.0
"""Score of a call that ended without its main kernel."""


class _State(NamedTuple):
    """The last call that began, by index, and whether its main kernel ran."""

    call: int
    has_main: bool


class _Path(NamedTuple):
    """The best path into a state: its score, and the call of each kernel so far."""

    score: float
    calls: tuple[int, ...]


def calls_in_gap(primitives: Sequence[str], calls: Sequence[str]) -> list[int | None]:
    """Return, for each of a gap's kernels, the index of its recorded library call, or None.

    Kernels are given by primitive. Kernels and calls are in order. A call has one kernel that does
    its work; kernels before it prepare, kernels after it finish. If no kernel does a call's work,
    its kernels stay unmatched. A single call gets all kernels.
    """
    if len(calls) < 2:
        return [0 if calls else None] * len(primitives)
    best = {_State(-1, has_main=True): _Path(0.0, ())}
    for primitive in primitives:
        best = _next_states(best, primitive, calls)
    _, path = max(
        (
            path.score
            + _SKIPPED_CALL * (len(calls) - state.call)
            + _WITHOUT_MAIN * (not state.has_main),
            path.calls,
        )
        for state, path in best.items()
    )
    done = {
        call
        for primitive, call in zip(primitives, path, strict=True)
        if _fit(calls[call], primitive)
    }
    return [call if call in done else None for call in path]


def _next_states(
    best: dict[_State, _Path],
    primitive: str,
    calls: Sequence[str],
) -> dict[_State, _Path]:
    """Return the best path into each state after one more kernel."""
    after: dict[_State, _Path] = {}
    for state, path in best.items():
        last = min(state.call + 2 + _MOST_SKIPPED, len(calls))
        for call in range(max(state.call, 0), last):
            score = path.score + _score(
                primitive,
                calls[call],
                state,
                call - state.call,
            )
            goes_on = call == state.call and state.has_main
            reached = _State(
                call,
                _fit(calls[call], primitive) > 0 or goes_on,
            )
            if reached not in after or score > after[reached].score:
                after[reached] = _Path(score, (*path.calls, call))
    return after


def _score(primitive: str, call: str, before: _State, n_begun: int) -> float:
    """Return the score of a kernel as a part of a call.

    With `n_begun` 0, the call of the previous kernel continues; otherwise that many calls begin.
    """
    fit = _fit(call, primitive)
    if n_begun:
        prepares = primitive not in (*FINISHES, *MAIN)
        left = _SKIPPED_CALL * (n_begun - 1) + _WITHOUT_MAIN * (not before.has_main)
        return fit + left + _PREPARES * prepares
    if not before.has_main:
        return fit
    if primitive in MAIN:
        return _SECOND_OF_BACKWARD if "backward" in call else _SECOND_MAIN
    return _FINISHES_WORK * (primitive in FINISHES)


def _fit(call: str, primitive: str) -> float:
    """Return how likely a kernel of a primitive does the work of a call.

    It is 0 if the kernel prepares or finishes the call.
    """
    if primitive == "unknown":
        return _UNKNOWN_KERNEL
    works = runs_as(call)
    if works is None:
        return _UNKNOWN_CALL * (primitive not in MAIN)
    return _KNOWN_WORK * (primitive in works)


def runs_as(call: str) -> tuple[str, ...] | None:
    """Return the primitives of the kernel that does the work of a library call or op.

    Return None if its name implies none.
    """
    return next(
        (of for word, of in _RUNS if word in call),
        None,
    )
