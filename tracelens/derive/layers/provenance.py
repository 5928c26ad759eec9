"""Find the modules from which the kernels of compiled graphs were made.

1. Inductor puts each run of a compiled graph in an annotation `## Call CompiledFxGraph KEY ##`.
2. The sidecar lists the graph's kernel calls in order, with the FX nodes of each call.
3. A run's calls are aligned with the list, because names repeat within a graph.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl

from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.layers.library_calls import FINISHES, calls_in_gap
from tracelens.derive.layers.sequence_alignment import align
from tracelens.derive.layers.time_shares import cumulated, split_duration

_GRAPH_SPAN = r"^## Call CompiledFxGraph (\S+) ##$"
_RUN = ["rank", "graph_key", "run"]
_PREFIX = re.compile(r"^graph_\d+_")
_SUMS = r"(?i)split_?k_?reduce"
"""Pattern of kernels that sum the partial results of a split matrix product.

Their primitive is gemm, but they follow the kernel that multiplies.
"""
PARTS = pl.Schema(
    {
        "rank": pl.Int32,
        "kernel_id": pl.Int64,
        "module_path": pl.String,
        "rule": pl.String,
        "is_backward": pl.Boolean,
        "estimate_ns": pl.Int64,
        "low_ns": pl.Int64,
        "high_ns": pl.Int64,
    }
)


def split_kernels(
    kernels: pl.DataFrame,
    spans: pl.DataFrame,
    provenance: pl.DataFrame,
) -> pl.DataFrame:
    """Split the kernels' times among modules: one row per kernel and module, with columns PARTS.

    A kernel's time is split by the bytes that each module's nodes write. low_ns and high_ns are the
    bounds from `shares_of`. Kernels without a recorded call are left out. `kernels` needs, in
    launch order: rank, kernel_id, name, span_id, primitive, link, start_ns and duration_ns.
    """
    placed = recorded_calls(kernels, spans, provenance)
    return _parts(placed, kernel_shares(provenance)) if placed.height else PARTS.to_frame()


def recorded_calls(
    kernels: pl.DataFrame,
    spans: pl.DataFrame,
    provenance: pl.DataFrame,
) -> pl.DataFrame:
    """Return the kernels that have a recorded call, with the call's graph_key and call_order.

    `kernels` has the columns that `split_kernels` needs. Without any call, the frame has no
    columns.
    """
    if not provenance.height or not kernels.height:
        return pl.DataFrame()
    span_columns = spans.select("rank", "span_id", "parent_id", "name", "kind")
    trees = with_trees(span_columns, kernels)
    calls = pl.concat(_calls(part, tree) for tree, part in trees)
    return _aligned(calls, provenance) if calls.height else pl.DataFrame()


def _calls(kernels: pl.DataFrame, tree: pl.DataFrame) -> pl.DataFrame:
    """Return one rank's kernels that ran in a compiled graph, with graph_key, run, call and label.

    - run: span of the graph's run
    - call: outermost op between graph and launch; a negative number for a kernel without an op
    """
    launches = kernels["span_id"].drop_nulls().unique()
    in_graph = _in_graphs(launches, tree)
    named = in_graph.with_columns(op_name=tree["name"].gather(in_graph["op"]))
    with_graph = kernels.join(named, on="span_id", how="inner", maintain_order="left")
    is_triton = pl.col("name").str.starts_with("triton_")
    label = pl.when(is_triton).then("name").otherwise("op_name")
    own_call = -1 - pl.col("kernel_id")
    return with_graph.with_columns(
        label=label,
        call=pl.coalesce("op", own_call),
    )


def _in_graphs(launches: pl.Series, tree: pl.DataFrame) -> pl.DataFrame:
    """Find the compiled graph around each launch: span_id, run, op and graph_key.

    `run` is the graph's span, `op` the outermost op in it. Launches outside of graphs are left out.
    """
    graph_keys = tree["name"].str.extract(_GRAPH_SPAN)
    is_op = tree["kind"] == "op"
    # All launches walk up their call stacks together, one span per round, until they reach a graph.
    walk = launches.to_frame().with_columns(
        span="span_id",
        op=pl.lit(None, pl.Int64),
    )
    arrived = [walk.clear()]
    while walk.height:
        is_at_graph = graph_keys.gather(walk["span"]).is_not_null()
        arrived.append(walk.filter(is_at_graph))
        walk = walk.filter(~is_at_graph)
        span = walk["span"]
        outermost_op = span.zip_with(is_op.gather(span), walk["op"])
        span_above = tree["parent_id"].gather(span)
        moved = walk.with_columns(op=outermost_op, span=span_above)
        walk = moved.drop_nulls("span")
    in_graph = pl.concat(arrived).rename({"span": "run"})
    return in_graph.with_columns(graph_key=graph_keys.gather(in_graph["run"]))


def _aligned(calls: pl.DataFrame, provenance: pl.DataFrame) -> pl.DataFrame:
    """Return the kernels that have a recorded call, with the call's call_order.

    Runs of a graph that launched the same kernels in the same order are aligned once.
    """
    kernels = _with_elements(calls)
    label_code = pl.col("label").to_physical()
    element = pl.struct(label_code, "is_new", "n").hash(seed=0)
    runs = kernels.group_by(_RUN).agg(
        signature=element.sum(),
        n_kernels=pl.len(),
    )
    orders = _orders_of_runs(kernels, runs, _recorded(provenance))
    with_signature = kernels.join(runs, on=_RUN, how="left", maintain_order="left")
    return with_signature.join(
        orders,
        on=["graph_key", "signature", "n"],
        how="inner",
        maintain_order="left",
    )


def _orders_of_runs(
    kernels: pl.DataFrame,
    runs: pl.DataFrame,
    recorded: dict[str, list[tuple[int, str]]],
) -> pl.DataFrame:
    """Align one run of each kind with the recorded calls: graph_key, signature, n, call_order.

    Runs are of one kind if they agree in graph, signature and number of kernels. `n` is a kernel's
    position in the run.
    """
    kind = ["graph_key", "signature", "n_kernels"]
    first_run = pl.col("rank", "run").first()
    example_runs = runs.group_by(kind).agg(first_run)
    signature_type = runs["signature"].dtype
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "n": pl.Int64,
        "call_order": pl.Int64,
        "graph_key": pl.String,
        "signature": signature_type,
    }
    orders = [pl.DataFrame(schema=schema)]
    for key, signature, n_kernels, rank, run in example_runs.iter_rows():
        if key not in recorded:
            continue
        is_of_run = pl.col("run") == run
        is_of_rank = pl.col("rank") == rank
        example = kernels.filter(is_of_run, is_of_rank)
        columns = {
            "n": range(n_kernels),
            "call_order": _align(_as_calls(example), recorded[key]),
            "graph_key": [key] * n_kernels,
            "signature": [signature] * n_kernels,
        }
        order = pl.DataFrame(columns, schema)
        orders.append(order.drop_nulls("call_order"))
    return pl.concat(orders)


def _with_elements(calls: pl.DataFrame) -> pl.DataFrame:
    """Add the columns by which runs are aligned: label, n and is_new.

    `n` is the kernel's position in the run. `is_new` is True if a new call begins.
    """
    is_sum = pl.col("name").cast(pl.String).str.contains(_SUMS)
    finishing = pl.lit(FINISHES[0])
    primitive = pl.when(is_sum).then(finishing).otherwise("primitive")
    kernels = calls.with_columns(primitive=primitive)
    unknown_label = pl.lit("?") + pl.col("primitive")
    label = pl.coalesce("label", unknown_label)
    number_in_run = pl.int_range(pl.len()).over(_RUN)
    labelled = kernels.with_columns(
        label=label.cast(pl.Categorical),
        n=number_in_run,
    )
    call = pl.col("call")
    is_other_call = call != call.shift()
    return labelled.with_columns(is_new=is_other_call.fill_null(True))


def _recorded(provenance: pl.DataFrame) -> dict[str, list[tuple[int, str]]]:
    """Return the recorded calls of each graph: call_order and label, in order."""
    columns = provenance.select("graph_key", "call_order", "kernel_name", "is_extern")
    calls = columns.unique().sort("call_order")
    calls_by_graph: dict[str, list[tuple[int, str]]] = {}
    for key, order, name, is_extern in calls.iter_rows():
        label = _extern_label(name) if is_extern else _PREFIX.sub("", name)
        of_graph = calls_by_graph.setdefault(key, [])
        of_graph.append((order, label))
    return calls_by_graph


def _extern_label(name: str) -> str:
    """Return a label that a recorded library call shares with its op in the trace.

    For example, `torch.ops.aten.sort.stable` and `aten::sort` get the label `extern sort`.
    """
    word = next(
        (word for word in re.split(r"::|\.", name) if word not in _NO_NAMES),
        name,
    )
    return "extern " + _VARIANTS.get(word, word)


_NO_NAMES = {"extern_kernels", "torch", "ops", "aten", "default", "out"}
_VARIANTS = {"bias_addmm": "addmm"}
"""The ops that Inductor's own wrappers run, by the wrapper's name."""


def _as_calls(kernels: pl.DataFrame) -> list[tuple[str, list[str]]]:
    """Return a run's calls in order: each call's label, and the primitives of its kernels."""
    calls: list[tuple[str, list[str]]] = []
    elements = kernels.select("label", "primitive", "is_new")
    # In a replayed CUDA graph, each kernel is a separate call.
    for label, primitive, is_new in elements.iter_rows():
        if is_new:
            name = _PREFIX.sub("", label)
            is_generated = name.startswith(("triton_", "cpp_", "?"))
            name = name if is_generated else _extern_label(label)
            calls.append((name, []))
        primitives_of_call = calls[-1][1]
        primitives_of_call.append(primitive)
    return calls


def _align(
    calls: list[tuple[str, list[str]]],
    recorded: list[tuple[int, str]],
) -> list[int | None]:
    """Return, for each kernel of a run, the call_order of its recorded call, or None.

    Calls are first aligned by label. `_fill_gaps` then matches kernels between aligned calls.
    """
    labels = [label for label, _ in calls]
    recorded_labels = [label for _, label in recorded]
    common = sorted({*labels} & {*recorded_labels})
    codes = {label: code for code, label in enumerate(common)}
    run_positions, run_codes = _with_codes(labels, codes)
    recorded_positions, recorded_codes = _with_codes(recorded_labels, codes)
    matched: list[int | None] = [None] * len(calls)
    for position, match in enumerate(align(run_codes, recorded_codes)):
        if match is not None:
            matched[run_positions[position]] = recorded_positions[match]
    _fill_gaps(calls, recorded_labels, matched)
    order_of_kernels: list[int | None] = []
    for recorded_position, (_, primitives) in zip(matched, calls, strict=True):
        call_order = None if recorded_position is None else recorded[recorded_position][0]
        order_of_kernels += [call_order] * len(primitives)
    return order_of_kernels


def _with_codes(
    labels: Sequence[str], codes: Mapping[str, int]
) -> tuple[list[int], tuple[int, ...]]:
    """Return the positions of the labels that have a code, and the codes."""
    positions = [position for position, label in enumerate(labels) if label in codes]
    return positions, tuple(codes[labels[position]] for position in positions)


def _fill_gaps(
    calls: list[tuple[str, list[str]]],
    recorded_labels: list[str],
    matched: list[int | None],
) -> None:
    """Match kernels without an op, such as a CUDA graph's, with recorded library calls."""
    edges = [(-1, -1)]
    for i, position in enumerate(matched):
        if position is not None:
            edges.append((i, position))
    edges.append((len(calls), len(recorded_labels)))
    # Such kernels lie between two matched calls, so their library calls were recorded between the
    # same two calls.
    for (before, position_before), (after, position_after) in pairwise(edges):
        calls_between = range(before + 1, after)
        positions_between = range(position_before + 1, position_after)
        unknown = [i for i in calls_between if calls[i][0].startswith("?")]
        externs = [
            position for position in positions_between if _is_extern(recorded_labels[position])
        ]
        calls_of_kernels = calls_in_gap(
            [calls[i][1][0] for i in unknown],
            [recorded_labels[position] for position in externs],
        )
        for i, extern in zip(unknown, calls_of_kernels, strict=True):
            matched[i] = None if extern is None else externs[extern]


