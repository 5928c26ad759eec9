"""A process without a device: where its time goes, why it does not compute, what limits it."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import make_trace
from tracelens.analyses import idle_gaps, time_breakdown, verdict
from tracelens.analyses.time_breakdown import notes
from tracelens.analyses.verdict import notes as verdict_notes
from tracelens.derive.time.model import list_idle
from tracelens.derive.time.step_table import activities_of
from tracelens.errors import MissingTableError
from tracelens.exports.export import Selection
from tracelens.exports.tracks import tracks_of
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import IDLE_GAPS, TIME_BREAKDOWN, VERDICT
from tracelens.trace import Trace

US = 1_000
MAIN, OTHER = 1, 2
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
IDLE = [f"idle_{cause}_ns" for cause in CAUSES]


def span(
    start_us: int, end_us: int, name: str, kind: str = "op", thread: int = MAIN, **more: Any
) -> dict[str, Any]:
    times = {"start_ns": start_us * US, "duration_ns": (end_us - start_us) * US}
    return {"kind": kind, "name": name, "thread_id": thread, **times, **more}


def step(number: int, start_us: int, end_us: int) -> dict[str, Any]:
    return span(start_us, end_us, f"ProfilerStep#{number}", "annotation")


def process(*spans: dict[str, Any], **tables: list[dict[str, Any]]) -> Trace:
    """A trace of spans, each within the shortest one of its thread that contains it."""
    rows = sorted(spans, key=lambda row: (row["start_ns"], -row["duration_ns"]))

    def contains(outer: dict[str, Any], inner: dict[str, Any]) -> bool:
        end = inner["start_ns"] + inner["duration_ns"]
        is_around = (
            outer["start_ns"] <= inner["start_ns"]
            and outer["start_ns"] + outer["duration_ns"] >= end
        )
        return bool(is_around and outer["thread_id"] == inner["thread_id"])

    for i, row in enumerate(rows):
        around = [j for j in range(i) if contains(rows[j], row)]
        row["parent_id"] = min(around, key=lambda j: (rows[j]["duration_ns"], -j), default=None)
    return make_trace(spans=rows, **tables)


def two_steps() -> Trace:
    # µs      0     1000      4000 4050 5000 5500     6500 7000       9000 10000     13000 14000
    # main    |      | conv    |    |relu|                  | loader   |   | | gemm   |     |
    # other                                   | add    |
    # steps   |--------------------------- 0 -------------------------------|------ 1 ------|
    # The loader runs an op too, from 7500 to 8000.
    return process(
        step(0, 0, 10_000),
        step(1, 10_000, 14_000),
        span(1_000, 4_000, "aten::conv2d"),
        span(1_500, 3_500, "aten::_convolution"),
        span(4_050, 5_000, "aten::relu"),
        span(5_500, 6_500, "aten::add", thread=OTHER),
        span(7_000, 9_000, LOADER, "annotation"),
        span(7_500, 8_000, "aten::randn"),
        span(10_000, 13_000, "aten::gemm"),
    )


def test_a_step_is_split_into_ops_and_host_time() -> None:
    found = TIME_BREAKDOWN.check(time_breakdown(two_steps()))
    assert found["device_id"].to_list() == [None, None, None]
    named = found.select(
        "step",
        pl.col("window_ns", "compute_ns", "idle_input_ns", "idle_launch_ns", "idle_host_ns") / US,
    )
    assert named.rows() == [
        (None, 14_000, 7_950, 2_000, 50, 4_000),
        # Of the host 0 to 1000, 5000 to 5500, 6500 to 7000 and 9000 to 10000; the op in the loader
        # is input.
        (0, 10_000, 4_950, 2_000, 50, 3_000),
        (1, 4_000, 3_000, 0, 0, 1_000),
    ]
    assert found["compute_frac"].to_list() == [7_950 / 14_000, 0.495, 0.75]
    assert notes(two_steps(), found)[0] == "A step takes 7.00 ms (median of 2; 4.00 to 10.0 ms)."
    assert "runs an op" in notes(two_steps(), found)[1]


def test_time_without_ops_is_the_main_threads() -> None:
    found = IDLE_GAPS.check(idle_gaps(two_steps()))
    by_cause = found.group_by("cause").agg(pl.col("idle_ns").sum() / US).sort("cause")
    assert by_cause.rows() == [("host", 4_000), ("input", 2_000), ("launch", 50)]
    loader, op = found.filter(cause="input").iter_rows(named=True)
    assert loader["what"] == "DataLoader.__next__ (_SingleProcessDataLoaderIter)"
    assert (loader["n_gaps"], loader["longest_ns"], loader["example_ns"]) == (
        2,
        1_000 * US,
        8_000 * US,
    )
    assert loader["share_frac"] == pytest.approx(1.5 / 14)
    assert (op["what"], op["idle_ns"]) == (f"{loader['what']} > aten::randn", 500 * US)


def test_idle_time_is_where_no_thread_runs_an_op() -> None:
    trace = two_steps()
    found = list_idle(trace).select(pl.col("start_ns", "end_ns") / US, "cause")
    host = [(0, 1_000), (5_000, 5_500), (6_500, 7_000), (9_000, 10_000), (13_000, 14_000)]
    expected = [(*times, "host") for times in host] + [
        (4_000, 4_050, "launch"),
        (7_000, 9_000, "input"),
    ]
    assert merged(found.rows()) == sorted(expected)
    (track,) = (one for one in tracks_of(Selection.of(trace), 0) if one.path[-1] == "idle")
    assert track.path == ("process", "idle")
    assert (track.slices["end_ns"] - track.slices["start_ns"]).sum() == 6_050 * US
    of_step = next(
        one for one in tracks_of(Selection.of(trace, steps=[1]), 0) if one.path[-1] == "idle"
    )
    assert of_step.slices["name"].to_list() == ["host"]


def merged(rows: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return the rows by start. Rows that follow each other with one cause are merged."""
    found: list[tuple[int, int, str]] = []
    for start, end, cause in sorted(rows):
        follows = bool(found) and found[-1][1:] == (start, cause)
        found.append((found.pop()[0] if follows else start, end, cause))
    return found


