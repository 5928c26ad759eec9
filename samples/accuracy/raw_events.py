"""Read a capture's raw events in one form, without using tracelens's analyses.

Files are JSON of torch.profiler, SQLite of nsys, and the Parquet tables of a NAME.tracelens.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

_MARK = re.compile(r"^(ProfilerStep#|step[ _\[])")
_NCCL = re.compile(r"^(nccl|rccl)", re.IGNORECASE)
_WORK = {"kernel": "", "gpu_memcpy": "copy", "gpu_memset": "copy"}
_CALLS = ("cuda_runtime", "cuda_driver", "xpu_runtime")


@dataclass(frozen=True, slots=True)
class Work:
    """An interval of device work.

    `part` is compute, communication or copy; `call` is the correlation id of the launching call.
    """

    start: int
    end: int
    part: str
    call: object


@dataclass(frozen=True, slots=True)
class HostEvent:
    """An API call (`is_call`), an op or an annotation of a host thread."""

    start: int
    end: int
    name: str
    thread: object
    is_call: bool = field(kw_only=True)


@dataclass(slots=True)
class RawEvents:
    """One rank's events, in ns.

    `unprofiled_ns` is a step's time without the profiler, if measured.
    """

    work: list[Work] = field(default_factory=list)
    host: list[HostEvent] = field(default_factory=list)
    calls: dict[object, HostEvent] = field(default_factory=dict)
    marks: list[tuple[int, int]] = field(default_factory=list)
    unprofiled_ns: float | None = None

    def add_call(self, key: object, call: HostEvent) -> None:
        """Add an API call under its correlation id."""
        self.host.append(call)
        self.calls[key] = call


def part_of(kernel: str) -> str:
    """Classify a kernel by its name."""
    return "communication" if _NCCL.match(kernel) else "compute"


def read(path: Path) -> RawEvents:
    """Read one rank's events from a file or folder of any of the three kinds."""
    if path.suffix == ".sqlite":
        return _of_nsys(path)
    return _of_tables(path) if path.suffix == ".tracelens" else _of_torch(path)


def _of_torch(path: Path) -> RawEvents:
    with gzip.open(path) as stream:
        document = json.load(stream)
    raw = RawEvents()
    for event in document["traceEvents"]:
        if event.get("ph") != "X":
            continue
        category, name = event.get("cat"), str(event["name"])
        start = round(float(event["ts"]) * 1000)
        end = start + round(float(event.get("dur", 0)) * 1000)
        key = event.get("args", {}).get("correlation")
        if category in _WORK:
            raw.work.append(Work(start, end, _WORK[category] or part_of(name), key))
        elif category in _CALLS:
            raw.add_call(key, HostEvent(start, end, name, event["tid"], is_call=True))
        elif category in ("cpu_op", "user_annotation"):
            raw.host.append(HostEvent(start, end, name, event["tid"], is_call=False))
            if category == "user_annotation" and _MARK.match(name):
                raw.marks.append((start, end))
    return raw


def _of_nsys(path: Path) -> RawEvents:
    raw, connection = RawEvents(), sqlite3.connect(path)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    texts = dict(connection.execute("SELECT id, value FROM StringIds"))
    query = "SELECT start, end, correlationId, globalTid, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME"
    for start, end, key, thread, name in connection.execute(query):
        raw.add_call(key, HostEvent(start, end, texts[name], thread, is_call=True))
    query = "SELECT start, end, correlationId, shortName FROM CUPTI_ACTIVITY_KIND_KERNEL"
    for start, end, key, name in connection.execute(query):
        raw.work.append(Work(start, end, part_of(texts[name]), key))
    for table in sorted({"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"} & tables):
        query = f"SELECT start, end, correlationId FROM {table}"  # noqa: S608 - one of two names
        raw.work += [Work(start, end, "copy", key) for start, end, key in connection.execute(query)]
    query = "SELECT start, end, text, globalTid FROM NVTX_EVENTS WHERE end IS NOT NULL"
    for start, end, name, thread in connection.execute(query):
        raw.host.append(HostEvent(start, end, name or "", thread, is_call=False))
        if name and _MARK.match(name):
            raw.marks.append((start, end))
    connection.close()
    return raw


def _of_tables(path: Path) -> RawEvents:
    raw = RawEvents()
    facts = json.loads((path / "manifest.json").read_text())
    raw.unprofiled_ns = _median_of(facts, "unprofiled_step_ns")
    for row in _rows(path, "kernels"):
        raw.work.append(_work(row, part_of(row["name"])))
    for table in ("memcpys", "memsets"):
        raw.work += [_work(row, "copy") for row in _rows(path, table)]
    for row in _rows(path, "api_calls"):
        end = row["start_ns"] + row["duration_ns"]
        call = HostEvent(row["start_ns"], end, row["api"], row["thread_id"], is_call=True)
        raw.add_call(row["api_call_id"], call)
    for row in _rows(path, "spans"):
        if row["kind"] != "python":
            end = row["start_ns"] + row["duration_ns"]
            span = HostEvent(row["start_ns"], end, row["name"], row["thread_id"], is_call=False)
            raw.host.append(span)
            if _MARK.match(row["name"]):
                raw.marks.append((span.start, span.end))
    steps = _rows(path, "steps")
    raw.marks = [] if steps else raw.marks
    for row in steps:
        raw.marks.append((row["start_ns"], row["start_ns"] + row["duration_ns"]))
    return raw


def _work(row: dict[str, Any], part: str) -> Work:
    return Work(row["start_ns"], row["start_ns"] + row["duration_ns"], part, row["api_call_id"])


def _rows(path: Path, table: str) -> list[dict[str, Any]]:
    file = path / table / "rank=0" / "part-0.parquet"
    return pl.read_parquet(file).to_dicts() if file.exists() else []


def _median_of(facts: Any, key: str) -> float | None:
    """Return the median under a key, wherever it is in the manifest."""
    if isinstance(facts, dict):
        if isinstance(facts.get(key), dict):
            return facts[key].get("median")
        facts = list(facts.values())
    medians = [_median_of(value, key) for value in facts] if isinstance(facts, list) else []
    return next((value for value in medians if value is not None), None)
