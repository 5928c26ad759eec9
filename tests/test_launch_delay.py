"""launch_delay: from the end of a call to the start of what it began, by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import make_trace
from tracelens.analyses.launch_delay import launch_delay, notes
from tracelens.errors import MissingTableError
from tracelens.schemas.results.calls import LAUNCH_DELAY


def call(start: int, end: int, api: str = "cudaLaunchKernel") -> dict[str, Any]:
    return {"start_ns": start, "duration_ns": end - start, "api": api}


def work(start: int, end: int, call_id: int | None) -> dict[str, Any]:
    return {"start_ns": start, "duration_ns": end - start, "api_call_id": call_id}


def test_delay_is_from_the_calls_end_and_may_be_negative() -> None:
    trace = make_trace(
        api_calls=[call(0, 10), call(20, 30), call(40, 46)],
        # 5 after the call ended; 4 before it ended; 14 after
        kernels=[work(15, 20, 0), work(26, 76, 1), work(60, 61, 2)],
    )
    (row,) = LAUNCH_DELAY.check(launch_delay(trace)).to_dicts()
    assert (row["api"], row["work"], row["n_calls"]) == ("cudaLaunchKernel", "kernel", 3)
    assert (row["delay_median_ns"], row["delay_mean_ns"], row["delay_max_ns"]) == (5.0, 5.0, 14)
    assert (row["api_total_ns"], row["api_median_ns"], row["duration_total_ns"]) == (26, 10.0, 56)
    assert row["short_frac"] == pytest.approx(2 / 3)  # 5 < 10 and 1 < 6


def test_a_graph_launch_counts_once_and_against_all_it_starts() -> None:
    long, short = [work(100 + 40 * i, 130 + 40 * i, 0) for i in range(3)], [work(500, 505, 1)]
    trace = make_trace(
        api_calls=[call(0, 60, "cudaGraphLaunch"), call(300, 360, "cudaGraphLaunch")],
        kernels=long + short,
    )
    (row,) = launch_delay(trace).to_dicts()
    assert (row["n_calls"], row["api_total_ns"], row["api_median_ns"]) == (4, 120, 60.0)
    assert row["short_frac"] == 0.25  # 90 > 60, though each of the three is shorter; 5 < 60
    assert row["delay_max_ns"] == 140


def test_a_row_a_function_and_sort_of_work_most_host_time_first() -> None:
    trace = make_trace(
        api_calls=[
            call(0, 10),
            call(20, 50, "cudaMemcpyAsync"),
            call(60, 65, "cudaMemsetAsync"),
            call(70, 90, "cuLaunchKernel"),
        ],
        kernels=[work(15, 20, 0), work(95, 99, 3)],
        memcpys=[work(30, 40, 1)],
        memsets=[work(66, 67, 2)],
    )
    assert launch_delay(trace).select("api", "work", "delay_max_ns").rows() == [
        ("cudaMemcpyAsync", "memcpy", -20),
        ("cuLaunchKernel", "kernel", 5),
        ("cudaLaunchKernel", "kernel", 5),
        ("cudaMemsetAsync", "memset", 1),
    ]


def test_the_launch_queue() -> None:
    """Two launches wait 90 and 180 ns in the 200 ns from the first's return to the last start."""
    calls = [call(0, 10), call(20, 30)]
    trace = make_trace(api_calls=calls, kernels=[work(100, 110, 0), work(210, 220, 1)])
    assert "return of the call: the host is ahead" in notes(trace, launch_delay(trace))[1]
    assert "1.4 launches wait on average" in notes(trace, launch_delay(trace))[1]
    trace = make_trace(api_calls=calls, kernels=[work(12, 15, 0), work(210, 220, 1)])
    assert "0.9 launches wait on average" in notes(trace, launch_delay(trace))[1]
    assert "return of the call: the device waits" in notes(trace, launch_delay(trace))[1]


def test_work_without_a_call_is_left_out_and_said() -> None:
    trace = make_trace(api_calls=[call(0, 10)], kernels=[work(15, 35, 0), work(15, 20, None)])
    found = launch_delay(trace)
    assert found["n_calls"].to_list() == [1]
    said = notes(trace, found)
    assert "0% of kernels and copies took less time than the call" in said[0]
    assert "1 kernels have no launching call" in said[-1]


@pytest.mark.parametrize("tables", [{"kernels": [work(0, 1, None)]}, {"api_calls": [call(0, 1)]}])
def test_without_kernels_or_calls(tables: dict[str, Any]) -> None:
    with pytest.raises(MissingTableError, match="tracelens collect torch or nsys"):
        launch_delay(make_trace(**tables))


PIECES = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 20), st.integers(0, 3)), min_size=1, max_size=8
)


@given(PIECES, st.integers(0, 10**18))
def test_order_and_shift_change_nothing(pieces: list[tuple[int, int, int]], shift: int) -> None:
    calls = [call(10 * i, 10 * i + 7) | {"api_call_id": i} for i in range(4)]
    kernels = [work(start, start + length, i) for start, length, i in pieces]
    found = launch_delay(make_trace(api_calls=calls, kernels=kernels))
    assert found["n_calls"].sum() == len(pieces)
    assert found["short_frac"].is_between(0, 1).all()
    moved = [
        [row | {"start_ns": row["start_ns"] + shift} for row in reversed(rows)]
        for rows in (calls, kernels)
    ]
    assert_frame_equal(launch_delay(make_trace(api_calls=moved[0], kernels=moved[1])), found)
