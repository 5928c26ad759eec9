"""Model the backward pass of custom autograd functions by their forward call.

For a function `F`, the trace records the backward node `FBackward` with only the result's gradient
as input. So the node's work is derived from the forward call that made the node.
"""

import polars as pl

from tracelens.derive.events.autograd_nodes import NODE, forward_backward
from tracelens.derive.kernels.op_families import backward_factor
from tracelens.derive.kernels.recorded_call import RecordedCall, UnknownWorkError
from tracelens.trace import Trace

_SUFFIX = "Backward"
_SUMS = ("flops", "needed_flops")
_FORWARD = ("rank", "span_id", "process_id", "thread_id", "start_ns", *NODE[1:])
_INPUTS = ("input_shapes", "input_dtypes", "input_strides")


def with_backward(works: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add rows for backward nodes to the works (rank, span_id, WORK).

    A node's operations are the forward call's operations times the factor of the op's family. The
    node reads the inputs and the result's gradient, and writes a gradient for each input. These are
    twice the bytes of the forward call, minus the result. With a factor of 1, the function only
    passes the gradient through, and moves as many bytes as the forward call.
    """
    factors = _backward_factors(works)
    if not factors:
        return works
    names = [*factors, *(f"{op}{_SUFFIX}" for op in factors)]
    is_named = pl.col("name").cast(pl.String).is_in(names)
    is_op = pl.col("kind") == "op"
    spans = trace.select("spans", *_FORWARD, *_INPUTS, where=is_named & is_op)
    if not spans["forward_thread_id"].gt(0).any():
        return works
    nodes = _with_backward_work(_nodes_with_forward_work(works, spans), factors)
    return pl.concat([works, nodes.select(works.columns)])


def _backward_factors(works: pl.DataFrame) -> dict[str, float]:
    """Return the ratio of backward to forward operations by op, where it is known."""
    factors = {}
    for op in works["op"].unique():
        factor = backward_factor(op)
        if factor:
            factors[op] = float(factor)
    return factors


def _with_backward_work(nodes: pl.DataFrame, factors: dict[str, float]) -> pl.DataFrame:
    """Replace the work of forward calls by the work of their backward nodes."""
    op = pl.col("op")
    factor = op.replace_strict(factors, default=None, return_dtype=pl.Float64)
    texts = {}
    for name, times in factors.items():
        texts[name] = f"backward is taken as {times:g} times forward"
    text = op.replace_strict(texts, default=None, return_dtype=pl.String)
    not_moved = pl.struct(_INPUTS).map_batches(_not_moved, return_dtype=pl.Float64)
    moved_bytes = pl.col("least_bytes") * 2 - not_moved
    least_bytes = pl.when(factor > 1).then(moved_bytes).otherwise("least_bytes")
    no_cache = pl.lit(0.0)
    no_bound = pl.lit(None, pl.Float64)
    return nodes.with_columns(
        pl.col(_SUMS) * factor,
        least_bytes=least_bytes,
        op=op + _SUFFIX,
        pair_flops=no_cache,
        key_bytes=no_cache,
        most_flops=no_bound,
        most_bytes=no_bound,
        assumed=pl.concat_str("assumed", text, separator="; ", ignore_nulls=True),
    )


def _nodes_with_forward_work(works: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the backward nodes whose work is not in `works`, with their forward calls' work."""
    pairs_by_rank = []
    for (rank,), of_rank in spans.group_by("rank"):
        pairs = forward_backward(of_rank)
        rank_of_pairs = pl.lit(rank, pl.Int32)
        pairs_by_rank.append(pairs.with_columns(rank=rank_of_pairs))
    key = ["rank", "span_id"]
    pairs = pl.concat(pairs_by_rank)
    forward_work = pairs.join(works, on=key)
    nodes = forward_work.drop("span_id").rename({"run_id": "span_id"})
    without_own_work = nodes.join(works, on=key, how="anti")
    inputs = spans.select(*key, *_INPUTS)
    return without_own_work.join(inputs, on=key)


def _not_moved(recorded: pl.Series) -> pl.Series:
    """Return, for each node, the bytes to subtract from twice the bytes of its forward call.

    Twice the forward bytes count the forward call's result twice. The backward node only reads the
    result's gradient, its first input, once. A broadcast gradient is stored in fewer bytes.
    """
    texts = recorded.struct.unnest().cast(pl.String)
    sizes = {row: _not_moved_by(row) for row in texts.unique().iter_rows()}
    return pl.Series([sizes[row] for row in texts.iter_rows()], dtype=pl.Float64)


def _not_moved_by(texts: tuple[str | None, ...]) -> float | None:
    try:
        tensors = RecordedCall.parsed([*texts, None]).tensors(0)
    except UnknownWorkError:
        return None
    if not tensors:
        return None
    gradient = tensors[0]
    dense_bytes = gradient.n_elements * gradient.width
    return float(2 * dense_bytes - gradient.n_bytes)
