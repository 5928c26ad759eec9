"""Find kernels of autograd's threads by the main thread's range named `backward`."""

import polars as pl

from tracelens.derive.columns.interval_lookup import during
from tracelens.derive.columns.intervals import END
from tracelens.trace import Trace

EVIDENCE = "launched by another thread while a range named backward was open"


def in_open_backward(trace: Trace) -> pl.DataFrame:
    """Return the kernels that autograd's threads launched: rank, kernel_id, by_range (True).

    They are launched outside of any span, while a range named `backward` is open in another thread.
    """
    # This occurs only in traces without ops, because PyTorch's profiler records ops of autograd's
    # threads.
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
    """Return the kernels with a recorded launch outside of all spans."""
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
