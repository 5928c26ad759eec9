"""Phases of hand-made traces, in µs: earlier work, start-up, program, tear-down, cut-off work."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.programs import Row, api, launch, mark, program, span, timed, work
from tests.torch_files import call, kernel, write
from tests.torch_files import span as event
from tracelens.analyses import idle_gaps, time_breakdown, verdict
from tracelens.analyses.verdict import notes
from tracelens.derive.time.model import time_model
from tracelens.derive.time.program_phases import in_program, phases, program_steps
from tracelens.derive.time.step_sentences import step_sentences
from tracelens.derive.time.step_table import steps_of
from tracelens.trace import Trace

US = 1000


def found(trace: Trace, rank: int = 0) -> list[tuple[int | None, str, float, float]]:
    """Step, phase, start and end in µs of a rank's phases."""
    own = phases(trace).filter(rank=rank)
    return own.select("step", "phase", pl.col("start_ns") / US, pl.col("end_ns") / US).rows()


def steps(trace: Trace) -> list[tuple[int, float, float]]:
    """Step, start and duration in µs."""
    return (
        steps_of(trace).select("step", pl.col("start_ns") / US, pl.col("duration_ns") / US).rows()
    )


def kernels(start: int, end: int, call: int | None = 0, n: int = 5, **more: Any) -> list[Row]:
    """Kernels of equal length, one after another."""
    length = (end - start) / n
    return [work(start + k * length, start + (k + 1) * length, call, **more) for k in range(n)]


def shares(trace: Trace) -> tuple[str, float]:
    """Return the bound and its share. Checked to be the table's and the idle places'."""
    (row,) = verdict(trace).to_dicts()
    own = time_breakdown(trace).filter(phase="program")
    plain = int(own["window_ns"].sum()) - int(own["profiler_ns"].sum())
    part = "compute_ns" if row["bound"] == "compute" else f"idle_{row['bound']}_ns"
    assert row["value"] == pytest.approx(int(own[part].sum()) / plain)
    gaps = idle_gaps(trace).filter(cause=row["bound"])
    if gaps.height:
        assert row["value"] == pytest.approx(gaps["share_frac"].sum())
    return row["bound"], round(row["value"], 3)


# ---- earlier work


def decode(**more: Any) -> Trace:
    """A decode step of a running server: its graph is launched at 200, kernels begin at 9,900."""
    spans = [span("annotation", "execute_context_0(0)_generation_32(32)", 0, 600, **more)]
    calls = [api("cudaGraphLaunch", 200, 260, **more)]
    return program(spans, calls, kernels(9_900, 19_700, 0, **more))


def test_a_servers_step_begins_when_earlier_work_ends() -> None:
    """It is busy for 9,800 of its 9,800 µs, not for 9,800 of 19,700."""
    trace = decode()
    assert found(trace) == [
        (None, "earlier_work", 0, 9_900),
        (0, "program", 9_900, 19_700),
    ]
    assert steps(trace) == [(0, 9_900, 9_800)]
    assert shares(trace) == ("compute", 1.0)
    row = time_breakdown(trace).filter(phase="earlier_work").row(0, named=True)
    assert (row["window_ns"], row["compute_ns"]) == (9_900 * US, 0)
    said = " ".join(notes(trace, verdict(trace)))
    assert "For the first 9.90 ms the device ran earlier work" in said
    assert "nothing of it is recorded" in said


def test_ranks_of_a_server_have_their_own_earlier_work() -> None:
    spans = [
        span("annotation", "execute_context_0(0)_generation_32(32)", 0, 600, rank=rank)
        for rank in (0, 1)
    ]
    calls = [api("cudaGraphLaunch", 200, 260, rank=rank, api_call_id=0) for rank in (0, 1)]
    every = [*kernels(9_900, 19_700), *kernels(3_000, 8_000, rank=1)]
    trace = program(spans, calls, every)
    assert found(trace, 1) == [(None, "earlier_work", 0, 3_000), (0, "program", 3_000, 8_000)]
    assert found(trace)[1] == (0, "program", 9_900, 19_700)


