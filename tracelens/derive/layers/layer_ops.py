"""Self time of ops on the host by the layer and phase that they run in."""

from __future__ import annotations

import polars as pl

from tracelens.derive.events.sites import accumulation_and_roots
from tracelens.derive.events.span_trees import span_trees
from tracelens.derive.layers.attribution import ROOT_ONLY, first_of
from tracelens.derive.layers.replays import UNATTRIBUTED
from tracelens.trace import Trace

_COLUMNS = ("rank", "span_id", "parent_id", "kind", "name", "self_ns", "module_path", "phase")
_PLACE = ["rank", "module_path", "phase", "accumulates"]


def time_ops(trace: Trace) -> pl.DataFrame:
    """A row a rank, layer, phase and evidence: class_name, n_ops, op_self_ns; the rows sum to the ops' self time."""
    spans = trace.select("spans", *_COLUMNS)
    measures = [pl.len().cast(pl.Int64).alias("n_ops"), pl.col("self_ns").cast(pl.Int64).sum().alias("op_self_ns")]
    parts = []
    for tree in span_trees(spans):
        accumulates, roots = accumulation_and_roots(tree)
        ops = tree.lazy().with_columns(accumulates=accumulates).filter(pl.col("kind") == "op")
        is_root = pl.col("module_path").is_in(roots.implode()).fill_null(value=False)
        parts.append(ops.group_by(_PLACE).agg(measures).with_columns(is_root=is_root).collect())
    if not parts:
        return pl.DataFrame()
    placed = _named(pl.concat(parts))
    sums = placed.group_by("rank", "layer", "phase", "evidence").agg(pl.col("n_ops", "op_self_ns").sum())
    classes = trace.layers.select("rank", "class_name", layer="module_path")
    return sums.join(classes.unique(["rank", "layer"]), on=["rank", "layer"], how="left", maintain_order="left")


def _named(places: pl.DataFrame) -> pl.DataFrame:
    """The places with layer and evidence, strings as such: the same named rows as those of kernels without a layer."""
    places = places.cast({pl.Categorical: pl.String})
    path, phase = pl.col("module_path"), pl.col("phase")
    in_layer = path.is_not_null() & ~pl.col("is_root")
    rows = (
        (pl.col("accumulates"), "(gradient accumulation)", "autograd node"),
        (phase == "optimizer", "(optimizer)", "optimizer marker"),
        (in_layer & (phase == "backward"), None, "backward sequence"),
        (in_layer, None, "module span"),
        (path.is_not_null(), UNATTRIBUTED, ROOT_ONLY),
    )
    return places.with_columns(**first_of(rows))
