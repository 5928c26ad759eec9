"""One small trace per generation and layout of the format; rows are read off it by eye."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fast_beside_slow import read_by_both  # noqa: F401 - a fixture of every test here
from tests.selection import only
from tests.torch_files import codes, kernel, read, rows, span, write
from tracelens.collectors import collect

OPS = ("name", "start_ns", "duration_ns", "kind")

# torch 1.8 to 1.11, as Kineto of 2021 writes it: whole microseconds since the epoch, thread ids as
# strings, steps as Operators, ids in lower case on device work, and negative figures where the
# device is not known.
OF_2021 = """
{"schemaVersion": 1, "traceEvents": [
  {
    "ph": "X", "cat": "Operator",
    "name": "ProfilerStep#10", "pid": 31383, "tid": "31383",
    "ts": 1635202069792000, "dur": 900,
    "args": {
      "Device": 31383, "External id": 1,
      "Trace name": "PyTorch Profiler", "Trace iteration": 0

    }
  },
  {
    "ph": "X", "cat": "Operator",
    "name": "aten::mm", "pid": 31383, "tid": "31383",
    "ts": 1635202069792100, "dur": 50,
    "args": {"Device": 31383, "External id": 4, "Input dims": [[2, 3], [3, 4]], "Fwd thread id": 0}
  },
  {
    "ph": "X", "cat": "Operator",
    "name": "aten::empty", "pid": 31383, "tid": "31383",
    "ts": 1635202069792110, "dur": 0,
    "args": {"Device": 31383, "External id": 5}
  },
  {
    "ph": "X", "cat": "Runtime",
    "name": "cudaLaunchKernel", "pid": 31383, "tid": "31383",
    "ts": 1635202069792120, "dur": 8,
    "args": {"cbid": 211, "correlation": 34, "external id": 4, "external ts": 1635202069792100}
  },
  {
    "ph": "s", "id": 34, "pid": 31383, "tid": 31383, "ts": 1635202069792120, "cat": "async", "name": "launch"
  },
  {
    "ph": "X", "cat": "Kernel",
    "name": "sgemm_128x128", "pid": 0, "tid": "stream 7",
    "ts": 1635202069792700, "dur": 4,
    "args": {
      "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": 34, "external id": 4,
      "registers per thread": 16,
      "shared memory": 0,
      "blocks per SM": -99,
      "warps per SM": -396,
      "grid": [99, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %": -1237
    }
  },
  {
    "ph": "X", "cat": "Memcpy",
    "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7",
    "ts": 1635202069792500, "dur": 10,
    "args": {"device": 0, "context": 1, "stream": 7, "correlation": 33, "bytes": 4096,
             "memory bandwidth (GB/s)": 0.4096}
  },
  {
    "ph": "X", "cat": "Memset",
    "name": "Memset (Device)", "pid": 0, "tid": "stream 7",
    "ts": 1635202069792600, "dur": 1,
    "args": {"device": 0, "context": 1, "stream": 7, "correlation": 35, "bytes": 16, "memory bandwidth (GB/s)": 0.016}
  }
]}
"""


def test_arguments_that_are_no_tensors_are_kept_but_for_text(tmp_path: Path) -> None:
    """The profiler writes them as Python spells them; text may be a secret."""
    inputs = [
        "",
        "[3, 3]",
        "False",
        "1e-05",
        "hf_token",
        "Infinity",
        '[1, "secret"]',
        '{"a": 1}',
        7,
        "[[1, 2], [3]]",
    ]
    inputs += ["[True, False]", "0.", "[1., 2.5]", "True story"]
    told = {"Input Strides": [[9, 3, 1], [], [[4, 1], [1]]], "Concrete Inputs": inputs}
    op = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::conv2d",
        "pid": 1,
        "tid": 1,
        "ts": 10,
        "dur": 5,
    }
    odd = {"Input Strides": {"a": "secret"}, "Concrete Inputs": "secret"}
    events = [op | {"args": told}, op | {"ts": 20, "args": odd}, op | {"ts": 30}]
    capture = read(write(tmp_path / "t.json", json.dumps({"traceEvents": events})))
    assert rows(capture, "spans", "input_strides", "concrete_inputs") == [
        (
            "[[9, 3, 1], [], [[4, 1], [1]]]",
            (
                "[null, [3, 3], false, 1e-05, null, null, null, null, 7, [[1, 2], [3]], [true,"
                " false], 0.0, [1.0, 2.5], null]"
            ),
        ),
        (None, None),
        (None, None),
    ]


def test_a_trace_of_2021(tmp_path: Path) -> None:
    capture = read(write(tmp_path / "old.pt.trace.json", OF_2021))
    epoch = 1635202069792000000
    assert rows(capture, "spans", *OPS, "thread_id", "external_id", "step", "depth") == [
        ("ProfilerStep#10", epoch, 900_000, "annotation", 31383, 1, 10, 0),
        ("aten::mm", epoch + 100_000, 50_000, "op", 31383, 4, 10, 1),
        ("aten::empty", epoch + 110_000, 0, "op", 31383, 5, 10, 2),
    ]
    assert rows(capture, "spans", "input_shapes") == [(None,), ("[[2, 3], [3, 4]]",), (None,)]
    assert rows(
        capture, "api_calls", "api", "kind", "source_api", "correlation_id", "span_id", "step"
    ) == [("cudaLaunchKernel", "kernel_launch", "runtime", 34, 1, 10)]
    assert rows(
        capture,
        "kernels",
        "name",
        "start_ns",
        "device_id",
        "stream_id",
        "link",
        "api_call_id",
        "step",
    ) == [("sgemm_128x128", epoch + 700_000, 0, 7, "launched", 0, 10)]
    launch = (
        "grid_x",
        "block_x",
        "registers_per_thread",
        "grid_blocks_per_sm",
        "estimated_occupancy_frac",
    )
    assert rows(capture, "kernels", *launch) == [(99, 128, 16, None, None)]
    assert rows(
        capture, "memcpys", "direction", "source_memory", "destination_memory", "size_bytes", "link"
    ) == [("h2d", "pageable", "device", 4096, "pre_window")]
    assert rows(capture, "memsets", "size_bytes", "memory", "link") == [(16, "device", "unlinked")]
    assert (capture.time_base, capture.time_precision_ns, capture.complete) == (
        "unix_epoch",
        1000,
        True,
    )
    assert capture.versions == {"schemaVersion": "1"}


def test_a_stream_only_named_by_its_track(tmp_path: Path) -> None:
    event = {
        "ph": "X",
        "cat": "Kernel",
        "name": "k",
        "pid": 2,
        "tid": "stream 13",
        "ts": 5,
        "dur": 1,
    }
    assert rows(read(write(tmp_path / "t.json", [event])), "kernels", "device_id", "stream_id") == [
        (2, 13)
    ]


def test_a_bare_list_is_a_trace(tmp_path: Path) -> None:
    capture = read(write(tmp_path / "t.json", json.dumps([span("a", 1, 5), span("b", 2, 1)])))
    assert rows(capture, "spans", *OPS) == [("a", 1000, 5000, "op"), ("b", 2000, 1000, "op")]
    assert capture.complete
    assert (capture.rank, capture.time_base) == (None, "trace_start")


def test_three_decimals_of_2024_03(tmp_path: Path) -> None:
    event = (
        '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1711929600000000.250,'
        ' "dur": 3.125}'
    )
    capture = read(write(tmp_path / "t.json", f'{{"traceEvents": [{event}]}}'))
    assert rows(capture, "spans", *OPS) == [("a", 1711929600000000250, 3125, "op")]
    assert (capture.time_base, capture.time_precision_ns) == ("unix_epoch", 1)


def test_relative_to_the_base_of_2024_05(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.json",
        [span("a", 4381137596036.065, 2.5)],
        baseTimeNanoseconds=1790857026000000000,
    )
    capture = read(path)
    # 1790857026 s + 4381137.596036065 s
    assert rows(capture, "spans", *OPS) == [("a", 1795238163596036065, 2500, "op")]
    assert capture.time_base == "unix_epoch"


def test_display_unit_never_scales(tmp_path: Path) -> None:
    for unit in ("ms", "ns"):
        path = write(tmp_path / "t.json", [span("a", 7, 2)], displayTimeUnit=unit)
        assert rows(read(path), "spans", *OPS) == [("a", 7000, 2000, "op")]


SCALARS_AFTER = """{"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 7, "ts": 1.5, "dur": 1, "args": {"device": 1}}
],
"traceName": "/home/alice/t.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1000,
"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4},
"deviceProperties": [
  {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "numSms": 108},
  {"id": 1, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "numSms": 108}
]}"""


def test_facts_may_follow_the_events(tmp_path: Path) -> None:
    capture = read(write(tmp_path / "t.json", SCALARS_AFTER))
    assert rows(capture, "kernels", "start_ns") == [(2500,)]
    assert (capture.rank, capture.rank_origin, capture.complete) == (3, "distributedInfo", True)
    # Both of them: the list of devices looks like a list of events, and must not be taken for one.
    assert rows(capture, "devices", "device_id", "sm_count", "compute_capability") == [
        (0, 108, "8.0"),
        (1, 108, "8.0"),
    ]
    assert codes(capture) == {}


CLASSIC = """
{
  "schemaVersion": 1,
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 7, "tid": 8,
    "ts": 100.500, "dur": 20.250,
    "args": {
      "External id": 2,"Record function id": 0, "Input Dims": [[1, 2]], "Input type": ["float"], "Ev Idx": 1
    }
  },
  {
    "ph": "f", "id": 1, "pid": 7, "tid": 8, "ts": 100.500,
    "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::clamp_min", "pid": 7, "tid": 8,
    "ts": 104.000, "dur": 10.000,
    "args": {
      "External id": 3,"Record function id": 0, "Ev Idx": 2
    }
  }
  ],
  "traceName": "t.json"
}
"""
# torch 2.13: a field a line, and the comma between events on a line of its own.
FIELD_A_LINE = """{
  "schemaVersion": 1
  ,
  "traceEvents": [
  {
    "ph": "X"
    ,
    "cat": "cpu_op"
    ,
    "name": "aten::relu"
    ,
    "pid": 7,
    "tid": 8,
    "ts": 100.500,
    "dur": 20.250,
    "args": {
      "External id": 2,
      "Input Dims": [[1, 2]],
      "Input type": ["float"]
    }
  }
  ,
  {
    "ph": "f",
    "id": 1,
    "pid": 7, "tid": 8, "ts": 100.500,
    "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"
  }
  ,
  {
    "ph": "X",
    "cat": "cpu_op",
    "name": "aten::clamp_min",
    "pid": 7,
    "tid": 8,
    "ts": 104.000,
    "dur": 10.000,
    "args": {
      "External id": 3
    }
  }
  ]
  ,
  "host_name": "box17.example.org"
}"""
LAYOUTS = {
    "classic": CLASSIC,
    "field a line": FIELD_A_LINE,
    "indented": json.dumps(json.loads(CLASSIC), indent=4),
    "compact": json.dumps(json.loads(CLASSIC), separators=(",", ":")),
    "sorted keys": json.dumps(json.loads(CLASSIC), sort_keys=True),
    "with a byte order mark": "\ufeff" + CLASSIC.strip(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("suffix", only([".json"], [".json", ".json.gz"]))
def test_every_layout_reads_the_same(tmp_path: Path, layout: str, suffix: str) -> None:
    capture = read(write(tmp_path / f"t{suffix}", LAYOUTS[layout]))
    assert rows(
        capture,
        "spans",
        *OPS,
        "process_id",
        "thread_id",
        "external_id",
        "input_shapes",
        "input_dtypes",
    ) == [
        ("aten::relu", 100500, 20250, "op", 7, 8, 2, "[[1, 2]]", '["float"]'),
        ("aten::clamp_min", 104000, 10000, "op", 7, 8, 3, None, None),
    ]
    assert rows(capture, "spans", "parent_id", "self_ns") == [(None, 10250), (0, 10000)]
    assert capture.complete
    assert codes(capture) == {}


@pytest.mark.parametrize("block_bytes", only([64], [64, 300, 1 << 20]))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_may_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, block_bytes: int
) -> None:
    monkeypatch.setattr("tracelens.collectors.torch.stream.READ_BYTES", block_bytes)
    capture = read(write(tmp_path / "t.json", LAYOUTS[layout]))
    assert [name for (name,) in rows(capture, "spans", "name")] == ["aten::relu", "aten::clamp_min"]
    assert capture.complete


def test_memory_counters_syncs_and_unknown_categories(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 1,
            "tid": 1,
            "ts": 5.5,
            "s": "t",
            "args": {
                "Total Reserved": 100,
                "Total Allocated": 60,
                "Bytes": -40,
                "Addr": 7,
                "Device Id": 0,
                "Device Type": 1,
            },
        },
        {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 1,
            "tid": 1,
            "ts": 6,
            "s": "t",
            "args": {"Bytes": 8, "Addr": 8, "Device Id": -1, "Device Type": 0},
        },
        {"ph": "C", "name": "sm__cycles", "pid": 0, "tid": 0, "ts": 7, "args": {"value": 12.5}},
        {
            "ph": "C",
            "name": "other",
            "pid": 0,
            "tid": 0,
            "ts": 8,
            "args": {"a": 1, "b": 2, "unit": "W"},
        },
        {
            "ph": "C",
            "name": "named",
            "pid": 0,
            "tid": 0,
            "ts": 9,
            "args": {"value": 3, "peak": "4.5"},
        },
        {"ph": "C", "name": "empty", "pid": 0, "tid": 0, "ts": 9, "args": {"unit": "W"}},
        span(
            "Stream Wait Event",
            9,
            1,
            cat="cuda_sync",
            pid=0,
            tid=-1,
            args={
                "cuda_sync_kind": "Stream Wait Event",
                "stream": 4294967295,
                "correlation": 9,
                "device": 0,
            },
        ),
        span("ProfilerStep#1", 1, 20, cat="gpu_user_annotation"),
        span("graph", 1, 20, cat="mtia_insight"),
        {"ph": "B", "name": "begin", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1},
    ]
    capture = read(write(tmp_path / "t.json", events))
    allocation = ("time_ns", "size_bytes", "allocated_bytes", "reserved_bytes", "device_id")
    assert rows(capture, "allocations", *allocation) == [
        (5500, -40, 60, 100, 0),
        (6000, 8, None, None, None),
    ]
    assert rows(capture, "counters", "name", "time_ns", "value") == [
        ("sm__cycles", 7000, 12.5),
        ("other a", 8000, 1),
        ("other b", 8000, 2),
        ("named", 9000, 3),
        ("named peak", 9000, 4.5),
    ]
    assert rows(capture, "synchronizations", "kind", "device_id", "stream_id") == [
        ("stream_wait", 0, None)
    ]
    assert codes(capture) == {
        "counter_without_value": 1,
        "category_gpu_user_annotation": 1,
        "category_mtia_insight": 1,
        "category_cpu_op (ph B)": 1,
    }


def test_counters_of_a_kernel(tmp_path: Path) -> None:
    """A range of CUPTI's profiler is a kernel, and its args are the counters during it."""
    told = {"smsp__inst_executed.sum": 1024, "dram__bytes.sum": 2.5}
    events = [
        span("aten::mm", 1, 9),
        span("gemm", 5.5, 2, cat="cuda_profiler_range", pid=1, tid=0, args=told),
        span(
            "relu",
            8,
            1,
            cat="cuda_profiler_range",
            pid=1,
            tid=0,
            args={"smsp__inst_executed.sum": "32", "n": "x"},
        ),
        span("bare", 9, 1, cat="cuda_profiler_range", pid=1, tid=0),
        {"ph": "C", "name": "power", "pid": 0, "tid": 0, "ts": 7, "args": {"kernel": 1.0}},
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(
        capture, "counters", "name", "time_ns", "value", "device_id", "kernel", "duration_ns"
    ) == [
        ("smsp__inst_executed.sum", 5500, 1024, 1, "gemm", 2000),
        ("dram__bytes.sum", 5500, 2.5, 1, "gemm", 2000),
        ("power kernel", 7000, 1, None, None, None),
        ("smsp__inst_executed.sum", 8000, 32, 1, "relu", 1000),
    ]
    assert codes(capture) == {"counter_without_value": 1}


def test_what_nccl_tells_of_a_collective(tmp_path: Path) -> None:
    told = {
        "device": 0,
        "stream": 20,
        "Collective name": "allreduce",
        "dtype": "BFloat16",
        "Group size": 8,
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "In msg nelems": 10,
        "Out msg nelems": 10,
    }
    events = [kernel("later", 9, 1, 1), kernel("ncclDevKernel_AllReduce_Sum", 5, 2, 2, args=told)]
    capture = read(write(tmp_path / "t.json", events))
    wanted = (
        "kernel_id",
        "name",
        "group",
        "group_size",
        "dtype",
        "size_in_bytes",
        "size_out_bytes",
    )
    assert rows(capture, "collectives", *wanted) == [
        (0, "allreduce", "default_pg", 8, "BFloat16", 20, 20)
    ]
    assert rows(capture, "kernels", "name", "library", "is_communication")[0] == (
        "ncclDevKernel_AllReduce_Sum",
        "nccl",
        True,
    )


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    content = gzip.compress(CLASSIC.encode()) if packed else CLASSIC.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    trace = collect(Path("-"))
    assert trace.name == "standard input"
    assert [name for (name,) in rows(trace, "spans", "name")] == ["aten::relu", "aten::clamp_min"]
    assert trace.manifest.sources[0]["size_bytes"] == len(content)


def test_gzip_in_several_members(tmp_path: Path) -> None:
    half = len(CLASSIC) // 2
    packed = gzip.compress(CLASSIC[:half].encode()) + gzip.compress(CLASSIC[half:].encode())
    path = tmp_path / "t.json.gz"
    path.write_bytes(packed)
    capture = read(path)
    assert len(rows(capture, "spans", "name")) == 2
    assert capture.complete
