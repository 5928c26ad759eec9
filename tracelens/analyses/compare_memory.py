"""Compare the allocator's memory in two runs."""

import polars as pl

from tracelens.analyses.analysis import Analysis
from tracelens.derive.comparing.per_step import memory_values
from tracelens.derive.comparing.rows import Comparison
from tracelens.derive.comparing.significance import DEFAULT, Rules
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.schemas.results.comparing import COMPARE_MEMORY
from tracelens.trace import Trace

_MEMORY = Comparison(("rank", "device", "measure"), memory_values)
_WORDS = {"faster": "less", "slower": "more", "unclear": "unclear"}


@pairs_ranks
def compare_memory(base: Trace, other: Trace, *, rules: Rules = DEFAULT) -> pl.DataFrame:
    """Compare memory: one row per rank, device and measure.

    Raises MissingTableError if a run records no allocations.
    """
    for trace in (base, other):
        trace.require("compare_memory", "allocations")
    rows = _MEMORY.values(base, other, rules).rename(
        {
            "base_value": "base_bytes",
            "other_value": "other_bytes",
            "low": "more_low_bytes",
            "high": "more_high_bytes",
        }
    )
    rows = rows.with_columns(
        pl.col("outcome").replace(_WORDS),
        more_bytes=pl.col("other_bytes") - pl.col("base_bytes"),
    )
    return COMPARE_MEMORY.conform(rows.sort("rank", "device", "measure", nulls_last=True))


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - all pair notes take these
    """Describe the measures that are certainly lower or higher in the new run."""
    judged = frame.filter(pl.col("outcome").is_in(["less", "more"]))
    return [
        f"Rank {rank}: {measure.replace('_', ' ')} is {outcome}, {base_bytes / 1e6:,.3f} MB in base"
        f" and {other_bytes / 1e6:,.3f} MB in new."
        for rank, measure, outcome, base_bytes, other_bytes in judged.select(
            "rank", "measure", "outcome", "base_bytes", "other_bytes"
        ).iter_rows()
    ]


ANALYSIS = Analysis(
    "How does the memory of two runs differ?",
    COMPARE_MEMORY,
    compare_memory,
    notes=notes,
    shown=(
        "rank",
        "device",
        "measure",
        "base_bytes",
        "other_bytes",
        "more_bytes",
        "outcome",
        "more_low_bytes",
        "more_high_bytes",
        "reason",
    ),
    of_one_program=True,
)
