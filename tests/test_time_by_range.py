"""time_by_range: ranges by hand, nsys's tables, Kineto's GPU annotations, and all pairs counted."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import make_trace
from tests.sources import MORE, SAMPLES, torch_trace
from tracelens.analyses.analysis import Bars
from tracelens.analyses.time_by_range import ANALYSIS, OUTSIDE, notes, time_by_range
from tracelens.collectors import collect
from tracelens.errors import MissingTableError
from tracelens.schemas.results.calls import TIME_BY_RANGE
from tracelens.trace import Trace

US = 1000
"""Profilers' clocks are taken to differ by a microsecond, so cases of overlap are in larger
steps."""


def span(
    start: int, end: int, name: str, thread: int = 1, domain: str = "", **more: Any
) -> dict[str, Any]:
    category = f"push_pop {domain}".strip()
    timing = {"start_ns": start, "duration_ns": end - start, "process_id": 7, "thread_id": thread}
    return timing | {"kind": "nvtx", "category": category, "name": name} | more


def call(start: int, thread: int = 1, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "duration_ns": 1, "process_id": 7, "thread_id": thread} | more


def work(start: int, end: int, call_id: int | None, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "duration_ns": end - start, "api_call_id": call_id} | more


def rows(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    return TIME_BY_RANGE.check(time_by_range(trace)).select(columns).rows()


def test_a_range_that_is_open_at_the_end_counts_until_then() -> None:
    """The optimizer's hook ends the step at 400, 100 after its range began; 900 is no end."""
    whole = [("ProfilerStep#1", 0, 200), ("opt.step", 120, 202), ("ProfilerStep#2", 202, 400)]
    others = [("load", 210, 290), ("opt.step", 300, 900), ("other thread", 300, 900)]
    trace = make_trace(
        spans=[
            span(start, end, name, 1 + (name == "other thread"), kind="annotation", category=None)
            for name, start, end in [*whole, *others]
        ]
    )
    found = time_by_range(trace)
    assert found.filter(name="opt.step")["n_calls"].to_list() == [2]
    sums = dict(found.group_by("name").agg(pl.col("host_total_ns").sum()).iter_rows())
    assert (sums["opt.step"], sums["load"], sums["other thread"]) == (82 + 100, 80, 600)
    assert notes(trace, found) == [
        "opt.step was open when the recording ended, and counts until then."
    ]


def test_a_tree_of_ranges() -> None:
    """On the host: a call, then train 0-100 with load 5-15, forward 20-60 and 70-90.

    The first forward holds attn 30-50. On the device: -8 to -2 of no range, 8-10 copy for load,
    40-70 and 75-80 kernels of attn, 80-100 of the second forward.
    """
    trace = make_trace(
        spans=[
            span(0, 100, "train"),
            span(5, 15, "load"),
            span(20, 60, "forward"),
            span(30, 50, "attn"),
            span(32, 34, "aten::mm", kind="op"),
            span(36, 36, "here", category="mark"),
            span(70, 90, "forward"),
        ],
        api_calls=[call(-10), call(6), call(33), call(45), call(75), call(95)],
        kernels=[work(-8, -2, 0), work(40, 70, 2), work(75, 80, 3), work(80, 100, 4)],
        memcpys=[work(8, 10, 1)],
    )
    columns = ("path", "depth", "n_calls", "host_total_ns", "host_own_ns", "n_launches")
    assert rows(trace, *columns) == [
        ("train", 0, 1, 100, 30, 4),
        ("train > forward", 1, 2, 60, 40, 3),
        ("train > forward > attn", 2, 1, 20, 20, 2),
        (OUTSIDE, 0, 0, 0, 0, 1),
        ("train > load", 1, 1, 10, 10, 1),
    ]
    device = (
        "device_total_ns",
        "device_own_ns",
        "kernel_total_ns",
        "projected_ns",
        "other_threads_ns",
        "idle_ns",
    )
    assert rows(trace, *device) == [
        (57, 0, 55, 92, 0, 43),  # 8 to 100; idle 0-8, 10-40, 70-75
        (55, 20, 55, 60, 0, 25),  # 40 to 80 and 80 to 100; idle 20-40, 70-75
        (35, 35, 35, 40, 0, 10),  # idle 30-40
        (6, 6, 6, 0, 0, None),
        (2, 2, 0, 2, 0, 8),
    ]


