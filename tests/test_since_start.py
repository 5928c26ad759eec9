"""Moments in reports count from the trace's first event."""

from tests.cases import make_trace
from tracelens.analyses.idle_gaps import ANALYSIS
from tracelens.derive.time.since_start import first_moment, since_start
from tracelens.report import Report, Section
from tracelens.trace import Trace

EPOCH_NS = 1_795_234_047_000_000_000


def case() -> Trace:
    return make_trace(
        spans=[{"kind": "op", "name": "op", "start_ns": EPOCH_NS + 5, "duration_ns": 9}],
        kernels=[{"start_ns": EPOCH_NS + 7, "duration_ns": 3}],
    )


def test_the_first_event_of_any_kind_is_the_beginning() -> None:
    assert first_moment(case()) == EPOCH_NS + 5
    assert first_moment(make_trace()) == 0


def test_a_report_counts_from_the_start_a_query_does_not() -> None:
    frame = case().kernels.select("start_ns", "duration_ns")
    assert since_start(case(), frame).rows() == [(2, 3)]
    told = Section(ANALYSIS, frame, [])
    (read,) = Report(case(), None, [told], is_asked=True).to_read()
    assert read.frame["start_ns"].to_list() == [2]
    query = Section(ANALYSIS, frame, [], is_query=True)
    (read,) = Report(case(), None, [query], is_asked=True).to_read()
    assert read.frame["start_ns"].to_list() == [EPOCH_NS + 7]
