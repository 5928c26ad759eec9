"""Which ops take the host's and the device's time."""

from __future__ import annotations

import polars as pl

from tracelens.coding import spelled
from tracelens.derive.ancestry import prepare
from tracelens.derive.op_times import op_times
from tracelens.derive.span_trees import of_rank, span_trees
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import TOP_OPS
from tracelens.trace import Trace


def top_ops(trace: Trace) -> pl.DataFrame:
    """A row an op name and rank, most device time first, then most host time.

    CPU self, CUDA self and CUDA total are torch.profiler's measures; only, an op within an op of the same name adds to
    CUDA total once here and twice there. Raises MissingTableError when the trace holds no op.
    """
    trace.require("top_ops", "spans")
    prepare(trace.height("spans"))
    spans, words = trace.coded("spans", "rank", "span_id", "parent_id", "kind", "name", "duration_ns", "self_ns")
    if not words["kind"].is_in(["op"]).any():
        raise MissingTableError("top_ops needs op spans, and this trace has none; tracelens collect torch gives them")
    columns = ["rank", "span_id", "duration_ns"]
    work = pl.concat([trace.select(name, *columns) for name in ("kernels", "memcpys", "memsets")])
    calls = trace.select("api_calls", "rank", "process_id", "thread_id", "span_id", "start_ns", "duration_ns")
    times = (op_times(tree, words, of_rank(work, tree), of_rank(calls, tree)) for tree in span_trees(spans))
    found = pl.concat(names for names in times if names.height)
    ordered = found.with_columns(spelled(found["name"], words["name"])).sort(
        "rank", "cuda_total_ns", "cpu_self_ns", "name", descending=[False, True, True, False]
    )
    return TOP_OPS.conform(ordered)