@pytest.mark.parametrize("most_rows", [2, 1_000_000])
def test_ranks_at_the_same_or_distant_times_have_their_own_work(
    monkeypatch: pytest.MonkeyPatch, most_rows: int
) -> None:
    """Each rank has a range of 100 ns.

    A call begins in it at 10, its kernel of 20, 21 or 22 ns at 30.

    Rank 1 runs as rank 0 does, rank 2 at moments that no 64 bits hold once they are moved. Rank 3
    has no range.
    """
    monkeypatch.setattr("tracelens.derive.time.ranges._MOST_ROWS", most_rows)
    begins = {0: 0, 1: 0, 2: 2**62, 3: 0}
    trace = make_trace(
        spans=[span(at, at + 100, "step", rank=rank) for rank, at in begins.items() if rank < 3],
        api_calls=[call(at + 10, rank=rank, api_call_id=0) for rank, at in begins.items()],
        kernels=[work(at + 30, at + 50 + rank, 0, rank=rank) for rank, at in begins.items()],
    )
    columns = ("rank", "path", "n_launches", "device_total_ns", "projected_ns", "idle_ns")
    assert rows(trace, *columns) == [
        (rank, "step", 1, 20 + rank, 20 + rank, 80 - rank) for rank in range(3)
    ]


def test_a_steps_mark_stands_without_its_number() -> None:
    steps = [span(0, 100, "step 8"), span(100, 300, "step 9")]
    inner = [
        span(10, 20, "forward"),
        span(110, 140, "forward"),
        span(150, 160, "layer 3"),
        span(170, 180, "layer 4"),
    ]
    trace = make_trace(
        spans=steps + inner,
        api_calls=[call(11), call(111)],
        kernels=[work(12, 15, 0), work(112, 119, 1)],
    )
    assert rows(trace, "path", "name", "n_calls", "device_total_ns") == [
        ("step * > forward", "forward", 2, 10),
        ("step * > layer 3", "layer 3", 1, 0),
        ("step * > layer 4", "layer 4", 1, 0),
        ("step 9", "step 9", 1, 7),
        ("step 8", "step 8", 1, 3),
    ]


def test_each_domain_and_thread_has_a_tree_of_its_own() -> None:
    """A library's range around all of a thread's.

    One on another thread waits for the first one's work.
    """
    trace = make_trace(
        spans=[
            span(0, 100, "all", domain="NCCL"),
            span(10, 50, "forward"),
            span(20, 30, "ncclAllReduce", domain="NCCL"),
            span(0, 100, "wait", thread=2),
            span(0, 100, "elsewhere", process_id=8),
        ],
        api_calls=[call(25), call(40), call(60), call(70, thread=2)],
        kernels=[work(30, 33, 0), work(50, 55, 1), work(60, 67, 2), work(80, 90, 3)],
    )
    assert rows(
        trace, "thread_id", "domain", "path", "device_total_ns", "device_own_ns", "other_threads_ns"
    ) == [
        (1, "NCCL", "all", 15, 12, 10),
        (2, None, "wait", 10, 10, 15),
        (1, None, "forward", 8, 8, 0),
        (1, "NCCL", "all > ncclAllReduce", 3, 3, 0),
        (1, None, "elsewhere", 0, 0, 0),
    ]


def test_ranges_that_overlap_both_have_what_was_launched_in_both() -> None:
    """A 0-30 and B 10-40, in tens of microseconds: the call at 20 is in both, and B opened last."""
    at = 10 * US
    trace = make_trace(
        spans=[
            span(0, 30 * at, "A", category="start_end"),
            span(10 * at, 40 * at, "B", category="start_end"),
        ],
        api_calls=[call(5 * at), call(20 * at), call(35 * at), call(40 * at)],
        kernels=[work(50 * at + i, 50 * at + i + 2**i, i) for i in range(4)],
    )
    assert rows(trace, "path", "device_total_ns", "device_own_ns") == [
        (OUTSIDE, 8, 8),
        ("B", 6, 6),
        ("A", 3, 1),
    ]


