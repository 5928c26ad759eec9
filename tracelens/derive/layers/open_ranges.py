"""Find kernels launched by one thread while another thread's range of a phase was open."""

import polars as pl

from tracelens.derive.columns.interval_lookup import during
from tracelens.derive.columns.intervals import END
from tracelens.trace import Trace

EVIDENCE = "launched by another thread while a range named backward was open"


def in_open_backward(trace: Trace) -> pl.DataFrame:
    """Return kernels of autograd's own threads: rank, kernel_id, by_range (True).

    When such a kernel is launched, an annotation or NVTX range named `backward` is open in another
    thread of the process. The launching thread is inside no span that would show what it does. This
    occurs only in traces with nothing but ranges, because PyTorch's profiler gives autograd's
    threads spans.
    """
    kernels = trace.select("kernels", "rank", "kernel_id", "api_call_id", "span_id")
    lacks_span = pl.col("span_id").is_null()
    has_call = pl.col("api_call_id").is_not_null()
    kernels = kernels.filter(lacks_span & has_call)
    is_backward = pl.col("phase") == "backward"
    is_range = pl.col("kind").is_in(["annotation", "nvtx"]) & is_backward
    columns = ("rank", "process_id", "start_ns", "duration_ns")
    ranges = trace.select("spans", *columns, where=is_range) if kernels.height else None
    if ranges is None or ranges.is_empty():
        return kernels.select("rank", "kernel_id", by_range=pl.lit(value=True)).clear()
    calls = trace.select("api_calls", "rank", "api_call_id", "process_id", "start_ns")
    launches = kernels.join(calls, on=["rank", "api_call_id"])
    by_rank = []
    for (rank,), part in launches.group_by("rank"):
        its = ranges.filter(pl.col("rank") == rank)
        open_then = its.with_columns(end_ns=END, by_range=pl.lit(value=True))
        by_rank.append(during(part, open_then, "by_range", pl.Boolean))
    every_rank = pl.concat(by_rank)
    return every_rank.filter("by_range").select("rank", "kernel_id", "by_range")
