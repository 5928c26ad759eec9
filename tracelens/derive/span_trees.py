"""The spans of each rank as a tree."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl


def span_trees(spans: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Each rank's spans in order of span_id, so that parent_id, as every span_id, is a row number of the frame."""
    is_one = spans["rank"].min() == spans["rank"].max()
    for part in [spans] if spans.height and is_one else spans.partition_by("rank", maintain_order=True):
        yield part if part["span_id"].is_sorted() else part.sort("span_id")


def with_trees(spans: pl.DataFrame, frame: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Each rank's span tree, and the frame's rows of that rank; their span_id, where it is none of the tree's, null.

    What is of ranks without spans comes with an empty tree, last.
    """
    trees = list(span_trees(spans))
    ranks = [tree["rank"].first() for tree in trees]
    rest = frame.filter(~pl.col("rank").is_in(ranks))
    for rank, tree in [*zip(ranks, trees, strict=True), (None, spans.clear())]:
        part = rest if rank is None else frame if frame.height and _is_all(frame, rank) else frame.filter(rank=rank)
        if part.height or rank is not None:
            known = pl.col("span_id").is_between(0, tree.height - 1)
            yield tree, part.with_columns(pl.when(known).then("span_id"))


def _is_all(frame: pl.DataFrame, rank: object) -> bool:
    return frame["rank"].min() == rank == frame["rank"].max()
