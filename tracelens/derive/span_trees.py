"""The spans of each rank as a tree, and of that tree the ops alone."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracelens.derive.ancestry import count_among, nearest


def span_trees(spans: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Each rank's spans in order of span_id, so that parent_id, as every span_id, is a row number of the frame."""
    for part in spans.partition_by("rank", maintain_order=True):
        yield part if part["span_id"].is_sorted() else part.sort("span_id")


def op_tree(tree: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """The op spans of a span tree, and for each span of the tree the innermost op around or at it.

    Ops gain `op` (row number among the ops), `parent` (that of the op around it), `level` (1 outermost).
    """
    is_op = tree["kind"] == "op"
    number = is_op.cum_sum().cast(pl.Int64) - 1
    innermost = nearest(tree["parent_id"], number.set(~is_op, None))
    ops = tree.filter(is_op).with_columns(
        op=number.filter(is_op), parent=innermost.gather(tree["parent_id"]).filter(is_op)
    )
    return ops.with_columns(level=count_among(ops["parent"], ops["op"].is_not_null())), innermost


def totals_upwards(ops: pl.DataFrame, own: pl.Series) -> pl.Series:
    """For each op the sum of `own` over it and all ops within it; one join a level, deepest first."""
    found, below = [], pl.DataFrame(schema={"parent": pl.Int64, "within": own.dtype})
    levels = ops.select("op", "parent", "level", own=own).partition_by("level", as_dict=True)
    for level in sorted(levels, reverse=True):
        part = levels[level].join(below, left_on="op", right_on="parent", how="left")
        part = part.select("op", "parent", within=pl.col("own") + pl.col("within").fill_null(0))
        below = part.drop_nulls("parent").group_by("parent").agg(pl.col("within").sum())
        found.append(part.select("op", "within"))
    return pl.concat(found).sort("op")["within"] if found else own


def repeats_an_outer(ops: pl.DataFrame) -> pl.Series:
    """Whether an op runs within another of the same name."""
    code = ops["name"].cast(pl.Categorical).to_physical()
    above = ops.select("op", "parent", code=code, up="parent").drop_nulls("up")
    repeated = []
    while above.height:
        same = code.gather(above["up"]) == above["code"]
        repeated.append(above.filter(same)["op"])
        above = above.filter(~same).with_columns(up=ops["parent"].gather(above.filter(~same)["up"])).drop_nulls("up")
    flags = pl.repeat(False, ops.height, dtype=pl.Boolean, eager=True)
    return flags.scatter(pl.concat(repeated), True) if repeated else flags
