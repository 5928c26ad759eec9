"""Find the calls of compiled kernels, with the sizes that were recorded at compile time.

The sidecar of --compile-provenance lists the kernel calls of each compiled graph in order, with the
tensors that each reads and writes. It also covers kernels of a CUDA graph's replay.
"""

import polars as pl

from tracelens.derive.layers.call_work import INPUTS, WORK, works_of
from tracelens.derive.layers.graph_replay import in_launch_order
from tracelens.derive.layers.provenance import recorded_calls
from tracelens.trace import Trace

REPLAYS_WITHOUT_SIZES = (
    "replays of a graph (its sidecar has no sizes: record it again with --compile-provenance)"
)
"""The reason why replays are not modelled if their sidecar has no sizes."""
_CALL = ["graph_key", "call_order"]
_GRAPH_NUMBER = r"^graph_\d+_"
_OPERATOR = r"^(\w+)\.(\w+)\.\w+$"


def lacks_sizes(trace: Trace) -> bool:
    """Return whether the trace has a sidecar of compile provenance without the tensors' sizes."""
    return trace.has("provenance") and not trace.provenance["input_shapes"].count()


def with_compiled(called: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Return the kernels; computing kernels without an op get their call in a compiled graph.

    `called` has rank, kernel_id, is_communication, run, call and WORK. In the column `call`, a call
    in a compiled graph is a negative number.
    """
    if not trace.has("provenance") or lacks_sizes(trace):
        return called
    placed = recorded_calls(in_launch_order(trace), trace.spans, trace.provenance)
    if placed.is_empty():
        return called
    kernel = ["rank", "kernel_id"]
    new_calls = _uncounted(placed, called, trace.provenance)
    is_outside_ops = pl.col("op").is_null()
    is_open = is_outside_ops & ~pl.col("is_communication")
    open_kernels = called.filter(is_open).drop(*WORK.names(), "call", "run")
    compiled = open_kernels.join(new_calls, on=kernel, maintain_order="left")
    rest = called.join(compiled, on=kernel, how="anti", maintain_order="left")
    return pl.concat([rest, compiled.select(called.columns)])


def _uncounted(
    placed: pl.DataFrame,
    called: pl.DataFrame,
    provenance: pl.DataFrame,
) -> pl.DataFrame:
    """Return the kernels of recorded calls, with `call` (negative) and WORK.

    A call is left out if one of its kernels belongs to a modelled op, because its work would count
    twice.
    """
    kernel = ["rank", "kernel_id"]
    run_of_call = ["rank", "run", "call_order"]
    runs = placed.select(*kernel, "run", *_CALL)
    explained = runs.join(_works(provenance), on=_CALL)
    modelled = called.filter(pl.col("op").is_not_null())
    with_modelled = explained.join(modelled, on=kernel, how="semi")
    counted = with_modelled.select(run_of_call)
    uncounted = explained.join(counted, on=run_of_call, how="anti")
    number = -1 - pl.col("call_order")
    return uncounted.with_columns(call=number)


def _works(provenance: pl.DataFrame) -> pl.DataFrame:
    """Return one row per recorded kernel call: graph_key, call_order and WORK.

    Calls without recorded sizes are left out.
    """
    sized = provenance.drop_nulls("input_shapes")
    calls = sized.unique(_CALL, keep="first", maintain_order=True)
    operator = pl.col("aten_op").str.replace(_OPERATOR, "${1}::${2}")
    generated = pl.col("kernel_name").str.replace(_GRAPH_NUMBER, "")
    name = pl.when("is_extern").then(operator).otherwise(generated)
    named = calls.with_columns(name=name).drop_nulls("name")
    numbered = named.with_row_index("span_id")
    no_text = pl.lit(None, pl.String)
    inputs = numbered.select(
        "rank",
        "span_id",
        *INPUTS,
        list_dtype=no_text,
        inputs_assumed=no_text,
        n_chosen=pl.lit(None, pl.Int64),
        weight_bytes=pl.lit(None, pl.Float64),
    )
    works = works_of(inputs).drop("rank")
    with_works = numbered.select("span_id", *_CALL).join(works, on="span_id")
    return with_works.drop("span_id")
