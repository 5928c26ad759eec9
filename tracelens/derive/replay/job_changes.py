"""Predict changes to a job of several ranks by a joint replay of all ranks' collectives."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.ranks.collective_wait import computing_ns, waits_of
from tracelens.derive.replay.unprofiled import (
    CHANGE_WIDTH,
    RUN_SHARE,
    uncertainty_ns,
)
from tracelens.derive.replay.unprofiled_job import (
    WITHOUT_PROFILER,
    JoinedJob,
    UnprofiledJob,
    unprofiled_job,
)
from tracelens.derive.time.culprit_costs import LINK, NETWORK, Culprit, delays_of
from tracelens.derive.time.culprits import find_culprits
from tracelens.derive.time.job_replay import Removal, Replay, prepare_replay
from tracelens.derive.time.late_ranks import own_delays
from tracelens.derive.time.model import time_model
from tracelens.derive.time.time_parts import TimeModel
from tracelens.errors import UsageError
from tracelens.trace import Trace

USAGES = {
    "straggler_fixed": "straggler_fixed",
    "network": "network=XN",
}
"""The form in which each change to a job is written."""
_NETWORK = re.compile(r"network[ =][xX]?([0-9]{1,6}(?:\.[0-9]{1,6})?)")
_LEAST_FACTOR = 0.01
_DOUBT_OF_DELAY, _DOUBT_OF_NETWORK = 0.1, 0.3
"""Expected errors, as shares of the time that a change removes, chosen by hand.

A faster network is less certain, because twice the bandwidth does not halve a transfer's latency.
"""
_ALONE = "one rank was captured; collect the ranks of a job together: tracelens collect torch FILES"


class JobStep(Struct, frozen=True):
    """Holds a job's mean step before and after changes, with a range."""

    before_ns: float
    after_ns: float
    low_ns: float
    high_ns: float
    bound: str  # activity with most of the ranks' recorded time after the changes
    next: str | None  # ranks that then make others wait most, None without any
    replay_error_frac: float | None = None  # of the joint replay of all ranks, None without it
    least_gain_ns: float = 0.0  # what the changes save at least


def is_of_job(change: str) -> bool:
    """Return whether a change applies to a job as a whole, not to each rank by itself."""
    return re.split("[ =]", change.strip(), maxsplit=1)[0] in USAGES


def predict_job(trace: Trace, changes: Sequence[str]) -> JobStep:
    """Predict a job's mean step with all changes made, by a replay of its collectives.

    The times are without the profiler if the job's step without it is known, else as recorded.
    Raises UsageError for an unknown change, or if the trace lacks data for it.
    """
    factors = [_factor_of(change) for change in changes]
    model = time_model(trace)
    replay = prepare_replay(model, trace.manifest.ranks)
    if len(trace.manifest.ranks) < 2:
        raise UsageError(f"{changes[0]}: {_ALONE}")
    if replay is None:
        raise UsageError(
            f"{changes[0]}: no collective of its ranks could be matched; tracelens check says why"
        )
    network = math.prod(factor or 1.0 for factor in factors)
    culprits = _late_ranks(model)
    fixes_straggler = None in factors
    if fixes_straggler and not culprits:
        raise UsageError("straggler_fixed: no rank makes the others wait in this trace")
    fixed, others = (culprits[:1], culprits[1:]) if fixes_straggler else ([], culprits)
    delays = own_delays(model)
    removals = [removal for culprit in fixed for removal in delays_of(culprit, delays)]
    concerned = fixed[0].connected if fixed else None
    n_steps = max(
        model.steps.group_by("rank").len()["len"].to_list(),
        default=1,
    )
    before = replay.duration_ns((), 1.0, concerned) / n_steps
    without_delay = min(
        before,
        replay.duration_ns(removals, 1.0, concerned) / n_steps,
    )
    after = min(
        before,
        replay.duration_ns(removals, network, concerned) / n_steps,
    )
    # Hosts that limit the step may be slow only because of the profiler.
    least = replay.duration_ns(removals, network, concerned, hosts_limit=False) / n_steps
    margin = RUN_SHARE * after + _DOUBT_OF_DELAY * abs(before - without_delay)
    margin += _DOUBT_OF_NETWORK * abs(without_delay - after)
    recorded = JobStep(
        before,
        after,
        max(min(after, least) - CHANGE_WIDTH * margin, 0.0),
        after + CHANGE_WIDTH * margin,
        "straggler" if others else _bound(trace, replay, removals, network),
        others[0].members.name if others else None,
        least_gain_ns=before - after - CHANGE_WIDTH * margin,
    )
    unprofiled = unprofiled_job(trace)
    if unprofiled is None:
        return recorded
    late = frozenset().union(*(removal.ranks for removal in removals))
    if unprofiled.joined is None or not _may_ignore(late, removals, replay):
        return _scaled(recorded, unprofiled)
    return _joined(recorded, unprofiled, unprofiled.joined, late, network)


