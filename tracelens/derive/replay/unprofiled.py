"""Estimate the time of a step without the profiler, from the capture's timing or by a replay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.columns.filling import filled
from tracelens.derive.replay.costs import (
    NO_COSTS,
    SLOWEST_HOST,
    Costs,
    CostsBeside,
    CostsOfHost,
    Floats,
    costs_of,
    is_of,
    slowed_in,
)
from tracelens.derive.replay.device import LEAST_LATENCY_NS
from tracelens.derive.replay.host import covered_ns
from tracelens.derive.replay.moment_graph import (
    CALL,
    COPY,
    KERNEL,
    LAUNCH,
    OP,
    PYTHON,
    Flags,
    Ints,
    picked,
)
from tracelens.derive.replay.replay import (
    Replay,
    device_step_ns,
    keep_workers_pace,
    replay_error_frac,
    replays,
    steady_step_ns,
)
from tracelens.derive.time.program_phases import program_steps
from tracelens.derive.time.step_kinds import LONG, are_of_several_kinds, long_steps
from tracelens.derive.time.time_parts import RankTime
from tracelens.trace import Trace

LARGEST_ERROR = 0.1
"""A replay is not used to predict if it misses the recorded step by more than this share."""

_COLD_NS = 5_000_000
"""Caches and clocks are cold for about this long after the pause in which a recording begins."""
_LEAST_STEPS = 3
"""With at least this many steps, the shortest step has warm caches."""
_STUDENT = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81, 1.8, 1.78, 1.77, 1.76, 1.75)
"""Student's t by degrees of freedom from 1: nine in ten values lie within ±t.

The last value is used for all higher degrees, whose t is a little smaller.
"""
_LEAST_LEFT = 0.05
"""At least this share of each interval of host time is the program's own."""
_HOST = (OP, PYTHON, CALL, LAUNCH)
_GRAPH_KERNEL_NS = 156
"""The device time that recording adds to each kernel of a replayed CUDA graph.

It is fitted on one program of samples/whatif, gpt_decode, and judged on two others.
"""
_SLOWER_HOST = 1.1
_OTHER_RUN = 1.3
"""In another run of a program, the host may be slower or faster by this factor.

Two runs of one program without a profiler differ by 24 % at the 90th percentile on the host of an
H200, and by 35 % on the host of an H100 (samples/nsys/costs).
"""
_LONG_PAUSE_NS = 1_000_000
"""In longer pauses between API calls, the host sleeps, reads or computes.

The time of launches does not show the host's speed in such work.
"""
_COPY_VARIES = 3
"""Times of copies from and to pageable memory vary this many times as much as other host work.

Recorded copies took up to 1.5 times as long as copies without a profiler, with a median of 1.2.
These ratios are of six programs of samples/whatif that copy in each step.
"""
_SLOWEST_COPY = 1.5
RUN_SHARE, HOST_SHARE, ADDED_SHARE = 0.02, 0.5, 0.2
"""Shares that make up the expected error of a step without the profiler.

They are shares of the step itself, of the time that a slower host would add to the step, and of the
time subtracted for the profiler. They are chosen by hand.
"""
STEP_WIDTH, CHANGE_WIDTH = 2.4, 2.2
"""Half-widths of the ranges of a step and of a change, as multiples of the expected error.

Such ranges contained nine in ten true times in samples/whatif and samples/blind.
"""
NSYS_STEP_WIDTH = 3.1
"""Half-width of a range of a step under nsys, as a multiple of the expected error.

Such ranges contained the true time in nine of ten captures on which the costs were fitted.
"""


class UnprofiledStep(Struct, frozen=True):
    """Holds a rank's step time as recorded and without the profiler, with a range.

    `evidence` is the source of the time without the profiler:

    - measured: the capture timed steps without the profiler
    - calibrated: replayed, with costs measured on this machine
    - table: replayed, with costs measured elsewhere
    - unknown: the times are None
    """

    rank: int
    recorded_ns: int  # median step; mean step if there are several kinds of steps
    unprofiled_ns: int | None
    low_ns: int | None
    high_ns: int | None
    replay_error_frac: float
    evidence: str
    sampling_ns: float = 0.0  # error from other batches that make a step wait longer or shorter
    slowness: float = 1.0  # recorded launches' time divided by the time on usual hosts
    warm_ns: int = 0  # recorded time of a step with warm caches

    @property
    def was_slow(self) -> bool:
        """True if recorded launches were slower than those of the slowest host, SLOWEST_HOST."""
        return self.slowness > SLOWEST_HOST


