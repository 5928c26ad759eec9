"""Find ranks that are late by themselves: by how much, in which steps, for which cause.

A rank's own time in a step is the step without waiting for other ranks and without communication.
Its own delay is its excess over the median of all ranks, so a rank that only waited has no delay.
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
"""A delay counts if it exceeds this many standard deviations of the ranks' differences.

The first number is for the median of all steps, the second for one step.
"""
EXPLAINS = 0.25
"""A cause explains a rank's delay if it makes at least this share of it."""
DEVICE_PARTS = ("compute", "copy")
"""Parts of a step that only device work makes longer."""
BY_SPEED = ("launch", None)
"""Causes of delays whose reason may just be a slow host."""
_HOSTS_DIFFER = 0.25
"""A host that takes up to this share longer to launch the same work is slow, not late.

In nine jobs of equal ranks on one machine, hosts differed by 5 to 22 % under the profiler.
"""
_MOSTLY = 0.5
"""Device work that makes at least this share of a delay is its cause."""
_IS_OF_HOST = pl.col("pace_ns").fill_null(0) > pl.col("device_own_ns")
"""Condition: the host works longer than the device, so the host decides the rank's own time."""
_ALWAYS = 0.8
"""A rank late in at least this share of the steps counts as late in every step."""
_SCALE = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""
_OWN_PARTS = tuple(part for part in PARTS if part not in ("waiting", "communication"))
OWN, COMMUNICATION = "excess_ns", "communication_excess_ns"
"""Columns of delays: the excess of a rank's own time, and of the time of its transfers."""
_USUAL_PACE, _BY_SPEED = "usual_pace_ns", "by_speed_ns"
OWN_TIME, IDLE = "own", "idle"
"""Names for the cause if no single part of a step explains a delay.

The cause is idle time of all causes if that explains it, else the rank's own time.
"""


class LateRank(Struct, frozen=True):
    """A rank with its mean delay in the steps in which it is late, and the main cause of the delay.

    `steps` is None if it is late in every step, or if no steps are marked. `cause` is None if no
    part of its time explains the delay.
    """

    rank: int
    steps: frozenset[int] | None
    excess_ns: float
    cause: str | None


def own_delays(model: TimeModel) -> pl.DataFrame:
    """Return the rows of `rank_steps` with own_ns, excess_ns and `PART_excess_ns`.

    own_ns is the rank's own time on its device, or on its host if that is longer, because the host
    of a rank that waits for others runs ahead. The excess is over the lower median of all ranks in
    that step, so at least half of the ranks take no longer than that median. If some ranks mark no
    steps, all are compared over the whole program, and step is None.
    """
    own_ns = pl.col("step_ns") - pl.col("waiting_ns") - pl.col("communication_ns")
    steps = rank_steps(model).join(host_paces(model), on=["rank", "step"], how="left")
    if steps["step"].null_count() and steps["step"].count():
        by_rank = steps.group_by("rank")
        whole = by_rank.agg(pl.exclude("step").sum())
        step = pl.lit(None, pl.Int64).alias("step")
        steps = whole.with_columns(step).select(steps.columns).sort("rank")
    steps = steps.with_columns(
        own_ns=pl.max_horizontal(own_ns, "pace_ns"),
        device_own_ns=own_ns,
        idle_ns=pl.sum_horizontal(f"{cause}_ns" for cause in IDLE_PARTS),
    ).with_columns(_usual("pace_ns").alias(_USUAL_PACE))
    parts = (*_OWN_PARTS, "communication", IDLE)
    excess = {OWN: "own_ns"} | {f"{part}_excess_ns": f"{part}_ns" for part in parts}
    steps = steps.with_columns(
        (pl.col(column) - _usual(column)).alias(name) for name, column in excess.items()
    )
    # A profiler slows hosts, so the hosts' times would hide a longer time of device work.
    of_device = pl.sum_horizontal(f"{part}_excess_ns" for part in DEVICE_PARTS)
    on_device = pl.min_horizontal(pl.col("device_own_ns") - _usual("device_own_ns"), of_device)
    is_seen = on_device >= BLAMED * pl.col("step_ns")
    return steps.with_columns(
        pl.when(is_seen).then(pl.max_horizontal(OWN, on_device)).otherwise(OWN)
    )


