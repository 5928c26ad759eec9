"""Devices, copies and launches as CUDA and ROCm write them.

The expected rows are read off by eye.
"""

from pathlib import Path

import pytest

from tests.fast_beside_slow import read_by_both  # noqa: F401 - a fixture of every test here
from tests.torch_files import call, codes, kernel, read, rows, span, write

# Names and args as Kineto writes them with roctracer and rocprofiler-sdk: Host is neither pageable
# nor pinned, and the older name is HIP's own.
ROCM = [
    span("aten::copy_", 10, 90),
    call(
        "hipMemcpyWithStream",
        12,
        8,
        5,
        args={"cid": 1, "correlation": 5, "bytes": "4096", "kind": "1"},
    ),
    {
        "ph": "X",
        "cat": "gpu_memcpy",
        "name": "CopyHostToDevice",
        "pid": 2,
        "tid": 3,
        "ts": 20,
        "dur": 4,
        "args": {
            "device": 2,
            "stream": 3,
            "correlation": 5,
            "kind": "CopyHostToDevice",
            "bytes": 4096,
        },
    },
    call("hipMemcpyWithStream", 26, 2, 6),
    {
        "ph": "X",
        "cat": "gpu_memcpy",
        "name": "Memcpy DtoH (Device -> Host)",
        "pid": 2,
        "tid": 3,
        "ts": 30,
        "dur": 0,
        "args": {
            "device": 2,
            "stream": 3,
            "correlation": 6,
            "kind": "DtoH",
            "bytes": 64,
            "memory bandwidth (GB/s)": "N/A",
        },
    },
    call("hipLaunchKernel", 40, 5, 7),
    {
        "ph": "X",
        "cat": "kernel",
        "name": "Cijk_Ailk_Bljk_SB_MT64x64x16",
        "pid": 2,
        "tid": 3,
        "ts": 50,
        "dur": 9,
        "args": {
            "device": 2,
            "stream": 3,
            "correlation": 7,
            "kind": "Dispatch Kernel",
            "grid": [12, 1, 1],
            "block": [256, 1, 1],
        },
    },
    call("hipGraphLaunch", 60, 5, 8),
    {
        "ph": "X",
        "cat": "kernel",
        "name": "k",
        "pid": 2,
        "tid": 3,
        "ts": 70,
        "dur": 9,
        "args": {"device": 2, "stream": 3, "correlation": 8},
    },
]
MI300 = {
    "id": 2,
    "name": "AMD Instinct MI300X",
    "totalGlobalMem": 205822885888,
    "computeMajor": 9,
    "computeMinor": 4,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536,
    "warpSize": 64,
    "sharedMemPerBlock": 65536,
    "numSms": 304,
    "maxSharedMemoryPerMultiProcessor": 65536,
}


@pytest.mark.parametrize("name", ["AMD Instinct MI300X", ""])
def test_rocm(tmp_path: Path, name: str) -> None:
    capture = read(
        write(
            tmp_path / "t.json",
            ROCM,
            deviceProperties=[MI300 | {"name": name}],
            hip_runtime_version=6,
        )
    )
    assert rows(
        capture, "memcpys", "direction", "source_memory", "destination_memory", "size_bytes", "link"
    ) == [
        ("h2d", "unknown", "device", 4096, "launched"),
        ("d2h", "device", "unknown", 64, "launched"),
    ]
    assert rows(capture, "api_calls", "api", "kind", "span_id") == [
        ("hipMemcpyWithStream", "memcpy", 0),
        ("hipMemcpyWithStream", "memcpy", 0),
        ("hipLaunchKernel", "kernel_launch", 0),
        ("hipGraphLaunch", "graph_launch", 0),
    ]
    assert rows(capture, "kernels", "device_id", "stream_id", "link", "grid_x", "block_x") == [
        (2, 3, "launched", 12, 256),
        (2, 3, "graph", None, None),
    ]
    # 9.4 is gfx942, no compute capability: none of CUDA's limits may follow from it, so no waves
    # can be computed.
    wanted = (
        "compute_capability",
        "sm_count",
        "warp_size",
        "max_blocks_per_sm",
        "shared_memory_per_sm_bytes",
    )
    assert rows(capture, "devices", *wanted) == [(None, 304, 64, None, 65536)]
    assert capture.versions == {"hip_runtime_version": "6"}


