"""Steps without the profiler that a capture timed, and steps that wait for a loader's workers."""

from typing import Any

import pytest

import tracelens as tl
from tests.step_traces import StepTrace, launch_bound
from tracelens.analyses import unprofiled_step
from tracelens.derive.replay.predict import predict
from tracelens.errors import UsageError

MEASURED = {
    "unprofiled_step_ns": {"median": 300_000, "min": 290_000, "max": 330_000},
    "profiled_step_ns": {"mean": 400_000},
}


def measured_step(trace: tl.Trace) -> dict[str, Any]:
    trace.manifest.sources = [{"kind": "torch", "rank": 0, "settings": MEASURED}]
    return unprofiled_step(trace).row(0, named=True)


def test_what_the_capture_measured_is_the_answer() -> None:
    """The range is at least 4.4 % to either side, as two processes of a program differ."""
    made = StepTrace()
    made.step(0, 400)
    made.launch("gemm", 5, 15, 395)
    made.call("cudaDeviceSynchronize", "sync", 20, 399)
    row = measured_step(made.trace())
    assert (row["unprofiled_ns"], row["low_ns"], row["high_ns"]) == (300_000, 285_600, 330_000)
    assert row["evidence"] == "measured"


@pytest.mark.parametrize(("least", "evidence"), [(390_000, "measured"), (410_000, "table")])
def test_a_profiler_may_cost_less_than_steps_vary(least: int, evidence: str) -> None:
    """Steps of 405 µs without a profiler are alike recorded ones of 400 if some are shorter."""
    trace = launch_bound().trace()
    plain = {"mean": 405_000, "median": 405_000, "min": least, "max": 420_000, "turn": 1}
    settings = {"unprofiled_step_ns": plain, "profiled_step_ns": {"mean": 400_000}}
    trace.manifest.sources = [{"kind": "torch", "rank": 0, "settings": settings}]
    row = unprofiled_step(trace).row(0, named=True)
    assert row["evidence"] == evidence
    assert (row["unprofiled_ns"] == 405_000) is (evidence == "measured")


def test_the_host_of_another_run_may_be_slower() -> None:
    """Of 400 µs the host works 210 alone, and at most 290; it may be 1.3 times as slow or fast."""
    row = measured_step(launch_bound().trace())
    assert row["unprofiled_ns"] == 300_000
    assert 300_000 * (1 + 0.3 * 210 / 400) < row["high_ns"] < 300_000 * (1 + 0.3 * 290 / 400)
    slowest = 0.3 / 1.3
    assert 300_000 * (1 - slowest * 290 / 400) < row["low_ns"]
    assert row["low_ns"] < 300_000 * (1 - slowest * 210 / 400)


@pytest.mark.parametrize(("turn", "evidence"), [(1, "table"), (2, "measured")])
def test_steps_that_wait_for_workers_are_measured(turn: int, evidence: str) -> None:
    """The recorded steps, of 400 µs, found their batches ready; a turn of two workers did not."""
    trace = launch_bound().trace()
    of_turns = {"mean": 900_000, "min": 850_000, "max": 950_000, "turn": turn}
    settings = {"unprofiled_step_ns": of_turns, "profiled_step_ns": {"mean": 400_000}}
    trace.manifest.sources = [{"kind": "torch", "rank": 0, "settings": settings}]
    row = unprofiled_step(trace).row(0, named=True)
    assert row["evidence"] == evidence
    if turn > 1:
        assert row["unprofiled_ns"] == 900_000
        assert row["low_ns"] <= 850_000
        assert row["high_ns"] >= 950_000
        with pytest.raises(UsageError, match="waited less for the loader's workers"):
            predict(trace, ["cuda_graph"])


_LOADER = "_MultiProcessingDataLoaderIter.__next__"


def waiting_for_batches(waits_us: list[int], what: str) -> tl.Trace:
    """Steps that wait for a loader for so long, and then work on the host for 1 ms."""
    made, start = StepTrace(), 0
    for waited in waits_us:
        made.step(start, start + waited + 1_000)
        made.span(what, start, start + waited, kind="annotation")
        made.span("aten::mm", start + waited, start + waited + 900)
        start += waited + 1_000
    return made.trace()


