"""Compare the ops of two runs by name."""

from functools import partial

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, SplitBars, named
from tracelens.derive.comparing.per_step import op_work
from tracelens.derive.comparing.rows import CALLS_SHOWN, Comparison, outcomes_in_words
from tracelens.derive.comparing.significance import DEFAULT, TICK_NS, Rules
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.errors import MissingTableError
from tracelens.schemas.results.comparing import COMPARE_OPS
from tracelens.trace import Trace


@pairs_ranks
def compare_ops(base: Trace, other: Trace, *, rules: Rules = DEFAULT) -> pl.DataFrame:
    """Compare ops: one row per rank and op name, most time first.

    Raises MissingTableError if a run has no ops.
    """
    for trace in (base, other):
        trace.require("compare_ops", "spans")
    work = partial(
        op_work,
        on_device=base.has("kernels") and other.has("kernels"),
    )
    rows = Comparison(("rank", "name"), work, TICK_NS).calls(base, other, rules)
    if rows.is_empty():
        raise MissingTableError(
            "compare_ops needs op spans, and these traces have none; tracelens collect torch gives"
            " them"
        )
    return COMPARE_OPS.conform(rows)


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - all pair notes take these
    """Say how many rows were judged faster, slower or neither."""
    return [outcomes_in_words(frame, "op names")]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {"base_ns": "base", "other_ns": "new"}
    return [
        SplitBars(
            "Time by op",
            frame,
            named(frame, "name"),
            parts,
            stacked=False,
        )
    ]


ANALYSIS = Analysis(
    "Which ops were added, removed, or changed?",
    COMPARE_OPS,
    compare_ops,
    notes=notes,
    shown=("rank", "name", *CALLS_SHOWN),
    charts=_charts,
    of_one_program=True,
)
