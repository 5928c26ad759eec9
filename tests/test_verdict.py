"""verdict: what limits a device in a step of 9,500 µs, by hand."""

from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tests.programs import Row, api, launch, many_ops, mark, program, span, work
from tracelens.analyses.verdict import notes, verdict
from tracelens.answers import make_answer
from tracelens.derive.replay.advised import list_changes
from tracelens.derive.time.bounds import bound_words
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import VERDICT
from tracelens.trace import Trace

STEP = mark(0, 0, 9_500)
HALF = 5_000 / 9_500
"""Half of the time and a little more: the largest part."""


def busy(start: int, end: int, **more: Any) -> list[Row]:
    """Five kernels, one after another, that the first call launched."""
    edges = [start + (end - start) * fifth // 5 for fifth in range(6)]
    return [work(low, high, 0, **more) for low, high in pairwise(edges)]


def collective(start: int, end: int, **more: Any) -> Row:
    return work(
        start, end, 0, name="ncclDevKernel_AllReduce_Sum_f32", is_communication=True, **more
    )


def copy(start: int, end: int, **more: Any) -> Row:
    facts = {"direction": "h2d", "source_memory": "pageable", "destination_memory": "device"}
    return work(start, end, 0, **facts, **more)


def idle(*spans: Row, calls: tuple[Row, ...] = (), marks: tuple[Row, ...] = (STEP,)) -> Trace:
    """Kernels to 4,000 and from 9,000 on, when their launch returned.

    The host's activities are between.
    """
    kernels = [*busy(0, 4_000), work(9_000, 9_500, 1)]
    return program([*marks, *spans], [launch(0, 10), launch(8_990, 9_000), *calls], kernels)


def only(trace: Trace) -> dict[str, Any]:
    (row,) = VERDICT.check(verdict(trace)).to_dicts()
    return row


@pytest.mark.parametrize(
    ("trace", "bound", "share", "what"),
    [
        (
            idle(span("annotation", "dataloader", 4_000, 8_990)),
            "input",
            4_990 / 9_500,
            "dataloader",
        ),
        (idle(calls=(api("cudaMalloc", 4_000, 8_990),)), "allocation", 4_990 / 9_500, "cudaMalloc"),
        (
            idle(calls=(api("cudaDeviceSynchronize", 100, 8_980),)),
            "sync",
            HALF,
            "cudaDeviceSynchronize",
        ),
        (
            idle(calls=(api("cuModuleLoadData", 4_000, 8_990),)),
            "loading",
            4_990 / 9_500,
            "cuModuleLoadData",
        ),
        (idle(*many_ops("aten::mm", 4_000, 9_050)), "launch", HALF, "cudaLaunchKernel"),
        (idle(span("annotation", "checkpoint", 4_000, 8_990)), "host", 4_990 / 9_500, "checkpoint"),
        (
            program([STEP], [launch(0, 10)], [*busy(0, 4_000), work(9_000, 9_500)]),
            "unknown",
            HALF,
            None,
        ),
        (
            program(
                [STEP], [launch(0, 10), launch(0, 10)], [*busy(0, 4_000), work(9_000, 9_500, 1)]
            ),
            "dependency",
            HALF,
            "cudaLaunchKernel",
        ),
        (
            program([STEP], [launch(0, 10)], busy(0, 4_500), memcpys=[copy(4_500, 9_500)]),
            "copy",
            HALF,
            "h2d copies from pageable to device memory",
        ),
        (
            program([STEP], [launch(0, 10)], [*busy(0, 4_500), collective(4_000, 9_500)]),
            "communication",
            HALF,
            "ncclDevKernel_AllReduce_Sum_f32",
        ),
        (
            program([STEP], [launch(0, 10)], busy(0, 9_000, name="void gemm<128>(float*)")),
            "compute",
            9_000 / 9_500,
            "gemm",
        ),
    ],
)
def test_each_bound_with_its_share_of_step_time_and_its_place(
    trace: Trace, bound: str, share: float, what: str | None
) -> None:
    row = only(trace)
    assert (row["bound"], row["bound_frac"]) == (bound, pytest.approx(share, abs=2e-3))
    assert (row["value"], row["unit"]) == (row["bound_frac"], "1")
    assert f"{row['bound_frac']:.1%} of step time" in row["evidence"]
    assert row["what"] == what
    assert what is None or what in row["evidence"]
    assert row["step_ns"] == 9_500_000


@pytest.mark.parametrize(
    ("copied", "then"),
    [
        (700, None),  # 700 of 9,500 µs are 7.4 %
        (1_100, "; then copies 11.6%"),
    ],
)
def test_a_third_part_is_named_from_a_tenth_on(copied: int, then: str | None) -> None:
    """The device is idle for most of the time, and computes for 3,100 µs."""
    kernels = [*busy(0, 3_000), work(9_400, 9_500)]
    copies = [copy(3_000, 3_000 + copied)]
    evidence = only(program([STEP], [launch(0, 10)], kernels, memcpys=copies))["evidence"]
    assert ("; then" in evidence) == (then is not None)
    assert then is None or then in evidence


def test_waiting_for_another_rank() -> None:
    """Both compute 4,000 µs.

    Rank 0 enters the collective at once, rank 1, whose host was busy, at 9,000.
    """
    marks = [STEP, STEP | {"rank": 1}]
    calls = [
        launch(0, 10),
        launch(0, 10, rank=1, api_call_id=0),
        launch(8_990, 9_000, rank=1, api_call_id=1),
    ]
    kernels = [
        *busy(0, 4_000),
        collective(4_000, 9_500, step=0),
        *busy(0, 4_000, rank=1),
        collective(9_000, 9_500, step=0, rank=1) | {"api_call_id": 1},
    ]
    found = verdict(program(marks, calls, kernels))
    assert found.select("rank", "bound").rows() == [(0, "waiting"), (1, "host")]
    assert found["value"].to_list() == pytest.approx([HALF, HALF], abs=2e-3)
    assert found["evidence"][0].startswith(
        "the device waits in collectives for rank 1 52.6% of step time, mostly in "
    )


@pytest.mark.parametrize(
    ("compute", "copies", "communication", "data", "pair"),
    [
        (8_000, 2_000, 0, 0, "compute 80 %, then copies 20 %"),
        # What computes most is called so, whatever else takes a quarter of it:
        (7_000, 1_200, 0, 1_800, "compute 70 %, then input 18 %"),
        (5_000, 1_800, 1_700, 1_500, "compute 50 %, then copies 18 %"),
        # less than computing in all, but the largest part:
        (2_400, 2_400, 2_700, 2_500, "communication 27 %, then input 25 %"),
        (2_000, 1_500, 1_000, 5_500, "input 55 %, then compute 20 %"),
        (9_850, 150, 0, 0, "compute 98 %"),  # 1.5 % is not worth a word
        (9_800, 200, 0, 0, "compute 98 %, then copies 2 %"),
    ],
)
def test_the_label_is_the_largest_part_then_the_next(
    compute: int, copies: int, communication: int, data: int, pair: str
) -> None:
    reached = compute + copies + communication
    kernels = [
        *busy(0, compute),
        *([collective(compute + copies, reached)] if communication else []),
    ]
    kernels.append(work(reached + data, 10_000, 1))
    calls = [launch(0, 10), launch(reached + data - 0.2, reached + data - 0.1)]
    spans = [mark(0, 0, 10_000), span("annotation", "data", reached, reached + data)]
    trace = program(spans, calls, kernels, memcpys=[copy(compute, compute + copies)])
    row = only(trace)
    parts = (row[name] for name in ("bound", "bound_frac", "second", "second_frac"))
    assert bound_words(*parts) == pair


def test_two_runs_of_one_program_get_one_label() -> None:
    """Compute takes 70.3 % of one and 69.4 % of the other.

    A threshold between them is no reason.
    """
    found = []
    for idle_from in (7_030, 6_940):
        spans = [mark(0, 0, 10_000), *many_ops("aten::mm", idle_from, 9_999)]
        kernels = [*busy(0, idle_from), work(9_999, 10_000, 1)]
        found.append(only(program(spans, [launch(0, 10), launch(9_980, 9_999)], kernels)))
    assert [(row["bound"], row["second"]) for row in found] == [("compute", "launch")] * 2


def test_the_second_part_has_its_share_and_its_place() -> None:
    near = program(
        [STEP, span("annotation", "data", 1_000, 6_900)],
        [launch(0, 10), api("cudaMalloc", 6_900, 8_990), launch(8_990, 9_000)],
        [*busy(0, 1_000), work(9_000, 9_500, 2)],
    )
    row = only(near)
    assert (row["bound"], row["second"], row["second_what"]) == (
        "input",
        "allocation",
        "cudaMalloc",
    )
    assert row["second_frac"] == pytest.approx(2_090 / 9_500)
    assert "; then allocation 22.0% (cudaMalloc)" in row["evidence"]
    far = idle(span("annotation", "data", 4_000, 8_900), calls=(api("cudaMalloc", 8_900, 8_990),))
    assert (only(far)["second"], "allocation" in only(far)["evidence"]) == ("compute", False)


def test_it_is_judged_over_whole_steps() -> None:
    """Time between windows does not count. Idle time at the beginning and end of a step does."""
    marks = [mark(0, 0, 1_000), mark(9, 100_000, 101_000)]
    later = [one | {"api_call_id": 1} for one in busy(100_000, 101_000)]
    trace = program(marks, [launch(0, 10), launch(100_000, 100_010)], [*busy(0, 1_000), *later])
    assert (only(trace)["bound"], only(trace)["value"]) == ("compute", 1.0)
    leading = program(
        [STEP, span("annotation", "data", 0, 6_990)], [launch(6_990, 7_000)], busy(7_000, 8_000)
    )
    assert (only(leading)["bound"], only(leading)["value"]) == (
        "input",
        pytest.approx(6_990 / 9_500),
    )


def test_a_rank_without_marks_is_judged_over_all_time() -> None:
    trace = idle(span("annotation", "dataloader", 4_000, 8_990), marks=())
    row = only(trace)
    assert (row["bound"], row["step_ns"]) == ("input", None)
    assert "of the time" in row["evidence"]


@pytest.mark.parametrize(
    ("n_steps", "n_kernels", "length", "is_judged"),
    [
        (0, 4, 2_000, False),
        (0, 5, 2_000, True),
        (1, 4, 2_000, False),
        (1, 5, 2_000, True),
        (1, 50, 1, False),  # under 1 % of the time
        (2, 4, 2_000, True),  # steps repeat
        (2, 8, 1, False),
        (2, 12, 1, True),
    ],
)
def test_too_little_to_judge(n_steps: int, n_kernels: int, length: int, is_judged: bool) -> None:
    marks = [mark(number, number * 10_000, number * 10_000 + 10_000) for number in range(n_steps)]
    reach = 10_000 * max(n_steps, 1)
    calls = [launch(0, 10), launch(reach - 10, reach)]
    kernels = [work(at, at + length, 0) for at in range(0, n_kernels * length, length)]
    if length == 2_000 and n_kernels * length > reach:
        pytest.fail("the case does not fit its steps")
    row = only(program(marks, calls, kernels))
    assert (row["bound"] != "too little to judge") == is_judged
    if not is_judged:
        assert f"{n_kernels} kernels" in row["evidence"]


def test_nothing_that_lasts_is_too_little() -> None:
    trace = program(kernels=[work(5, 5)])
    assert only(trace)["bound"] == "too little to judge"
    assert notes(trace, verdict(trace)) == []


def test_a_rank_that_only_copies_is_judged_too() -> None:
    trace = program([STEP], [launch(0, 10)], busy(0, 9_000), memcpys=[copy(0, 500, rank=1)])
    assert dict(verdict(trace).select("rank", "bound").iter_rows()) == {
        0: "compute",
        1: "too little to judge",
    }


def test_devices_that_a_rank_hardly_uses_do_not_count() -> None:
    trace = program([STEP], [launch(0, 10)], [*busy(0, 9_000), work(0, 100, 0, device_id=1)])
    assert only(trace)["bound"] == "compute"


def unprofiled(trace: Trace, profiled_us: int, plain_us: int) -> Trace:
    """The trace of a live capture that measured steps with and without the profiler."""
    settings = {
        "unprofiled_step_ns": {"median": plain_us * 1000},
        "profiled_step_ns": {"mean": profiled_us * 1000},
    }
    trace.manifest.sources = [{"rank": 0, "settings": settings}]
    return trace


def test_it_is_judged_by_the_step_without_the_profiler() -> None:
    """A step of 8,150 µs takes 2,290 unprofiled.

    The device computes 1,557 of them: 68 %, not 19 %.
    """
    spans = [mark(0, 0, 8_150), *many_ops("aten::mm", 1_000, 7_600)]
    calls = [launch(0, 10), launch(7_590, 7_600)]
    kernels = [*busy(0, 1_000), work(7_600, 8_157, 1)]
    plain = only(program(spans, calls, kernels))
    assert plain["bound"] == "launch"
    row = only(unprofiled(program(spans, calls, kernels), 8_157, 2_290))
    assert row["unprofiled_step_ns"] == 2_290_000
    assert "computes 68.0%" in row["evidence"]
    assert "A step takes 2.29 ms without the profiler, and " in row["evidence"]
    assert "19.1%" in row["evidence"]
    assert (row["bound"], row["second"]) == ("compute", "launch")
    assert row["bound_frac"] == pytest.approx(1_557 / 2_290, abs=1e-3)
    assert row["second_frac"] == pytest.approx(1 - 1_557 / 2_290, abs=1e-3)  # what is left


def test_a_busy_device_is_compute_bound_without_the_profiler() -> None:
    spans = [mark(0, 0, 8_000), span("op", "aten::mm", 1_000, 7_000)]
    kernels = [*busy(0, 1_000), work(7_000, 8_000, 1)]
    trace = program(spans, [launch(0, 10), launch(6_990, 7_000)], kernels)
    row = only(unprofiled(trace, 8_000, 2_100))
    assert (row["bound"], row["value"]) == ("compute", pytest.approx(2_000 / 2_100))


def test_notes_say_how_long_steps_take() -> None:
    marks = [mark(0, 0, 10_000), mark(1, 10_000, 22_000), mark(2, 22_000, 33_000)]
    calls = [launch(at, at + 10) for at in (0, 10_000, 22_000)]
    kernels = [work(at, at + 9_000, row) for row, at in enumerate((10, 10_010, 22_010))]
    trace = program(marks, calls, kernels)
    assert notes(trace, verdict(trace))[0] == "A step takes 11.0 ms (median of 3; 10.0 to 12.0 ms)."


def test_the_remark_on_stacks_appears_where_it_matters() -> None:
    python = span("python", "train.py(3): loop", 0, 9_499)
    for trace, is_said in (
        (idle(python, span("annotation", "checkpoint", 4_000, 8_990)), True),
        (idle(python, span("annotation", "data", 4_000, 8_990)), False),
        (idle(span("annotation", "checkpoint", 4_000, 8_990)), False),
        (program([STEP, python], [launch(0, 10)], busy(0, 9_900)), False),
    ):
        assert any("Python calls" in note for note in notes(trace, verdict(trace))) == is_said


@pytest.mark.parametrize(
    ("kernels", "note"),
    [
        (busy(0, 9_900), "The trace is incomplete; this judges the part that is there."),
        (busy(0, 100)[:1], "The trace is incomplete."),
    ],
)
def test_notes_warn_of_a_trace_that_is_cut_off(kernels: list[Row], note: str) -> None:
    trace = program([STEP], [launch(0, 10)], kernels)
    trace.manifest.complete = False
    assert notes(trace, verdict(trace))[-1] == note


def test_without_kernels() -> None:
    with pytest.raises(MissingTableError, match="tracelens collect torch or nsys"):
        verdict(program())


def test_the_verdict_does_not_depend_on_the_order_of_rows() -> None:
    spans = [STEP, span("annotation", "data", 4_000, 8_990)]
    calls = [launch(0, 10, api_call_id=0), launch(8_990, 9_000, api_call_id=1)]
    kernels = [*busy(0, 4_000), work(9_000, 9_500, 1)]
    found = verdict(program(spans, calls, kernels))
    assert verdict(program(spans[::-1], calls[::-1], kernels[::-1])).equals(found)
    assert found.select(pl.col("bound")).item() == "input"


def test_too_little_still_says_the_plain_fact() -> None:
    kernel = {"name": "scan", "duration_ns": 25_800_000_000, "grid_x": 1, "grid_y": 1, "grid_z": 1}
    (text,) = verdict(make_trace(kernels=[kernel]))["evidence"]
    assert "one kernel of one block (scan) runs for 25.8 s" in text


def job(*ranks: Row) -> Trace:
    """One rank that communicates for 60 of 100 us a step, with rows of the table ranks."""
    steps = [{"step": at, "start_ns": at * 100_000, "duration_ns": 100_000} for at in range(3)]
    times = [(0, 40_000, False), (40_000, 60_000, True)]
    kernels = [
        {
            "name": "ncclDevKernel_AllReduce" if talks else "gemm",
            "is_communication": talks,
            "start_ns": step["start_ns"] + start,
            "duration_ns": length,
            "step": step["step"],
        }
        for step in steps
        for start, length, talks in times
    ] * 2
    return make_trace(steps=steps, kernels=kernels, ranks=list(ranks))


def long_job(collectives: list[Row]) -> Trace:
    """One rank of eight that communicates for 60 of 100 ms in each of three steps."""
    steps = [{"step": at, "start_ns": at * 10**8, "duration_ns": 10**8} for at in range(3)]
    kernels = [
        {
            "kernel_id": 2 * step["step"] + talks,
            "name": "ncclDevKernel_AllReduce" if talks else "gemm",
            "is_communication": talks,
            "start_ns": step["start_ns"] + start,
            "duration_ns": length,
            "step": step["step"],
        }
        for step in steps
        for start, length, talks in ((0, 4 * 10**7, False), (4 * 10**7, 6 * 10**7, True))
    ]
    return make_trace(
        steps=steps, kernels=kernels, collectives=collectives, ranks=[{"world_size": 8}]
    )


def test_one_rank_of_a_job_cannot_tell_waiting_from_transfer() -> None:
    alone, whole = (verdict(job({"world_size": size})) for size in (8, 1))
    assert alone["bound"].to_list() == ["communication"]
    assert "cannot be told apart" in alone["caveat"][0]
    assert whole["caveat"].to_list() == [None]
    trace = job({"world_size": 8})
    assert any("only this rank of the job was given" in text for text in notes(trace, alone))


@pytest.mark.parametrize(("size", "waits"), [(1_000, True), (10**10, False), (None, False)])
def test_a_lone_rank_that_sends_little_for_long_waits(size: int | None, waits: bool) -> None:
    """Each of three steps of 100 ms computes for 40 and communicates for 60.

    A network of 1 GB/s carries 1,000 bytes in a microsecond, and ten billion bytes in 10 s.
    """
    rows = [{"kernel_id": at, "name": "allreduce", "size_in_bytes": size} for at in (1, 3, 5)]
    trace = long_job(rows)
    (caveat,) = verdict(trace)["caveat"]
    # At most 1 ms and 2 us of 60 ms are needed.
    assert caveat.startswith("at least 98 % of the time in collectives is waiting") == waits
    texts = [one.text for one in list_changes(trace)]
    assert texts[0].startswith("Speed up the rank that this one waits for") == waits
    assert any("Communicate less" in text or "Overlap" in text for text in texts) != waits


def test_a_capture_of_graphs_is_said_to_be_one() -> None:
    calls = [
        {"api": "cudaStreamBeginCapture", "start_ns": 10, "duration_ns": 5},
        {"api": "cudaStreamEndCapture", "start_ns": 90, "duration_ns": 5},
    ]
    trace = make_trace(kernels=[{"name": "warm", "duration_ns": 5}], api_calls=calls)
    assert any("capture of CUDA graphs, not a run" in text for text in notes(trace, verdict(trace)))


@pytest.mark.parametrize(("until", "is_said"), [(6_000, True), (4_500, False)])
def test_computing_that_waits_for_pages_is_called_waiting(until: int, is_said: bool) -> None:
    """Kernels run all of 10,000 µs, and pages move from 1,000 µs of it on: 5,000 or 3,500."""
    page = {"direction": "h2d", "source_memory": "managed", "destination_memory": "managed"}
    moves = [work(at, at + 100, None, **page) for at in range(1_000, until, 100)]
    trace = program([STEP], [launch(0, 10)], busy(0, 10_000), memcpys=moves)
    row = verdict(trace).row(0, named=True)
    assert row["bound"] == "compute"
    said = "what counts as computing is mostly waiting: pages of managed memory move during 50.0%"
    assert (row["caveat"] or "").startswith(said) == is_said
    assert any(line.startswith(said) for line in make_answer(trace).details) == is_said
