"""time_breakdown: what a device did between its first and last event, by hand."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import WHOLE, make_trace
from tests.conftest import examples
from tracelens.analyses.time_breakdown import notes, time_breakdown
from tracelens.errors import MissingTableError
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace


def at(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "duration_ns": end - start, **more}


def collective(start: int, end: int, **more: Any) -> dict[str, Any]:
    return at(start, end, name="nccl_all_reduce", is_communication=True, **more)


def whole(trace: Trace) -> dict[str, Any]:
    return time_breakdown(trace).filter(WHOLE).row(0, named=True)


def test_each_moment_belongs_to_the_most_useful_thing_that_runs() -> None:
    #        0        80   100      120   150     180   200   220         300   310
    # kernel |--------------|                      |-----------|           |-----|
    # copy            |------------------|
    # nccl                           |-------------------|
    trace = make_trace(
        kernels=[at(0, 100), at(180, 220), at(300, 310), collective(120, 200)],
        memcpys=[at(80, 140)],
        memsets=[at(130, 150)],
    )
    row = whole(checked(trace))
    assert {name: row[f"{name}_ns"] for name in ("window", "compute", "communication", "copy")} == {
        "window": 310,
        "compute": 150,
        "communication": 80,
        "copy": 70,
    }
    assert row["exposed_communication_ns"] == 60  # 120 to 180: from there on something is computed
    assert row["exposed_copy_ns"] == 20  # 100 to 120
    assert row["idle_ns"] == 80
    assert row["compute_frac"] == pytest.approx(150 / 310)
    assert row["idle_frac"] == pytest.approx(80 / 310)


def checked(trace: Trace) -> Trace:
    """The trace, after its result passed the declared columns."""
    TIME_BREAKDOWN.check(time_breakdown(trace))
    return trace


def test_overlapping_kernels_count_once_and_devices_apart() -> None:
    trace = make_trace(
        kernels=[at(0, 10), at(2, 8), at(5, 20), at(0, 7, device_id=1), at(0, 9, rank=1)]
    )
    columns = ["rank", "device_id", "window_ns", "compute_ns"]
    assert time_breakdown(trace).select(columns).rows() == [
        (0, 0, 20, 20),
        (0, 1, 20, 7),  # the rank's program goes on
        (1, 0, 9, 9),
    ]


def step(number: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    """A mark of a step."""
    return at(start, end, kind="annotation", name=f"ProfilerStep#{number}", **more)


def test_a_row_a_step_of_whatever_ran_in_it() -> None:
    """A kernel that step 0 launched runs over its end. The one at 200 runs after all steps."""
    kernels = [at(0, 10, step=0), at(20, 130, step=0), at(130, 140, step=1), at(200, 210)]
    trace = make_trace(spans=[step(0, 0, 100), step(1, 100, 150)], kernels=kernels)
    columns = ["step", "window_ns", "compute_ns", "idle_ns"]
    assert time_breakdown(trace).select(columns).rows() == [
        (None, 210, 140, 70),
        (0, 130, 120, 10),
        (1, 20, 10, 10),
    ]


def test_idle_time_counts_once_where_the_device_lags() -> None:
    """Six steps, marked every 10 ns, whose kernels run in a row with pauses of 5 ns between."""
    marks = [step(number, number * 10, number * 10 + 10) for number in range(6)]
    calls = [at(number * 10, number * 10 + 1, kind="kernel_launch") for number in range(6)]
    kernels = [
        at(5 + number * 100, 100 + number * 100, api_call_id=number, step=number)
        for number in range(6)
    ]
    found = time_breakdown(make_trace(spans=marks, api_calls=calls, kernels=kernels)).drop_nulls(
        "step"
    )
    assert found["window_ns"].to_list() == [100] * 6
    assert found["idle_ns"].to_list() == [5] * 6


def test_waiting_lasts_until_the_last_rank_has_begun() -> None:
    """Rank 0 begins 5 ns before rank 1, then 30 ns."""
    trace = make_trace(
        spans=[step(0, 0, 100), step(0, 0, 100, rank=1)],
        kernels=[
            collective(0, 10, step=0),
            collective(50, 100, step=0),
            collective(5, 35, step=0, rank=1, device_id=1),
            collective(80, 100, step=0, rank=1, device_id=1),
        ],
    )
    rows = time_breakdown(trace).drop_nulls("step")
    assert rows.select("rank", "last_collective_ns", "collective_wait_ns").rows() == [
        (0, 50, 35),
        (1, 20, 0),
    ]


@pytest.mark.parametrize(
    "kernels",
    [
        [collective(0, 10, step=0)],  # one rank
        [collective(0, 10, step=0), collective(0, 10, step=0, rank=1) | {"name": "nccl_broadcast"}],
    ],
)
def test_collectives_that_do_not_match_tell_no_wait(kernels: list[dict[str, Any]]) -> None:
    trace = make_trace(spans=[step(0, 0, 100), step(0, 0, 100, rank=1)], kernels=kernels)
    assert time_breakdown(trace).drop_nulls("step").height
    assert time_breakdown(trace)["collective_wait_ns"].drop_nulls().is_empty()


def test_without_steps_the_notes_say_so() -> None:
    trace = make_trace(kernels=[at(0, 10_000)])
    assert notes(trace, time_breakdown(trace)) == [
        "The trace marks no steps: all shares are of the 10.0 µs that were recorded."
    ]


def test_without_kernels() -> None:
    with pytest.raises(MissingTableError, match="tracelens collect torch or nsys"):
        time_breakdown(make_trace(memcpys=[at(0, 10)]))


EVENT = st.fixed_dictionaries(
    {
        "start_ns": st.integers(0, 200),
        "duration_ns": st.integers(0, 50),
        "step": st.sampled_from([None, 0, 1]),
        "rank": st.integers(0, 1),
    }
)
KERNELS = st.lists(
    st.builds(lambda event, comm: event | {"is_communication": comm}, EVENT, st.booleans()),
    min_size=1,
)


@settings(max_examples=examples(16))
@given(KERNELS, st.lists(EVENT), st.integers(-(10**6), 10**18))
def test_shares_make_up_the_window(
    kernels: list[dict[str, Any]], copies: list[dict[str, Any]], shift: int
) -> None:
    marks = [step(0, 0, 110), step(1, 120, 200), step(0, 10, 90, rank=1)]
    found = time_breakdown(make_trace(spans=marks, kernels=kernels, memcpys=copies))
    parts = found.select("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns")
    assert [sum(row) for row in parts.rows()] == found["window_ns"].to_list()
    assert (
        found.select(pl.sum_horizontal(f"idle_{cause}_ns" for cause in CAUSES))
        .to_series()
        .equals(found["idle_ns"])
    )
    assert (found["communication_ns"] >= found["exposed_communication_ns"]).all()
    later = [
        [event | {"start_ns": event["start_ns"] + shift} for event in reversed(events)]
        for events in (marks, kernels, copies)
    ]
    assert_frame_equal(
        time_breakdown(make_trace(spans=later[0], kernels=later[1], memcpys=later[2])), found
    )