def unprofiled_steps(trace: Trace) -> dict[int, UnprofiledStep]:
    """Estimate the step time without the profiler, by rank.

    Ranks without marked steps or without a recorded host are left out.
    """
    return trace.derived(_of_all)


def _of_all(trace: Trace) -> dict[int, UnprofiledStep]:
    steps = program_steps(trace)
    by_rank = {rank: steps.filter(pl.col("rank") == rank) for rank in steps["rank"].unique()}
    return {
        rank: _of_rank(trace, replay, by_rank[rank])
        for rank, replay in replays(trace).items()
        if rank in by_rank and replay.excerpt.is_marked
    }


def _usual_ns(replay: Replay, lengths: Sequence[int]) -> int:
    """Return the median step time in ns, or the mean if there are several kinds of steps."""
    if not are_of_several_kinds(lengths):
        return round(median(lengths))
    replayed = replay.excerpt.steps["duration"].to_list()
    is_long = np.isin(
        np.arange(len(replayed)),
        long_steps(replayed),
    )
    # Long steps with slow launches are no kind of their own: the host was slow.
    return round(median(lengths) if slowed_in(replay, is_long) > LONG else mean(lengths))


def _of_rank(trace: Trace, replay: Replay, steps: pl.DataFrame) -> UnprofiledStep:
    rank = replay.excerpt.rank
    recorded_ns = _usual_ns(replay, steps["duration_ns"].to_list())
    error = replay_error_frac(replay)
    measured = measured_range(trace, rank)
    if measured is not None:
        if error <= LARGEST_ERROR and has_known_costs(trace, rank):
            measured = _of_another_run(trace, replay, *measured)
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
    # The device's work takes as long without the profiler, and it fits into the shortest step.
    least_ns = min(round(device_ns), *steps["duration_ns"])
    usual = max(round(times[0] * scale), least_ns)
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
    if isinstance(costs, CostsOfHost | CostsBeside) and costs.usual_factor < 1:
        # The host may also be slow without the profiler.
        always_slow = weights_without(replay, replace(costs, slowness=1))
        high = max(high, round(steady_step_ns(replay, always_slow) * scale))
    return UnprofiledStep(
        rank, recorded_ns, usual, low, high, error, evidence, may_miss, slowness, warm_ns
    )


def _warm_ns(steps: pl.DataFrame, recorded_ns: int) -> int:
    """Return the recorded time in ns of a step with warm caches; `steps` are sorted by start."""
    starts, lengths = steps["start_ns"], steps["duration_ns"]
    # If all steps began while caches were cold, the shortest one is taken as warm.
    is_cold = len(lengths) >= _LEAST_STEPS and starts[-1] - starts[0] < _COLD_NS
    return min(lengths) if is_cold else recorded_ns