def test_a_recorded_wait_of_the_stream_is_no_earlier_work() -> None:
    """The first work starts 1.4 ms after its launch. Its stream was recorded to wait until then."""
    spans, calls = [mark(0, 0, 3_000)], [launch(0, 10)]
    waits = [timed(12, 1_410, kind="stream_wait", device_id=0, stream_id=7)]
    trace = program(spans, calls, kernels(1_410, 3_000, stream_id=7), synchronizations=waits)
    assert found(trace) == [(0, "program", 0, 3_000)]
    brief = [timed(12, 14, kind="stream_wait", device_id=0, stream_id=7)]
    trace = program(spans, calls, kernels(1_410, 3_000, stream_id=7), synchronizations=brief)
    assert found(trace)[0] == (None, "earlier_work", 0, 1_410)


def test_a_copy_does_not_hide_that_another_stream_waits() -> None:
    """Inputs are copied at once on their own stream.

    The graph's first kernel waits for what ran before.
    """
    spans = [span("annotation", "execute_context_0(0)_generation_8(8)", 0, 600)]
    calls = [api("cudaMemcpyAsync", 50, 60), api("cudaGraphLaunch", 200, 260)]
    copies = [work(65, 75, 0, stream_id=20, direction="h2d")]
    trace = program(spans, calls, kernels(9_900, 19_700, 1, stream_id=7), memcpys=copies)
    assert found(trace)[-1] == (0, "program", 9_900, 19_700)


def test_work_that_waits_for_recorded_work_is_no_late_start() -> None:
    """A side stream's first kernel was launched at 20.

    It begins when the main stream's work ends.
    """
    calls = [launch(0, 10), launch(20, 30)]
    every = [*kernels(15, 5_000, 0, stream_id=7), work(5_005, 6_000, 1, stream_id=20)]
    trace = program([mark(0, 0, 6_000)], calls, every)
    assert found(trace) == [(0, "program", 0, 6_000)]


def test_a_stream_that_starts_late_is_no_earlier_work() -> None:
    """The main stream has worked for most of the time until then."""
    calls = [launch(0, 10), launch(20, 30), launch(8_000, 8_010)]
    every = [
        *kernels(15, 5_000, 0, stream_id=7),
        work(6_000, 7_000, 1, stream_id=20),
        work(8_020, 9_000, 2, stream_id=7),
    ]
    trace = program([mark(0, 0, 9_000)], calls, every)
    assert found(trace) == [(0, "program", 0, 9_000)]


def test_of_several_devices_one_that_runs_earlier_work() -> None:
    """Device 1 gets a launch at 20 and begins at 9,000. Device 0 has hardly worked until then."""
    calls = [launch(0, 10), launch(20, 30)]
    every = [work(15, 100, 0), *kernels(9_000, 19_000, 1, device_id=1)]
    trace = program([mark(0, 0, 100)], calls, every)
    assert found(trace)[-1] == (0, "program", 9_000, 19_000)


def test_a_wait_before_anything_was_launched_is_for_earlier_work() -> None:
    """The host waits for the last step's results first, and launches then."""
    calls = [api("cudaEventSynchronize", 100, 8_000), launch(8_100, 8_110)]
    trace = program([mark(0, 0, 8_200)], calls, kernels(8_120, 18_000, 1))
    assert steps(trace) == [(0, 8_000, 10_000)]
    assert shares(trace) == ("compute", 0.988)


def test_recorded_earlier_work_is_counted_and_in_no_step() -> None:
    """There is no mark. The program begins when the earlier work ends, at 3,000."""
    before = [work(0, 3_000, None, link="pre_window")]
    trace = program([], [launch(1_000, 1_010)], [*before, *kernels(3_000, 9_000, 0)])
    assert found(trace) == [(None, "earlier_work", 0, 3_000), (None, "program", 3_000, 9_000)]
    said = " ".join(notes(trace, verdict(trace)))
    assert "(1 kernel of it is recorded, 3.00 ms)" in said
    assert "all shares are of the 6.00 ms from the end of earlier work on." in said


