"""Predict a step with changes and without the profiler, next to the step without the changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import asdict, replace

from tracelens.derive.replay.changes import (
    Doubt,
    doubt_of,
    note_of,
    refuse_unknown,
    spread_of,
)
from tracelens.derive.replay.costs import NO_COSTS, Costs, costs_of
from tracelens.derive.replay.job_changes import is_of_job, predict_job
from tracelens.derive.replay.moment_graph import (
    COLLECTIVE,
    COPY,
    FILL,
    KERNEL,
    KINDS,
    Ints,
)
from tracelens.derive.replay.replay import (
    Replay,
    device_step_ns,
    replay_error_frac,
    replays,
    steady_path,
    steady_step_ns,
)
from tracelens.derive.replay.subject import Change, Spread, Subject
from tracelens.derive.replay.unprofiled import (
    CHANGE_WIDTH,
    LARGEST_ERROR,
    UnprofiledStep,
    uncertainty_ns,
    unprofiled_steps,
    weights_of_scenarios,
    weights_without,
)
from tracelens.derive.replay.unprofiled_job import WITHOUT_PROFILER
from tracelens.derive.time.time_parts import WORTH_IT
from tracelens.errors import MissingTableError, UsageError
from tracelens.trace import Trace

_BOUNDS = {
    "kernel": "compute",
    "memset": "compute",
    "queue": "compute",
    "memcpy": "copy",
    "collective": "communication",
    "dependency": "dependency",
    "wait": "sync",
    "launch": "launch",
    "op": "launch",
    "api_call": "launch",
    "python": "launch",
    "earlier": "unknown",
}


_WORK = (KERNEL, COPY, FILL, COLLECTIVE)
_LEAST_OF_DEVICE = 0.95
"""A step takes at least this share of its device work.

Kernels may run up to 4 % faster after a change that concerns only the host, as they did in a CUDA
graph of conv_infer in samples/whatif.
"""
_LONGER = 1.1
"""Recorded steps lack waits if steps without the profiler take more than this many times as long.

A replay of such steps cannot predict the program, so it is refused.
"""


class Prediction(Struct, frozen=True):
    """Holds a rank's predicted step in ns before and after changes, with a range."""

    rank: int | None  # None for the step of a job
    before_ns: int
    after_ns: int
    low_ns: int
    high_ns: int
    bound: str | None  # cause of most of the step's time after the changes
    next: str | None  # op or kernel with most of the time of this cause
    replay_error_frac: float | None
    least_saving_ns: int
    most_saving_ns: int
    has_gain: bool  # False if the changes may save nothing
    note: str | None = None  # what a reader must know of the prediction


_COLUMNS = {
    "rank": pl.Int32,
    "before_ns": pl.Int64,
    "after_ns": pl.Int64,
    "low_ns": pl.Int64,
    "high_ns": pl.Int64,
    "bound": pl.String,
    "next": pl.String,
    "replay_error_frac": pl.Float64,
    "has_gain": pl.Boolean,
    "note": pl.String,
}


def whatif(trace: Trace, *changes: str, other: Trace | None = None) -> pl.DataFrame:
    """Predict each rank's step after the changes, with a range, one row per rank.

    An example is `tl.whatif(trace, "cuda_graph", "no_sync")`. All changes are made at once. Times
    are without the profiler. Changes to a job, such as `straggler_fixed`, give one row with rank
    None; its times are as recorded if the job's step without the profiler is not known.
    `batch=OLD,OTHER:NEW` needs `other`, a trace with batch size OTHER.
    Raises the errors of `predict`.
    """
    rows = [asdict(prediction) for prediction in predict(trace, changes, other=other)]
    return pl.DataFrame(rows, _COLUMNS)


