"""Advice on copies: pinned memory, streams of their own, casts, and many small ones."""

from typing import Any

import pytest

from tests.advice_cases import STEPS, busy, site
from tests.programs import Row, api, launch, mark, program, span, work
from tests.test_copy_cost import CAST
from tracelens.analyses.verdict import verdict
from tracelens.derive.replay.advised import advise, list_changes
from tracelens.trace import Trace


def test_copies_at_one_time_save_that_time_once() -> None:
    """On two streams: the device copies for 2,000 µs of two steps, not for 4,000."""
    copies = [copied(5_000, 7_000, stream_id=stream) for stream in (1, 2)]
    (only,) = (text for text in advise(busy(memcpys=copies)) if text.startswith(PINNING))
    assert "up to 1.00 ms a step (20%; see copy_cost)" in only


def copied(start: int, end: int, source: str = "pageable", **more: Any) -> Row:
    facts = {"direction": "h2d", "source_memory": source, "destination_memory": "device", "step": 1}
    return work(start, end, 0, **facts, **more)


PINNING = "Pin the host memory of copies to the device"


@pytest.mark.parametrize(
    ("copy", "is_said"),
    [
        (copied(5_000, 7_000), True),
        (copied(5_000, 7_000, "pinned"), False),
        (copied(5_000, 7_000) | {"direction": "d2h"}, False),
        (copied(2_000, 4_000), False),  # a kernel runs meanwhile
    ],
)
def test_pageable_copies_that_nothing_hides(copy: Row, is_said: bool) -> None:
    found = [text for text in advise(busy(memcpys=[copy])) if text.startswith(PINNING)]
    assert len(found) == is_said
    if is_said:
        assert "up to 1.00 ms a step (20%; see copy_cost)" in found[0]


def test_pinning_is_advised_where_the_program_copies() -> None:
    spans = [*STEPS, span("python", "train.py(12): to_device", 4_000, 7_500)]
    calls = [api("cudaMemcpyAsync", 4_990, 7_000), launch(0, 10)]
    trace = program(spans, calls, [work(0, 4_000, 1, step=0)], memcpys=[copied(5_000, 7_000)])
    (text,) = [text for text in advise(trace) if text.startswith(PINNING)]
    assert text.startswith(
        f"{PINNING}, and copy with non_blocking=True, in train.py(12): to_device:"
    )


@pytest.mark.parametrize(
    ("copy", "kernels", "saved"),
    [
        (copied(5_000, 7_000, "pinned"), (), "up to 1.00 ms a step"),
        (copied(3_000, 7_000, "unknown"), (), "up to 1.00 ms a step"),
        (copied(2_000, 9_000, "pinned"), (work(0, 1_000, 0),), "up to 1.00 ms a step"),
        (copied(5_000, 7_000), (), None),
    ],
    ids=["pinned", "half hidden", "longer than computing", "pageable"],
)
def test_copies_that_computing_could_hide(
    copy: Row, kernels: tuple[Row, ...], saved: str | None
) -> None:
    found = advise(busy(kernels=kernels, memcpys=[copy]))
    beside = [text for text in found if text.startswith("Copy input beside computing")]
    assert (saved in beside[0]) if saved else beside == []


def test_copies_outside_of_steps_cost_steps_nothing() -> None:
    """A model is moved to the device before the first step."""
    calls = [api("cudaMemcpyAsync", -90_000, -89_000), launch(0, 10)]
    upload = copied(-90_000, -10_000, size_bytes=10**9) | {"step": None}
    trace = program(STEPS, calls, [work(0, 10_000, 1, step=0)], memcpys=[upload])
    assert advise(trace) == []


def test_kernels_outside_of_steps_cost_steps_nothing() -> None:
    calls = [launch(-90_000, -89_000, site_id=0), launch(0, 10)]
    kernels = [work(-80_000, -10_000, 0, primitive="layout", site_id=0), work(0, 10_000, 1, step=0)]
    assert advise(program(STEPS, calls, kernels, sites=[site("aten::conv2d")])) == []


@pytest.mark.parametrize("name", [CAST, "some_kernel"])
def test_copies_that_are_cast_to_a_narrower_type(name: str) -> None:
    """512 doubles are copied, and cast to floats by a kernel of 128 threads that do 4 each."""
    shape = {
        "grid_x": 1,
        "grid_y": 1,
        "grid_z": 1,
        "block_x": 128,
        "block_y": 1,
        "block_z": 1,
        "stream_id": 7,
    }
    copy = copied(5_000, 7_000, "pinned", size_bytes=4_096, stream_id=7)
    kernels = (work(0, 5_000, 0, stream_id=7), work(7_000, 7_010, 0, name=name, step=1, **shape))
    found = [
        text
        for text in advise(busy(kernels=kernels, memcpys=[copy]))
        if text.startswith("Cast before copying")
    ]
    assert len(found) == (name == CAST)
    if found:
        assert "up to 500 µs a step (10%; see copy_cost)" in found[0]  # half of the copy


