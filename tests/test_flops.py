"""Operations of ops: each formula beside torch's own, and bytes by hand."""

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tracelens.derive.kernels.flops import MODELLED, Work
from tracelens.derive.kernels.op_work import tensors_of, work_of

torch: Any = pytest.importorskip(
    "torch", reason="formulas are compared with torch's, which is not installed here"
)
META = partial(torch.empty, device="meta")
N = 150 if "CI" in os.environ else 500
Called = tuple[str, tuple[Any, ...], Any]
"""An op, the inputs of a call, and its result where torch's formula asks for it."""


def of_convolution(args: tuple[Any, ...], out: Any) -> int:
    """Operations of a convolution fused with what follows: two for each weight and result."""
    return int(2 * out.numel() * args[1][0].numel())


ALIKE: dict[str, Callable[[tuple[Any, ...], Any], int]] = {
    "_addmm_activation": lambda args, _: 2 * args[1].numel() * args[2].shape[1],
    "addmm_": lambda args, _: 2 * args[1].numel() * args[2].shape[1],
    "baddbmm_": lambda args, _: 2 * args[1].numel() * args[2].shape[2],
    "_int_mm": lambda args, _: 2 * args[0].numel() * args[1].shape[1],
    "mv": lambda args, _: 2 * args[0].numel(),
    "addmv": lambda args, _: 2 * args[1].numel(),
    "addmv_": lambda args, _: 2 * args[1].numel(),
    "cudnn_convolution_relu": of_convolution,
    "miopen_convolution": of_convolution,
    "miopen_depthwise_convolution": of_convolution,
    "cudnn_convolution_add_relu": of_convolution,
    "_conv_depthwise2d": of_convolution,
    "conv_depthwise3d": of_convolution,
    "_slow_conv2d_forward": of_convolution,
}
"""Operations of ops that torch (2.13) does not count, or whose count is wrong there."""


def recorded(name: str, args: tuple[Any, ...]) -> Work | None:
    """Return our count for the call. Its inputs are written as the profiler writes them."""
    tensors = [hasattr(arg, "shape") for arg in args]
    shapes = [
        list(arg.shape) if is_tensor else [] for arg, is_tensor in zip(args, tensors, strict=True)
    ]
    strides = [
        list(arg.stride()) if is_tensor else []
        for arg, is_tensor in zip(args, tensors, strict=True)
    ]
    dtypes = ["float" if is_tensor else "Scalar" for is_tensor in tensors]
    values = [None if is_tensor else arg for arg, is_tensor in zip(args, tensors, strict=True)]
    return work_of(f"aten::{name}", [*map(json.dumps, (shapes, dtypes, strides, values))])


def products(meta: Callable[..., Any], pick: random.Random) -> Iterator[Called]:
    """Draw products of two matrices, or of batches of pairs, with and without a summand."""
    b, m, k, n = (pick.randint(1, 300) for _ in range(4))
    yield "mm", (meta(m, k), meta(k, n)), None
    yield "addmm", (meta(n), meta(m, k), meta(k, n)), None
    yield "addmm_", (meta(m, n), meta(m, k), meta(k, n)), None
    yield "bmm", (meta(b, m, k), meta(b, k, n)), None
    yield "baddbmm", (meta(1, n).expand(m, n), meta(b, m, k), meta(b, k, n)), None
    yield "baddbmm_", (meta(b, m, n), meta(b, m, k), meta(b, k, n)), None
    yield "_addmm_activation", (meta(n), meta(m, k), meta(k, n), 1, 1, True), None
    yield "_int_mm", (meta(m, k), meta(k, n)), None
    yield "mv", (meta(m, k), meta(k)), None
    yield "addmv", (meta(m), meta(m, k), meta(k)), None
    yield "addmv_", (meta(m), meta(m, k), meta(k)), None
    yield "_scaled_mm", (meta(m, k), meta(k, n), meta(1), meta(1), None, None, 15, True), None


