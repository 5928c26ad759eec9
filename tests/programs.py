"""Small programs for case tests: what host threads and devices did when, in µs, as a trace."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from operator import itemgetter
from typing import Any

import polars as pl

from tests.cases import make_trace
from tracelens.derive.events.api_names import api_kind
from tracelens.trace import Trace

Row = dict[str, Any]
Thread = tuple[int, int, int]
"""Rank, process and thread."""


def timed(start: float, end: float, **more: Any) -> Row:
    """Return a row that lasts from start to end, in µs."""
    return {"start_ns": round(start * 1000), "duration_ns": round((end - start) * 1000), **more}


def span(kind: str, name: str, start: float, end: float, **more: Any) -> Row:
    """Return a span of process 0, thread 0."""
    return timed(start, end, kind=kind, name=name, **more)


def many_ops(name: str, start: int, end: int) -> list[Row]:
    """Return an op that calls short ones one after another, so that no op works for long itself."""
    short = [span("op", "aten::view", at, min(at + 50, end)) for at in range(start, end, 50)]
    return [span("op", name, start, end), *short]


def mark(step: int, start: float, end: float, **more: Any) -> Row:
    """Return a step's mark as torch writes it."""
    return span("annotation", f"ProfilerStep#{step}", start, end, **more)


def api(name: str, start: float, end: float, **more: Any) -> Row:
    """Return a call of a CUDA or HIP function by process 0, thread 0."""
    return timed(start, end, api=name, kind=_kind(name), **more)


@cache
def _kind(name: str) -> str:
    kind: str = pl.select(api_kind(pl.lit(name))).item()
    return kind


def launch(start: float, end: float, **more: Any) -> Row:
    """Return a call that launches a kernel."""
    return api("cudaLaunchKernel", start, end, **more)


def work(start: float, end: float, call: int | None = None, **more: Any) -> Row:
    """Return work of device 0, launched by the call of this row number."""
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
    of_threads: defaultdict[Thread, list[Row]] = defaultdict(list)
    for row in sorted(spans, key=itemgetter("duration_ns")):
        of_threads[_thread(row)].append(row)
    spans = [row | {"parent_id": _around(of_threads[_thread(row)], row)} for row in spans]
    calls = [row | {"span_id": _around(of_threads[_thread(row)], row)} for row in calls]
    return make_trace(spans=spans, api_calls=calls, kernels=list(kernels), **tables)


def _thread(row: Row) -> Thread:
    return row.get("rank", 0), row.get("process_id", 0), row.get("thread_id", 0)


def _around(spans: Sequence[Row], inner: Row) -> int | None:
    """Return the number of the first span that is longer than the row and contains it.

    The spans are those of the row's thread, the shortest first.
    """
    begin = bisect_right(spans, inner["duration_ns"], key=itemgetter("duration_ns"))
    for row in spans[begin:]:
        if row["start_ns"] <= inner["start_ns"] and _end(row) >= _end(inner):
            number: int = row["span_id"]
            return number
    return None


def _end(row: Row) -> int:
    end: int = row["start_ns"] + row["duration_ns"]
    return end