def predict(
    trace: Trace,
    changes: Sequence[str],
    rank: int | None = None,
    other: Trace | None = None,
    *,
    names_bound: bool = True,
) -> list[Prediction]:
    """Return the prediction of each rank with marked steps, or only of `rank`.

    - Changes to a whole job give one prediction, for the job.
    - `other`: a trace with another batch size, of the same ranks or of one rank.
    - `names_bound`: if False, `bound`, `next` and `note` are None, which saves up to three quarters
      of the time.

    Raises UsageError for an unknown rank or change, or if the trace lacks data for a change. Raises
    MissingTableError if no step can be replayed.
    """
    if rank is not None and rank not in trace.manifest.ranks:
        raise UsageError(f"whatif: the trace has no rank {rank}")
    of_job = [change for change in changes if is_of_job(change)]
    if of_job and rank is not None:
        raise UsageError(f"{of_job[0]}: changes the job as a whole; leave out the rank")
    if of_job:
        return [_of_job(trace, changes, of_job)]
    chosen = {r: subject for r, subject in trace.derived(_subjects).items() if rank in {None, r}}
    if not chosen:
        raise MissingTableError(
            "whatif needs steps whose host was recorded, with at most 64 threads at work side by"
            " side; tracelens collect torch or nsys gives them"
        )
    if other is not None:
        others = replays(other)
        alone = next(iter(others.values())) if len(others) == 1 else None
        chosen = {r: replace(subject, other=others.get(r, alone)) for r, subject in chosen.items()}
    steps = unprofiled_steps(trace)
    return [
        _of_rank(
            subject,
            changes,
            steps.get(r),
            names_bound=names_bound,
        )
        for r, subject in chosen.items()
    ]


def _subjects(trace: Trace) -> dict[int, Subject]:
    """Return a `Subject` for each replayed rank."""
    return {rank: Subject(trace, replay) for rank, replay in replays(trace).items()}


def _of_job(
    trace: Trace,
    changes: Sequence[str],
    of_job: Sequence[str],
) -> Prediction:
    if len(of_job) < len(changes):
        other = next(change for change in changes if change not in of_job)
        refuse_unknown(other)
        raise UsageError(
            f"{other}: is replayed rank by rank, {of_job[0]} for the job as a whole; ask for each"
            " alone"
        )
    step = predict_job(trace, of_job)
    return Prediction(
        None,
        round(step.before_ns),
        round(step.after_ns),
        round(step.low_ns),
        round(step.high_ns),
        step.bound,
        step.next,
        step.replay_error_frac,
        round(step.before_ns - step.high_ns),
        round(step.before_ns - step.low_ns),
        has_gain=step.least_gain_ns > WORTH_IT * step.before_ns,
    )


class _Replayed(Struct, frozen=True):
    """Holds a rank's step before and after changes, replayed in each scenario."""

    replay: Replay
    scale: float  # factor from replayed to real time
    weights: Ints  # first scenario, before the changes
    changed: Ints  # first scenario, after the changes
    befores: list[float]  # step in ns by scenario, before the changes
    afters: list[float]  # step in ns by scenario, after the changes
    device_ns: float  # least time of the changed step's device work

    def step_ns(self, weights: Ints) -> float:
        """Return the real time in ns of a step with these weights."""
        return steady_step_ns(self.replay, weights) * self.scale


def _of_rank(
    subject: Subject,
    changes: Sequence[str],
    step: UnprofiledStep | None,
    *,
    names_bound: bool,
) -> Prediction:
    """Replay a rank's step before and after the changes, and return the prediction."""
    error = _accepted_error(subject.replay, step)
    spreads = [spread_of(subject, text) for text in changes]
    doubts = [doubt_of(text) for text in changes]
    steps = _replayed(subject, [spread.usual for spread in spreads], step)
    before, usual = steps.befores[0], steps.afters[0]
    doubt_ns = _doubt_ns(doubts, before, usual)
    least_ns, most_ns, floor_ns = _ends_of_spreads(steps, spreads)
    margin = CHANGE_WIDTH * (uncertainty_ns(*steps.afters[:3]) + doubt_ns)
    margin_below = math.hypot(margin, usual - steps.afters[3])
    low, high = max(least_ns - margin_below, floor_ns), most_ns + margin
    lowest, sampling_ns = _widened_by_waits(subject, step, steps, low, margin_below)
    gains = (steps.befores[place] - steps.afters[place] for place in WITHOUT_PROFILER)
    least_gain = min(gains) - (most_ns - usual + doubt_ns)
    bound, next_limit = _bound(subject, steps.changed) if names_bound else (None, None)
    return Prediction(
        rank=subject.replay.excerpt.rank,
        before_ns=round(before),
        after_ns=round(usual),
        low_ns=round(lowest),
        high_ns=round(high + sampling_ns),
        bound=bound,
        next=next_limit,
        replay_error_frac=error,
        least_saving_ns=round(before - high),
        most_saving_ns=round(before - low),
        has_gain=least_gain > WORTH_IT * before,
        note=note_of(subject, changes) if names_bound else None,
    )