def convolutions(meta: Callable[..., Any], pick: random.Random) -> Iterator[Called]:
    """Draw convolutions in one to three dimensions, with groups, and transposed.

    Their gradients have any mask.
    """
    n, groups, transposed = pick.randint(1, 3), pick.choice([1, 1, 2, 3]), pick.random() < 0.3
    c_in, c_out = (groups * pick.randint(1, 8) for _ in range(2))
    kernel, stride, dilation = ([pick.randint(1, most) for _ in range(n)] for most in (3, 3, 2))
    padding, more = [pick.randint(0, 1) for _ in range(n)], [pick.randint(0, s - 1) for s in stride]
    x = meta(pick.randint(1, 4), c_in, *(pick.randint(5, 20) for _ in range(n)))
    channels = (c_in, c_out // groups) if transposed else (c_out, c_in // groups)
    where = stride, padding, dilation, transposed, more if transposed else [0] * n, groups
    args = x, meta(*channels, *kernel), pick.choice([None, meta(c_out)]), *where
    out = torch.ops.aten.convolution(*args)
    yield "convolution", args, out
    yield "_convolution", (*args, False, False, True, True), out
    yield "convolution_overrideable", args, out
    if not transposed:
        yield (
            "cudnn_convolution",
            (*args[:2], padding, stride, dilation, groups, False, False, True),
            out,
        )
        of_amd = (*args[:3], padding, stride, dilation, groups, False, False)
        yield "miopen_convolution", of_amd, out
        yield "miopen_depthwise_convolution", of_amd, out
        x, weight, bias = args[:3]
        fused = x, weight, bias, stride, padding, dilation, groups
        yield "cudnn_convolution_relu", fused, out
        yield "cudnn_convolution_add_relu", (x, weight, out, 1.0, bias, *fused[3:]), out
        alone = x, weight, kernel, bias, stride, padding
        yield "_conv_depthwise2d", (*alone, dilation), out
        yield "conv_depthwise3d", (*alone, dilation), out
        if max(dilation) == 1:
            yield "_slow_conv2d_forward", alone, out
    mask = [pick.random() < 0.7 for _ in range(3)]
    back = out, *args[:2], [c_out], *where, mask
    yield "convolution_backward", back, torch.ops.aten.convolution_backward(*back)


def attention(meta: Callable[..., Any], pick: random.Random) -> Iterator[Called]:
    """Each fused kind of attention, with fewer heads of keys and another width of values.

    Forward and backward.
    """
    b, heads, groups, q_length, k_length, wide, v_wide = (
        pick.randint(1, most) for most in (8, 6, 3, 99, 99, 64, 64)
    )
    q, k = meta(b, heads * groups, q_length, wide), meta(b, heads, k_length, wide)
    v, out = meta(b, heads, k_length, v_wide), meta(b, heads * groups, q_length, v_wide)
    lse, causal = meta(b, heads * groups, q_length), pick.random() < 0.5
    yield "_scaled_dot_product_flash_attention", (q, k, v, 0.0, causal, False), None
    yield "_scaled_dot_product_efficient_attention", (q, k, v, None, True, 0.0, causal), None
    yield "_scaled_dot_product_cudnn_attention", (q, k, v, None, True, 0.0, causal, False), None
    back = out, q, k, v
    yield (
        "_scaled_dot_product_flash_attention_backward",
        (*back, out, lse, *[None] * 4, 0.0, causal, None, None),
        None,
    )
    mask = [True] * 4
    yield (
        "_scaled_dot_product_efficient_attention_backward",
        (*back, None, out, lse, *[None] * 2, 0.0, mask, causal),
        None,
    )
    yield (
        "_scaled_dot_product_cudnn_attention_backward",
        (*back, out, lse, *[None] * 7, 0.0, causal),
        None,
    )


def every_kind(meta: Callable[..., Any], pick: random.Random) -> Iterator[Called]:
    """A call or two of each op that is modelled."""
    yield from products(meta, pick)
    yield from convolutions(meta, pick)
    yield from attention(meta, pick)


def test_every_formula_equals_torchs() -> None:
    """At least 500 random shapes per op. Tensors are on the meta device and hold nothing."""
    from torch.utils.flop_counter import flop_registry  # noqa: PLC0415 - only where torch is

    pick = random.Random(17)  # noqa: S311 - no secret
    counted = Counter[str]()
    while min(counted[name] for name in MODELLED) < N:
        for name, args, out in every_kind(META, pick):
            op = getattr(torch.ops.aten, name)
            work = recorded(name, args)
            assert work is not None, (name, args)
            alike = ALIKE.get(name)
            expected = alike(args, out) if alike else flop_registry[op](*args, out_val=out)
            assert work.flops == expected, (name, args)
            counted[f"aten::{name}"] += 1
    assert set(counted) == set(MODELLED)


def test_outputs_of_convolutions_count_as_bytes() -> None:
    """Least bytes of a convolution: inputs and outputs as torch says."""
    pick = random.Random(5)  # noqa: S311 - no secret
    for _ in range(50):
        for name, args, out in convolutions(META, pick):
            if name != "convolution":
                continue
            work = recorded(name, args)
            tensors = [arg for arg in (*args, out) if hasattr(arg, "numel")]
            assert work is not None
            assert work.least_bytes == 4 * sum(tensor.numel() for tensor in tensors)


def test_attention_backward_is_two_and_a_half_times_forward() -> None:
    q, k = META(8, 16, 512, 64), META(8, 4, 512, 64)
    forward = recorded("_scaled_dot_product_flash_attention", (q, k, k, 0.0, True))
    backward = recorded(
        "_scaled_dot_product_flash_attention_backward", (q, q, k, k, q, *[None] * 6, True)
    )
    assert forward is not None
    assert backward is not None
    assert (forward.flops, forward.needed_flops) == (8_589_934_592, 4_294_967_296)
    assert (backward.flops, backward.needed_flops) == (
        5 * forward.flops // 2,
        5 * forward.needed_flops // 2,
    )


BF16 = '["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar"]'


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        # 2x3 by 3x5: 30 multiplications; 6 + 15 + 10 numbers of 2 bytes.
        ("aten::mm", ("[[2, 3], [3, 5]]", BF16, None, "[]"), Work(60, 60, 62, "bfloat16")),
        # In each of 2 batches 60 products of complex numbers, each of four real ones.
        (
            "aten::bmm",
            (
                "[[2, 3, 4], [2, 4, 5]]",
                '["c10::complex<float>", "c10::complex<float>"]',
                None,
                "[]",
            ),
            Work(240, 960, 8 * (24 + 40 + 30), "complex64"),
        ),
        # Added in place: 10 numbers are read and written, too.
        (
            "aten::addmm_",
            ("[[2, 5], [2, 3], [3, 5]]", BF16, None, "[]"),
            Work(60, 60, 2 * (10 + 6 + 15 + 10), "bfloat16"),
        ),
        # A row of 5 added to each of 2, which is in memory once.
        (
            "aten::addmm",
            ("[[2, 5], [2, 3], [3, 5], []]", BF16, "[[0, 1], [3, 1], [5, 1], []]", "[]"),
            Work(60, 60, 72, "bfloat16"),
        ),
        # fp8, of which comes bfloat16 (15), with two scales in float32: 6 + 15 + 4 + 4 + 20 bytes.
        (
            "aten::_scaled_mm",
            (
                "[[2, 3], [3, 5], [], [], [], [], []]",
                '["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar"]',
                None,
                "[null, null, null, null, null, null, 15]",
            ),
            Work(60, 60, 49, "float8"),
        ),
        # Of mm(out=): 6 + 15 numbers read and 10 written, as without out=; the same of addmm, with
        # its row of 5, and of _scaled_mm, whose bfloat16 output is told by the tensor alone.
        ("aten::mm", ("[[2, 3], [3, 5], [2, 5]]", BF16, None, "[]"), Work(60, 60, 62, "bfloat16")),
        (
            "aten::addmm",
            (
                "[[5], [2, 3], [3, 5], [], [], [2, 5]]",
                '["float", "float", "float", "Scalar", "Scalar", "float"]',
                None,
                "[]",
            ),
            Work(60, 60, 4 * 36, "float32"),
        ),
        (
            "aten::_scaled_mm",
            (
                "[[2, 3], [3, 5], [], [], [], [], [], [], [2, 5]]",
                (
                    '["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "", "",'
                    ' "c10::BFloat16"]'
                ),
                None,
                "[]",
            ),
            Work(60, 60, 49, "float8"),
        ),
        # mm(out_dtype=float32, out=): 21 numbers of 2 bytes read, 10 of 4 written.
        (
            "aten::mm",
            (
                "[[2, 3], [3, 5], [], [2, 5]]",
                '["c10::BFloat16", "c10::BFloat16", "Scalar", "float"]',
                None,
                "[null, null, 6, null]",
            ),
            Work(60, 60, 82, "bfloat16"),
        ),
        # Without element types there are no bytes.
        ("aten::mm", ("[[2, 3], [3, 5]]", None, None, None), Work(60, 60, None, None)),
        # Weights' gradient of 2 groups: torch counts it as of one. 1x4x1x5 from 1x4x1x5 by 4x2x1x1,
        # no other gradient: 2 * 5 * 4 * 4 operations; 20 numbers of the gradient, 20 of the input
        # and the 8 weights' gradients.
        (
            "aten::convolution_backward",
            (
                "[[1, 4, 1, 5], [1, 4, 1, 5], [4, 2, 1, 1], [], [], [], [], [], [], [], []]",
                '["float", "float", "float", "", "", "", "", "", "", "", ""]',
                None,
                (
                    "[null, null, null, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 2, [false,"
                    " true, false]]"
                ),
            ),
            Work(160, 80, 4 * 48, "float32"),
        ),
    ],
)
def test_work_by_hand(name: str, inputs: tuple[str | None, ...], expected: Work) -> None:
    assert work_of(name, inputs) == expected


