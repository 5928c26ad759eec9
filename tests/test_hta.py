"""The same H200 traces through Meta's Holistic Trace Analysis: same definitions, same numbers."""

import importlib
import logging
import math
import os
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests import hta_peer
from tests.cases import WHOLE, make_trace
from tests.hta_peer import parsed_by_hta
from tests.selection import every, only
from tests.sources import ALL_TRACES, collected, torch_events, torch_folder, torch_trace
from tests.torch_files import call, kernel, span, write
from tracelens.errors import MissingTableError, ToolError
from tracelens.schemas.results.replay import STRETCHES

pytest.importorskip("hta", reason="HTA is not installed; pip install traceinsight")

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning")]

EVERY = os.environ.get("TRACELENS_HTA") == "all"
DDP = "ddp_resnet50_2gpu"
ALIKE = (
    "resnet50_channels_last",
    "resnet50_torchscript",
    "resnet50_train_f32_pageable",
    "resnet50_train_f32_pinned",
)
"""Runs that differ from another one only in a layout, an element type or the kind of copies."""
ONE_RANK = [
    name for name in ALL_TRACES if not name.startswith("ddp") and (EVERY or name not in ALIKE)
]
TRITON = ["alexnet_inductor", "bert_inductor", "resnet50_inductor"]
CLOSE_US = 0.01
SMALL: tuple[str, ...] = ("alexnet_eager", "alexnet_inductor", "resnet50_cudagraph")
SOME = [*SMALL, DDP]
"""Traces that every run puts through HTA's analyses; TRACELENS_HTA=all takes an hour, and all
traces."""
if EVERY:
    SMALL, SOME = (*ONE_RANK, DDP), [*ONE_RANK, DDP]
every_trace = pytest.mark.parametrize("name", ONE_RANK)


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    """Silence HTA, which logs every file it reads."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True)
def _exact_times() -> Iterator[None]:
    """Have HTA keep nanoseconds in every test. No test may leave another setting behind."""
    with hta_peer.rounding(on=False):
        yield
        assert importlib.import_module("hta.configs.env_options").disable_ns_rounding()


@cache
def hta(name: str, *, last_step: bool = True) -> Any:
    """HTA's view of a trace, or of a folder of ranks, once a session, with its nanoseconds."""
    return parsed_by_hta(name, last_step=last_step)


def temporal(name: str, *, last_step: bool = True) -> list[dict[str, float]]:
    """HTA's temporal breakdown, in µs, a row a rank."""
    found = hta(name, last_step=last_step).get_temporal_breakdown(visualize=False)
    return [
        {key.removesuffix("(us)"): float(value) for key, value in row.items()}
        for row in found.to_dict("records")
    ]


def ours(trace: tl.Trace, rank: int = 0) -> dict[str, float]:
    """Our breakdown of the whole trace, in µs."""
    rows = tl.analyses.time_breakdown(trace).filter(WHOLE & (pl.col("rank") == rank))
    (row,) = rows.to_dicts()
    return {
        name: row[f"{name}_ns"] / 1000
        for name in ("window", "compute", "copy", "communication", "idle")
    } | {"exposed": (row["exposed_communication_ns"] + row["exposed_copy_ns"]) / 1000}


@pytest.mark.parametrize("name", every(3, [name for name in ONE_RANK if name not in TRITON]))
def test_temporal_breakdown(name: str) -> None:
    (theirs,), we = temporal(name), ours(torch_trace(name))
    assert we["idle"] == pytest.approx(theirs["idle_time"], abs=CLOSE_US)
    assert we["compute"] == pytest.approx(theirs["compute_time"], abs=CLOSE_US)
    assert we["exposed"] == pytest.approx(theirs["non_compute_time"], abs=CLOSE_US)
    assert we["window"] == pytest.approx(theirs["kernel_time"], abs=CLOSE_US)


