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
    kernels = _outside_spans(trace)
    ranges = _backward_ranges(trace) if kernels.height else kernels
    if ranges.is_empty():
        no_kernels = kernels.select("rank", "kernel_id").clear()
        return no_kernels.with_columns(by_range=pl.lit(value=True))
    calls = trace.select("api_calls", "rank", "api_call_id", "process_id", "start_ns")
    launches = kernels.join(calls, on=["rank", "api_call_id"])
    by_rank = []
    for (rank,), of_rank in launches.group_by("rank"):
        is_of_rank = pl.col("rank") == rank
        ranges_of_rank = ranges.filter(is_of_rank)
        marked = during(of_rank, ranges_of_rank, "by_range", pl.Boolean)
        by_rank.append(marked)
    every_rank = pl.concat(by_rank)
    in_range = every_rank.filter("by_range")
    return in_range.select("rank", "kernel_id", "by_range")


def _outside_spans(trace: Trace) -> pl.DataFrame:
    """Return the kernels whose launch is recorded, but is inside no span."""
    kernels = trace.select("kernels", "rank", "kernel_id", "api_call_id", "span_id")
    lacks_span = pl.col("span_id").is_null()
    has_call = pl.col("api_call_id").is_not_null()
    return kernels.filter(lacks_span & has_call)


def _backward_ranges(trace: Trace) -> pl.DataFrame:
    """Return the annotations and NVTX ranges of the backward pass, with by_range (True)."""
    is_backward = pl.col("phase") == "backward"
    is_range = pl.col("kind").is_in(["annotation", "nvtx"])
    columns = ("rank", "process_id", "start_ns", "duration_ns")
    ranges = trace.select("spans", *columns, where=is_range & is_backward)
    return ranges.with_columns(
        end_ns=END,
        by_range=pl.lit(value=True),
    )
