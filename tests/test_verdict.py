"""verdict: what limits a device that runs from 0 to 1000, by hand."""

from typing import Any

import pytest

from tests.cases import make_trace
from tests.test_time_breakdown import at, collective
from tracelens.analyses.verdict import notes, verdict
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import VERDICT


def idle_between(*, call_returns: int) -> dict[str, list[dict[str, Any]]]:
    """Kernels to 400 and from 900; the second one's launch returns at some time."""
    return {
        "kernels": [at(0, 400), at(900, 1000, api_call_id=0)],
        "api_calls": [at(10, call_returns, kind="kernel_launch")],
    }


@pytest.mark.parametrize(
    ("tables", "bound", "value"),
    [
        ({"kernels": [at(0, 850), at(990, 1000)]}, "compute", 0.86),
        (idle_between(call_returns=880), "launch", 0.48),
        (idle_between(call_returns=100), "unknown", 0.5),
        ({"kernels": [at(0, 400), at(900, 1000)], "memcpys": [at(400, 900)]}, "copy", 0.5),
        ({"kernels": [at(0, 400), at(900, 1000), collective(300, 900)]}, "communication", 0.5),
        # It computes 79 % of the time, but nothing else takes as much as 10 %.
        (
            {"kernels": [at(0, 780), collective(860, 940), at(990, 1000)], "memcpys": [at(780, 860)]},
            "compute",
            0.79,
        ),
        # It computes 79 % of the time, and copies for all the rest.
        ({"kernels": [at(0, 780), at(990, 1000)], "memcpys": [at(780, 990)]}, "copy", 0.21),
        ({"kernels": [at(5, 5)]}, "compute", 0.0),
    ],
)
def test_bound(tables: dict[str, Any], bound: str, value: float) -> None:
    (row,) = VERDICT.check(verdict(make_trace(**tables))).to_dicts()
    assert (row["bound"], row["value"], row["unit"]) == (bound, pytest.approx(value), "1")
    assert f"{value:.1%}" in row["evidence"]


def test_time_between_steps_does_not_count() -> None:
    marked = make_trace(kernels=[at(0, 100, step=0), at(900, 1000, step=1)])
    assert verdict(marked)["value"].to_list() == [1.0]
    unmarked = make_trace(kernels=[at(0, 100), at(900, 1000)])
    assert verdict(unmarked)["bound"].to_list() == ["unknown"]


def test_a_row_a_rank() -> None:
    trace = make_trace(kernels=[at(0, 100), at(0, 10, rank=1), at(90, 100, rank=1)], memcpys=[at(10, 90, rank=1)])
    assert verdict(trace).select("rank", "bound").rows() == [(0, "compute"), (1, "copy")]
    assert [text.split(":")[0] for text in notes(trace, verdict(trace))] == ["Compute-bound", "Copy-bound"]


def test_notes_warn_of_a_profiler_that_slows_the_host_and_of_a_cut_trace() -> None:
    trace = make_trace(kernels=[at(0, 100)], spans=[{"kind": "python"}])
    assert "slows the host" in notes(trace, verdict(trace))[1]
    trace.manifest.complete = False
    assert "cut off" in notes(trace, verdict(trace))[2]


def test_without_kernels() -> None:
    with pytest.raises(MissingTableError, match="tracelens collect torch or nsys"):
        verdict(make_trace())