@pytest.mark.parametrize(
    "name", every(3, ["alexnet_eager", "resnet50_eager", "resnet50_train_f64_pageable"])
)
def test_hta_leaves_out_the_last_step_unless_told(name: str) -> None:
    """HTA by default takes the last step for cut off, which it is not here.

    Ours keeps every step and breaks it down.
    HTA also takes that step to begin with the device's copy of the annotation, which starts with
    the step's first kernel, so that it keeps what the step had launched by then. Ours goes by the
    host's annotation.
    """
    (theirs,) = temporal(name, last_step=False)
    marks = [
        event for event in torch_events(name) if str(event.get("name")).startswith("ProfilerStep#")
    ]
    on_host = max(event["start_ns"] for event in marks if event["cat"] == "user_annotation")
    last = max(event["start_ns"] for event in marks)
    assert (last > on_host) == any(event["cat"] == "gpu_user_annotation" for event in marks)
    assert compute_launched_before(name, last) == pytest.approx(
        theirs["compute_time"], abs=CLOSE_US
    )
    steps = tl.analyses.time_breakdown(torch_trace(name)).drop_nulls("step").sort("step")
    assert steps[:-1]["compute_ns"].sum() / 1000 == pytest.approx(
        compute_launched_before(name, on_host), abs=1e-6
    )


def compute_launched_before(name: str, moment_ns: int) -> float:
    """Compute time, in µs, of kernels whose launch started before the moment."""
    calls = [e for e in torch_events(name) if e.get("cat") in ("cuda_runtime", "cuda_driver")]
    early = {call["args"]["correlation"] for call in calls if call["start_ns"] < moment_ns}
    kernels = [
        e
        for e in torch_events(name)
        if e.get("cat") == "kernel" and e["args"]["correlation"] in early
    ]
    return union_us(kernels)


@pytest.mark.parametrize("name", TRITON)
def test_hta_counts_triton_launches_as_device_work(name: str) -> None:
    """HTA takes every event with a stream for device work.

    Torch writes one on the host op that launches for Triton.
    So the time during which the host prepares a launch counts as compute there, up to a third of
    it. Adding those host ops to the kernels gives HTA's numbers; that the device did nothing for
    them is why ours are right.
    """
    (theirs,), we = temporal(name), ours(torch_trace(name))
    host_ops = [
        e for e in torch_events(name) if e.get("cat") == "cpu_op" and "stream" in e.get("args", {})
    ]
    assert host_ops
    assert {event["args"]["kernel_backend"] for event in host_ops} == {"triton"}
    kernels = [e for e in torch_events(name) if e.get("cat") == "kernel"]
    memory = [e for e in torch_events(name) if e.get("cat") in ("gpu_memcpy", "gpu_memset")]
    assert theirs["compute_time"] == pytest.approx(union_us(kernels + host_ops), abs=CLOSE_US)
    assert we["compute"] == pytest.approx(union_us(kernels), abs=1e-6)
    assert we["idle"] == pytest.approx(we["window"] - union_us(kernels + memory), abs=1e-6)
    assert theirs["compute_time"] > we["compute"] + 100


def union_us(events: list[dict[str, Any]]) -> float:
    """Length of the union of the events' intervals."""
    total, reached = 0, -math.inf
    for start, end in sorted((e["start_ns"], e["start_ns"] + e["duration_ns"]) for e in events):
        total += max(0, end - int(max(start, reached))) if reached > -math.inf else end - start
        reached = max(reached, end)
    return total / 1000


def test_temporal_breakdown_of_two_ranks() -> None:
    trace = collected(torch_folder("ddp_resnet50_2gpu"))
    for rank, theirs in enumerate(temporal("ddp_resnet50_2gpu")):
        we = ours(trace, rank)
        assert we["idle"] == pytest.approx(theirs["idle_time"], abs=CLOSE_US)
        assert we["compute"] == pytest.approx(theirs["compute_time"], abs=CLOSE_US)
        assert we["exposed"] == pytest.approx(theirs["non_compute_time"], abs=CLOSE_US)


def test_overlap_of_communication_with_compute() -> None:
    """HTA's overlap is hidden communication over communication, in per cent to two decimals."""
    trace = collected(torch_folder("ddp_resnet50_2gpu"))
    rows = tl.analyses.time_breakdown(trace).filter(WHOLE).sort("rank")
    hidden = 1 - rows["exposed_communication_ns"] / rows["communication_ns"]
    theirs = hta("ddp_resnet50_2gpu").get_comm_comp_overlap(visualize=False)[
        "comp_comm_overlap_pctg"
    ]
    assert [round(100 * share, 2) for share in hidden] == pytest.approx(list(theirs), abs=0.0101)


