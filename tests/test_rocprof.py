"""Captures of rocprofv3, made by hand after its public sources: JSON and rocpd hold the same."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tracelens.errors import SourceError
from tracelens.trace.sources import detect

HOST, FIRST, SECOND = 7000, 7001, 7002
KINDS = [
    ("NONE", ["NONE"]),
    ("HIP_RUNTIME_API", ["hipLaunchKernel", "hipMemcpyAsync"]),
    ("KERNEL_DISPATCH", ["NONE", "COMPLETE"]),
    ("MEMORY_COPY", ["NONE", "MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"]),
    ("MARKER_CORE_RANGE_API", ["roctxThreadRangeA"]),
    ("HSA_AMD_EXT_API", ["hsa_amd_memory_async_copy_on_engine"]),
]
HIP, DISPATCH, COPY, MARKER, HSA = range(1, 6)
GPU = {
    "name": "gfx942",
    "product_name": "AMD Instinct MI300X",
    "cu_count": 304,
    "wave_front_size": 64,
    "max_waves_per_cu": 32,
    "lds_size_in_kb": 64,
}

# One row each: kind, operation, correlation, start, end
CALLS = [(HIP, 0, 5, 100, 130), (HIP, 1, 6, 140, 190), (HIP, 0, 8, 300, 320)]
HSA_CALLS = [(HSA, 0, 7, 150, 160)]
RANGES = [(MARKER, 0, 4, 90, 200, "step 0"), (MARKER, 0, 9, 290, 400, "step 1")]
# A kernel of 1,000 by 9 work-items in groups of 256 by 4 is 4 by 3 blocks.
KERNELS = [
    (5, FIRST, 1, 120, 180, (1000, 9, 1), (256, 4, 1)),
    (8, SECOND, 2, 310, 390, (64, 1, 1), (64, 1, 1)),
]
COPIES = [(2, 7, HOST, FIRST, 4096, 155, 185), (1, 7, FIRST, HOST, 64, 186, 189)]
NAMES = {1: "void gemm<float>(float*)", 2: "relu"}


def record(kind: int, operation: int, correlation: int, start: int, end: int) -> dict[str, Any]:
    return {
        "size": 1,
        "kind": kind,
        "operation": operation,
        "thread_id": 71,
        "correlation_id": {"internal": correlation, "external": 0},
        "start_timestamp": start,
        "end_timestamp": end,
    }


def process() -> dict[str, Any]:
    """A process of rocprofv3's JSON."""
    sizes = [dict(zip("xyz", size, strict=True)) for kernel in KERNELS for size in kernel[5:]]
    dispatches = [
        record(DISPATCH, 1, correlation, start, end)
        | {
            "stream_id": {"handle": 3},
            "dispatch_info": {
                "agent_id": {"handle": agent},
                "queue_id": {"handle": 2**64 - 16},
                "kernel_id": kernel_id,
                "grid_size": sizes[2 * at],
                "workgroup_size": sizes[2 * at + 1],
                "group_segment_size": 512,
            },
        }
        for at, (correlation, agent, kernel_id, start, end, *_) in enumerate(KERNELS)
    ]
    copies = [
        record(COPY, operation, correlation, start, end)
        | {"src_agent_id": {"handle": source}, "dst_agent_id": {"handle": to}, "bytes": size}
        | {"stream_id": {"handle": 3}}
        for operation, correlation, source, to, size, start, end in COPIES
    ]
    return {
        "metadata": {"pid": 70, "environment": {"TOKEN": "secret"}, "node": {"hostname": "secret"}},
        "agents": [
            {"id": {"handle": HOST}, "type": 1, "logical_node_type_id": 0, "name": "EPYC"},
            {"id": {"handle": FIRST}, "type": 2, "logical_node_type_id": 0, **GPU},
            {"id": {"handle": SECOND}, "type": 2, "logical_node_type_id": 1, **GPU},
        ],
        "strings": {
            "buffer_records": [{"kind": kind, "operations": names} for kind, names in KINDS],
            "marker_api": [{"key": row[2], "value": row[5]} for row in RANGES],
        },
        "kernel_symbols": [
            {"kernel_id": 0},
            {"kernel_id": 1, "formatted_kernel_name": NAMES[1], "arch_vgpr_count": 16},
            {"kernel_id": 2, "formatted_kernel_name": NAMES[2], "arch_vgpr_count": 8},
        ],
        "buffer_records": {
            "kernel_dispatch": dispatches,
            "hip_api": [record(*row) for row in CALLS],
            "hsa_api": [record(*row) for row in HSA_CALLS],
            "marker_api": [record(*row[:5]) for row in RANGES],
            "memory_copy": copies,
        },
    }


