"""Find each kernel's modelled call: the innermost op of known work around its launch."""

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.events.autograd_nodes import NODE, forward_backward
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.list_inputs import with_indexed, with_lists
from tracelens.derive.kernels.op_families import backward_factor
from tracelens.derive.kernels.op_work import is_modelled
from tracelens.derive.kernels.recorded_call import RecordedCall, UnknownWorkError
from tracelens.derive.kernels.unrecorded_values import with_values
from tracelens.derive.kernels.unseen_experts import with_experts
from tracelens.derive.layers.call_work import INPUTS, works_of
from tracelens.trace import Trace

_CALLED_FOR_ALL = tuple(
    f"aten::_{kind}_attention_{way}"
    for kind in ("flash", "efficient")
    for way in ("forward", "backward")
)
"""Ops that scaled_dot_product_attention, xFormers and torch's varlen_attn call."""
_SUFFIX = "Backward"
_SUMS = ("flops", "needed_flops")
_FORWARD = ("rank", "span_id", "process_id", "thread_id", "start_ns", *NODE[1:])
_INPUTS = ("input_shapes", "input_dtypes", "input_strides")


def with_calls(
    trace: Trace,
    kernels: pl.DataFrame,
    only: pl.Expr | None = None,
) -> pl.DataFrame:
    """Return the kernels with `call` and the columns WORK.

    `call` is the span_id of the innermost op of known work around the launch, None for no op.
    `kernels` have rank, span_id, name, grid_x and other columns. `only` is a condition on the ops.
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
    """Return one row per op or backward node of known work: rank, span_id and WORK."""
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
    return _with_backward_nodes(works_of(complete), trace)


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
    """Return the span_id of each kernel's call, or None. All kernels are of one rank."""
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


def _with_backward_nodes(works: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add the backward nodes of custom autograd functions to the works (rank, span_id, WORK)."""
    # For a function F, the trace has the node FBackward with only the result's gradient as input.
    # So its work is derived from the forward call: operations times a factor of the op's family.
    factors = _backward_factors(works)
    if not factors:
        return works
    names = [*factors, *(f"{op}{_SUFFIX}" for op in factors)]
    is_named = pl.col("name").cast(pl.String).is_in(names)
    is_op = pl.col("kind") == "op"
    spans = trace.select("spans", *_FORWARD, *_INPUTS, where=is_named & is_op)
    if not spans["forward_thread_id"].gt(0).any():
        return works
    nodes = _with_backward_work(_nodes_with_forward_work(works, spans), factors)
    return pl.concat([works, nodes.select(works.columns)])


def _backward_factors(works: pl.DataFrame) -> dict[str, float]:
    """Return the known ratio of backward to forward operations, by op."""
    factors = {}
    for op in works["op"].unique():
        factor = backward_factor(op)
        if factor:
            factors[op] = float(factor)
    return factors


def _with_backward_work(nodes: pl.DataFrame, factors: dict[str, float]) -> pl.DataFrame:
    """Replace the work of forward calls by the work of their backward nodes."""
    op = pl.col("op")
    factor = op.replace_strict(factors, default=None, return_dtype=pl.Float64)
    texts = {}
    for name, times in factors.items():
        texts[name] = f"backward is taken as {times:g} times forward"
    text = op.replace_strict(texts, default=None, return_dtype=pl.String)
    not_moved = pl.struct(_INPUTS).map_batches(_not_moved, return_dtype=pl.Float64)
    moved_bytes = pl.col("least_bytes") * 2 - not_moved
    # With a factor of 1, the function passes the gradient through, and moves as many bytes as
    # before.
    least_bytes = pl.when(factor > 1).then(moved_bytes).otherwise("least_bytes")
    no_cache = pl.lit(0.0)
    no_bound = pl.lit(None, pl.Float64)
    return nodes.with_columns(
        pl.col(_SUMS) * factor,
        least_bytes=least_bytes,
        op=op + _SUFFIX,
        pair_flops=no_cache,
        key_bytes=no_cache,
        most_flops=no_bound,
        most_bytes=no_bound,
        assumed=pl.concat_str("assumed", text, separator="; ", ignore_nulls=True),
    )


def _nodes_with_forward_work(works: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the backward nodes that are not in `works`, with the work of their forward calls."""
    pairs_by_rank = []
    for (rank,), of_rank in spans.group_by("rank"):
        pairs = forward_backward(of_rank)
        rank_of_pairs = pl.lit(rank, pl.Int32)
        pairs_by_rank.append(pairs.with_columns(rank=rank_of_pairs))
    key = ["rank", "span_id"]
    pairs = pl.concat(pairs_by_rank)
    forward_work = pairs.join(works, on=key)
    nodes = forward_work.drop("span_id").rename({"run_id": "span_id"})
    without_own_work = nodes.join(works, on=key, how="anti")
    inputs = spans.select(*key, *_INPUTS)
    return without_own_work.join(inputs, on=key)


def _not_moved(recorded: pl.Series) -> pl.Series:
    """Return, for each backward node, how many fewer bytes it moves than two forward calls.

    The number is None for a node whose first input is unknown.
    """
    # The node reads the inputs and the result's gradient, and writes a gradient for each input.
    # Twice the forward call has two results instead of the gradient of the result, the node's first
    # input. A gradient that was broadcast takes less memory than the result.
    texts = recorded.struct.unnest().cast(pl.String)
    sizes = {row: _not_moved_by(row) for row in texts.unique().iter_rows()}
    return pl.Series([sizes[row] for row in texts.iter_rows()], dtype=pl.Float64)


def _not_moved_by(texts: tuple[str | None, ...]) -> float | None:
    try:
        tensors = RecordedCall.parsed([*texts, None]).tensors(0)
    except UnknownWorkError:
        return None
    if not tensors:
        return None
    gradient = tensors[0]
    dense_bytes = gradient.n_elements * gradient.width
    return float(2 * dense_bytes - gradient.n_bytes)
