"""Find the recorded library call of each kernel that has no op.

This is a Viterbi alignment (Viterbi, IEEE Transactions on Information Theory 13, 1967). The hidden
state is the current library call, and each kernel is an observation. The path with the best sum of
scores wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MAIN = ("conv", "gemm", "attention")
"""Primitives of main kernels: each library call has exactly one.

The call's other kernels prepare or finish the main kernel's work.
"""
FINISHES = ("reduction",)
"""Primitives of kernels that finish a library call's work."""
_RUNS = (
    ("attention", ("attention",)),
    ("conv", ("conv", "gemm")),
    ("mm", ("gemm",)),
)
"""Parts of the names of library calls, with the possible primitives of the call's main kernel."""
_MOST_SKIPPED = 2
"""At most this many calls in a row may have launched nothing."""

# Scores only have to rank alignments: the evidence of a call's name outweighs all guesses.
_KNOWN_WORK = 3.0
"""Score of a kernel whose primitive the call's name implies."""
_UNKNOWN_KERNEL = 2.0
"""Score of a kernel whose name shows no primitive, because any call may have launched it."""
_UNKNOWN_CALL = 1.0
"""Score of a kernel that is not a main kernel, in a call whose name implies no primitive."""
_PREPARES = 0.25
"""Score of a kernel that begins a call by preparing the call's work, such as a layout change."""
_FINISHES_WORK = 0.5
"""Score of a reduction after the main kernel, which probably finishes the main kernel's work."""
_SECOND_OF_BACKWARD = 1.0
"""Score of a backward call's second main kernel.

A backward call has a main kernel for the input's gradient and another for the weight's.
"""
_SECOND_MAIN = -1.0
"""Score of a second main kernel in a call that should have only one main kernel."""
_SKIPPED_CALL = -2.0
"""Score of a call that launched nothing."""
_WITHOUT_MAIN = -1.0
"""Score of a call that ended without its main kernel."""


class _State(NamedTuple):
    """Holds the index of the current call, and whether its main kernel has run."""

    call: int
    has_main: bool


class _Path(NamedTuple):
    """Holds the best path into a state: its score, and the index of each kernel's call so far."""

    score: float
    calls: tuple[int, ...]


def calls_in_gap(primitives: Sequence[str], calls: Sequence[str]) -> list[int | None]:
    """Return the index of each kernel's library call, None for an unmatched kernel.

    - `primitives`: primitives of successive kernels without an op
    - `calls`: names of the library calls that were recorded for these kernels, in order
    """
    if len(calls) < 2:  # a single call gets all kernels
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
    # Kernels stay unmatched if none of them can do the call's work.
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


def _score(primitive: str, call: str, before: _State, distance: int) -> float:
    """Return the score of a kernel as a part of a call.

    `before` is the state before the kernel. `distance` is the index of the call minus the index of
    the previous kernel's call.
    """
    fit = _fit(call, primitive)
    if distance:
        prepares = primitive not in (*FINISHES, *MAIN)
        left = _SKIPPED_CALL * (distance - 1) + _WITHOUT_MAIN * (not before.has_main)
        return fit + left + _PREPARES * prepares
    if not before.has_main:
        return fit
    if primitive in MAIN:
        return _SECOND_OF_BACKWARD if "backward" in call else _SECOND_MAIN
    return _FINISHES_WORK * (primitive in FINISHES)


def _fit(call: str, primitive: str) -> float:
    """Return the score of a kernel as the main kernel of a call.

    The score is 0 if the kernel can only prepare or finish the call's work.
    """
    if primitive == "unknown":
        return _UNKNOWN_KERNEL
    works = runs_as(call)
    if works is None:
        return _UNKNOWN_CALL * (primitive not in MAIN)
    return _KNOWN_WORK * (primitive in works)


def runs_as(call: str) -> tuple[str, ...] | None:
    """Return the possible primitives of the main kernel of a library call or op.

    Return None if the call's name implies none.
    """
    return next(
        (of for word, of in _RUNS if word in call),
        None,
    )
