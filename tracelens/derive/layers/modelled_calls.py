"""Find the calls of ops of known work: operations, and bytes that have to move."""

from collections.abc import Iterator

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.per_unique import matching
from tracelens.derive.events.serving_marks import batches
from tracelens.derive.kernels.op_work import UNKNOWN_MASK
from tracelens.derive.layers.call_work import WORK
from tracelens.derive.layers.compiled_calls import (
    REPLAYS_WITHOUT_SIZES,
    lacks_sizes,
    with_compiled,
)
from tracelens.derive.layers.graph_capture import captured_graphs
from tracelens.derive.layers.graph_replay import has_replays, pairs_by_name
from tracelens.derive.layers.kernel_calls import with_calls
from tracelens.derive.time.step_table import steps_of
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

_KERNEL = (
    *("rank", "device_id", "kernel_id", "span_id", "step", "name", "duration_ns"),
    *("link", "api_call_id", "grid_x", "is_communication"),
)
UNKNOWN_CONTEXTS = "at least: how long contexts are is not recorded"
"""Value of `assumed` for attention over a cache, if the number of cached tokens is unknown.

Then only a lower bound of the call's work is known. The work may be any multiple of the bound.
"""
UNKNOWN_WORK = (UNKNOWN_CONTEXTS, UNKNOWN_MASK)
"""Assumptions with which the true work may be far above the shown work, so no gain is shown."""
CALL = ("rank", "device_id", "run", "call")
"""The key of a call.

`run` is the API call of the graph replay that ran the kernels, None outside of CUDA graphs.
"""
_REPLAYS = (
    "replays of a graph (give its capture with --against, or a sidecar of --compile-provenance"
    " beside the trace)"
)
_IS_TF32 = r"(?i)tf32|_s1688"
"""Pattern of CUTLASS products that compute float32 as TF32, by the instruction in their name.

The instruction is 16x8x8 with sums in float32.
"""
_IS_FP8 = r"[^u](?:e4m3|e5m2).*[^u](?:e4m3|e5m2)|^nvjet_(?:sm\d+_)?qq"
"""Pattern of kernels that multiply two fp8 matrices.

In cuBLAS' names, q is an fp8 type. ue4m3 is the type of fp4's scales. Kernel names are needed,
because Transformer Engine's ops record a wider type for their fp8 tensors.
"""
_PRECISIONS = {
    "float64": "fp64",
    "complex128": "fp64",
    "float32": "fp32",
    "complex64": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "float8": "fp8",
    "float4": "fp4",
}


class Modelled(Struct, frozen=True):
    """Holds the modelled calls of a trace, and the kernels inside and outside of them.

    `calls` has one row per call:

    - rank, device_id, step, op, shapes, dtypes
    - precision: precision of the arithmetic, None if no peak is known for its type
    - flops: FLOPs as torch's FLOP counter counts them, 0 for a memory-bound op
    - needed_flops: operations that every kernel for the call has to compute
    - least_bytes: bytes that every kernel for the call has to move
    - cache_bytes: part of least_bytes that is read from a key-value cache
    - duration_ns, n_kernels
    - assumed: assumptions about the work
    - most_flops, most_bytes: upper bounds of flops and least_bytes, None if unknown

    Only calls whose `assumed` is UNKNOWN_CONTEXTS have upper bounds.
    """

    calls: pl.DataFrame
    rest: pl.DataFrame  # kernels outside of calls: rank, device_id, step, duration_ns, why
    kernels: pl.DataFrame  # kernels in calls: kernel_id, CALL


def modelled(
    trace: Trace,
    base: Trace | None = None,
    only: pl.Expr | None = None,
) -> Modelled:
    """Split the trace's kernels into modelled calls and the rest.

    - `base`: a trace that shows the calls of replayed kernels: it captured the graphs, or ran the
      same kernels one by one
    - `only`: a condition on rank and step, to select a part of the trace

    Raises MissingTableError if the trace has no kernels, or no shapes are known.
    """
    # Cached, because roofline, work_kinds and serving need the same calls.
    if base is None and only is None:
        return trace.derived(_modelled)
    return _modelled(trace, base, only)


