"""Nsight Systems exports with impossible values or contradicting files: counted, or an error."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc

from tests.nsys_exports import (
    KERNEL,
    NAMES,
    NVTX,
    RUNTIME,
    call,
    codes,
    gpu,
    kernel,
    packed,
    read_both_ways,
    write,
)
from tracelens.collectors import nsys
from tracelens.errors import SourceError

FAR = 2**61 + 1
"""Nanoseconds. No time of this century is as far from 1970."""


def test_a_number_that_does_not_fit_costs_itself_or_its_row(tmp_path: Path) -> None:
    kernels = [
        kernel(1, 2, 2, 1, gridX=2**31),
        kernel(2, 3, 2, 2, gridY=-(2**31) - 1),
        kernel(3, 4, 2, 3, deviceId=2**32 - 1),
        kernel(4, 5, 2, 4, gridX=2**31 - 1),
    ]
    capture = read_both_ways(
        tmp_path, {KERNEL: kernels, "TARGET_INFO_GPU": [gpu(0) | {"smCount": 2**40}]}
    )
    assert capture.tables["kernels"].select("start_ns", "grid_x", "grid_y").rows() == [
        (1, None, 1),
        (2, 1, None),
        (4, 2**31 - 1, 1),
    ]
    assert capture.tables["devices"]["sm_count"].to_list() == [None]
    assert codes(capture)["number_out_of_range"] == 4


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (-FAR, 5),
        (1, FAR),
        pytest.param(-(2**63), 2**63 - 1, marks=pytest.mark.exhaustive),
        pytest.param(-(2**63), -(2**63), marks=pytest.mark.exhaustive),
    ],
)
def test_a_time_that_is_none_costs_its_row(tmp_path: Path, start: int, end: int) -> None:
    spans = [
        {"start": at, "end": to, "eventType": 59, "textId": 4, "globalTid": 0}
        for at, to in ((1, 9), (start, end))
    ]
    nodes = [{"start": at, "graphNodeId": at, "globalTid": packed(7, 8)} for at in (3, end)]
    samples = [{"timestamp": at, "typeId": 1, "metricId": 1, "value": 1} for at in (4, end)]
    tables: dict[str, Any] = {
        "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 2**60}],
        RUNTIME: [call(2, 3, 1, 1), call(start, end, 1, 2)],
        KERNEL: [kernel(4, 5, 2, 1), kernel(start, end, 2, 2)],
        NVTX: spans,
        "CUDA_GRAPH_NODE_EVENTS": nodes,
        "GPU_METRICS": samples,
    }
    capture = read_both_ways(tmp_path, tables)
    assert {
        name: capture.tables[name].height for name in ("api_calls", "kernels", "spans", "counters")
    } == {
        "api_calls": 1,
        "kernels": 1,
        "spans": 1,
        "counters": 1 + (abs(end) < FAR),
    }
    assert codes(capture)["broken_rows"] == 3 + 2 * (abs(end) >= FAR)


def test_a_session_that_began_at_no_time_counts_from_then(tmp_path: Path) -> None:
    began = [{"utcEpochNs": -FAR}]
    capture = read_both_ways(
        tmp_path, {"TARGET_INFO_SESSION_START_TIME": began, RUNTIME: [call(50, 60, 1, 1)]}
    )
    assert (capture.time_base, capture.tables["api_calls"]["start_ns"].to_list()) == (
        "trace_start",
        [50],
    )
    assert codes(capture)["base_time_wrong"] == 1


def _stream(folder: Path, table: pa.Table) -> Path:
    """An arrowdir whose kernels are the table."""
    folder.mkdir()
    with ipc.new_stream(folder / f"{KERNEL}.arrow", table.schema) as stream:
        stream.write_table(table)
    return folder


def test_a_stream_that_miscounts_its_nulls(tmp_path: Path) -> None:
    numbers = pa.array([1, None, None, 4], pa.int64())
    lying = pa.Array.from_buffers(pa.int64(), 4, numbers.buffers(), 1)
    folder = _stream(
        tmp_path / "arwdir",
        pa.table(dict.fromkeys(("start", "end", "deviceId", "demangledName"), lying)),
    )
    with pytest.raises(
        SourceError, match=rf"table {KERNEL} cannot be read to its end \(.*actual number of nulls"
    ):
        nsys.read(folder)


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    names = ["start", "end", "deviceId", "demangledName", "start"]
    folder = _stream(tmp_path / "arwdir", pa.table([pa.array([1])] * 5, names=names))
    with pytest.raises(
        SourceError, match=f"table {KERNEL} cannot be read to its end .*exists 2 times"
    ):
        nsys.read(folder)


def test_a_damaged_page_of_a_database(tmp_path: Path) -> None:
    path = write(tmp_path / "export.sqlite", {"StringIds": NAMES, KERNEL: [kernel(1, 2, 2, 1)]})
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", [KERNEL]
        ).fetchone()
    content = bytearray(path.read_bytes())
    content[4096 * (page - 1)] = 0xFF
    path.write_bytes(content)
    with pytest.raises(
        SourceError,
        match=rf"table {KERNEL} cannot be read to its end \(database disk image is malfor",
    ):
        nsys.read(path)
