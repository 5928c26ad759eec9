"""Traces of jax.profiler."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tracelens.errors import SourceError
from tracelens.report import build_report
from tracelens.trace.sources import sources_of

SAMPLE = Path(__file__).parents[1] / "samples" / "jax" / "perceptron.trace.json.gz"
DETAILS = "regs:32 static_shared:1024 dynamic_shared:16384 grid:2,3,1 block:32,4,1 occ_pct:50"
HOST, GPU, TPU, PYTHON, STREAM, BY_MODULE = 701, 1, 9, 11, 7, 8


def named(pid: int, name: str, tid: int | None = None) -> dict[str, Any]:
    """Return the event that names a process, or one of its threads."""
    about = {"ph": "M", "pid": pid, "name": "thread_name" if tid else "process_name"}
    return about | ({"tid": tid} if tid else {}) | {"args": {"name": name}}


def event(
    pid: int, tid: int, name: str, start_us: float, us: float, /, **args: str
) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "name": name,
        "ts": start_us,
        "dur": us,
        "args": args,
    }


# A launch of one kernel, a replay of two, a copy and a fill; then what their device shows again.
EVENTS = [
    named(HOST, "/host:CPU"),
    named(HOST, "python", PYTHON),
    named(GPU, "/device:GPU:0"),
    named(GPU, "Stream #13(Compute,MemcpyH2D)", STREAM),
    named(GPU, "XLA Modules", BY_MODULE),
    event(HOST, PYTHON, "train", 0, 50, step_num="0"),
    event(HOST, PYTHON, "train", 50, 50, step_num="1"),
    event(HOST, PYTHON, "$train.py:3 main", 1, 40),
    event(HOST, PYTHON, "cuLaunchKernel", 10, 2, correlation_id="5"),
    event(HOST, PYTHON, "cuGraphLaunch", 14, 1, correlation_id="6"),
    event(HOST, PYTHON, "cuMemcpyHtoDAsync_v2", 16, 1, correlation_id="7"),
    event(
        GPU,
        STREAM,
        "loop_fusion_1",
        20,
        8.125,
        correlation_id="5",
        hlo_op="loop_fusion.1",
        hlo_module="jit_step",
        name="jit(step)/layer1/tanh",
        kernel_details=DETAILS,
    ),
    event(GPU, STREAM, "gemm", 30, 4, correlation_id="6", hlo_op="dot.2", hlo_module="jit_step"),
    event(GPU, STREAM, "add_3", 34, 1, correlation_id="6", hlo_op="add.3", hlo_module="jit_step"),
    event(
        GPU,
        STREAM,
        "MemcpyH2D",
        36,
        2,
        correlation_id="7",
        memcpy_details="kind_src:pinned kind_dst:device size:4096 dest:0 async:1",
    ),
    event(GPU, STREAM, "Memset", 39, 1, Memset_details="kind:device num_bytes:256 async:1"),
    event(GPU, BY_MODULE, "jit_step", 20, 15),
    {},
]


def written(path: Path, events: list[dict[str, Any]], metadata: str = "highres-ticks") -> Path:
    content = {"displayTimeUnit": "ns", "metadata": {metadata: True}, "traceEvents": events}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> tl.Trace:
    return tl.collect(written(tmp_path / "plugins/profile/1/vm.trace.json.gz", EVENTS))


def test_what_streams_ran_is_read_once(trace: tl.Trace) -> None:
    columns = ("name", "start_ns", "duration_ns", "device_id", "stream_id")
    assert trace.kernels.select(columns).rows() == [
        ("loop_fusion_1", 20_000, 8_125, 0, 13),
        ("gemm", 30_000, 4_000, 0, 13),
        ("add_3", 34_000, 1_000, 0, 13),
    ]
    shape = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "registers_per_thread")
    shared = ("static_shared_bytes", "dynamic_shared_bytes", "shared_bytes")
    assert trace.kernels.select(*shape, *shared).rows() == [
        (2, 3, 1, 32, 4, 32, 1024, 16384, 17408),
        *[(None,) * 9] * 2,
    ]
    about = ("direction", "source_memory", "destination_memory", "size_bytes", "duration_ns")
    assert trace.memcpys.select(about).rows() == [("h2d", "pinned", "device", 4096, 2_000)]
    assert trace.memsets.select("size_bytes", "duration_ns").rows() == [(256, 1_000)]


def test_kernels_are_linked_to_calls_ops_and_steps(trace: tl.Trace) -> None:
    assert trace.api_calls.select("api", "source_api", "step").rows() == [
        ("cuLaunchKernel", "driver", 0),
        ("cuGraphLaunch", "driver", 0),
        ("cuMemcpyHtoDAsync_v2", "driver", 0),
    ]
    assert trace.kernels["api_call_id"].to_list() == [0, 1, 1]
    ops = trace.spans.filter(kind="op").select("name", "module_path", "start_ns", "duration_ns")
    assert ops.rows() == [
        ("loop_fusion.1", "jit(step)/layer1", 10_000, 2_000),
        ("jit_step", "jit_step", 14_000, 1_000),  # a graph of two ops: what they have in common
    ]
    assert trace.kernels["step"].to_list() == [0, 0, 0]
    assert trace.steps.select("step", "name").rows() == [(0, "step 0"), (1, "step 1")]
    python = trace.spans.filter(kind="python")
    assert python["name"].to_list() == ["train.py:3 main"]


def test_layers_are_named_scopes(trace: tl.Trace) -> None:
    layers = tl.analyses.layer_attribution(trace).select("layer", "duration_total_ns")
    assert sorted(layers.rows()) == [
        ("(pre-window)", 0),
        ("(unattributed)", 0),
        ("jit(step)/layer1", 8_125),
        ("jit_step", 5_000),
    ]


def test_no_torch_option_is_asked_for_where_layers_are_known(trace: tl.Trace) -> None:
    for name in ("layer_attribution", "layer_host_time"):
        (section,) = build_report(trace, None, [name]).sections
        assert not any("layers are unknown" in note for note in section.notes)


def test_a_folder_has_the_latest_run(tmp_path: Path) -> None:
    for run in ("2026_01_02", "2026_01_10"):
        for host in ("a", "b"):
            written(tmp_path / f"plugins/profile/{run}/{host}.trace.json.gz", EVENTS)
    found = [(c.kind, path.parent.name, path.name) for c, path in sources_of([tmp_path])]
    assert found == [
        ("jax", "2026_01_10", "a.trace.json.gz"),
        ("jax", "2026_01_10", "b.trace.json.gz"),
    ]


def test_a_capture_of_the_cpu_says_what_its_file_says() -> None:
    """Counted in the file itself: events with hlo_op, and their microseconds."""
    events = json.loads(gzip.decompress(SAMPLE.read_bytes()))["traceEvents"]
    expected: dict[str, float] = {}
    for one in events:
        if op := one.get("args", {}).get("hlo_op"):
            expected[op] = expected.get(op, 0.0) + one["dur"]
    trace = tl.collect(SAMPLE)
    ops = tl.analyses.top_ops(trace)
    assert dict(ops.select("name", "duration_total_ns").iter_rows()) == pytest.approx(
        {name: round(us * 1000) for name, us in expected.items()}, abs=4
    )
    assert trace.steps["name"].to_list() == [f"step {n}" for n in range(4)]
    layers = tl.analyses.layer_host_time(trace)
    assert layers["layer"].unique().to_list() == ["jit_loss"]
    (sleep,) = trace.spans.filter(name="sleeping").select("kind", "step").rows()
    assert sleep == ("annotation", 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b'{"metadata":{"highres-ticks":true},"traceEvents":[{"name":"/host:CPU"}', mtime=0)[:-9],
         "damaged or ends early"),
        (b'{"metadata":{"highres-ticks":true},"traceEvents":[{"name":"/host:CPU","ts":"x"}]}',
         "damaged or ends early"),
        (b'{"metadata":{"highres-ticks":true},"traceEvents":[{"name":"/host:CPU"}]}',
         "profile some steps"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_what_to_do(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "vm.trace.json.gz"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        tl.collect(path, kind="jax")


def test_xplane_alone_names_the_file_to_take(tmp_path: Path) -> None:
    (tmp_path / "vm.xplane.pb").write_bytes(b"\n\x01")
    with pytest.raises(SourceError, match=r"take the \.trace\.json\.gz"):
        tl.collect(tmp_path / "vm.xplane.pb")


def test_a_tpus_work_is_counted_as_lost(tmp_path: Path) -> None:
    tpu = [named(TPU, "/device:TPU:0"), event(TPU, 3, "fusion.1", 1, 2)]
    trace = tl.collect(written(tmp_path / "vm.trace.json.gz", [*EVENTS, *tpu]))
    lost = trace.diagnostics.filter(severity="loss").select("code", "count")
    assert lost.rows() == [("device_unknown", 1)]


def test_a_trace_of_chrome_is_none_of_jax(tmp_path: Path) -> None:
    others = [named(1, "Renderer"), event(1, 2, "paint", 0, 1)]
    path = written(tmp_path / "x.trace.json.gz", others)
    assert [collector.kind for collector, _ in sources_of([path])] == ["torch"]
