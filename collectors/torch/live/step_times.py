"""Time steps with and without the profiler."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from .settling import whole_turns
from .window import Moment

TIMED = 10
"""At least this many steps are timed after the last window, if the program has as many."""
_MOST, _RUN_NS = 100, 1_000_000_000
"""Timing goes on for this many steps, or this time.

A window leaves caches and clocks cold, and a host changes its speed within a second.
"""
_LONG = 3
"""A step is long if it takes more than this many times the median: it does something that others do
not."""
_FEW = 0.2
"""If more than this share of the steps is long, long steps are the program's usual work."""
FIRST, PLAIN, WARMUP, ACTIVE, LIGHT, PARTLY, SETTLING = (
    "first",
    "plain",
    "warmup",
    "active",
    "light",
    "partly",
    "settling",
)
"""States of the profiler in a step.

It is off in the program's first step, in plain steps, and in a settling step after a window.
Otherwise it warms up, is active, is active in a part of the step, or records little (light).
"""


@dataclass(frozen=True)
class _Timed:
    """A plain step: its number, and the moments at which it begins and ends."""

    number: int
    began: Moment
    ended: Moment


class StepTimes:
    """Times of the steps of one process, from pairs of `begin` and `end`.

    `step_ns` lists every step: (step, state, nanoseconds by the host's clock). Plain steps are
    those without a profiler. They are also timed by the device, if there is one, because the host
    runs ahead of it: see `Moment`. Two steps never count as plain: the program's first step, which
    warms up and compiles, and the first step after a window, because clocks and caches are cold.
    `turn` is the number that `steps_in_a_turn` returns. `n_in_a_row` counts the plain steps since
    the last window.
    """

    def __init__(self) -> None:
        self.step_ns: list[tuple[int, str, int]] = []
        self.began_ns: int | None = None
        self._state = ""
        self._began: Moment | None = None
        self._before: list[_Timed] = []
        self._after: list[_Timed] = []
        self._run_began_ns = self._run_ns = 0
        self.turn = 1
        self.n_in_a_row = 0
        self.is_slower_after = False
        """True if CUPTI stays in the process, which slows steps after the recording."""

    def begin(self, state: str) -> None:
        """Note that a step begins."""
        self._state = state
        self._began = Moment.now() if state == PLAIN else None
        self.began_ns = time.perf_counter_ns()

    def end(self, step: int, state: str, *, is_after: bool, note: str = "") -> None:
        """Note that the step ends. The profiler's state may have changed since it began."""
        now = time.perf_counter_ns()
        if self.began_ns is None:
            return
        is_whole = state == self._state
        self.step_ns.append((step, (state if is_whole else PARTLY) + note, now - self.began_ns))
        if not is_whole or self._began is None or note:
            self.n_in_a_row = 0
            return
        self.n_in_a_row = self.n_in_a_row + 1 if is_after else 0
        if self.n_in_a_row == 1:
            self._run_began_ns = self.began_ns
        self._run_ns = now - self._run_began_ns
        (self._after if is_after else self._before).append(_Timed(step, self._began, Moment.now()))
        del self._before[:-_MOST]

    def is_run_complete(self) -> bool:
        """Return whether enough steps ran since the last window to know how long one takes."""
        n = self.n_in_a_row
        is_long = self._run_ns >= _RUN_NS or n >= _MOST
        return is_long and n >= whole_turns(TIMED, self.turn)

    def forget(self) -> None:
        """Forget the steps so far."""
        self.step_ns.clear()
        self._before.clear()

    def wait_ended(self, stopped_ns: int | None) -> None:
        """Move the end of the last step to the moment at which the devices were done.

        The step then includes all their work.
        """
        if stopped_ns is not None and self.began_ns is not None:
            step, state, _ = self.step_ns[-1]
            self.step_ns[-1] = (step, state, stopped_ns - self.began_ns)

    def facts(self) -> dict[str, Any]:
        """Return n, mean, median, min and max of `unprofiled_step_ns` and `profiled_step_ns`.

        `light_step_ns` has those of the light window. Each is None if no such step was timed.
        Profiled steps are timed by the host's clock, which is right for their mean: no device is
        busy when the first step begins and when the last one ends. Unprofiled steps are those of
        one run of steps, and their mean is how long the program takes per step. Median, min and max
        are those of whole turns, divided by `turn`, which is returned too. A few steps may be much
        longer than the others, such as one with a checkpoint. If no recorded step is that long,
        they are left out: `n_long` is their number, and `long_ns` their mean. `is_run_slower` is
        True if CUPTI was left in the process before they ran.
        """
        steps = self._run()
        run = [ns for step in steps if (ns := step.began.until(step.ended))]
        active, light = (
            [duration for _, state, duration in self.step_ns if state == wanted]
            for wanted in (ACTIVE, LIGHT)
        )
        recorded = light or active
        # The last recorded step waits for the device; only such as are long beside plain steps
        # count as long.
        is_usual = self.turn == 1 and not _longer(recorded, [recorded, run])
        long = _longer(run, [run]) if is_usual else []
        if len(long) > _FEW * len(run):
            long = []
        usual = [ns for ns in run if ns not in long]
        turns = [mean(usual[n : n + self.turn]) for n in range(0, len(usual), self.turn)]
        plain = (_spread(turns) or {}) | {"n": len(usual), "turn": self.turn}
        if long:
            plain |= {"n_long": len(long), "long_ns": round(mean(long))}
        return {
            "unprofiled_step_ns": plain if run else None,
            "is_run_slower": self.is_slower_after and steps[-1:] == self._after[-1:],
            "profiled_step_ns": _spread(active),
            "light_step_ns": _spread(light),
        }

    def _run(self) -> list[_Timed]:
        """Return the longest run of successive plain steps, in whole turns.

        Less than a turn says nothing about the mean: it may hold the one wait of a turn, or not. Of
        several longest runs, return the last one, which is farthest from the program's start. If
        CUPTI makes later steps longer, a run of `TIMED` steps before the recording is preferred,
        because its steps are as in a process that never profiled.
        """
        before = _longest_run(self._before)
        if self.is_slower_after and len(before) >= whole_turns(TIMED, self.turn):
            run = before
        else:
            run = _longest_run([*self._before, *self._after])
        return run[len(run) % self.turn :]

    def whole(self) -> set[int]:
        """Return the steps that were recorded from beginning to end, or until the program ended."""
        return {step for step, state, _ in self.step_ns if state.startswith(ACTIVE)}


def _longest_run(steps: Sequence[_Timed]) -> list[_Timed]:
    """Return the longest run of successive steps, the last one if several are as long."""
    runs: list[list[_Timed]] = [[]]
    for step in steps:
        if runs[-1] and step.number == runs[-1][-1].number + 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    return max(reversed(runs), key=len)


def _longer(durations: Sequence[float], usual: Sequence[Sequence[float]]) -> list[float]:
    """Return the durations that are several times the median of each of the usual ones."""
    most_ns = max((median(part) for part in usual if part), default=0)
    return [ns for ns in durations if ns > _LONG * most_ns]


def _spread(durations: Sequence[float]) -> dict[str, Any] | None:
    if not durations:
        return None
    return {
        "n": len(durations),
        "mean": round(mean(durations)),
        "median": round(median(durations)),
        "min": round(min(durations)),
        "max": round(max(durations)),
    }