@pytest.mark.parametrize("name", every(3, [name for name in ONE_RANK if name not in TRITON]))
def test_kernel_breakdown(name: str) -> None:
    """HTA's kernels agree to the nanosecond.

    Its sum by kind keeps whole µs of every stretch that it adds up.
    """
    kinds, kernels = hta(name).get_gpu_kernel_breakdown(
        visualize=False, num_kernels=10**6, include_memory_kernels=True
    )
    found = tl.analyses.top_kernels(torch_trace(name))
    theirs = {
        row["name"]: row for row in kernels.to_dict("records") if row["kernel_type"] != "MEMORY"
    }
    assert set(theirs) == set(found["name"])
    for row in found.iter_rows(named=True):
        for column, key in (("total", "sum"), ("max", "max"), ("min", "min"), ("mean", "mean")):
            assert row[f"duration_{column}_ns"] / 1000 == pytest.approx(
                theirs[row["name"]][f"{key} (us)"], abs=CLOSE_US
            )
    compute = sum(kinds.loc[kinds["kernel_type"].str.contains("COMPUTATION"), "sum"])
    assert compute == int(compute)
    lost = ours(torch_trace(name))["compute"] - compute
    assert 0 <= lost < torch_trace(name).kernels.height


@every_trace
def test_launch_statistics(name: str) -> None:
    """HTA knows cudaLaunchKernel, cudaLaunchKernelExC, cudaMemcpyAsync and cudaMemsetAsync only.

    So what cuLaunchKernel, cuLaunchKernelEx and cudaGraphLaunch started is missing there: most
    Triton kernels, some of cuDNN's and cuBLAS's, and all that a graph replays.
    """
    trace = torch_trace(name)
    theirs = hta(name).get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    calls = trace.api_calls.select(
        "api_call_id",
        "api",
        api_ns="duration_ns",
        returned=pl.col("start_ns") + pl.col("duration_ns"),
    )
    work = pl.concat(
        [
            trace.frame(t).select("api_call_id", "correlation_id", "start_ns", "duration_ns")
            for t in WORK
        ]
    )
    linked = work.join(calls, on="api_call_id")
    known = linked.filter(pl.col("api").is_in(HTA_KNOWS))
    unknown = linked.filter(~pl.col("api").is_in(HTA_KNOWS))["api"].unique()
    assert len(theirs) == known.height
    assert set(unknown) <= {"cuLaunchKernel", "cuLaunchKernelEx", "cudaGraphLaunch"}
    delay = pl.col("start_ns") - pl.col("returned")
    expected = known.select(
        "correlation_id", "api_ns", "duration_ns", delay=pl.when(delay > 0).then(delay).otherwise(0)
    )
    columns = ["correlation", "cpu_duration", "gpu_duration", "launch_delay"]
    pairs = zip(
        expected.sort("correlation_id").rows(),
        theirs[columns].sort_values("correlation").to_numpy(),
        strict=True,
    )
    for (correlation, *we), (their_correlation, *they) in pairs:
        assert correlation == int(their_correlation)
        assert [ns / 1000 for ns in we] == pytest.approx(they, abs=CLOSE_US)


WORK = ("kernels", "memcpys", "memsets")
HTA_KNOWS = ["cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"]


@pytest.mark.parametrize(
    ("name", "theirs", "all_calls", "driver_calls"),
    [("resnet50_eager", 678, 735, 57), ("resnet50_train_f64_pageable", 2632, 2936, 304)],
)
def test_launches_that_hta_misses(
    name: str, theirs: int, all_calls: int, driver_calls: int
) -> None:
    assert len(hta(name).get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]) == theirs
    delays = tl.analyses.launch_delay(torch_trace(name))
    assert delays["n_calls"].sum() == all_calls
    assert (
        delays.filter(pl.col("api") == "cuLaunchKernel")["n_calls"].sum()
        == driver_calls
        == all_calls - theirs
    )
    depths = tl.analyses.dispatch_depth(torch_trace(name))
    assert depths["n_launches"].sum() == all_calls