def _modelled(
    trace: Trace,
    base: Trace | None = None,
    only: pl.Expr | None = None,
) -> Modelled:
    """Compute the result of `modelled`."""
    trace.require("roofline", "kernels")
    recorded = trace.select("kernels", *_KERNEL, where=only)
    is_tf32, is_fp8 = matching(recorded["name"], _IS_TF32, _IS_FP8)
    kernels = recorded.with_columns(is_tf32=is_tf32, is_fp8=is_fp8)
    outside_graphs = pl.lit(None, pl.Int64)
    # Ops nest (conv2d, convolution, _convolution, cudnn_convolution). The innermost op of known
    # work is the call.
    launched = with_calls(trace, kernels, only).with_columns(run=outside_graphs)
    replayed = _with_replays(launched, trace, base) if has_replays(trace) else launched
    called = with_compiled(replayed, trace)
    is_known = called["op"].is_not_null()
    sides = [side for side in (trace, base) if side is not None]
    if not is_known.any() and not any(map(_has_shapes, sides)):
        raise MissingTableError(
            "roofline needs the shapes of the ops' inputs, and this trace has none: profile with"
            " record_shapes=True (tracelens collect torch does, unless with --no-shapes)"
        )
    known = called.filter(is_known)
    calls = _with_contexts(_summed_by_call(known), trace)
    rest = _explained(called.filter(~is_known), trace)
    return Modelled(
        calls.with_columns(precision=_precision()),
        rest.select("rank", "device_id", "step", "duration_ns", "why"),
        known.select("kernel_id", *CALL),
    )


