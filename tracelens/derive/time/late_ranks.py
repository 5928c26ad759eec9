"""Find ranks that are late by themselves, with their delay, their late steps and the cause.

A rank's own time in a step is the step without waiting for other ranks and without communication.
Its delay is the excess of its own time over the median of all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import polars as pl
from msgspec import Struct

from tracelens.derive.time.host_pace import host_causes, host_paces
from tracelens.derive.time.rank_steps import rank_steps
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.time import IDLE_PARTS, PARTS

BLAMED = 0.05
"""Smallest delay for which a rank is blamed, as a share of a step."""
_SIGMAS, _SIGMAS_ONCE = 4.0, 6.0
"""A delay counts if it exceeds this many standard deviations of chance delays.

The first number is for a rank's median delay, the second for a rank's delay in a single step.
"""
EXPLAINS = 0.25
"""A cause with at least this share of a rank's delay explains the delay."""
DEVICE_PARTS = ("compute", "copy")
"""Parts of a step that only device work makes longer."""
BY_SPEED = ("launch", None)
"""Causes of delays that a slow host alone can explain."""
_HOSTS_DIFFER = 0.25
"""A host that takes up to this share longer to launch the same work is slow, not late.

In nine jobs of equal ranks on one machine, hosts differed by 5 to 22 % under the profiler.
"""
_MOSTLY = 0.5
"""Device work is the cause of a delay if it makes at least this share of the delay."""
_IS_OF_HOST = pl.col("pace_ns").fill_null(0) > pl.col("device_own_ns")
"""Condition: the host works longer than the device, so the host decides the rank's own time."""
_ALWAYS = 0.8
"""A rank late in at least this share of the steps counts as late in every step."""
_SCALE = 1.4826
"""Ratio of a normal distribution's standard deviation to its median absolute deviation."""
_OWN_PARTS = tuple(part for part in PARTS if part not in ("waiting", "communication"))
OWN, COMMUNICATION = "excess_ns", "communication_excess_ns"
"""Columns of delays, which are the excess of a rank's time over the median of all ranks.

The first column compares the ranks' own times, the second the times of their transfers.
"""
_USUAL_PACE, _BY_SPEED = "usual_pace_ns", "by_speed_ns"
OWN_TIME, IDLE = "own", "idle"
"""Names for the cause if no single part of a step explains a delay.

The cause is IDLE if idle time of all causes together explains the delay, else OWN_TIME.
"""


class LateRank(Struct, frozen=True):
    """Holds a late rank, its mean delay in its late steps, and the main cause of the delay."""

    rank: int
    steps: frozenset[int] | None
    """None if the rank is late in every step, or if no steps are marked."""
    excess_ns: float
    cause: str | None
    """None if no part of the rank's time explains the delay."""


def own_delays(model: TimeModel) -> pl.DataFrame:
    """Return the rows of `rank_steps` with own_ns, excess_ns and `PART_excess_ns`.

    - `own_ns`: the longer of the rank's own times on its device and on its host
    - `excess_ns`, `PART_excess_ns`: excess over the lower median of all ranks in the step

    If some ranks mark no steps, all ranks are compared over the whole program, and step is None.
    """
    device_own_ns = pl.col("step_ns") - pl.col("waiting_ns") - pl.col("communication_ns")
    idle_parts = [f"{cause}_ns" for cause in IDLE_PARTS]
    times = _compared_steps(model).with_columns(
        _usual("pace_ns").alias(_USUAL_PACE),
        # While a rank waits for others, its host runs ahead of its device.
        own_ns=pl.max_horizontal(device_own_ns, "pace_ns"),
        device_own_ns=device_own_ns,
        idle_ns=pl.sum_horizontal(idle_parts),
    )
    excess = {OWN: pl.col("own_ns") - _usual("own_ns")}
    for part in (*_OWN_PARTS, "communication", IDLE):
        column = f"{part}_ns"
        excess[f"{part}_excess_ns"] = pl.col(column) - _usual(column)
    delays = times.with_columns(**excess)
    # A profiler slows hosts, so own_ns may be host time and hide longer device work.
    device_work = pl.sum_horizontal(f"{part}_excess_ns" for part in DEVICE_PARTS)
    device_excess = pl.col("device_own_ns") - _usual("device_own_ns")
    on_device = pl.min_horizontal(device_excess, device_work)
    is_seen = on_device >= BLAMED * pl.col("step_ns")
    larger = pl.max_horizontal(OWN, on_device)
    return delays.with_columns(pl.when(is_seen).then(larger).otherwise(OWN))