def test_without_any_launch_nothing_is_called_a_dependency() -> None:
    trace = program([], [], kernels(5_000, 9_000, None))
    assert found(trace) == [(None, "program", 5_000, 9_000)]
    marked = program([mark(0, 0, 9_000)], [], kernels(5_000, 9_000, None))
    (row,) = time_breakdown(marked).filter(phase="program").to_dicts()
    assert row["idle_dependency_ns"] == 0


def test_a_split_file_of_a_server_through_the_collector(tmp_path: Path) -> None:
    events = [
        event("execute_context_0(0)_generation_8(8)", 1_000, 600, cat="user_annotation"),
        call("cudaGraphLaunch", 1_200, 60, 200),
        *(kernel("gemm", 10_900 + 100 * k, 100, 200) for k in range(10)),
    ]
    trace = tl.collect(write(tmp_path / "decode.json", events))
    times = trace.steps.select("start_ns", "duration_ns", "mark_ns").row(0)
    assert times == (10_900 * US, 1_000 * US, 600 * US)
    assert shares(trace) == ("compute", 1.0)


# ---- the end


def test_a_file_that_is_cut_while_work_runs_ends_the_step_there() -> None:
    """Two launches of the second step have no work: everything after 6,000 is not recorded."""
    spans = [mark(0, 0, 4_000), mark(1, 4_000, 12_000)]
    calls = [
        launch(0, 10),
        launch(4_000, 4_010),
        launch(4_100, 4_110),
        launch(4_200, 4_210),
        api("cudaDeviceSynchronize", 4_300, 12_000),
    ]
    trace = program(spans, calls, [*kernels(20, 4_000, 0), *kernels(4_020, 6_000, 1)])
    assert found(trace) == [
        (0, "program", 0, 4_000),
        (1, "later_work", 4_000, 6_000),  # it is no measure of a step
        (None, "later_work", 6_000, 12_000),
    ]
    assert program_steps(trace)["step"].to_list() == [0]  # the other one is not whole
    said = " ".join(notes(trace, verdict(trace)))
    assert "For the last 6.00 ms the device ran work whose end the trace does not hold" in said
    assert "Step 1 (2.00 ms): the trace ends within it" in said


def test_launches_into_a_graph_that_is_captured_are_not_cut_off() -> None:
    calls = [
        launch(0, 10),
        api("cudaStreamBeginCapture", 2_000, 2_010),
        launch(2_100, 2_110),
        api("cudaStreamEndCapture", 5_000, 5_010),
    ]
    trace = program([], calls, kernels(20, 1_500, 0))
    assert [phase for _, phase, *_ in found(trace)] == ["start_up", "program", "tear_down"]


# ---- start-up and tear-down


def started(*more: Row, name: str = "cudaFree") -> Trace:
    """A context is created for 700,000 µs; then 20 kernels of 1,000, and 300,000 of unloading."""
    calls = [api(name, 0, 700_000), launch(700_100, 700_110), *more]
    calls += [api("cuModuleUnload", 720_200 + 3_000 * k, 723_100 + 3_000 * k) for k in range(100)]
    return program([], calls, kernels(700_120, 720_120, 1, n=20))


@pytest.mark.parametrize("name", ["cudaFree", "cudaDeviceGetStreamPriorityRange", "newFunction"])
def test_start_up_and_tear_down_are_rows_and_not_the_program(name: str) -> None:
    trace = started(name=name)
    assert found(trace) == [
        (None, "start_up", 0, 700_120),
        (None, "program", 700_120, 720_120),
        (None, "tear_down", 720_120, 1_020_100),
    ]
    assert shares(trace) == ("compute", 1.0)
    rows = time_breakdown(trace).select("phase", pl.col("window_ns") / US).rows()
    assert rows == [("start_up", 700_120), ("program", 20_000), ("tear_down", 299_980)]
    (sentence,) = (text for text in notes(trace, verdict(trace)) if "no steps" in text)
    assert "all shares are of the 20.0 ms" in sentence
    assert "without start-up (700 ms) and tear-down (300 ms)" in sentence
    assert not any("up to" in text for text in notes(trace, verdict(trace)))


