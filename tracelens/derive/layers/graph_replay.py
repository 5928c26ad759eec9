"""Give kernels of replayed CUDA graphs the layers of corresponding kernels of another run.

1. A replay is one API call, so no span shows the layers of its kernels.
2. A run of the same program without graphs launches the same kernels one by one.
3. The two sequences of kernel names are aligned, and layers are copied.

`graph_capture` uses launches recorded during the graph's capture instead.
"""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.layers.sequence_alignment import align
from tracelens.derive.layers.time_shares import cumulated, split_duration
from tracelens.trace import Trace

BASE_EVIDENCE = "base capture"
UNATTRIBUTED = "(unattributed)"
_LEAST_ALIKE = 0.5
"""Least share of replayed kernels with a partner in the base, and of partners with an equal grid.

Below either limit, no replayed kernel of a step gets a layer. With fewer partners, the base ran
another program. With fewer equal grids, the base had another batch size. A program that is compiled
twice keeps 72 to 92 % of the grids. With another batch size, it keeps 8 % (measured on an H200).
"""
_LONGEST_RUN = 20_000
"""If the base has no marked steps, this many of its first kernels are aligned with a replay.

Aligning two sequences takes time proportional to the product of their lengths.
"""
_PATHS_ONLY = ("none", "root module only", "module span", "backward sequence")
"""Evidence that comes only from the launching call.

One call launches all kernels of a replay, so this evidence does not show each kernel's layer.
"""
PAIRS = pl.Schema(
    {"rank": pl.Int32, "kernel_id": pl.Int64, "base_rank": pl.Int32, "base_id": pl.Int64}
)
"""Columns of pairs: a replayed kernel, and the corresponding kernel of a base."""
_OF_BASE = ("layer", "class_name", "phase")


def has_replays(trace: Trace) -> bool:
    """Return whether kernels ran as nodes of replayed CUDA graphs."""
    links = trace.select("kernels", "link")["link"]
    return bool((links == "graph").any())


def place_replays(
    placed: pl.DataFrame,
    pairs: pl.DataFrame,
    base_parts: pl.DataFrame,
    evidence: str,
) -> pl.DataFrame:
    """Return the kernels of `placed`, with layers from the base for replayed kernels.

    `placed` and `base_parts` have one row per kernel and layer. `pairs` (columns PAIRS) has the
    counterparts of replayed kernels in the base. A replayed kernel is split among layers in the
    same proportions as its counterpart.
    """
    is_graph = pl.col("link") == "graph"
    has_path_only = pl.col("evidence").is_in(_PATHS_ONLY)
    open_rows = placed.filter(is_graph & has_path_only)
    with_base = open_rows.join(pairs, on=["rank", "kernel_id"]).join(
        _fractions(base_parts),
        on=["base_rank", "base_id"],
        suffix="_base",
        maintain_order="left_right",
    )
    if with_base.is_empty():
        return placed
    key = ["rank", "kernel_id"]
    layer = pl.col("layer")
    layer_base = pl.col("layer_base")
    is_unattributed = layer == UNATTRIBUTED
    is_within = (layer_base + ".").str.starts_with(layer + ".")
    is_finer = (is_unattributed | is_within) & (layer_base != UNATTRIBUTED)
    with_finer_base = with_base.filter(is_finer.any().over(key))
    replayed = split_duration(with_finer_base).with_columns(
        layer="layer_base",
        class_name="class_name_base",
        phase=pl.coalesce("phase_base", "phase"),
        evidence=pl.lit(evidence),
        duration_ns="estimate_ns",
    )
    replayed_kernels = replayed.select(key).unique()
    rest = placed.join(replayed_kernels, on=key, how="anti", maintain_order="left")
    return pl.concat([rest, replayed.select(rest.columns)])


