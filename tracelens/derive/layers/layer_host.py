"""Sum host time by layer: the self time of each layer's ops."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.per_unique import matching
from tracelens.derive.events.call_tree import count_among
from tracelens.derive.events.launch_sites import accumulation_and_roots
from tracelens.derive.events.span_trees import span_trees
from tracelens.derive.layers.layer_rules import name_layers, with_classes
from tracelens.derive.layers.provenance import split_kernels
from tracelens.trace import Trace

_COLUMNS = ("rank", "span_id", "parent_id", "kind", "name", "self_ns", "module_path", "phase")
_PLACE = ("rank", "module_path", "phase", "accumulates", "loads")
_LOADER = r"^enumerate\(DataLoader\)"
"""The annotation around a data loader's work, on the thread that requests a batch."""


def layer_host_times(trace: Trace, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return the self time of each layer's ops on the host.

    Columns: rank, layer, class_name, phase, evidence, `by` (further columns of spans, such as the
    step), n_ops, op_self_ns. Without ops, the frame has no columns.
    """
    spans = trace.select("spans", *_COLUMNS, *by)
    compiled = _ops_of_graphs(trace)
    parts = [_sums_by_place(tree, compiled, by) for tree in span_trees(spans)]
    if not parts:
        return pl.DataFrame()
    located = pl.concat(parts).with_columns(
        is_communication=pl.lit(False),
        by_node=pl.lit(False),
        link=pl.lit("launched"),
    )
    key = ["rank", "layer", "class_name", "phase", "evidence", *by]
    layers = name_layers(located, trace).select(*key, "n_ops", "op_self_ns")
    if compiled.height:  # an op of several modules counts once in each, with a part of its time
        groups = spans.select("rank", "span_id", *by)
        grouped = compiled.join(groups, on=["rank", "span_id"])
        of_graphs = grouped.with_columns(
            n_ops=pl.lit(1, pl.Int64),
            op_self_ns="self_ns",
        )
        with_class = with_classes(trace, of_graphs)
        same_columns = with_class.select(layers.columns).cast(layers.schema)
        layers = pl.concat([layers, same_columns])
    sums = pl.col("n_ops", "op_self_ns").sum()
    return layers.group_by(key).agg(sums)


def _sums_by_place(
    tree: pl.DataFrame,
    compiled: pl.DataFrame,
    by: Sequence[str],
) -> pl.DataFrame:
    """Count the ops of a span tree and sum their self time, per `_PLACE` and `by`.

    Ops in `compiled` are left out, because their modules are known from compile time.
    """
    accumulates, roots = accumulation_and_roots(tree)
    (is_loader,) = matching(tree["name"], _LOADER)
    loads = count_among(tree["parent_id"], is_loader) > 0
    marked = tree.lazy().with_columns(accumulates=accumulates, loads=loads)
    is_op = pl.col("kind") == "op"
    ops = marked.filter(is_op)
    if compiled.height:
        ops = ops.join(
            compiled.lazy(),
            on=["rank", "span_id"],
            how="anti",
        )
    self_ns = pl.col("self_ns").cast(pl.Int64)
    sums = ops.group_by(*_PLACE, *by).agg(
        n_ops=pl.len().cast(pl.Int64),
        op_self_ns=self_ns.sum(),
    )
    is_root = pl.col("module_path").is_in(roots.implode())
    return sums.with_columns(is_root=is_root.fill_null(value=False)).collect()


def _ops_of_graphs(trace: Trace) -> pl.DataFrame:
    """Return the ops of compiled graphs, with one row for each module that an op was made from.

    Columns: rank, span_id, layer, phase, evidence, self_ns. An op's self_ns is split among its
    rows.
    """
    schema = dict.fromkeys(("layer", "phase", "evidence"), pl.String)
    empty = pl.DataFrame(
        schema={"rank": pl.Int32, "span_id": pl.Int64, **schema, "self_ns": pl.Int64}
    )
    if not trace.has("provenance"):
        return empty
    spans = trace.spans
    is_op = pl.col("kind") == "op"
    ops = spans.filter(is_op).sort("rank", "start_ns", "depth")
    as_calls = ops.select(
        "rank",
        "name",
        "span_id",
        "start_ns",
        kernel_id="span_id",
        primitive=pl.lit("unknown"),
        link=pl.lit("launched"),
        duration_ns="self_ns",
    )
    parts = split_kernels(as_calls, spans, trace.provenance).drop_nulls("module_path")
    if parts.is_empty():
        return empty
    backward = pl.when("is_backward").then(pl.lit("backward")).otherwise(pl.lit("forward"))
    return parts.select(
        "rank",
        span_id="kernel_id",
        layer="module_path",
        phase=backward,
        evidence="compile provenance: " + pl.col("rule"),
        self_ns="estimate_ns",
    )
