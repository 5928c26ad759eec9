"""Sum the GPU time of kernels by layer and phase, with the evidence for the layer."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.filling import repeated
from tracelens.derive.columns.lookup import numbered, rows_of
from tracelens.derive.columns.ratios import over
from tracelens.derive.events.launch_sites import accumulation_and_roots, only_in_wrapper
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.layers.graph_capture import EVIDENCE as CAPTURE_EVIDENCE
from tracelens.derive.layers.graph_capture import captured_graphs
from tracelens.derive.layers.graph_replay import (
    BASE_EVIDENCE,
    UNATTRIBUTED,
    has_replays,
    in_launch_order,
    pairs_by_name,
    place_replays,
)
from tracelens.derive.layers.layer_rules import ROOT_ONLY, name_layers, with_classes
from tracelens.derive.layers.open_ranges import in_open_backward
from tracelens.derive.layers.provenance import split_kernels
from tracelens.derive.time.program_phases import in_program
from tracelens.schemas.device import LIBRARIES, PRIMITIVES
from tracelens.schemas.results.work import LAYER_ATTRIBUTION, LAYER_ATTRIBUTION_BY_STEP
from tracelens.trace import Trace

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
    "by_range",
]
_KEY = ["rank", "layer", "class_name", "phase"]
_ROWS_AT_ONCE = 1 << 20


def attribute_kernels(
    trace: Trace,
    *,
    in_steps: bool = False,
    base: Trace | None = None,
    by_step: bool = False,
) -> pl.DataFrame:
    """Return the kernel time of each rank, layer and phase, most time first: LAYER_ATTRIBUTION.

    - `in_steps`: leave out kernels outside of steps, on ranks that mark steps
    - `by_step`: split rows by step, None outside of steps
    - `base`: a trace of the same program that shows the layers of replayed kernels. It ran without
      CUDA graphs, or captured the graphs.

    The result is empty without kernels.
    """
    steps = ["step"] if by_step else []
    key = [*_KEY, *steps]
    placed = _placed_work(trace, in_steps=in_steps, base=base, key=steps)
    by_kind = placed.group_by(*key, "evidence", "library", "primitive")
    work = by_kind.agg(pl.col("duration_ns", "low_ns", "high_ns", "n").sum())
    sums = _sums_by_layer(work, key)
    with_evidence = sums.join(
        _main_evidence(work, key),
        on=key,
        nulls_equal=True,
    )
    total_ns = pl.col("duration_total_ns")
    shared = with_evidence.with_columns(
        share_frac=over(
            total_ns,
            total_ns.sum().over("rank"),
            0.0,
        ),
        layout_frac=over(pl.col("primitive_layout_ns"), total_ns, 0.0),
    )
    frame = shared.sort(
        "rank",
        "duration_total_ns",
        "layer",
        "phase",
        descending=[False, True, False, False],
    )
    if not by_step:
        return LAYER_ATTRIBUTION.conform(frame)
    in_order = frame.sort("rank", "step", maintain_order=True)
    return LAYER_ATTRIBUTION_BY_STEP.conform(in_order)


def _sums_by_layer(work: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Return one row per value of the key: kernel time in total, by library and by primitive."""
    ns = pl.col("duration_ns")
    by_library = {}
    for library in LIBRARIES:
        is_of_library = pl.col("library") == library
        by_library[f"library_{library}_ns"] = ns.filter(is_of_library).sum()
    by_primitive = {}
    for primitive in PRIMITIVES:
        is_primitive = pl.col("primitive") == primitive
        by_primitive[f"primitive_{primitive}_ns"] = ns.filter(is_primitive).sum()
    is_root_only = pl.col("evidence") == ROOT_ONLY
    return work.group_by(key).agg(
        pl.col("low_ns", "high_ns").sum(),
        n_kernels=pl.col("n").sum().cast(pl.Int64),
        duration_total_ns=ns.sum(),
        estimate_ns=ns.sum(),
        root_only_ns=ns.filter(is_root_only).sum(),
        **by_library,
        **by_primitive,
    )