def _replayed(
    subject: Subject, changes: Sequence[Change], step: UnprofiledStep | None
) -> _Replayed:
    """Replay a rank's step in each scenario, before and after all changes.

    No step is shorter than its device work.
    """
    replay = subject.replay
    scale, costs = scale_and_costs(subject.trace, replay, step)
    scenarios = weights_of_scenarios(replay, costs)
    changed = [_made(changes, weights) for weights in scenarios]
    befores = [steady_step_ns(replay, weights) * scale for weights in scenarios]
    afters = [steady_step_ns(replay, weights) * scale for weights in changed]
    device_before = device_ns(replay, scenarios[0], scale, befores[0])
    device_after = device_ns(replay, changed[0], scale, befores[0])
    return _Replayed(
        replay,
        scale,
        scenarios[0],
        changed[0],
        [max(ns, device_before) for ns in befores],
        [max(ns, device_after) for ns in afters],
        _LEAST_OF_DEVICE * device_after,
    )


def _ends_of_spreads(steps: _Replayed, spreads: Sequence[Spread]) -> tuple[float, float, float]:
    """Return the shortest step, the longest step and the least device time of the step, in ns.

    The step is shortest with each spread's `least`, and longest with each spread's `most`.
    """
    usual = steps.afters[0]
    least_ns = most_ns = usual
    floor_ns = 0.0  # no limit
    if any(spread.least is not spread.most for spread in spreads):
        best = _made([spread.least for spread in spreads], steps.weights)
        worst = _made([spread.most for spread in spreads], steps.weights)
        least_ns = min(usual, steps.step_ns(best))
        most_ns = max(usual, steps.step_ns(worst))
        device_ns = device_step_ns(steps.replay, best) * steps.scale
        floor_ns = _LEAST_OF_DEVICE * min(device_ns, usual)
    if not _changes_device(steps.replay, steps.weights, steps.changed):
        floor_ns = steps.device_ns
    return least_ns, most_ns, floor_ns


def _widened_by_waits(
    subject: Subject,
    step: UnprofiledStep | None,
    steps: _Replayed,
    low: float,
    margin: float,
) -> tuple[float, float]:
    """Extend a step's range, because its waits for a loader differ from batch to batch.

    `low` is the range's low end in ns. Return the new low end, and the time in ns by which the high
    end rises.
    """
    if step is None or not step.sampling_ns:
        return low, 0.0
    is_wait = subject.of_cause("input")
    left = _left(steps.weights[is_wait], steps.changed[is_wait])
    sampling_ns = step.sampling_ns * left
    # The low end stays above a step without waits, less the margin.
    without_waits = np.where(
        is_wait,
        np.minimum(steps.changed, 0),
        steps.changed,
    )
    share_below = max(
        1 - margin / max(steps.afters[0], 1),
        0,
    )
    no_wait_ns = steps.step_ns(without_waits) * share_below
    return max(low - sampling_ns, min(low, no_wait_ns)), sampling_ns


def _accepted_error(replay: Replay, step: UnprofiledStep | None) -> float:
    """Return the replay's error; raise UsageError if the replay cannot predict a step."""
    error = replay_error_frac(replay)
    if error > LARGEST_ERROR:
        raise UsageError(
            f"the replay of rank {replay.excerpt.rank} misses the recorded step by {error:.0%}:"
            " nothing is predicted"
        )
    if step is not None and _lacks_waits(step):
        raise UsageError(
            "the recorded steps waited less for the loader's workers than those that the capture"
            " timed without the profiler: nothing is predicted"
        )
    return error


