"""Test how long each rank's host works in a step, by its own clock and without its waits."""

import pytest

from tests.cases import make_trace
from tracelens.derive.time.host_pace import host_causes, host_paces
from tracelens.derive.time.late_ranks import _main_part
from tracelens.derive.time.model import time_model
from tracelens.derive.time.time_parts import TimeModel

MS = 10**6


def span(step: int, at_ms: int) -> dict[str, object]:
    """The mark of a step."""
    return {"kind": "annotation", "name": f"ProfilerStep#{step}", "step": step} | {
        "start_ns": at_ms * MS,
        "duration_ns": 10 * MS,
        "span_id": step,
    }


def did(cause: str, first_ms: int, last_ms: int) -> dict[str, object]:
    """An activity of the main thread."""
    return {"cause": cause, "start_ns": first_ms * MS, "duration_ns": (last_ms - first_ms) * MS}


@pytest.fixture(scope="module")
def model() -> TimeModel:
    """A host that begins steps at 0 and 10 ms; its device begins the second one at 14 ms.

    It sleeps from 8 to 13 ms, and waits for its device from 17 to 19 ms. A launch from 4 to 6 ms
    waits for room in the queue.
    """
    steps = [
        {"step": 1, "start_ns": 0, "duration_ns": 14 * MS, "host_ns": 10 * MS},
        {"step": 2, "start_ns": 14 * MS, "duration_ns": 12 * MS, "host_ns": 10 * MS},
    ]
    launch = {"kind": "kernel_launch", "start_ns": 4 * MS, "duration_ns": 2 * MS, "step": 1}
    kernel = {"start_ns": MS, "duration_ns": 24 * MS}
    return time_model(
        make_trace(
            steps=steps,
            spans=[span(1, 0), span(2, 10)],
            api_calls=[launch],
            activities=[did("launch", 0, 8), did("host", 8, 13), did("sync", 17, 19)],
            kernels=[kernel],
        )
    )


def test_a_host_that_waits_is_no_slower(model: TimeModel) -> None:
    """Step 1 takes 10 ms less the 2 of the blocked launch, step 2 10 ms less the 2 of the wait."""
    assert host_paces(model).select("rank", "step", "pace_ns", "launching_ns").rows() == [
        (0, 1, 8 * MS, 8 * MS),
        (0, 2, 8 * MS, 0),
    ]


def test_a_sleep_across_a_mark_counts_in_both_steps(model: TimeModel) -> None:
    """By the device's steps all of it would count in the first."""
    hosts = host_causes(model).filter(cause="host").sort("step")
    assert hosts.select("step", "spent_ns").rows() == [(1, 2 * MS), (2, 3 * MS)]


@pytest.mark.parametrize(
    ("excess", "cause"),
    [
        ({"compute": 5.0, "copy": 0.0, "launch": 6.0}, "compute"),
        ({"compute": 4.0, "copy": 0.0, "launch": 6.0}, "launch"),
    ],
    ids=["half of the delay", "less than half"],
)
def test_device_work_goes_before_what_a_profiler_slows(
    excess: dict[str, float], cause: str
) -> None:
    assert _main_part(excess, 10.0) == cause
