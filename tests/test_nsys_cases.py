"""Nsight Systems exports of a few rows: each case beside the rows it must give, by hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.nsys_exports import (
    KERNEL,
    MEMCPY,
    MEMSET,
    NAMES,
    NVTX,
    RUNTIME,
    SYNCHRONIZATION,
    Row,
    Tables,
    call,
    codes,
    gpu,
    kernel,
    packed,
    read_both_ways,
    strings,
    version,
)
from tracelens.analyses import kernel_grids, layer_attribution, time_breakdown, top_kernels
from tracelens.collectors import nsys
from tracelens.collectors.nsys import export as reading
from tracelens.collectors.nsys.sqlite import SqliteExport
from tracelens.storage.table import DataType
from tracelens.trace.combine import combine


def test_rows_are_sorted_linked_and_counted_from_the_epoch(tmp_path: Path) -> None:
    capture = read_both_ways(
        tmp_path,
        {
            "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 1_000_000}],
            RUNTIME: [call(200, 230, 1, 12), call(-100, -90, 1, 11)],
            KERNEL: [kernel(240, 300, 3, 12), kernel(-80, -20, 2, 11), kernel(310, 320, 2, 99)],
            NVTX: [
                {
                    "start": -110,
                    "end": 235,
                    "eventType": 59,
                    "text": "step 0",
                    "globalTid": packed(7, 8),
                }
            ],
        },
    )
    rows = (
        capture.tables["kernels"]
        .select("start_ns", "duration_ns", "name", "correlation_id", "link", "step")
        .rows()
    )
    assert rows == [
        (999_920, 60, "gemm", 11, "launched", 0),
        (1_000_240, 60, "relu", 12, "launched", 0),
        (1_000_310, 10, "gemm", 99, "unlinked", None),
    ]
    calls = (
        capture.tables["api_calls"]
        .select("api", "raw_api", "kind", "source_api", "process_id", "thread_id")
        .rows()
    )
    assert (
        calls
        == [("cudaLaunchKernel", "cudaLaunchKernel_v7000", "kernel_launch", "runtime", 7, 8)] * 2
    )
    assert capture.time_base == "unix_epoch"


@pytest.mark.parametrize(("normalized", "expected"), [("true", 50), ("false", 1050)])
def test_an_export_with_normalized_times_is_not_shifted_twice(
    tmp_path: Path, normalized: str, expected: int
) -> None:
    meta = [*version("3.20.3"), {"name": "EXPORT_PARAM_TIME_NORMALIZE", "value": normalized}]
    start = [{"utcEpochNs": 1000}]
    tables: Tables = {
        "META_DATA_EXPORT": meta,
        "TARGET_INFO_SESSION_START_TIME": start,
        RUNTIME: [call(50, 60, 1, 1)],
    }
    assert read_both_ways(tmp_path, tables).tables["api_calls"]["start_ns"].to_list() == [expected]


def test_correlation_ids_of_two_processes_do_not_mix(tmp_path: Path) -> None:
    capture = read_both_ways(
        tmp_path,
        {
            RUNTIME: [call(0, 10, 1, 5, packed(7, 8)), call(100, 110, 1, 5, packed(9, 9))],
            KERNEL: [kernel(20, 30, 2, 5, 7), kernel(120, 130, 3, 5, 9)],
        },
    )
    assert capture.tables["kernels"].select("name", "process_id", "api_call_id").rows() == [
        ("gemm", 7, 0),
        ("relu", 9, 1),
    ]


def test_schema_2_9(tmp_path: Path) -> None:
    """No enum tables, no globalPid, no textId, no memory kinds, no epoch.

    An open range ends at 0.
    """
    launch = {
        "start": 0,
        "end": 10,
        "globalTid": packed(7, 8),
        "correlationId": 1,
        "nameId": 1,
        "returnValue": 0,
    }
    work = {
        "start": 20,
        "end": 30,
        "deviceId": 0,
        "contextId": 1,
        "streamId": 7,
        "correlationId": 1,
    }
    capture = read_both_ways(
        tmp_path,
        {
            "META_DATA_EXPORT": version("2.9.0"),
            RUNTIME: [launch],
            KERNEL: [
                work | {"demangledName": 2, "shortName": 2, "gridX": 4, "gridY": 1, "gridZ": 1}
            ],
            MEMSET: [work | {"start": 40, "end": 41, "value": 0, "bytes": 64}],
            MEMCPY: [
                work
                | {
                    "start": 50,
                    "end": 70,
                    "bytes": 8,
                    "copyKind": 1,
                    "srcKind": 0,
                    "dstKind": 2,
                }
            ],
            NVTX: [
                {"start": 5, "end": 0, "eventType": 59, "text": "train", "globalTid": packed(7, 8)}
            ],
        },
    )
    tables = capture.tables
    assert tables["kernels"].select(
        "process_id", "grid_x", "block_x", "is_cluster_launch", "link"
    ).rows() == [(7, 4, None, None, "launched")]
    assert tables["memsets"].select("size_bytes", "value", "memory", "process_id").rows() == [
        (64, 0, None, 7)
    ]
    assert tables["memcpys"].select(
        "direction", "source_memory", "destination_memory", "size_bytes"
    ).rows() == [("h2d", "pageable", "device", 8)]
    assert tables["spans"].select("name", "start_ns", "duration_ns").rows() == [("train", 5, 65)]
    assert tables["api_calls"].select("source_api").item() == "runtime"
    assert capture.time_base == "trace_start"
    assert codes(capture) == {"open_ranges": 1}


@pytest.mark.parametrize(("first", "second", "offset"), [(7, 9, 0), (4_000_000, 16_000_000, 2**31)])
def test_work_without_a_process_goes_to_the_only_call(
    tmp_path: Path, first: int, second: int, offset: int
) -> None:
    one, two = 1 + offset, 2 + offset
    rows = [{k: v for k, v in kernel(20, 21, 2, i).items() if k != "globalPid"} for i in (one, two)]
    calls = [
        call(0, 1, 1, one, packed(first)),
        call(2, 3, 1, two, packed(first)),
        call(4, 5, 1, two, packed(second)),
    ]
    capture = read_both_ways(tmp_path / "several", {RUNTIME: calls, KERNEL: rows})
    kernels = capture.tables["kernels"].select(
        "correlation_id", "process_id", "api_call_id", "link"
    )
    assert kernels.rows() == [(one, first, 0, "launched"), (two, 0, None, "unlinked")]
    assert codes(capture) == {"process_unknown": 1}
    capture = read_both_ways(tmp_path / "one", {RUNTIME: calls[:2], KERNEL: rows})
    assert capture.tables["kernels"]["process_id"].to_list() == [first, first]


def test_columns_narrow_in_one_chunk_and_wide_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows a chunk: small values first, then some that take 16, 32 and 64 bits."""
    monkeypatch.setattr(reading, "_CHUNK_CELLS", 60)
    sizes = [1, 2, 200, 40_000, 3_000_000_000, 5, 2**40]
    rows = [
        kernel(start, start + 10**i, 2, 10**i, gridX=min(sizes[i], 2**31 - 1))
        for i, start in enumerate(range(7))
    ]
    copies = [
        {"start": i, "end": i, "deviceId": 0, "bytes": size, "copyKind": 1, "globalPid": packed(7)}
        for i, size in enumerate(sizes)
    ]
    calls = [call(i, i + 1, 1, 10**i) for i in range(7)]
    capture = read_both_ways(tmp_path / "made", {KERNEL: rows, MEMCPY: copies, RUNTIME: calls})
    kernels = capture.tables["kernels"]
    assert (
        kernels["duration_ns"].to_list()
        == kernels["correlation_id"].to_list()
        == [10**i for i in range(7)]
    )
    assert kernels["grid_x"].to_list() == [1, 2, 200, 40_000, 2**31 - 1, 5, 2**31 - 1]
    assert kernels["api_call_id"].to_list() == list(range(7))
    assert capture.tables["memcpys"]["size_bytes"].to_list() == sizes


