"""Sum GPU time of kernels by layer and phase, with the evidence for the layer."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

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
    pairs_by_name,
    place_replays,
)
from tracelens.derive.layers.open_ranges import EVIDENCE as RANGE_EVIDENCE
from tracelens.derive.layers.open_ranges import in_open_backward
from tracelens.derive.layers.provenance import split_kernels
from tracelens.derive.time.program_phases import in_program
from tracelens.schemas.device import LIBRARIES, PRIMITIVES
from tracelens.schemas.results.work import LAYER_ATTRIBUTION, LAYER_ATTRIBUTION_BY_STEP
from tracelens.trace import Trace

PRE_WINDOW = "(pre-window)"
ROOT_ONLY = "root module only"
"""Evidence of kernels that were launched directly in the model's root module, or in its wrapper."""
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


def attribute_kernels(
    trace: Trace,
    *,
    in_steps: bool = False,
    base: Trace | None = None,
    by_step: bool = False,
) -> pl.DataFrame:
    """Return one row per rank, layer and phase, most time first, as in LAYER_ATTRIBUTION.

    The result is empty without kernels. `in_steps` leaves out kernels outside of steps, on ranks
    that mark steps. `base` gives replayed kernels their layers: a trace of the same program without
    CUDA graphs, or of their capture. `by_step` splits rows by step, None outside of steps.
    """
    ns = pl.col("duration_ns")
    bounds = ("low_ns", "high_ns")
    steps = ["step"] if by_step else []
    key = [*_KEY, *steps]
    placed = _placed_work(trace, in_steps=in_steps, base=base, key=steps)
    by_kind = placed.group_by(*key, "evidence", "library", "primitive")
    work = by_kind.agg(pl.col("duration_ns", *bounds, "n").sum())
    is_root_only = pl.col("evidence") == ROOT_ONLY
    by_library = {
        f"library_{library}_ns": ns.filter(pl.col("library") == library).sum()
        for library in LIBRARIES
    }
    by_primitive = {
        f"primitive_{primitive}_ns": ns.filter(pl.col("primitive") == primitive).sum()
        for primitive in PRIMITIVES
    }
    sums = work.group_by(key).agg(
        pl.col(bounds).sum(),
        n_kernels=pl.col("n").sum().cast(pl.Int64),
        duration_total_ns=ns.sum(),
        estimate_ns=ns.sum(),
        root_only_ns=ns.filter(is_root_only).sum(),
        **by_library,
        **by_primitive,
    )
    total_ns = pl.col("duration_total_ns")
    frame = (
        sums.join(_main_evidence(work, key), on=key, nulls_equal=True)
        .with_columns(
            share_frac=over(total_ns, total_ns.sum().over("rank"), 0.0),
            layout_frac=over(pl.col("primitive_layout_ns"), total_ns, 0.0),
        )
        .sort(
            "rank",
            "duration_total_ns",
            "layer",
            "phase",
            descending=[False, True, False, False],
        )
    )
    if by_step:
        return LAYER_ATTRIBUTION_BY_STEP.conform(frame.sort("rank", "step", maintain_order=True))
    return LAYER_ATTRIBUTION.conform(frame)


