"""Find kernels of autograd's threads by the main thread's range named `backward`."""

import polars as pl

from tracelens.derive.columns.interval_lookup import during, innermost_by_process
from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import by_value
from tracelens.trace import Trace

EVIDENCE = "launched by another thread while a range named backward was open"


def in_open_backward(trace: Trace) -> pl.DataFrame:
    """Return the kernels that autograd's threads launched: rank, kernel_id, by_range (True).

    They are launched outside of any span, while a range named `backward` is open in another thread.
    """
    # This occurs only in traces without ops, because PyTorch's profiler records ops of autograd's
    # threads.
    kernels = _outside_spans(trace)
    is_in_range = pl.lit(value=True).alias("by_range")
    no_kernels = kernels.clear().select("rank", "kernel_id", is_in_range)
    ranges = _backward_ranges(trace) if kernels.height else kernels
    if ranges.is_empty():
        return no_kernels
    launches = _calls_in_ranges(trace, ranges)
    parts = [no_kernels]
    for rank, of_rank in by_value(kernels, "rank"):
        if rank in launches:
            is_launched_in_range = pl.col("api_call_id").is_in(launches[rank].implode())
            in_range = of_rank.filter(is_launched_in_range)
            parts.append(in_range.select("rank", "kernel_id", is_in_range))
    return pl.concat(parts)


def _calls_in_ranges(trace: Trace, ranges: pl.DataFrame) -> dict[int, pl.Series]:
    """Return, by rank, the ids of the API calls outside of spans while a range was open."""
    ids: dict[int, list[pl.Series]] = {}
    ranges_of_rank = {}
    for rank, of_rank in by_value(ranges, "rank"):
        ranges_of_rank[rank] = innermost_by_process(of_rank, "by_range")
    columns = ("rank", "api_call_id", "process_id", "start_ns", "span_id")
    # Calls are read in parts, because a trace has several times as many calls as kernels.
    for calls in trace.chunks("api_calls", *columns):
        outside_spans = calls.filter(pl.col("span_id").is_null())
        for rank, of_rank in by_value(outside_spans, "rank"):
            if rank in ranges_of_rank:
                marked = during(of_rank, ranges_of_rank[rank], "by_range", pl.Boolean)
                ids.setdefault(rank, []).append(marked.filter("by_range")["api_call_id"])
    return {rank: pl.concat(parts) for rank, parts in ids.items()}


def _outside_spans(trace: Trace) -> pl.DataFrame:
    """Return the kernels with a recorded launch outside of all spans."""
    columns = ("rank", "kernel_id", "api_call_id", "span_id")
    lacks_span = pl.col("span_id").is_null()
    has_call = pl.col("api_call_id").is_not_null()
    parts = trace.chunks("kernels", *columns)
    return pl.concat([part.filter(lacks_span & has_call) for part in parts])


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
