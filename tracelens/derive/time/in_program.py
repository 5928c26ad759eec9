"""Find the rows that are in the program, not in start-up, tear-down or other work."""

import polars as pl

from tracelens.derive.time.program_phases import phases
from tracelens.derive.time.step_table import steps_of
from tracelens.schemas.results.time import PROGRAM
from tracelens.trace import Trace


def in_program(trace: Trace) -> pl.Expr:
    """Return a condition on rows with rank and step: they are in the program.

    On a rank with steps, a row's step must be one of the program. On a rank without steps, all rows
    are in it. A rank whose kernels all lie outside of steps counts as one without steps.
    """
    kernels = trace.select("kernels", "rank", "step")
    in_steps = {*kernels.drop_nulls("step")["rank"].unique()}
    without = {*steps_of(trace)["rank"].unique()} - {*kernels["rank"].unique()}
    marked = pl.Series("rank", sorted(in_steps | without), dtype=pl.Int32)
    has_steps = pl.col("step").is_not_null()
    is_marked = pl.col("rank").is_in(marked.implode())
    condition = has_steps | ~is_marked
    steps_with_phase = phases(trace).drop_nulls("step")
    others = steps_with_phase.filter(pl.col("phase") != PROGRAM)
    for rank, step in others.select("rank", "step").iter_rows():
        condition &= ((pl.col("rank") != rank) | (pl.col("step") != step)).fill_null(value=True)
    return condition