@pytest.mark.parametrize(
    ("name", "shapes", "values"),
    [
        ("aten::mm", "[[2, 3], [4, 5]]", "[]"),
        ("aten::mm", "[[2, 3]]", "[]"),
        ("aten::mm", "[[2, -3], [-3, 5]]", "[]"),
        ("aten::mm", "[[2, 3], [3, 10000000000000000]]", "[]"),
        ("aten::mm", "[[2, true], [true, 5]]", "[]"),
        ("aten::mm", "no JSON", "[]"),
        ("aten::mm", "[" * 100_000, "[]"),
        ("aten::mm", "{}", "[]"),
        ("aten::bmm", "[[2, 3], [3, 5]]", "[]"),
        ("aten::convolution", "[[1, 3, 8, 8], [4, 3, 3, 3]]", None),
        (
            "aten::cudnn_convolution",
            "[[1, 3, 8, 8], [4, 3, 3, 3]]",
            "[null, null, [0, 0], [0, 0], [1, 1]]",
        ),
        (
            "aten::cudnn_convolution",
            "[[1, 3, 2, 2], [4, 3, 9, 9]]",
            "[null, null, [0, 0], [1, 1], [1, 1]]",
        ),
        (
            "aten::cudnn_convolution",
            "[[1, 3, 8, 8], [4, 3, 3]]",
            "[null, null, [0, 0], [1, 1], [1, 1]]",
        ),
        (
            "aten::convolution_backward",
            "[[1, 4, 5], [1, 4, 5], [4, 4, 1]]",
            "[0, 0, 0, 0, 0, 0, 0, false, 0, 1, null]",
        ),
        (
            "aten::_scaled_dot_product_flash_attention",
            "[[2, 4, 8, 8], [2, 4, 8, 9], [2, 4, 8, 8]]",
            "[]",
        ),
    ],
)
def test_what_cannot_be_told_is_not_guessed(name: str, shapes: str, values: str | None) -> None:
    assert work_of(name, (shapes, None, None, values)) is None


def test_tensors_are_shown_with_their_sizes_and_types() -> None:
    shapes, dtypes = (
        "[[32, 3, 224, 224], [64, 3, 7, 7], [], [], []]",
        '["float", "c10::Half", "", "ScalarList", "long int"]',
    )
    assert tensors_of(shapes, dtypes) == ("32x3x224x224 64x3x7x7 ()", "float32 float16 int64")
    assert tensors_of("[[2, 3], [], [3, 5]]", None) == ("2x3 3x5", "")
