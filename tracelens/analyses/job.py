"""The bound of the whole job, and who makes its ranks wait."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel, Scope
from tracelens.derive.ranks.collectives import require_ranks
from tracelens.derive.time.model import time_model
from tracelens.derive.time.step_table import require_time
from tracelens.derive.time.straggler import judge_job
from tracelens.schemas.results.ranks import JOB
from tracelens.trace import Trace


def job(trace: Trace) -> pl.DataFrame:
    """Return one row per culprit, the most costly first; one row where nobody is to blame.

    A culprit is a rank, or ranks that one name describes, whose own time in a step (the step
    without waiting for others) exceeds the median rank's by 5 % of a step, and of whose delay the
    job loses at least half. Cost is what replaying the job's collectives gains without that delay.
    Raises MissingTableError with one rank, and without kernels and ops.
    """
    require_ranks(trace, "job")
    require_time(trace, "job")
    return JOB.conform(pl.DataFrame(judge_job(time_model(trace)), schema=JOB.schema))


ANALYSIS = Analysis(
    "What limits the job?",
    JOB,
    job,
    shown=("bound", "culprit", "cause", "steps", "value", "unit", "evidence"),
    scope=Scope.RANKS,
    parallel=Parallel.OF_TIME,
)
