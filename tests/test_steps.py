"""Steps: what marks them, which one a moment belongs to, and how long each took."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.programs import Row, api, launch, mark, program, span, work
from tests.torch_files import call, kernel, read, rows, write
from tests.torch_files import span as event
from tracelens.derive.events.steps import find_marks, mark_steps
from tracelens.derive.time.step_table import steps_of
from tracelens.errors import UsageError
from tracelens.trace import Trace

SPANS = {
    "process_id": pl.Int64,
    "thread_id": pl.Int64,
    "kind": pl.String,
    "name": pl.String,
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
}


def marks_in(*spans: Row, pattern: str | None = None) -> pl.DataFrame:
    """The marks in rows of spans, of process 1 and thread 1 unless they say otherwise."""
    return find_marks(
        pl.DataFrame([{"process_id": 1, "thread_id": 1} | row for row in spans], schema=SPANS),
        pattern,
    )


def nvtx(name: str, start: int, end: int, **more: int) -> Row:
    return {"kind": "nvtx", "name": name, "start_ns": start, "duration_ns": end - start, **more}


def steps_at(marks: pl.DataFrame, *moments: int, process: int = 1) -> list[int | None]:
    """The step under way at each moment."""
    frame = pl.DataFrame({"start_ns": moments, "process_id": [process] * len(moments)})
    return mark_steps(frame, marks)["step"].to_list()


def steps(trace: Trace, *columns: str) -> list[tuple[int | str, ...]]:
    """Columns of the table of steps, times in µs."""
    return (
        steps_of(trace)
        .with_columns(pl.col("start_ns", "duration_ns", "host_ns") // 1000)
        .select(columns)
        .rows()
    )


def times(trace: Trace) -> list[tuple[int | str, ...]]:
    return steps(trace, "step", "start_ns", "duration_ns")


# ---- what marks steps


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("ProfilerStep#0", 0),
        ("ProfilerStep#417", 417),
        ("step 3", 3),
        ("Step_3", 3),
        ("train_step 12", 12),
        ("iteration #5", 5),
        ("iter5", 5),
        ("eval step 2", 2),
        ("step 3 of 5", None),
        ("ProfilerStep#", None),
        ("my step 3", None),
        ("stepping 3", None),
        ("step 99999999999999999999", None),
        ("Optimizer.step#SGD.step", None),
    ],
)
def test_names_that_tell_a_step(name: str, step: int | None) -> None:
    assert marks_in(nvtx(name, 0, 10))["step"].to_list() == ([] if step is None else [step])


@pytest.mark.parametrize(
    "names",
    [
        ("execute_context_0(0)_generation_32(32)", "execute_context_1(512)_generation_31(31)"),
        ("execute_model", "execute_model"),
        ("step[DECODE bs=8]", "step[EXTEND bs=1 toks=1034]"),
    ],
)
def test_batches_of_inference_servers_are_counted_from_0(names: tuple[str, str]) -> None:
    marks = marks_in(nvtx(names[0], 0, 10), nvtx(names[1], 12, 20))
    assert marks.select("step", "window", "start_ns").rows() == [(0, 0, 0), (1, 0, 12)]


@pytest.mark.parametrize("name", ["execute", "execute_", "steps[1]", "stepwise"])
def test_names_like_those_of_servers(name: str) -> None:
    assert marks_in(nvtx(name, 0, 10), nvtx(name, 10, 20)).is_empty()


def test_only_annotations_and_ranges_mark_steps() -> None:
    ops = [
        nvtx(f"step {number}", number, number + 1) | {"kind": kind}
        for number, kind in enumerate(("op", "python"))
    ]
    assert steps_at(marks_in(*ops, nvtx("step 3", 20, 30)), 5, 25) == [None, 3]


def test_a_pattern_replaces_the_known_marks() -> None:
    spans = [
        mark(7, 0, 10),
        mark(8, 10, 20),
        nvtx("batch=4 of 9", 0, 5_000) | {"kind": "python"},
        nvtx("batch=5 of 9", 5_000, 9_000),
    ]
    assert marks_in(*spans, pattern=r"^batch=(\d+)")["step"].to_list() == [4, 5]
    assert marks_in(*spans, pattern=r"^batch=\d+")["step"].to_list() == [0, 1]
    assert marks_in(*spans, pattern=r"^(batch)=\d+")["step"].to_list() == [0, 1]
    assert marks_in(*spans, pattern="^never$").is_empty()


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(
        UsageError, match=r"^'step \(' is not a regular expression for the names of steps"
    ):
        marks_in(nvtx("step 1", 0, 5), pattern="step (")


def test_the_profilers_own_marks_count_before_the_programs() -> None:
    spans = [
        nvtx("step 0", 0, 4),
        nvtx("step 1", 5, 9),
        nvtx("ProfilerStep#3", 0, 5),
        nvtx("ProfilerStep#4", 5, 10),
    ]
    assert marks_in(*spans)["name"].to_list() == ["ProfilerStep#3", "ProfilerStep#4"]


def test_one_mark_of_a_sort_around_several_of_another_is_no_step() -> None:
    spans = [nvtx("ProfilerStep#7", 0, 100), nvtx("step 0", 10, 20), nvtx("step 1", 20, 30)]
    assert marks_in(*spans)["name"].to_list() == ["step 0", "step 1"]
    assert marks_in(spans[0], nvtx("execute_x", 0, 1))["name"].to_list() == ["ProfilerStep#7"]


def test_of_marks_within_each_other_the_outer_ones() -> None:
    inner = [nvtx(f"step {number}", number * 10 + 1, number * 10 + 3) for number in range(6)]
    outer = [nvtx("step 0", 0, 30), nvtx("step 1", 30, 60)]
    assert marks_in(*inner, *outer).select("start_ns", "end_ns").rows() == [(0, 30), (30, 60)]
    # Those that end together are within each other too.
    ending = [nvtx("step 7", 20, 30), nvtx("step 8", 50, 60)]
    assert marks_in(*ending, *outer).select("start_ns", "end_ns").rows() == [(0, 30), (30, 60)]
    # One outer mark alone makes no steps, so what is within does.
    assert marks_in(*inner, nvtx("step 0", 0, 60))["start_ns"].to_list() == [1, 11, 21, 31, 41, 51]


def test_numbers_that_a_process_tells_twice_are_counted_instead() -> None:
    spans = [
        nvtx(f"step {number}", at, at + 5) for number, at in [(0, 0), (1, 10), (0, 20), (1, 30)]
    ]
    marks = marks_in(*spans)
    assert marks.select("step", "window").rows() == [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 1),
    ]  # an epoch is a window


def test_two_threads_that_mark_a_step_mark_one() -> None:
    spans = [
        nvtx("step 4", 0, 10),
        nvtx("step 4", 2, 12, thread_id=2),
        nvtx("step 5", 20, 30),
        nvtx("step 5", 21, 35, thread_id=2),
    ]
    assert marks_in(*spans).select("step", "start_ns", "end_ns").rows() == [(4, 0, 12), (5, 20, 35)]


def test_each_process_has_windows_of_its_own() -> None:
    spans = [nvtx("step 4", 0, 10), nvtx("step 5", 10, 20), nvtx("step 4", 1, 11, process_id=2)]
    assert marks_in(*spans).select("process_id", "step", "window").rows() == [
        (1, 4, 0),
        (2, 4, 0),
        (1, 5, 0),
    ]


# ---- the step that a moment is in


def test_the_step_under_way() -> None:
    marks = marks_in(nvtx("ProfilerStep#1", 10, 20), nvtx("ProfilerStep#2", 20, 30))
    assert steps_at(marks, 9, 10, 19, 20, 29, 30) == [None, 1, 1, 2, 2, None]
    assert steps_at(marks, 15, process=2) == [None]
    assert steps_at(marks_in(), 15) == [None]


def test_between_two_marks_the_earlier_step_goes_on() -> None:
    marks = marks_in(nvtx("step 1", 0, 10), nvtx("step 2", 15, 20), nvtx("step 7", 40, 50))
    assert steps_at(marks, 12, 17, 20, 39, 40, 50) == [1, 2, None, None, 7, None]


def test_of_overlapping_marks_the_later_one() -> None:
    marks = marks_in(
        nvtx("step 1", 0, 20),
        nvtx("step 2", 10, 30, thread_id=2),
        nvtx("step 9", 0, 50, process_id=2),
    )
    assert steps_at(marks, 9, 10, 25, 30) == [1, 2, 2, None]
    assert steps_at(marks, 25, process=2) == [9]


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 2), st.integers(-1, 80)), max_size=12),
)
def test_the_last_mark_that_began_wherever_it_is_asked(
    steps: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    """Steps of process 1, each after a pause, have consecutive numbers.

    Moments of two processes are asked for.
    """
    edges, at = [], 0
    for pause, length in steps:
        edges.append((at + pause, at + pause + length))
        at += pause + length
    marks = marks_in(*(nvtx(f"step {number}", *edge) for number, edge in enumerate(edges)))
    expected = []
    for process, moment in asked:
        begun = [number for number, (start, _) in enumerate(edges) if start <= moment]
        expected.append(begun[-1] if begun and process == 1 and moment < edges[-1][1] else None)
    frame = pl.DataFrame(asked, schema={"process_id": pl.Int32, "start_ns": pl.Int64}, orient="row")
    assert mark_steps(frame, marks)["step"].to_list() == expected


def test_work_belongs_to_the_step_that_launched_it(tmp_path: Path) -> None:
    events = [
        event("ProfilerStep#4", 0, 10, cat="user_annotation"),
        call("cudaLaunchKernel", 8, 1, 1),
        event("ProfilerStep#5", 10, 10, cat="user_annotation"),
        kernel("launched in 4, runs in 5", 12, 3, 1),
        call("cudaLaunchKernel", 21, 1, 2),
        kernel("after", 23, 3, 2),
        kernel("nobody's", 13, 1, 3),
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "api_calls", "step") == [(4,), (None,)]
    assert rows(capture, "kernels", "name", "step") == [
        ("launched in 4, runs in 5", 4),
        ("nobody's", None),
        ("after", None),
    ]
    # Step 5 begins when the device has finished what step 4 launched; nobody's kernel runs within
    # that.
    assert rows(capture, "steps", "step", "start_ns", "duration_ns", "host_ns", "n_kernels") == [
        (4, 0, 15_000, 10_000, 2),
        (5, 15_000, 5_000, 10_000, 0),
    ]


# ---- how long each took


def test_a_step_ends_when_host_and_device_are_done_with_it() -> None:
    # host    |0: launch at 5  |1: launch at 105 |2         |300
    # device      |10---------------130| |140--180|
    trace = program(
        [mark(0, 0, 90), mark(1, 100, 190), mark(2, 200, 300)],
        [launch(5, 8), launch(105, 108)],
        [work(10, 130, 0), work(140, 180, 1)],
    )
    assert times(trace) == [(0, 0, 130), (1, 130, 70), (2, 200, 100)]
    assert steps(trace, "host_ns", "n_kernels", "window") == [(100, 1, 0), (100, 1, 0), (100, 0, 0)]


def test_leading_and_trailing_host_time_belongs_to_the_step() -> None:
    trace = program([mark(0, 0, 500)], [launch(200, 208)], [work(210, 260, 0)])
    assert times(trace) == [(0, 0, 500)]


def test_a_host_that_runs_ahead_makes_no_short_steps() -> None:
    """The host takes 140 µs per step, the device 5,500."""
    marks = [mark(number, number * 140, number * 140 + 140) for number in range(4)]
    calls = [launch(number * 140 + 10, number * 140 + 20) for number in range(4)]
    kernels = [work(100 + number * 5_500, 5_600 + number * 5_500, number) for number in range(4)]
    trace = program(marks, calls, kernels)
    assert times(trace) == [
        (0, 0, 5_600),
        (1, 5_600, 5_500),
        (2, 11_100, 5_500),
        (3, 16_600, 5_500),
    ]
    assert steps(trace, "host_ns") == [(140,)] * 4


def test_the_last_step_ends_with_its_mark_or_its_last_work() -> None:
    marks, calls = [mark(0, 0, 100), mark(1, 100, 200)], [launch(150, 155), launch(250, 255)]
    assert times(program(marks, calls, [work(160, 170, 0)])) == [(0, 0, 100), (1, 100, 100)]
    assert times(program(marks, calls, [work(160, 270, 0)])) == [(0, 0, 100), (1, 100, 170)]
    # What was launched after the mark is no work of the step.
    assert times(program(marks, calls, [work(160, 170, 0), work(260, 270, 1)])) == [
        (0, 0, 100),
        (1, 100, 100),
    ]


def test_the_first_step_begins_when_earlier_work_ends() -> None:
    earlier, own = work(0, 130, 0), work(140, 150, 1)
    calls = [launch(-10, -5), launch(105, 108)]
    assert times(program([mark(0, 100, 200)], calls, [earlier, own])) == [(0, 130, 70)]
    before_the_trace = work(90, 130, link="pre_window")
    assert times(program([mark(0, 100, 200)], calls, [before_the_trace, own])) == [(0, 130, 70)]


def test_earlier_work_may_last_longer_than_the_mark() -> None:
    trace = program([mark(0, 100, 200), mark(1, 200, 300)], [launch(0, 5)], [work(10, 250, 0)])
    assert times(trace) == [(0, 250, 0), (1, 250, 50)]


def test_a_window_counts_what_runs_in_it() -> None:
    """Two kernels of step 0 start after the host began step 1, before the device was done."""
    trace = program(
        [mark(0, 0, 100), mark(1, 100, 400)],
        [launch(10, 12), launch(20, 22), launch(110, 112)],
        [work(30, 90, 0), work(150, 200, 1), work(160, 260, 2, stream_id=2), work(270, 280, 2)],
    )
    assert times(trace) == [(0, 0, 200), (1, 200, 200)]
    assert steps(trace, "n_kernels") == [(3,), (1,)]


def test_copies_and_memsets_are_work_of_a_step_too() -> None:
    calls = [api("cudaMemcpyAsync", 50, 55), api("cudaMemsetAsync", 60, 65)]
    marks = [mark(0, 0, 100), mark(1, 100, 110)]
    assert times(program(marks, calls, memcpys=[work(60, 130, 0)])) == [(0, 0, 130), (1, 130, 0)]
    assert times(program(marks, calls, memsets=[work(60, 140, 1)])) == [(0, 0, 140), (1, 140, 0)]
    assert steps(program(marks, calls, memcpys=[work(60, 130, 0)]), "n_kernels") == [(0,), (0,)]


def test_steps_that_do_not_follow_on_are_windows() -> None:
    """Steps 0, 1, then 10, 11. Steps between them were left out; their time is not step 1's."""
    marks = [mark(0, 0, 100), mark(1, 100, 200), mark(10, 1_000, 1_100), mark(11, 1_110, 1_200)]
    calls = [launch(150, 155), launch(500, 505), launch(1_050, 1_055)]
    trace = program(marks, calls, [work(160, 230, 0), work(510, 520, 1), work(1_060, 1_065, 2)])
    assert times(trace) == [(0, 0, 100), (1, 100, 130), (10, 1_000, 110), (11, 1_110, 90)]
    assert steps(trace, "window", "n_kernels") == [(0, 0), (0, 1), (1, 1), (1, 0)]


