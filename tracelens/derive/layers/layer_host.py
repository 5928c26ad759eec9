"""Host time of layers: the self time of the ops that belong to each."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.events.launch_sites import accumulation_and_roots
from tracelens.derive.events.span_trees import span_trees
from tracelens.derive.layers.attribution import name_layers
from tracelens.trace import Trace

_COLUMNS = ("rank", "span_id", "parent_id", "kind", "name", "self_ns", "module_path", "phase")
_PLACE = ("rank", "module_path", "phase", "accumulates")


def layer_host_times(trace: Trace, by: Sequence[str] = ()) -> pl.DataFrame:
    """Time each layer's ops on the host: they sum to the ops' self time.

    One row per rank, layer, class_name, phase and evidence, and per value of `by`, columns of
    spans such as the step: n_ops, op_self_ns. Without any op the frame has no columns.
    """
    spans = trace.select("spans", *_COLUMNS, *by)
    measures = [
        pl.len().cast(pl.Int64).alias("n_ops"),
        pl.col("self_ns").cast(pl.Int64).sum().alias("op_self_ns"),
    ]
    parts = []
    for tree in span_trees(spans):
        accumulates, roots = accumulation_and_roots(tree)
        ops = tree.lazy().with_columns(accumulates=accumulates).filter(pl.col("kind") == "op")
        is_root = pl.col("module_path").is_in(roots.implode()).fill_null(value=False)
        sums = ops.group_by(*_PLACE, *by).agg(measures)
        parts.append(sums.with_columns(is_root=is_root).collect())
    if not parts:
        return pl.DataFrame()
    host_only = {
        "is_communication": pl.lit(False),
        "by_node": pl.lit(False),
        "link": pl.lit("launched"),
    }
    layers = name_layers(pl.concat(parts).with_columns(**host_only), trace)
    key = ["rank", "layer", "class_name", "phase", "evidence", *by]
    return layers.group_by(key).agg(pl.col("n_ops", "op_self_ns").sum())