def as_json(path: Path) -> Path:
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [process()]}, indent=1))
    return path


def as_rocpd(path: Path) -> Path:
    """The same as rocpd, with tables in the place of the views that are read."""
    ordinals = {FIRST: 0, SECOND: 1, HOST: 0}
    kinds = {HOST: "CPU", FIRST: "GPU", SECOND: "GPU"}
    text = [(kind, names) for kind, names in KINDS]
    regions = [
        (70, 71, text[kind][0], text[kind][1][operation], start, end, correlation, extdata)
        for kind, operation, correlation, start, end, extdata in (
            *((*row, "{}") for row in (*CALLS, *HSA_CALLS)),
            *((*row[:5], json.dumps({"message": row[5]})) for row in RANGES),
        )
    ]
    kernels = [
        (
            *("g", 70, NAMES[kernel_id], kernel_id, start, end, 3, correlation, ordinals[agent]),
            *(512, *grid, *group),
        )
        for correlation, agent, kernel_id, start, end, grid, group in KERNELS
    ]
    copies = [
        (
            *(70, text[COPY][1][operation], start, end, 3, correlation, size),
            *(kinds[to], ordinals[to], ordinals[source]),
        )
        for operation, correlation, source, to, size, start, end in COPIES
    ]
    with closing(sqlite3.connect(path)) as database:
        for name, columns, rows in (
            ("regions", 'pid, tid, category, name, start, "end", stack_id, extdata', regions),
            (
                "kernels",
                (
                    'guid, pid, name, kernel_id, start, "end", stream_id, stack_id,'
                    " agent_type_index, lds_size, grid_x, grid_y, grid_z,"
                    " workgroup_x, workgroup_y, workgroup_z"
                ),
                kernels,
            ),
            (
                "memory_copies",
                (
                    'pid, name, start, "end", stream_id, stack_id, size, dst_agent_type,'
                    " dst_agent_type_index, src_agent_type_index"
                ),
                copies,
            ),
            ("rocpd_info_kernel_symbol", "id, guid, arch_vgpr_count", [(1, "g", 16), (2, "g", 8)]),
            (
                "rocpd_info_agent",
                "pid, type, type_index, extdata",
                [(70, "CPU", 0, "{}"), *((70, "GPU", at, json.dumps(GPU)) for at in (0, 1))],
            ),
        ):
            database.execute(f"CREATE TABLE {name} ({columns})")
            places = ", ".join("?" * len(rows[0]))
            database.executemany(f"INSERT INTO {name} VALUES ({places})", rows)  # noqa: S608
        database.commit()
    return path


@pytest.fixture(params=[(as_json, "70_results.json"), (as_rocpd, "70_results.db")])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    write, name = request.param
    made: Path = write(tmp_path / name)
    return made


def test_kernels_have_blocks_and_the_device_that_ran_them(source: Path) -> None:
    kernels = tl.collect(source).kernels
    columns = ("name", "start_ns", "duration_ns", "device_id", "stream_id", "shared_bytes")
    assert kernels.select(columns).rows() == [
        (NAMES[1], 120, 60, 0, 3, 512),
        (NAMES[2], 310, 80, 1, 3, 512),
    ]
    shape = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "registers_per_thread")
    assert kernels.select(shape).rows() == [(4, 3, 1, 256, 4, 16), (1, 1, 1, 64, 1, 8)]