READ = (
    "cat",
    "name",
    "pid",
    "tid",
    "ts",
    "dur",
    "end",
    "stream",
    "correlation",
    "bytes",
    "memory_bw_gbps",
    "iteration",
)
"""Columns that HTA's analyses read. The link between a call and its work is left out."""


def events(analysis: Any, rank: int) -> pl.DataFrame:
    """Return events of a rank by their values, with the start of the linked event; -1 for none."""
    frame, symbols = analysis.t.traces[rank], analysis.t.symbol_table.get_sym_table()
    linked = frame["index_correlation"].to_numpy()
    starts = dict(zip(frame["index"], frame["ts"].astype(float), strict=True))
    columns = {
        name: frame[name].astype(float).to_numpy() for name in READ if name not in ("cat", "name")
    }
    cat = [symbols[i] for i in frame["cat"]]
    # Functions are named without folders and addresses here.
    names = [
        "" if c == "python_function" else symbols[i]
        for c, i in zip(cat, frame["name"], strict=True)
    ]
    links = [starts.get(i, -1.0) if i > 0 else -1.0 for i in linked]
    return pl.DataFrame({"cat": cat, "name": names, **columns, "link": links}).sort(pl.all())


@pytest.mark.parametrize("last_step", [True, False])
@pytest.mark.parametrize("name", every(4, [*ONE_RANK, DDP]))
def test_our_tables_hold_every_event_as_hta_parses_it(name: str, last_step: bool) -> None:
    """To the last bit of every time.

    The device's copies of annotations count too, although no table holds them.
    """
    theirs = hta_peer.without_host_streams(parsed_by_hta(name, last_step=last_step))
    ours = tl.interop.hta(trace_of(name), include_last_profiler_step=last_step)
    assert ours.t.get_ranks() == theirs.t.get_ranks()
    for rank in ours.t.get_ranks():
        assert events(ours, rank).equals(events(theirs, rank))


def trace_of(name: str) -> tl.Trace:
    return collected(torch_folder(name)) if name == DDP else torch_trace(name)


@pytest.mark.parametrize("name", SMALL)
def test_rounded_times_are_htas(name: str) -> None:
    """HTA by default rounds starts up and ends down to microseconds. So it does with our frames."""
    theirs = hta_peer.without_host_streams(parsed_by_hta(name, rounded=True))
    with hta_peer.rounding(on=True):
        ours = tl.interop.hta(trace_of(name), include_last_profiler_step=True)
    for rank in ours.t.get_ranks():
        assert events(ours, rank).equals(events(theirs, rank))


@pytest.mark.parametrize("name", only(["alexnet_eager", DDP], SOME))
@pytest.mark.parametrize("analysis", [*hta_peer.FAST, *hta_peer.SLOW])
def test_every_analysis_of_hta_gives_the_same(name: str, analysis: str, tmp_path: Path) -> None:
    if analysis in hta_peer.SLOW and name not in SMALL:
        pytest.skip("takes HTA a minute; TRACELENS_HTA=all does not mind")
    run = (hta_peer.FAST | hta_peer.SLOW)[analysis]
    theirs, ours = (hta_peer.outcome(run, a, tmp_path) for a in both(name))
    assert hta_peer.differences(theirs, ours) == []
    # What HTA cannot do: it takes kernels called ncclKernel for communication, and NCCL has called
    # them ncclDevKernel since 2.19; without GPU annotations, or counters, it has nothing to tell.
    failed = [str(one) for one in theirs if isinstance(one, str) and "Error" in one]
    assert failed == (
        ["ValueError: attempt to get argmax of an empty sequence"]
        if analysis == "potential_stragglers"
        else []
    )


@cache
def both(name: str) -> tuple[Any, Any]:
    """HTA's analysis of its own parse and of our tables."""
    theirs = hta_peer.without_host_streams(parsed_by_hta(name))
    return theirs, tl.interop.hta(trace_of(name), include_last_profiler_step=True)


