"""Advice on kernels: optimizers, layouts, attention, precision, and chains that fuse."""

import json

import pytest

from tests.advice_cases import FIRST, STEPS, busy, site
from tests.programs import Row, launch, mark, program, span, work
from tests.selection import only
from tracelens.derive.replay.advised import advise
from tracelens.trace import Trace

F32, H200 = "float", [{"name": "NVIDIA H200"}]


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
@pytest.mark.parametrize(
    "norm", only(["aten::native_group_norm"], [None, "aten::native_group_norm"])
)
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
