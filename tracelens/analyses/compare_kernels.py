"""Compare the kernels of two runs by name."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, SplitBars, named
from tracelens.derive.comparing.name_spelling import with_one_spelling
from tracelens.derive.comparing.per_step import kernel_work
from tracelens.derive.comparing.rows import CALLS_SHOWN, Comparison, outcomes_in_words
from tracelens.derive.comparing.significance import DEFAULT, TICK_NS, Rules
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.schemas.results.comparing import COMPARE_KERNELS
from tracelens.trace import Trace


@pairs_ranks
def compare_kernels(base: Trace, other: Trace, *, rules: Rules = DEFAULT) -> pl.DataFrame:
    """Compare kernels: one row per rank and kernel name, most time first.

    Names that two profilers spell differently are unified, see `one_spelling`. Raises
    MissingTableError if a run has no kernels.
    """
    for trace in (base, other):
        trace.require("compare_kernels", "kernels")

    def spelled_work(trace: Trace) -> pl.DataFrame:
        return with_one_spelling(base, other, kernel_work(trace))

    comparison = Comparison(("rank", "name"), spelled_work, TICK_NS)
    return COMPARE_KERNELS.conform(comparison.calls(base, other, rules))


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - all pair notes take these
    """Say how many rows were judged faster, slower or neither."""
    return [outcomes_in_words(frame, "kernel names")]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {"base_ns": "base", "other_ns": "new"}
    return [
        SplitBars(
            "GPU time by kernel",
            frame,
            named(frame, "name"),
            parts,
            stacked=False,
        )
    ]


ANALYSIS = Analysis(
    "Which kernels were added, removed, or changed?",
    COMPARE_KERNELS,
    compare_kernels,
    notes=notes,
    shown=("rank", "name", *CALLS_SHOWN),
    charts=_charts,
    of_one_program=True,
)