def test_trace_diff() -> None:
    """Counts and durations of ops and kernels, eager against compiled.

    Python functions have other names here.
    """
    diff = importlib.import_module("hta.trace_diff").TraceDiff
    pairs = zip(both("alexnet_eager"), both("alexnet_inductor"), strict=True)
    theirs, ours = (
        diff.compare_traces(deepcopy(a.t), deepcopy(b.t)).reset_index() for a, b in pairs
    )
    for table in (theirs, ours):
        table["name"] = table["name"].where(~table["name"].str.contains(hta_peer.PYTHON), "python")
    sums = ["Control_counts", "Test_counts", "Control_total_duration", "Test_total_duration"]
    they, we = (table.groupby("name")[sums].sum().round(6) for table in (theirs, ours))
    assert len(they) > 70
    assert they.equals(we.astype(they.dtypes))


def made(tmp_path: Path, events: list[dict[str, Any]]) -> tuple[Any, Any]:
    """HTA's analyses of a small trace: by its own parse, and of our tables."""
    path = write(tmp_path / "t.json", events)
    reader = importlib.import_module("hta.common.trace").Trace({0: str(path)}, str(tmp_path))
    reader.load_traces(include_last_profiler_step=True)
    theirs = importlib.import_module("hta.trace_analysis").TraceAnalysis
    own = theirs.__new__(theirs)
    own.t = reader
    return own, tl.interop.hta(tl.collect(path), include_last_profiler_step=True)


def test_counters_of_kernels(tmp_path: Path) -> None:
    """Counts of CUPTI over each kernel stand beside the ops that launched it."""
    counted = [
        {"smsp__inst_executed.sum": 1024, "dram__bytes.sum": 7},
        {"smsp__inst_executed.sum": 32},
    ]
    events = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": 1,
            "tid": 0,
            "ts": 0.0,
            "args": {"name": "python"},
        },
        span("aten::linear", 1.5, 20),
        span("aten::mm", 2.0, 10),
        call("cudaLaunchKernel", 3, 2, 7),
        span("aten::relu", 30, 10),
        call("cudaLaunchKernel", 31, 2, 8),
        kernel("warm-up", 50, 2, 9),
        *(
            span(name, ts, 2, cat="cuda_profiler_range", pid=0, tid=0, args=args)
            for name, ts, args in zip(("gemm", "relu"), (60.5, 70.5), counted, strict=True)
        ),
    ]
    frames = [a.get_cupti_counter_data_with_operators()[0] for a in made(tmp_path, events)]
    columns = ["name", "op_stack", "top_level_op", "bottom_level_op", "ts", "dur", *counted[0]]
    told = [frame[columns].to_dict("records") for frame in frames]
    assert told[0] == told[1]
    assert [row["op_stack"] for row in told[1]] == [["aten::linear", "aten::mm"], ["aten::relu"]]
    assert [row["dram__bytes.sum"] for row in told[1]] == [7, -1]


def test_waits_are_on_the_critical_path(tmp_path: Path) -> None:
    """A kernel waits for another stream's event, a host for both: the path goes over both waits."""
    wait = {
        "stream": 8,
        "correlation": 13,
        "device": 0,
        "wait_on_stream": 7,
        "wait_on_cuda_event_record_corr_id": 12,
    }
    events = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": 1,
            "tid": 0,
            "ts": 0.0,
            "args": {"name": "python"},
        },
        span("ProfilerStep#0", 1.5, 300, cat="user_annotation"),
        span("aten::mm", 2, 10),
        call("cudaLaunchKernel", 3, 4, 11),
        call("cudaEventRecord", 14, 2, 12),
        call("cudaStreamWaitEvent", 18, 2, 13),
        span("aten::relu", 22, 10),
        call("cudaLaunchKernel", 23, 4, 14),
        call("cudaDeviceSynchronize", 40, 250, 15),
        kernel("gemm", 20, 100, 11, args={"correlation": 11, "stream": 7, "device": 0}),
        kernel("relu", 121, 50, 14, tid=8, args={"correlation": 14, "stream": 8, "device": 0}),
        span("Stream Wait Event", 19, 1, cat="cuda_sync", pid=0, tid=8, args=wait),
        span(
            "Context Sync",
            41,
            130,
            cat="cuda_sync",
            pid=0,
            tid=-1,
            args={"stream": -1, "correlation": 15, "device": 0},
        ),
    ]
    theirs, ours = (
        hta_peer.outcome(hta_peer.SLOW["critical_path_analysis"], a, tmp_path)
        for a in made(tmp_path, events)
    )
    assert hta_peer.differences(theirs, ours) == []
    assert ours[0] is True
    assert {"gemm", "relu"} <= set(ours[1]["s_name"])


