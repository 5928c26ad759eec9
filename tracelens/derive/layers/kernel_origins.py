"""Find each kernel's op, layer, Python line and phase, also for kernels of replayed graphs."""

import polars as pl

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.per_unique import each_once, matching
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.layers.attribution import kernel_layers
from tracelens.derive.layers.graph_replay import has_replays
from tracelens.derive.layers.modelled_calls import replayed_launches
from tracelens.derive.time.frame_lines import frames_entered_earlier, mark_lines
from tracelens.derive.time.step_table import steps_of
from tracelens.trace import Trace

_MACHINERY = r"torch/(?:nn/modules/module|_ops|utils/_contextlib|fx/graph_module)\.py|^triton/"
"""Python files that every call of a module, an op or a Triton kernel passes through."""
_ORIGIN = ("op", "place", "phase")


def kernel_origins(trace: Trace, base: Trace | None = None) -> pl.DataFrame:
    """Return the origin of each kernel, None if unknown; texts are Categorical.

    - rank, kernel_id
    - op: the innermost op
    - place: the innermost Python frame outside of the framework's machinery
    - layer
    - phase: of the server's step, else of the training step

    Replayed kernels have the values recorded during their graph's capture, in the trace or in
    `base`.
    """
    kernels = trace.select("kernels", "rank", "kernel_id", "span_id", "step")
    origins = _origins(trace, kernels).drop("span_id")
    sides = replayed_launches(trace, base) if has_replays(trace) else ()
    for side, launches, pairs in sides:
        nodes = pairs.join(launches, on=["base_rank", "base_id"])
        origins = _with_captured(origins, side, nodes)
    with_phases = _with_servers(origins, trace).drop("step")
    layers = kernel_layers(trace, base)
    rows = rows_of(
        layers["rank"],
        layers["kernel_id"],
        with_phases.select("rank", "kernel_id"),
    )
    layer = layers["layer"].cast(pl.Categorical)
    return with_phases.with_columns(layer=layer.gather(rows))


def _with_servers(origins: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Replace the phase by the phase of the server's step, if the kernel belongs to one."""
    key = ["rank", "step"]
    kind = pl.col("phase").cast(pl.Categorical)
    server_steps = steps_of(trace).select(*key, server=kind).drop_nulls("server")
    if server_steps.is_empty():
        return origins
    with_servers = origins.join(
        server_steps.unique(key),
        on=key,
        how="left",
        maintain_order="left",
    )
    phase = pl.coalesce("server", "phase")
    return with_servers.with_columns(phase=phase).drop("server")


def _with_captured(origins: pl.DataFrame, side: Trace, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return the origins; replayed kernels get the origins of their launches in the trace `side`.

    `nodes` has one row per replayed kernel (rank, kernel_id) with its launch (base_rank,
    base_span).
    """
    launches = nodes.select(
        "kernel_id",
        replay_rank="rank",
        rank="base_rank",
        span_id="base_span",
    )
    origins_of_launches = _origins(side, launches)
    captured = origins_of_launches.select("kernel_id", *_ORIGIN, rank="replay_rank")
    key = ["rank", "kernel_id"]
    both = origins.join(
        captured.unique(key),
        on=key,
        how="left",
        suffix="_side",
    )
    captured_columns = [f"{name}_side" for name in _ORIGIN]
    preferred = [pl.coalesce(f"{name}_side", name).alias(name) for name in _ORIGIN]
    return both.with_columns(preferred).drop(captured_columns)


def _origins(trace: Trace, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the kernels (rank, span_id and others) with op, Python frame (`place`) and phase."""
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name", "phase")
    earlier = frames_entered_earlier(
        trace.select(
            *("spans", "process_id", "thread_id", "kind", "name", "start_ns", "duration_ns"),
            where=pl.col("kind") == "python",
        )
    )
    parts = []
    for tree, of_tree in with_trees(spans, kernels):
        rows = of_tree["span_id"].cast(pl.Int64)
        is_python_file, is_machinery = matching(tree["name"], r"\.py\(", _MACHINERY)
        is_place = (tree["kind"] == "python") & is_python_file & ~is_machinery
        op, frame = (
            tree["name"].gather(nearest_row(tree["parent_id"], flags, rows))
            for flags in (tree["kind"] == "op", is_place)
        )
        place = each_once(frame, lambda name: name.str.extract(r"([^/]+)$"))
        parts.append(
            of_tree.with_columns(
                op=op,
                place=mark_lines(place, earlier),
                phase=tree["phase"].gather(rows),
            )
        )
    return pl.concat(parts)
