"""The critical path of a step: what the host and the device waited for."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.sources import SAMPLES, collected
from tests.step_traces import StepTrace, launch_bound
from tracelens.analyses import critical_path
from tracelens.derive.replay.moment_graph import (
    MomentGraph,
    deciding_path,
    earliest_times,
    earliest_times_in_python,
)
from tracelens.derive.replay.replay import replay_error_frac, replays
from tracelens.native import LIBRARY

STRETCH = ("kind", "what", "duration_ns")


def test_path_of_a_step_that_waits_for_two_kernels() -> None:
    path = critical_path(launch_bound().trace())
    assert path.select(STRETCH).rows() == [
        ("python", None, 10_000),
        ("op", "aten::mm", 10_000),
        ("launch", "gemm", 15_000),
        ("kernel", "gemm", 100_000),
        ("queue", "relu", 1_000),
        ("kernel", "relu", 50_000),
        ("wait", "cudaDeviceSynchronize", 4_000),
        ("python", "after aten::relu", 210_000),
    ]
    assert path["start_ns"].to_list() == [
        0,
        10_000,
        20_000,
        35_000,
        135_000,
        136_000,
        186_000,
        190_000,
    ]


def test_path_of_a_host_that_runs_ahead_is_the_device() -> None:
    made = StepTrace()
    made.step(0, 305, host=100)
    made.step(305, 605, mark=100, host=200)
    made.launch("gemm", 10, 15, 305)
    made.launch("gemm", 110, 305, 605)
    path = critical_path(made.trace())
    assert path.select("step", "kind", "duration_ns").rows() == [(1, "kernel", 300_000)]


def test_work_of_an_awaited_stream_is_on_the_path() -> None:
    made = StepTrace()
    made.step(0, 400)
    made.launch("first", 10, 20, 200, stream_id=7)
    made.launch("second", 30, 202, 300, stream_id=9)
    made.call("cudaStreamSynchronize", "sync", 50, 310)
    path = critical_path(made.trace())
    assert path.select(STRETCH).rows() == [
        ("python", None, 10_000),
        ("launch", "first", 10_000),
        ("kernel", "first", 180_000),
        ("dependency", "second", 2_000),
        ("kernel", "second", 98_000),
        ("wait", "cudaStreamSynchronize", 10_000),
        ("python", None, 90_000),
    ]
    assert path.filter(pl.col("is_inferred"))["kind"].to_list() == ["dependency", "wait"]


def test_a_recorded_wait_of_a_stream_is_not_inferred() -> None:
    made = StepTrace()
    made.step(0, 400)
    made.launch("first", 10, 20, 200, stream_id=7)
    wait = made.call("cudaStreamWaitEvent", "sync", 25, 27)
    made.launch("second", 30, 202, 300, stream_id=9)
    made.call("cudaDeviceSynchronize", "sync", 50, 310)
    made.tables["synchronizations"] = [
        {"kind": "stream_wait", "stream_id": 9, "waited_stream_id": 7, "api_call_id": wait}
    ]
    path = critical_path(made.trace())
    row = path.filter(pl.col("kind") == "dependency")
    assert row.select("duration_ns", "is_inferred").rows() == [(2_000, False)]


def test_a_blocking_copy_holds_the_host() -> None:
    made = StepTrace()
    made.step(0, 400)
    call = made.call("cudaMemcpyAsync", "memcpy", 10, 300)
    made.copy(40, 290, call)
    made.launch("gemm", 305, 315, 320)
    path = critical_path(made.trace())
    assert path.select("kind", "duration_ns").rows() == [
        ("python", 10_000),
        ("launch", 30_000),
        ("memcpy", 250_000),
        ("wait", 10_000),
        ("python", 5_000),
        ("api_call", 5_000),
        ("python", 90_000),
    ]


def test_threads_that_take_turns_have_one_timeline() -> None:
    made = StepTrace()
    made.step(0, 400)
    made.span("aten::mm", 10, 40)
    made.launch("gemm", 20, 30, 31)
    made.span("autograd::engine::evaluate_function: MmBackward0", 60, 100, thread_id=2)
    made.launch("gemm", 70, 80, 81, thread=2)
    made.span("aten::add_", 130, 160)
    path = critical_path(made.trace())
    assert path["duration_ns"].sum() == 400_000
    assert path.filter(pl.col("kind") == "op").group_by("op", maintain_order=True).agg(
        pl.col("duration_ns").sum()
    ).rows() == [
        ("aten::mm", 25_000),
        ("autograd::engine::evaluate_function: MmBackward0", 35_000),
        ("aten::add_", 30_000),
    ]


def test_a_thread_that_works_beside_is_not_on_the_path() -> None:
    made = StepTrace()
    made.step(0, 400)
    for start in (10, 110, 210, 310):
        made.span("aten::mm", start, start + 80)
        made.launch("gemm", start + 10, start + 20, start + 25)
        made.span("aten::copy_", start + 5, start + 60, thread_id=2)
    path = critical_path(made.trace())
    assert path["duration_ns"].sum() == 400_000
    assert "aten::copy_" not in path["op"].to_list()


@given(st.data())
def test_the_longest_path_is_the_planted_one(data: st.DataObject) -> None:
    times = sorted(data.draw(st.lists(st.integers(1, 10**6), min_size=2, max_size=30, unique=True)))
    times = [0, *times]
    on_path = [0, *sorted(data.draw(st.sets(st.sampled_from(range(1, len(times))), min_size=1)))]
    before = {later: earlier for earlier, later in pairwise(on_path)}
    edges = []
    for target in range(1, len(times)):
        source = before.get(target, data.draw(st.integers(0, target - 1)))
        edges.append((source, target, times[target] - times[source]))
        for other in data.draw(st.lists(st.integers(0, target - 1), max_size=3)):
            slack = data.draw(st.integers(1, 1000))
            edges.append((other, target, times[target] - times[other] - slack))
    edges.sort(key=lambda edge: edge[1])
    counts = np.bincount([edge[1] for edge in edges], minlength=len(times))
    graph = MomentGraph(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([edge[0] for edge in edges], np.int64),
        np.array([edge[2] for edge in edges], np.int64),
    )
    for compute in (earliest_times, earliest_times_in_python):
        found, deciding = compute(graph)
        assert found.tolist() == times
        path = deciding_path(graph, deciding, on_path[-1])
        assert [int(graph.sources[edge]) for edge in reversed(path)] == on_path[:-1]


@pytest.mark.skipif(LIBRARY is None, reason="needs the native library")
@pytest.mark.parametrize(
    ("offsets", "sources"),
    [([0, 0, 1], [1]), ([0, 0, 1], [-1]), ([0, 0, 2], [0]), ([0, 1, 0], [0]), ([0, 0], [0])],
)
def test_a_graph_that_leads_back_is_refused(offsets: list[int], sources: list[int]) -> None:
    assert LIBRARY is not None
    columns = [np.array(values, np.int64) for values in (offsets, sources, [5] * len(sources))]
    times, deciding = np.empty(2, np.int64), np.empty(2, np.int64)
    with pytest.raises(ValueError, match=r"forward|offset"):
        LIBRARY.longest_paths(*columns, times, deciding)


@settings(max_examples=examples(20))
@given(st.lists(st.tuples(*[st.integers(10, 500)] * 4, st.integers(7, 11)), min_size=1, max_size=8))
def test_path_of_random_schedules(blocks: list[tuple[int, int, int, int, int]]) -> None:
    made = StepTrace()
    now, expected = 0, dict.fromkeys(("python", "op", "launch", "kernel", "wait"), 0)
    for python, op, kernel, back, stream in blocks:
        called = now + python + op
        made.span("aten::mm", now + python, called + 6)
        made.launch("gemm", called, called + 8, called + 8 + kernel, stream_id=stream)
        other = called + 10 + kernel // 3  # a shorter one on a stream beside it
        made.launch("relu", called + 6, other, other + kernel // 4, stream_id=99, thread=2)
        end = called + 8 + kernel
        now = max(end, called + 12) + min(back, 40)
        made.call("cudaStreamSynchronize", "sync", called + 11, now)
        times = {"python": python, "op": op, "launch": 8, "kernel": kernel, "wait": now - end}
        expected = {kind: expected[kind] + ns for kind, ns in times.items()}
    made.step(0, now)
    path = critical_path(made.trace())
    sums = dict(path.group_by("kind").agg(pl.col("duration_ns").sum()).iter_rows())
    assert sums == {kind: us * 1000 for kind, us in expected.items()}


@settings(max_examples=examples(20))
@given(
    st.lists(
        st.tuples(st.integers(10, 500), *[st.integers(40, 500)] * 2, st.permutations(range(5))),
        min_size=1,
        max_size=6,
    )
)
def test_path_of_random_schedules_with_events(
    blocks: list[tuple[int, int, int, list[int]]],
) -> None:
    """Three threads and five streams: a kernel, one that an event has wait for it, and others."""
    made = StepTrace()
    waits: list[dict[str, object]] = []
    now, expected = 0, dict.fromkeys(("python", "launch", "kernel", "dependency", "wait"), 0)
    for python, first, second, streams in blocks:
        called = now + python
        middle = called + 8 + first
        made.launch("first", called, called + 8, middle, stream_id=streams[0])
        call = made.call("cudaStreamWaitEvent", "sync", called + 6, called + 7)
        waits.append(
            {
                "kind": "stream_wait",
                "api_call_id": call,
                "stream_id": streams[1],
                "waited_stream_id": streams[0],
            }
        )
        made.launch("second", called + 8, middle + 2, middle + 2 + second, stream_id=streams[1])
        for thread in (2, 3):  # work that ends before and that nothing waits for
            begin = called + 10 + thread
            made.launch(
                "beside", begin - 6, begin, begin + 20, stream_id=streams[thread], thread=thread
            )
        end = middle + 2 + second
        now = end + 10
        made.call("cudaDeviceSynchronize", "sync", called + 14, now)
        times = {"python": python, "launch": 8, "kernel": first + second, "dependency": 2}
        times["wait"] = 10
        expected = {kind: expected[kind] + us for kind, us in times.items()}
    made.step(0, now)
    made.tables["synchronizations"] = waits
    path = critical_path(made.trace())
    sums = dict(path.group_by("kind").agg(pl.col("duration_ns").sum()).iter_rows())
    assert sums == {kind: us * 1000 for kind, us in expected.items()}
    assert not path.filter(pl.col("kind") == "dependency")["is_inferred"].any()


def test_work_of_before_the_step_is_no_part_of_its_path() -> None:
    """A kernel that was launched earlier runs from 60 µs before the step to 110 µs into it."""
    made = StepTrace()
    made.kernel("earlier", -60, 110, None)
    made.step(0, 405, mark=0, host=200)
    made.launch("gemm", 10, 110, 405)
    path = critical_path(made.trace())
    assert path.select(STRETCH).rows() == [
        ("kernel", "earlier", 110_000),
        ("kernel", "gemm", 295_000),
    ]
    assert path["start_ns"].to_list() == [0, 110_000]


@pytest.mark.parametrize(
    "name",
    [
        "planted/captures/sync_item",
        "planted/captures/copy_side_stream",
        "planted/captures/input_pin_thread.stacks",
        "planted/captures/compute_cuda_graph",
        "whatif/captures/copy_deep.dtype.plain",  # a kernel runs when the first step begins
    ],
)
def test_captures_replay_to_what_was_recorded(name: str) -> None:
    trace = collected(SAMPLES / f"{name}.pt.trace.json.gz")
    assert replay_error_frac(replays(trace)[0]) == 0
    path = critical_path(trace)
    steps = trace.steps.filter(pl.col("step") == path["step"][0])
    assert path["duration_ns"].sum() == steps["duration_ns"].item()
