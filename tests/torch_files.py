"""Write small Chrome traces for tests, and read them."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import declared
from tests.sources import MORE, SAMPLES
from tracelens.collectors import torch
from tracelens.trace import Trace
from tracelens.trace.capture import Capture

CAPTURES = MORE / "torch"

_NAMED = {
    file.name: file
    for folder in (CAPTURES, SAMPLES / "torch")
    for file in sorted(folder.glob("**/*.json.gz"))
}
REAL_TRACES = [pytest.param(file, id=name.split(".")[0]) for name, file in sorted(_NAMED.items())]
"""Real traces as parameters of a test.

If a sample of a run is bundled, it stands in for the capture.
"""

needs_captures = pytest.mark.skipif(
    not CAPTURES.is_dir(), reason=f"the real captures are not at {CAPTURES}"
)


def span(name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    """Return an op of process 1, thread 1; `more` overrides its keys."""
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": name,
        "pid": 1,
        "tid": 1,
        "ts": ts,
        "dur": dur,
    } | more


def call(name: str, ts: float, dur: float, correlation: int, **more: Any) -> dict[str, Any]:
    """Return a runtime call of process 1, thread 1."""
    return span(name, ts, dur, cat="cuda_runtime", args={"correlation": correlation}) | more


def kernel(name: str, ts: float, dur: float, correlation: int, **more: Any) -> dict[str, Any]:
    """Return a kernel on device 0, stream 7."""
    args = {"device": 0, "context": 1, "stream": 7, "correlation": correlation}
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": ts,
        "dur": dur,
        "args": args,
    } | more


def write(path: Path, content: str | bytes | Sequence[dict[str, Any]], **facts: Any) -> Path:
    """Write a trace file: text or bytes as they are, events in an object, after its `facts`."""
    if isinstance(content, str):
        content = content.encode()
    elif not isinstance(content, bytes):
        content = json.dumps({**facts, "traceEvents": list(content)}).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read(path: Path) -> Capture:
    """Read a trace file that holds one capture."""
    (capture,) = torch.read(path)
    capture.tables = declared(capture.tables)
    return capture


def rows(trace: Trace | Capture, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of a table as tuples, in the table's order; [] if it is empty or absent."""
    frame = trace.frame(table) if isinstance(trace, Trace) else trace.tables.get(table)
    return [] if frame is None else frame.select(columns).rows()


def codes(trace: Trace | Capture) -> dict[str, int]:
    """Return how often each diagnostic occurred, by code."""
    frame = trace.diagnostics if isinstance(trace, Trace) else trace.diagnostics.frame()
    assert isinstance(frame, pl.DataFrame)
    return dict(frame.select("code", "count").iter_rows())