def test_a_timed_step_may_wait_longer_for_the_one_worker() -> None:
    """Each recorded step, of 1.02 ms, waited 20 µs; those timed afterwards waited longer."""
    trace = waiting_for_batches([20, 20, 20], _LOADER)
    timed = {"mean": 1_500_000, "min": 1_100_000, "max": 2_000_000, "turn": 1}
    settings = {"unprofiled_step_ns": timed, "profiled_step_ns": {"mean": 1_020_000}}
    trace.manifest.sources = [{"kind": "torch", "rank": 0, "settings": settings}]
    row = unprofiled_step(trace).row(0, named=True)
    assert (row["unprofiled_ns"], row["evidence"]) == (1_500_000, "measured")


@pytest.mark.parametrize(
    # Half of Student's interval around the mean of the waits, in µs: of three steps 2.92 standard
    # errors, √(1/3) for (29, 31, 30). At most one wait in all steps: 60 / 3 for (0, 60, 30), whose
    # 2.92 standard errors would be 50.6.
    ("waits_us", "wider_us"),
    [
        ([0, 60_000, 30_000], 20_000),
        ([29_000, 31_000, 30_000], 1_686),
        ([30_000, 30_000, 30_000], 0),
        ([30_000], 30_000),
    ],
)
def test_batches_that_come_in_bursts_widen_the_range(waits_us: list[int], wider_us: int) -> None:
    trace = waiting_for_batches(waits_us, f"enumerate(DataLoader)#{_LOADER}")
    row = unprofiled_step(trace).row(0, named=True)
    # The rest of the range is 2.4 times the 2 % by which processes differ, and half of the tenth by
    # which a slower host makes batches later.
    wider_ns = row["high_ns"] - row["unprofiled_ns"] - 2.4 * 0.07 * row["unprofiled_ns"]
    assert wider_ns == pytest.approx(wider_us * 1_000, rel=0.001, abs=10)
    # However few batches were seen, a step takes at least what it does beside its wait.
    if len(waits_us) == 1:
        assert 500_000 < row["low_ns"] < 1_000_000


def waiting_steps_with_ops(what: str) -> tl.Trace:
    """Three steps of 3 ms: 500 ops in 1 ms, and a wait of 2 ms for a batch."""
    made = StepTrace()
    for start in (0, 3_000, 6_000):
        made.step(start, start + 3_000)
        made.span(what, start, start + 2_000, kind="annotation")
        for begin in range(start + 2_000, start + 3_000, 2):
            made.span("aten::mm", begin, begin + 2)
    return made.trace()


def test_a_step_that_waits_for_workers_keeps_their_pace() -> None:
    """Without the profiler's 1.5 µs an op, the host waits longer for a batch that its workers make.

    A process that makes its batches itself has none to wait for, so its step is shorter.
    """
    paced, alone = (
        unprofiled_step(waiting_steps_with_ops(f"enumerate(DataLoader)#{what}"))
        for what in (_LOADER, "_SingleProcessDataLoaderIter.__next__")
    )
    assert paced["unprofiled_ns"].item() == pytest.approx(3_000_000, abs=10)
    assert alone["unprofiled_ns"].item() == pytest.approx(3_000_000 - 500 * 1_500, abs=2_000)


def test_a_change_that_leaves_the_waits_leaves_their_doubt() -> None:
    """The step after `mm` is faster has the doubt of the waits; the saving has not."""
    trace = waiting_for_batches([0, 60_000, 30_000], f"enumerate(DataLoader)#{_LOADER}")
    (found,) = predict(trace, ["faster aten::mm by 2"])
    of_host = 2.2 * (0.07 * found.after_ns + 0.1 * (found.before_ns - found.after_ns))
    assert found.high_ns - found.after_ns - of_host == pytest.approx(20_000_000, rel=0.005)
    assert found.most_saving_ns - found.least_saving_ns < 10_000_000


def test_without_waits_their_doubt_is_gone() -> None:
    trace = waiting_for_batches([0, 60_000, 30_000], f"enumerate(DataLoader)#{_LOADER}")
    (found,) = predict(trace, ["input_ready"])
    assert found.high_ns < 20_000_000
