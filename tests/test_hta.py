"""The same H200 traces through Meta's Holistic Trace Analysis: where its definitions are ours, its numbers are."""

import importlib
import logging
import math
import os
from collections.abc import Iterator
from functools import cache, partialmethod
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.sources import ALL_TRACES, collected, torch_events, torch_file, torch_folder, torch_trace

pytest.importorskip("hta", reason="HTA is not installed; pip install traceinsight")

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning")]

ONE_RANK = [name for name in ALL_TRACES if not name.startswith("ddp")]
TRITON = ["alexnet_inductor", "bert_inductor", "resnet50_inductor"]
CLOSE_US = 0.01
every_trace = pytest.mark.parametrize("name", ONE_RANK)


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    """HTA logs every file it reads."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@cache
def hta(name: str, *, last_step: bool = True) -> Any:
    """HTA's view of a trace, or of a folder of ranks, once a session, with its nanoseconds."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    importlib.import_module("hta.configs.env_options").HTAEnvOptions.instance().set_disable_ns_rounding(value=True)
    folder = torch_folder(name) if name.startswith("ddp") else torch_file(name).parent
    files = {i: str(folder / f"rank{i}.pt.trace.json.gz") for i in (0, 1)}
    if not name.startswith("ddp"):
        files = {0: str(torch_file(name))}
    module = importlib.import_module("hta.trace_analysis")
    # It would read ranks in processes that it forks, of which one hangs now and then: this one has threads.
    reader = importlib.import_module("hta.common.trace").Trace
    if not isinstance(vars(reader)["load_traces"], partialmethod):
        reader.load_traces = partialmethod(reader.load_traces, use_multiprocessing=False)
    return module.TraceAnalysis(trace_files=files, trace_dir=str(folder), include_last_profiler_step=last_step)


def temporal(name: str, *, last_step: bool = True) -> list[dict[str, float]]:
    """HTA's temporal breakdown, in µs, a row a rank."""
    found = hta(name, last_step=last_step).get_temporal_breakdown(visualize=False)
    return [{key.removesuffix("(us)"): float(value) for key, value in row.items()} for row in found.to_dict("records")]


def ours(trace: tl.Trace, rank: int = 0) -> dict[str, float]:
    """Our breakdown of the whole trace, in µs."""
    rows = tl.analyses.time_breakdown(trace).filter(pl.col("step").is_null() & (pl.col("rank") == rank))
    (row,) = rows.to_dicts()
    return {name: row[f"{name}_ns"] / 1000 for name in ("window", "compute", "copy", "communication", "idle")} | {
        "exposed": (row["exposed_communication_ns"] + row["exposed_copy_ns"]) / 1000
    }


@pytest.mark.parametrize("name", [name for name in ONE_RANK if name not in TRITON])
def test_temporal_breakdown(name: str) -> None:
    (theirs,), we = temporal(name), ours(torch_trace(name))
    assert we["idle"] == pytest.approx(theirs["idle_time"], abs=CLOSE_US)
    assert we["compute"] == pytest.approx(theirs["compute_time"], abs=CLOSE_US)
    assert we["exposed"] == pytest.approx(theirs["non_compute_time"], abs=CLOSE_US)
    assert we["window"] == pytest.approx(theirs["kernel_time"], abs=CLOSE_US)


@pytest.mark.parametrize("name", ["alexnet_eager", "resnet50_eager", "resnet50_train_f64_pageable"])
def test_hta_leaves_out_the_last_step_unless_told(name: str) -> None:
    """Its default takes the last step for cut off, which it is not here; ours keeps every step and breaks it down.

    It also takes that step to begin with the device's copy of the annotation, which starts with the step's first
    kernel, so that it keeps what the step had launched by then. Ours goes by the host's annotation.
    """
    (theirs,) = temporal(name, last_step=False)
    marks = [event for event in torch_events(name) if str(event.get("name")).startswith("ProfilerStep#")]
    on_host = max(event["start_ns"] for event in marks if event["cat"] == "user_annotation")
    last = max(event["start_ns"] for event in marks)
    assert (last > on_host) == any(event["cat"] == "gpu_user_annotation" for event in marks)
    assert compute_launched_before(name, last) == pytest.approx(theirs["compute_time"], abs=CLOSE_US)
    steps = tl.analyses.time_breakdown(torch_trace(name)).drop_nulls("step").sort("step")
    assert steps[:-1]["compute_ns"].sum() / 1000 == pytest.approx(compute_launched_before(name, on_host), abs=1e-6)