def test_work_is_linked_to_calls_and_steps(source: Path) -> None:
    trace = tl.collect(source)
    calls = trace.api_calls.select("api_call_id", "api", "source_api", "kind", "step")
    assert calls.select("api", "source_api", "step").rows() == [
        ("hipLaunchKernel", "runtime", 0),
        ("hipMemcpyAsync", "runtime", 0),
        ("hsa_amd_memory_async_copy_on_engine", "driver", 0),
        ("hipLaunchKernel", "runtime", 1),
    ]
    assert trace.kernels["api_call_id"].to_list() == [0, 3]
    assert trace.memcpys["api_call_id"].to_list() == [2, 2]
    assert trace.steps.select("step", "name").rows() == [(0, "step 0"), (1, "step 1")]


def test_copies_have_direction_and_bytes(source: Path) -> None:
    columns = ("direction", "source_memory", "destination_memory", "size_bytes", "device_id")
    assert tl.collect(source).memcpys.select(columns).rows() == [
        ("h2d", "unknown", "device", 4096, 0),
        ("d2h", "device", "unknown", 64, 0),
    ]


def test_devices_are_the_gpus(source: Path) -> None:
    columns = ("device_id", "name", "sm_count", "warp_size", "max_warps_per_sm")
    devices = tl.collect(source).frame("devices")
    assert devices.select(columns).rows() == [
        (0, "AMD Instinct MI300X", 304, 64, 32),
        (1, "AMD Instinct MI300X", 304, 64, 32),
    ]
    assert devices["shared_memory_per_sm_bytes"].to_list() == [65536, 65536]


def test_environment_and_host_enter_no_table(source: Path, tmp_path: Path) -> None:
    tl.collect(source).write(tmp_path / "made.tracelens")
    files = [file for file in (tmp_path / "made.tracelens").rglob("*") if file.is_file()]
    assert files
    assert not any(b"secret" in file.read_bytes() for file in files)


def test_processes_are_ranks(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    both = [process(), process() | {"metadata": {"pid": 80}}]
    path.write_text(json.dumps({"rocprofiler-sdk-tool": both}))
    assert tl.collect(path).manifest.ranks == [0, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"rocprofiler-sdk-tool": [{"agents"', "damaged or ends early"),
        ('{"rocprofiler-sdk-tool": [{"agents": 3}]}', "damaged or ends early"),
        ('{"rocprofiler-sdk-tool": []}', "expected kernels or HIP calls, found none"),
        ('{"rocprofiler-sdk-tool": [{}]}', "rocprofv3 --sys-trace --output-format json rocpd"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(content)
    assert detect(path) == "rocprof"
    with pytest.raises(SourceError, match=message):
        tl.collect(path)


def test_rows_without_a_time_are_counted(tmp_path: Path) -> None:
    path = as_rocpd(tmp_path / "x.db")
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE kernels SET start = NULL WHERE kernel_id = 1")
        database.execute('UPDATE regions SET "end" = 0 WHERE stack_id = 4')
        database.commit()
    trace = tl.collect(path)
    assert trace.kernels["name"].to_list() == [NAMES[2]]
    lost = trace.diagnostics.filter(severity="loss").select("code", "count").rows()
    assert lost == [("event_damaged", 2)]


def test_a_rocpd_file_without_its_views_says_so(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as database:
        database.execute("CREATE TABLE rocpd_metadata (tag, value)")
    with pytest.raises(SourceError, match="no such table: kernels"):
        tl.collect(tmp_path / "x.db")


def test_another_sqlite_file_is_left_to_nsys(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database:
        database.execute("CREATE TABLE StringIds (id, value)")
    assert detect(tmp_path / "x.sqlite") == "nsys"
