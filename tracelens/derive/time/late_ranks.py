"""Find ranks that are late by themselves: by how much, in which steps, for which cause.

A rank's own time in a step is the step without waiting for other ranks and without communicating.
Its own delay is what exceeds the median of all ranks, so a rank that only waited has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.rank_steps import rank_steps
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.time import IDLE_PARTS, PARTS

BLAMED = 0.05
"""Smallest delay for which a rank is blamed, as a share of a step."""
_SIGMAS, _SIGMAS_ONCE = 4.0, 6.0
"""A delay counts beyond this many standard deviations of the ranks' differences.

The first number is for the median of all steps, the second for one step.
"""
_EXPLAINS = 0.25
"""A cause explains a rank's delay if it makes at least this share of it."""
_ALWAYS = 0.8
"""A rank late in at least this share of the steps counts as late in every step."""
_SCALE = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""
_OWN_PARTS = tuple(part for part in PARTS if part not in ("waiting", "communication"))
OWN, COMMUNICATION = "excess_ns", "communication_excess_ns"
"""Columns of delays: the excess of a rank's own time, and of its transfers' time."""
OWN_TIME, IDLE = "own", "idle"
"""Names for the cause where no single part of a step explains a delay.

It is idle time of all causes if that explains it, else the rank's own time.
"""


@dataclass(frozen=True, slots=True)
class LateRank:
    """A rank with its mean delay in the steps in which it is late, and the cause of most of it.

    `steps` is None where it is late in every step, or none are marked. `cause` is None where no
    part of its time explains the delay.
    """

    rank: int
    steps: frozenset[int] | None
    excess_ns: float
    cause: str | None


def own_delays(model: TimeModel) -> pl.DataFrame:
    """Return the rows of `rank_steps` with own_ns, excess_ns and `PART_excess_ns`.

    The excess is over the lower median of all ranks in that step, so at least half of the ranks
    take no longer than that median. If some ranks mark no steps, all are compared over the whole
    program, and step is None.
    """
    own_ns = pl.col("step_ns") - pl.col("waiting_ns") - pl.col("communication_ns")
    steps = rank_steps(model)
    if steps["step"].null_count() and steps["step"].count():
        by_rank = steps.group_by("rank")
        whole = by_rank.agg(pl.exclude("step").sum())
        step = pl.lit(None, pl.Int64).alias("step")
        steps = whole.with_columns(step).select(steps.columns).sort("rank")
    steps = steps.with_columns(
        own_ns=own_ns, idle_ns=pl.sum_horizontal(f"{cause}_ns" for cause in IDLE_PARTS)
    )
    parts = (*_OWN_PARTS, "communication", IDLE)
    excess = {OWN: "own_ns"} | {f"{part}_excess_ns": f"{part}_ns" for part in parts}
    return steps.with_columns(
        (pl.col(column) - pl.col(column).quantile(0.5, "lower").over("step")).alias(name)
        for name, column in excess.items()
    )


def find_late_ranks(model: TimeModel, delays: pl.DataFrame) -> list[LateRank]:
    """Return ranks whose own time exceeds the others' by BLAMED of a step, beyond noise."""
    late = _late_steps(delays, OWN)
    if late.is_empty():
        return []
    late = _with_host_excess(model, late, delays)
    columns = [f"{part}_excess_ns" for part in _OWN_PARTS]
    mean_delays = pl.col(OWN, *columns).mean()
    means = late.group_by("rank").agg("step", mean_delays).sort("rank")
    n_steps = delays["step"].n_unique()
    late_ranks = []
    for rank, steps, excess, *parts in means.iter_rows():
        most, cause = max(zip(parts, _OWN_PARTS, strict=True), key=lambda part: part[0])
        why = cause if most >= _EXPLAINS * excess else None
        often = _often(steps, n_steps)
        late_ranks.append(LateRank(rank, often, excess, why))
    return late_ranks


def find_late_transfers(delays: pl.DataFrame) -> list[LateRank]:
    """Return the ranks that communicate longer than others, by the thresholds of late ranks."""
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
    """Return the late steps; None where they are nearly all steps, or no steps are marked."""
    if None in steps or len(steps) >= _ALWAYS * n_steps:
        return None
    return frozenset(step for step in steps if step is not None)