def test_a_later_windows_step_begins_when_earlier_work_ends() -> None:
    marks = [mark(0, 0, 100), mark(10, 1_000, 1_100)]
    trace = program(marks, [launch(500, 505)], [work(510, 1_030, 0)])
    assert times(trace) == [(0, 0, 100), (10, 1_030, 70)]


def test_steps_tile_their_time_over_all_devices() -> None:
    trace = program(
        [mark(0, 0, 100), mark(1, 100, 200)],
        [launch(10, 12), launch(14, 16)],
        [work(20, 120, 0), work(20, 150, 1, device_id=1)],
    )
    assert times(trace) == [(0, 0, 150), (1, 150, 50)]


def test_ranks_have_steps_of_their_own() -> None:
    marks = [mark(0, 0, 100), mark(0, 50, 80, rank=1)]
    found = steps_of(program(marks, [], [work(1, 2), work(51, 52, rank=1)]))
    assert found.select("rank", "start_ns", "duration_ns").rows() == [
        (0, 0, 100_000),
        (1, 50_000, 30_000),
    ]


def test_processes_that_mark_the_same_step_share_it() -> None:
    marks = [
        mark(0, 0, 100),
        mark(0, 5, 105, process_id=2),
        mark(1, 100, 200),
        mark(1, 110, 210, process_id=2),
    ]
    assert times(program(marks)) == [(0, 0, 100), (1, 100, 110)]


