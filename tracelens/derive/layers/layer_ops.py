"""Self time of ops on the host by the layer and phase that they run in."""

from __future__ import annotations

import polars as pl

from tracelens.derive.events.sites import accumulation_and_roots
from tracelens.derive.events.span_trees import span_trees
from tracelens.derive.layers.attribution import name_layers
from tracelens.trace import Trace

_COLUMNS = ("rank", "span_id", "parent_id", "kind", "name", "self_ns", "module_path", "phase")
_PLACE = ["rank", "module_path", "phase", "accumulates", "is_root"]


def time_ops(trace: Trace) -> pl.DataFrame:
    """A row for each rank, layer, phase and evidence: class_name, n_ops, op_self_ns; they sum to the ops' self time."""
    spans = trace.select("spans", *_COLUMNS)
    measures = [pl.len().cast(pl.Int64).alias("n_ops"), pl.col("self_ns").cast(pl.Int64).sum().alias("op_self_ns")]
    parts = []
    for tree in span_trees(spans):
        rows = (tree["kind"] == "op").arg_true()
        accumulates, roots = accumulation_and_roots(tree, rows)
        ops = tree.select("rank", "module_path", "phase", "self_ns")[rows].with_columns(
            accumulates=accumulates, is_root=pl.col("module_path").is_in(roots.implode()).fill_null(value=False)
        )
        parts.append(ops.lazy().group_by(_PLACE).agg(measures).collect())
    if not parts:
        return pl.DataFrame()
    host_only = {"is_communication": pl.lit(False), "by_node": pl.lit(False), "link": pl.lit("launched")}
    named = name_layers(pl.concat(parts).with_columns(**host_only), trace)
    return named.group_by("rank", "layer", "class_name", "phase", "evidence").agg(pl.col("n_ops", "op_self_ns").sum())