def _main_evidence(work: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Return, for each value of the key, the evidence of most of its time."""
    by_evidence = work.group_by(*key, "evidence").agg(pl.col("duration_ns").sum())
    most_first = by_evidence.sort("duration_ns", "evidence", descending=True)
    return most_first.group_by(key).agg(pl.col("evidence").first())


def layer_step_times(trace: Trace) -> pl.DataFrame:
    """Time each layer's and phase's kernels by step: rank, layer, phase, step, duration_ns."""
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
    """Return kernels, or parts or sums of them, with layer, phase, evidence, times and n."""
    replays = _replays(trace, base)
    if not trace.has("provenance") and not replays:
        kinds = _kinds(trace, in_steps=in_steps, more=key)
        return name_layers(kinds, trace).with_columns(low_ns="duration_ns", high_ns="duration_ns")
    parts = _placed_parts(trace, replays)
    parts = parts.filter(in_program(trace)) if in_steps else parts
    return parts.with_columns(n=pl.lit(1, pl.Int64))


_Replays = list[tuple[pl.DataFrame, pl.DataFrame, str]]


def _replays(trace: Trace, base: Trace | None = None) -> _Replays:
    """Return the sources from which replayed kernels can be placed, in order of preference.

    A source has pairs of a replayed kernel and its counterpart, the layers of the counterparts, and
    the name of this evidence.
    """
    if not has_replays(trace):
        return []
    replays = []
    for side in (trace, base):
        captured = captured_graphs(side) if side is not None else None
        if captured is not None and (pairs := captured.pairs(trace)).height:
            replays.append((pairs, place_parts(captured.work), CAPTURE_EVIDENCE))
    if base is not None and base.has("kernels"):
        replays.append((pairs_by_name(trace, base), place_parts(base), BASE_EVIDENCE))
    return replays


def _placed_parts(trace: Trace, replays: _Replays) -> pl.DataFrame:
    """Place kernels like `place_parts`; CUDA-graph kernels take the layer of their match."""
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
    """Sum kernels that agree in all columns of _KIND and `more`: their time, and their number `n`.

    With `in_steps`, kernels outside of steps are left out.
    """
    measures = [
        pl.col("duration_ns").sum(),
        pl.len().cast(pl.Int64).alias("n"),
    ]
    if not trace.has("sites") or _knows_nodes(trace):
        located = _located(trace)
        located = located.filter(in_program(trace)) if in_steps else located
        return located.group_by(*_KIND, *more).agg(measures)
    key = ["rank", "site_id", "library", "primitive", "link", "is_communication"]
    kernels = trace.select("kernels", *key, "kernel_id", "duration_ns", "step")
    kernels = _with_open_ranges(kernels, trace)
    kernels = kernels.filter(in_program(trace)) if in_steps else kernels
    kernels_by_kind = kernels.lazy().group_by(*key, "by_range", *more)
    kinds = kernels_by_kind.agg(measures).collect()
    return _of_sites(kinds, trace)


def _of_sites(kernels: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add the columns of _KIND that depend on the site of the launch."""
    sites = trace.select(
        "sites", "rank", "site_id", "is_root", "accumulates", "module_path", "phase"
    )
    at_sites = kernels.join(
        sites,
        on=["rank", "site_id"],
        how="left",
        maintain_order="left",
    )
    return at_sites.with_columns(by_node=pl.lit(value=False))


def _with_open_ranges(kernels: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the kernels with by_range: a phase's range on another thread shows their phase."""
    by_range = in_open_backward(trace)
    if by_range.is_empty():
        return kernels.with_columns(by_range=pl.lit(value=False))
    joined = kernels.join(
        by_range,
        on=["rank", "kernel_id"],
        how="left",
        maintain_order="left",
    )
    return joined.with_columns(pl.col("by_range").fill_null(value=False))


def place_parts(trace: Trace) -> pl.DataFrame:
    """Return every kernel with layer, class_name, phase and evidence.

    A fused kernel has one row for each module from which it was made. Its duration_ns is split
    among them, with low_ns and high_ns. Modules recorded at compile time take precedence over the
    module around the launch, which is the compiled one. Communication, gradient accumulation, the
    optimizer and the data loader keep their own layer.
    """
    placed = name_layers(_located(trace), trace).with_columns(
        low_ns="duration_ns", high_ns="duration_ns"
    )
    parts = split_kernels(in_launch_order(trace), trace.spans, trace.provenance)
    key = ["rank", "kernel_id"]
    has_own_row = pl.col("evidence").is_in(_OWN_ROWS)
    split = parts.join(
        placed.filter(~has_own_row),
        on=key,
        how="inner",
        suffix="_around",
    )
    inner = pl.format("{}.{}", "module_path_around", "module_path")
    module_path = pl.col("module_path")
    known = trace.layers.select("rank", inner=module_path, is_known=pl.lit(True))
    with_inner = split.with_columns(inner=inner)
    split = with_inner.join(known, on=["rank", "inner"], how="left")
    path = pl.when("is_known").then("inner").when(module_path != "").then("module_path")
    split = split.with_columns(
        module_path=path,
        layer=path.fill_null(UNATTRIBUTED),
        evidence=pl.when(path.is_null())
        .then(pl.lit(ROOT_ONLY))
        .otherwise("compile provenance: " + pl.col("rule")),
        phase=pl.when("is_backward").then(pl.lit("backward")).otherwise("phase"),
        duration_ns="estimate_ns",
    )
    rest = placed.join(
        split.select(key).unique(),
        on=key,
        how="anti",
        maintain_order="left",
    )
    with_class = with_classes(trace, split)
    return pl.concat([rest, with_class.select(rest.columns)])


def in_launch_order(trace: Trace, columns: Sequence[str] = ()) -> pl.DataFrame:
    """Return every kernel of each rank in the order of launches.

    Kernels of a replayed graph come in the order of its nodes. With `columns`, the frame has these
    and the rank, strings as Categorical; else it has all columns, and launch_ns.
    """
    order = ("rank", "launch_ns", "graph_node_id", "start_ns")
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns")
    if columns:
        wanted = dict.fromkeys(("rank", "api_call_id", *order[2:], *columns))
        kernels = trace.select("kernels", *wanted)
    else:
        kernels = trace.kernels
    own_calls = kernels.select("rank", "api_call_id")
    launched_by = rows_of(calls["rank"], calls["api_call_id"], own_calls)
    launch_ns = calls["start_ns"].gather(launched_by).alias("launch_ns")
    ordered = kernels.with_columns(launch_ns).sort(order)
    return ordered.select("rank", *columns) if columns else ordered


_OWN_ROWS = ("communication kernel", "autograd node", "optimizer marker", "data loader")


def with_classes(trace: Trace, placed: pl.DataFrame) -> pl.DataFrame:
    """Add the class of each row's layer."""
    classes = trace.layers.select("rank", "class_name", layer="module_path")
    return placed.drop("class_name", strict=False).join(
        classes,
        on=["rank", "layer"],
        how="left",
        maintain_order="left",
    )


def _located(trace: Trace) -> pl.DataFrame:
    """Return every kernel with the columns of _KIND, which alone decide its layer.

    module_path and phase are those of the span around the launch.
    """
    columns = ["rank", "kernel_id", "span_id", "duration_ns", "is_communication", "step"]
    columns += [
        "library",
        "primitive",
        "link",
        *(["node_span_id"] if _knows_nodes(trace) else []),
    ]
    kernels = trace.select("kernels", *columns)
    spans = trace.select(
        "spans", "rank", "span_id", "parent_id", "kind", "name", "module_path", "phase"
    )
    located_parts = []
    for tree, part in with_trees(spans, kernels):
        span_rows, by_node = _where(tree, part)
        path = tree["module_path"].gather(span_rows).alias("module_path")
        within, roots = accumulation_and_roots(tree)
        accumulates = within.gather(part["span_id"]).fill_null(value=False)
        is_root = path.is_in(roots.implode())
        phase = tree["phase"].gather(span_rows)
        is_root = is_root.fill_null(value=False) | only_in_wrapper(tree, part["span_id"])
        located = part.with_columns(
            path, by_node=by_node, accumulates=accumulates, phase=phase, is_root=is_root
        )
        located_parts.append(located)
    return _with_open_ranges(pl.concat(located_parts), trace)


def _knows_nodes(trace: Trace) -> bool:
    return trace.select("kernels", "node_span_id")["node_span_id"].count() > 0


def _where(tree: pl.DataFrame, kernels: pl.DataFrame) -> tuple[pl.Series, pl.Series | pl.Expr]:
    """Return the span whose module gets each kernel.

    Also return whether that is the span in which the kernel's graph node was made.
    """
    span_ids = kernels["span_id"]
    if "node_span_id" not in kernels.columns:
        return span_ids, pl.lit(value=False)
    node = kernels["node_span_id"]
    by_node = tree["module_path"].gather(node).is_not_null()
    return node.zip_with(by_node, span_ids), by_node


class _Rule(NamedTuple):
    """A rule that names layers: rows for which it holds, their layer, and its evidence."""

    holds: pl.Expr
    layer: pl.Expr
    evidence: str


def _layer_rules() -> Iterator[_Rule]:
    """Yield the rules in order; of several that hold for a row, the first one counts."""
    path, phase = pl.col("module_path"), pl.col("phase")
    is_root = pl.col("is_root")
    is_in_layer = path.is_not_null() & ~is_root
    accumulates = pl.col("accumulates").fill_null(False)
    unattributed = pl.lit(UNATTRIBUTED)
    yield _Rule(
        pl.col("is_communication"),
        pl.lit("(communication)"),
        "communication kernel",
    )
    yield _Rule(accumulates, pl.lit("(gradient accumulation)"), "autograd node")
    yield _Rule(phase == "optimizer", pl.lit("(optimizer)"), "optimizer marker")
    yield _Rule(is_in_layer & pl.col("by_node"), path, "graph node")
    yield _Rule(is_in_layer & (phase == "backward"), path, "backward sequence")
    yield _Rule(is_in_layer, path, "module span")
    yield _Rule(
        pl.col("link") == "pre_window",
        pl.lit(PRE_WINDOW),
        "launched before the trace began",
    )
    yield _Rule(
        pl.col("loads"),
        pl.lit("(input)"),
        "data loader",
    )
    yield _Rule(path.is_not_null() | is_root, unattributed, ROOT_ONLY)
    yield _Rule(pl.col("by_range"), unattributed, RANGE_EVIDENCE)


def name_layers(located: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return kernels, ops, or groups of them, with layer, class_name and evidence.

    Strings are pl.String. Input columns are module_path, phase, accumulates, is_root,
    is_communication, by_node and link. Optional ones are by_range, and loads (whether a data
    loader's annotation is around). Rows to which no rule applies are unattributed.
    """
    texts = located.cast({pl.Categorical: pl.String})
    absent = [name for name in ("by_range", "loads") if name not in located.columns]
    complete = texts.with_columns(pl.lit(value=False).alias(name) for name in absent)
    phase_of_range = pl.when("by_range").then(pl.lit("backward"))
    with_phase = complete.with_columns(phase=pl.coalesce("phase", phase_of_range))
    rules = [*_layer_rules()]
    layers = (pl.when(rule.holds).then(rule.layer) for rule in rules)
    reasons = (pl.when(rule.holds).then(pl.lit(rule.evidence)) for rule in rules)
    named = with_phase.with_columns(
        layer=pl.coalesce(*layers, pl.lit(UNATTRIBUTED)),
        evidence=pl.coalesce(*reasons, pl.lit("none")),
    )
    return with_classes(trace, named)


def kernel_layers(trace: Trace, base: Trace | None = None) -> pl.DataFrame:
    """Return the layer of each kernel: rank, kernel_id, layer.

    A fused kernel's layers are joined by a comma. `base` is as in `attribute_kernels`.
    """
    if not trace.has("kernels"):
        return trace.select("kernels", "rank", "kernel_id").with_columns(layer=pl.lit(""))
    replays = _replays(trace, base)
    if not trace.has("provenance") and not replays:
        return _layers_by_kind(trace)
    return (
        _placed_parts(trace, replays)
        .group_by("rank", "kernel_id")
        .agg(pl.col("layer").unique().sort().str.join(", "))
    )


def _layers_by_kind(trace: Trace) -> pl.DataFrame:
    """Return the layer of each kernel: rank, kernel_id, layer.

    The layer is found once for all kernels that agree in the columns that decide it.
    """
    if trace.has("sites") and not _knows_nodes(trace):
        columns = ("rank", "kernel_id", "site_id", "link", "is_communication")
        kernels = _with_open_ranges(trace.select("kernels", *columns), trace)
        numbers, kinds = numbered(
            kernels,
            ["rank", "site_id", "by_range", *columns[3:]],
        )
        kinds = _of_sites(kinds, trace)
    else:
        kernels = _located(trace)
        numbers, kinds = numbered(kernels, _KIND)
    layers = name_layers(kinds, trace)["layer"]
    return kernels.select("rank", "kernel_id", layer=layers.gather(numbers))
