"""Answers to traces whose device does one unusual thing, with all times set by hand."""

from itertools import pairwise

import pytest

from tests.answer_checks import check_answer
from tests.programs import Row, launch, mark, program, span, timed, work
from tracelens.answers import make_answer
from tracelens.answers.devices import SmUse, sm_use
from tracelens.trace import Trace

STEPS = [mark(0, 0, 10_000), mark(1, 10_000, 20_000)]
CALLS = [launch(start, start + 10) for start in range(0, 20_000, 2_000)]
DEVICES = [{"device_id": 0, "name": "NVIDIA H200", "sm_count": 132}]


def kernels_of(blocks: int, *, streams: int = 1) -> Trace:
    """Return two steps that compute all the time: each stream runs kernels of `blocks` blocks."""
    rows = [
        work(
            start,
            start + 2_000,
            start // 2_000,
            name="scan",
            stream_id=stream,
            grid_x=blocks,
            grid_y=1,
            grid_z=1,
        )
        for start in range(0, 20_000, 2_000)
        for stream in range(streams)
    ]
    return program(STEPS, CALLS, rows, devices=DEVICES)


@pytest.mark.parametrize(
    ("blocks", "streams", "n_used"), [(1, 1, 1), (66, 1, 66), (10, 4, 40), (1_000, 1, 132)]
)
def test_a_block_takes_one_sm_and_streams_add(blocks: int, streams: int, n_used: int) -> None:
    use = sm_use(kernels_of(blocks, streams=streams), 0)
    assert use == SmUse(n_used, 132)


def test_no_sm_use_without_a_grid_or_the_number_of_sms() -> None:
    rows = [work(0, 20_000, 0, name="scan")]
    assert sm_use(program(STEPS, CALLS, rows, devices=DEVICES), 0) is None
    rows[0] |= {"grid_x": 1, "grid_y": 1, "grid_z": 1}
    assert sm_use(program(STEPS, CALLS, rows), 0) is None


def test_few_sms_come_first_where_kernels_have_few_blocks() -> None:
    answer = check_answer(kernels_of(1))
    assert answer.sentence == "The GPU computes on few of its SMs: 100 % of a step of 10.0 ms"
    assert answer.details == ("its kernels have blocks for 1 of 132 SMs, averaged over time",)
    assert answer.sections == ("kernel_grids",)


def test_kernels_that_fill_the_device_are_only_called_busy() -> None:
    assert check_answer(kernels_of(132)).sentence.startswith("The GPU is busy computing: 100 %")


