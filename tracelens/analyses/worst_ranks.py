"""The ranks that cost a job most, first."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel, Scope
from tracelens.derive.ranks.collectives import require_ranks
from tracelens.derive.time.cpu_only import require_time
from tracelens.derive.time.model import time_model
from tracelens.derive.time.rank_steps import rank_averages
from tracelens.schemas.results.time import IDLE_PARTS
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

WORST_RANKS = Table(
    "worst_ranks",
    "A rank, with its times in a step on average; over all its time where it marks no steps.",
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
            "Time with nothing running on its device, without communication of the host.",
        ),
        Column(
            "cause",
            pl.String,
            "The cause of most of the idle time.",
            nullable=True,
            values=IDLE_PARTS,
        ),
        Column("step_ns", pl.Int64, "The step."),
    ),
)


def worst_ranks(trace: Trace) -> pl.DataFrame:
    """Return one row per rank: those that the others lose most time waiting for, then the busiest.

    Raises MissingTableError with one rank, or without kernels and ops.
    """
    require_ranks(trace, "worst_ranks")
    require_time(trace, "worst_ranks")
    causes = [f"{cause}_ns" for cause in IDLE_PARTS]
    averages = rank_averages(time_model(trace)).with_columns(
        own_ns=pl.col("step_ns") - pl.col("waiting_ns"),
        idle_ns=pl.sum_horizontal(causes),
        cause=pl.concat_list(causes).list.arg_max(),
    )
    names = pl.when(pl.col("idle_ns") > 0).then(
        pl.col("cause").replace_strict(dict(enumerate(IDLE_PARTS)), return_dtype=pl.String)
    )
    rounded = averages.with_columns(names.alias("cause"), pl.col("^.*_ns$").round().cast(pl.Int64))
    return WORST_RANKS.conform(
        rounded.sort("delays_ns", "own_ns", "rank", descending=[True, True, False])
    )


ANALYSIS = Analysis(
    "Which ranks cost the job most?",
    WORST_RANKS,
    worst_ranks,
    scope=Scope.RANKS,
    parallel=Parallel.OF_TIME,
)