def test_the_verdict_is_on_the_process() -> None:
    (row,) = VERDICT.check(verdict(two_steps())).to_dicts()
    assert (row["bound"], row["value"]) == ("compute", pytest.approx(7.95 / 14))
    assert (row["second"], row["second_frac"]) == ("host", pytest.approx(4 / 14))
    assert row["evidence"].startswith("the process computes 56.8% of step time, mostly in aten::")
    assert "; then outside of ops 28.6%" in row["evidence"]


@pytest.mark.parametrize(
    ("busy_us", "bound", "words"),
    [
        (3_900, "compute", "the process computes 97.5% of step time, mostly in aten::mm"),
        (1_900, "host", "the process does other work, or none 52.5%"),
    ],
)
def test_bounds(busy_us: int, bound: str, words: str) -> None:
    trace = process(
        step(0, 0, 4_000),
        step(1, 4_000, 8_000),
        span(0, busy_us, "aten::mm"),
        span(4_000, 4_000 + busy_us, "aten::mm"),
    )
    (row,) = verdict(trace).to_dicts()
    assert row["bound"] == bound
    assert row["evidence"].startswith(words)


def test_gloo_is_communication() -> None:
    """Of 10,000 µs ops take 3,000.

    Communication lasts from 2,000 to 8,100, of which 1,000 beside an op.
    """
    trace = process(
        step(0, 0, 5_000),
        step(1, 5_000, 10_000),
        span(0, 2_000, "aten::mm"),
        span(2_000, 2_500, "c10d::allreduce_"),
        span(2_100, 8_100, "gloo:all_reduce", "annotation", thread=OTHER),
        span(7_000, 8_000, "aten::add"),
    )
    (row,) = verdict(trace).to_dicts()
    assert (row["bound"], row["bound_frac"]) == ("communication", pytest.approx(0.51))
    assert (row["second"], row["second_frac"]) == ("compute", pytest.approx(0.3))
    assert row["what"] == "gloo:all_reduce"
    assert row["evidence"].startswith("the process only communicates 51.0% of step time")
    found = time_breakdown(trace)
    assert found["exposed_communication_ns"].to_list() == [5_100 * US, 3_000 * US, 2_100 * US]
    assert found.select(
        pl.sum_horizontal("compute_ns", "exposed_communication_ns", "idle_ns")
    ).to_series().to_list() == [
        10_000 * US,
        5_000 * US,
        5_000 * US,
    ]
    idle = list_idle(trace).select(pl.col("start_ns", "end_ns") / US, "cause").rows()
    assert merged(idle) == [(8_100, 10_000, "host")]


def test_short_pauses_between_ops_are_the_framework() -> None:
    # 20 ops of 30 µs, each 60 µs after the one before: two thirds of the time but for the last
    # pause.
    ops = [span(90 * i, 90 * i + 30, "aten::add") for i in range(20)]
    (row,) = verdict(process(*ops)).to_dicts()
    assert (row["bound"], row["value"]) == ("launch", pytest.approx(19 * 60 / (19 * 90 + 30)))
    assert row["evidence"].startswith(
        "the process calls ops that do little work, or is between two ops, 65.5% of the time"
    )
    assert "Call fewer ops" in " ".join(verdict_notes(process(*ops), verdict(process(*ops))))


def test_a_few_ops_are_too_little() -> None:
    (row,) = verdict(process(span(0, 10, "aten::add"), span(50, 60, "aten::add"))).to_dicts()
    assert row["bound"] == "too little to judge"
    assert row["evidence"] == "2 ops; the process works for 33.33% of the time"


def test_an_op_across_two_steps_counts_in_each() -> None:
    trace = process(
        step(0, 0, 1_000), step(1, 1_000, 3_000), span(800, 1_500, "aten::mm", thread=OTHER)
    )
    found = time_breakdown(trace).drop_nulls("step")
    assert found.select("step", pl.col("compute_ns", "idle_host_ns") / US).rows() == [
        (0, 200, 800),
        (1, 500, 1_500),
    ]
    assert activities_of(trace).filter(pl.col("op_ns") > 0)["op_ns"].to_list() == [
        200 * US,
        500 * US,
    ]


