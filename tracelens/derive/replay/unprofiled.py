"""Estimate the time of a step without the profiler: measured by the capture, or replayed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, median

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.replay.costs import (
    NSYS_STEP_WIDTH,
    RUN_SHARE,
    SLOWEST_HOST,
    STEP_WIDTH,
    CostsOfHost,
    costs_of,
    is_of,
    uncertainty_ns,
    weights_of_scenarios,
    weights_without,
)
from tracelens.derive.replay.replay import (
    Replay,
    device_step_ns,
    replay_error_frac,
    replays,
    steady_step_ns,
)
from tracelens.derive.time.program_phases import program_steps
from tracelens.derive.time.step_kinds import are_of_several_kinds
from tracelens.derive.time.time_parts import RankTime
from tracelens.trace import Trace

LARGEST_ERROR = 0.1
"""A replay is not used to predict if it misses the recorded step by more than this share."""

_COLD_NS = 5_000_000
"""After the pause in which a recording begins, caches and clocks are cold for about this long."""
_LEAST_STEPS = 3
"""Of at least this many steps the shortest one shows a step with warm caches."""
_STUDENT = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81, 1.8, 1.78, 1.77, 1.76, 1.75)
"""Student's t by degrees of freedom from 1: nine in ten values lie within ±t.

The last value is used for all further degrees, whose t is a little smaller.
"""


class UnprofiledStep(Struct, frozen=True):
    """A rank's step as recorded and without the profiler, with a range; None if unknown.

    As recorded it is the median step, or the mean one if steps are of several kinds. `evidence` is
    the source of the times: measured (the capture timed steps without the profiler), calibrated
    (costs measured on the machine), table (costs measured elsewhere), unknown. `sampling_ns` is the
    part of the range, to either side, that comes from the waits for a loader: as many steps with
    other batches would have another mean. `slowness` is the time of recorded launches over that of
    usual hosts, 1 if it was not needed. If the host was slow, the range also contains the step on a
    host that is always slow. `warm_ns` is the recorded time of a step with warm caches.
    """

    rank: int
    recorded_ns: int
    unprofiled_ns: int | None
    low_ns: int | None
    high_ns: int | None
    replay_error_frac: float
    evidence: str
    sampling_ns: float = 0.0
    slowness: float = 1.0
    warm_ns: int = 0

    @property
    def was_slow(self) -> bool:
        """True if launches took longer, while the host recorded, than on the slowest usual host."""
        return self.slowness > SLOWEST_HOST


def unprofiled_steps(trace: Trace) -> dict[int, UnprofiledStep]:
    """Return, by rank, the step without the profiler.

    A rank must have marked steps and a recorded host.
    """
    return trace.derived(_of_all)


def _of_all(trace: Trace) -> dict[int, UnprofiledStep]:
    steps = program_steps(trace)
    by_rank = steps.group_by("rank").agg("duration_ns")
    times = {rank: _usual_ns(lengths) for rank, lengths in by_rank.iter_rows()}
    return {
        rank: _of_rank(
            trace,
            replay,
            steps.filter(pl.col("rank") == rank),
            times[rank],
        )
        for rank, replay in replays(trace).items()
        if rank in times and replay.excerpt.is_marked
    }


def _usual_ns(lengths: Sequence[int]) -> int:
    """Return the median of steps that are alike, the mean of steps of several kinds."""
    return round(mean(lengths) if are_of_several_kinds(lengths) else median(lengths))


def _of_rank(
    trace: Trace,
    replay: Replay,
    steps: pl.DataFrame,
    recorded_ns: int,
) -> UnprofiledStep:
    rank = replay.excerpt.rank
    error = replay_error_frac(replay)
    measured = measured_range(trace, rank)
    if measured is not None:
        return UnprofiledStep(rank, recorded_ns, *measured, error, "measured")
    warm_ns = _warm_ns(steps.sort("start_ns"), recorded_ns)
    if error > LARGEST_ERROR or not has_known_costs(trace, rank):
        return UnprofiledStep(rank, recorded_ns, None, None, None, error, "unknown")
    costs, evidence = costs_of(trace, replay)
    scenarios = weights_of_scenarios(replay, costs)
    times = [steady_step_ns(replay, weights) for weights in scenarios]
    device_ns = device_step_ns(replay, scenarios[0])
    # Cold caches slow the host, not the device.
    warm_ns = max(
        warm_ns,
        round(recorded_ns * min(device_ns / max(times[0], 1), 1)),
    )
    scale = warm_ns / times[2] if times[2] else 1.0
    usual = round(times[0] * scale)
    width = STEP_WIDTH if is_of(trace, rank, "torch") else NSYS_STEP_WIDTH
    margin = width * uncertainty_ns(*times[:3]) * scale
    waited, may_miss = _sampling_ns(replay, steps)
    below = math.hypot(margin, usual - times[3] * scale)  # the two errors are independent
    least = max(usual - waited, 0) * (1 - below / max(usual, 1))  # if no step waits for a batch
    low = max(
        round(usual - below - may_miss),
        round(least),
        0,
    )
    high = round(usual + margin + may_miss)
    slowness = costs.slowness if isinstance(costs, CostsOfHost) else 1.0
    if isinstance(costs, CostsOfHost) and slowness > SLOWEST_HOST:
        always_slow = weights_without(replay, costs, 1 / costs.usual_factor)
        high = max(high, round(steady_step_ns(replay, always_slow) * scale))
    return UnprofiledStep(
        rank, recorded_ns, usual, low, high, error, evidence, may_miss, slowness, warm_ns
    )


def _warm_ns(steps: pl.DataFrame, recorded_ns: int) -> int:
    """Return the recorded time of a step with warm caches; `steps` are in order.

    It is the shortest step if all of them began within `_COLD_NS`, else the recorded step.
    """
    starts, lengths = steps["start_ns"], steps["duration_ns"]
    is_cold = len(lengths) >= _LEAST_STEPS and starts[-1] - starts[0] < _COLD_NS
    return min(lengths) if is_cold else recorded_ns


def _sampling_ns(replay: Replay, steps: pl.DataFrame) -> tuple[float, float]:
    """Return the mean wait for a loader's workers in a step, and the error of this mean.

    The error is half of the interval that holds the mean in nine of ten cases, by Student's t. It
    is at most one wait in all steps, because workers take turns: the recorded window holds at most
    one long wait too many or too few.
    """
    starts = steps["start_ns"].sort().to_numpy() - replay.excerpt.origin_ns
    begins, ends = replay.worker_waits
    place = np.searchsorted(starts, begins, "right") - 1
    inside = (place >= 0) & (place < len(starts))
    sums = np.bincount(
        place[inside],
        (ends - begins)[inside],
        minlength=len(starts),
    )
    mean = float(sums.mean())
    of_one_wait = float(sums.max()) / len(sums)
    if len(sums) == 1:
        return mean, of_one_wait
    student = _STUDENT[min(len(sums) - 1, len(_STUDENT)) - 1]
    return mean, min(
        student * float(sums.std(ddof=1)) / math.sqrt(len(sums)),
        of_one_wait,
    )


def bounds_of_range(rank: RankTime, step: UnprofiledStep) -> tuple[str, str] | None:
    """Return a rank's bounds at the low and the high end of its step without the profiler.

    Return None if both are equal, or if the step is measured or not known.
    """
    if step.evidence in {"measured", "unknown"} or step.low_ns is None or step.high_ns is None:
        return None
    shares = (min(ns / max(step.recorded_ns, 1), 1.0) for ns in (step.low_ns, step.high_ns))
    low, high = (rank.bound_of(share) for share in shares)
    return None if low == high else (low, high)


def measured_range(trace: Trace, rank: int) -> tuple[int, int, int] | None:
    """Return the step that a live capture measured without the profiler, with its range.

    The range holds the shortest and the longest measured step. To both sides it reaches at least as
    far as two processes of one program usually differ. Return None if no step was measured.

    A measured step may be longer than the recorded one if its batches come from a loader's workers:
    it is a mean over whole turns of the workers, while the few recorded steps contain more or fewer
    of their waits by chance.
    """
    step_ns = trace.manifest.unprofiled_step_ns(rank)
    for source in trace.manifest.sources:
        settings = source.get("settings")
        times = settings.get("unprofiled_step_ns") if isinstance(settings, dict) else None
        if source.get("rank") != rank or not isinstance(times, dict):
            continue
        turn, mean_ns = times.get("turn"), times.get("mean")
        if step_ns is None and isinstance(turn, int) and turn > 1 and isinstance(mean_ns, int):
            step_ns = mean_ns
        if step_ns is not None and step_ns in (mean_ns, times.get("median")):
            low, high = times.get("min"), times.get("max")
            if isinstance(low, int) and isinstance(high, int):
                differs = round(STEP_WIDTH * RUN_SHARE * step_ns)
                return step_ns, min(low, step_ns - differs), max(high, step_ns + differs)
    return None if step_ns is None else (step_ns, step_ns, step_ns)


def has_known_costs(trace: Trace, rank: int) -> bool:
    """Return whether torch.profiler or nsys recorded the rank.

    The costs of other profilers were not measured.
    """
    return is_of(trace, rank, "torch") or is_of(trace, rank, "nsys")