def _main_evidence(work: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Return one row per value of the key, with the evidence for most of its time."""
    by_evidence = work.group_by(*key, "evidence")
    times = by_evidence.agg(pl.col("duration_ns").sum())
    most_first = times.sort("duration_ns", "evidence", descending=True)
    main = pl.col("evidence").first()
    return most_first.group_by(key).agg(main)


def layer_step_times(trace: Trace) -> pl.DataFrame:
    """Return the kernel time per layer, phase and step: rank, layer, phase, step, duration_ns."""
    placed = _placed_work(
        trace,
        in_steps=True,
        base=None,
        key=("step",),
    )
    return placed.group_by("rank", "layer", "phase", "step").agg(pl.col("duration_ns").sum())


def _placed_work(
    trace: Trace,
    *,
    in_steps: bool,
    base: Trace | None,
    key: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the kernels with layer, phase, evidence, times, and n.

    A row is one kernel in one layer, or the sum of `n` kernels in the same layer. Kernels that
    differ in a column of `key` are in different rows.
    """
    replays = _replays(trace, base)
    if not trace.has("provenance") and not replays:
        kinds = _kinds(trace, in_steps=in_steps, more=key)
        named = name_layers(kinds, trace)
        return named.with_columns(low_ns="duration_ns", high_ns="duration_ns")
    parts = _placed_parts(trace, replays)
    if in_steps:
        parts = parts.filter(in_program(trace))
    return parts.with_columns(n=pl.lit(1, pl.Int64))


_Replays = list[tuple[pl.DataFrame, pl.DataFrame, str]]


def _replays(trace: Trace, base: Trace | None = None) -> _Replays:
    """Return the sources of layers for replayed kernels, in order of preference.

    A source has three items: pairs of a replayed kernel and its launch in another trace, the layers
    of these launches, and the name of the evidence.
    """
    if not has_replays(trace):
        return []
    replays = []
    # Launches are recorded during a graph's capture, or by a run without graphs.
    for side in (trace, base):
        captured = captured_graphs(side) if side is not None else None
        if captured is None:
            continue
        pairs = captured.pairs(trace)
        if pairs.height:
            parts = place_parts(captured.work)
            replays.append((pairs, parts, CAPTURE_EVIDENCE))
    if base is not None and base.has("kernels"):
        pairs = pairs_by_name(trace, base)
        replays.append((pairs, place_parts(base), BASE_EVIDENCE))
    return replays


def _placed_parts(trace: Trace, replays: _Replays) -> pl.DataFrame:
    """Return the kernels as `place_parts` does; replayed kernels get layers from `replays`."""
    parts = place_parts(trace)
    for pairs, base_parts, evidence in replays:
        parts = place_replays(parts, pairs, base_parts, evidence)
    return parts


def _kinds(
    trace: Trace,
    *,
    in_steps: bool,
    more: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the total duration_ns and the number `n` of kernels by the columns _KIND and `more`.

    With `in_steps`, kernels outside of steps are left out.
    """
    key = ["rank", "site_id", "library", "primitive", "link", "is_communication"]
    knows_sites = trace.has("sites") and not _knows_nodes(trace)
    if knows_sites:
        recorded = trace.select("kernels", *key, "kernel_id", "duration_ns", "step")
        kernels = _with_open_ranges(recorded, trace)
        kind = [*key, "by_range"]
    else:
        kernels = _located(trace)
        kind = _KIND
    counted = kernels.filter(in_program(trace)) if in_steps else kernels
    by_kind = counted.lazy().group_by(*kind, *more)
    sums = by_kind.agg(
        pl.col("duration_ns").sum(),
        n=pl.len().cast(pl.Int64),
    )
    kinds = sums.collect()
    return _of_sites(kinds, trace) if knows_sites else kinds


def _of_sites(kernels: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add the columns of _KIND that depend on the launch's call site."""
    columns = ("is_root", "accumulates", "module_path", "phase")
    sites = trace.select("sites", "rank", "site_id", *columns)
    at_sites = kernels.join(
        sites,
        on=["rank", "site_id"],
        how="left",
        maintain_order="left",
    )
    return at_sites.with_columns(by_node=pl.lit(value=False))


def _with_open_ranges(kernels: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the kernels with by_range: True for the kernels that `in_open_backward` returns."""
    by_range = in_open_backward(trace)
    if by_range.is_empty():
        return kernels.with_columns(by_range=pl.lit(value=False))
    rows = rows_of(kernels["rank"], kernels["kernel_id"], by_range.select("rank", "kernel_id"))
    no_flags = repeated(False, kernels.height, pl.Boolean)
    return kernels.with_columns(by_range=no_flags.scatter(rows, True))


def place_parts(trace: Trace) -> pl.DataFrame:
    """Return every kernel with layer, class_name, phase, evidence, and times.

    A fused kernel has one row per module from which it was made, with a part of its time.
    """
    named = name_layers(_located(trace), trace)
    placed = named.with_columns(low_ns="duration_ns", high_ns="duration_ns")
    parts = split_kernels(in_launch_order(trace), trace.spans, trace.provenance)
    # Modules recorded at compile time are preferred to the module around the launch, which is the
    # whole compiled module.
    is_of_module = ~pl.col("evidence").is_in(_NOT_OF_MODULES)
    key = ["rank", "kernel_id"]
    split = parts.join(
        placed.filter(is_of_module),
        on=key,
        how="inner",
        suffix="_around",
    )
    located = _with_inner_path(split, trace)
    path = pl.col("path")
    by_rule = "compile provenance: " + pl.col("rule")
    evidence = pl.when(path.is_null()).then(pl.lit(ROOT_ONLY)).otherwise(by_rule)
    backward = pl.when("is_backward").then(pl.lit("backward"))
    parts_of_modules = located.with_columns(
        module_path=path,
        layer=path.fill_null(UNATTRIBUTED),
        evidence=evidence,
        phase=backward.otherwise("phase"),
        duration_ns="estimate_ns",
    )
    split_ids = split.select(key).unique()
    rest = placed.join(split_ids, on=key, how="anti", maintain_order="left")
    with_class = with_classes(trace, parts_of_modules)
    return pl.concat([rest, with_class.select(rest.columns)])


def _with_inner_path(parts: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add `path`: the path of the module from which a part was made, None for the root."""
    module_path = pl.col("module_path")
    inner = pl.format("{}.{}", "module_path_around", module_path)
    with_inner = parts.with_columns(inner=inner)
    known = trace.layers.select(
        "rank",
        inner=module_path,
        is_known=pl.lit(True),
    )
    marked = with_inner.join(known, on=["rank", "inner"], how="left")
    is_below_root = module_path != ""
    # A recorded path may begin at the module around the launch, or else at the root.
    path = pl.when("is_known").then("inner").when(is_below_root).then(module_path)
    return marked.with_columns(path=path)


_NOT_OF_MODULES = ("communication kernel", "autograd node", "optimizer marker", "data loader")
"""Evidence for layers that are not modules."""


def _located(trace: Trace) -> pl.DataFrame:
    """Return every kernel with the columns of _KIND, from which its layer follows.

    module_path and phase are taken from the span around the launch.
    """
    columns = [
        "rank",
        "kernel_id",
        "span_id",
        "duration_ns",
        "is_communication",
        "step",
        "library",
        "primitive",
        "link",
    ]
    if _knows_nodes(trace):
        columns.append("node_span_id")
    kernels = trace.select("kernels", *columns)
    columns_of_spans = ("parent_id", "kind", "name", "module_path", "phase")
    spans = trace.select("spans", "rank", "span_id", *columns_of_spans)
    parts = [_in_modules(tree, part) for tree, part in with_trees(spans, kernels)]
    return _with_open_ranges(pl.concat(parts), trace)


def _in_modules(tree: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return one rank's kernels with the columns of _KIND that depend on the span tree."""
    span_ids = kernels["span_id"]
    span_rows, by_node = _module_spans(tree, kernels)
    path = tree["module_path"].gather(span_rows)
    accumulates, roots = accumulation_and_roots(tree)
    is_root = path.is_in(roots.implode()).fill_null(value=False)
    return kernels.with_columns(
        module_path=path,
        by_node=by_node,
        accumulates=accumulates.gather(span_ids).fill_null(value=False),
        phase=tree["phase"].gather(span_rows),
        is_root=is_root | only_in_wrapper(tree, span_ids),
    )


def _knows_nodes(trace: Trace) -> bool:
    return trace.select("kernels", "node_span_id")["node_span_id"].count() > 0


def _module_spans(
    tree: pl.DataFrame, kernels: pl.DataFrame
) -> tuple[pl.Series, pl.Series | pl.Expr]:
    """Return, for each kernel, the id of a span that shows the module, and by_node.

    If by_node is True, the span created the kernel's node in a CUDA graph. If by_node is False, the
    span is around the kernel's launch.
    """
    span_ids = kernels["span_id"]
    if "node_span_id" not in kernels.columns:
        return span_ids, pl.lit(value=False)
    node_spans = kernels["node_span_id"]
    by_node = tree["module_path"].gather(node_spans).is_not_null()
    return node_spans.zip_with(by_node, span_ids), by_node


def kernel_layers(trace: Trace, base: Trace | None = None) -> pl.DataFrame:
    """Return the layer of each kernel: rank, kernel_id, layer.

    A fused kernel's layers are joined by a comma. `base` shows the layers of replayed kernels.
    """
    if not trace.has("kernels"):
        kernels = trace.select("kernels", "rank", "kernel_id")
        return kernels.with_columns(layer=pl.lit(""))
    replays = _replays(trace, base)
    if not trace.has("provenance") and not replays:
        return _layers_by_kind(trace)
    parts = _placed_parts(trace, replays)
    by_kernel = parts.group_by("rank", "kernel_id")
    layers = pl.col("layer").unique().sort()
    return by_kernel.agg(layers.str.join(", "))


def _layers_by_kind(trace: Trace) -> pl.DataFrame:
    """Return rank, kernel_id and layer of each kernel, computed once per kind of kernel (_KIND)."""
    knows_sites = trace.has("sites") and not _knows_nodes(trace)
    if knows_sites:
        key = ["rank", "site_id", "by_range", "link", "is_communication"]
        columns = [name for name in key if name != "by_range"]
        kernels = _with_open_ranges(trace.select("kernels", *columns, "kernel_id"), trace)
    else:
        key = _KIND
        kernels = _located(trace)
    parts = []
    for part in kernels.iter_slices(_ROWS_AT_ONCE):
        numbers, kinds = numbered(part, key)
        located = _of_sites(kinds, trace) if knows_sites else kinds
        layers = name_layers(located, trace)["layer"]
        parts.append(part.select("rank", "kernel_id", layer=layers.gather(numbers)))
    return pl.concat(parts)