def test_traces_that_hta_writes_are_made_of_our_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = torch_trace("alexnet_eager")
    ours = tl.interop.hta(trace, include_last_profiler_step=True)
    graph, _ = ours.critical_path_analysis(0, "ProfilerStep", 0)
    ours.overlay_critical_path_analysis(0, graph, str(tmp_path), only_show_critical_events=False)
    ours.generate_trace_with_counters()
    ours.get_frequent_cuda_kernel_sequences("aten::conv2d", str(tmp_path), min_pattern_len=1)
    written = sorted(tmp_path.iterdir())
    assert len(written) == 3
    for file in written:
        assert tl.collect(file).kernels["duration_ns"].sum() == trace.kernels["duration_ns"].sum()


def test_without_hta_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hta.trace_analysis", None)
    with pytest.raises(ToolError, match=r"^HTA .*pip install traceinsight$"):
        tl.interop.hta(torch_trace("alexnet_eager"))


def path_of_hta(name: str, instance: int) -> dict[str, float]:
    """HTA's critical path of one step by what bounds it, in µs."""
    graph, succeeded = deepcopy(hta(name)).critical_path_analysis(0, "ProfilerStep", instance)
    assert succeeded
    found = graph.get_critical_path_breakdown()
    return dict(found.groupby("bound_by")["duration"].sum())


def our_path(name: str) -> tuple[int, dict[str, float]]:
    """The place of the median step among all, and its critical path by kind, in µs."""
    trace = torch_trace(name)
    path = tl.analyses.critical_path(trace)
    place = trace.steps["step"].sort().to_list().index(path["step"][0])
    us = path.group_by("kind").agg(pl.col("duration_ns").sum() / 1000)
    return place, dict(us.iter_rows())


@pytest.mark.parametrize("name", ["alexnet_eager", "bert_inductor"])
def test_critical_path(name: str) -> None:
    """The same ops, calls, launches and device work as HTA's path of the step.

    HTA counts a kernel that overlaps the one before for its whole time and the gap less, and takes
    no time of Python between ops and of a wait's return: its path is shorter than the step.
    """
    place, we = our_path(name)
    theirs = path_of_hta(name, place)
    us = {kind: we.get(kind, 0.0) for kind in STRETCHES}
    assert us["op"] + us["api_call"] == pytest.approx(theirs["cpu_bound"], abs=CLOSE_US)
    launch = theirs.get("gpu_kernel_launch_overhead", 0.0)
    assert us["launch"] == pytest.approx(launch, abs=CLOSE_US)
    device = theirs.get("gpu_compute_bound", 0.0) + theirs.get("gpu_kernel_kernel_overhead", 0.0)
    work = sum(us[kind] for kind in ("kernel", "memset", "memcpy", "queue"))
    assert work == pytest.approx(device, abs=CLOSE_US)
    rest = us["python"] + us["wait"]
    assert sum(theirs.values()) + rest == pytest.approx(sum(us.values()), abs=3 * CLOSE_US)


def test_hta_leaves_a_graphs_kernels_out_of_the_path() -> None:
    """One launch has hundreds of kernels, and HTA's path none: 0.6 of a step of 3.1 ms."""
    place, we = our_path("resnet50_cudagraph")
    theirs = path_of_hta("resnet50_cudagraph", place)
    assert "gpu_compute_bound" not in theirs
    (step_ns,) = torch_trace("resnet50_cudagraph").steps.sort("step")[place]["duration_ns"]
    assert sum(we.values()) == pytest.approx(step_ns / 1000, rel=0.01)
    assert sum(theirs.values()) < 0.2 * sum(we.values())


def test_a_trace_without_kernels_is_refused() -> None:
    with pytest.raises(MissingTableError, match=r"^hta needs the table kernels"):
        tl.interop.hta(make_trace())
