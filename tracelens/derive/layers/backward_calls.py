"""Model the backward pass of custom autograd functions by their forward call.

The node of a function `F`, called `FBackward`, records the gradient of the result only. What it
computes follows from the forward call that made it.
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
    """Return the works (rank, span_id, op and the columns of work), with those of backward nodes.

    A node takes the operations of the forward call times its family's factor. It moves twice the
    bytes, less the result: it reads the inputs and the result's gradient, and writes a gradient for
    each input. A factor of 1 is for functions that pass the gradient through.
    """
    ops = works["op"].unique().to_list()
    factors = {op: float(times) for op in ops if (times := backward_factor(op))}
    if not factors:
        return works
    names = [*factors, *(f"{name}{_SUFFIX}" for name in factors)]
    is_asked = pl.col("name").cast(pl.String).is_in(names) & (pl.col("kind") == "op")
    spans = trace.select("spans", *_FORWARD, *_INPUTS, where=is_asked)
    if not spans["forward_thread_id"].gt(0).any():
        return works
    pairs = [
        forward_backward(of_rank).with_columns(rank=pl.lit(rank, pl.Int32))
        for (rank,), of_rank in spans.group_by("rank")
    ]
    of_forward = pl.concat(pairs).join(works, on=["rank", "span_id"]).drop("span_id")
    nodes = (
        of_forward.rename({"run_id": "span_id"})
        .join(works, on=["rank", "span_id"], how="anti")
        .join(spans.select("rank", "span_id", *_INPUTS), on=["rank", "span_id"])
    )
    factor = pl.col("op").replace_strict(factors, default=None, return_dtype=pl.Float64)
    words = {op: f"backward is taken as {times:g} times forward" for op, times in factors.items()}
    assumed = pl.col("op").replace_strict(words, default=None, return_dtype=pl.String)
    not_moved = pl.struct(_INPUTS).map_batches(_not_moved, return_dtype=pl.Float64)
    more = pl.col("least_bytes") * 2 - not_moved
    return pl.concat(
        [
            works,
            nodes.with_columns(
                *(pl.col(name) * factor for name in _SUMS),
                least_bytes=pl.when(factor > 1).then(more).otherwise("least_bytes"),
                op=pl.col("op") + _SUFFIX,
                pair_flops=pl.lit(0.0),
                key_bytes=pl.lit(0.0),
                assumed=pl.concat_str("assumed", assumed, separator="; ", ignore_nulls=True),
            ).select(works.columns),
        ]
    )


def _not_moved(recorded: pl.Series) -> pl.Series:
    """Return what each node moves less than twice the bytes of its forward call.

    The result is not moved again, and its gradient, the first input, is read as it is stored.
    """
    texts = recorded.struct.unnest().cast(pl.String)
    sizes = {row: _not_moved_by(row) for row in texts.unique().iter_rows()}
    return pl.Series([sizes[row] for row in texts.iter_rows()], dtype=pl.Float64)


def _not_moved_by(texts: tuple[str | None, ...]) -> float | None:
    try:
        given = RecordedCall.parsed([*texts, None]).tensors(0)
    except UnknownWorkError:
        return None
    return float(2 * given[0].n_elements * given[0].width - given[0].n_bytes) if given else None