def _usual(column: str) -> pl.Expr:
    """Return the lower median of a column's values in the same step."""
    return pl.col(column).quantile(0.5, "lower").over("step")


def find_late_ranks(model: TimeModel, delays: pl.DataFrame) -> list[LateRank]:
    """Return ranks whose own time exceeds the others' by BLAMED of a step, beyond noise.

    Time that a slower host explains is no delay; longer device work is.
    """
    late = _late_steps(delays, OWN)
    if late.is_empty():
        return []
    late = _with_host_excess(model, late, delays)
    columns = [f"{part}_excess_ns" for part in _OWN_PARTS]
    mean_delays = pl.col("step_ns", OWN, _BY_SPEED, *columns).mean()
    means = late.group_by("rank").agg("step", mean_delays).sort("rank")
    n_steps = delays["step"].n_unique()
    late_ranks = []
    for rank, steps, step_ns, excess, by_speed, *parts in means.iter_rows():
        left = excess - by_speed
        most, cause = _most_of(dict(zip(_OWN_PARTS, parts, strict=True)), left)
        why = cause if most >= EXPLAINS * left else None
        left = max(left, most) if why in DEVICE_PARTS else left
        if left >= BLAMED * step_ns or not by_speed:
            late_ranks.append(LateRank(rank, _often(steps, n_steps), left, why))
    return late_ranks


def _most_of(excess: Mapping[str, float], delay: float) -> tuple[float, str]:
    """Return the excess of the part that makes most of a delay, and the part.

    Device work that makes half of the delay takes precedence, because the hosts' parts include the
    profiler's cost.
    """
    by_device = max(DEVICE_PARTS, key=excess.__getitem__)
    if excess[by_device] >= _MOSTLY * delay:
        return excess[by_device], by_device
    most = max(excess, key=excess.__getitem__)
    return excess[most], most


def find_late_transfers(delays: pl.DataFrame) -> list[LateRank]:
    """Return the ranks that communicate longer than others, with the thresholds of late ranks."""
    means = (
        _late_steps(delays, COMMUNICATION)
        .group_by("rank")
        .agg("step", pl.col(COMMUNICATION).mean())
    )
    n_steps = delays["step"].n_unique()
    return [
        LateRank(rank, _often(steps, n_steps), excess, "communication")
        for rank, steps, excess in means.sort("rank").iter_rows()
    ]