def _may_ignore(late: frozenset[int], removals: list[Removal], replay: Replay) -> bool:
    """Return whether the job without these delays is the job in which nobody waits for these ranks.

    It is not if the ranks are late in some steps only, because their later steps begin later, too.
    Nor is it in a pipeline, whose stages need each other's results.
    """
    if not late:
        return True
    of_all_steps = all(removal.steps is None for removal in removals)
    is_pipeline = bool((replay.rows["role"] >= 0).any())
    return of_all_steps and not is_pipeline and replay.connected_ranks(late) == {*replay.begins}


def _scaled(recorded: JobStep, unprofiled: UnprofiledJob) -> JobStep:
    """Return the step before without the profiler, and the same factors for the step after.

    The range is at least as wide as that of the step before.
    """
    before_ns = max(recorded.before_ns, 1.0)
    after_frac = recorded.after_ns / before_ns
    below = (recorded.after_ns - recorded.low_ns) / before_ns * unprofiled.unprofiled_ns
    above = (recorded.high_ns - recorded.after_ns) / before_ns * unprofiled.unprofiled_ns
    after_ns = after_frac * unprofiled.unprofiled_ns
    below_step = after_frac * (unprofiled.unprofiled_ns - unprofiled.low_ns)
    above_step = after_frac * (unprofiled.high_ns - unprofiled.unprofiled_ns)
    return replace(
        recorded,
        before_ns=float(unprofiled.unprofiled_ns),
        after_ns=after_ns,
        low_ns=max(after_ns - math.hypot(below, below_step), 0.0),
        high_ns=after_ns + math.hypot(above, above_step),
        least_gain_ns=recorded.least_gain_ns / before_ns * unprofiled.unprofiled_ns,
    )


def _joined(
    recorded: JobStep,
    unprofiled: UnprofiledJob,
    joined: JoinedJob,
    late: frozenset[int],
    network: float,
) -> JobStep:
    """Return the step before and after by a joint replay in which nobody waits for `late` ranks."""
    step_ns = joined.replay.step_ns
    before = joined.times[0]
    on_time = min(step_ns(joined.scenarios[0], ignored=late), before)
    afters = [
        min(step_ns(weights, network, late), joined.times[place])
        for place, weights in enumerate(joined.scenarios)
    ]
    usual = afters[0]
    doubt_ns = _DOUBT_OF_DELAY * (before - on_time) + _DOUBT_OF_NETWORK * abs(on_time - usual)
    margin = CHANGE_WIDTH * (uncertainty_ns(*afters[:3]) + doubt_ns)
    below = math.hypot(margin, usual - afters[3])
    gains = (joined.times[place] - afters[place] for place in WITHOUT_PROFILER)
    return replace(
        recorded,
        before_ns=float(unprofiled.unprofiled_ns),
        after_ns=usual * joined.scale,
        low_ns=max((usual - below) * joined.scale, 0.0),
        high_ns=(usual + margin) * joined.scale,
        replay_error_frac=joined.error_frac,
        least_gain_ns=(min(gains) - doubt_ns) * joined.scale,
    )


def _factor_of(change: str) -> float | None:
    """Return the factor by which a change speeds up the network; None for straggler_fixed.

    Raises UsageError for any other text.
    """
    if change.strip() == "straggler_fixed":
        return None
    number = _NETWORK.fullmatch(change.strip())
    factor = float(number[1]) if number else 0.0
    if factor < _LEAST_FACTOR:
        wanted = "straggler_fixed" if change.strip().startswith("straggler") else "network=X2"
        raise UsageError(f"{change[:60]}: expected {wanted}, which is a change to a job")
    return factor


def _late_ranks(model: TimeModel) -> list[Culprit]:
    """Return the culprits that are ranks, not links, the most costly first."""
    culprits = find_culprits(model).each
    return [culprit for culprit in culprits if culprit.cause not in (LINK, NETWORK)]


def _bound(
    trace: Trace,
    replay: Replay,
    removals: list[Removal],
    network: float,
) -> str:
    """Return the activity with most of the ranks' time: communication, compute, waiting or host."""
    whole = replay.duration_ns(removals, network)
    n_ranks = len(replay.begins)
    transfers = int(replay.rows["transfer_ns"].sum()) + sum(replay.last_transfers.values())
    ranks = pl.Series([*replay.begins])
    parts = {
        "communication": transfers / network / n_ranks,
        "compute": computing_ns(trace, ranks) / n_ranks,
        "waiting": _waiting_ns(trace) / n_ranks if not removals else 0.0,
    }
    parts["host"] = whole - sum(parts.values())
    return max(parts, key=lambda part: parts[part])


def _waiting_ns(trace: Trace) -> int:
    """Return the time in ns that ranks wait in collectives without computing, over all ranks."""
    exposed = pl.col("end_ns") - pl.col("start_ns") - pl.col("hidden_ns")
    return int(waits_of(trace).intervals.select(exposed.sum()).item() or 0)
