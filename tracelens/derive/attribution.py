"""Whose the kernels are: GPU time by layer and phase, and on what evidence."""

from __future__ import annotations

import polars as pl

from tracelens.derive.ancestry import nearest, outermost
from tracelens.derive.provenance import split_kernels
from tracelens.derive.span_trees import span_trees
from tracelens.schemas.events import LIBRARIES, PRIMITIVES
from tracelens.schemas.results.work import LAYER_ATTRIBUTION
from tracelens.trace import Trace

_KEY = ["rank", "layer", "class_name", "phase"]
UNATTRIBUTED = "(unattributed)"


def attribute_kernels(trace: Trace, *, in_steps: bool = False) -> pl.DataFrame:
    """A row a layer and phase of each rank, most time first, as LAYER_ATTRIBUTION declares; none without kernels.

    `in_steps` leaves out kernels that belong to no step, of ranks that mark steps.
    """
    ns, bounds = pl.col("duration_ns"), ("low_ns", "high_ns")
    placed = place_parts(trace)
    if in_steps:
        unmarked = pl.col("step").is_null() & pl.col("step").is_not_null().any().over("rank")
        placed = placed.join(trace.kernels.filter(unmarked), on=["rank", "kernel_id"], how="anti")
    sorts = placed.group_by(*_KEY, "evidence", "library", "primitive").agg(ns.sum(), pl.col(bounds).sum(), n=pl.len())
    by_evidence = sorts.group_by(*_KEY, "evidence").agg(ns.sum()).sort("duration_ns", "evidence", descending=True)
    evidence = by_evidence.group_by(_KEY).agg(pl.col("evidence").first())
    frame = (
        sorts.group_by(_KEY)
        .agg(
            pl.col("n").sum().cast(pl.Int64).alias("n_kernels"),
            ns.sum().alias("duration_total_ns"),
            ns.sum().alias("estimate_ns"),
            pl.col(bounds).sum(),
            *(ns.filter(pl.col("library") == word).sum().alias(f"library_{word}_ns") for word in LIBRARIES),
            *(ns.filter(pl.col("primitive") == word).sum().alias(f"primitive_{word}_ns") for word in PRIMITIVES),
        )
        .join(evidence, on=_KEY, nulls_equal=True)
        .with_columns(
            share_frac=_over(pl.col("duration_total_ns"), pl.col("duration_total_ns").sum().over("rank")),
            layout_frac=_over(pl.col("primitive_layout_ns"), pl.col("duration_total_ns")),
        )
        .sort("rank", "duration_total_ns", "layer", "phase", descending=[False, True, False, False])
    )
    return LAYER_ATTRIBUTION.conform(frame)


def _over(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole).otherwise(0.0)


def place_parts(trace: Trace) -> pl.DataFrame:
    """`place_kernels` with every fused kernel as a row a module that it was made from, its duration_ns split.

    Gains low_ns and high_ns. What was recorded at compile time outweighs the module around the launch, which is the
    one that was compiled; communication and gradient accumulation stay what they are.
    """
    placed = place_kernels(trace).with_columns(low_ns="duration_ns", high_ns="duration_ns")
    if not trace.has("provenance"):
        return placed
    launches = trace.api_calls.select("rank", "api_call_id", launch_ns="start_ns")
    kernels = trace.kernels.join(launches, on=["rank", "api_call_id"], how="left")
    parts = split_kernels(kernels.sort("rank", "launch_ns", "start_ns"), trace.spans, trace.provenance)
    key = ["rank", "kernel_id"]
    told = parts.join(placed.filter(~pl.col("evidence").is_in(_OWN_ROWS)), on=key, how="inner", suffix="_around")
    inner = pl.format("{}.{}", "module_path_around", "module_path")
    known = trace.layers.select("rank", inner=pl.col("module_path"), is_known=pl.lit(True))
    told = told.with_columns(inner=inner).join(known, on=["rank", "inner"], how="left")
    path = pl.when("is_known").then("inner").when(pl.col("module_path") != "").then("module_path")
    told = told.with_columns(
        module_path=path,
        layer=path.fill_null(UNATTRIBUTED),
        evidence=pl.when(path.is_null())
        .then(pl.lit("root module only"))
        .otherwise("compile provenance: " + pl.col("rule")),
        phase=pl.when("is_backward").then(pl.lit("backward")).otherwise("phase"),
        duration_ns="estimate_ns",
    )
    rest = placed.join(told.select(key).unique(), on=key, how="anti", maintain_order="left")
    return pl.concat([rest, _with_classes(trace, told).select(rest.columns)])


