"""Estimate the time of a job's step without the profiler, by a joint replay of its ranks."""

from __future__ import annotations

import math
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.replay.costs import CostsBeside, CostsOfHost, costs_of, is_of
from tracelens.derive.replay.joined import Joined, joined_replay
from tracelens.derive.replay.moment_graph import Ints
from tracelens.derive.replay.unprofiled import (
    LARGEST_ERROR,
    NSYS_STEP_WIDTH,
    STEP_WIDTH,
    UnprofiledStep,
    uncertainty_ns,
    unprofiled_steps,
    weights_of_scenarios,
    weights_without,
)
from tracelens.trace import Trace

MOST_RANKS = 16
"""Most ranks that are replayed together.

A rank of 2,700 kernels takes about 0.15 s and 20 MB, so a job of a thousand ranks would not fit
into memory.
"""
WITHOUT_PROFILER = (0, 1, 3)
"""Indices of the scenarios without the profiler: a usual, a slower and a fast host."""


class UnprofiledJob(Struct, frozen=True):
    """Holds the time of a job's step as recorded and without the profiler, with a range."""

    recorded_ns: int  # in the median of the ranks
    unprofiled_ns: int
    low_ns: int
    high_ns: int
    is_measured: bool  # True if the capture timed steps without the profiler
    joined: JoinedJob | None  # None if the ranks cannot be replayed together


class JoinedJob(Struct, frozen=True):
    """Holds a job's joint replay, with the times of edges in the scenarios of a single rank."""

    replay: Joined
    scenarios: list[tuple[Ints, ...]]  # for each scenario, the weights of each rank
    times: list[float]  # step in ns by scenario, as replayed
    scale: float  # factor from replayed to real time
    error_frac: float


def unprofiled_job(trace: Trace) -> UnprofiledJob | None:
    """Return the job's step without the profiler.

    Return None for one rank, for more than `MOST_RANKS`, or if the step was not measured and the
    ranks cannot be replayed together.
    """
    return trace.derived(_of_job)


def _of_job(trace: Trace) -> UnprofiledJob | None:
    if not 2 <= len(trace.manifest.ranks) <= MOST_RANKS:
        return None
    steps = [*unprofiled_steps(trace).values()]
    measured = [step for step in steps if step.evidence == "measured"]
    is_known = all(step.unprofiled_ns is not None for step in steps)
    joined = _joined(trace) if len(steps) == len(trace.manifest.ranks) and is_known else None
    if measured:
        return _measured(steps, measured, joined)
    return None if joined is None else _replayed(trace, steps, joined)


def _joined(trace: Trace) -> JoinedJob | None:
    """Return the joint replay with scale 1, None if it misses the recorded steps."""
    replay = joined_replay(trace)
    if replay is None or (error := replay.error_frac()) > LARGEST_ERROR:
        return None
    of_ranks = [weights_of_scenarios(each, costs_of(trace, each)[0]) for each in replay.replays]
    scenarios = [*zip(*of_ranks, strict=True)]
    return JoinedJob(
        replay,
        scenarios,
        [replay.step_ns(weights) for weights in scenarios],
        1.0,
        error,
    )


def _measured(
    steps: list[UnprofiledStep],
    measured: list[UnprofiledStep],
    joined: JoinedJob | None,
) -> UnprofiledJob | None:
    """Return the measured step of the slowest rank."""
    slowest = max(measured, key=lambda step: step.unprofiled_ns or 0)
    step_ns, low_ns, high_ns = slowest.unprofiled_ns, slowest.low_ns, slowest.high_ns
    if step_ns is None or low_ns is None or high_ns is None:
        return None
    if joined is not None:
        joined = replace(joined, scale=step_ns / max(joined.times[0], 1))
    return UnprofiledJob(
        _recorded_ns(steps), step_ns, low_ns, high_ns, is_measured=True, joined=joined
    )


def _replayed(trace: Trace, steps: list[UnprofiledStep], joined: JoinedJob) -> UnprofiledJob:
    """Return the replayed step. Its range is found as for a single rank."""
    usual, slower, recorded, fast = joined.times
    scale = median(step.warm_ns for step in steps) / max(recorded, 1)
    are_of_torch = all(is_of(trace, step.rank, "torch") for step in steps)
    width = STEP_WIDTH if are_of_torch else NSYS_STEP_WIDTH
    margin = width * uncertainty_ns(usual, slower, recorded)
    below = math.hypot(margin, usual - fast)
    # Ranks wait for each other's loaders, so the largest error of one counts.
    may_miss = max(step.sampling_ns for step in steps)
    return UnprofiledJob(
        _recorded_ns(steps),
        round(usual * scale),
        max(round((usual - below) * scale - may_miss), 0),
        round(max(usual + margin, _always_slow_ns(trace, joined)) * scale + may_miss),
        is_measured=False,
        joined=replace(joined, scale=scale),
    )


def _always_slow_ns(trace: Trace, joined: JoinedJob) -> float:
    """Return a step in ns if hosts that were slow while they recorded always are."""
    weights = []
    for replay in joined.replay.replays:
        costs, _ = costs_of(trace, replay)
        if isinstance(costs, CostsOfHost | CostsBeside) and costs.usual_factor < 1:
            costs = replace(costs, slowness=1)
        weights.append(weights_without(replay, costs))
    return joined.replay.step_ns(weights)


def _recorded_ns(steps: list[UnprofiledStep]) -> int:
    return round(median(step.recorded_ns for step in steps))