def _late_steps(delays: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the rows in which the column reaches its rank's threshold."""
    thresholds = _thresholds(delays, column)
    late = delays.join(thresholds, on="rank", how="left")
    return late.filter(pl.col(column) >= pl.col("threshold_ns"))


def _often(steps: Sequence[int | None], n_steps: int) -> frozenset[int] | None:
    """Return the late steps; None if these are nearly all steps, or no steps are marked."""
    if None in steps or len(steps) >= _ALWAYS * n_steps:
        return None
    return frozenset(step for step in steps if step is not None)


def _thresholds(delays: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the delay above which each rank counts as late in a step: rank, threshold_ns.

    A rank with a large median delay is late in steps with more than half of that delay. Any other
    rank is late only if its delay stands out from the usual differences between ranks.
    """
    least = BLAMED * float(delays["step_ns"].median() or 0)  # type: ignore[arg-type]
    median_delay = pl.col(column).quantile(0.5, "lower")
    usual = delays.group_by("rank").agg(usual_ns=median_delay)
    below = [-ns for ns in usual["usual_ns"].to_list() if ns <= 0]
    rest = delays.join(usual, on="rank", how="left")
    usual_ns = pl.col("usual_ns")
    distances = (pl.col(column) - usual_ns).abs()
    scatter = _SCALE * float(rest.select(distances.median()).item() or 0)
    # The lower median of n values is known to 1.25 standard deviations over the root of n.
    n_delayed_steps = delays["step"].n_unique()
    of_median = 1.25 * scatter / max(n_delayed_steps, 1) ** 0.5
    of_ranks = _SCALE * median(below or [0])
    is_usual = usual_ns >= max(least, _SIGMAS * max(of_ranks, of_median))
    return usual.select(
        "rank",
        threshold_ns=pl.when(is_usual)
        .then(pl.max_horizontal(pl.lit(least), 0.5 * usual_ns))
        .otherwise(max(least, _SIGMAS_ONCE * scatter)),
    )


def _with_host_excess(model: TimeModel, late: pl.DataFrame, delays: pl.DataFrame) -> pl.DataFrame:
    """Limit delays by an idle cause to the extra time that the rank's host spent on the cause.

    Extra time is above that of the median rank's host; a slow host may take the same share longer.
    A rank that waits for others hides its own host's work in that waiting, so idle time by itself
    would make the others look late. If only the host is late, the device has no idle time, and the
    host's extra time is taken. Adds the time that the host's speed explains (by_speed_ns).
    Processes without a device hide nothing: their time is that of the host.
    """
    late = late.with_columns(pl.lit(0.0).alias(_BY_SPEED))
    if {*delays["rank"]} <= {*model.processes}:
        return late
    idle = pl.sum_horizontal(f"{cause}_excess_ns" for cause in IDLE_PARTS)
    explains = idle > EXPLAINS * pl.col(OWN)
    if not late.select((explains | _IS_OF_HOST).any()).item():
        return late
    hosts = _host_causes(model, delays)
    spent_ns, usual_ns = pl.col("spent_ns").fill_null(0), pl.col("usual_ns").fill_null(0)
    slower = (spent_ns.sum() / usual_ns.sum() - 1).over("rank")
    is_slower = slower.is_between(0, _HOSTS_DIFFER)
    late = _beside_usual(late, hosts, "launch").with_columns(
        pl.when(is_slower).then(slower).otherwise(0.0).alias("slower")
    )
    late = late.with_columns((pl.col("slower") * pl.col(_USUAL_PACE).fill_null(0)).alias(_BY_SPEED))
    late = late.drop("spent_ns", "usual_ns")
    more = spent_ns - usual_ns * (1 + pl.col("slower"))
    recorded = {*hosts["cause"].unique()}
    for cause in [cause for cause in IDLE_PARTS if cause in recorded]:
        column = f"{cause}_excess_ns"
        most = pl.when(_IS_OF_HOST).then(OWN).otherwise(column)
        late = _beside_usual(late, hosts, cause).with_columns(
            pl.min_horizontal(most, more).alias(column)
        )
        late = late.drop("spent_ns", "usual_ns")
    return late


def _host_causes(model: TimeModel, delays: pl.DataFrame) -> pl.DataFrame:
    """Return `host_causes` by rank, step and cause, with usual_ns, the lower median of all ranks.

    If the delays are over the whole program, so are these times.
    """
    hosts = host_causes(model)
    if not delays["step"].count():
        no_step = pl.lit(None, pl.Int64).alias("step")
        hosts = hosts.group_by("rank", "cause").agg(pl.col("spent_ns").sum()).with_columns(no_step)
    causes = hosts.select("cause").unique()
    every = delays.select("rank", "step").join(causes, how="cross")
    key = ["rank", "step", "cause"]
    hosts = every.join(hosts.select(*key, "spent_ns"), on=key, how="left", nulls_equal=True)
    spent_ns = pl.col("spent_ns").fill_null(0)
    usual_ns = spent_ns.quantile(0.5, "lower").over("step", "cause")
    return hosts.with_columns(spent_ns, usual_ns=usual_ns)


def _beside_usual(late: pl.DataFrame, hosts: pl.DataFrame, cause: str) -> pl.DataFrame:
    """Add what the rank's host spent on the cause in the step (spent_ns), and usual_ns."""
    of_cause = hosts.filter(pl.col("cause") == cause).drop("cause")
    return late.join(of_cause, on=["rank", "step"], how="left", nulls_equal=True)
