"""timing_methods: what measuring costs, by hand."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from tests.cases import make_trace
from tracelens.analyses.timing_methods import notes, timing_methods
from tracelens.derive.comparing.predicted_vs_measured import planned_outcome
from tracelens.errors import MissingTableError
from tracelens.report import build_report
from tracelens.schemas.results.layers import TIMING_METHODS
from tracelens.trace import Trace
from tracelens.views.charts import draw

SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "timings" / "small_cpu.tracelens"


def timing(
    method: str, *durations: int, warmup: tuple[int, ...] = (), **more: Any
) -> list[dict[str, Any]]:
    """Make one row per execution: two executions per round, warm-up first."""
    every = [*warmup, *durations]
    common = {"configuration": "interpreted", "method": method, "clock": "wall"} | more
    return [
        common | {"duration_ns": ns, "round": at // 2, "is_warmup": at < len(warmup)}
        for at, ns in enumerate(every)
    ]


LAYERS = [
    {"module_path": "conv", "class_name": "Conv2d", "call_order": 0},
    {"module_path": "fc", "class_name": "Linear", "call_order": 1},
]
TIMINGS = [
    *timing("e2e", 100, 104, 96, 100, warmup=(900, 100)),
    *timing("e2e", 110, 130, synchronized=True),
    *timing("e2e", 200, 200, profiled=True),
    *timing("layer", 120, 120),
    *timing("layer", 80, 80, quantity="arr_sum"),
    *timing("layer", 150, 150, synchronized=True),
    *timing("layer", 90, 90, quantity="arr_sum", synchronized=True),
    *timing("layer", 300, 300, synchronized=True, profiled=True),
    *timing("layer", 50, 60, module_path="conv", synchronized=True),
    *timing("layer", 30, 30, module_path="fc", synchronized=True),
    *timing("profiler", 70, 70, quantity="CPU_self", profiled=True),
    *timing("profiler", 45, 45, quantity="CPU_self", profiled=True, module_path="conv"),
    *timing("e2e", 40, 60, warmup=(5000, 50), configuration="cpp", compile_mode="default"),
    *timing("layer", 75, 75, configuration="cpp", compile_mode="default"),
    *timing(
        "layer",
        20,
        20,
        configuration="cpp",
        compile_mode="default",
        module_path="conv",
        synchronized=True,
    ),
    *timing(
        "layer",
        60,
        60,
        configuration="cpp",
        compile_mode="default",
        module_path="fc",
        synchronized=True,
    ),
    *timing(
        "layer", 8, 12, configuration="cpp", compile_mode="default", module_path="(compiled region)"
    ),
]
MEASURED = make_trace(layers=LAYERS, timings=TIMINGS)


def test_every_way_of_timing_beside_the_pure_run() -> None:
    found = TIMING_METHODS.check(timing_methods(MEASURED))
    columns = ["configuration", "variant", "quantity", "profiled", "median_ns", "cost_ratio"]
    assert found.select(columns).rows() == [
        ("interpreted", "pure", "wall", False, 100, 1.0),
        ("interpreted", "sync", "wall", False, 120, 1.2),
        ("interpreted", "timed", "wall", False, 120, 1.2),
        ("interpreted", "timed", "arr_sum", False, 80, 0.8),
        ("interpreted", "timed-sync", "wall", False, 150, 1.5),
        ("interpreted", "timed-sync", "arr_sum", False, 90, 0.9),
        ("interpreted", "pure", "wall", True, 200, 2.0),
        ("interpreted", "timed-sync", "wall", True, 300, 3.0),
        ("interpreted", "profiler", "CPU_self", True, 70, 0.7),
        ("cpp", "pure", "wall", False, 50, 1.0),
        ("cpp", "timed", "wall", False, 75, 1.5),
    ]
    pure = found.row(0, named=True)
    assert (pure["n_rounds"], pure["n_executions"], pure["first_ns"]) == (2, 4, 900)
    assert (pure["low_ns"], pure["high_ns"]) == (99.0, 101.0)  # of 96, 100, 100, 104
    assert found.filter(configuration="cpp", variant="pure")["first_ns"][0] == 5000  # compiling


def test_the_finding_in_words() -> None:
    said = notes(MEASURED, timing_methods(MEASURED))
    assert said[0].startswith("interpreted: time of a run, as a multiple of the pure one")
    assert (
        "around each layer 1.20, timers 1.20, both 1.50, the profiler alone 2.00, all three 3.00."
        in said[0]
    )
    assert "sum to 0.90 of the pure run" in said[1]
    assert "timers 1.50" in said[2]
    assert "a compiled region of its own" in said[3]


@pytest.mark.parametrize(
    ("durations", "told"),
    [
        ((50, 50, 51, 51, 49, 49), ("a speedup of 2.00 (", "; predicted 1.84), it helps.")),
        (
            (90, 90, 99, 99, 120, 120),
            ("a speedup of 1.01 (", "no difference can be told: within the spread."),
        ),
        (
            (200, 200, 201, 201, 199, 199),
            ("a speedup of 0.50 (", "; predicted 1.84), it does harm."),
        ),
        (
            (50, 50),
            (
                "a speedup of 2.00 (predicted 1.84), no difference can be told: fewer than three",
                ".",
            ),
        ),
    ],
)
def test_a_measured_plan_is_compared_with_the_model_without_it(
    durations: tuple[int, ...], told: tuple[str, str]
) -> None:
    """Without it the rounds' medians are 98, 100 and 104.

    The other configuration is on another device.
    """
    base = [
        *timing("e2e", 98, 98, 100, 100, 104, 104, warmup=(900, 900)),
        *timing("e2e", 7, 7, configuration="cuda"),
    ]
    trace = make_trace(timings=[*base, *timing("e2e", *durations, configuration="custom")])
    settings = {"devices": {"custom": "cpu"}, "plan": {"predicted_speedup_over_base": 1.84}}
    trace.manifest.sources.append({"settings": settings})
    said = notes(trace, timing_methods(trace))
    assert f"interpreted 0.10 µs: {told[0]}" in said[0]
    assert said[0].endswith(told[1])
    assert len(said) == 1


def test_plan_and_model_may_have_been_measured_apart() -> None:
    base = make_trace(timings=timing("e2e", *[100] * 6))
    planned = make_trace(timings=timing("e2e", *[50] * 6, configuration="custom"))
    for traces in ((base, planned), (planned, base)):
        (said,) = planned_outcome(*traces)
        assert "a speedup of 2.00 (2.00 to 2.00), it helps" in said


def test_a_measured_plan_without_its_base_says_what_is_missing() -> None:
    alone = make_trace(timings=timing("e2e", 10, configuration="custom"))
    assert "nothing to compare it with" in notes(alone, timing_methods(alone))[0]
    assert not any("plan" in said for said in notes(MEASURED, timing_methods(MEASURED)))


def test_a_run_that_measuring_hastens_is_no_finding() -> None:
    """The profiled run takes 12 of 100 ns, which no profiler can save.

    99 is within the spread of 96 to 104.
    """
    rows = [
        *timing("e2e", 96, 104, 98, 102),
        *timing("e2e", 12, 12, profiled=True),
        *timing("layer", 99, 99),
    ]
    trace = make_trace(timings=rows)
    said = notes(trace, timing_methods(trace))
    assert said[0].endswith("what measured it: timers 0.99.")
    assert said[1].startswith(
        "interpreted: with the profiler alone a run took 0.12 of the pure run's time: less"
    )
    assert "not comparable" in said[1]
    assert len(said) == 2


def test_events_are_told_from_the_wall_clock() -> None:
    rows = [*timing("e2e", 100), *timing("cuda_event", 60, clock="cuda_event")]
    found = timing_methods(make_trace(timings=rows)).select("variant", "quantity", "cost_ratio")
    assert found.rows() == [("pure", "wall", 1.0), ("events", "cuda_event", 0.6)]


def test_without_a_pure_run_there_is_no_ratio() -> None:
    found = timing_methods(make_trace(timings=timing("layer", 10)))
    assert found["cost_ratio"].to_list() == [None]
    assert notes(make_trace(), found) == []


def test_warm_up_alone_says_nothing() -> None:
    assert timing_methods(make_trace(timings=timing("e2e", warmup=(5,)))).is_empty()


def test_the_order_of_rows_does_not_matter() -> None:
    assert_frame_equal(
        timing_methods(make_trace(timings=TIMINGS[::-1])).drop("first_ns"),
        timing_methods(MEASURED).drop("first_ns"),
    )


def test_without_timings() -> None:
    empty: Trace = make_trace()
    with pytest.raises(MissingTableError, match="tracelens collect timings"):
        timing_methods(empty)


def test_the_sample_shows_the_thesis_validation() -> None:
    """Pure, sync, timed and timed-sync runs, profiled and not, interpreted and compiled to C++."""
    built = build_report(Trace.open(SAMPLE), names=["timing_methods"])
    (section,) = built.sections
    wall = section.frame.filter(quantity="wall")
    for configuration in ("interpreted", "cpp"):
        ways = wall.filter(configuration=configuration).select("variant", "profiled").rows()
        assert sorted(ways) == sorted(
            product(("pure", "sync", "timed", "timed-sync"), (False, True))
        )
    assert set(section.frame["quantity"]) >= {"wall", "arr_sum", "CPU_self"}
    assert set(section.frame["n_rounds"]) == {10}
    assert set(section.frame["n_executions"]) == {20}
    assert any("the profiler alone" in note for note in section.notes)
    (chart,) = draw(section)
    drawn = str(chart.chart.to_dict())
    assert all(f"'{variant}'" in drawn for variant in ("pure", "sync", "timed", "timed-sync"))