def test_the_first_call_of_a_library_is_start_up() -> None:
    """One kernel, then 50 ms of a function's first call, then the program, where it takes 10 µs."""
    calls = [
        launch(0, 10),
        api("cublasCreate", 1_100, 51_100),
        launch(51_200, 51_210),
        api("cublasCreate", 60_000, 60_010),
    ]
    trace = program([], calls, [work(20, 1_020, 0), *kernels(51_220, 151_220, 2, n=20)])
    assert found(trace)[:2] == [
        (None, "start_up", 0, 51_220),
        (None, "program", 51_220, 151_220),
    ]


def test_a_program_that_hardly_began_is_too_little_to_judge() -> None:
    """Nine kernels run while libraries are loaded; only one runs afterwards."""
    calls = [launch(0, 10), api("cublasCreate", 1_100, 51_100), launch(51_200, 51_210)]
    trace = program([], calls, [*kernels(20, 1_020, 0, n=9), work(51_220, 71_220, 2)])
    (row,) = verdict(trace).to_dicts()
    assert (row["bound"], row["value"]) == ("too little to judge", 1.0)
    assert row["evidence"].startswith("one kernel;")


def test_a_long_call_of_the_programs_is_no_start_up() -> None:
    """A call of cudaHostAlloc takes as long in every iteration."""
    calls, every = [], []
    for k in range(4):
        begin = 20_000 * k
        calls += [api("cudaHostAlloc", begin, begin + 15_000)]
        calls.append(launch(begin + 15_000, begin + 15_010))
        every += kernels(begin + 15_020, begin + 20_000, 2 * k + 1)
    trace = program([], calls, every)
    assert found(trace) == [(None, "start_up", 0, 15_020), (None, "program", 15_020, 80_000)]
    assert shares(trace)[0] == "allocation"


def test_a_kernel_that_is_loaded_at_its_first_use_is_start_up() -> None:
    """Its first launch takes 30 ms inside an op, its later ones 10 µs. No call shows it."""
    spans = [span("op", "aten::mm", 1_100, 31_200)]
    calls = [launch(0, 10), launch(31_100, 31_110), launch(33_000, 33_010)]
    every = [
        work(20, 1_020, 0, name="fill"),
        *kernels(31_120, 51_120, 1, name="gemm"),
        *kernels(51_120, 71_120, 2, name="gemm"),
    ]
    trace = program(spans, calls, every)
    assert found(trace)[0] == (None, "start_up", 0, 31_120)


def test_what_loads_after_steady_work_is_within_the_program() -> None:
    """A first call of 60 ms, the only one of its kind, between two stretches of 30 ms."""
    calls = [launch(0, 10), api("cudaHostAlloc", 30_000, 90_000), launch(90_000, 90_010)]
    work_of_both = [*kernels(10, 30_010, 0), *kernels(90_010, 120_010, 2)]
    assert found(program([], calls, work_of_both))[-1] == (None, "program", 10, 120_010)
    little_before = [*kernels(10, 1_010, 0), *kernels(90_010, 120_010, 2)]
    assert found(program([], calls, little_before))[-1] == (None, "program", 90_010, 120_010)


def test_start_up_of_no_length_is_not_said() -> None:
    trace = program([], [launch(0, 1), launch(9_000, 9_003)], kernels(2, 9_000, 0))
    said = " ".join(notes(trace, verdict(trace)))
    assert "all shares are of the 9.00 ms that were recorded." in said


def test_weights_copied_while_a_model_is_built_are_start_up() -> None:
    """Small copies 100 ms apart for a second, then 500 ms of work."""
    calls = [api("cudaMemcpyAsync", 100_000 * k, 100_000 * k + 10) for k in range(10)]
    calls.append(launch(1_000_000, 1_000_010))
    copies = [work(100_000 * k + 20, 100_000 * k + 120, k, direction="h2d") for k in range(10)]
    trace = program([], calls, kernels(1_000_020, 1_500_020, 10), memcpys=copies)
    assert found(trace)[-1] == (None, "program", 1_000_020, 1_500_020)


