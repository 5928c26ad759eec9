"""Advice on real captures: what it says of layouts and launches, and what the search finds."""

import importlib
import importlib.util
import os
import statistics
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from benchmarks.enlarge_tables import enlarge
from tests.advised import CAPTURES, EAGER, LAST, ROOT, needs_z3
from tests.cases import make_trace
from tracelens.advisor import CallPlan
from tracelens.analyses import advise
from tracelens.analyses.advise import notes
from tracelens.derive.calls.advising import advise_rank
from tracelens.derive.calls.call_graph import ADJACENCY
from tracelens.errors import SourceError
from tracelens.schemas.results.calls import ADVISE


@pytest.fixture(scope="module")
def eager() -> tl.Trace:
    return tl.collect(EAGER)


def test_eager_resnet_should_run_in_channels_last(eager: tl.Trace) -> None:
    """By the kernels' table: 64 kernels of primitive layout per step, 592.6 µs of 4.955 ms."""
    frame = advise(eager)
    whole = frame.row(0, named=True)
    assert whole["n_transforming"] == 64
    assert whole["transform_now_ns"] / 1e3 == pytest.approx(592.6, abs=0.05)
    assert whole["device_ns"] / 1e6 == pytest.approx(4.955, abs=0.0005)
    assert whole["transform_now_ns"] / whole["device_ns"] == pytest.approx(0.1196, abs=0.00005)
    assert whole["change"].startswith("memory_format=torch.channels_last")
    assert whole["saving_low_ns"] < 570_000 < whole["saving_high_ns"]
    assert whole["source"] == "adjacency"
    said = notes(eager, frame)
    assert said[0].startswith("Run the model in channels_last: ")
    assert any("was not recorded" in text and "--graph" in text for text in said)


def test_parts_that_save_nothing_have_no_row() -> None:
    """Most parts of a model in channels_last run well as they are."""
    parts = advise(tl.collect(LAST)).filter(pl.col("sub_graph").is_not_null())
    assert (parts["saving_high_ns"] > 0).all()


def test_kernel_time_of_channels_last_is_predicted(eager: tl.Trace) -> None:
    advice = advise_rank(eager, 0, [tl.collect(LAST)], z3=False)
    assert advice.total() / 1e6 == pytest.approx(4.032, rel=0.03)
    assert {
        call.layout for part in advice.parts for call in part.calls if call.function == "conv"
    } == {"NHWC"}


@pytest.mark.parametrize(
    ("path", "share", "is_problem"),
    [
        ("samples/torch/alexnet_eager.pt.trace.json.gz", 0.059, True),
        ("samples/thesis/captures/mobilenet_v2_eager.tracelens", 0.008, False),
    ],
)
def test_layout_is_a_problem_or_not(path: str, share: float, is_problem: bool) -> None:
    trace = tl.open(ROOT / path) if path.endswith(".tracelens") else tl.collect(ROOT / path)
    frame = advise(trace)
    whole = frame.row(0, named=True)
    assert whole["transform_now_ns"] / whole["device_ns"] == pytest.approx(share, abs=0.0006)
    said = " ".join(notes(trace, frame))
    assert ("Layout is not this model's problem" in said) is not is_problem
    assert said.startswith("Run the model in channels_last") is is_problem


MODEL = {
    "rank": 0,
    "sub_graph": None,
    "layers": "(model)",
    "calls_now": "3 conv2d",
    "calls_advised": "3 conv NHWC",
    "device_ns": 5_000_000,
    "transform_now_ns": 9_000,
    "transform_then_ns": 9_000,
    "n_transforming": 2.0,
    "saving_low_ns": 2_000_000,
    "saving_ns": 2_000_000,
    "saving_high_ns": 2_000_000,
    "evidence": "measured",
    "change": "memory_format=torch.channels_last",
    "n_unmatched": 0,
    "unjudged_ns": 0,
    "source": "export",
}
"""Kernels of 5 ms a step, hardly any of which change a layout; channels_last saves 2 ms of them."""


def advice_on(**row: Any) -> str:
    """The advice on a whole model with this row."""
    return " ".join(notes(make_trace(), ADVISE.conform(pl.DataFrame([MODEL | row]))))


def test_layout_is_the_problem_where_channels_last_helps() -> None:
    """No kernel only changes layouts, yet the convolutions themselves run faster."""
    assert advice_on().startswith("Run the model in channels_last: 2.00 ms of 5.00 ms")
    assert "not this model's problem" not in advice_on()
    for saved, change in ((0, ""), (50_000, MODEL["change"])):  # nothing, and 1 %
        little = dict.fromkeys(("saving_low_ns", "saving_ns", "saving_high_ns"), saved)
        assert advice_on(change=change, **little).startswith(
            "Layout is not this model's problem: 2 "
        )


@pytest.mark.parametrize(
    ("now", "then", "saved", "is_limit"),
    [
        pytest.param(1_400_000, 500_000, 2_000_000, False, id="kernels take longer than launches"),
        pytest.param(6_000_000, 500_000, 3_000_000, True, id="launches take longer"),
        pytest.param(4_000_000, 3_500_000, 1_500_000, True, id="launches of the plan would"),
    ],
)
def test_launches_limit_what_is_shorter_than_they(
    now: int, then: int, saved: int, is_limit: bool
) -> None:
    """The kernels take 5 ms now. A sequence takes the longer of its launches and its kernels."""
    saving = dict.fromkeys(("saving_low_ns", "saving_ns", "saving_high_ns"), saved)
    said = advice_on(host_now_ns=now, host_then_ns=then, **saving)
    assert ("Launches limit this trace" in said) is is_limit
    assert ("The device waits for the host" in said) is not is_limit
    assert f"launches take at least {now / 1e6:.2f} ms a step now" in said


