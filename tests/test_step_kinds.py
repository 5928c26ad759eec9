"""Steps of several kinds: which are long, and what a change saves of the mean step."""

import pytest

import tracelens as tl
from tests.step_traces import StepTrace
from tracelens.answers import make_answer
from tracelens.derive.time.step_kinds import are_of_several_kinds, long_steps


@pytest.mark.parametrize(
    ("lengths", "long", "several"),
    [
        ([10, 10, 11, 10, 10, 10], [], False),
        ([10, 10, 16, 10, 10, 10], [2], False),  # by accident: the mean is 11
        ([10, 20, 10, 20, 10, 20], [1, 3, 5], True),  # mean and median are both 15
        ([10] * 9 + [18] + [10] * 9 + [18], [9, 19], True),  # every tenth
        ([10, 10, 10, 100, 10, 10], [3], True),  # the mean is 2.5 times the median
        ([0, 0], [], False),
    ],
)
def test_kinds_of_steps(lengths: list[int], long: list[int], several: bool) -> None:
    assert long_steps(lengths) == long
    assert are_of_several_kinds(lengths) is several


def test_steps_that_only_vary_are_no_two_kinds() -> None:
    """The two longest happen to be four steps apart."""
    made = StepTrace()
    at = 0
    for length in (2_500, 9_500, 4_500, 7_500, 3_500, 8_500, 5_500, 6_500):
        made.step(at, at + length)
        made.launch("gemm", at + 5, at + 15, at + length - 10)
        at += length
    details = make_answer(made.trace("trace_log")).details
    assert details[-1] == "steps vary: they take 2.50 to 9.50 ms"


def logging_every_tenth() -> StepTrace:
    """20 steps of 5 ms that compute; in every tenth the program logs for 8 ms after its kernels."""
    made = StepTrace()
    at = 0
    for number in range(20):
        more = 8_000 if number % 10 == 9 else 0
        made.step(at, at + 5_000 + more)
        made.launch("gemm", at + 5, at + 15, at + 4_990)
        made.call("cudaStreamSynchronize", "sync", at + 20, at + 4_992)
        if more:
            made.span("log", at + 5_000, at + 5_000 + more, kind="annotation")
        at += 5_000 + more
    return made


def test_a_change_is_of_the_mean_step_where_long_steps_return() -> None:
    """The mean of 20 steps is 5.8 ms; without logging all would take 5."""
    trace = logging_every_tenth().trace("trace_log")
    row = tl.whatif(trace, "without=host").row(0, named=True)
    assert row["before_ns"] == pytest.approx(5_800_000, rel=0.01)
    assert row["after_ns"] == pytest.approx(5_000_000, rel=0.01)
    answer = make_answer(trace)
    assert answer.sentence.endswith("of a step of 5.80 ms on average (5.00 ms in the median)")
    assert answer.details[-1] == "a step takes 13.0 ms in every tenth step, else 5.00 ms"


def test_start_up_is_not_replayed() -> None:
    """A first step that loads for 900 ms before five of 7 ms, in which the host sleeps for 2."""
    made = StepTrace()
    at = 0
    for number in range(6):
        load = 0 if number else 900_000
        made.step(at, at + load + 7_000)
        if load:
            made.call("cuModuleLoadData", "other", at, at + load)
        at += load
        made.launch("gemm", at + 5, at + 15, at + 4_990)
        made.call("cudaStreamSynchronize", "sync", at + 20, at + 4_992)
        made.span("sleep", at + 5_000, at + 7_000, kind="annotation")
        at += 7_000
    row = tl.whatif(made.trace("trace_log"), "without=host").row(0, named=True)
    assert (row["before_ns"], row["after_ns"]) == pytest.approx((7_000_000, 5_000_000), rel=0.01)