COPIES = [
    ("Memcpy DtoH (Device -> Pinned)", ("d2h", "device", "pinned")),
    ("Memcpy PtoP (Device -> Device)", ("p2p", "device", "device")),
    ("Memcpy M2D (MEMORY(Unknown) -> DEVICE)", ("h2d", "unknown", "device")),
    ("Memcpy D2M", ("d2h", "device", "unknown")),
    ("Memcpy D2D (DEVICE -> DEVICE)", ("d2d", "device", "device")),
    ("Memcpy HtoH (Pageable -> Pinned)", ("h2h", "pageable", "pinned")),
    ("Memcpy HtoA (Pinned -> Array)", ("h2d", "pinned", "array")),
    ("Memcpy DtoD (Unified -> Device)", ("d2d", "managed", "device")),
    ("Memcpy HtoD (Managed -> Device)", ("h2d", "managed", "device")),
    ("Memcpy DtoH (Managed -> Pageable)", ("d2h", "managed", "pageable")),
    ("Memcpy HtoD (Managed Static -> Device)", ("h2d", "managed", "device")),
    ("Memcpy HtoD (Pageable -> Device Static)", ("h2d", "pageable", "device")),
    ("Memcpy HtoD (Host -> Managed)", ("h2d", "unknown", "managed")),
    ("CopyDeviceToDevice", ("d2d", "device", "device")),
    ("HostToDeviceCopy", ("h2d", "unknown", "device")),
    ("MEMORY_COPY_DEVICE_TO_HOST", ("d2h", "device", "unknown")),
    ("Memcpy ? (? -> ?)", ("unknown", "unknown", "unknown")),
]
"""Names of copies, with their direction and both memories."""


def test_directions_and_memory_kinds(tmp_path: Path) -> None:
    events = [
        kernel(name, n, 1, n, cat="gpu_memcpy", args={"bytes": 1})
        for n, (name, _) in enumerate(COPIES, 1)
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "memcpys", "direction", "source_memory", "destination_memory") == [
        expected for _, expected in COPIES
    ]


def test_events_of_other_makers(tmp_path: Path) -> None:
    """MTIA's device events are kernels.

    Host calls of Intel's and plug-in devices start kernels too, of the usual category.
    """
    submit = "runFunction - job_prep_and_submit_for_execution"
    events = [
        span("aten::mm", 10, 30),
        call(submit, 12, 5, 1, cat="mtia_runtime"),
        kernel("fbgemm::mm", 20, 9, 1, cat="mtia_ccp_events"),
        kernel("dma_copy", 30, 2, 9, cat="mtia_ccp_events"),
        kernel("hccl::all_reduce", 33, 2, 9, cat="mtia_ccp_events"),
        span("aten::add", 50, 40),
        call("urEnqueueKernelLaunch", 52, 5, 2, cat="xpu_runtime"),
        kernel("add", 60, 5, 2),
        call("zeCommandListAppendMemoryCopy", 62, 2, 3, cat="xpu_driver"),
        kernel(
            "Memcpy HtoD (Pinned -> Device)",
            66,
            2,
            3,
            cat="gpu_memcpy",
            args={"bytes": 8, "correlation": 3},
        ),
        call("Launch", 70, 5, 4, cat="privateuse1_runtime"),
        kernel("gemm", 76, 5, 4),
        call("urQueueFinish", 80, 5, 0, cat="xpu_runtime"),
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "api_calls", "api", "kind", "source_api", "span_id") == [
        (submit, "kernel_launch", "runtime", 0),
        ("urEnqueueKernelLaunch", "kernel_launch", "runtime", 1),
        ("zeCommandListAppendMemoryCopy", "memcpy", "driver", 1),
        ("Launch", "other", "runtime", 1),
        ("urQueueFinish", "sync", "runtime", 1),
    ]
    assert rows(
        capture, "kernels", "name", "primitive", "api_call_id", "span_id", "duration_ns"
    ) == [
        ("fbgemm::mm", "gemm", 0, 0, 9000),
        ("dma_copy", "memory", None, None, 2000),
        ("hccl::all_reduce", "communication", None, None, 2000),
        ("add", "elementwise", 1, 1, 5000),
        ("gemm", "gemm", 3, 1, 5000),
    ]
    assert rows(capture, "memcpys", "api_call_id", "size_bytes") == [(2, 8)]
    assert not [code for code in codes(capture) if code.startswith("category_")]


def test_a_category_that_is_not_read_is_a_loss(tmp_path: Path) -> None:
    names = ["mtia_insight", "mtia_workloadd", "collective_comm", "npu_kernel", "toplevel"]
    odd = [span("odd", 12, 5, cat=name) for name in names]
    capture = read(write(tmp_path / "t.json", [span("aten::mm", 10, 30), *odd]))
    found = capture.diagnostics.frame().select("severity", "code", "count").rows()
    assert sorted(found) == sorted(("loss", f"category_{name}", 1) for name in names)


@pytest.mark.parametrize("category", ["gpu_user_annotation", "Trace", "cuda_event"])
def test_a_category_that_repeats_what_is_read_is_none(tmp_path: Path, category: str) -> None:
    capture = read(
        write(tmp_path / "t.json", [span("aten::mm", 10, 30), span("odd", 12, 5, cat=category)])
    )
    assert capture.diagnostics.frame()["severity"].to_list() == ["info"]


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("Memset (Device)", "device"),
        ("Memset (Managed)", "managed"),
        ("Memset (Managed Static)", "managed"),
        ("Memset (Device Static)", "device"),
        ("Memset (Unknown)", None),
    ],
)
def test_memory_that_is_filled(tmp_path: Path, name: str, memory: str | None) -> None:
    event = kernel(name, 1, 1, 1, cat="gpu_memset", args={"bytes": 1})
    assert rows(read(write(tmp_path / "t.json", [event])), "memsets", "memory") == [(memory,)]