def test_a_graph_launch_counts_once_with_all_it_started() -> None:
    trace = make_trace(
        spans=[span(0, 10, "decode")],
        api_calls=[call(2), call(5)],
        kernels=[work(20, 25, 0), work(30, 40, 0), work(50, 51, 1)],
        memsets=[work(26, 28, 0)],
    )
    found = rows(
        trace, "n_launches", "device_total_ns", "kernel_total_ns", "projected_ns", "idle_ns"
    )
    assert found == [(2, 18, 16, 31, 10)]


def test_ranges_without_device_work_and_work_without_a_call() -> None:
    alone = make_trace(spans=[span(0, 10, "step 1", kind="annotation", category="user_annotation")])
    assert rows(alone, "path", "domain", "host_total_ns", "device_total_ns", "idle_ns") == [
        ("step 1", None, 10, 0, None)
    ]
    lost = make_trace(
        spans=[span(0, 10, "decode")],
        api_calls=[call(2)],
        kernels=[work(4, 7, None), work(8, 9, 0)],
    )
    found = time_by_range(lost)
    assert found.select("path", "device_total_ns", "idle_ns").rows() == [("decode", 1, 6)]
    said = notes(lost, found)
    assert said == [
        (
            "Rank 0: 25.0% of 0.00 µs of device work was launched inside ranges, most of it"
            " directly in decode (25.0%)."
        ),
        "75.0% of it has no launching call here, so no range can have it.",
    ]


def test_ranks_are_apart_and_what_other_threads_launched_is_said() -> None:
    trace = make_trace(
        spans=[span(0, 10, "backward"), span(0, 20, "backward", rank=1)],
        api_calls=[call(2, thread=9), call(3, thread=9, rank=1, api_call_id=0)],
        kernels=[work(4, 7, 0), work(4, 9, 0, rank=1, kernel_id=0)],
    )
    found = time_by_range(trace)
    assert found.select(
        "rank", "thread_id", "path", "device_total_ns", "other_threads_ns"
    ).rows() == [
        (0, 9, OUTSIDE, 3, 0),
        (0, 1, "backward", 0, 3),
        (1, 9, OUTSIDE, 5, 0),
        (1, 1, "backward", 0, 5),
    ]
    said = notes(trace, found)
    assert said[0] == "Rank 0: 0.0% of 0.00 µs of device work was launched inside ranges."
    assert "While backward was open, other threads of its process launched" in said[1]
    assert len(said) == 4


def test_a_trace_of_several_ranks_on_disk_gives_the_same(tmp_path: Path) -> None:
    tables = {
        "spans": [span(0, 10 + 10 * rank, f"r{rank}", rank=rank, span_id=0) for rank in range(3)],
        "api_calls": [call(2 + rank, rank=rank, api_call_id=0) for rank in range(2)],
        "kernels": [work(4, 7 + rank, 0, rank=rank, kernel_id=0) for rank in range(2)],
    }
    trace = make_trace(**tables)
    written = trace.write(tmp_path / "x.tracelens")
    columns = ("rank", "path", "host_total_ns", "device_total_ns", "idle_ns")
    expected = [(0, "r0", 10, 3, 7), (1, "r1", 20, 4, 16), (2, "r2", 30, 0, None)]
    assert rows(trace, *columns) == rows(Trace.open(tmp_path / "x.tracelens"), *columns) == expected
    assert notes(written, time_by_range(written))[0].startswith("Rank 0: 100.0% of")


def test_without_ranges() -> None:
    trace = make_trace(
        spans=[span(0, 10, "aten::mm", kind="op")], api_calls=[call(1)], kernels=[work(2, 3, 0)]
    )
    with pytest.raises(MissingTableError, match=r"record_function \(tracelens collect torch\)"):
        time_by_range(trace)