def test_nvtx_ranges_marks_and_domains(tmp_path: Path) -> None:
    thread = packed(7, 8)

    def event(start: int, end: int | None, kind: int, text: str | None = None, **more: int) -> Row:
        return {
            "start": start,
            "end": end,
            "eventType": kind,
            "text": text,
            "globalTid": thread,
            **more,
        }

    capture = read_both_ways(
        tmp_path,
        {
            "NVTX_EVENTS_V2": [
                event(0, None, 75, "NCCL", domainId=3),
                event(1, None, 39, "main thread", domainId=0),
                event(2, None, 33, "a category", domainId=0),
                event(10, 90, 59, None, textId=4, domainId=0),
                event(20, 30, 60, "ncclAllReduce", domainId=3),
                event(40, None, 34, "here", domainId=0),
                event(50, None, 71, "never closed", domainId=0),
                event(60, None, 76, "NCCL", domainId=3),
            ],
            RUNTIME: [call(70, 95, 1, 1)],
        },
    )
    assert capture.tables["spans"].select(
        "name", "category", "start_ns", "duration_ns", "depth", "step"
    ).rows() == [
        ("step 0", "push_pop", 10, 80, 0, 0),
        ("ncclAllReduce", "start_end NCCL", 20, 10, 1, 0),
        ("here", "mark", 40, 0, 1, 0),
        ("never closed", "start_end", 50, 45, 1, 0),
    ]
    assert capture.tables["spans"]["kind"].unique().to_list() == ["nvtx"]
    assert codes(capture) == {"open_ranges": 1}


