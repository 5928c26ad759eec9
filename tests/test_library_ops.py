"""Bytes and arithmetic of ops of libraries and servers, by hand."""

import json
from typing import Any

import pytest

from tests.op_inputs import BYTE, FP4, FP8, NONE, H, Inputs, L, moved, tensor, value
from tracelens.derive.kernels.bound_call import _LISTS, _TENSORS
from tracelens.derive.kernels.op_families import signatures
from tracelens.derive.kernels.op_work import work_of


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        # 6 numbers in bfloat16 are read and written, with 3 weights.
        (
            "_C::rms_norm",
            [tensor(2, 3, of=H), tensor(2, 3, of=H), tensor(3, of=H), value(1e-6)],
            (30, 0),
        ),
        # Both are changed in place: read and written.
        (
            "_C::fused_add_rms_norm",
            [tensor(2, 3, of=H), tensor(2, 3, of=H), tensor(3, of=H), value(1e-6)],
            (54, 0),
        ),
        # Keys and values of 2 tokens go into a cache of 1000 blocks, by 2 slots.
        (
            "_C_cache_ops::reshape_and_cache_flash",
            [
                *[tensor(2, 4, 8, of=H)] * 2,
                *[tensor(1000, 16, 4, 8, of=H)] * 2,
                tensor(2, of=L),
                value("auto"),
                tensor(),
                tensor(),
            ],
            (4 * 128 + 16, 0),
        ),
        # 2x16 by 16x5 in fp8 into bfloat16, with two scales.
        (
            "_C::cutlass_scaled_mm",
            [
                tensor(2, 5, of=H),
                tensor(2, 16, of=FP8),
                tensor(16, 5, of=FP8),
                tensor(),
                tensor(),
                value(None, NONE),
            ],
            (32 + 80 + 20 + 8, 320),
        ),
        # The weights are given by columns, the output type by its number.
        (
            "sgl_kernel::fp8_scaled_mm",
            [
                tensor(2, 16, of=FP8),
                tensor(5, 16, of=FP8),
                tensor(),
                tensor(),
                value(15),
                value(None, NONE),
            ],
            (32 + 80 + 20 + 8, 320),
        ),
        # Two numbers of four bits in a byte: 2x32 by 32x5.
        (
            "_C::cutlass_scaled_fp4_mm",
            [
                tensor(2, 5, of=H),
                tensor(2, 16, of=BYTE),
                tensor(5, 16, of=BYTE),
                tensor(),
                tensor(),
                tensor(),
            ],
            (32 + 80 + 20 + 12, 640),
        ),
        # 3 tokens of 8 choose 2 of 4 experts each, whose weights are 12x8 and 8x6: all are read.
        (
            "vllm::outplace_fused_experts",
            [
                tensor(3, 8, of=H),
                tensor(4, 12, 8, of=H),
                tensor(4, 8, 6, of=H),
                tensor(3, 2),
                tensor(3, 2, of="int"),
                value("silu"),
            ],
            (48 + 4 * 2 * (96 + 48) + 48 + 48, 2 * 6 * (96 + 48)),
        ),
        # 1 request, 4 queries and keys of 2 heads by 8: 4 products of 4x4x8 for each head.
        (
            "flash_attn::_flash_attn_forward",
            [*[tensor(1, 4, 2, 8, of=H)] * 3, value(0.0), value(1.0), value(False), value(-1)],
            (4 * 128, 2 * 2 * 4 * 4 * 16),
        ),
        # Two requests of 8 tokens in all take the fewest operations where each has 4.
        (
            "flash_attn::_flash_attn_varlen_forward",
            [
                *([tensor(8, 2, 8, of=H)] * 3),
                tensor(3, of="int"),
                tensor(3, of="int"),
                value(4),
                value(4),
                value(0.0),
                value(1.0),
                value(False),
                value(-1),
            ],
            (4 * 256 + 12, 2 * 2 * (2 * 4 * 4 * 16)),
        ),
    ],
)
def test_ops_of_other_libraries(name: str, inputs: Inputs, expected: tuple[int, int]) -> None:
    assert moved(name, inputs) == expected