def test_without_marks_there_are_no_steps() -> None:
    assert steps_of(program([span("annotation", "train", 0, 100)], [], [work(0, 10)])).is_empty()


@given(st.data())
def test_steps_end_when_host_and_device_are_done(data: st.DataObject) -> None:
    """On random marks and work: whatever was launched before a step ends is finished by its end."""
    numbers = data.draw(st.lists(st.integers(1, 2), min_size=1, max_size=5))
    edges, at, number = [], 0, -1
    for skipped in numbers:
        number += skipped
        start = at + data.draw(st.integers(0, 4))
        at = start + data.draw(st.integers(1, 10))
        edges.append((number, start, at))
    launches = data.draw(st.lists(st.integers(-3, at + 3), max_size=8))
    kernels = [
        (t, t + data.draw(st.integers(1, 12)), data.draw(st.integers(0, 12))) for t in launches
    ]
    expected, reached = [], -(10**9)
    for place, (step, start, end) in enumerate(edges):
        following = (
            edges[place + 1] if place + 1 < len(edges) and edges[place + 1][0] == step + 1 else None
        )
        host_end = following[1] if following else end
        begin = max([start, reached, *(s + d for t, s, d in kernels if t < start)])
        reached = max([host_end, begin, *(s + d for t, s, d in kernels if t < host_end)])
        expected.append((step, begin, reached - begin))
    trace = program(
        [mark(step, start, end) for step, start, end in edges],
        [launch(t, t + 0.5) for t in launches],
        [work(s, s + d, row) for row, (_, s, d) in enumerate(kernels)],
    )
    assert times(trace) == expected