def test_the_kernel_named_is_one_of_the_steps() -> None:
    before = [work(-90_000, -10_000, None, name="tried_out_before")]
    steady = [
        work(start, start + 2_000, start // 2_000, name="gemm") for start in range(0, 20_000, 2_000)
    ]
    answer = check_answer(program(STEPS, CALLS, [*before, *steady]))
    assert answer.place == "mostly gemm"


CAST = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::{}_kernel_cuda("
    "at::TensorIteratorBase&)::{{lambda(float)#1}}, std::array<char*, 2ul>{}>(int)"
)


@pytest.mark.parametrize(
    ("name", "is_cast"),
    [
        (CAST.format("bfloat16_copy", ""), True),
        (CAST.format("direct_copy", ", at::native::memory::LoadWithCast<1>"), True),
        (CAST.format("direct_copy", ""), False),  # keeps the type
        (CAST.format("CUDAFunctor_add", ", at::native::memory::LoadWithCast<2>"), False),
    ],
)
def test_casts_are_named_as_casts(name: str, is_cast: bool) -> None:
    """Three of each five kernels convert types."""
    kernels = [
        work(2_000 * n, 2_000 * (n + 1), n, name="gemm" if n % 5 > 2 else name) for n in range(10)
    ]
    answer = check_answer(program(STEPS, CALLS, kernels, devices=DEVICES))
    said = "casts between element types: 60 % of kernels, 60 % of computing"
    assert (said in answer.details) == is_cast
    assert (answer.place == "mostly casts between element types") == is_cast
    change = "convert types less often: 3 casts a step"
    assert any(one.text.startswith(change) for one in answer.changes) == is_cast


def moved(**tables: list[Row]) -> Trace:
    """Return two steps of a short kernel each, with copies or memsets for 8 ms a step."""
    rows = [
        work(start, start + 400, start // 2_000, name="gemm") for start in range(0, 20_000, 2_000)
    ]
    return program(STEPS, CALLS, rows, devices=DEVICES, **tables)


def test_memory_that_is_set_is_no_copy() -> None:
    sets = [
        timed(start + 400, start + 2_000, api_call_id=start // 2_000)
        for start in range(0, 20_000, 2_000)
    ]
    answer = check_answer(moved(memsets=sets))
    assert (
        answer.sentence
        == "The GPU copies or sets memory and computes nothing meanwhile: 80 % of a step of 10.0 ms"
    )
    assert answer.place == "mostly memsets"


def test_large_copies_to_pageable_memory_are_to_be_pinned() -> None:
    # 1.6 ms each for 4 MB; at the 50 GB/s of an H200's link they would take 0.08 ms.
    rows = [
        timed(
            start + 400,
            start + 2_000,
            direction="d2h",
            source_memory="device",
            destination_memory="pageable",
            size_bytes=4_000_000,
            api_call_id=start // 2_000,
        )
        for start in range(0, 20_000, 2_000)
    ]
    answer = check_answer(moved(memcpys=rows))
    assert answer.changes[0].text.startswith("copy results into pinned memory")
    assert answer.changes[0].after_ns == 10_000_000 - 5 * (1_600_000 - 80_000)
    small = [row | {"size_bytes": 1_000} for row in rows]
    assert not any("pinned" in change.text for change in make_answer(moved(memcpys=small)).changes)


def test_only_copies_are_said_to_be_all_that_ran() -> None:
    sets = [timed(0, 2_000), timed(3_000, 4_000)]
    answer = make_answer(program(STEPS, memsets=sets))
    assert answer.sentence == "No kernel ran: the GPU copies or sets memory 2 times, 3.00 ms in all"


def test_a_host_that_calls_nothing_is_not_said_to_work() -> None:
    spans = [
        span("annotation", "handle_request", start, start + 1_000) for start in (0, 10_000, 20_000)
    ]
    calls = [launch(start, start + 10) for start in (0, 10_000, 20_000)]
    rows = [
        work(call * 10_000 + 20 + part * 200, call * 10_000 + 200 + part * 200, call, name="gemm")
        for call in range(3)
        for part in range(5)
    ]
    answer = check_answer(program(spans, calls, rows))
    assert answer.sentence.startswith("The GPU waits for the program, which calls no op meanwhile")
    assert answer.place == "between handle_request and handle_request"


def test_start_up_that_is_left_out_is_said() -> None:
    spans = [span("op", "aten::empty", 0, 3_000_000)]
    calls = [*[launch(3_000_000 + n * 1_000, 3_000_010 + n * 1_000) for n in range(10)]]
    rows = [work(3_000_020 + n * 1_000, 3_001_000 + n * 1_000, n, name="gemm") for n in range(10)]
    assert "after 3.00 s of start-up" in (check_answer(program(spans, calls, rows)).about or "")


@pytest.mark.parametrize(("early_us", "is_told"), [(900, True), (20, False)])
def test_kernels_before_their_launch_make_an_answer_doubtful(early_us: int, is_told: bool) -> None:
    kernels = [work(at - early_us, at + 500, at // 2_000) for at in range(2_000, 20_000, 2_000)]
    doubts = check_answer(program(STEPS, CALLS, kernels)).doubts
    assert any(doubt.startswith("kernels begin up to 900 µs before") for doubt in doubts) == is_told


def test_idle_time_of_kernels_alone_asks_for_the_host() -> None:
    kernels = [work(at, at + 400) for at in range(0, 20_000, 1_000)]
    answer = check_answer(program(kernels=kernels))
    assert answer.sentence.startswith("The GPU is idle, and the trace does not show why: ")
    assert (answer.no_change or "").startswith("What would help: record the host, too")


def test_what_only_long_steps_run_is_named() -> None:
    """Every fourth of eight steps of 1 ms has 2 ms of validation, and two short calls."""
    begins = [0, 1, 2, 3, 6, 7, 8, 9, 12]
    spans, calls, kernels = [], [], []
    for step, (begin, end) in enumerate(pairwise(1_000 * at for at in begins)):
        spans.append(mark(step, begin, end))
        calls.append(launch(begin, begin + 5, step=step))
        kernels.append(work(begin + 5, end, step, step=step))
        if step % 4 == 3:
            spans += [
                span("python", "train.py(40): validate", begin + 900, end - 20, step=step),
                span("python", "train.py(50): log", begin + 950, begin + 990, step=step),
            ]
    answer = check_answer(program(spans, calls, kernels))
    assert answer.details[-1] == (
        "a step takes 3.00 ms in every fourth step, else 1.00 ms: only the long ones run validate"
        " (train.py:40)"
    )