ATTENTION = [
    *[tensor(32, 64, 64, of=H), tensor(32, 8, 64, of=H), tensor(32, 8, 64, of=H)],
    *[tensor(32, 64, 64, of=H), value("model.layers.0.attn", NONE)],
]
QUERIES = 2 * 32 * 64 * 64 * 2
"""Bytes of queries and results of 32 tokens with 64 heads of 64."""


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("vllm::unified_attention_with_output", ATTENTION),
        # Out, workspace, queries, a cache of 8 heads in pages of one token.
        (
            "sglang_profiler::attention_paged_attention_ragged",
            [
                *[tensor(32, 64, 64, of=H), tensor(1 << 30, of=BYTE), tensor(32, 64, 64, of=H)],
                *[tensor(800_000, 1, 8, 64, of=H)] * 2,
                tensor(33, of="int"),
            ],
        ),
        # Keys in five dimensions: blocks, heads, parts of the width, tokens, width of a part.
        (
            "_C::paged_attention_v1",
            [
                *[tensor(32, 64, 64, of=H)] * 2,
                *[tensor(999, 8, 8, 16, 8, of=H), tensor(999, 8, 64, 16, of=H)],
                value(8),
            ],
        ),
    ],
)
def test_attention_to_a_cache_tells_what_a_key_costs(name: str, inputs: Inputs) -> None:
    """Each of 32 tokens meets itself: 4 * 64 heads * 64. A key and value of 8 heads are 2 KiB."""
    shapes, words, values = zip(*inputs, strict=True)
    work = work_of(name, [json.dumps(shapes), json.dumps(words), None, json.dumps(values)])
    assert work is not None
    assert (work.flops, work.least_bytes) == (32 * 4 * 64 * 64, QUERIES)
    assert (work.pair_flops, work.key_bytes) == (4 * 64 * 64, 2 * 8 * 64 * 2)


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        # Input and residual are read, result and residual written: 4 * 6 numbers, and 3 weights.
        (
            "aiter::rmsnorm2d_fwd_with_add_ck",
            [*[tensor(2, 3, of=H)] * 4, tensor(3, of=H), value(1e-5), value(0)],
            (54, 0),
        ),
        ("aiter::rms_norm", [tensor(2, 3, of=H), tensor(3, of=H), value(1e-5), value(0)], (30, 42)),
        # Keys and values of 2 tokens, and 2 slots.
        (
            "sglang::store_cache",
            [*[tensor(2, 8, of=H)] * 2, *[tensor(999, 8, of=H)] * 2, tensor(2, of=L), value(16)],
            (4 * 32 + 16, 0),
        ),
        # 2 of 4 experts with gate, up and down of 6 by 8 for each of 3 tokens.
        (
            "aiter::fmoe_fp8_blockscale_g1u1",
            [
                *[tensor(3, 8, of=H), tensor(3, 8, of=FP8)],
                *[tensor(4, 12, 8, of=FP8), tensor(4, 8, 6, of=FP8)],
                *[tensor(9, of="int")] * 4,
                value(2),
            ],
            (24 + 4 * (96 + 48) + 48, 2 * 3 * 2 * (96 + 48)),
        ),
        # 6 rows of 8 with one of 4 matrices of 8 by 5 each; then 4 results of 8 by 5.
        (
            "aten::_grouped_mm",
            [
                tensor(6, 8, of=H),
                tensor(4, 8, 5, of=H),
                tensor(4, of="int"),
                *[value(None, NONE)] * 2,
            ],
            (96 + 320 + 16 + 60, 2 * 6 * 8 * 5),
        ),
        (
            "aten::_grouped_mm",
            [tensor(8, 6, of=H), tensor(6, 5, of=H), tensor(4, of="int"), *[value(None, NONE)] * 2],
            (96 + 60 + 16 + 320, 2 * 6 * 8 * 5),
        ),
        # One product of experts: 6 rows of 8 with 4 times 12 by 8, then of 6 with 8 by 6.
        (
            "aiter::ck_moe_stage1",
            [
                *[tensor(3, 8, of=FP8), tensor(4, 12, 8, of=FP8), tensor(4, 8, 6, of=FP8)],
                *[tensor(9, of="int")] * 3,
                *[tensor(3, 2, 6, of=H), value(2)],
            ],
            (24 + 4 * 96 + 72, 2 * 6 * 96),
        ),
        (
            "aiter::ck_moe_stage2",
            [
                *[tensor(3, 2, 6, of=H), tensor(4, 12, 8, of=FP8), tensor(4, 8, 6, of=FP8)],
                *[tensor(9, of="int")] * 3,
                *[tensor(3, 8, of=H), value(2)],
            ],
            (72 + 4 * 48 + 48, 2 * 6 * 48),
        ),
        # The same weights with two numbers of four bits in a byte.
        (
            "aiter::moe_cktile2stages_gemm1_ck",
            [tensor(3, 8, of=H), tensor(4, 12, 4, of=BYTE), tensor(3, 2, 6, of=H)],
            (48 + 4 * 48 + 72, 2 * 6 * 96),
        ),
        (
            "vllm::outplace_fused_experts",
            [
                *[tensor(3, 8, of=H), tensor(4, 12, 4, of=BYTE), tensor(4, 8, 3, of=BYTE)],
                *[tensor(3, 2), tensor(3, 2, of="int")],
            ],
            (48 + 4 * (48 + 24) + 48 + 48, 2 * 6 * (96 + 48)),
        ),
        # Two requests of 4 tokens, 2 heads by 8: 3 products as wide as keys, 2 as values.
        (
            "flash_attn::_flash_attn_varlen_backward",
            [
                *[tensor(8, 2, 8, of=H)] * 5,
                tensor(2, 8),
                *[tensor(8, 2, 8, of=H)] * 3,
                *[tensor(3, of="int"), tensor(3, of="int"), value(4), value(4)],
                *[value(0.0), value(1.0), value(False), value(-1)],
            ],
            (8 * 256 + 64 + 12, 2 * 2 * 2 * 4 * 4 * 40),
        ),
        # Routing: 6 choices of experts are sorted into 9 places and 3 blocks.
        (
            "aiter::moe_align_block_size",
            [
                *[tensor(3, 2, of="int"), value(4), value(4), tensor(9, of="int")],
                tensor(3, of="int"),
            ],
            (4 * (6 + 9 + 3), 9),
        ),
        # Of ops in no catalogue: rows of a table are as many as tokens, 2 * (12 + 6) + 2 * 4.
        (
            "mylib::rotary_half",
            [tensor(2, 6, of=H), tensor(2, 3, of=H), tensor(500, 2, of=H)],
            (2 * (12 + 6 + 4), 12),
        ),
        # A product whose second matrix is transposed, 2x16 by 5x16.
        (
            "mylib::w8a8_gemm",
            [tensor(2, 16, of=FP8), tensor(5, 16, of=FP8), tensor(2, 5, of=H)],
            (32 + 80 + 20, 320),
        ),
        # Two numbers of four bits in a byte: of both, of the weights, and of these in a batch.
        (
            "aiter::gemm_a4w4",
            [tensor(2, 8, of=FP4), tensor(5, 8, of=FP4), tensor(2, 5, of=H)],
            (16 + 40 + 20, 320),
        ),
        (
            "aiter::gemm_a16w4",
            [tensor(2, 16, of=H), tensor(5, 8, of=BYTE), tensor(2, 5, of=H)],
            (64 + 40 + 20, 320),
        ),
        (
            "aiter::batched_gemm_a16wfp4_",
            [tensor(3, 2, 16, of=H), tensor(3, 5, 8, of=BYTE), tensor(3, 2, 5, of=H)],
            (3 * (64 + 40 + 20), 3 * 320),
        ),
        (
            "aiter::gfx950_a8w8_blockscale_asm",
            [tensor(2, 16, of=FP8), tensor(5, 16, of=FP8), tensor(2, 5, of=H)],
            (32 + 80 + 20, 320),
        ),
        # Bytes that no name calls halves are numbers.
        (
            "mylib::uint8_gemm",
            [tensor(2, 16, of=BYTE), tensor(5, 16, of=BYTE)],
            (32 + 80 + 20, 320),
        ),
        # A result that is no input is written, too.
        ("mylib::linear", [tensor(2, 16, of=H), tensor(16, 5, of=H)], (64 + 160 + 20, 320)),
        ("mylib::mystery", [tensor(2, 16, of=H), tensor(16, 5, of=H)], None),
        ("aten::linear", [tensor(2, 16, of=H), tensor(16, 5, of=H)], None),
    ],
)
def test_ops_of_servers(name: str, inputs: Inputs, expected: Any) -> None:
    assert moved(name, inputs) == expected


@pytest.mark.parametrize(
    ("sizes", "number"),
    [((), 2), ((), [1, 2]), ((4, 0), 2), ((0, 0, 0), 2)],
)
def test_odd_sizes_leave_work_unknown_or_count_it(sizes: tuple[int, ...], number: Any) -> None:
    """A call may have inputs that its op would refuse, and empty ones; no formula fails at them."""
    an_op_of = {
        (family, signature): name
        for name, (family, known) in signatures().items()
        for signature in known
    }
    for (_, signature), name in an_op_of.items():
        inputs: Inputs = []
        for role in signature.partition(">")[0].removesuffix("*"):
            if role in _TENSORS:
                inputs.append(tensor(*sizes))
            elif role in _LISTS:
                inputs.append(([list(sizes)] * 2, "TensorList", None))
            else:
                inputs.append(value(number))
        work = moved(name, inputs, of="float")
        assert work is None or min(work) >= 0, (name, signature)
