"""GPU time of kernels by the layer and phase that they belong to, and on what evidence they do."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tracelens.derive.events.sites import accumulation_and_roots, only_in_wrapper
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.layers.provenance import split_kernels
from tracelens.derive.layers.replays import UNATTRIBUTED, has_replays, place_replays
from tracelens.schemas.events import LIBRARIES, PRIMITIVES
from tracelens.schemas.results.work import LAYER_ATTRIBUTION
from tracelens.trace import Trace

PRE_WINDOW = "(pre-window)"
ROOT_ONLY = "root module only"
"""Evidence of kernels launched in the model's root module, or a wrapper of it, and in no module below."""
_KIND = [
    "rank",
    "module_path",
    "is_root",
    "phase",
    "accumulates",
    "library",
    "primitive",
    "link",
    "is_communication",
    "by_node",
]
_KEY = ["rank", "layer", "class_name", "phase"]


def attribute_kernels(trace: Trace, *, in_steps: bool = False, base: Trace | None = None) -> pl.DataFrame:
    """A row a layer and phase of each rank, most time first, as LAYER_ATTRIBUTION declares; none without kernels.

    `in_steps` leaves out kernels that belong to no step, of ranks that mark steps. `base`, a capture of the same
    program without CUDA graphs, places what this one replayed.
    """
    ns, bounds = pl.col("duration_ns"), ("low_ns", "high_ns")
    replays = base if base is not None and base.has("kernels") and has_replays(trace) else None
    if trace.has("provenance") or replays is not None:
        parts = place_parts(trace)
        if replays is not None:
            parts = place_replays(parts, trace, replays, place_parts(replays))
        parts = parts.filter(_in_steps(trace)) if in_steps else parts
        placed = parts.with_columns(n=pl.lit(1, pl.Int64))
    else:
        placed = _placed(_kinds(trace, in_steps=in_steps), trace).with_columns(
            low_ns="duration_ns", high_ns="duration_ns"
        )
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
            ns.filter(pl.col("evidence") == ROOT_ONLY).sum().alias("root_only_ns"),
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


def _kinds(trace: Trace, *, in_steps: bool) -> pl.DataFrame:
    """What `_located` gives, a row a kind of kernels with their time and number n; `in_steps` leaves out the others."""
    measures = [pl.col("duration_ns").sum(), pl.len().cast(pl.Int64).alias("n")]
    if not trace.has("sites") or _knows_nodes(trace):
        located = _located(trace)
        located = located.filter(_in_steps(trace)) if in_steps else located
        return located.group_by(_KIND).agg(measures)
    key = ["rank", "site_id", "library", "primitive", "link", "is_communication"]
    kernels = trace.select("kernels", *key, "duration_ns", "step")
    kinds = kernels.lazy().group_by(*key, in_step=pl.col("step").is_not_null()).agg(measures).collect()
    marked = kinds.filter("in_step")["rank"].unique()
    kinds = kinds.filter(pl.col("in_step") | ~pl.col("rank").is_in(marked.implode())) if in_steps else kinds
    sites = trace.select("sites", "rank", "site_id", "is_root", "accumulates", "module_path", "phase")
    return kinds.join(sites, on=["rank", "site_id"], how="left").with_columns(by_node=pl.lit(value=False))


def _in_steps(trace: Trace) -> pl.Expr:
    """Whether a kernel belongs to a step, or its rank marks none."""
    marked = trace.select("kernels", "rank", "step").drop_nulls("step")["rank"].unique()
    return pl.col("step").is_not_null() | ~pl.col("rank").is_in(marked.implode())


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
        evidence=pl.when(path.is_null()).then(pl.lit(ROOT_ONLY)).otherwise("compile provenance: " + pl.col("rule")),
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
    """Every kernel with the columns of _KIND, which are all that its place depends on.

    module_path and phase are those of the span around the launch.
    """
    columns = ["rank", "kernel_id", "span_id", "duration_ns", "is_communication", "step"]
    columns += ["library", "primitive", "link", *(["node_span_id"] if _knows_nodes(trace) else [])]
    kernels = trace.select("kernels", *columns)
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name", "module_path", "phase")
    found = []
    for tree, part in with_trees(spans, kernels):
        at, by_node = _where(tree, part)
        path = tree["module_path"].gather(at).alias("module_path")
        within, roots = accumulation_and_roots(tree)
        accumulates = within.gather(part["span_id"]).fill_null(value=False)
        is_root, phase = path.is_in(roots.implode()), tree["phase"].gather(at)
        is_root = is_root.fill_null(value=False) | only_in_wrapper(tree, part["span_id"])
        located = part.with_columns(path, by_node=by_node, accumulates=accumulates, phase=phase, is_root=is_root)
        found.append(located)
    return pl.concat(found)


def _knows_nodes(trace: Trace) -> bool:
    return trace.select("kernels", "node_span_id")["node_span_id"].count() > 0


def _where(tree: pl.DataFrame, kernels: pl.DataFrame) -> tuple[pl.Series, pl.Series | pl.Expr]:
    """The span whose module each kernel belongs to, and whether that is where the node of its graph was made."""
    at = kernels["span_id"]
    if "node_span_id" not in kernels.columns:
        return at, pl.lit(value=False)
    node = kernels["node_span_id"]
    by_node = tree["module_path"].gather(node).is_not_null()
    return node.zip_with(by_node, at), by_node


def _placed(located: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Kernels, or kinds of them, with layer, class_name and evidence; strings as such."""
    located = located.cast({pl.Categorical: pl.String})
    path, phase = pl.col("module_path"), pl.col("phase")
    in_layer = path.is_not_null() & ~pl.col("is_root")
    rows = (
        (pl.col("is_communication"), "(communication)", "communication kernel"),
        (pl.col("accumulates").fill_null(False), "(gradient accumulation)", "autograd node"),
        (phase == "optimizer", "(optimizer)", "optimizer marker"),
        (in_layer & pl.col("by_node"), None, "graph node"),
        (in_layer & (phase == "backward"), None, "backward sequence"),
        (in_layer, None, "module span"),
        (pl.col("link") == "pre_window", PRE_WINDOW, "launched before the trace began"),
        (path.is_not_null() | pl.col("is_root"), UNATTRIBUTED, ROOT_ONLY),
    )
    return _with_classes(trace, located.with_columns(**first_of(rows)))


def first_of(rows: Sequence[tuple[pl.Expr, str | None, str]]) -> dict[str, pl.Expr]:
    """The columns layer and evidence: those of the first condition that holds.

    A layer of None stands for the row's module_path. Where no condition holds, the layer is unattributed.
    """
    layers = (pl.when(when).then(pl.lit(layer) if layer else "module_path") for when, layer, _ in rows)
    reasons = (pl.when(when).then(pl.lit(evidence)) for when, _, evidence in rows)
    return {"layer": pl.coalesce(*layers, pl.lit(UNATTRIBUTED)), "evidence": pl.coalesce(*reasons, pl.lit("none"))}