def test_driver_calls_by_class_or_by_name(tmp_path: Path) -> None:
    names = strings("cuLaunchKernel", "cudaMalloc_v3020")
    calls = [
        call(0, 1, 1, 1) | {"eventClass": 1},
        call(2, 3, 1, 2) | {"eventClass": None},
        call(4, 5, 2, 0),
    ]
    capture = read_both_ways(tmp_path, {"StringIds": names, RUNTIME: calls})
    assert capture.tables["api_calls"].select(
        "source_api", "api", "kind", "correlation_id"
    ).rows() == [
        ("driver", "cuLaunchKernel", "kernel_launch", 1),
        ("driver", "cuLaunchKernel", "kernel_launch", 2),
        ("runtime", "cudaMalloc", "memory", None),
    ]


def test_synchronizations(tmp_path: Path) -> None:
    """In nsys 2025.3, cudaStreamSynchronize has the code of a stream wait.

    Only that it has no event tells.
    """
    none = 2**32 - 1
    row = {"deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 1, "globalPid": packed(7)}
    rows = [
        row | {"start": 0, "end": 1, "syncType": 2, "eventId": none},
        row | {"start": 2, "end": 3, "syncType": 2, "eventId": 4},
        row
        | {
            "start": 4,
            "end": 5,
            "syncType": 4,
            "eventId": none,
            "streamId": none,
            "deviceId": none,
        },
        row | {"start": 6, "end": 7, "syncType": 9, "eventId": none},
    ]
    capture = read_both_ways(tmp_path, {SYNCHRONIZATION: rows, RUNTIME: [call(0, 10, 1, 2)]})
    assert capture.tables["synchronizations"].select("kind", "stream_id", "device_id").rows() == [
        ("stream", 7, 0),
        ("stream_wait", 7, 0),
        ("context", None, None),
        ("unknown", 7, 0),
    ]


def test_copy_codes(tmp_path: Path) -> None:
    row: Row = {
        "deviceId": 0,
        "contextId": 1,
        "streamId": 7,
        "correlationId": 1,
        "globalPid": packed(7),
        "bytes": 8,
    }
    kinds = [(0, 7, 7), (2, 2, 1), (3, 0, 3), (8, 2, 5), (9, 0, 0), (10, 2, 2), (99, None, None)]
    migrations = [
        (11, 4, 6),
        (11, 7, 7),
        (12, None, None),
        (13, 0, 2),
    ]  # of managed memory, whatever the ends say
    rows = [
        row
        | {
            "start": i,
            "end": i + 1,
            "copyKind": kind,
            "srcKind": source,
            "dstKind": destination,
        }
        for i, (kind, source, destination) in enumerate(kinds + migrations)
    ]
    capture = read_both_ways(tmp_path, {MEMCPY: rows})
    assert capture.tables["memcpys"].select(
        "direction", "source_memory", "destination_memory"
    ).rows() == [
        ("unknown", "unknown", "unknown"),
        ("d2h", "device", "pinned"),
        ("h2d", "pageable", "array"),
        ("d2d", "device", "device"),
        ("h2h", "pageable", "pageable"),
        ("p2p", "device", "device"),
        ("unknown", "unknown", "unknown"),
        ("h2d", "managed", "managed"),
        ("h2d", "managed", "managed"),
        ("d2h", "managed", "managed"),
        ("d2d", "managed", "managed"),
    ]


def test_clusters_graph_nodes_and_shared_memory(tmp_path: Path) -> None:
    plain: dict[str, Any] = {
        "clusterX": 1,
        "clusterY": 1,
        "clusterZ": 1,
        "staticSharedMemory": 16,
        "dynamicSharedMemory": 1024,
    }
    rows = [
        kernel(0, 1, 2, 1, **plain),
        kernel(2, 3, 2, 1, **plain | {"clusterX": 2, "graphNodeId": 5}),
    ]
    capture = read_both_ways(tmp_path, {KERNEL: rows, RUNTIME: [call(0, 1, 1, 1)]})
    columns = [
        "is_cluster_launch",
        "graph_node_id",
        "static_shared_bytes",
        "dynamic_shared_bytes",
        "shared_bytes",
    ]
    assert capture.tables["kernels"].select(columns).rows() == [
        (False, None, 16, 1024, 1040),
        (True, 5, 16, 1024, 1040),
    ]


def test_a_graph_recorded_whole_is_device_work(tmp_path: Path) -> None:
    """Two replays of graph 4 and one of a graph known by its instance alone.

    A kernel beside them overlaps by 10 ns.
    """
    graph = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": packed(7)}
    replays = [
        graph | {"start": 100, "end": 140, "correlationId": 1, "graphId": 4, "graphExecId": 9},
        graph | {"start": 200, "end": 230, "correlationId": 2, "graphId": 4, "graphExecId": 9},
        graph | {"start": 240, "end": 250, "correlationId": 99, "graphExecId": 5},
    ]
    tables: Tables = {
        "StringIds": strings("cudaGraphLaunch_v10000", "gemm", "cudaLaunchKernel_v7000"),
        RUNTIME: [call(80, 90, 1, 1), call(180, 190, 1, 2), call(120, 125, 3, 3)],
        KERNEL: [kernel(130, 160, 2, 3)],
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": replays,
    }
    capture = read_both_ways(tmp_path, tables)
    columns = [
        "name",
        "library",
        "primitive",
        "duration_ns",
        "link",
        "api_call_id",
        "stream_id",
        "grid_x",
        "block_x",
    ]
    assert capture.tables["kernels"].select(columns).rows() == [
        ("CUDA graph 4", "other", "fused", 40, "graph", 0, 7, None, None),
        ("gemm", "other", "gemm", 30, "launched", 1, 7, 1, 1),
        ("CUDA graph 4", "other", "fused", 30, "graph", 2, 7, None, None),
        ("CUDA graph 5", "other", "fused", 10, "unlinked", None, 7, None, None),
    ]
    assert capture.complete
    assert codes(capture) == {"graph_kernels_hidden": 3}
    trace = combine([capture])
    assert top_kernels(trace).select("name", "n_calls", "duration_total_ns").rows() == [
        ("CUDA graph 4", 2, 70),
        ("gemm", 1, 30),
        ("CUDA graph 5", 1, 10),
    ]
    assert time_breakdown(trace)["compute_ns"].sum() == 60 + 30 + 10
    assert layer_attribution(trace)["duration_total_ns"].sum() == 110
    assert kernel_grids(trace)["duration_total_ns"].sum() == 110


def test_a_graph_without_its_device_is_counted(tmp_path: Path) -> None:
    tables: Tables = {
        KERNEL: [kernel(0, 1, 2, 1)],
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [{"start": 5, "end": 9}],
    }
    capture = read_both_ways(tmp_path, tables)
    assert capture.tables["kernels"]["name"].to_list() == ["gemm"]
    assert codes(capture) == {"broken_rows": 1, "graph_kernels_hidden": 1}


def test_one_ordinal_for_two_gpus_is_renumbered(tmp_path: Path) -> None:
    """Processes that each see one of two GPUs both call it 0."""
    seen = [{"gpuId": 0, "cudaId": 0, "pid": 7}, {"gpuId": 1, "cudaId": 0, "pid": 9}]
    tables: Tables = {
        "TARGET_INFO_GPU": [gpu(0), gpu(1, "NVIDIA A100")],
        "TARGET_INFO_CUDA_DEVICE": seen,
        KERNEL: [kernel(0, 1, 2, 1, 7), kernel(2, 3, 2, 1, 9)],
    }
    with nsys.ranked_by("file"):
        capture = read_both_ways(tmp_path, tables)
    assert capture.tables["devices"].select("device_id", "name").rows() == [
        (0, "NVIDIA H200"),
        (1, "NVIDIA A100"),
    ]
    assert capture.tables["kernels"]["device_id"].to_list() == [0, 1]
    assert codes(capture)["devices_renumbered"] == 1


def test_an_ordinal_that_is_one_gpu_stays(tmp_path: Path) -> None:
    seen = [{"gpuId": 1, "cudaId": 0, "pid": 7}]
    tables: Tables = {
        "TARGET_INFO_GPU": [gpu(0), gpu(1)],
        "TARGET_INFO_CUDA_DEVICE": seen,
        KERNEL: [kernel(0, 1, 2, 1)],
    }
    capture = read_both_ways(tmp_path, tables)
    assert capture.tables["devices"]["device_id"].to_list() == [0]
    assert capture.tables["kernels"]["device_id"].to_list() == [0]


def test_gpu_metrics_become_counters(tmp_path: Path) -> None:
    kind = 0x12_3400_0001
    metrics = [{"typeId": kind, "metricId": 4, "metricName": "SMs Active [Throughput %]"}]
    samples = [{"timestamp": 200, "typeId": kind, "metricId": 4, "value": 80}]
    samples += [{"timestamp": 100, "typeId": kind, "metricId": 5, "value": 3}]
    capture = read_both_ways(tmp_path, {"GPU_METRICS": samples, "TARGET_INFO_GPU_METRICS": metrics})
    assert capture.tables["counters"].drop("kernel", "duration_ns").rows() == [
        ("unknown", None, 100, 3.0, 1),
        ("SMs Active [Throughput %]", "%", 200, 80.0, 1),
    ]


def test_names_that_are_no_utf_8_and_numbers_that_are_text(tmp_path: Path) -> None:
    names: list[Row] = [*NAMES, {"id": 5, "value": b"\xffname"}]
    rows = [kernel(0, 1, 5, 1)]
    assert read_both_ways(tmp_path, {"StringIds": names, KERNEL: rows}).tables["kernels"][
        "name"
    ].to_list() == ["�name"]
    export = tmp_path / "export.sqlite"
    with closing(sqlite3.connect(export)) as database:
        database.execute(f"INSERT INTO {KERNEL} (start, end, deviceId) VALUES ('soon', 9, 0)")  # noqa: S608
        database.commit()
    (capture,) = nsys.read(export)
    assert capture.tables["kernels"].height == 1
    assert codes(capture)["broken_rows"] == 1
    wanted: dict[str, DataType] = {"start": pl.Int64, "end": pl.Int64, "absent": pl.String}
    assert SqliteExport(export).frame(KERNEL, wanted).rows() == [(0, 1, None), (None, 9, None)]
    assert SqliteExport(export).frame(KERNEL, {"absent": pl.String}).height == 2


def test_losses_of_tables_add_up_and_name_the_calls(tmp_path: Path) -> None:
    tables = {
        "StringIds": NAMES,
        RUNTIME: [call(9, 1, 1, 1), call(0, 1, 1, 2)],
        KERNEL: [kernel(9, 1, 2, 1)] * 3,
    }
    capture = read_both_ways(tmp_path, tables)
    assert codes(capture)["broken_rows"] == 4
    assert RUNTIME in capture.diagnostics.texts["loss", "broken_rows"]