def _thresholds(delays: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the delay above which each rank counts as late in a step: rank, threshold_ns.

    A rank with a large median delay is late in steps with more than half of that delay. Any other
    rank is late only where its delay stands out from the usual differences between ranks.
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
    of_ranks = _SCALE * median(below)
    is_usual = usual_ns >= max(least, _SIGMAS * max(of_ranks, of_median))
    return usual.select(
        "rank",
        threshold_ns=pl.when(is_usual)
        .then(pl.max_horizontal(pl.lit(least), 0.5 * usual_ns))
        .otherwise(max(least, _SIGMAS_ONCE * scatter)),
    )


def _with_host_excess(model: TimeModel, late: pl.DataFrame, delays: pl.DataFrame) -> pl.DataFrame:
    """Limit delays by an idle cause to the extra time that the rank's host spent on the cause.

    Extra is the time above the median of all ranks' hosts. A rank that waits for others hides its
    own host's work in that waiting, so idle time by itself would make the others look late.
    Processes without a device hide nothing: their time is that of the host.
    """
    if {*delays["rank"]} <= {*model.processes}:
        return late
    idle = pl.sum_horizontal(f"{cause}_excess_ns" for cause in IDLE_PARTS)
    explains = idle > _EXPLAINS * pl.col("excess_ns")
    if not late.select(explains.any()).item():
        return late
    hosts = host_times(model)
    spent_ns = pl.col("spent_ns")
    if not delays["step"].count():
        hosts = hosts.group_by("rank", "cause").agg(spent_ns.sum())
        no_step = pl.lit(None, pl.Int64).alias("step")
        hosts = hosts.with_columns(no_step)
    recorded = [cause for cause in IDLE_PARTS if cause in {*hosts["cause"].unique()}]
    key = ["rank", "step"]
    for cause in recorded:
        is_of_cause = pl.col("cause") == cause
        of_cause = hosts.filter(is_of_cause).select(*key, spent_ns="spent_ns")
        others = (
            delays.select(key)
            .join(of_cause, on=key, how="left", nulls_equal=True)
            .group_by("step")
            .agg(usual_ns=spent_ns.fill_null(0).quantile(0.5, "lower"))
        )
        column = f"{cause}_excess_ns"
        usual = pl.col("usual_ns").fill_null(0)
        more = spent_ns.fill_null(0) - usual
        late = (
            late.join(of_cause, on=key, how="left", nulls_equal=True)
            .join(others, on="step", how="left", nulls_equal=True)
            .with_columns(pl.min_horizontal(column, more).alias(column))
            .drop("spent_ns", "usual_ns")
        )
    return late


def host_times(model: TimeModel) -> pl.DataFrame:
    """Return one row per rank, step and cause: spent_ns, without the profiler's work.

    An activity counts in the step in which it begins. On a rank without steps, step is None.
    """
    start_ns = pl.col("start_ns")
    end = start_ns + pl.col("duration_ns")
    steps = model.steps.select("rank", "step", begin_ns="start_ns", last_ns=end)
    is_program = pl.col("what").ne_missing(PROFILER)
    did = model.host.filter(is_program)
    did = did.select("rank", "cause", "start_ns", end_ns=end)
    marked = did.join(steps, on="rank", how="semi").sort("start_ns")
    inside = marked.join_asof(
        steps.sort("begin_ns"),
        left_on="start_ns",
        right_on="begin_ns",
        by="rank",
        check_sortedness=False,
    )
    until = pl.min_horizontal("end_ns", "last_ns")
    inside = inside.drop_nulls("step").select(
        "rank", "step", "cause", spent_ns=(until - start_ns).clip(0)
    )
    whole = did.join(steps, on="rank", how="anti").select(
        "rank",
        pl.lit(None, inside.schema["step"]).alias("step"),
        "cause",
        spent_ns=pl.col("end_ns") - start_ns,
    )
    both = pl.concat([inside, whole])
    total_ns = pl.col("spent_ns").sum()
    return both.group_by("rank", "step", "cause").agg(total_ns)
