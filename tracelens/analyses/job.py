"""The bound of the whole job: one verdict for all ranks."""

import polars as pl

from tracelens.analyses.analysis import Analysis
from tracelens.derive.ranks.collectives import require_ranks
from tracelens.derive.time.cpu_only import require_time
from tracelens.derive.time.straggler import judge_job
from tracelens.schemas.results.ranks import JOB
from tracelens.trace import Trace


def job(trace: Trace) -> pl.DataFrame:
    """One row: what limits the job, and, where the ranks wait for one, which and why it is late.

    It is a straggler where the others lose at least 10 % of their time waiting for it, computing
    aside, and more than any other loss takes of both its time and theirs. Else it is the bound of
    most ranks. Raises MissingTableError with one rank, and without kernels and ops.
    """
    require_ranks(trace, "job")
    require_time(trace, "job")
    return JOB.conform(pl.DataFrame([judge_job(trace)], schema=JOB.schema))


ANALYSIS = Analysis(
    "What limits the job?",
    JOB,
    job,
    shown=("bound", "rank", "cause", "value", "unit", "evidence"),
    of_ranks=True,
    of_time=True,
)