_OWN_ROWS = ("communication kernel", "autograd node", "optimizer marker")


def _with_classes(trace: Trace, placed: pl.DataFrame) -> pl.DataFrame:
    classes = trace.layers.select("rank", "class_name", layer="module_path")
    return placed.drop("class_name", strict=False).join(
        classes, on=["rank", "layer"], how="left", maintain_order="left"
    )


def place_kernels(trace: Trace) -> pl.DataFrame:
    """Every kernel with its layer, class_name, phase and evidence; library, primitive and duration as they were."""
    columns = ["rank", "span_id", "parent_id", "kind", "name", "module_path", "phase"]
    trees = [tree.with_columns(_accumulating(tree)) for tree in span_trees(trace.spans.select(columns))]
    spans = pl.concat(trees) if trees else trace.spans.select(*columns, accumulates=pl.lit(False))
    roots = _roots(spans)
    placed = (
        trace.kernels.select(
            "rank", "kernel_id", "span_id", "duration_ns", "library", "primitive", "link", "is_communication"
        )
        .join(spans.drop("parent_id", "kind", "name"), on=["rank", "span_id"], how="left", maintain_order="left")
        .join(roots, on=["rank", "module_path"], how="left", maintain_order="left")
    )
    path, phase = pl.col("module_path"), pl.col("phase")
    in_layer = path.is_not_null() & pl.col("is_root").is_null()
    rows = (
        (pl.col("is_communication"), "(communication)", "communication kernel"),
        (pl.col("accumulates").fill_null(False), "(gradient accumulation)", "autograd node"),
        (phase == "optimizer", "(optimizer)", "optimizer marker"),
        (in_layer & (phase == "backward"), None, "backward sequence"),
        (in_layer, None, "module span"),
        (pl.col("link") == "pre_window", "(pre-window)", "launched before the trace began"),
        (path.is_not_null(), UNATTRIBUTED, "root module only"),
    )
    layer = pl.coalesce(
        *(pl.when(when).then(pl.lit(row) if row else path) for when, row, _ in rows), pl.lit(UNATTRIBUTED)
    )
    evidence = pl.coalesce(*(pl.when(when).then(pl.lit(why)) for when, _, why in rows), pl.lit("none"))
    return _with_classes(trace, placed.with_columns(layer=layer, evidence=evidence))


def _roots(spans: pl.DataFrame) -> pl.DataFrame:
    """Rank and module_path of modules that no module call encloses and that have layers of their own within."""
    found = [pl.DataFrame(schema={"rank": spans.schema["rank"], "module_path": pl.String})]
    for tree in span_trees(spans):
        rows = pl.int_range(tree.height, eager=True).set(tree["kind"] != "module", None)
        top = outermost(tree["parent_id"], rows)
        within = tree["module_path"] != tree["module_path"].gather(top)
        found.append(tree[top.filter(within).unique()].select("rank", "module_path"))
    return pl.concat(found).unique().with_columns(is_root=pl.lit(True))


def _accumulating(tree: pl.DataFrame) -> pl.Series:
    """Whether a span lies within an AccumulateGrad node."""
    flags = tree["name"].str.contains("AccumulateGrad", literal=True).alias("accumulates")
    return nearest(tree["parent_id"], flags.set(~flags, None)).fill_null(False) if flags.any() else flags