def test_waiting_for_the_first_batch_is_the_programs() -> None:
    spans = [span("annotation", "DataLoader", 1_000, 90_000)]
    trace = program(spans, [launch(90_000, 90_010)], kernels(90_020, 100_020, 0))
    assert found(trace) == [(None, "program", 1_000, 100_020)]
    assert shares(trace)[0] == "input"


def test_a_program_whose_device_hardly_works_has_no_start_up() -> None:
    """Every gap is as long as the first one."""
    calls = [launch(10_000 * k, 10_000 * k + 10) for k in range(8)]
    every = [work(10_000 * k + 20, 10_000 * k + 120, k) for k in range(8)]
    trace = program([span("python", "run", 0, 71_000)], calls, every)
    assert found(trace)[1] == (None, "program", 20, 70_120)


# ---- steps


def test_a_first_step_with_start_up_is_not_the_program() -> None:
    """800 ms of the first step is a context's creation; the others take 10 ms."""
    spans = [mark(0, 0, 810_000), mark(1, 810_000, 820_000), mark(2, 820_000, 830_000)]
    calls = [api("cudaMalloc", 0, 800_000)]
    every = []
    for k in range(3):
        begin = 800_000 + 10_000 * k
        calls.append(launch(begin, begin + 10))
        every += kernels(begin + 20, begin + 10_000, k + 1)
    trace = program(spans, calls, every)
    assert [phase for _, phase, *_ in found(trace)] == ["start_up", "program", "program"]
    assert shares(trace) == ("compute", 0.998)
    assert program_steps(trace)["step"].to_list() == [1, 2]
    assert "Step 0 (810 ms): start-up" in " ".join(notes(trace, verdict(trace)))


@pytest.mark.parametrize(("also_usual", "phase"), [(True, "start_up"), (False, "program")])
def test_a_first_step_that_tries_kernels(also_usual: bool, phase: str) -> None:
    """Trials of 40 ms come before the usual 10 ms; without these, the step does other work."""
    edges = [0, 50_000, 60_000, 70_000, 80_000]
    spans = [mark(n, *edges[n : n + 2]) for n in range(4)]
    calls = [launch(edge, edge + 10) for edge in edges[:4]]
    trials = [
        work(20 + 4_000 * n, 4_000 * (n + 1), 0, name=f"trial_{n % 3}", step=0) for n in range(10)
    ]
    begins = [40_000 if also_usual else 50_000, *edges[1:4]]
    gemms = [
        work(begin + 20, end, n, name="gemm", step=n)
        for n, (begin, end) in enumerate(zip(begins, edges[1:], strict=True))
        if begin < end
    ]
    trace = program(spans, calls, [*trials, *gemms])
    assert [name for _, name, *_ in found(trace)] == [phase, *["program"] * 3]


def test_loading_and_trials_together_are_start_up() -> None:
    """The first step takes 40 ms more: it loads modules for 18 and tries kernels for 18."""
    edges = [0, 50_000, 60_000, 70_000, 80_000]
    spans = [mark(n, *edges[n : n + 2]) for n in range(4)]
    loads = [api("cuModuleLoadData", 10, 18_000), launch(18_000, 18_010)]
    calls = [*loads, *(launch(edge, edge + 10) for edge in (40_000, *edges[1:4]))]
    trials = [work(18_020, 36_000, 1, name="trial", step=0)]
    gemms = [
        work(begin + 20, begin + 10_000, n + 2, name="gemm", step=n)
        for n, begin in enumerate((40_000, *edges[1:4]))
    ]
    trace = program(spans, calls, [*trials, *gemms])
    assert [name for _, name, *_ in found(trace)] == ["start_up", *["program"] * 3]


def test_a_first_step_long_otherwise_is_the_program() -> None:
    """It loads its data for 90 ms."""
    spans = [mark(0, 0, 100_000), mark(1, 100_000, 110_000), span("annotation", "data", 0, 90_000)]
    calls = [launch(90_000, 90_010), launch(100_000, 100_010)]
    every = [*kernels(90_020, 100_000, 0), *kernels(100_020, 110_000, 1)]
    trace = program(spans, calls, every)
    assert [phase for _, phase, *_ in found(trace)] == ["program", "program"]


