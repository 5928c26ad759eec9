"""Work of autograd's threads in a trace of ranges only: it is of the phase open meanwhile."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

import tracelens as tl
from tests.cases import layers_with_kernels, make_trace
from tests.sources import SAMPLES
from tracelens.trace import Trace

MAIN, ANOTHER = 1, 2
ELSEWHERE = "launched by another thread while a range named backward was open"


def trained(*launches: dict[str, Any]) -> Trace:
    """Make ranges of the main thread, forward from 0 to 100 and backward to 200.

    Each launch has a kernel of 7 ns.
    """
    ranges = [
        {"name": phase, "kind": "nvtx", "phase": phase, "start_ns": start, "duration_ns": 100}
        for start, phase in ((0, "forward"), (100, "backward"))
    ]
    calls = [{"kind": "kernel_launch", "process_id": 5, **launch} for launch in launches]
    return make_trace(
        spans=[{"process_id": 5, "thread_id": MAIN, **one} for one in ranges],
        api_calls=calls,
        kernels=[
            {"api_call_id": at, "span_id": one.get("span_id"), "duration_ns": 7}
            for at, one in enumerate(calls)
        ],
    )


@pytest.mark.parametrize(
    ("launch", "phase", "evidence"),
    [
        ({"thread_id": ANOTHER, "start_ns": 150}, "backward", ELSEWHERE),
        # Between the ranges' ends, and while forward is open: no thread of autograd's is at work.
        ({"thread_id": ANOTHER, "start_ns": 200}, None, "none"),
        ({"thread_id": ANOTHER, "start_ns": 50}, None, "none"),
        # Another process has ranges of its own.
        ({"thread_id": ANOTHER, "start_ns": 150, "process_id": 6}, None, "none"),
        # A thread inside a range of its own says itself what it does.
        ({"thread_id": MAIN, "start_ns": 150, "span_id": 1}, "backward", "none"),
        ({"thread_id": ANOTHER, "start_ns": 150, "span_id": 0}, "forward", "none"),
    ],
)
def test_the_phase_is_that_of_the_range_that_is_open(
    launch: dict[str, Any], phase: str | None, evidence: str
) -> None:
    rows = layers_with_kernels(trained(launch)).select("layer", "phase", "evidence").rows()
    assert rows == [("(unattributed)", phase, evidence)]


def test_backward_of_a_real_export_is_what_its_file_has() -> None:
    """Kernels that other threads launched than that of the range `backward`, from the export."""
    path = SAMPLES / "nsys" / "train_f64_resnet50.sqlite"
    with closing(sqlite3.connect(path)) as database:
        (expected_ns, n_kernels) = database.execute(
            "SELECT SUM(k.end - k.start), COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k"
            " JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId"
            " JOIN NVTX_EVENTS n ON n.text = 'backward' AND r.start BETWEEN n.start AND n.end"
        ).fetchone()
    rows = layers_with_kernels(tl.collect(path)).filter(phase="backward")
    assert rows.select("duration_total_ns", "n_kernels").rows() == [(expected_ns, n_kernels)]
