"""Give kernels of replayed CUDA graphs the layers of kernels that correspond to them.

A replay is one call, so no span around it shows the layer of each of its kernels. `graph_capture`
finds the launches that were recorded while the graph was captured. This module uses a run without
graphs: in it the same program launches the same kernels one by one, in the same order. The two
sequences of names are aligned, and a replayed kernel takes the layer of its partner. Equal
sequences are aligned only once.
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
"""The least share of a sequence that must match.

With less, the base ran another program, and nothing is placed. The same limit holds for the share
of matched kernels with equal grids: with fewer, the base had another batch size. Compiled twice,
the same program keeps 72 to 92 % of the grids; with another batch size it keeps 8 % (measured on an
H200).
"""
_LONGEST_RUN = 20_000
"""At most this many kernels of a base without steps are aligned.

Alignment takes time proportional to the product of both lengths.
"""
_PATHS_ONLY = ("none", "root module only", "module span", "backward sequence")
"""Evidence that comes from the launch, which all kernels of a replay share."""
PAIRS = pl.Schema(
    {"rank": pl.Int32, "kernel_id": pl.Int64, "base_rank": pl.Int32, "base_id": pl.Int64}
)
"""Kernels of a replay, each with the corresponding kernel of a base."""
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
    """Return the kernels of `placed`, with the replayed ones placed by a base.

    A replayed kernel gets the layer of the base's kernel with which it is paired. `placed` and
    `base_parts` hold one row per kernel and layer; `pairs` has the columns PAIRS. A kernel that is
    split in the base is split in the same proportions; its parts sum to its own duration.
    """
    is_graph = pl.col("link") == "graph"
    has_path_only = pl.col("evidence").is_in(_PATHS_ONLY)
    open_rows = placed.filter(is_graph & has_path_only)
    replayed = open_rows.join(pairs, on=["rank", "kernel_id"]).join(
        _fractions(base_parts),
        on=["base_rank", "base_id"],
        suffix="_base",
        maintain_order="left_right",
    )
    if replayed.is_empty():
        return placed
    key = ["rank", "kernel_id"]
    layer = pl.col("layer")
    layer_base = pl.col("layer_base")
    is_unattributed = layer == UNATTRIBUTED
    is_within = (layer_base + ".").str.starts_with(layer + ".")
    finer = is_unattributed | is_within
    replayed = replayed.filter((finer & (layer_base != UNATTRIBUTED)).any().over(key))
    replayed = split_duration(replayed).with_columns(
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
    """Return the base's parts of kernels, each with its fraction of the kernel.

    The fractions have the form that `split_duration` takes.
    """
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
    """Pair each replayed kernel with the kernel of the base that corresponds to it.

    Columns are rank, kernel_id, base_rank and base_id.
    """
    mine, theirs = _coded(trace, base)
    runs = {rank: _run(part) for (rank,), part in theirs.group_by("rank", maintain_order=True)}
    only_rank = next(iter(runs)) if len(runs) == 1 else None
    is_graph = pl.col("link") == "graph"
    replayed = mine.filter(is_graph.any().over("rank", "unit"))
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
        place = pl.Series(aligned[key], dtype=pl.Int64)
        with_partners = unit.select(
            "rank",
            "kernel_id",
            "link",
            "grid",
            base_rank=pl.lit(base_rank, pl.Int32),
            base_id=run["kernel_id"].gather(place),
            base_grid=run["grid"].gather(place),
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
    """Return both traces' kernels in launch order, with equal names coded alike.

    The base's replayed kernels are left out.
    """
    mine = _sequences(trace)
    of_base = _sequences(base)
    theirs = of_base.filter(pl.col("link") != "graph")
    if tools(trace) != tools(base):
        mine = _with_bare_names(mine)
        theirs = _with_bare_names(theirs)
    names = pl.concat([mine["name"], theirs["name"]])
    codes = names.cast(pl.Categorical).to_physical()
    known_codes = codes.cast(pl.Int64).fill_null(-1)
    n_mine = mine.height
    return (
        mine.with_columns(code=known_codes.head(n_mine)),
        theirs.with_columns(code=known_codes.slice(n_mine)),
    )


def _with_bare_names(kernels: pl.DataFrame) -> pl.DataFrame:
    names = each_once(kernels["name"], bare_name)
    return kernels.with_columns(names)


def bare_name(name: pl.Expr) -> pl.Expr:
    """Return a kernel's name without the parts that profilers write differently.

    These are template arguments, parameters and unnamed namespaces.
    """
    return name.str.extract(r"^(?:void )?([^<(]+)")


def tools(trace: Trace) -> set[object]:
    """Return the profilers whose captures the trace contains."""
    return {source.get("producer") for source in trace.manifest.sources} & {
        "torch.profiler",
        "Nsight Systems",
    }


def _sequences(trace: Trace) -> pl.DataFrame:
    """Return kernels in launch order.

    Kernels of a replay are in the order of the graph's nodes, if the source records it. `unit`
    groups kernels: by step (0 or more), or outside of steps by launch (below 0).
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
    """Return one run of the program: a step with the most common sequence of kernels.

    If no step is marked, return the first kernels.
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
    """Return every kernel of each rank in the order of launches.

    Kernels of a replayed graph come in the order of its nodes. With `columns`, the frame has these
    and the rank, strings as Categorical; else it has all columns, and launch_ns.
    """
    order = ("rank", "launch_ns", "graph_node_id", "start_ns")
    if columns:
        wanted = dict.fromkeys(("rank", "api_call_id", *order[2:], *columns))
        kernels = trace.select("kernels", *wanted)
    else:
        kernels = trace.kernels
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns")
    own_calls = kernels.select("rank", "api_call_id")
    launched_by = rows_of(calls["rank"], calls["api_call_id"], own_calls)
    launch_ns = calls["start_ns"].gather(launched_by)
    with_launch = kernels.with_columns(launch_ns=launch_ns)
    ordered = with_launch.sort(order)
    return ordered.select("rank", *columns) if columns else ordered
