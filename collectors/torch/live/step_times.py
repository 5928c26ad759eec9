"""Time steps with the profiler and without."""

from __future__ import annotations

import time
from statistics import mean, median
from typing import Any

from .window import Moment

TIMED = 10
"""The most steps that are timed before the window, and after it."""
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

It is off in the program's first step, in a plain one, and in the first one after a window; else it
warms up, is active, is active in a part of the step, or records little (light).
"""


class StepTimes:
    """Times of the steps of one process, from pairs of `begin` and `end`.

    `step_ns` lists every step: (step, state, nanoseconds by the host's clock). Plain steps, without
    a profiler, are also timed by the device where there is one, because the host runs ahead of it:
    see `Moment`. Two steps never count as plain. The first one warms up and compiles. The first one
    after the window runs after clocks and caches have cooled off.
    """

    def __init__(self) -> None:
        self.step_ns: list[tuple[int, str, int]] = []
        self.began_ns: int | None = None
        self._state = ""
        self._began: Moment | None = None
        self._before: list[tuple[Moment, Moment]] = []
        self._after: list[tuple[Moment, Moment]] = []

    def begin(self, state: str) -> None:
        """Note that a step begins."""
        self._state = state
        self._began = Moment.now() if state == PLAIN and len(self._after) < TIMED else None
        self.began_ns = time.perf_counter_ns()

    def end(self, step: int, state: str, *, is_after: bool, note: str = "") -> None:
        """Note that the step ends. The profiler's state may have changed since it began."""
        now = time.perf_counter_ns()
        if self.began_ns is None:
            return
        is_whole = state == self._state
        self.step_ns.append((step, (state if is_whole else PARTLY) + note, now - self.began_ns))
        if is_whole and self._began is not None and not note:
            pair = (self._began, Moment.now())
            (self._after if is_after else self._before).append(pair)
            del self._before[:-TIMED]

    def forget(self) -> None:
        """Forget the steps so far."""
        self.step_ns.clear()
        self._before.clear()

    def wait_ended(self, stopped_ns: int | None) -> None:
        """Move the end of the last step to where the devices were done.

        The step then includes all their work.
        """
        if stopped_ns is not None and self.began_ns is not None:
            step, state, _ = self.step_ns[-1]
            self.step_ns[-1] = (step, state, stopped_ns - self.began_ns)

    def facts(self) -> dict[str, dict[str, int] | None]:
        """Return n, mean, median, min and max of `unprofiled_step_ns` and `profiled_step_ns`.

        `light_step_ns` has those of the light window. Each is None where no such step was timed.
        Profiled steps are timed by the host's clock. That is right for their mean, as no device is
        busy when the first begins and when the last ends.
        """
        plain = [began.until(ended) for began, ended in [*self._before, *self._after]]
        active, light = (
            [duration for _, state, duration in self.step_ns if state == wanted]
            for wanted in (ACTIVE, LIGHT)
        )
        return {
            "unprofiled_step_ns": _spread([duration for duration in plain if duration]),
            "profiled_step_ns": _spread(active),
            "light_step_ns": _spread(light),
        }

    def whole(self) -> set[int]:
        """Return the steps that were recorded from beginning to end, or to the program's end."""
        return {step for step, state, _ in self.step_ns if state.startswith(ACTIVE)}


def _spread(durations: list[int]) -> dict[str, Any] | None:
    if not durations:
        return None
    return {
        "n": len(durations),
        "mean": round(mean(durations)),
        "median": round(median(durations)),
        "min": min(durations),
        "max": max(durations),
    }