def _compared_steps(model: TimeModel) -> pl.DataFrame:
    """Join `rank_steps` with `host_paces`.

    If some ranks mark no steps, the result has one row per rank, with sums over all steps.
    """
    steps = rank_steps(model).join(
        host_paces(model),
        on=["rank", "step"],
        how="left",
    )
    numbers = steps["step"]
    all_mark_steps = not numbers.null_count()
    none_marks_steps = not numbers.count()
    if all_mark_steps or none_marks_steps:
        return steps
    sums = pl.exclude("step").sum()
    programs = steps.group_by("rank").agg(sums)
    without_steps = programs.with_columns(step=pl.lit(None, pl.Int64))
    return without_steps.select(steps.columns).sort("rank")


def _usual(column: str) -> pl.Expr:
    """Return the lower median of a column's values in the same step."""
    return pl.col(column).quantile(0.5, "lower").over("step")


def find_late_ranks(model: TimeModel, delays: pl.DataFrame) -> list[LateRank]:
    """Return ranks with a delay that exceeds noise and takes at least BLAMED of a step.

    A delay that a slower host explains does not count.
    """
    late_steps = _late_steps(delays, OWN)
    if late_steps.is_empty():
        return []
    limited = _with_host_excess(model, late_steps, delays)
    excess_columns = [f"{part}_excess_ns" for part in _OWN_PARTS]
    means = pl.col("step_ns", OWN, _BY_SPEED, *excess_columns).mean()
    by_rank = limited.group_by("rank").agg("step", means).sort("rank")
    n_steps = delays["step"].n_unique()
    late_ranks = []
    for row in by_rank.iter_rows(named=True):
        delay_ns, cause = _delay_and_cause(row)
        is_explained = row[_BY_SPEED] and delay_ns < BLAMED * row["step_ns"]
        if not is_explained:
            steps = _unless_always(row["step"], n_steps)
            late_ranks.append(LateRank(row["rank"], steps, delay_ns, cause))
    return late_ranks


def _delay_and_cause(row: Mapping[str, float]) -> tuple[float, str | None]:
    """Return a rank's mean delay, and the main cause of the delay.

    Time that the host's speed explains is no part of the delay.
    """
    unexplained_ns = row[OWN] - row[_BY_SPEED]
    part_excess = {part: row[f"{part}_excess_ns"] for part in _OWN_PARTS}
    main_part = _main_part(part_excess, unexplained_ns)
    part_ns = part_excess[main_part]
    if part_ns < EXPLAINS * unexplained_ns:
        return unexplained_ns, None
    if main_part in DEVICE_PARTS:
        return max(unexplained_ns, part_ns), main_part
    return unexplained_ns, main_part


def _main_part(excess: Mapping[str, float], delay: float) -> str:
    """Return the part of a step that makes most of a delay."""
    main_device_part = max(DEVICE_PARTS, key=excess.__getitem__)
    # Device work comes first, because the hosts' parts include the profiler's cost.
    if excess[main_device_part] >= _MOSTLY * delay:
        return main_device_part
    return max(excess, key=excess.__getitem__)


