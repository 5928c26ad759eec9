"""Advice: each rule says its sentence where the trace shows its sign, and nothing elsewhere."""

import json
from typing import Any

import polars as pl
import pytest

from tests.programs import Row, api, launch, many_ops, mark, program, span, work
from tests.test_copy_cost import CAST
from tests.test_verdict import unprofiled
from tracelens.analyses.verdict import verdict
from tracelens.answers import make_answer
from tracelens.derive.replay.advised import advise, list_changes
from tracelens.derive.time import judged_program
from tracelens.trace import Trace

STEPS = [mark(0, 0, 5_000), mark(1, 5_000, 10_000)]
FIRST, SECOND = launch(0, 10), launch(5_000, 5_010)


def site(op: str, phase: str = "forward") -> Row:
    return {"op": op, "phase": phase}


def busy(spans: tuple[Row, ...] = (), kernels: tuple[Row, ...] = (), **tables: list[Row]) -> Trace:
    """Two steps whose device computes all the time except in the given gaps.

    Calls are at sites by number.
    """
    calls = [
        launch(0, 10, site_id=number) for number in range(max(1, len(tables.get("sites", []))))
    ]
    if not kernels:
        return program([*STEPS, *spans], calls, [work(0, 5_000, 0)], **tables)
    last = work(9_000, 10_000, len(calls))
    return program([*STEPS, *spans], [*calls, SECOND], [*kernels, last], **tables)


def idle(*spans: Row, calls: tuple[Row, ...] = ()) -> Trace:
    """Two steps.

    In the second the device is idle from 5,000 to 9,000 µs, when the next launch returns.
    """
    kernels = [work(0, 5_000, 0), work(9_000, 10_000, 1)]
    return program([*STEPS, *spans], [FIRST, launch(8_990, 9_000), *calls], kernels)


def loader(kind: str) -> Row:
    return span("annotation", f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__", 5_000, 8_990)


def quick_batches(kind: str) -> list[Row]:
    """Ten batches of 10 µs each, which were ready."""
    edges = range(100, 1_100, 100)
    return [loader(kind) | span("annotation", loader(kind)["name"], at, at + 10) for at in edges]


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (
            idle(loader("SingleProcess")),
            "The data loader works in the main process; give it workers (num_workers)",
        ),
        (
            idle(loader("MultiProcessing")),
            "The loader's workers do not keep up; more of them, or cheaper decoding",
        ),
        (
            idle(loader("MultiProcessing"), *quick_batches("MultiProcessing")),
            "Few batches are late: keep the workers if an epoch begins there (persistent_workers",
        ),
        (  # another rank's batches, which are ready, do not make this rank's only batch one of few
            idle(
                loader("MultiProcessing"),
                *(row | {"rank": 1} for row in quick_batches("MultiProcessing")),
            ),
            "The loader's workers do not keep up; more of them, or cheaper decoding",
        ),
        (
            idle(span("annotation", "data", 5_000, 8_990)),
            "Have input ready before it is asked for, in data: ",
        ),
        (
            idle(calls=(api("cudaMalloc", 5_000, 8_990),)),
            "Allocate outside the loop, and keep what",
        ),
        (
            idle(span("op", "aten::empty", 4_990, 8_995), calls=(api("cudaFree", 5_000, 8_990),)),
            "Keep sizes the same, or allow expandable_segments",
        ),
        (
            idle(
                span("op", "aten::item", 500, 8_985),
                calls=(api("cudaStreamSynchronize", 510, 8_980),),
            ),
            "Read the value later or less often (.item(), float(), if), in aten::item > ",
        ),
        (
            idle(calls=(api("cuModuleLoadData", 5_000, 8_990),)),
            "Load and compile before the steps: warm up",
        ),
        (
            idle(span("op", "aten::embedding", 5_000, 8_990)),
            "This op computes on the CPU: run it on the device",
        ),
        (
            idle(span("op", "aten::unbind", 5_000, 8_990)),
            "Shorten this work of the host, or do it while the device works",
        ),
        (
            idle(span("annotation", "log", 5_000, 8_990)),
            "Shorten this work of the host, or do it while the device works",
        ),
        (
            idle(span("annotation", "Optimizer.step#SGD.step", 5_000, 8_990)),
            "Let torch do less on the host between ops: torch.compile, or a fused optimizer, in",
        ),
        (
            idle(span("annotation", "backward", 5_000, 8_990)),
            "Let torch do less on the host between ops: torch.compile, in backward: ",
        ),
        (
            idle(*many_ops("aten::mm", 5_000, 9_100)),
            "Launch fewer kernels: a CUDA graph, torch.compile or larger batches",
        ),
    ],
)
def test_of_idle_time_the_place_with_most_of_it(trace: Trace, said: str) -> None:
    (only,) = advise(trace)
    assert only.startswith(said)
    # 4 ms in two steps, 40 % of their time.
    assert "up to 2.00 ms a step (40%; see idle_gaps" in only


