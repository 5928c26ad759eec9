"""Find softmaxes over large matrices of scores, as in attention without a fused kernel."""

import polars as pl

from tracelens.trace import Trace

_LARGE_SCORES = 128 * 128


def has_large_scores(trace: Trace) -> bool:
    """Return whether a softmax's recorded input shape is a batch of large matrices."""
    is_softmax = pl.col("name") == "aten::_softmax"
    softmaxes = trace.select("spans", "input_shapes", where=is_softmax)
    shapes = (
        softmaxes["input_shapes"]
        .unique()
        .cast(pl.String)
        .str.extract(r"^\[\[(?:\d+, ?)+(\d+, ?\d+)\]")
        .drop_nulls()
    )
    sizes = (
        shapes.str.split(",")
        .list.eval(pl.element().str.strip_chars().cast(pl.Int64))
        .list.agg(pl.element().product())
    )
    return bool((sizes >= _LARGE_SCORES).any())