def _doubt_ns(doubts: Sequence[Doubt], before: float, usual: float) -> float:
    """Return the expected error in ns that the changes add to the predicted step.

    Of each field of `Doubt`, the largest value of all changes counts.
    """
    of_change = max((doubt.of_change for doubt in doubts), default=0)
    of_rest = max((doubt.of_rest for doubt in doubts), default=0)
    return of_change * abs(before - usual) + of_rest * usual


def _lacks_waits(step: UnprofiledStep) -> bool:
    """Return whether steps without the profiler take more than _LONGER times as long as recorded.

    Then the recorded steps lack waits for the loader's workers.
    """
    return step.unprofiled_ns is not None and step.unprofiled_ns > _LONGER * step.recorded_ns


def _left(before: Ints, after: Ints) -> float:
    """Return the share of the waits for a loader that remains after the changes."""
    return float(after.clip(min=0).sum() / max(before.clip(min=0).sum(), 1))


def _made(changes: Sequence[Change], weights: Ints) -> Ints:
    """Return the weights after all changes, made one after another."""
    for change in changes:
        weights = change(weights)
    return weights


def _changes_device(replay: Replay, before: Ints, after: Ints) -> bool:
    """Return whether a change alters the time of any device work."""
    is_work = np.isin(replay.table.kinds, _WORK)
    return bool((before != after)[is_work].any())


def device_ns(replay: Replay, weights: Ints, scale: float, before: float) -> float:
    """Return the time in ns of a step's device work with these weights, at most `before`.

    `before` is the step before the changes. `scale` is the factor from replayed to real time.
    """
    # A factor below 1 comes from a host that was slow while it recorded, not from the device.
    return min(
        device_step_ns(replay, weights) * max(scale, 1),
        before,
    )


def scale_and_costs(
    trace: Trace, replay: Replay, step: UnprofiledStep | None
) -> tuple[float, Costs]:
    """Return a factor from replayed to real time, and the profiler's costs to subtract.

    Without a known step time, the factor is 1 and the costs are 0.
    """
    if step is None or step.evidence == "unknown" or step.unprofiled_ns is None:
        return 1.0, NO_COSTS
    recorded = steady_step_ns(replay)
    usual, _ = costs_of(trace, replay)
    if step.evidence != "measured":
        return step.warm_ns / recorded if recorded else 1.0, usual
    # Steps without the profiler were measured, so the costs are fitted to their time.
    share = step.unprofiled_ns / max(step.recorded_ns, 1)
    costs = fitted_costs(replay, usual, share * recorded)
    fitted = steady_step_ns(replay, weights_without(replay, costs))
    return step.unprofiled_ns / fitted if fitted else 1.0, costs


def fitted_costs(replay: Replay, usual: Costs, wanted_ns: float) -> Costs:
    """Scale the usual costs so that the replayed step comes nearest to the wanted time."""
    low = 0.0
    high = 8.0
    for _ in range(12):
        middle = (low + high) / 2
        weights = weights_without(replay, usual.times(middle))
        step = steady_step_ns(replay, weights)
        low, high = (middle, high) if step > wanted_ns else (low, middle)
    return usual.times((low + high) / 2)


def _bound(subject: Subject, weights: Ints) -> tuple[str, str | None]:
    """Return the cause of most of the step's critical path, and an op or kernel.

    The op or kernel takes most of this cause's time. It is None if no op or kernel is known.
    """
    path = steady_path(subject.replay, weights)
    sums: dict[str, int] = {}
    things: dict[tuple[str, str], int] = {}
    labels = subject.labels
    kinds = subject.replay.table.kinds
    for edge, ns in path:
        cause = labels.causes[edge]
        bound = _BOUNDS[KINDS[kinds[edge]]]
        if bound == "launch" and cause in {"input", "host", "allocation", "loading"}:
            bound = cause
        sums[bound] = sums.get(bound, 0) + ns
        thing = labels.names[edge]
        if thing:
            things[bound, thing] = things.get((bound, thing), 0) + ns
    if not sums:
        return "unknown", None
    first = max(
        sums,
        key=lambda word: (sums[word], word),
    )
    times_of_bound = {thing: ns for (bound, thing), ns in things.items() if bound == first}
    return first, max(
        times_of_bound,
        key=lambda thing: (times_of_bound[thing], thing),
        default=None,
    )