def test_workers_that_start_anew_in_each_epoch() -> None:
    (only,) = advise(
        idle(
            span("python", "train.py(3): main", 4_990, 8_995),
            span("python", "torch/utils/data/dataloader.py(480): __iter__", 5_000, 8_990),
        )
    )
    assert only.startswith("Keep the loader's workers from epoch to epoch")


def test_a_cause_is_summed_and_its_places_are_named_by_size() -> None:
    """Two ops load for 1,000 and 2,990 µs of two steps.

    The rest of the launching has no place here.
    """
    ops = (span("op", "aten::mm", 5_000, 6_000), span("op", "aten::conv2d", 6_000, 8_991))
    loads = (api("cuModuleLoadData", 5_001, 6_000), api("cuModuleLoadData", 6_000, 8_990))
    (change,) = list_changes(idle(*ops, calls=loads))
    assert (change.cause, change.step_ns, change.is_per_step) == ("loading", 5_000_000, True)
    assert change.saving_ns == pytest.approx(3_989_000 / 2, abs=1_000)
    assert change.share == pytest.approx(0.399, abs=1e-3)
    named = [what for what, _ in change.places]
    assert named == ["aten::conv2d > cuModuleLoadData", "aten::mm > cuModuleLoadData"]
    assert [ns for _, ns in change.places] == pytest.approx([1_495_000, 499_500], abs=1_000)
    assert change.sentence.endswith(
        ": up to 1.99 ms a step (40%; see idle_gaps); of it 1.50 ms in aten::conv2d >"
        " cuModuleLoadData, 500 µs in aten::mm > cuModuleLoadData."
    )


def test_what_is_advised_is_what_the_verdict_says() -> None:
    """Six ops load for 598 µs each.

    The saving is the verdict's share, not the share of the first op.
    """
    edges = [5_000 + 600 * number for number in range(7)]
    ops = tuple(
        span("op", f"aten::op{number}", low, low + 599) for number, low in enumerate(edges[:-1])
    )
    loads = tuple(api("cuModuleLoadData", low, low + 598) for low in edges[:-1])
    trace = idle(*ops, calls=loads)
    (row,) = verdict(trace).to_dicts()
    change = next(change for change in list_changes(trace) if change.cause == "loading")
    assert row["second"] == "loading"
    assert change.share == pytest.approx(row["second_frac"])
    assert change.share == pytest.approx(6 * 598 / 10_000)
    assert "897 µs in 3 more" in change.sentence


def test_two_devices_that_wait_at_once_save_the_step_s_time_once() -> None:
    second = launch(0, 10), launch(8_990, 9_000)
    kernels = [
        work(begin, end, call, device_id=device)
        for device in (0, 1)
        for begin, end, call in ((0, 5_000, 2 * device), (9_000, 10_000, 2 * device + 1))
    ]
    spans = [*STEPS, span("annotation", "data", 5_000, 8_990)]
    (only,) = advise(program(spans, [FIRST, launch(8_990, 9_000), *second], kernels))
    assert "up to 2.00 ms a step (40%" in only


@pytest.mark.parametrize(
    ("n_calls", "said"),
    [
        (10, ": up to 1.99 ms a step (40%"),
        # 600 calls in 3,990 µs cost 0.2 to 2 µs each: 120 to 1,200 are the profiler's.
        (600, ": 1.40 to 1.94 ms a step (39%"),
        (1_500, ": how much it saves cannot be told, as the profiler slowed the host"),
    ],
)
def test_what_recording_stacks_may_have_added_is_not_promised(n_calls: int, said: str) -> None:
    width = 3_990 / n_calls
    calls = (
        span("python", "train.py(7): read", 5_000 + width * at, 5_000 + width * (at + 1))
        for at in range(n_calls)
    )
    trace = idle(span("annotation", "data", 5_000, 8_990), *calls)
    (only,) = (text for text in advise(trace) if text.startswith("Have input ready"))
    assert said in only