def _exports() -> Iterator[Path]:
    """Return every export whose NVTX tables nsys printed."""
    for folder in (SAMPLES / "nsys", MORE / "nsys"):
        for file in sorted(folder.glob("*_stats_nvtx_sum.csv")):
            yield folder / f"{file.stem.removesuffix('_stats_nvtx_sum')}.sqlite"


@cache
def _found(export: Path) -> pl.DataFrame:
    return time_by_range(collect(export))


def _printed(export: Path, table: str) -> list[dict[str, str]]:
    """Return the rows of a table that nsys printed.

    Those of PyTorch's ops, no ranges here, are left out.
    """
    file = export.with_name(f"{export.stem}_stats_{table}.csv")
    if not file.is_file():
        pytest.skip(f"nsys printed no {table} of {export.stem}")
    with file.open(newline="") as stream:
        printed = list(csv.DictReader(stream))
    return [
        row for row in printed if ", op_id = " not in row.get("Range", row.get("NVTX Range", ""))
    ]


exports = pytest.mark.parametrize(
    "export", list(_exports()), ids=lambda path: f"{path.parent.parent.name}/{path.stem}"
)


@exports
def test_host_times_are_those_of_nvtx_sum(export: Path) -> None:
    theirs = {
        row["Range"]: (int(row["Instances"]), int(row["Total Time (ns)"]))
        for row in _printed(export, "nvtx_sum")
    }
    ours = (
        _found(export)
        .drop_nulls("name")
        .group_by("name")
        .agg(pl.col("n_calls", "host_total_ns").sum())
    )
    assert {f":{name}": (n, total) for name, n, total in ours.iter_rows()} == theirs


@exports
def test_projected_times_are_those_of_nvtx_gpu_proj_sum(export: Path) -> None:
    theirs = {
        row["Range"]: (int(row["Total Proj Time (ns)"]), int(row["Total GPU Ops"]))
        for row in _printed(export, "nvtx_gpu_proj_sum")
    }
    ours = (
        _found(export)
        .drop_nulls("name")
        .group_by("name")
        .agg(pl.col("projected_ns", "n_launches").sum())
    )
    assert {f":{name}": (time, n) for name, time, n in ours.iter_rows() if n} == theirs


@exports
def test_kernel_times_are_those_of_nvtx_kern_sum(export: Path) -> None:
    theirs: Counter[tuple[str, int]] = Counter()
    for row in _printed(export, "nvtx_kern_sum"):
        theirs[row["NVTX Range"].removeprefix(":"), int(row["TID"])] += int(row["Total Time (ns)"])
    ours = _found(export).with_columns(pl.col("name").fill_null(""))
    ours = (
        ours.group_by("name", "thread_id")
        .agg(pl.col("kernel_total_ns").sum())
        .filter(pl.col("kernel_total_ns") > 0)
    )
    assert {(name, thread): total for name, thread, total in ours.iter_rows()} == dict(theirs)


@pytest.mark.parametrize(
    "name", ["resnet50_eager", "resnet50_train_f32_pageable", "resnet50_train_f64_pageable"]
)
def test_projected_times_are_those_of_kinetos_gpu_annotations(name: str) -> None:
    """Kineto draws an annotation on the GPU over what was launched while it was the innermost one.

    It adds 2 ns.
    """
    file = next(
        folder / f"{name}.pt.trace.json.gz"
        for folder in (SAMPLES / "torch", MORE / "torch")
        if (folder / f"{name}.pt.trace.json.gz").is_file()
    )
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    theirs: Counter[str] = Counter()
    n: Counter[str] = Counter()
    for event in events:
        if event.get("cat") == "gpu_user_annotation":
            theirs[event["name"]] += round(event["dur"] * US)
            n[event["name"]] += 1
    found = time_by_range(torch_trace(name)).filter(
        pl.col("name").is_not_null() & (pl.col("device_own_ns") > 0)
    )
    ours = dict(found.select("name", "projected_ns").iter_rows())
    assert ours.keys() == theirs.keys()
    assert all(theirs[range_name] == time + 2 * n[range_name] for range_name, time in ours.items())