def _sampling_ns(replay: Replay, steps: pl.DataFrame) -> tuple[float, float]:
    """Return the mean wait for a loader's workers per step, and the error of this mean, in ns.

    The error is half of the 90 % confidence interval by Student's t. It is at most the longest wait
    of a step, divided by the number of steps.
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
    # Batches come in a fixed order. So there is at most one long wait too many or too few.
    return mean, min(
        student * float(sums.std(ddof=1)) / math.sqrt(len(sums)),
        of_one_wait,
    )


def bounds_of_range(rank: RankTime, step: UnprofiledStep) -> tuple[str, str] | None:
    """Return the activities that limit a rank at the low and at the high end of its step's range.

    Return None if the two activities are the same. Return None also if the time of a step without
    the profiler is measured or unknown.
    """
    if step.evidence in {"measured", "unknown"} or step.low_ns is None or step.high_ns is None:
        return None
    at_ends = [rank.parts_of_step(ns) for ns in (step.low_ns, step.high_ns)]
    low, high = (max(parts, key=parts.__getitem__) for parts in at_ends)
    return None if low == high else (low, high)


def measured_range(trace: Trace, rank: int) -> tuple[int, int, int] | None:
    """Return the step time in ns that a live capture measured without the profiler, with a range.

    The result is (time, low end, high end), None if no step was timed without the profiler.
    """
    step_ns = trace.manifest.unprofiled_step_ns(rank)
    for source in trace.manifest.sources:
        settings = source.get("settings")
        times = settings.get("unprofiled_step_ns") if isinstance(settings, dict) else None
        if source.get("rank") != rank or not isinstance(times, dict):
            continue
        turn, mean_ns = times.get("turn"), times.get("mean")
        if step_ns is None and isinstance(turn, int) and isinstance(mean_ns, int):
            # With a loader's workers, a timed step may be longer than a recorded one, because the
            # few recorded steps have more or fewer waits by chance. The mean is of steps in which
            # all workers deliver equally.
            has_workers = turn > 1 or _waits_for_workers(trace, rank)
            step_ns = mean_ns if has_workers or _did_same_work(source["settings"]) else None
        if step_ns is not None and step_ns in (mean_ns, times.get("median")):
            low, high = times.get("min"), times.get("max")
            if isinstance(low, int) and isinstance(high, int):
                # Two processes of one program differ by this time.
                differs = round(STEP_WIDTH * RUN_SHARE * step_ns)
                return step_ns, min(low, step_ns - differs), max(high, step_ns + differs)
    return None if step_ns is None else (step_ns, step_ns, step_ns)


def _did_same_work(settings: Mapping[str, Any]) -> bool:
    """Return whether the steps timed without the profiler did the same work as the recorded steps.

    The profiler makes no step shorter. So the work differs if all timed steps take longer than the
    mean recorded step.
    """
    plain, recorded = settings["unprofiled_step_ns"], settings.get("profiled_step_ns")
    if not isinstance(recorded, dict):
        return False
    least, mean_ns = plain.get("min"), recorded.get("mean")
    return isinstance(least, int) and isinstance(mean_ns, int) and least <= mean_ns


def _of_another_run(
    trace: Trace, replay: Replay, step_ns: int, low_ns: int, high_ns: int
) -> tuple[int, int, int]:
    """Extend a measured step's range, because the host's speed differs from run to run."""
    costs, _ = costs_of(trace, replay)
    same, fast, slow = (
        steady_step_ns(replay, weights_without(replay, costs, factor))
        for factor in (1, 1 / _OTHER_RUN, _OTHER_RUN)
    )
    low_ns = min(low_ns, round(step_ns * fast / max(same, 1)))
    return step_ns, low_ns, max(high_ns, round(step_ns * slow / max(same, 1)))


def _waits_for_workers(trace: Trace, rank: int) -> bool:
    """Return whether any recorded step of the rank waits for a loader's workers."""
    replay = replays(trace).get(rank)
    return replay is not None and len(replay.worker_waits[0]) > 0


def has_known_costs(trace: Trace, rank: int) -> bool:
    """Return whether the costs of the rank's profiler are known, as for torch.profiler and nsys."""
    return is_of(trace, rank, "torch") or is_of(trace, rank, "nsys")


def weights_without(replay: Replay, costs: Costs, host_factor: float = 1) -> Ints:
    """Return the times of the graph's edges in ns without the profiler.

    The host's times are multiplied by `host_factor`, for a faster or a slower host.
    """
    table = replay.table
    recorded = table.graph.weights
    of_pieces = costs.usual_factor
    is_launch = table.kinds == LAUNCH
    waited = replay.waited
    unwaited = recorded - waited
    least = np.where(
        is_launch,
        np.minimum(unwaited, LEAST_LATENCY_NS),
        _LEAST_LEFT * unwaited,
    )
    bare = np.maximum(unwaited - _profiler_ns(replay, costs), least)
    quicker = np.where(_is_far_from_launches(replay), bare, bare * of_pieces)
    on_host = waited + np.where(is_launch, bare, quicker * host_factor).astype(np.int64)
    on_device = recorded
    if costs != NO_COSTS:
        of_graph = (table.kinds == KERNEL) & picked(replay.work.is_graph == 1, table.items)
        on_device = np.where(
            of_graph,
            np.maximum(recorded - _GRAPH_KERNEL_NS, 0),
            recorded,
        )
    is_pageable = filled(replay.excerpt.work["is_pageable"], value=False).to_numpy()
    is_staged = (table.kinds == COPY) & picked(is_pageable, table.items)
    # The host moves the bytes of these copies. Under nsys, they took as long at either speed of the
    # host, because memory limits them.
    of_copies = 1 if isinstance(costs, CostsBeside) else costs.usual_factor
    slower_copy = min(1 + _COPY_VARIES * (host_factor - 1), _SLOWEST_COPY)
    copy_factor = of_copies * max(slower_copy, min(host_factor, 1))
    scaled = np.where(is_staged, on_device * copy_factor, on_device).astype(np.int64)
    without = np.where(
        np.isin(table.kinds, _HOST),
        on_host,
        scaled,
    )
    # If costs are from the table, a faster host waits longer for a loader's workers.
    is_paced = isinstance(costs, CostsOfHost) and waited.any()
    return keep_workers_pace(replay, without, max(host_factor, 1)) if is_paced else without


