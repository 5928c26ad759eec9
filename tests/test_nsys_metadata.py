"""What an Nsight Systems export tells of itself: losses, versions, environment.

The latter must not get out.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import asdict

from tests.nsys_exports import (
    KERNEL,
    NAMES,
    RUNTIME,
    Row,
    call,
    codes,
    gpu,
    kernel,
    packed,
    read_both_ways,
    version,
    write,
)
from tracelens.collectors import nsys
from tracelens.collectors.nsys.metadata import scrub
from tracelens.errors import SourceError
from tracelens.trace.combine import combine


def test_what_is_lost_or_not_read_is_counted(tmp_path: Path) -> None:
    capture = read_both_ways(
        tmp_path,
        {
            RUNTIME: [call(0, 1, 1, 1), call(9, 5, 1, 2)],
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (
                [{"start": 0, "end": 1, "deviceId": 0, "graphId": 4}] * 3
            ),
            "CUDA_CALLCHAINS": [{"id": 1, "symbol": 1, "stackDepth": 0}] * 2,
            "OSRT_API": [{"start": 0, "end": 1}],
            "DIAGNOSTIC_EVENT": [
                {"severity": 1, "text": "Profiling has started."},
                {"severity": 2, "text": "Not all CUDA events might have been collected."},
                {
                    "severity": 3,
                    "text": "Cannot open /home/somebody/report.qdstrm for SECRET=hunter2",
                },
            ],
        },
    )
    assert codes(capture) == {
        "broken_rows": 1,
        "graph_kernels_hidden": 3,
        "callchains_not_read": 2,
        "not_read_osrt_api": 1,
        "nsys_not_all_cuda_events_might_have": 1,
        "nsys_cannot_open_for": 1,
    }
    texts = capture.diagnostics.texts
    assert texts["error", "nsys_cannot_open_for"] == "nsys: Cannot open … for …"
    assert "--cuda-graph-trace=node" in texts["warning", "graph_kernels_hidden"]
    assert not capture.complete


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Number of events: \t15.", "Number of events: 15."),
        (
            "See --flush-on-cudaprofilerstop, or CudaProfilerStop().",
            "See --flush-on-cudaprofilerstop, or CudaProfilerStop().",
        ),
        ("Failed on gpu-node-7 for user@host at 10.1.2.3:80", "Failed on … for … at …"),
        ('File "my notes" is gone', "File … is gone"),
        ("PATH=/bin\0HOME=/root", "…"),
        ("fine\nHOME=/root", "fine"),
        ("Profiling on tower failed", "Profiling on … failed"),
    ],
)
def test_messages_keep_plain_words_only(message: str, expected: str) -> None:
    assert scrub(message, frozenset({"tower"})) == expected


def test_the_environment_never_leaves_the_export(tmp_path: Path) -> None:
    """Secrets wherever nsys is known to put the environment, next to names that are wanted."""
    secret = "API_KEY=hunter2"  # noqa: S105
    capture = read_both_ways(
        tmp_path,
        {
            "StringIds": [*NAMES, {"id": 90, "value": f"HOME=/home/hunter2\0{secret}\0"}],
            "META_DATA_CAPTURE": [
                {"name": "PROCESS_0:ENVIRONMENT", "value": secret},
                {"name": "CAPTURE_EVENT_TYPE", "value": "Cuda"},
                {"name": "CAPTURE_EVENT_TYPE", "value": secret},
                {"name": "PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "value": "Node"},
                {"name": "DEVICE_DISPLAY_NAME", "value": "hunter2"},
            ],
            "TARGET_INFO_SYSTEM_ENV": [
                {"name": "NvDriverVersion", "value": "580.1"},
                {"name": "Hostname", "value": "hunter2"},
                {"name": "API_KEY", "value": "hunter2"},
            ],
            "META_DATA_EXPORT": [
                *version("3.20.3"),
                {"name": "EXPORT_PRODUCT_VERSION", "value": secret},
            ],
            "DIAGNOSTIC_EVENT": [{"severity": 2, "text": f"started on hunter2 with {secret}"}],
            "PROCESSES": [{"globalPid": packed(7), "pid": 7, "name": "/home/hunter2/python"}],
            RUNTIME: [call(0, 10, 1, 1)],
            KERNEL: [kernel(20, 30, 2, 1)],
        },
    )
    assert capture.settings == {"traced": ["Cuda"], "cuda_graph_trace": "node"}
    assert capture.versions == {"nsys_schema": "3.20.3", "driver": "580.1"}
    told = {key: value for key, value in asdict(capture).items() if key != "tables"}
    everything = [repr(told), *(frame.write_json() for frame in capture.tables.values())]
    assert not [text for text in everything if "hunter2" in text]
    written = combine([capture]).write(tmp_path / "run.tracelens")
    assert written.path is not None
    files = [file for file in written.path.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if b"hunter2" in file.read_bytes()]


def test_a_newer_schema_is_read_with_a_warning(tmp_path: Path) -> None:
    meta = [
        {"name": "EXPORT_SCHEMA_VERSION_MAJOR", "value": "4"},
        {"name": "EXPORT_SCHEMA_VERSION_MINOR", "value": "1"},
    ]
    capture = read_both_ways(
        tmp_path, {"META_DATA_EXPORT": meta, RUNTIME: [call(0, 1, 1, 1) | {"novelty": 1}]}
    )
    assert capture.tables["api_calls"].height == 1
    assert codes(capture) == {"schema_newer": 1}


@pytest.mark.parametrize("table", ["META_DATA_EXPORT", "EXPORT_META_DATA"])
def test_versions_are_read_whatever_their_table_is_called(tmp_path: Path, table: str) -> None:
    meta = [*version("2.9.0"), {"name": "EXPORT_PRODUCT_VERSION", "value": "2022.1.1.61"}]
    export = write(
        tmp_path / "export.sqlite", {"StringIds": NAMES, table: meta, RUNTIME: [call(0, 1, 1, 1)]}
    )
    (capture,) = nsys.read(export)
    assert capture.versions == {"nsys": "2022.1.1.61", "nsys_schema": "2.9.0"}
    assert codes(capture) == {}


@pytest.mark.parametrize(
    ("told", "code"), [([], "schema_unknown"), (version("2.1.0"), "schema_older")]
)
def test_an_older_or_unknown_schema_is_read_with_a_warning(
    tmp_path: Path, told: list[Row], code: str
) -> None:
    meta = [*told, {"name": "EXPORT_ARCH", "value": "x64"}]
    capture = read_both_ways(tmp_path, {"META_DATA_EXPORT": meta, RUNTIME: [call(0, 1, 1, 1)]})
    assert codes(capture) == {code: 1}


def test_a_missing_needed_column_is_refused(tmp_path: Path) -> None:
    row = {
        name: value
        for name, value in kernel(0, 1, 2, 1).items()
        if name not in {"end", "demangledName"}
    }
    with pytest.raises(
        SourceError, match="expected the columns end, demangledName in CUPTI_ACTIVITY_KIND_KERNEL"
    ):
        read_both_ways(tmp_path, {KERNEL: [row | {"endNs": 4}]})


def test_an_export_without_events_says_why_it_is_empty(tmp_path: Path) -> None:
    capture = read_both_ways(tmp_path, {"TARGET_INFO_GPU": [gpu(0)]})
    assert set(capture.tables) == {"devices"}
    assert "nsys profile -t cuda" in capture.reasons["kernels"]
