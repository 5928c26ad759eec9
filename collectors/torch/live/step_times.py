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
_RUN_NS = 1_000_000_000
"""The shortest time for which steps are timed after the last window.

A window leaves caches and clocks cold, and a host changes its speed within a second.
"""
_MOST = 200
"""At most this many of the latest blocks are kept, because a block's events take memory."""
_SHORTEST_BLOCK_NS, _LONGEST_BLOCK_NS = 1_000_000, 5_000_000
"""Limits in nanoseconds on the duration of a block of steps that are timed together.

Within these limits, a block takes a tenth of the time since the last window ended. Reading the
clocks of host and device takes up to 30 µs, so very short steps cannot be timed one by one.
"""
_LONG = 3
"""A step is long if it takes more than this many times the median.

An example is a step with a checkpoint.
"""
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

- FIRST: off, in the program's first step.
- PLAIN: off.
- WARMUP: warms up.
- ACTIVE, LIGHT: records everything, or little.
- PARTLY: records a part of the step.
- SETTLING: off, in the step after a window.
"""


@dataclass(frozen=True)
class _Timed:
    """Holds the begin and the end of a block of successive steps without a profiler.

    `number` is the last step's number.
    """

    number: int
    n_steps: int
    began: Moment
    ended: Moment


class StepTimes:
    """Measures the steps of one process, from pairs of `begin` and `end`.

    Plain steps run without a profiler. Short plain steps are timed together, in blocks.
    """

    def __init__(self) -> None:
        # (step, state, nanoseconds by the host's clock) of every step.
        self.step_ns: list[tuple[int, str, int]] = []
        self.began_ns: int | None = None
        self._state = ""
        self._began: Moment | None = None
        self._n_in_block = 0
        self._before: list[_Timed] = []
        self._after: list[_Timed] = []
        self._run_began_ns = self._run_ns = 0
        # Each worker of a data loader delivers one batch in this many steps.
        self.turn = 1
        # The plain steps since the last window.
        self.n_in_a_row = 0
        self.is_slower_after = False
        """True if CUPTI stays in the process, which slows steps after the recording."""
        self.fast_from: int | None = None
        """The first step after CUPTI was detached from the process, None while it is attached."""

    def begin(self, state: str) -> None:
        """Begin to time a step. `state` is the profiler's state in the step."""
        self._state = state
        # The host runs ahead of a device, so the device times plain steps, too.
        self._began = Moment.now() if state == PLAIN else None
        self.began_ns = time.perf_counter_ns()

    def end(
        self,
        step: int,
        state: str,
        *,
        is_after: bool,
        note: str = "",
    ) -> None:
        """End the step. The profiler's state may have changed since the step began."""
        now = time.perf_counter_ns()
        if self.began_ns is None:
            return
        is_whole = state == self._state
        self.step_ns.append((step, (state if is_whole else PARTLY) + note, now - self.began_ns))
        if not is_whole or self._began is None or note:
            self.n_in_a_row = 0
            return
        if is_after:
            self._count_in_a_row(now)
        else:
            self.n_in_a_row = 0
        timed = _Timed(step, 1, self._began, Moment.now())
        (self._after if is_after else self._before).append(timed)
        del self._before[:-_MOST]

    def go_on(self, step: int) -> None:
        """End a step that ran without the profiler after recording, and begin the next at once."""
        assert self.began_ns is not None
        assert self._began is not None
        now = time.perf_counter_ns()
        self.step_ns.append((step, PLAIN, now - self.began_ns))
        self._count_in_a_row(now)
        self._n_in_block += 1
        block_ns = min(max(self._run_ns // 10, _SHORTEST_BLOCK_NS), _LONGEST_BLOCK_NS)
        # Steps of a turn are timed one by one, because `facts` adds up turns.
        if self.turn > 1 or now - self._began.host_ns >= block_ns:
            ended = Moment.now()
            self._after.append(_Timed(step, self._n_in_block, self._began, ended))
            del self._after[:-_MOST]
            self._began, self._n_in_block = ended, 0
        self.began_ns = time.perf_counter_ns()

    def _count_in_a_row(self, now_ns: int) -> None:
        self.n_in_a_row += 1
        if self.n_in_a_row == 1:
            assert self.began_ns is not None
            self._run_began_ns = self.began_ns
        self._run_ns = now_ns - self._run_began_ns

    def is_run_complete(self) -> bool:
        """Return whether enough steps ran since the last window to know the time of a step."""
        is_enough = self.n_in_a_row >= whole_turns(TIMED, self.turn)
        return is_enough and self._run_ns >= _RUN_NS

    def forget(self) -> None:
        """Forget the steps so far."""
        self.step_ns.clear()
        self._before.clear()

    def wait_ended(self, stopped_ns: int | None) -> None:
        """Move the end of the last step to `stopped_ns`, the time at which the devices became idle.

        The step then includes all its work on the devices.
        """
        if stopped_ns is not None and self.began_ns is not None:
            step, state, _ = self.step_ns[-1]
            self.step_ns[-1] = (step, state, stopped_ns - self.began_ns)

    def facts(self) -> dict[str, Any]:
        """Return n, mean, median, min and max of the times of unprofiled, profiled and light steps.

        - The value of a kind of step is None if no such step was timed.
        - `turn`: the number of steps in which each loader worker delivers one batch. Every `turn`
          successive unprofiled steps are averaged. Median, min and max are of these averages.
        - `n_long`, `long_ns`: number and mean of unprofiled steps that are left out, because they
          are much longer than usual.
        - `is_run_slower`: True if unprofiled steps ran slower because CUPTI was in the process.
        """
        blocks = self._run()
        run = _durations(blocks)
        # These are times of the host. Their mean is right, because no device is busy when the first
        # step begins and when the last step ends.
        active, light = (
            [duration for _, state, duration in self.step_ns if state == wanted]
            for wanted in (ACTIVE, LIGHT)
        )
        recorded = light or active
        # The last recorded step waits for the device. Steps count as long only if they are also
        # long compared with plain steps.
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
            "is_run_slower": self._is_slowed(blocks),
            "profiled_step_ns": _spread(active),
            "light_step_ns": _spread(light),
        }

    def _run(self) -> list[_Timed]:
        """Return a run of successive steps without a profiler, cut to a multiple of `turn` steps.

        This is a run after the windows, if it has enough steps. Before the windows, more work is
        done in each step, to find steps and to time them.
        """
        before, after = _longest_run(self._before), _longest_run(self._after)
        least = whole_turns(TIMED, self.turn)
        is_enough = _n_steps(after) >= min(least, _n_steps(before))
        run = after if is_enough else before
        # Steps before the recording are as fast as in a process that never profiled.
        if self._is_slowed(run) and len(before) >= least:
            run = before
        # In fewer than `turn` steps, the only wait for a batch may be missing.
        return run[len(run) % self.turn :]

    def _is_slowed(self, run: Sequence[_Timed]) -> bool:
        """Return whether CUPTI slowed a run of steps."""
        is_after = bool(run) and run[-1] in self._after
        is_detached = self.fast_from is not None and bool(run) and run[0].number >= self.fast_from
        return self.is_slower_after and is_after and not is_detached

    def whole(self) -> set[int]:
        """Return the steps that were recorded from beginning to end, or until the program ended."""
        return {step for step, state, _ in self.step_ns if state.startswith(ACTIVE)}


def _longest_run(blocks: Sequence[_Timed]) -> list[_Timed]:
    """Return the longest run of successive steps, the last of several equally long runs."""
    runs: list[list[_Timed]] = [[]]
    for block in blocks:
        if runs[-1] and block.number == runs[-1][-1].number + block.n_steps:
            runs[-1].append(block)
        else:
            runs.append([block])
    return max(reversed(runs), key=_n_steps)


def _n_steps(blocks: Sequence[_Timed]) -> int:
    return sum(block.n_steps for block in blocks)


def _durations(blocks: Sequence[_Timed]) -> list[float]:
    """Return the nanoseconds of each step.

    The steps of a block get equal times. In a block that took unusually long, the last step gets
    the additional time.
    """
    times = [(ns, block.n_steps) for block in blocks if (ns := block.began.until(block.ended))]
    means = [ns / n for ns, n in times for _ in range(n)]
    usual_ns = median(means) if means else 0
    durations: list[float] = []
    for ns, n in times:
        # A long step ends its block. So if the block took long, only its last step was long.
        others_ns = usual_ns if ns / n > _LONG * usual_ns else ns / n
        durations += [others_ns] * (n - 1) + [ns - others_ns * (n - 1)]
    return durations


def _longer(durations: Sequence[float], usual: Sequence[Sequence[float]]) -> list[float]:
    """Return the durations that are several times as long as the median of each list in `usual`."""
    most_ns = max(
        (median(part) for part in usual if part),
        default=0,
    )
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
