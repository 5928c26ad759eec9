"""Compare repeated blocks of a model in two runs, summed by the pattern of their paths."""

import polars as pl

from tracelens.analyses.analysis import Analysis
from tracelens.derive.comparing.per_step import layer_work
from tracelens.derive.comparing.rows import Comparison, outcomes_in_words
from tracelens.derive.comparing.significance import DEFAULT, TICK_NS, Rules
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.errors import MissingTableError
from tracelens.schemas.results.comparing import COMPARE_BLOCKS
from tracelens.trace import Trace


@pairs_ranks
def compare_blocks(base: Trace, other: Trace, *, rules: Rules = DEFAULT) -> pl.DataFrame:
    """Compare repeated layers: one row per rank, pattern and phase, and one per layer of a pattern.

    A pattern is a layer's path with `*` for numbers. The pattern with most time comes first. Raises
    MissingTableError if a run has no kernels, or if no path has a number.
    """
    for trace in (base, other):
        trace.require("compare_blocks", "kernels")
    rows = _BLOCKS.calls(base, other, rules)
    within = ["rank", "pattern", "phase"]
    members = pl.col("layer").drop_nulls().n_unique().over("rank", "pattern")
    rows = rows.with_columns(members=members).filter(pl.col("members") > 1)
    if rows.is_empty():
        raise MissingTableError(
            "compare_blocks needs kernels of layers whose paths differ in a number only, as"
            " layers.0 and layers.1; tracelens collect torch -- COMMAND records paths"
        )
    n_layers = pl.when(pl.col("layer").is_null()).then("members").otherwise(1)
    most = pl.max_horizontal("base_ns", "other_ns")
    return COMPARE_BLOCKS.conform(
        rows.with_columns(n_layers=n_layers).sort(
            most.max().over(within),
            *within,
            pl.col("layer").is_not_null(),
            most,
            descending=[True, False, False, False, False, True],
            maintain_order=True,
        )
    )


def _blocks(trace: Trace) -> pl.DataFrame:
    """Return the time of each layer with a number in its path, and of each pattern, by step.

    In the rows of a pattern, the layer is None.
    """
    pattern = pl.col("layer").str.replace_all(r"(^|\.)\d+\b", "${1}*")
    layers = (
        layer_work(trace).with_columns(pattern=pattern).filter(pl.col("pattern") != pl.col("layer"))
    )
    return pl.concat(
        [
            layers.with_columns(layer=pl.lit(None, pl.String)),
            layers,
        ]
    )


_BLOCKS = Comparison(("rank", "pattern", "layer", "phase"), _blocks, TICK_NS)


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - all pair notes take these
    """Say how many rows were judged faster, slower or neither."""
    return [
        outcomes_in_words(
            frame.filter(pl.col("layer").is_null()),
            "repeated blocks, by phase",
        )
    ]


ANALYSIS = Analysis(
    "Which repeated blocks does the new run make faster, and which slower?",
    COMPARE_BLOCKS,
    compare_blocks,
    notes=notes,
    shown=(
        "rank",
        "pattern",
        "layer",
        "phase",
        "n_layers",
        "base_ns",
        "other_ns",
        "speedup",
        "outcome",
        "speedup_low",
        "speedup_high",
        "reason",
    ),
    of_one_program=True,
)
