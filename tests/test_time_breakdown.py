"""time_breakdown: what a device did between its first and last event, by hand."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import make_trace
from tracelens.analyses.time_breakdown import notes, time_breakdown
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace


def at(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "duration_ns": end - start, **more}


def collective(start: int, end: int, **more: Any) -> dict[str, Any]:
    return at(start, end, name="nccl_all_reduce", is_communication=True, **more)


def whole(trace: Trace) -> dict[str, Any]:
    return time_breakdown(trace).filter(pl.col("step").is_null()).row(0, named=True)


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
    trace = make_trace(kernels=[at(0, 10), at(2, 8), at(5, 20), at(0, 7, device_id=1), at(0, 9, rank=1)])
    columns = ["rank", "device_id", "window_ns", "compute_ns"]
    assert time_breakdown(trace).select(columns).rows() == [(0, 0, 20, 20), (0, 1, 7, 7), (1, 0, 9, 9)]


def test_a_step_runs_from_its_first_event_to_its_last() -> None:
    trace = make_trace(kernels=[at(0, 10, step=0), at(20, 30, step=0), at(100, 110, step=1), at(200, 210)])
    columns = ["step", "window_ns", "compute_ns", "idle_ns"]
    assert time_breakdown(trace).select(columns).rows() == [(None, 210, 40, 170), (0, 30, 20, 10), (1, 10, 10, 0)]


@pytest.mark.parametrize(
    ("call", "starved"),
    [
        (at(50, 90), 0),  # returned before the device fell idle
        (at(120, 160), 60),  # until the launch returned; then the device took its time
        (at(120, 240), 100),  # the kernel started before the call returned
        (None, 0),  # nothing is known of the host
    ],
)
def test_starved_until_the_launch(call: dict[str, Any] | None, starved: int) -> None:
    # The device computes to 100 and again from 200.
    first = at(0, 100)
    if call is None:
        trace = make_trace(kernels=[first, at(200, 210, link="pre_window")])
    else:
        trace = make_trace(kernels=[first, at(200, 210, api_call_id=0)], api_calls=[call])
    row = whole(trace)
    assert (row["idle_ns"], row["starved_ns"]) == (100, starved)


def test_waiting_in_collectives_is_what_the_fastest_rank_does_not_need() -> None:
    trace = make_trace(
        kernels=[
            collective(0, 10, step=0),
            collective(50, 100, step=0),
            collective(5, 35, step=0, rank=1, device_id=1),
            collective(80, 100, step=0, rank=1, device_id=1),
        ]
    )
    rows = time_breakdown(trace).drop_nulls("step")
    assert rows.select("rank", "last_collective_ns", "collective_wait_ns").rows() == [(0, 50, 30), (1, 20, 20)]
    said = " ".join(notes(trace, time_breakdown(trace)))
    assert "Rank 0 waits 0.00 ms a step" in said


@pytest.mark.parametrize(
    "kernels",
    [
        [collective(0, 10, step=0)],  # one rank
        [collective(0, 10, step=0), collective(0, 30, step=0, rank=1), collective(40, 50, step=0, rank=1)],
        [collective(0, 10, step=0), collective(0, 10, step=0, rank=1) | {"name": "nccl_broadcast"}],
    ],
)
def test_collectives_that_do_not_match_tell_no_wait(kernels: list[dict[str, Any]]) -> None:
    assert time_breakdown(make_trace(kernels=kernels))["collective_wait_ns"].drop_nulls().is_empty()


def test_without_steps_the_notes_say_so() -> None:
    trace = make_trace(kernels=[at(0, 10)])
    assert notes(trace, time_breakdown(trace)) == ["The trace marks no steps, so only the whole trace is broken down."]


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
KERNELS = st.lists(st.builds(lambda event, comm: event | {"is_communication": comm}, EVENT, st.booleans()), min_size=1)


@given(KERNELS, st.lists(EVENT), st.integers(-(10**6), 10**18))
def test_shares_make_up_the_window(kernels: list[dict[str, Any]], copies: list[dict[str, Any]], shift: int) -> None:
    found = time_breakdown(make_trace(kernels=kernels, memcpys=copies))
    parts = found.select("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns")
    assert [sum(row) for row in parts.rows()] == found["window_ns"].to_list()
    assert (found["starved_ns"] <= found["idle_ns"]).all()
    assert (found["communication_ns"] >= found["exposed_communication_ns"]).all()
    later = [
        [event | {"start_ns": event["start_ns"] + shift} for event in reversed(events)] for events in (kernels, copies)
    ]
    assert_frame_equal(time_breakdown(make_trace(kernels=later[0], memcpys=later[1])), found)