def _fractions(parts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per kernel and layer of the base, with fractions for `split_duration`."""
    key = ["rank", "kernel_id"]
    whole = pl.col("duration_ns").sum().over(key)
    equal = 1 / pl.len().over(key)

    def share(column: str) -> pl.Expr:
        has_length = pl.when(whole > 0)
        return has_length.then(pl.col(column) / whole).otherwise(equal)

    fractions = parts.with_columns(
        estimate_frac=share("duration_ns"),
        low_frac=share("low_ns"),
        high_frac=share("high_ns"),
    )
    columns = (*_OF_BASE, "until_frac", "is_last", "low_frac", "high_frac")
    summed = cumulated(fractions, key)
    return summed.select(*columns, base_rank="rank", base_id="kernel_id")


def pairs_by_name(trace: Trace, base: Trace) -> pl.DataFrame:
    """Pair replayed kernels with the corresponding kernels of the base; columns are PAIRS."""
    kernels, base_kernels = _coded(trace, base)
    by_rank = base_kernels.group_by("rank", maintain_order=True)
    runs = {rank: _run(of_rank) for (rank,), of_rank in by_rank}
    only_rank = next(iter(runs)) if len(runs) == 1 else None
    is_graph = pl.col("link") == "graph"
    replayed = kernels.filter(is_graph.any().over("rank", "unit"))
    pair_frames = [PAIRS.to_frame()]
    aligned: dict[tuple[object, ...], list[int | None]] = {}
    for (rank, _), unit in replayed.group_by("rank", "unit", maintain_order=True):
        base_rank = rank if rank in runs else only_rank
        if base_rank is None:
            continue
        run = runs[base_rank]
        codes = tuple(unit["code"])
        key = (base_rank, codes)
        if key not in aligned:
            aligned[key] = align(codes, tuple(run["code"]))
        partner_rows = pl.Series(aligned[key], dtype=pl.Int64)
        with_partners = unit.select(
            "rank",
            "kernel_id",
            "link",
            "grid",
            base_rank=pl.lit(base_rank, pl.Int32),
            base_id=run["kernel_id"].gather(partner_rows),
            base_grid=run["grid"].gather(partner_rows),
        )
        pairs = with_partners.filter(is_graph)
        if _are_alike(pairs):
            partners = pairs.drop_nulls("base_id")
            pair_frames.append(partners.select(PAIRS.names()))
    return pl.concat(pair_frames)


def _are_alike(pairs: pl.DataFrame) -> bool:
    """Return whether most kernels have a partner, and most partners have the same grid."""
    has_same_grid = pl.col("grid") == pl.col("base_grid")
    same_grid_frac = pairs.select(has_same_grid.mean().fill_null(1.0)).item()
    has_partners = pairs["base_id"].count() >= _LEAST_ALIKE * pairs.height
    return bool(has_partners and same_grid_frac >= _LEAST_ALIKE)


def _coded(trace: Trace, base: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both traces' kernels in launch order; `code` has one number per distinct name.

    The base's replayed kernels are left out.
    """
    kernels = _sequences(trace)
    base_kernels = _sequences(base).filter(pl.col("link") != "graph")
    if tools(trace) != tools(base):
        kernels = _with_bare_names(kernels)
        base_kernels = _with_bare_names(base_kernels)
    names = pl.concat([kernels["name"], base_kernels["name"]])
    codes = names.cast(pl.Categorical).to_physical()
    known_codes = codes.cast(pl.Int64).fill_null(-1)
    n_kernels = kernels.height
    return (
        kernels.with_columns(code=known_codes.head(n_kernels)),
        base_kernels.with_columns(code=known_codes.slice(n_kernels)),
    )


def _with_bare_names(kernels: pl.DataFrame) -> pl.DataFrame:
    names = each_once(kernels["name"], bare_name)
    return kernels.with_columns(names)


def bare_name(name: pl.Expr) -> pl.Expr:
    """Return a kernel's name up to the first template argument, parameter or unnamed namespace.

    Profilers write the rest of the name in different ways.
    """
    return name.str.extract(r"^(?:void )?([^<(]+)")


def tools(trace: Trace) -> set[object]:
    """Return the profilers that recorded the trace: torch.profiler, Nsight Systems."""
    return {source.get("producer") for source in trace.manifest.sources} & {
        "torch.profiler",
        "Nsight Systems",
    }


def _sequences(trace: Trace) -> pl.DataFrame:
    """Return kernels in launch order; kernels of a replay are in the order of the graph's nodes.

    Kernels with the same `unit` are aligned together: the kernels of a step. Outside of steps, the
    kernels of one launch have the same `unit`.
    """
    columns = (
        "rank",
        "kernel_id",
        "name",
        "link",
        "step",
        "api_call_id",
        "graph_node_id",
        "start_ns",
    )
    axes = ("grid_x", "grid_y", "grid_z")
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns")
    launches = calls.rename({"start_ns": "launch_ns"})
    recorded = trace.select("kernels", *columns, *axes)
    kernels = recorded.join(launches, on=["rank", "api_call_id"], how="left")
    x, y, z = (pl.col(axis).cast(pl.Int64) for axis in axes)
    with_grid = kernels.with_columns(grid=x + y * 2**31 + z * 2**47)
    ordered = with_grid.sort(
        "rank",
        pl.coalesce("launch_ns", "start_ns"),
        "graph_node_id",
        "start_ns",
        "kernel_id",
    )
    launch = -1 - pl.col("api_call_id")
    return ordered.with_columns(unit=pl.coalesce("step", launch))


def _run(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the kernels of one step: a step with the most frequent sequence of kernels.

    If no step is marked, return the first _LONGEST_RUN kernels.
    """
    in_steps = kernels.drop_nulls("step")
    steps = in_steps.group_by("step", maintain_order=True).agg("code")
    if steps.is_empty():
        return kernels.head(_LONGEST_RUN)
    step = pl.col("step")
    alike = steps.group_by("code", maintain_order=True)
    counts = alike.agg(pl.len(), step.first())
    most_common_first = counts.sort("len", descending=True, maintain_order=True)
    example = most_common_first["step"][0]
    return kernels.filter(step == example)


def in_launch_order(trace: Trace, columns: Sequence[str] = ()) -> pl.DataFrame:
    """Return every kernel of each rank in the order of launches, or of a replayed graph's nodes.

    With `columns`, the frame has only these (strings as Categorical) and the rank. Otherwise it has
    all columns and launch_ns.
    """
    order = ("rank", "launch_ns", "graph_node_id", "start_ns")
    if columns:
        wanted = dict.fromkeys(("rank", "api_call_id", *order[2:], *columns))
        kernels = trace.select("kernels", *wanted)
    else:
        kernels = trace.kernels
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns")
    launches = kernels.select("rank", "api_call_id")
    call_rows = rows_of(calls["rank"], calls["api_call_id"], launches)
    launch_ns = calls["start_ns"].gather(call_rows)
    with_launch = kernels.with_columns(launch_ns=launch_ns)
    ordered = with_launch.sort(order)
    return ordered.select("rank", *columns) if columns else ordered