def test_without_steps_time_from_first_op_to_last_counts() -> None:
    trace = process(
        span(1_000, 2_000, "aten::mm"),
        span(2_000, 3_000, "aten::mm"),
        span(0, 500, "aten::add", thread=OTHER),
    )
    (row,) = time_breakdown(trace).iter_rows(named=True)
    assert (row["window_ns"], row["compute_ns"], row["idle_host_ns"]) == (
        3_000 * US,
        2_500 * US,
        500 * US,
    )


def test_ranks_with_and_without_a_device_stand_side_by_side() -> None:
    kernels = [{"rank": 1, "start_ns": 0, "duration_ns": 10, "name": "k"}]
    found = time_breakdown(process(span(0, 1_000, "aten::mm"), kernels=kernels))
    assert found.select("rank", "device_id", "compute_ns").rows() == [
        (0, None, 1_000 * US),
        (1, 0, 10),
    ]
    assert (
        "the process of rank 0"
        in notes(process(span(0, 10, "aten::mm"), kernels=kernels), found)[-1]
    )


def test_calls_that_launch_without_kernels_are_no_answer() -> None:
    launch = {
        "kind": "kernel_launch",
        "api": "cudaLaunchKernel",
        "thread_id": MAIN,
        "start_ns": 0,
        "duration_ns": 5,
    }
    with pytest.raises(MissingTableError, match=r"^time_breakdown needs the table kernels"):
        time_breakdown(process(span(0, 1_000, "aten::mm"), api_calls=[launch]))


def test_a_device_that_was_not_recorded_is_told_of() -> None:
    trace = process(span(0, 1_000, "aten::mm"), devices=[{"name": "NVIDIA H200", "device_id": 0}])
    assert "No work of the device (NVIDIA H200) was recorded" in " ".join(
        verdict_notes(trace, verdict(trace))
    )


def by_cause(frame: pl.DataFrame, time: pl.Expr) -> list[tuple[str, int]]:
    """The time of each cause that has any."""
    return frame.group_by("cause").agg(ns=time.sum()).filter(pl.col("ns") > 0).rows()


TIMES = st.tuples(st.integers(0, 59), st.integers(1, 20)).map(
    lambda at: (at[0] * 40, min(at[0] + at[1], 60) * 40)
)
SORTS = st.sampled_from([("aten::mm", "op"), (LOADER, "annotation"), ("f.py(3): f", "python")])


@given(
    st.lists(st.tuples(TIMES, SORTS, st.sampled_from([MAIN, OTHER, 3])), min_size=1, max_size=12),
    st.lists(st.integers(1, 59).map(lambda at: at * 40), max_size=3, unique=True).map(sorted),
)
def test_parts_of_random_schedules_are_those_they_were_made_with(
    made: list[tuple[tuple[int, int], tuple[str, str], int]], cuts: list[int]
) -> None:
    edges = [0, *cuts, 60 * 40]
    steps = [step(i, start, end) for i, (start, end) in enumerate(pairwise(edges))]
    spans = [span(start, end, name, kind, thread) for (start, end), (name, kind), thread in made]
    trace = process(*steps, *spans, span(0, 40, "aten::first"))
    found = time_breakdown(trace)
    assert (
        found.select(pl.sum_horizontal("compute_ns", *IDLE)).to_series().to_list()
        == found["window_ns"].to_list()
    )
    assert (found["compute_ns"] + found["idle_ns"]).to_list() == found["window_ns"].to_list()

    def covers(moment: int, of: str, threads: tuple[int, ...]) -> bool:
        rows = [*made, ((0, 40), ("aten::first", "op"), MAIN)]
        return any(
            s <= moment < e and of in sort and thread in threads for (s, e), sort, thread in rows
        )

    for row, (start, end) in zip(
        found.drop_nulls("step").iter_rows(named=True), pairwise(edges), strict=True
    ):
        moments = range(start, end, 40)
        loading = [at for at in moments if covers(at, LOADER, (MAIN,))]
        busy = [at for at in moments if at not in loading and covers(at, "op", (MAIN, OTHER, 3))]
        assert row["window_ns"] == (end - start) * US
        assert (row["idle_input_ns"], row["compute_ns"]) == (
            len(loading) * 40 * US,
            len(busy) * 40 * US,
        )
    gaps = idle_gaps(trace)["idle_ns"].sum()
    # A last step in which nothing runs is no part of the program.
    assert gaps == found.filter(phase="program")["idle_ns"].sum()
    assert sorted(by_cause(idle_gaps(trace), pl.col("idle_ns"))) == sorted(
        by_cause(list_idle(trace), pl.col("end_ns") - pl.col("start_ns"))
    )
    judged = verdict(trace)
    assert judged["bound"][0] in {"compute", "input", "host", "launch", "too little to judge"}