def test_kernels_that_wait_for_pages_are_named() -> None:
    """Of two steps' 10,000 µs a kernel waits 2,000 for pages that nothing moved ahead."""
    memory = {"direction": "h2d", "source_memory": "managed", "destination_memory": "managed"}
    pages = [work(at, at + 100, None, **memory, size_bytes=4096) for at in (1_000, 2_900)]
    (only,) = (text for text in advise(busy(memcpys=pages)) if "managed memory" in text)
    assert "up to 1.00 ms a step (20%; see copy_cost)" in only


def alternating(part_us: int, compute_us: int, **more: Any) -> Trace:
    """Three steps, in each of which a copy or a collective runs alone, and then kernels."""
    long_us = part_us + compute_us
    marks = [mark(n, n * long_us, (n + 1) * long_us) for n in range(3)]
    calls = [launch(n * long_us, n * long_us + 5) for n in range(3)]
    kernels = [
        work(n * long_us + part_us + k * fifth, n * long_us + part_us + (k + 1) * fifth, n)
        for n in range(3)
        for fifth in [compute_us // 5]
        for k in range(5)
    ]
    parts = [work(n * long_us, n * long_us + part_us, n, step=n, **more) for n in range(3)]
    if "direction" in more:
        return program(
            marks, calls, [row | {"step": row["api_call_id"]} for row in kernels], memcpys=parts
        )
    return program(marks, calls, kernels + parts)


def test_overlap_hides_no_more_than_computing_lasts() -> None:
    """9 ms of communication beside 1 ms of computing: 1 ms can be hidden, 8 ms remain."""
    changes = list_changes(alternating(9_000, 1_000, is_communication=True, name="nccl"))
    savings = {change.text.split()[0]: change.saving_ns for change in changes}
    assert savings == {"Communicate": 8_000_000, "Overlap": 1_000_000}


@pytest.mark.parametrize(
    ("direction", "memory", "said"),
    [("d2h", "pinned", "Copy results beside computing"), ("d2d", "device", "Copy less within")],
)
def test_copies_from_the_device_and_within_it(direction: str, memory: str, said: str) -> None:
    kinds = {"direction": direction, "source_memory": "device", "destination_memory": memory}
    trace = alternating(5_000, 3_000, **kinds, size_bytes=100_000_000)
    (change,) = list_changes(trace)
    assert change.text.startswith(said)
    assert change.saving_ns == (5_000_000 if direction == "d2d" else 3_000_000)


def test_input_that_is_copied_beside_computing_already() -> None:
    """A copy of 6 ms lasts 2 ms longer than all kernels beside it: only a smaller one helps."""
    starts = range(0, 18_000, 6_000)
    trace = program(
        [mark(n, at, at + 6_000) for n, at in enumerate(starts)],
        [launch(at, at + 5) for at in starts],
        [
            work(at + 800 * k, at + 800 * (k + 1), n, step=n)
            for n, at in enumerate(starts)
            for k in range(5)
        ],
        memcpys=[
            work(at, at + 6_000, n, step=n, direction="h2d", source_memory="pinned")
            for n, at in enumerate(starts)
        ],
    )
    (change,) = list_changes(trace)
    assert change.text.startswith("Copy less to the device")
    assert change.saving_ns == 2_000_000


@pytest.mark.parametrize(
    ("direction", "said"),
    [("h2d", "Copy to the device earlier"), ("d2h", "Wait later for copies to the host")],
)
def test_copies_with_a_stream_of_their_own(direction: str, said: str) -> None:
    kinds = {"direction": direction, "source_memory": "pinned", "destination_memory": "pinned"}
    trace = alternating(5_000, 3_000, **kinds, size_bytes=100_000_000, stream_id=20)
    (change,) = list_changes(trace)
    assert change.text.startswith(said)


@pytest.mark.parametrize(
    ("n_copies", "said"), [(20, "Copy many values at once"), (19, "Copy without waiting")]
)
def test_many_small_copies_that_are_waited_for(n_copies: int, said: str) -> None:
    """In one step of 10 ms the device waits from 1 to 9 ms for the program, which copies."""
    spans = [mark(0, 0, 10_000), span("op", "aten::copy_", 500, 8_990)]
    calls = [launch(0, 10), launch(8_995, 9_000), api("cudaStreamSynchronize", 510, 8_980)]
    small = work(1_000, 1_001, 0, direction="h2d", source_memory="pinned", size_bytes=8, step=0)
    trace = program(
        spans,
        calls,
        [
            *(work(200 * n, 200 * (n + 1), 0, step=0) for n in range(5)),
            work(9_000, 10_000, 1, step=0),
        ],
        memcpys=[small] * n_copies,
    )
    (change,) = [change for change in list_changes(trace) if change.cause == "sync"]
    assert change.text.startswith(said)


def test_copies_of_unknown_memory_are_named_by_their_way() -> None:
    """Of a copy on an AMD device, the kind of the host's memory is not recorded."""
    kinds = {"direction": "h2d", "source_memory": "unknown", "destination_memory": "device"}
    trace = alternating(5_000, 3_000, **kinds)
    assert verdict(trace)["what"].item() == "copies from the host to the device"
