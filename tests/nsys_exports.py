"""Tiny nsys exports written by hand, each in all the formats that nsys writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from tests.cases import declared
from tracelens.collectors import nsys
from tracelens.trace.capture import Capture

KERNEL, RUNTIME = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
MEMCPY, MEMSET = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
SYNCHRONIZATION, NVTX = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS"

Row = dict[str, Any]
Tables = Mapping[str, Sequence[Row]]


def packed(process: int, thread: int = 0) -> int:
    """Return a globalTid (with thread 0 a globalPid) on hardware 1, virtual machine 0."""
    return 1 << 48 | process << 24 | thread


def strings(*texts: str) -> list[Row]:
    """Make StringIds. A text's id is its position, from 1."""
    return [{"id": i, "value": text} for i, text in enumerate(texts, 1)]


def version(text: str) -> list[Row]:
    """META_DATA_EXPORT with a schema version."""
    return [{"name": "EXPORT_SCHEMA_VERSION", "value": text}]


NAMES = strings("cudaLaunchKernel_v7000", "gemm", "relu", "step 0")
"""StringIds of an export, unless a case gives its own."""


def read_both_ways(folder: Path, tables: Tables) -> Capture:
    """Read the export as SQLite and as Parquet, and check that they agree.

    Also check its tables against the schema.
    """
    folder.mkdir(exist_ok=True)
    export = write(
        folder / "export.sqlite",
        {"StringIds": NAMES, "META_DATA_EXPORT": version("3.20.3"), **tables},
    )
    (capture,) = nsys.read(export)
    (other,) = nsys.read(rewrite(export, folder / "export_pqtdir", ".parquet"))
    assert capture.tables.keys() == other.tables.keys()
    for name, frame in capture.tables.items():
        assert frame.equals(other.tables[name])
    capture.tables = declared(capture.tables)
    return capture


def codes(capture: Capture) -> dict[str, int]:
    """Return how often each kind of loss or oddity was counted."""
    return {code: count for (_, code), count in capture.diagnostics.counts.items()}


def call(start: int, end: int, name: int, correlation: int, thread: int = packed(7, 8)) -> Row:
    """A call of the CUDA runtime."""
    return {
        "start": start,
        "end": end,
        "eventClass": 0,
        "globalTid": thread,
        "correlationId": correlation,
        "nameId": name,
    }


def kernel(
    start: int, end: int, name: int, correlation: int, process: int = 7, **more: int | None
) -> Row:
    """A kernel of one thread on device 0."""
    shape = {f"{what}{axis}": 1 for what in ("grid", "block") for axis in "XYZ"}
    return {
        "start": start,
        "end": end,
        "deviceId": 0,
        "contextId": 1,
        "streamId": 7,
        "correlationId": correlation,
        "globalPid": packed(process),
        "demangledName": name,
        "shortName": name,
        **shape,
    } | more


def gpu(number: int, name: str = "NVIDIA H200") -> Row:
    """A GPU as TARGET_INFO_GPU describes it."""
    return {"id": number, "name": name, "smCount": 132, "computeMajor": 9, "computeMinor": 0}


def write(path: Path, tables: Tables) -> Path:
    """Write a SQLite export of the rows; a column that a row lacks is NULL there."""
    with closing(sqlite3.connect(path)) as database:
        for table, rows in tables.items():
            columns = {
                name: value for row in rows for name, value in row.items() if value is not None
            }
            kinds = [
                f'"{name}" {"TEXT" if isinstance(v, (str, bytes)) else "INTEGER"}'
                for name, v in columns.items()
            ]
            database.execute(f'CREATE TABLE "{table}" ({", ".join(kinds)})')
            for row in rows:
                marks = ", ".join(
                    "CAST(? AS TEXT)" if isinstance(row.get(c), bytes) else "?" for c in columns
                )
                database.execute(
                    f'INSERT INTO "{table}" VALUES ({marks})',  # noqa: S608
                    [row.get(c) for c in columns],
                )
        database.commit()
    return path


def rewrite(export: Path, folder: Path, suffix: str) -> Path:
    """Rewrite a SQLite export as a directory of Parquet or Arrow files.

    Integers are as narrow, and as unsigned, as nsys writes them.
    """
    folder.mkdir()
    with closing(sqlite3.connect(export)) as database:
        database.text_factory = bytes
        names = [
            name.decode()
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for name in names:
            cursor = database.execute(f'SELECT * FROM "{name}"')  # noqa: S608
            columns = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
            arrays = [_array([row[i] for row in rows]) for i in range(len(columns))]
            table = pa.table(dict(zip(columns, arrays, strict=True)))
            if suffix == ".parquet":
                pq.write_table(table, folder / f"{name}.parquet")
            else:
                with ipc.new_stream(folder / f"{name}.arrow", table.schema) as stream:
                    stream.write_table(table)
    return folder


def _array(values: list[Any]) -> pa.Array:
    present = [value for value in values if value is not None]
    if any(isinstance(value, bytes) for value in present):
        raw = pa.array(values, pa.large_binary())
        # Not a cast: like nsys, it takes any bytes for text.
        return pa.Array.from_buffers(pa.large_string(), len(raw), raw.buffers(), raw.null_count)
    if all(isinstance(value, int) for value in present):
        if min(present, default=0) < 0:
            return pa.array(values, pa.int64())
        return pa.array(values, pa.uint32() if max(present, default=0) < 2**32 else pa.uint64())
    return pa.array(values)