SUBJECTS = [
    "resnet50_b1",
    *(
        pytest.param(subject, marks=pytest.mark.exhaustive)
        for subject in ("resnet50_b32", "mobilenet_v1_b1", "mobilenet_v1_b32")
    ),
]


def of_subject(subject: str, what: str) -> tl.Trace:
    return tl.open(CAPTURES / f"{subject}_{what}.tracelens")


@pytest.mark.parametrize(
    "z3", [pytest.param(False, marks=pytest.mark.exhaustive), pytest.param(True, marks=needs_z3)]
)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_whole_model_is_searched_within_a_minute(subject: str, z3: bool) -> None:
    """Seconds of this process. The load of others does not count."""
    before = sum(os.times()[:2])
    others = [of_subject(subject, "channels_last"), of_subject(subject, "calls")]
    advice = advise_rank(of_subject(subject, "eager"), 0, others, z3=z3)
    assert sum(os.times()[:2]) - before < 60
    plan = CallPlan.read(CAPTURES / f"{subject}_plan.json")
    assert round(advice.total()) == plan.predicted["then_ns"]
    assert [call.function for part in advice.parts for call in part.calls] == [
        call.function for call in plan.calls
    ]
    assert advice.calls.source != ADJACENCY
    assert all(node.device_ns is not None for node in advice.calls.nodes)


def test_the_advised_resnet_takes_what_was_predicted() -> None:
    plan = CallPlan.read(CAPTURES / "resnet50_b32_plan.json")
    measured = of_subject("resnet50_b32", "advised").kernels["duration_ns"].sum() / 3
    assert measured < 3_300_000
    assert plan.predicted["then_ns"] == pytest.approx(measured, rel=0.15)


def test_the_host_counts_where_launches_limit_a_trace() -> None:
    """MobileNet at batch 1: its step takes at least its launches.

    Each call counts with the median of those to an idle device.
    """
    trace = of_subject("mobilenet_v1_b1", "eager")
    costs = [of_subject("mobilenet_v1_b1", what) for what in ("channels_last", "calls")]
    both = trace.kernels.join(trace.frame("api_calls"), on="api_call_id", suffix="_of_call")
    delays, ended = [], 0
    for begin, ns, called in sorted(
        both.select("start_ns", "duration_ns", "start_ns_of_call").iter_rows()
    ):
        delays += [begin - called] * (called >= ended)
        ended = max(ended, begin + ns)
    launch = statistics.median(delays)
    advice = advise_rank(trace, 0, costs, z3=False)
    assert advice.launch_ns == pytest.approx(launch, abs=10)
    n_now = sum(bool(node.device_ns) for node in advice.calls.nodes)
    made = [call for part in advice.parts for call in part.calls if call.cost.ns]
    assert (advice.host_now, advice.host_then) == pytest.approx(
        (launch * n_now, launch * len(made)), rel=0.01
    )
    assert len(made) < n_now / 2
    whole = advise(trace, costs).row(0, named=True)
    step = [max(advice.host_now, advice.now), max(advice.host_then, advice.total())]
    assert whole["saving_ns"] == pytest.approx(step[0] - step[1], rel=0.01)
    assert any(
        text.startswith("Launches limit this trace (verdict)")
        for text in notes(trace, advise(trace, costs))
    )


def test_the_first_steps_are_looked_at(
    eager: tl.Trace,
) -> None:
    """The bundled capture repeated 25 times: 75 steps, with marks, and once without."""
    long = enlarge(eager, 24 * eager.kernels.height + 1)
    assert long.kernels["step"].n_unique() == 75
    frame, before = advise(long), advise(eager)
    assert frame["device_ns"].to_list() == pytest.approx(before["device_ns"].to_list(), rel=0.01)
    assert frame["calls_advised"].equals(before["calls_advised"])
    assert "Only the first 50 steps were read." in notes(long, frame)
    tables = {name: long.scan(name) for name in long.summary()["table"]}
    unmarked = {
        name: tables[name].with_columns(step=pl.lit(None, pl.Int64))
        for name in ("kernels", "spans", "steps")
    }
    bare = tl.Trace(long.manifest, tables | unmarked)
    assert advise(bare).is_empty()
    assert "mark the steps" in notes(bare, advise(bare))[0]


@pytest.mark.slow
def test_greed_loses_where_the_search_gains() -> None:
    """Largest match first, in channels-last, is by the same costs never cheaper than the search."""
    found = importlib.import_module("samples.advisor.analyse").orders("mobilenet_v1_b32")
    assert found["searched"] < found["eager"] < found["greedy"]


def test_times_that_no_call_takes_are_refused(eager: tl.Trace) -> None:
    wrong = {
        "function": "conv",
        "call": "x",
        "dtype": "float",
        "layout": "NCHW",
        "q1_ns": -(2**63),
        "q3_ns": 2**62,
    }
    costs = make_trace(call_costs=[wrong | {"median_ns": 5, "n_calls": 1, "device": "cpu"}])
    with pytest.raises(SourceError, match="1 rows of call_costs have times that no call takes"):
        advise(eager, costs=[costs])
