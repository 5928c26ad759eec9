"""Small programs for case tests: what host threads and devices did when, in µs, as a trace."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import polars as pl

from tests.cases import make_trace
from tracelens.derive.events.api_names import api_kind
from tracelens.trace import Trace

Row = dict[str, Any]


def timed(start: float, end: float, **more: Any) -> Row:
    """A row that lasts from start to end."""
    return {"start_ns": round(start * 1000), "duration_ns": round((end - start) * 1000), **more}


def span(kind: str, name: str, start: float, end: float, **more: Any) -> Row:
    """A span of process 0, thread 0."""
    return timed(start, end, kind=kind, name=name, **more)


def many_ops(name: str, start: int, end: int) -> list[Row]:
    """An op that calls short ones one after another, so that it never works for long in one."""
    short = [span("op", "aten::view", at, min(at + 50, end)) for at in range(start, end, 50)]
    return [span("op", name, start, end), *short]


def mark(step: int, start: float, end: float, **more: Any) -> Row:
    """A step's mark as torch writes it."""
    return span("annotation", f"ProfilerStep#{step}", start, end, **more)


def api(name: str, start: float, end: float, **more: Any) -> Row:
    """A call of a CUDA or HIP function by process 0, thread 0."""
    return timed(start, end, api=name, kind=pl.select(api_kind(pl.lit(name))).item(), **more)


def launch(start: float, end: float, **more: Any) -> Row:
    """A call that launches a kernel."""
    return api("cudaLaunchKernel", start, end, **more)


def work(start: float, end: float, call: int | None = None, **more: Any) -> Row:
    """Work of device 0, launched by the call of that row."""
    return timed(start, end, api_call_id=call, **more)


def program(
    spans: Sequence[Row] = (),
    calls: Sequence[Row] = (),
    kernels: Sequence[Row] = (),
    **tables: list[Row],
) -> Trace:
    """Return the trace of these spans, calls and kernels.

    Spans are numbered within their rank, and nest by time; calls lie in the innermost one.
    """
    numbers: defaultdict[int, Iterator[int]] = defaultdict(count)
    spans = [row | {"span_id": next(numbers[row.get("rank", 0)])} for row in spans]
    spans = [row | {"parent_id": _around(spans, row)} for row in spans]
    calls = [row | {"span_id": _around(spans, row)} for row in calls]
    return make_trace(spans=spans, api_calls=calls, kernels=list(kernels), **tables)


def _around(spans: Sequence[Row], inner: Row) -> int | None:
    """The number of the shortest span of the thread that is longer than the row and contains it."""

    def thread(row: Row) -> tuple[int, int, int]:
        return row.get("rank", 0), row.get("process_id", 0), row.get("thread_id", 0)

    def contains(row: Row) -> bool:
        first, last = (row["start_ns"], inner["start_ns"]), (_end(row), _end(inner))
        return thread(row) == thread(inner) and first[0] <= first[1] and last[0] >= last[1]

    around = [row for row in spans if contains(row) and row["duration_ns"] > inner["duration_ns"]]
    return min(around, key=lambda row: row["duration_ns"])["span_id"] if around else None


def _end(row: Row) -> int:
    end: int = row["start_ns"] + row["duration_ns"]
    return end