def _is_extern(label: str) -> bool:
    return label.startswith("extern ")


def kernel_shares(provenance: pl.DataFrame) -> pl.DataFrame:
    """Split recorded calls among modules: one row per call, module_path and is_backward.

    Columns are the columns of `shares_of`, and `rule`: how the module was found.
    """
    nodes = _own_nodes(provenance.drop_nulls("module_path"))
    rule = pl.col("rule").sort().first()
    return shares_of(nodes, ["is_backward", "module_path"], rule=rule)


def shares_of(
    nodes: pl.DataFrame,
    by: list[str],
    **more: pl.Expr,
) -> pl.DataFrame:
    """Split the time of each recorded call: one row per call and value of `by`.

    A call is split in three ways: by the bytes that nodes write, into equal shares, and with all
    time for the row with the most bytes.

    - estimate_frac: the row's share by bytes
    - low_frac, high_frac: the least and the greatest of the row's three shares

    `by` are columns, `more` are further aggregates of the nodes.
    """
    call = ["graph_key", "call_order"]
    written_bytes = pl.col("output_bytes").clip(lower_bound=0)
    by_value = nodes.group_by(*call, *by, maintain_order=True)
    shares = by_value.agg(n_bytes=written_bytes.sum(), **more)
    n_bytes = pl.col("n_bytes")
    whole = n_bytes.sum().over(call)
    equal = 1 / pl.len().over(call)
    is_largest = n_bytes.rank("ordinal", descending=True).over(call) == 1
    writes = pl.when(whole > 0)
    by_bytes = writes.then(n_bytes / whole).otherwise(equal)
    dominant = writes.then(is_largest.cast(pl.Float64)).otherwise(equal)
    bounded = shares.with_columns(
        estimate_frac=by_bytes,
        low_frac=pl.min_horizontal(by_bytes, equal, dominant),
        high_frac=pl.max_horizontal(by_bytes, equal, dominant),
    )
    return cumulated(bounded, call)