def _is_far_from_launches(replay: Replay) -> Flags:
    """Flag host edges in a pause without API calls that is longer than `_LONG_PAUSE_NS`.

    Waits for a loader's workers are not part of a pause.
    """
    table = replay.table
    calls = replay.excerpt.calls
    order = np.argsort(calls["start"].to_numpy(), kind="stable")
    starts = calls["start"].to_numpy()[order]
    ends = np.maximum.accumulate(calls["end"].to_numpy()[order])
    begins = np.append(0, ends)[
        np.searchsorted(starts, table.recorded[table.graph.sources], "right")
    ]
    last = replay.excerpt.marks[-1]
    stops = np.append(starts, last)[np.searchsorted(starts, table.recorded[table.targets], "left")]
    pauses = stops - begins
    if len(replay.worker_waits[0]):
        pauses -= covered_ns(stops, *replay.worker_waits) - covered_ns(begins, *replay.worker_waits)
    is_own = np.isin(table.kinds, (OP, PYTHON))
    is_far: Flags = is_own & (pauses > _LONG_PAUSE_NS)
    return is_far


def _profiler_ns(replay: Replay, costs: Costs) -> Floats:
    """Return the time in ns that the profiler adds to each graph edge of the host."""
    table = replay.table
    ops_ns = table.n_ops * costs.op_ns
    python_ns = table.n_python * costs.python_ns
    generated_ns = table.n_generated * costs.generated_ns
    calls_ns = table.n_calls * costs.call_ns
    beside_ns = _added_by_calls(replay, costs) if isinstance(costs, CostsBeside) else 0
    own_ns = 0 if costs == NO_COSTS else table.profiler_ns
    # Begins and ends of spans are counted, each with half of a span's cost.
    spans_ns: Floats = (ops_ns + python_ns + generated_ns) / 2
    return spans_ns + calls_ns + beside_ns + own_ns


def _added_by_calls(replay: Replay, costs: CostsBeside) -> Floats:
    """Return the time in ns that the profiler adds to each graph edge in or next to an API call."""
    table = replay.table
    inside, beside = costs.of_calls(replay.excerpt.calls["kind"])
    is_call = table.kinds == CALL
    is_launch = table.kinds == LAUNCH
    launching = np.append(replay.work.calls, -1)[np.where(is_launch, table.items, -1)]
    calls = np.where(
        is_call,
        table.items,
        np.where(is_launch, launching, -1),
    )
    begun, ended = np.full((2, table.graph.n_moments), -1)
    begun[table.graph.sources[is_call]] = table.items[is_call]
    ended[table.targets[is_call]] = table.items[is_call]
    is_between = np.isin(table.kinds, (OP, PYTHON))
    around = beside[ended[table.graph.sources]] + beside[begun[table.targets]]
    # Host work next to a call gets half of the cost beside the call.
    return table.n_calls * inside[calls] + np.where(is_between, around / 2, 0)


def weights_of_scenarios(replay: Replay, costs: Costs) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the edges' times in ns on a usual, a slower, the recorded and a fast host.

    All but the recorded times are without the profiler.
    """
    return (
        weights_without(replay, costs),
        weights_without(replay, costs, _SLOWER_HOST),
        replay.table.graph.weights,
        # The host may have been slow only while it recorded.
        weights_without(replay, costs, costs.fastest_factor),
    )


def uncertainty_ns(usual_ns: float, slower_ns: float, recorded_ns: float) -> float:
    """Return the expected error in ns of a step's time, from the step's times on three hosts."""
    return (
        RUN_SHARE * usual_ns
        + HOST_SHARE * abs(slower_ns - usual_ns)
        + ADDED_SHARE * abs(recorded_ns - usual_ns)
    )
