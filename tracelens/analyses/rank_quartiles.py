"""Describe how each part of a step varies over the ranks of a job."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel, Scope
from tracelens.derive.ranks.collectives import require_ranks
from tracelens.derive.time.model import time_model
from tracelens.derive.time.rank_steps import rank_averages
from tracelens.derive.time.step_table import require_time
from tracelens.schemas.results.time import PARTS
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

RANK_QUARTILES = Table(
    "rank_quartiles",
    "A part of a step, with its quartiles over the ranks. Each rank counts with its average"
    " step, or with all its time if it marks no steps. A rank's parts add up to that time.",
    (
        Column(
            "part",
            pl.String,
            "The step, or a part of its time.",
            values=("step", *PARTS),
        ),
        Column("least_ns", pl.Int64, "The least of any rank."),
        Column("lower_ns", pl.Int64, "Lower quartile."),
        Column("median_ns", pl.Int64, "Median."),
        Column("upper_ns", pl.Int64, "Upper quartile."),
        Column("greatest_ns", pl.Int64, "The greatest of any rank."),
        Column("greatest_rank", pl.Int32, "The rank with the greatest time."),
    ),
)
_QUANTILES = {
    "least_ns": 0.0,
    "lower_ns": 0.25,
    "median_ns": 0.5,
    "upper_ns": 0.75,
    "greatest_ns": 1.0,
}


def rank_quartiles(trace: Trace) -> pl.DataFrame:
    """Return quartiles over the ranks: one row for the step, and one per part of it.

    A part that no rank has is left out. Raises MissingTableError with one rank, or without kernels
    and ops.
    """
    require_ranks(trace, "rank_quartiles")
    require_time(trace, "rank_quartiles")
    averages = rank_averages(time_model(trace))
    rows = [
        {
            "part": part,
            **{
                name: round(values.quantile(share, "linear") or 0)
                for name, share in _QUANTILES.items()
            },
            "greatest_rank": averages["rank"][int(values.arg_max() or 0)],
        }
        for part in ("step", *PARTS)
        if (values := averages[f"{part}_ns"]).max()
    ]
    return RANK_QUARTILES.conform(pl.DataFrame(rows, schema=RANK_QUARTILES.schema))


ANALYSIS = Analysis(
    "How are the parts of a step spread over the ranks?",
    RANK_QUARTILES,
    rank_quartiles,
    scope=Scope.RANKS,
    parallel=Parallel.OF_TIME,
)