def compute_launched_before(name: str, moment_ns: int) -> float:
    """Compute time, in µs, of kernels whose launch started before the moment."""
    calls = [e for e in torch_events(name) if e.get("cat") in ("cuda_runtime", "cuda_driver")]
    early = {call["args"]["correlation"] for call in calls if call["start_ns"] < moment_ns}
    kernels = [e for e in torch_events(name) if e.get("cat") == "kernel" and e["args"]["correlation"] in early]
    return union_us(kernels)


@pytest.mark.parametrize("name", TRITON)
def test_hta_counts_the_host_side_of_triton_launches_as_device_work(name: str) -> None:
    """HTA takes every event with a stream for device work; torch writes one on the host op that launches for Triton.

    So the time during which the host prepares a launch counts as compute there, up to a third of it. Adding those host
    ops to the kernels gives HTA's numbers; that the device did nothing for them is why ours are right.
    """
    (theirs,), we = temporal(name), ours(torch_trace(name))
    host_ops = [e for e in torch_events(name) if e.get("cat") == "cpu_op" and "stream" in e.get("args", {})]
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
    rows = tl.analyses.time_breakdown(trace).filter(pl.col("step").is_null()).sort("rank")
    hidden = 1 - rows["exposed_communication_ns"] / rows["communication_ns"]
    theirs = hta("ddp_resnet50_2gpu").get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"]
    assert [round(100 * share, 2) for share in hidden] == pytest.approx(list(theirs), abs=0.0101)


@pytest.mark.parametrize("name", [name for name in ONE_RANK if name not in TRITON])
def test_kernel_breakdown(name: str) -> None:
    """HTA's kernels agree to the nanosecond; of the sum by kind it keeps whole µs of every stretch that it adds up."""
    kinds, kernels = hta(name).get_gpu_kernel_breakdown(visualize=False, num_kernels=10**6, include_memory_kernels=True)
    found = tl.analyses.top_kernels(torch_trace(name))
    theirs = {row["name"]: row for row in kernels.to_dict("records") if row["kernel_type"] != "MEMORY"}
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
    """HTA knows cudaLaunchKernel, cudaLaunchKernelExC, cudaMemcpyAsync and cudaMemsetAsync by name, nothing else.

    So what cuLaunchKernel, cuLaunchKernelEx and cudaGraphLaunch started is missing there: most Triton kernels, some of
    cuDNN's and cuBLAS's, and all that a graph replays.
    """
    trace = torch_trace(name)
    theirs = hta(name).get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    calls = trace.api_calls.select(
        "api_call_id", "api", api_ns="duration_ns", returned=pl.col("start_ns") + pl.col("duration_ns")
    )
    work = pl.concat([trace.frame(t).select("api_call_id", "correlation_id", "start_ns", "duration_ns") for t in WORK])
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
        expected.sort("correlation_id").rows(), theirs[columns].sort_values("correlation").to_numpy(), strict=True
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
def test_launches_that_hta_misses(name: str, theirs: int, all_calls: int, driver_calls: int) -> None:
    assert len(hta(name).get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]) == theirs
    delays = tl.analyses.launch_delay(torch_trace(name))
    assert delays["n_calls"].sum() == all_calls
    assert delays.filter(pl.col("api") == "cuLaunchKernel")["n_calls"].sum() == driver_calls == all_calls - theirs
    depths = tl.analyses.dispatch_depth(torch_trace(name))
    assert depths["n_launches"].sum() == all_calls