def _summed_by_call(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return one row per call: the sums over its kernels, and its work."""
    numbered = kernels.lazy().with_row_index("first_kernel")
    sums = (
        numbered.group_by(CALL, maintain_order=True)
        .agg(
            pl.col("first_kernel", "step").first(),
            pl.col("duration_ns").sum(),
            pl.col("is_tf32", "is_fp8").any(),
            n_kernels=pl.len().cast(pl.Int64),
        )
        .collect()
    )
    # The first kernel's row is looked up: `first()` of ten columns takes three times as long.
    works = kernels.select(pl.col(WORK.names()).gather(sums["first_kernel"]))
    return sums.drop("first_kernel").hstack(works)


def _precision() -> pl.Expr:
    """Return the precision in which a call computes, None for a type without a known peak."""
    dtype = pl.col("dtype")
    flops = pl.col("flops")
    of_dtype = dtype.replace_strict(_PRECISIONS, default=None, return_dtype=pl.String)
    # Calls other than products compute in float32 without tensor cores, whatever type they read.
    is_vector = (flops == 0) & of_dtype.is_not_null()
    is_tf32 = dtype.is_in(["float32", "complex64"]) & pl.col("is_tf32")
    return (
        pl.when(is_vector)
        .then(pl.lit("fp32"))
        .when(
            "is_fp8",
            of_dtype.is_in(["fp32", "bf16", "fp16"]),
        )
        .then(pl.lit("fp8"))
        .when(is_tf32)
        .then(pl.lit("tf32"))
        .when(flops > 0, dtype == "int8")
        .then(pl.lit("int8"))
        .otherwise(of_dtype)
    )


def _with_contexts(calls: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the calls with the work of attention over a cache.

    A server may write the lengths of contexts into a step's name. Attention in such a step gets
    work by these lengths. Attention in any other step gets the least possible work, and `assumed`
    is UNKNOWN_CONTEXTS.
    """
    uncached = calls.with_columns(cache_bytes=pl.lit(0.0))
    is_cached = pl.col("pair_flops") > 0
    if not uncached.select(is_cached.any()).item():
        return uncached
    all_steps = steps_of(trace).select("rank", "step", "name")
    steps = all_steps.unique(["rank", "step"], keep="first")
    contexts = steps.select("rank", "step").hstack(batches(steps["name"]))
    joined = uncached.join(
        contexts,
        on=["rank", "step"],
        how="left",
        maintain_order="left",
    )
    is_marked = is_cached & pl.col("n_pairs").is_not_null()
    marked_work = _work_of_contexts()
    work = {}
    for name, least in _least_work().items():
        work[name] = pl.when(is_marked).then(marked_work[name]).otherwise(least)
    is_assumed = is_cached & ~is_marked
    of_assumed = pl.when(is_assumed)
    with_work = joined.with_columns(
        **work,
        most_flops=of_assumed.then("most_flops"),
        most_bytes=of_assumed.then("most_bytes"),
        assumed=of_assumed.then(pl.lit(UNKNOWN_CONTEXTS)).otherwise("assumed"),
    )
    return with_work.select(uncached.columns)


def _least_work() -> dict[str, pl.Expr]:
    """Return the least possible work of attention over a cache.

    Each token then attends to its own prompt only.
    """
    has_prompts = pl.col("phase").is_in(["prefill", "mixed"])
    # For a known number of tokens, work is least if all prompts have the same length.
    pairs_of_equal_prompts = pl.col("n_tokens").pow(2) / pl.col("n_requests")
    least_pairs = pl.when(has_prompts).then(pairs_of_equal_prompts)
    flops = pl.col("pair_flops") * least_pairs
    least_flops = flops.fill_nan(0).fill_null(0)
    return {
        "flops": pl.max_horizontal("flops", least_flops),
        "needed_flops": pl.max_horizontal("needed_flops", least_flops / 2),
        "least_bytes": pl.col("least_bytes"),
        "cache_bytes": pl.col("cache_bytes"),
    }


def _work_of_contexts() -> dict[str, pl.Expr]:
    """Return the work of attention in a step with a known number of keys."""
    pair_flops = pl.col("pair_flops")
    cache_bytes = pl.col("n_context_tokens") * pl.col("key_bytes")
    return {
        "flops": pair_flops * pl.col("n_pairs"),
        "needed_flops": pair_flops * pl.col("n_needed_pairs"),
        "least_bytes": pl.col("least_bytes") + cache_bytes,
        "cache_bytes": cache_bytes,
    }


def _explained(rest: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the kernels outside of modelled calls, with the reason in the column `why`."""
    is_op = pl.col("kind") == "op"
    all_ops = trace.select("spans", "rank", "span_id", "name", where=is_op)
    ops = all_ops.join(rest, on=["rank", "span_id"], how="semi")
    ops = ops.select(
        "rank",
        "span_id",
        innermost=pl.col("name").cast(pl.String),
    )
    link = pl.col("link")
    of_replays = REPLAYS_WITHOUT_SIZES if lacks_sizes(trace) else _REPLAYS
    reason = (
        pl.when("is_communication")
        .then(pl.lit("communication"))
        .when(link == "graph")
        .then(pl.lit(of_replays))
        .when(link == "launched")
        .then(pl.coalesce("innermost", pl.lit("launched outside of ops")))
        .otherwise(pl.lit("launched before the trace began"))
    )
    return rest.join(ops, on=["rank", "span_id"], how="left").with_columns(why=reason)


def _has_shapes(trace: Trace) -> bool:
    n_shapes = pl.col("input_shapes").count()
    spans = trace.scan("spans").select(n_shapes)
    return bool(spans.collect().item())


def _with_replays(called: pl.DataFrame, trace: Trace, base: Trace | None) -> pl.DataFrame:
    """Return the kernels; replayed kernels get the known calls of their launches.

    For a replayed kernel, the column `run` is the API call of the replay.
    """
    is_open = (pl.col("link") == "graph") & pl.col("op").is_null()
    for side, launches, pairs in replayed_launches(trace, base):
        open_kernels = called.filter(is_open).drop(*WORK.names(), "call", "run")
        with_pairs = open_kernels.join(pairs, on=["rank", "kernel_id"])
        replayed = with_pairs.join(launches, on=["base_rank", "base_id"])
        placed = _with_calls_of_launches(replayed, side)
        rest = called.join(
            placed,
            on=["rank", "kernel_id"],
            how="anti",
            maintain_order="left",
        )
        called = pl.concat([rest, placed.select(called.columns)])
    return called


def _with_calls_of_launches(replayed: pl.DataFrame, side: Trace) -> pl.DataFrame:
    """Return the replayed kernels with a call: the call of their launch in the trace `side`."""
    launch = ["base_rank", "base_id"]
    once = replayed.unique(launch, keep="first", maintain_order=True)
    as_launched = once.select(
        "name",
        "grid_x",
        "base_id",
        rank="base_rank",
        span_id="base_span",
    )
    called = with_calls(side, as_launched)
    works = called.select(
        *WORK.names(),
        "call",
        "base_id",
        base_rank="rank",
    )
    placed = replayed.join(works, on=launch, maintain_order="left")
    return placed.with_columns(run="api_call_id").drop_nulls("op")


def replayed_launches(
    trace: Trace, base: Trace | None
) -> Iterator[tuple[Trace, pl.DataFrame, pl.DataFrame]]:
    """Yield (side, launches, pairs) for each side that shows the ops of replayed kernels.

    - side: `trace` or `base`
    - launches: the side's launches, with base_rank, base_id (kernel_id) and base_span (span_id)
    - pairs: PAIRS, one row per replayed kernel of `trace`, with its launch
    """
    for side in filter(None, (trace, base)):
        captured = captured_graphs(side)
        if captured is not None:
            yield side, _as_base(captured.launches), captured.pairs(trace)
    if base is not None and base.has("kernels"):
        launches = base.select("kernels", "rank", "kernel_id", "span_id")
        yield base, _as_base(launches), pairs_by_name(trace, base)


def _as_base(launches: pl.DataFrame) -> pl.DataFrame:
    return launches.select(base_rank="rank", base_id="kernel_id", base_span="span_id")
