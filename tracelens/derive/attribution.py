"""Whose the kernels are: GPU time by layer and phase, and on what evidence."""

from __future__ import annotations

import polars as pl

from tracelens.derive.ancestry import nearest_row, outermost_row
from tracelens.derive.lookup import grouped
from tracelens.derive.provenance import split_kernels
from tracelens.derive.span_trees import with_trees
from tracelens.schemas.events import LIBRARIES, PRIMITIVES
from tracelens.schemas.results.work import LAYER_ATTRIBUTION
from tracelens.trace import Trace

_KIND = ["rank", "module_path", "is_root", "phase", "accumulates", "library", "primitive", "link", "is_communication"]
_KEY = ["rank", "layer", "class_name", "phase"]
UNATTRIBUTED = "(unattributed)"


def attribute_kernels(trace: Trace, *, in_steps: bool = False) -> pl.DataFrame:
    """A row a layer and phase of each rank, most time first, as LAYER_ATTRIBUTION declares; none without kernels.

    `in_steps` leaves out kernels that belong to no step, of ranks that mark steps.
    """
    ns, bounds = pl.col("duration_ns"), ("low_ns", "high_ns")
    placed = place_parts(trace) if trace.has("provenance") else _located(trace)
    if in_steps:
        steps = trace.select("kernels", "rank", "kernel_id", "step")
        unmarked = pl.col("step").is_null() & pl.col("step").is_not_null().any().over("rank")
        placed = placed.join(steps.filter(unmarked), on=["rank", "kernel_id"], how="anti")
    if not trace.has("provenance"):
        placed = _placed(grouped(placed, _KIND, [ns.sum(), pl.len().alias("n")]), trace)
        placed = placed.with_columns(low_ns="duration_ns", high_ns="duration_ns")
    else:
        placed = placed.with_columns(n=pl.lit(1, pl.Int64))
    sums = placed.group_by(*_KEY, "evidence", "library", "primitive")
    sorts = sums.agg(pl.col("duration_ns", *bounds, "n").sum())
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
    """Every kernel with its layer, class_name, phase and evidence; a fused one as a row a module it was made from.

    duration_ns is split then, and low_ns and high_ns are gained. What was recorded at compile time outweighs the module
    around the launch, which is the one that was compiled; communication and gradient accumulation stay what they are.
    """
    placed = _placed(_located(trace), trace).with_columns(low_ns="duration_ns", high_ns="duration_ns")
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


def _located(trace: Trace) -> pl.DataFrame:
    """Every kernel with the columns of _KIND, which are all that its place depends on."""
    kernels = trace.select(
        "kernels", "rank", "kernel_id", "span_id", "duration_ns", "library", "primitive", "link", "is_communication"
    )
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name", "module_path", "phase")
    found = []
    for tree, part in with_trees(spans, kernels):
        at = part["span_id"]
        path = tree["module_path"].cast(pl.Categorical)
        located = part.with_columns(
            accumulates=_accumulating(tree).gather(at), module_path=path.gather(at), phase=tree["phase"].gather(at)
        )
        found.append(located.with_columns(is_root=pl.col("module_path").is_in(_roots(tree, path).implode())))
    return pl.concat(found).with_columns(pl.col("module_path").cast(pl.String))


def _placed(located: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Kernels, or kinds of them, with layer, class_name and evidence."""
    path, phase = pl.col("module_path"), pl.col("phase")
    in_layer = path.is_not_null() & ~pl.col("is_root")
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
    return _with_classes(trace, located.with_columns(layer=layer, evidence=evidence))


def _roots(tree: pl.DataFrame, path: pl.Series) -> pl.Series:
    """The paths of modules that no module call encloses and that have layers of their own within."""
    is_module = tree["kind"] == "module"
    if not is_module.any():
        return path.clear()
    top = outermost_row(tree["parent_id"], is_module)
    code = path.to_physical()
    return path.gather(top.filter(code != code.gather(top)).unique()).unique()


def _accumulating(tree: pl.DataFrame) -> pl.Series:
    """Whether a span lies within an AccumulateGrad node."""
    word = tree["name"].cast(pl.Categorical)
    nodes = word.unique().cast(pl.String)
    nodes = nodes.filter(nodes.str.contains("AccumulateGrad", literal=True))
    flags = word.is_in(nodes.cast(pl.Categorical).implode())
    return nearest_row(tree["parent_id"], flags).is_not_null() if flags.any() else flags
