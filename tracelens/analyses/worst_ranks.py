"""List the ranks of a job, the most costly first."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel, Scope
from tracelens.derive.ranks.collectives import require_ranks
from tracelens.derive.time.culprit_costs import LINK, NETWORK
from tracelens.derive.time.culprits import find_culprits
from tracelens.derive.time.model import time_model
from tracelens.derive.time.rank_steps import rank_averages
from tracelens.derive.time.step_table import require_time
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.time import IDLE_PARTS, PARTS
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

WORST_RANKS = Table(
    "worst_ranks",
    "A rank, with its times in an average step, or in all its time if it marks no steps.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column(
            "delays_ns",
            pl.Int64,
            "Time that all other ranks together lost by waiting for this one.",
        ),
        Column("own_ns", pl.Int64, "The step without waiting for other ranks."),
        Column("compute_ns", pl.Int64, "Time with at least one kernel that does not communicate."),
        Column("waiting_ns", pl.Int64, "Time that it lost by waiting for other ranks."),
        Column(
            "idle_ns",
            pl.Int64,
            "Time in which nothing ran on its device and its host did not communicate.",
        ),
        Column(
            "cause",
            pl.String,
            "Cause of the rank's delay, as in `job`; null on ranks that `job` does not name, and"
            " where no single cause was recorded.",
            nullable=True,
            values=(*PARTS, LINK, NETWORK),
        ),
        Column("step_ns", pl.Int64, "The step."),
    ),
)


def worst_ranks(trace: Trace) -> pl.DataFrame:
    """Return one row per rank: the culprits of `job` first, then others by the time they cost.

    Ranks for which nobody waits come last, busy ones before idle ones. Raises MissingTableError
    with one rank, or without kernels and ops.
    """
    require_ranks(trace, "worst_ranks")
    require_time(trace, "worst_ranks")
    causes = [f"{cause}_ns" for cause in IDLE_PARTS]
    model = time_model(trace)
    averages = rank_averages(model).with_columns(
        own_ns=pl.col("step_ns") - pl.col("waiting_ns"),
        idle_ns=pl.sum_horizontal(causes),
    )
    rounded = averages.with_columns(pl.col("^.*_ns$").round().cast(pl.Int64))
    ordered = rounded.join(_blamed(model), on="rank", how="left").sort(
        "position",
        "delays_ns",
        "own_ns",
        "rank",
        descending=[False, True, True, False],
        nulls_last=True,
    )
    return WORST_RANKS.conform(ordered)


def _blamed(model: TimeModel) -> pl.DataFrame:
    """Return one row per rank that `job` names: its position among the culprits, and the cause."""
    culprits = find_culprits(model).each
    rows = [
        (rank, position, culprit.cause)
        for position, culprit in enumerate(culprits)
        for rank in culprit.members.ranks
    ]
    schema = {"rank": pl.Int32, "position": pl.Int64, "cause": pl.String}
    return pl.DataFrame(rows, schema, orient="row").unique(
        "rank", keep="first", maintain_order=True
    )


ANALYSIS = Analysis(
    "Which ranks cost the job most?",
    WORST_RANKS,
    worst_ranks,
    scope=Scope.RANKS,
    parallel=Parallel.OF_TIME,
)