def _own_nodes(nodes: pl.DataFrame) -> pl.DataFrame:
    """Leave out nodes that a library call does not run, although Inductor lists them.

    Inductor also lists neighbours that it inlined before the call (observed with torch 2.11).
    """
    words = pl.col("kernel_name", "aten_op")
    bare = words.str.replace(r"^(extern_kernels|torch\.ops\.aten|aten)\.", "")
    names = nodes.select(bare.str.extract(r"^([^.]+)"))
    is_same = names["kernel_name"].eq_missing(names["aten_op"])
    marked = nodes.with_columns(is_run=is_same)
    is_run = pl.col("is_run")
    has_run = is_run.any().over("graph_key", "call_order")
    return marked.filter(~pl.col("is_extern") | ~has_run | is_run)


def _parts(placed: pl.DataFrame, shares: pl.DataFrame) -> pl.DataFrame:
    """Return each kernel's time, split among the modules of its call, with columns PARTS."""
    call = ["graph_key", "call_order"]
    kernels = placed.select("rank", "kernel_id", "duration_ns", *call)
    with_shares = kernels.join(
        shares,
        on=call,
        how="inner",
        maintain_order="left_right",
    )
    parts = split_duration(with_shares)
    typed = [pl.col(name).cast(dtype) for name, dtype in PARTS.items()]
    return parts.select(typed)
