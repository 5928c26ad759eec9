"""The three lanes of a step: as recorded, without the profiler, after the best change."""

import polars as pl

from tests.cases import make_trace
from tracelens.analyses import ANALYSES
from tracelens.answers.answer import WAIT, WORK, Answer, Bar, Change, Part
from tracelens.derive.replay.unprofiled_job import UnprofiledJob
from tracelens.report import Report, Section
from tracelens.schemas.results.replay import UNPROFILED_STEP
from tracelens.views.first_screen import BarPart, step_lanes

STEPS = pl.DataFrame({"rank": [0, 0, 0], "duration_ns": [19_000_000, 20_000_000, 23_000_000]})
BAR = Bar("step", (Part("compute", 0.25, WORK), Part("launches", 0.75, WAIT)))


def report(low_ns: int | None, high_ns: int | None) -> Report:
    """A report on one rank whose recorded step takes 20 ms."""
    row = (0, 20_000_000, low_ns, low_ns, high_ns, 0.01, "table")
    frame = pl.DataFrame([row], UNPROFILED_STEP.schema, orient="row")
    return Report(make_trace(), None, [Section(ANALYSES["unprofiled_step"], frame, [])])


def test_lanes_share_one_scale_and_work_stays() -> None:
    change = Change("launch fewer kernels", 0.5, low_ns=6_000_000, high_ns=8_000_000)
    answer = Answer("x", bars=(BAR,), changes=(change,))
    lanes = step_lanes(report(10_000_000, 15_000_000), answer, STEPS)
    assert [(lane.label, lane.text) for lane in lanes] == [
        ("as recorded (median step)", "20.0 ms"),
        ("without the profiler", "about 10.0 to 15.0 ms"),
        ("after the first change", "6.00 to 8.00 ms"),
    ]
    assert lanes[0].parts == (BarPart(0, 25, "lane-works"), BarPart(25, 75, "lane-waits"))
    assert lanes[1].parts == (
        BarPart(0, 25, "lane-works"),
        BarPart(25, 25, "lane-waits"),
        BarPart(50, 25, "range"),
    )
    assert lanes[2].parts == (BarPart(0, 30, "step-after"), BarPart(30, 10, "range"))


def test_one_lane_alone_compares_nothing() -> None:
    assert step_lanes(report(None, None), Answer("x", bars=(BAR,)), STEPS) == []
    two = Answer("x", bars=(BAR, BAR))
    assert step_lanes(report(10_000_000, 15_000_000), two, STEPS) == []


def test_a_lane_of_an_average_step_says_so() -> None:
    steps = STEPS.with_columns(pl.col("duration_ns").replace(20_000_000, 18_000_000))
    lanes = step_lanes(report(10_000_000, 15_000_000), Answer("x", bars=(BAR,)), steps)
    assert lanes[0].label == "as recorded (average step)"


def test_lanes_of_a_job_are_of_all_its_ranks() -> None:
    job = UnprofiledJob(
        30_000_000, 20_000_000, 18_000_000, 24_000_000, is_measured=False, joined=None
    )
    lanes = step_lanes(report(10_000_000, 15_000_000), Answer("x", bars=(BAR,)), STEPS, job)
    assert [(lane.label, lane.text) for lane in lanes] == [
        ("as recorded", "30.0 ms"),
        ("without the profiler", "about 18.0 to 24.0 ms"),
    ]
