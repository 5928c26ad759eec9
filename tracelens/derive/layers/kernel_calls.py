"""Find each kernel's modelled call: the innermost op around its launch whose work is known."""

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.list_inputs import with_indexed, with_lists
from tracelens.derive.kernels.op_work import is_modelled
from tracelens.derive.kernels.unrecorded_values import with_values
from tracelens.derive.kernels.unseen_experts import with_experts
from tracelens.derive.layers.backward_calls import with_backward
from tracelens.derive.layers.call_work import INPUTS, works_of
from tracelens.trace import Trace

_CALLED_FOR_ALL = tuple(
    f"aten::_{kind}_attention_{way}"
    for kind in ("flash", "efficient")
    for way in ("forward", "backward")
)
"""Ops that scaled_dot_product_attention, xFormers and torch's varlen_attn call."""


def with_calls(
    trace: Trace,
    kernels: pl.DataFrame,
    only: pl.Expr | None = None,
) -> pl.DataFrame:
    """Return the kernels with `call` and the columns WORK.

    `call` is the span_id of the innermost op around the launch whose work is known, None without
    such an op. `kernels` have rank, span_id, name, grid_x and other columns. `only` is a condition
    on the ops.
    """
    spans = trace.select("spans", "rank", "span_id", "parent_id")
    all_works = _works_of_ops(trace, kernels, only)
    works = _without_repeated(all_works, spans)
    works_of_rank = dict(by_value(works, "rank"))
    parts = []
    for tree, of_tree in with_trees(spans, kernels):
        of_rank = works_of_rank.get(tree["rank"][0]) if tree.height else None
        if of_rank is None:
            call = pl.Series([None], dtype=pl.Int64).new_from_index(0, of_tree.height)
        else:
            call = _calls(tree, of_tree, of_rank)
        parts.append(of_tree.with_columns(call=call))
    works_of_calls = works.rename({"span_id": "call"})
    return pl.concat(parts).join(
        works_of_calls,
        on=["rank", "call"],
        how="left",
        maintain_order="left",
    )


def _works_of_ops(
    trace: Trace,
    kernels: pl.DataFrame,
    only: pl.Expr | None,
) -> pl.DataFrame:
    """Return one row per op or backward node whose work is known: rank, span_id and WORK."""
    is_op = pl.col("kind") == "op"
    has_rule = is_modelled(pl.col("name").cast(pl.String))
    has_shapes = pl.col("input_shapes").is_not_null()
    is_known = is_op & has_rule & has_shapes
    if only is not None:
        is_known &= only
    recorded = trace.select("spans", "rank", "span_id", "step", *INPUTS, where=is_known)
    as_text = recorded.cast({pl.Categorical: pl.String})
    with_list_inputs = with_indexed(with_lists(trace, as_text, kernels), kernels)
    complete = with_experts(trace, with_values(trace, with_list_inputs), kernels)
    return with_backward(works_of(complete), trace)


def _without_repeated(works: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Leave out ops that only do the work of the modelled op that calls them."""
    may_repeat = works.filter(pl.col("op").is_in(_CALLED_FOR_ALL)).select("rank", "span_id")
    if may_repeat.is_empty():
        return works
    span_ids = may_repeat["span_id"].unique()
    with_caller = spans.filter(pl.col("span_id").is_in(span_ids.implode()))
    inner = with_caller.cast({"span_id": pl.Int64, "parent_id": pl.Int64})
    callers = works.select(
        "rank",
        parent_id=pl.col("span_id").cast(pl.Int64),
    )
    called = inner.join(callers, on=["rank", "parent_id"], how="semi")
    repeated = called.join(may_repeat, on=["rank", "span_id"], how="semi")
    return works.join(
        repeated,
        on=["rank", "span_id"],
        how="anti",
        maintain_order="left",
    )


def _calls(
    tree: pl.DataFrame,
    kernels: pl.DataFrame,
    works: pl.DataFrame,
) -> pl.Series:
    """Return the span_id of each kernel's call, None without one; all kernels are of one rank."""
    parent = tree["parent_id"]
    none = pl.repeat(False, tree.height, dtype=pl.Boolean, eager=True)
    is_call = none.clone().scatter(works["span_id"], True)
    span_rows = kernels["span_id"].cast(pl.Int64)
    call = nearest_row(parent, is_call, span_rows).cast(pl.Int64)
    # A product around another product counts the same operations, so kernels that only the outer
    # one contains belong to no call. An op that only moves memory keeps its own kernels, whatever
    # is around it.
    products = works.filter(pl.col("flops") > 0)["span_id"]
    is_product = none.clone().scatter(products, True)
    parents_of_products = parent.gather(products)
    above = nearest_row(parent, is_product, parents_of_products)
    outer_products = above.drop_nulls().unique()
    is_outer = none.clone().scatter(outer_products, True)
    counts_twice = is_outer.gather(call).fill_null(False)
    return call.set(counts_twice, None)
