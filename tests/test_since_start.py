"""Moments in reports count from the trace's first event."""

from tests.cases import make_trace
from tracelens.derive.time.since_start import first_moment
from tracelens.report import build_query, build_report
from tracelens.trace import Trace

EPOCH_NS = 1_795_234_047_000_000_000


def case() -> Trace:
    return make_trace(
        spans=[{"kind": "op", "name": "op", "start_ns": EPOCH_NS + 5, "duration_ns": 9}],
        kernels=[{"start_ns": EPOCH_NS + at, "duration_ns": 3} for at in (7, 20)],
    )


def test_the_first_event_of_any_kind_is_the_beginning() -> None:
    assert first_moment(case()) == EPOCH_NS + 5
    assert first_moment(make_trace()) == 0


def test_a_report_counts_from_the_start_a_query_does_not() -> None:
    report = build_report(case(), names=["idle_gaps"])
    assert report.frames["idle_gaps"]["example_ns"].to_list() == [EPOCH_NS + 10]
    (section,) = report.to_read()
    assert section.frame["example_ns"].to_list() == [5]
    (section,) = build_query(case(), "SELECT start_ns FROM kernels ORDER BY 1").to_read()
    assert section.frame["start_ns"].to_list() == [EPOCH_NS + 7, EPOCH_NS + 20]