def tail() -> Trace:
    """Two steps of 20 ms, and a third mark of 50 µs that launches nothing."""
    spans = [mark(0, 0, 20_000), mark(1, 20_000, 40_000), mark(2, 40_000, 40_050)]
    calls = [launch(0, 10), launch(20_000, 20_010)]
    every = [
        *kernels(20, 20_000, 0, step=0),
        *kernels(20_020, 40_000, 1, step=1),
    ]
    return program(spans, calls, every)


def test_a_last_step_in_which_only_a_tail_ran_enters_no_median() -> None:
    trace = tail()
    assert [phase for _, phase, *_ in found(trace)] == ["program", "program", "tear_down"]
    assert step_sentences(time_model(trace)) == ["A step takes 20.0 ms (median of 2, all alike)."]
    assert verdict(trace)["step_ns"].to_list() == [20_000 * US]
    (row,) = time_breakdown(trace).filter(step=2).to_dicts()
    assert (row["phase"], row["window_ns"]) == ("tear_down", 50 * US)


@pytest.mark.parametrize(("ops", "phase"), [(1, "program"), (0, "tear_down")])
def test_without_a_device_a_last_step_that_calls_ops_is_no_tail(ops: int, phase: str) -> None:
    spans = [mark(0, 0, 20_000), mark(1, 20_000, 21_000)]
    every = [span("op", "aten::mm", 20_000 * n, 20_000 * n + 50, step=n) for n in range(1 + ops)]
    assert [phase for _, phase, *_ in found(program(spans + every))] == ["program", phase]


def test_rows_of_steps_outside_the_program_are_left_out() -> None:
    rows = pl.DataFrame({"rank": [0, 0, 0, 0], "step": [0, 1, 2, None]})
    assert rows.filter(in_program(tail()))["step"].to_list() == [0, 1]
    unmarked = program([], [launch(0, 10)], kernels(20, 100, 0))
    assert rows.filter(in_program(unmarked)).height == 4


def test_a_mark_shorter_than_its_step_is_named_beside_it() -> None:
    """The device is done 10 ms after the mark ends; a viewer shows the mark."""
    late = program([mark(0, 0, 20_000)], [launch(0, 10)], kernels(20, 30_000, 0))
    assert steps_of(late)["mark_ns"].to_list() == [20_000 * US]
    (sentence,) = step_sentences(time_model(late))
    assert sentence.startswith("A step takes 30.0 ms, until the device has done the step's work;")
    assert "the range that marks it on the host is 20.0 ms long" in sentence
    close = program([mark(0, 0, 20_000)], [launch(0, 10)], kernels(20, 20_300, 0))
    assert "mark" not in step_sentences(time_model(close))[0]


def test_the_profilers_own_work_counts_in_no_share() -> None:
    """Of 10,000 µs the profiler takes 2,000 in the gap, and the device computes 5,000."""
    spans = [
        mark(0, 0, 10_000),
        span("overhead", "Activity Buffer Request", 5_500, 7_500),
        span("annotation", "checkpoint", 5_000, 9_900),
    ]
    calls = [launch(0, 10), launch(9_980, 9_990)]
    trace = program(spans, calls, [*kernels(0, 5_000, 0), work(9_995, 10_000, 1)])
    (row,) = time_breakdown(trace).filter(step=0).to_dicts()
    assert row["profiler_ns"] == 2_000 * US
    assert row["compute_frac"] == pytest.approx(5_005 / 8_000)
    assert row["idle_frac"] == pytest.approx(2_995 / 8_000)
    row = verdict(trace).row(0, named=True)
    assert (row["bound"], row["second"]) == ("compute", "host")
    assert row["value"] == pytest.approx(5_005 / 8_000)
    gaps = idle_gaps(trace)
    assert row["second_frac"] == pytest.approx(gaps.filter(cause="host")["share_frac"].sum())
    (own,) = gaps.filter(what="the profiler's own work").to_dicts()
    assert (own["idle_ns"], own["share_frac"]) == (2_000 * US, None)
