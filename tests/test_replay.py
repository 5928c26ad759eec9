"""Replaying a step as a graph of what waits for what."""

import numpy as np
import polars as pl
import pytest

import tracelens as tl
from tests.sources import SAMPLES
from tests.step_traces import StepTrace, launch_bound
from tracelens.analyses import unprofiled_step
from tracelens.analyses.verdict import notes, verdict
from tracelens.answers import make_answer
from tracelens.derive.replay.costs import (
    TORCH_COSTS,
    Costs,
    costs_of,
    nsys_costs,
    slowness,
)
from tracelens.derive.replay.moment_graph import (
    COPY,
)
from tracelens.derive.replay.replay import replay_of, replays, steady_step_ns
from tracelens.derive.replay.unprofiled import (
    UnprofiledStep,
    unprofiled_steps,
    weights_of_scenarios,
    weights_without,
)
from tracelens.derive.time.program_phases import program_steps
from tracelens.trace import Trace


@pytest.mark.parametrize(
    ("n_threads", "at_once", "n_timelines"), [(200, 1, [1]), (64, 64, [64]), (65, 65, [])]
)
def test_many_threads(n_threads: int, at_once: int, n_timelines: list[int]) -> None:
    """In turns they have one timeline; more side by side than any program has are not replayed."""
    made = StepTrace()
    made.step(0, 4000)
    made.launch("gemm", 1, 5, 6)
    for thread in range(n_threads):
        start = 10 * (thread // at_once + 1)
        made.span("aten::mm", start, start + 5, thread_id=thread + 1)
    found = replays(made.trace())
    assert [len(replay.timeline_ends) for replay in found.values()] == n_timelines


def test_a_replay_filters_rows_of_its_own_rank_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filtering all ranks' rows for each rank takes time with the square of their number."""
    select = Trace.select
    filtered_ranks = set()

    def noted(
        trace: Trace, *names: str, where: pl.Expr | None = None, rank: int | None = None
    ) -> pl.DataFrame:
        if where is not None:
            filtered_ranks.add(rank)
        return select(trace, *names, where=where, rank=rank)

    trace = launch_bound().trace()
    program_steps(trace)
    monkeypatch.setattr(Trace, "select", noted)
    assert replay_of(trace, 0) is not None
    assert filtered_ranks == {0}


def test_faster_kernels_move_the_wait() -> None:
    replay = replay_of(launch_bound().trace(), 0)
    assert replay is not None
    table = replay.table
    halved = np.where(np.isin(table.kinds, [4]), table.graph.weights // 2, table.graph.weights)
    # gemm ends at 85 and relu, launched at 55, starts at 86 and ends at 111: 75 µs earlier.
    assert steady_step_ns(replay, halved) == 325_000
    assert steady_step_ns(replay) == 400_000


def test_a_step_without_the_profiler_is_shorter_by_its_ops() -> None:
    made = StepTrace()
    made.step(0, 1000)
    for start in range(0, 1000, 100):
        made.span("aten::add", start + 10, start + 90)
        made.launch("add", start + 40, start + 50, start + 51)
    row = unprofiled_step(made.trace()).row(0, named=True)
    # Ten ops and ten calls on a host that never waits, whose launches take 5 µs: 3.2 of these are
    # the profiler's, 2.9 where costs were fitted.
    assert row["recorded_ns"] == 1_000_000
    costs = TORCH_COSTS["plain"]
    added = 10 * (costs.op_ns + costs.call_ns) * 3.2 / 2.9
    assert row["unprofiled_ns"] == pytest.approx(1_000_000 - added, abs=1_000)
    assert row["low_ns"] < 930_000 < row["high_ns"]
    assert (row["evidence"], row["replay_error_frac"]) == ("table", 0)


@pytest.mark.parametrize(
    ("lengths_us", "kernel_us", "usual_us"),
    [
        ((400, 300, 200), 1, 200),  # caches get warm: the last step is as all later ones
        ((400, 300, 250, 270), 1, 250),  # the shortest, not the last: others were disturbed
        ((3000, 2900, 2800), 1, 2900),  # the last one begins after 5.9 ms
        ((400, 300, 200), 290, 290),  # the device's work gets no shorter
    ],
)
def test_the_shortest_of_short_steps_had_warm_caches(
    lengths_us: tuple[int, ...], kernel_us: int, usual_us: int
) -> None:
    made = StepTrace()
    begin = 0
    for length in lengths_us:
        made.step(begin, begin + length)
        made.launch("gemm", begin, begin, begin + kernel_us)
        begin += length
    row = unprofiled_step(made.trace()).row(0, named=True)
    assert row["unprofiled_ns"] == pytest.approx(usual_us * 1_000, abs=12_000)


@pytest.mark.parametrize(
    # Of a launch 1.8 µs are without the profiler, and 2.9 µs its own where costs were fitted.
    ("launch_us", "n_launches", "times"),
    # From 8.46 µs on, 1.8 times the usual launch, all of the host is slower in proportion.
    [(4.7, 10, 1), (7.6, 10, 2), (60, 10, 1), (7.6, 9, 1), (33.84, 10, 9.186), (1.9, 10, 0.25)],
)
def test_launches_tell_the_speed_of_the_host(
    launch_us: float, n_launches: int, times: float
) -> None:
    made = StepTrace()
    made.step(0, 1000)
    for start in range(0, 100 * n_launches, 100):
        call = made.call("cudaLaunchKernel", "kernel_launch", start, start + launch_us)
        made.kernel("gemm", start + 70, start + 71, call)
    replay = replay_of(made.trace(), 0)
    assert replay is not None
    assert slowness(replay) == pytest.approx(times, rel=1e-4)


def test_long_launches_tell_of_a_host_that_was_slow_for_a_while() -> None:
    """Six launches of 4.7 µs and four of 11.95 µs: costs are those of launches of 7.6 µs."""
    made = StepTrace()
    made.step(0, 1000)
    for start, launch_us in zip(range(0, 1000, 100), 6 * [4.7] + 4 * [11.95], strict=True):
        call = made.call("cudaLaunchKernel", "kernel_launch", start, start + launch_us)
        made.kernel("gemm", start + 70, start + 71, call)
    replay = replay_of(made.trace(), 0)
    assert replay is not None
    assert slowness(replay) == pytest.approx(2)


@pytest.mark.parametrize(
    ("launch_us", "times", "is_told"), [(7.52, 1.6, False), (9.4, 2.0, True), (18.8, 4.0, True)]
)
def test_an_answer_tells_that_the_host_was_slow(
    launch_us: float, times: float, *, is_told: bool
) -> None:
    made = StepTrace()
    made.step(0, 2_000)
    made.step(2_000, 4_000)
    for start in range(0, 4_000, 50):
        call = made.call("cudaLaunchKernel", "kernel_launch", start, start + launch_us)
        made.span("aten::add", start - 1, start + 18)
        made.kernel("gemm", start + 19, start + 21, call)
    trace = made.trace()
    said = f"the host was slow while it recorded: its launches took {times} times as long as usual"
    answer = make_answer(trace)
    assert answer.sentence.startswith("The GPU waits for launches")
    assert any(doubt.startswith(said) for doubt in answer.doubts) == is_told
    step = unprofiled_steps(trace)[0]
    assert step.unprofiled_ns is not None
    assert step.high_ns is not None
    # Without the profiler such a host takes up to `times` as long as the one of the costs; the
    # step is given for 1.8 times.
    assert step.high_ns >= step.unprofiled_ns * max(times / 1.8, 1) * 0.999


FAST_US = 5.1
"""The time of a launch under nsys on a fast host."""


def under_nsys(launch_us: float, n_launches: int) -> StepTrace:
    """Two steps of 1 ms, each of so many launches that the device never delays."""
    made = StepTrace()
    for begin in (0, 1000):
        made.step(begin, begin + 1000)
        for start in range(begin, begin + 90 * n_launches, 90):
            call = made.call(
                "cudaLaunchKernel", "kernel_launch", start + 20, start + 20 + launch_us
            )
            made.kernel("gemm", start + 60, start + 61, call)
    return made


def test_nsys_costs_time_in_and_beside_a_call() -> None:
    """Nsys takes 3 µs in a launch of 7.2 µs and 4 on each side, and less in a shorter one."""
    row = unprofiled_step(under_nsys(FAST_US, 10).trace("nsys")).row(0, named=True)
    left_ns = 1_000_000 - 110_000 * FAST_US / 7.2
    assert (row["recorded_ns"], row["evidence"]) == (1_000_000, "table")
    assert row["unprofiled_ns"] == pytest.approx(left_ns, abs=100)
    assert row["low_ns"] < left_ns < row["high_ns"]


def test_launches_of_no_time_under_nsys_show_a_fast_host() -> None:
    row = unprofiled_step(under_nsys(0, 10).trace("nsys")).row(0, named=True)
    assert row["low_ns"] < row["unprofiled_ns"] <= row["recorded_ns"] == 1_000_000


def test_a_host_under_nsys_may_be_slow_only_for_a_moment() -> None:
    """Launches four times as long as on a fast host: a usual host takes half as long for the rest.

    The range reaches from the fast host to the recorded one.
    """
    row = unprofiled_step(under_nsys(4 * FAST_US, 10).trace("nsys")).row(0, named=True)
    as_recorded_ns = 1_000_000 - 110_000 * 4 * FAST_US / 7.2
    assert row["unprofiled_ns"] == pytest.approx(as_recorded_ns / 2, rel=0.02)
    assert row["low_ns"] < as_recorded_ns / 4 * 1.02
    assert row["high_ns"] >= as_recorded_ns * 0.99


@pytest.mark.parametrize(
    ("api", "kind", "cost_us"),
    [("cudaMemcpyAsync", "memcpy", 1 + 2), ("cudaEventRecord", "other", 0.2 + 1.5)],
)
def test_nsys_costs_less_of_a_call_that_launches_no_kernel(
    api: str, kind: str, cost_us: float
) -> None:
    made = under_nsys(FAST_US, 1)
    for start in (*range(110, 1000, 90), *range(1110, 2000, 90)):
        made.call(api, kind, start, start + 5)
    row = unprofiled_step(made.trace("nsys")).row(0, named=True)
    # One launch of 11 µs, and ten such calls. Too few launches show no other speed.
    assert row["unprofiled_ns"] == pytest.approx(989_000 - 10_000 * cost_us, abs=100)


def test_nsys_costs_time_at_both_ends_of_a_range() -> None:
    made = under_nsys(FAST_US, 10)
    for start in (*range(40, 940, 90), *range(1040, 1940, 90)):
        made.span("range", start, start + 10, kind="nvtx")
    row = unprofiled_step(made.trace("nsys")).row(0, named=True)
    # Ten launches of 11 µs, and ten ranges of 0.6 µs, on a host slower than this one.
    cost_ns = (110_000 + 6_000) * FAST_US / 7.2
    assert row["unprofiled_ns"] == pytest.approx(1_000_000 - cost_ns, abs=100)


def test_no_step_is_shorter_than_its_device_work() -> None:
    """Each step of this program has one kernel of about 0.81 ms."""
    trace = tl.collect(SAMPLES / "whatif" / "captures" / "spin_alone.stacks.pt.trace.json.gz")
    in_steps = trace.kernels.drop_nulls("step").group_by("step").agg(pl.col("duration_ns").sum())
    step_ns = unprofiled_steps(trace)[0].unprofiled_ns
    assert step_ns is not None
    assert step_ns >= min(in_steps["duration_ns"])


def test_another_profilers_costs_are_not_known() -> None:
    row = unprofiled_step(under_nsys(7.2, 10).trace("rocprof")).row(0, named=True)
    assert (row["unprofiled_ns"], row["evidence"]) == (None, "unknown")


@pytest.mark.parametrize(
    ("launch_us", "n_launches", "times"),
    [(7.2, 10, 1), (14.4, 10, 2), (14.4, 4, 1), (36, 10, 4), (0.9, 10, 0.25)],
)
def test_launches_under_nsys_tell_the_speed_of_the_host(
    launch_us: float, n_launches: int, times: float
) -> None:
    """Of fewer than ten launches none is told: two steps of four have eight."""
    replay = replay_of(under_nsys(launch_us, n_launches).trace("nsys"), 0)
    assert replay is not None
    assert nsys_costs(replay).of_launch.inside_ns == pytest.approx(3_000 * times)


def test_work_of_before_the_window_does_not_shorten_steady_steps() -> None:
    made = StepTrace()
    made.kernel("earlier", -50, 20, None)
    for start in (0, 400, 800):
        made.step(start, start + 400)
        made.launch("gemm", start + 20, start + 35, start + 135)
    replay = replay_of(made.trace(), 0)
    assert replay is not None
    assert steady_step_ns(replay) == 400_000


def test_a_generated_kernel_costs_the_profiler_more() -> None:
    steps = []
    for name in ("aten::relu", "triton_poi_fused_relu_0"):
        made = StepTrace()
        for start in (0, 400, 800):
            made.step(start, start + 400)
            made.span(name, start + 100, start + 200)
            made.launch("relu", start + 150, start + 160, start + 162)
        steps.append(unprofiled_step(made.trace("torch"))["unprofiled_ns"].item())
    more = TORCH_COSTS["plain"].generated_ns
    assert steps[0] - steps[1] == pytest.approx(more, abs=2)


def test_recording_takes_time_of_a_graphs_kernels() -> None:
    """Two of a replayed graph's kernels of 400 µs are each 156 ns longer than without."""
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        call = made.call("cudaGraphLaunch", "kernel_launch", start + 10, start + 15)
        for begin in (20, 420):
            made.kernel("k", start + begin, start + begin + 400, call, link="graph")
        made.call("cudaDeviceSynchronize", "sync", start + 30, start + 830)
    replay = replay_of(made.trace(), 0)
    assert replay is not None
    costs = Costs(0, 0, 1)
    without = steady_step_ns(replay, weights_without(replay, costs))
    # A nanosecond of each of two calls, of which the wait's is over before the device's work.
    assert steady_step_ns(replay) - without == pytest.approx(2 * 156, abs=2)


def test_pageable_copies_vary_three_times_as_much_as_the_host() -> None:
    """A host that is slower by a tenth moves 880 µs of bytes three tenths slower."""
    made = StepTrace()
    for start in (0, 1000, 2000):
        made.step(start, start + 1000)
        call = made.call("cudaMemcpyAsync", "memcpy", start + 10, start + 900)
        made.copy(start + 10, start + 890, call)
    replay = replay_of(made.trace(), 0)
    assert replay is not None
    is_copy = replay.table.kinds == COPY
    slower = weights_without(replay, TORCH_COSTS["plain"], 1.1)
    assert slower[is_copy].tolist() == [1_144_000] * 3
    much_slower = weights_without(replay, TORCH_COSTS["plain"], 1.3)
    assert much_slower[is_copy].tolist() == [1_320_000] * 3, "half as long again, at most"


def test_a_step_of_device_work_keeps_its_time() -> None:
    made = StepTrace()
    made.step(0, 1005)
    made.launch("gemm", 5, 15, 1000)
    made.call("cudaDeviceSynchronize", "sync", 20, 1004)
    row = unprofiled_step(made.trace()).row(0, named=True)
    assert row["unprofiled_ns"] == pytest.approx(1_002_000, abs=3_000)


def test_the_profilers_own_step_is_taken_off() -> None:
    """Marks of 980 µs, 20 apart: torch.profiler ends one and begins the next in one call."""
    steps = []
    for gap in (0, 20):
        made = StepTrace()
        for start in (0, 1000, 2000):
            made.step(start, start + 1000)
            made.tables["spans"][-1]["duration_ns"] -= 1000 * gap
            made.span("aten::mm", start + 100, start + 900)
        steps.append(unprofiled_step(made.trace())["unprofiled_ns"].item())
    # Two of three steps are followed by another; at least a twentieth of a stretch stays.
    assert steps[0] - steps[1] == pytest.approx(20_000 * 2 / 3, rel=0.06)


def test_of_an_unknown_profiler_nothing_is_said() -> None:
    row = unprofiled_step(launch_bound().trace("trace_log")).row(0, named=True)
    assert (row["unprofiled_ns"], row["evidence"]) == (None, "unknown")


def half_launching(kernel_us: int) -> StepTrace:
    """Four steps of 1 ms: twenty ops of 30 µs that launch, and a kernel for so long in all."""
    made = StepTrace()
    for start in range(0, 4_000, 1_000):
        made.step(start, start + 1_000)
        for begin in range(start, start + 1_000, 50):
            made.span("aten::relu", begin + 1, begin + 45)
            made.launch("relu", begin + 8, begin + 14, begin + 14 + kernel_us / 20)
    return made


@pytest.mark.parametrize(
    # Recorded, 600 µs and more wait for launches. At the least, the step has lost so much of them
    # that kernels of 380 µs take more than half of it, but those of 40 µs still less.
    ("kernel_us", "bounds"),
    [(380, ("compute", "launches")), (40, None), (900, None)],
)
def test_where_the_range_spans_two_bounds_both_are_named(
    kernel_us: int, bounds: tuple[str, str] | None
) -> None:
    trace = half_launching(kernel_us).trace()
    rows = verdict(trace)
    step = unprofiled_step(trace).row(0, named=True)
    if bounds is not None:
        assert rows["bound"].item() == "launch"
        assert step["low_ns"] < 2 * 380_000 < step["high_ns"]
    sentences = [text for text in notes(trace, rows) if text.startswith("Without the profiler")]
    if bounds is None:
        assert sentences == []
    else:
        low, high = f"{step['low_ns'] / 1e3:.0f} µs", f"{step['high_ns'] / 1e6:.2f} ms"
        limits = f"limited by {bounds[0]} at the short end and by {bounds[1]} at the long end"
        assert sentences == [f"Without the profiler a step would take {low} to {high}, {limits}."]


@pytest.mark.parametrize(
    ("step_us", "told"), [(500, "76 % of it compute"), (800, "52 % of it launches")]
)
def test_the_largest_part_of_a_step_without_the_profiler_is_told(
    monkeypatch: pytest.MonkeyPatch, step_us: int, told: str
) -> None:
    """The step becomes shorter, and its 380 µs of kernels do not."""
    step_ns = step_us * 1_000
    step = UnprofiledStep(0, 1_000_000, step_ns, step_ns, step_ns, 0.0, "table")
    monkeypatch.setattr("tracelens.answers.details.unprofiled_steps", lambda _: {0: step})
    assert f", {told}" in str(make_answer(half_launching(380).trace()).unprofiled)


@pytest.mark.parametrize(
    # Shares of the host's time that are left: hosts are up to 1.8 times as slow as those of the
    # costs, so a third of the time is the recording's where they launch 2.7 times as slowly.
    ("launch_us", "usual", "fastest"),
    [(4.7, 1, 1), (7.05, 1, 1 / 1.5), (8.46, 1, 1 / 1.8), (12.69, 1.8 / 2.7, 1 / 2.7)],
)
def test_a_host_may_be_slow_only_while_it_records(
    launch_us: float, usual: float, fastest: float
) -> None:
    made = StepTrace()
    made.step(0, 2_000)
    for start in range(0, 2_000, 200):
        call = made.call("cudaLaunchKernel", "kernel_launch", start, start + launch_us)
        made.kernel("relu", start + 20, start + 21, call)
    trace = made.trace()
    replay = replays(trace)[0]
    costs, _ = costs_of(trace, replay)
    alone = TORCH_COSTS["plain"].times(slowness(replay))
    step_ns = steady_step_ns(replay, weights_without(replay, alone))
    found = [steady_step_ns(replay, w) / step_ns for w in weights_of_scenarios(replay, costs)]
    assert found[0] == pytest.approx(usual, rel=0.02)
    assert found[3] == pytest.approx(fastest, rel=0.02)


@pytest.mark.parametrize("n_ops", [0, 30])
def test_a_sleep_or_reading_is_as_long_on_a_faster_host(n_ops: int) -> None:
    """Launches of 16.92 µs, twice those of the slowest usual host, tell nothing of other work.

    A loader's 30 ops of 1 ms each are work without launches, too.
    """
    steps = []
    for sleep_us in (0, 30_000):
        made = StepTrace()
        launching(made, 0, 2_000 + sleep_us, 16.92)
        for start in range(0, sleep_us and n_ops * 1_000, 1_000):
            made.span("aten::stack", 2_000 + start, 3_000 + start)
        steps.append(unprofiled_step(made.trace())["unprofiled_ns"].item())
    assert steps[1] - steps[0] == pytest.approx(30_000_000, rel=0.015)


def launching(made: StepTrace, start: int, length_us: int, launch_us: float) -> None:
    """Add a step with ten launches in its first 2 ms."""
    made.step(start, start + length_us)
    for begin in range(start, start + 2_000, 200):
        call = made.call("cudaLaunchKernel", "kernel_launch", begin, begin + launch_us)
        made.kernel("relu", begin + 20, begin + 21, call)


@pytest.mark.parametrize(("launch_us", "recorded_us"), [(4.7, 12_000), (9.4, 8_000)])
def test_a_step_that_a_slow_host_made_long_is_left_out(launch_us: float, recorded_us: int) -> None:
    """Of steps of 8, 8 and 20 ms the mean counts, unless launches of the last are slower, too."""
    made = StepTrace()
    launching(made, 0, 8_000, 4.7)
    launching(made, 8_000, 8_000, 4.7)
    launching(made, 16_000, 20_000, launch_us)
    assert unprofiled_step(made.trace())["recorded_ns"].item() == recorded_us * 1_000


def test_copies_of_a_host_that_was_slow_vary_as_others_do() -> None:
    """A copy of 8 ms takes 1.8 / 3.6 of that on a usual host, and three tenths more on a slower."""
    made = StepTrace()
    launching(made, 0, 12_000, 16.92)
    call = made.call("cudaMemcpyAsync", "memcpy", 3_000, 11_000)
    made.copy(3_000, 11_000, call)
    trace = made.trace()
    replay = replays(trace)[0]
    usual, slower, *_ = weights_of_scenarios(replay, costs_of(trace, replay)[0])
    is_copy = replay.table.kinds == COPY
    assert usual[is_copy].tolist() == [4_000_000]
    assert slower[is_copy].tolist() == [5_200_000]