def find_late_transfers(delays: pl.DataFrame) -> list[LateRank]:
    """Return the ranks that communicate longer than others, by the thresholds for late ranks."""
    late_steps = _late_steps(delays, COMMUNICATION)
    mean_excess = pl.col(COMMUNICATION).mean()
    by_rank = late_steps.group_by("rank").agg("step", mean_excess)
    n_steps = delays["step"].n_unique()
    late_ranks = []
    for rank, steps, excess in by_rank.sort("rank").iter_rows():
        late_steps_of_rank = _unless_always(steps, n_steps)
        late_ranks.append(LateRank(rank, late_steps_of_rank, excess, "communication"))
    return late_ranks


def _late_steps(delays: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the rows in which a rank is late: the delay in `column` reaches its threshold."""
    thresholds = _thresholds(delays, column)
    late = delays.join(thresholds, on="rank", how="left")
    return late.filter(pl.col(column) >= pl.col("threshold_ns"))


def _unless_always(steps: Sequence[int | None], n_steps: int) -> frozenset[int] | None:
    """Return the late steps, None if these are nearly all steps or if no steps are marked."""
    if None in steps or len(steps) >= _ALWAYS * n_steps:
        return None
    return frozenset(step for step in steps if step is not None)


def _thresholds(delays: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the delay above which each rank is late in a step: rank, threshold_ns."""
    delay_ns = pl.col(column)
    usual_ns = pl.col("usual_ns")
    lower_median = delay_ns.quantile(0.5, "lower")
    usual = delays.group_by("rank").agg(usual_ns=lower_median)
    with_usual = delays.join(usual, on="rank", how="left")
    distances = with_usual.select((delay_ns - usual_ns).abs()).to_series()
    steps_sigma = _SCALE * _median(distances)
    # The lower median of n values is known to 1.25 standard deviations over the root of n.
    n_steps = max(delays["step"].n_unique(), 1)
    median_sigma = 1.25 * steps_sigma / n_steps**0.5
    below_median = [-ns for ns in usual["usual_ns"].to_list() if ns <= 0]
    ranks_sigma = _SCALE * median(below_median or [0])
    least_ns = BLAMED * _median(delays["step_ns"])
    least_as_a_rule = max(least_ns, _SIGMAS * max(ranks_sigma, median_sigma))
    least_once = max(least_ns, _SIGMAS_ONCE * steps_sigma)
    # A rank with a large median delay is late in steps with more than half of this delay. Any other
    # rank is late only if its delay stands out from the usual differences between ranks.
    is_late_as_a_rule = usual_ns >= least_as_a_rule
    half_of_usual = pl.max_horizontal(pl.lit(least_ns), 0.5 * usual_ns)
    threshold_ns = pl.when(is_late_as_a_rule).then(half_of_usual).otherwise(least_once)
    return usual.select("rank", threshold_ns=threshold_ns)


def _median(values: pl.Series) -> float:
    """Return the median, 0 if there are no values."""
    return float(values.median() or 0)  # type: ignore[arg-type]


def _with_host_excess(
    model: TimeModel, late_steps: pl.DataFrame, delays: pl.DataFrame
) -> pl.DataFrame:
    """Limit the delay by each cause to the extra time that the host spent on this cause.

    The delay by a cause is the column `CAUSE_excess_ns`. Add by_speed_ns, the time that the host's
    speed explains.
    """
    idle_ns = pl.sum_horizontal(f"{cause}_excess_ns" for cause in IDLE_PARTS)
    idle_explains = idle_ns > EXPLAINS * pl.col(OWN)
    is_limited = late_steps.select((idle_explains | _IS_OF_HOST).any()).item()
    has_device = not {*delays["rank"]} <= {*model.processes}
    # Without a device, all times are host times.
    if not has_device or not is_limited:
        return late_steps.with_columns(pl.lit(0.0).alias(_BY_SPEED))
    # While a rank waits for others, its host works ahead, so the rank has less idle time later. By
    # idle time alone, the other ranks would look late.
    hosts = _host_causes(model, delays)
    limited = _with_slowdown(late_steps, hosts)
    recorded_causes = {*hosts["cause"].unique()}
    for cause in IDLE_PARTS:
        if cause in recorded_causes:
            limited = _limited_to_host(limited, hosts, cause)
    return limited


def _with_slowdown(late_steps: pl.DataFrame, hosts: pl.DataFrame) -> pl.DataFrame:
    """Add `slowdown`, the share by which the rank's host launches slower than the median host.

    `slowdown` is 0 for a faster host. A share above _HOSTS_DIFFER is replaced by 0. Add
    by_speed_ns, the time that `slowdown` explains.
    """
    of_hosts = _with_host_times(late_steps, hosts, "launch")
    ratio = pl.col("spent_ns").sum() / pl.col("usual_ns").sum()
    slowdown = (ratio - 1).over("rank")
    is_slower = slowdown.is_between(0, _HOSTS_DIFFER)
    counted = pl.when(is_slower).then(slowdown).otherwise(0.0)
    slowed = of_hosts.with_columns(slowdown=counted)
    pace_ns = pl.col(_USUAL_PACE).fill_null(0)
    by_speed_ns = pl.col("slowdown") * pace_ns
    with_speed = slowed.with_columns(by_speed_ns.alias(_BY_SPEED))
    return with_speed.drop("spent_ns", "usual_ns")


def _limited_to_host(late_steps: pl.DataFrame, hosts: pl.DataFrame, cause: str) -> pl.DataFrame:
    """Limit the column `CAUSE_excess_ns`, the delay by idle time with this cause.

    The limit is the extra time that the host spent on this cause.
    """
    column = f"{cause}_excess_ns"
    of_hosts = _with_host_times(late_steps, hosts, cause)
    # Extra time exceeds the time of the median host, slowed down like the rank's host.
    slower = 1 + pl.col("slowdown")
    usual_at_this_speed_ns = pl.col("usual_ns") * slower
    extra_ns = pl.col("spent_ns") - usual_at_this_speed_ns
    # If the host works longer than the device, the whole delay is limited instead of idle time.
    delay_ns = pl.when(_IS_OF_HOST).then(OWN).otherwise(column)
    limited_ns = pl.min_horizontal(delay_ns, extra_ns)
    limited = of_hosts.with_columns(limited_ns.alias(column))
    return limited.drop("spent_ns", "usual_ns")


def _host_causes(model: TimeModel, delays: pl.DataFrame) -> pl.DataFrame:
    """Return each host's time by rank, step and cause, and usual_ns, the lower median of all ranks.

    The times are sums over the whole program if the delays have no steps.
    """
    spent = host_causes(model)
    if not delays["step"].count():
        by_cause = spent.group_by("rank", "cause").agg(pl.col("spent_ns").sum())
        spent = by_cause.with_columns(step=pl.lit(None, pl.Int64))
    key = ["rank", "step", "cause"]
    causes = spent.select("cause").unique()
    every_cause = delays.select("rank", "step").join(causes, how="cross")
    hosts = every_cause.join(
        spent.select(*key, "spent_ns"),
        on=key,
        how="left",
        nulls_equal=True,
    )
    spent_ns = pl.col("spent_ns").fill_null(0)
    lower_median = spent_ns.quantile(0.5, "lower")
    usual_ns = lower_median.over("step", "cause")
    return hosts.with_columns(spent_ns, usual_ns=usual_ns)


def _with_host_times(late_steps: pl.DataFrame, hosts: pl.DataFrame, cause: str) -> pl.DataFrame:
    """Add the time that hosts spent on a cause, 0 if missing.

    spent_ns is the time of the rank's host, usual_ns the time of the median host.
    """
    of_cause = hosts.filter(pl.col("cause") == cause).drop("cause")
    beside = late_steps.join(
        of_cause,
        on=["rank", "step"],
        how="left",
        nulls_equal=True,
    )
    return beside.with_columns(pl.col("spent_ns", "usual_ns").fill_null(0))