TIMES = st.tuples(st.integers(0, 40), st.integers(0, 15))
RANGES = st.lists(
    st.tuples(TIMES, st.sampled_from([1, 2]), st.sampled_from(["", "NCCL"])),
    min_size=1,
    max_size=7,
    unique_by=lambda one: one[
        :2
    ],  # of two that are one in time, the source says which is around the other
)
CALLS = st.lists(st.tuples(st.integers(0, 60), st.sampled_from([1, 2, 3])), min_size=1, max_size=7)
WORK = st.lists(st.tuples(TIMES, st.integers(0, 6)), max_size=9)


def _scaled(times: tuple[int, int]) -> tuple[int, int]:
    return times[0] * 10 * US, (times[0] + times[1]) * 10 * US


@given(RANGES, CALLS, WORK)
def test_every_range_has_what_began_in_it(
    ranges: list[Any], calls: list[Any], pieces: list[Any]
) -> None:
    spans = [
        span(*_scaled(times), f"r{i}", thread, domain)
        for i, (times, thread, domain) in enumerate(ranges)
    ]
    api_calls = [call(at * 10 * US, thread) for at, thread in calls]
    kernels = [work(*_scaled(times), i % len(calls)) for times, i in pieces]
    trace = make_trace(spans=spans, api_calls=api_calls, kernels=kernels)
    found = {row["name"]: row for row in time_by_range(trace).iter_rows(named=True)}
    for one in spans:
        start, end = one["start_ns"], one["start_ns"] + one["duration_ns"]
        begun = [k for k in kernels if start <= api_calls[k["api_call_id"]]["start_ns"] < end]
        own = [k for k in begun if api_calls[k["api_call_id"]]["thread_id"] == one["thread_id"]]
        row = found[one["name"]]
        assert (
            row["device_total_ns"] == row["kernel_total_ns"] == sum(k["duration_ns"] for k in own)
        )
        assert row["n_launches"] == len({k["api_call_id"] for k in own})
        ends = [k["start_ns"] + k["duration_ns"] for k in own]
        assert row["projected_ns"] == (max(ends) - min(k["start_ns"] for k in own) if own else 0)
        assert (
            row["other_threads_ns"] == sum(k["duration_ns"] for k in begun) - row["device_total_ns"]
        )
        moments = range(start, end, 10 * US)
        busy = [
            any(k["start_ns"] <= t < k["start_ns"] + k["duration_ns"] for k in kernels)
            for t in moments
        ]
        assert row["idle_ns"] == (10 * US * busy.count(False) if kernels else None)
        assert 0 <= row["device_own_ns"] <= row["device_total_ns"]


@given(RANGES, CALLS, WORK, st.integers(0, 10**18))
def test_order_and_shift_change_nothing_and_own_times_add_up(
    ranges: list[Any], calls: list[Any], pieces: list[Any], shift: int
) -> None:
    spans = [
        span(*_scaled(times), f"r{i}", thread) | {"span_id": i}
        for i, (times, thread, _) in enumerate(ranges)
    ]
    api_calls = [call(at * 10 * US, thread, api_call_id=i) for i, (at, thread) in enumerate(calls)]
    kernels = [
        work(*_scaled(times), i % len(calls), kernel_id=k) for k, (times, i) in enumerate(pieces)
    ]
    found = time_by_range(make_trace(spans=spans, api_calls=api_calls, kernels=kernels))
    assert found["device_own_ns"].sum() == sum(k["duration_ns"] for k in kernels)
    moved = [
        [row | {"start_ns": row["start_ns"] + shift} for row in reversed(t)]
        for t in (spans, api_calls, kernels)
    ]
    assert_frame_equal(
        time_by_range(make_trace(spans=moved[0], api_calls=moved[1], kernels=moved[2])), found
    )


def test_ranges_of_a_process_are_drawn_by_host_time() -> None:
    trace = make_trace(spans=[{"kind": "annotation", "name": "load", "start_ns": 0}])
    assert ANALYSIS.charts is not None
    (chart,) = ANALYSIS.charts(time_by_range(trace))
    assert isinstance(chart, Bars)
    assert (chart.title, chart.measure) == ("Host time directly in each range", "host_own_ns")