def test_what_recording_adds_may_exceed_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three calls of at most 0.9 s are 2.7 of 6 s: more ns than 32 bits hold."""
    monkeypatch.setattr(judged_program, "PYTHON_NS", (200_000_000, 900_000_000))
    calls = [span("python", "train.py(7): read", at, at + 1) for at in (1_000, 2_000, 3_000)]
    data = span("annotation", "data", 0, 6_000_000)
    trace = program([data, *calls], [launch(0, 1)], [work(6_000_000, 6_000_100, 0)])
    parts = judged_program.slowed_parts(trace)
    assert parts.select(pl.col("least", "most").round(6)).rows() == [(0.55, 0.9)]


@pytest.mark.parametrize(
    ("n_ops", "said"),
    [
        # Ops that take 1,000 of 3,990 µs, of which each costs 1 to 3.5: 100 to 350 in all.
        (100, ": 3.64 to 3.89 ms in all ("),
        # 1,000 to 3,500 of 3,000 µs.
        (1_000, ": how much it saves cannot be told, as the profiler slowed the host"),
    ],
)
def test_what_recording_ops_may_have_added(n_ops: int, said: str) -> None:
    """Without steps nothing is replayed.

    The time that torch.profiler adds to an op is known roughly.
    """
    width, length = 3_990 / n_ops, {100: 10, 1_000: 3}[n_ops]
    begins = [5_000 + width * number for number in range(n_ops)]
    ops = [span("op", "aten::view", begin, begin + length) for begin in begins]
    trace = program(
        [span("annotation", "enumerate(DataLoader)#next", 5_000, 8_990), *ops],
        [FIRST, launch(8_990, 9_000)],
        [work(0, 5_000, 0), work(9_000, 10_000, 1)],
    )
    trace.manifest.sources = [{"name": "run", "kind": "torch", "rank": 0}]
    (only,) = (text for text in advise(trace) if text.startswith("Have input ready"))
    assert said in only


@pytest.mark.parametrize(
    ("spans", "calls", "said"),
    [
        ((), (api("cudaGraphLaunch", 10, 20),), "Launch fewer kernels between the replays"),
        (
            (span("annotation", "Torch-Compiled Region: 0/0", 4_000, 9_200),),
            (),
            'Launch fewer kernels: torch.compile(mode="reduce-overhead")',
        ),
        (
            (
                span("annotation", "Torch-Compiled Region: 0/0", 4_000, 9_200),
                span("op", "TorchDynamo Cache Lookup", 5_000, 7_000, step=1),
                span("op", "TorchDynamo Cache Lookup", 7_000, 9_000, step=1),
                *(span("op", "TorchDynamo Cache Lookup", at, at + 1, step=0) for at in (10, 20)),
            ),
            (),
            "Check guards less often: 2 compiled regions a step",
        ),
        ((), (api("cudaStreamBeginCapture", 10, 20),), None),
        (
            (),
            (api("hipStreamBeginCapture", 10, 20), api("hipGraphLaunch", 30, 40)),
            "Launch fewer kernels b",
        ),
    ],
)
def test_a_graph_is_advised_to_a_program_without_one(
    spans: tuple[Row, ...], calls: tuple[Row, ...], said: str | None
) -> None:
    found = advise(idle(*many_ops("aten::mm", 5_000, 9_100), *spans, calls=calls))
    assert [text[: len(said or "")] for text in found] == ([said] if said else [])
    assert not any("a CUDA graph, torch.compile" in text for text in found)


@pytest.mark.parametrize(
    ("names", "is_said"),
    [
        (("cudaMalloc", "cudaFree"), True),
        (("hipMalloc", "hipFree"), True),
        (("cuMemAlloc_v2", "cuMemFree_v2"), True),
        (("cudaMalloc", "cudaMalloc"), False),  # it grows
        (("cudaHostAlloc", "cudaFreeHost"), False),  # of the host
    ],
)
def test_memory_that_is_allocated_and_released_in_each_step(
    names: tuple[str, str], is_said: bool
) -> None:
    calls = [
        api(name, begin + 1_000 * at, begin + 1_000 * (at + 1), step=step)
        for step, begin in enumerate((1_000, 6_000))
        for at, name in enumerate(names)
    ]
    kernels = [work(0, 1_000, 0), work(3_000, 6_000, 1), work(8_000, 10_000, 2)]
    launches = [FIRST, launch(2_990, 3_000), launch(7_990, 8_000)]
    (only,) = advise(program(STEPS, [*launches, *calls], kernels))
    assert only.startswith("Keep memory: ") == is_said
    assert "up to 2.0" in only
    if is_said:
        assert f"a step calls {names[0]} 1 and {names[1]} 1 times" in only


def test_copies_at_one_time_save_that_time_once() -> None:
    """On two streams: the device copies for 2,000 µs of two steps, not for 4,000."""
    copies = [copied(5_000, 7_000, stream_id=stream) for stream in (1, 2)]
    (only,) = (text for text in advise(busy(memcpys=copies)) if text.startswith(PINNING))
    assert "up to 1.00 ms a step (20%; see copy_cost)" in only


def test_nothing_is_said_of_what_takes_hardly_any_time() -> None:
    trace = program(
        [*STEPS, span("annotation", "data", 5_000, 5_150)],
        [FIRST, launch(5_140, 5_150)],
        [work(0, 5_000, 0), work(5_150, 10_000, 1)],
    )
    assert advise(trace) == []


def test_without_steps_savings_are_in_all() -> None:
    trace = program(
        [span("annotation", "data", 5_000, 8_990)],
        [FIRST, launch(8_990, 9_000)],
        [work(0, 5_000, 0), work(9_000, 10_000, 1)],
    )
    (only,) = advise(trace)
    assert "up to 3.99 ms in all (40%" in only


def test_largest_saving_first_and_five_at_most() -> None:
    lengths = {"cudaMalloc": 700, "cudaDeviceSynchronize": 600, "cuModuleLoadData": 500}
    at, calls = 5_000, []
    for name, length in lengths.items():
        calls.append(api(name, at, at + length))
        at += length
    trace = idle(
        span("annotation", "data", at, at + 1_200),
        span("annotation", "log", at + 1_200, 8_800),
        span("op", "aten::mm", 8_800, 9_100),
        calls=tuple(calls),
    )
    found = advise(trace)
    savings = [text.split("up to ")[1].split()[:2] for text in found]
    saved = [float(number) * {"µs": 1, "ms": 1_000}[unit] for number, unit in savings]
    assert len(found) == 5
    assert saved == sorted(saved, reverse=True)
    assert "in data" in found[0]
    assert "Launch fewer" not in " ".join(found)  # 200 µs: the sixth


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


@pytest.mark.parametrize(
    ("op", "n", "is_said"),
    [("aten::add_", 50, True), ("aten::_foreach_add_", 50, False), ("aten::add_", 30, False)],
)
def test_an_optimizer_that_takes_tensors_one_by_one(op: str, n: int, is_said: bool) -> None:
    """Each launch takes 40 µs and its kernel 10."""
    calls = [launch(100 * at, 100 * at + 40, site_id=0) for at in range(n)]
    kernels = [work(100 * at + 40, 100 * at + 50, at, site_id=0, step=0) for at in range(n)]
    trace = program(STEPS, calls, kernels, sites=[site(op, "optimizer")])
    found = [text for text in advise(trace) if "one by one" in text]
    assert len(found) == is_said
    if is_said:
        assert f"launches {n / 2:,.0f} kernels a step" in found[0]


@pytest.mark.parametrize(
    ("op", "optimizer", "is_said"),
    [
        ("aten::_foreach_add_", "AdamW", True),
        ("aten::_foreach_add_", "RMSprop", False),  # which has no fused form
        ("aten::_fused_adam_", "AdamW", False),
        ("aten::add_", "AdamW", False),
    ],
)
def test_an_optimizer_that_makes_several_passes(op: str, optimizer: str, is_said: bool) -> None:
    """Its kernel takes 1 ms of two steps."""
    kernels = (work(5_000, 6_000, 0, site_id=0, step=1),)
    marked = (span("annotation", f"Optimizer.step#{optimizer}.step", 4_000, 4_100),)
    found = advise(busy(marked, kernels=kernels, sites=[site(op, "optimizer")]))
    said = [text for text in found if text.startswith("Use a fused optimizer (fused=True)")]
    assert len(said) == is_said
    assert not said or "up to 500 µs a step" in said[0]


@pytest.mark.parametrize("launches", [False, True])
def test_an_optimizer_on_the_cpu(launches: bool) -> None:
    """Its op takes 3,900 µs on the host; an optimizer that launches the kernel works for it."""
    span_of_step = span("annotation", "Optimizer.step#Adam.step", 5_000, 8_980)
    op = span("op", "aten::_fused_adam_", 5_010, 8_960, phase="optimizer")
    sites = [site("aten::mm"), site("aten::_fused_adam_", "optimizer")]
    kernels = [work(0, 5_000, 0, site_id=0), work(9_000, 10_000, 1, site_id=int(launches))]
    calls = [FIRST, launch(8_990, 9_000)]
    found = advise(program([*STEPS, span_of_step, op], calls, kernels, sites=sites))
    assert found[0].startswith("The optimizer runs on the CPU: keep it on") == (not launches)


@pytest.mark.parametrize(
    ("op", "primitive", "is_said"),
    [
        ("aten::conv2d", "layout", True),
        ("aten::conv2d", "conv", False),
        ("aten::contiguous", "layout", False),
    ],
)
@pytest.mark.parametrize("norm", [None, "aten::native_group_norm"])
def test_transposes_around_convolutions(
    op: str, primitive: str, is_said: bool, norm: str | None
) -> None:
    """Group norm would turn them back."""
    kernels = [work(0, 1_000, 0, primitive=primitive, site_id=0, step=0)]
    kernels += [work(1_000, 1_001, 1, site_id=1, step=0)] if norm else []
    is_said &= norm is None
    found = advise(busy(kernels=tuple(kernels), sites=[site(op), site(norm or "aten::relu")]))
    assert (
        any("channels_last" in text and "up to 500 µs a step" in text for text in found) == is_said
    )


SCORES = "[[8, 16, 1024, 1024], [], []]"


@pytest.mark.parametrize(
    ("shapes", "product", "is_said"),
    [
        (SCORES, "aten::bmm", True),
        (SCORES, "aten::matmul", True),
        (SCORES, "aten::conv2d", False),
        ("[[8, 16, 64, 64], [], []]", "aten::bmm", False),
        ("[[64, 1000], [], []]", "aten::bmm", False),  # a classifier's
        (None, "aten::bmm", False),
    ],
)
def test_attention_that_is_not_fused(shapes: str | None, product: str, is_said: bool) -> None:
    softmax = span("op", "aten::_softmax", 0, 100, input_shapes=shapes)
    kernels = (
        work(0, 1_000, 0, primitive="gemm", site_id=0, step=0),
        work(1_000, 3_000, 1, primitive="softmax", site_id=1, step=0),
    )
    found = advise(busy((softmax,), kernels, sites=[site(product), site("aten::_softmax")]))
    assert (
        any("scaled_dot_product_attention" in text and "1.00 ms a step" in text for text in found)
        == is_said
    )


def test_communication_and_waiting() -> None:
    facts = {"name": "ncclDevKernel_AllReduce", "is_communication": True, "step": 1}
    (said,) = advise(
        program(
            STEPS, [FIRST, SECOND], [work(0, 8_000, 0, step=0), work(8_000, 10_000, 1, **facts)]
        )
    )
    assert said.startswith(
        "Overlap communication with computing (buckets, a later wait): up to 1.00 ms a step (20%;"
    )
    marks = [*STEPS, *(one | {"rank": 1} for one in STEPS)]
    kernels = [
        work(0, 6_000, 0, step=0),
        work(6_000, 10_000, 1, **facts),
        work(0, 9_600, 0, step=0, rank=1),
        work(9_600, 10_000, 1, rank=1, **facts),
    ]
    numbers = [{"rank": 1, "api_call_id": number} for number in (0, 1)]
    calls = [FIRST, SECOND, FIRST | numbers[0], SECOND | numbers[1]]
    found = advise(program(marks, calls, kernels))
    assert found[0].startswith(
        "Give all ranks equally much to do: collectives wait for the slowest rank: up to 900 µs a"
        " step"
    )


def test_nothing_to_say() -> None:
    assert advise(program(STEPS, [FIRST], [work(0, 10_000, 0)])) == []
    assert advise(program(kernels=[work(5, 5)])) == []


def profiled() -> Trace:
    """Four steps of 10 ms: the device computes for 4, the profiler works 2.5, the host 3.5."""
    spans, calls, kernels = [], [], []
    for number in range(4):
        at = 10_000 * number
        spans += [
            mark(number, at, at + 10_000),
            span("overhead", "Activity Buffer Request", at + 4_500, at + 7_000),
            span("annotation", "checkpoint", at + 4_000, at + 9_990),
        ]
        calls.append(launch(at, at + 10))
        kernels += [
            work(at + 20 + k * 996, at + 20 + (k + 1) * 996, number, name="gemm") for k in range(4)
        ]
    return program(spans, calls, kernels)


def test_a_saving_never_counts_what_the_profiler_adds() -> None:
    (change,) = [one for one in list_changes(profiled()) if one.cause == "host"]
    assert change.saving_ns is not None
    assert change.saving_ns <= (10_000 - 4 * 996 - 2_500) * 1000
    assert change.saving_ns == pytest.approx(3_500_000, rel=0.01)


@pytest.mark.parametrize("plain_us", [6_000, 4_400, 4_050])
def test_a_saving_is_at_most_what_the_device_leaves_of_a_step(plain_us: int) -> None:
    """Without the profiler a step takes 6 ms or less, and the device computes for 3.984 of them."""
    changes = list_changes(unprofiled(profiled(), 10_000, plain_us))
    assert all((one.saving_ns or 0) <= (plain_us - 4 * 996) * 1000 + 1 for one in changes)
    assert [one.cause for one in changes] == (["host"] if plain_us > 4_050 else [])


@pytest.mark.parametrize("after_release", ["cudaMalloc", "cudaLaunchKernel"])
def test_an_op_that_frees_only_to_allocate_makes_room(after_release: str) -> None:
    """In each step an op allocates for 1 ms, frees for 1 ms, and then allocates or launches."""
    spans, calls = [*STEPS], [FIRST, SECOND]
    for step, begin in enumerate((1_000, 6_000)):
        names = ("cudaMalloc", "cudaFree", after_release)
        spans.append(span("op", "aten::empty", begin - 1, begin + 3_010))
        calls += [
            api(name, begin + 1_000 * at, begin + 1_000 * (at + 1), step=step)
            for at, name in enumerate(names)
        ]
    kernels = [work(0, 1_000, 0), work(4_020, 6_000, 1), work(9_020, 10_000, 1)]
    texts = [one.text for one in list_changes(program(spans, calls, kernels))]
    makes_room = any(text.startswith("Keep sizes the same, or allow") for text in texts)
    assert makes_room == (after_release == "cudaMalloc")
    assert any(text.startswith("Keep memory: ") for text in texts) != makes_room


def test_work_of_the_host_and_its_waits_are_two_parts() -> None:
    """Of two steps of 5 ms, the host parses for 4.5 ms, and waits for a request for 2.5."""
    spans = [
        span("annotation", "parse", 2_000, 6_500),
        span("annotation", "serve", 6_500, 8_989),
        span("python", "queue.py(171): get", 6_500, 8_988),
    ]
    calls = [FIRST, launch(8_990, 9_000)]
    trace = program([*STEPS, *spans], calls, [work(0, 2_000, 0), work(9_000, 10_000, 1)])
    works, waits = (one for one in list_changes(trace) if one.cause == "host")
    assert (works.text.split(" ")[0], waits.text[:22]) == ("Shorten", "The program only waits")
    assert (works.saving_ns or 0) == pytest.approx(2_250_000, rel=0.01)
    assert (waits.saving_ns or 0) == pytest.approx(1_250_000, rel=0.01)
    answer = make_answer(trace)
    assert answer.sentence == (
        "The GPU waits while the program does other work or waits itself: 45 % and 25 % of a step"
        " of 5.00 ms"
    )
    assert answer.place == "in parse"
    assert answer.details[0].startswith("it waits itself: in ")


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (["queue.py(171): get", "threading.py(355): wait"], "The program only waits"),
        (["serve.py(12): loop", "selectors.py(468): select"], "The program waits for requests"),
        (
            [
                "serve.py(12): loop",
                "asyncio/base_events.py(9): _run_once",
                "selectors.py(4): select",
            ],
            "The program waits for requests",
        ),
        (["serve.py(12): loop", "<built-in function sleep>"], "The program only waits"),
        (["serve.py(12): get", "json/__init__.py(20): dump"], "Shorten this work of the host"),
    ],
)
def test_a_host_that_waits_for_something_is_told_so(frames: list[str], words: str) -> None:
    """The device is idle for 4 ms, in which the host waits for a request, or works."""
    trace = idle(*(span("python", name, 5_001 + at, 8_989 - at) for at, name in enumerate(frames)))
    (change,) = [one for one in list_changes(trace) if one.cause == "host"]
    assert change.text.startswith(words)


F32, H200 = "float", [{"name": "NVIDIA H200"}]


def op_span(name: str, start: float, end: float, *shapes: list[int], of: str = F32) -> Row:
    words = json.dumps([of] * len(shapes))
    return span("op", name, start, end, step=0, input_shapes=json.dumps(shapes), input_dtypes=words)


def computing(
    *calls: tuple[str, float, list[list[int]]], kernel: str = "k", of: str = F32
) -> Trace:
    """A step of 1,000 µs whose device runs a kernel of each op so long, one after another.

    Kernels in a row have the names in `kernel`, separated by blanks, in turn.
    """
    names = kernel.split()
    spans, launches, kernels, at = [mark(0, 0, 1_000)], [], [], 0.0
    for number, (name, lasts, shapes) in enumerate(calls):
        spans.append(op_span(name, 10 * number + 1, 10 * number + 9, *shapes, of=of))
        launches.append(launch(10 * number + 2, 10 * number + 3, step=0))
        site = {
            "primitive": "gemm" if "mm" in name else "elementwise",
            "name": names[number % len(names)],
        }
        kernels.append(work(at, at + lasts, number, step=0, stream_id=7, **site))
        at += lasts
    for row in kernels:
        row["span_id"] = kernels.index(row) + 1
    return program(spans, launches, kernels, devices=H200)


SQUARE = [[2048, 2048], [2048, 2048]]


@pytest.mark.parametrize(
    ("kernel", "of", "is_said"),
    [("sgemm", F32, True), ("s1688gemm_tf32", F32, False), ("gemm", "c10::BFloat16", False)],
)
def test_products_in_float32_on_a_device_with_tensor_cores(
    kernel: str, of: str, is_said: bool
) -> None:
    """A product of 2,048³ takes 900 µs; in TF32 at 494.7 TFLOP/s it would take 34.7."""
    trace = computing(("aten::mm", 900, SQUARE), kernel=kernel, of=of)
    said = [text for text in advise(trace) if "tensor cores" in text]
    assert len(said) == is_said
    if is_said:
        least = 2 * 2048**3 / 494.7e12 * 1e6
        assert f"aten::mm: up to {900 - least:.0f} µs a step" in said[0]


def test_products_that_may_use_tf32_are_left_to_the_library() -> None:
    both = ("aten::mm", 400, SQUARE), ("aten::mm", 400, [[2048, 64], [64, 2048]])
    trace = computing(*both, kernel="sgemm s1688gemm_tf32")
    assert not [text for text in advise(trace) if "tensor cores" in text]


def test_a_chain_of_elementwise_ops_takes_as_long_as_its_longest() -> None:
    """300 + 100 + 200 µs become 300; the product ends the chain, and one op is none."""
    row = [[4096, 4096]]
    calls = [("aten::tanh_", 300, row), ("aten::relu_", 100, row), ("aten::exp_", 200, row)]
    # What is not modelled ends a chain, too.
    others = ("mine::op", 50, row), ("aten::relu", 100, row)
    trace = computing(*calls, ("aten::mm", 150, SQUARE), ("aten::relu", 100, row), *others)
    (only,) = (text for text in advise(trace) if text.startswith("Fuse chains"))
    assert "3 calls a step" in only
    assert "in aten::tanh_ + aten::relu_: up to 300 µs a step (30%; see roofline)" in only


def test_shorter_kernels_save_nothing_where_the_device_idles() -> None:
    trace = computing(("aten::mm", 400, SQUARE))
    assert not [text for text in advise(trace) if "tensor cores" in text]


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
