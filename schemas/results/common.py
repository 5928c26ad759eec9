"""Columns that several results share."""

import polars as pl

from tracelens.schemas.common import RANK
from tracelens.schemas.host import PHASES
from tracelens.storage.table import Column

SIDE_WORDS = {"base": "base", "other": "new"}
"""Word for each run of a comparison, by the prefix of the run's columns."""

STEP = Column("step", pl.Int64, "Step; null for the whole trace.", nullable=True)
PHASE = Column(
    "phase",
    pl.String,
    "Part of the training step, where markers show it.",
    nullable=True,
    values=PHASES,
)

DURATIONS = (
    Column("n_calls", pl.Int64, "Number of executions."),
    Column("duration_total_ns", pl.Int64, "Sum of the durations."),
    Column("duration_mean_ns", pl.Float64, "Mean duration."),
    Column("duration_median_ns", pl.Float64, "Median duration."),
    Column("duration_min_ns", pl.Int64, "Shortest duration."),
    Column("duration_max_ns", pl.Int64, "Longest duration."),
)

OUTCOME = Column(
    "outcome",
    pl.String,
    "faster or slower in new, if the difference is as large as the least effect that"
    " matters, and larger than the spread explains (at 95 % for all rows together); else"
    " unclear. Null if only one run has the row.",
    nullable=True,
    values=("faster", "slower", "unclear"),
)
REASON = Column("reason", pl.String, "Why the outcome is unclear.", nullable=True)

__all__ = ["DURATIONS", "OUTCOME", "PHASE", "RANK", "REASON", "STEP"]