def test_devices_from_the_properties_and_from_the_kernels(tmp_path: Path) -> None:
    h200 = {
        "id": 0,
        "name": "NVIDIA H200",
        "totalGlobalMem": 150109880320,
        "computeMajor": 9,
        "computeMinor": 0,
        "maxThreadsPerMultiprocessor": 2048,
        "warpSize": 32,
        "numSms": 132,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerMultiprocessor": 233472,
    }
    on_gpu_1 = kernel("k", 1, 1, 1, args={"device": "cuda:1", "stream": 7})
    capture = read(
        write(
            tmp_path / "t.json", [on_gpu_1], deviceProperties=[h200, "no device", {"name": "no id"}]
        )
    )
    wanted = (
        "device_id",
        "name",
        "sm_count",
        "compute_capability",
        "max_warps_per_sm",
        "max_blocks_per_sm",
    )
    # 64 warps and 32 blocks an SM: CUDA C++ Programming Guide, technical specifications of 9.0.
    assert rows(capture, "devices", *wanted) == [
        (0, "NVIDIA H200", 132, "9.0", 64, 32),
        (1, "unknown", None, None, None, None),
    ]
    assert codes(capture)["device_unknown"] == 1


@pytest.mark.parametrize(
    ("described", "kernels_on", "devices"),
    [
        ((0,), (5,), [(5, "GPU 0")]),
        ((0,), (5, 5), [(5, "GPU 0")]),
        ((0,), (0,), [(0, "GPU 0")]),
        # Which of two is meant, nothing says.
        ((0,), (5, 6), [(0, "GPU 0"), (5, "unknown"), (6, "unknown")]),
        ((0, 1), (5,), [(0, "GPU 0"), (1, "GPU 1"), (5, "unknown")]),
        ((0,), (), [(0, "GPU 0")]),
    ],
)
def test_the_only_description_is_of_the_only_device(
    tmp_path: Path,
    described: tuple[int, ...],
    kernels_on: tuple[int, ...],
    devices: list[tuple[int, str]],
) -> None:
    """With one GPU visible, deviceProperties numbers it 0, kernels by its place in the machine."""
    kernels = [
        kernel("k", at, 1, at, args={"device": device, "stream": 7, "correlation": at})
        for at, device in enumerate(kernels_on, 1)
    ]
    events = [*kernels, span("aten::add", 0, 1)]
    properties = [MI300 | {"id": device, "name": f"GPU {device}"} for device in described]
    capture = read(write(tmp_path / "t.json", events, deviceProperties=properties))
    assert rows(capture, "devices", "device_id", "name") == devices
    renumbered = len(described) == 1 == len(set(kernels_on)) and set(described) != set(kernels_on)
    assert codes(capture).get("device_renumbered", 0) == renumbered


def test_a_device_that_is_no_number_falls_back_to_the_track(tmp_path: Path) -> None:
    odd = kernel("k", 1, 1, 1, args={"device": "GPU", "stream": "default"}, pid=3, tid=20)
    assert rows(read(write(tmp_path / "t.json", [odd])), "kernels", "device_id", "stream_id") == [
        (3, 20)
    ]


@pytest.mark.parametrize("category", ["mtia_runtime", "cuda_runtime"])
def test_mtia_waits_and_enclosing_events_are_no_kernels(tmp_path: Path, category: str) -> None:
    """A CUDA program may call its own kernel merge."""

    def event(name: str, ts: int, dur: int, stream: int) -> dict[str, object]:
        return kernel(
            name, ts, dur, ts, cat="mtia_ccp_events", args={"device": 0, "stream": stream}
        )

    events = [
        call("runFunction", 0, 5, 1, cat=category),
        event("merge", 10, 90, 9),
        event("fbgemm::mm", 10, 20, 7),
        event("event_wait", 30, 50, 7),
        event("fbgemm::mm", 80, 20, 7),
    ]
    capture = read(write(tmp_path / "t.json", events))
    names = [name for (name,) in rows(capture, "kernels", "name")]
    if category == "cuda_runtime":
        assert sorted(names) == ["event_wait", "fbgemm::mm", "fbgemm::mm", "merge"]
        return
    assert names == ["fbgemm::mm", "fbgemm::mm"]
    assert rows(capture, "synchronizations", "kind", "stream_id", "duration_ns") == [
        ("stream_wait", 7, 50_000)
    ]
    assert codes(capture)["enclosing_events"] == 1
