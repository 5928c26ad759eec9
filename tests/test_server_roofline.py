"""The roofline of inference servers' steps: contexts by the steps' marks, experts by what is seen.

Shaped as public traces of vLLM are: gpt-oss on an MI300, 32 requests in decode.
"""

import json
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.analyses import roofline
from tracelens.analyses.roofline import notes
from tracelens.trace import Trace

H, LONG = "c10::BFloat16", "long int"
DECODE = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)"
MIXED = "execute_40_context_1(sq10sk10sqsq100sqsk100)_generation_30(sq30sk300sqsq30sqsk300)"


def op(name: str, *inputs: tuple[list[int], str], parent: int | None = None) -> dict[str, Any]:
    shapes, words = zip(*inputs, strict=True) if inputs else ((), ())
    return {
        "name": name,
        "kind": "op",
        "step": 0,
        "parent_id": parent,
        "input_shapes": json.dumps(shapes),
        "input_dtypes": json.dumps(words),
    }


def served(mark: str | None, spans: list[dict[str, Any]], kernels: dict[int, str]) -> Trace:
    """Make a trace of one step in which each kernel ran for a microsecond in a span."""
    steps = [{"step": 0, "name": mark}] if mark else []
    rows = [
        {"name": name, "span_id": span, "step": 0, "duration_ns": 1000}
        for span, name in kernels.items()
    ]
    devices = [{"name": "NVIDIA H200"}]
    return make_trace(steps=steps, spans=spans, kernels=rows, devices=devices)


def attention(tokens: int) -> dict[str, Any]:
    queries, keys = ([tokens, 64, 64], H), ([tokens, 8, 64], H)
    return op("vllm::unified_attention_with_output", queries, keys, keys, queries, ([], ""))


def row(trace: Trace, name: str) -> dict[str, Any]:
    return roofline(trace).row(by_predicate=pl.col("op") == name, named=True)


def test_the_mark_of_a_step_tells_what_attention_reads() -> None:
    """0.902529024 GFLOP and 108.08984375 MiB are also what AMD TraceLens gives for this call."""
    trace = served(DECODE, [attention(32)], {0: "kernel_unified_attention_3d"})
    found = row(trace, "vllm::unified_attention_with_output")
    assert found["flops"] == found["needed_flops"] == 4 * 64 * 64 * 55086 == 902_529_024
    assert found["least_bytes"] == 55086 * 2 * 8 * 64 * 2 + 2 * 32 * 64 * 64 * 2
    assert found["least_bytes"] / 2**20 == 108.08984375
    assert "at least" not in found["evidence"]


def test_half_of_a_prompts_keys_come_later() -> None:
    trace = served(MIXED, [attention(40)], {0: "kernel_unified_attention_2d"})
    found = row(trace, "vllm::unified_attention_with_output")
    assert found["flops"] == 4 * 64 * 64 * 400
    assert found["needed_flops"] == 4 * 64 * 64 * (50 + 300)


def test_prompts_of_one_length_take_the_least_work() -> None:
    """Two prompts of 20 tokens make 2 · 20 · 20 pairs, prompts of 10 and 30 a quarter more."""
    trace = served("step[EXTEND bs=2 toks=40]", [attention(40)], {0: "flash_fwd"})
    found = row(trace, "vllm::unified_attention_with_output")
    assert found["flops"] == 4 * 64 * 64 * 800
    assert found["needed_flops"] == 4 * 64 * 64 * 400
    assert found["evidence"].endswith("at least: how long contexts are is not recorded")


def test_without_a_mark_the_work_is_a_lower_bound_and_said() -> None:
    trace = served(None, [attention(32)], {0: "kernel_unified_attention_3d"})
    found = row(trace, "vllm::unified_attention_with_output")
    assert found["flops"] == 4 * 64 * 64 * 32
    assert found["evidence"].endswith("at least: how long contexts are is not recorded")
    assert found["gain_ns"] is None
    assert notes(trace, roofline(trace))[0].startswith(
        "100.0% of kernel time is attention to contexts of unknown length"
    )


def test_experts_whose_weights_are_no_inputs() -> None:
    """32 tokens of 3072 take 4 of 32 experts: 7.25 GFLOP, with weights of half a byte."""
    spans = [
        op("vllm::moe_forward", ([32, 3072], H), ([32, 32], H), ([], ""), ([], "")),
        op("SortTokens", ([32, 4], H), ([32, 4], "short int"), parent=0),
    ]
    kernels = {0: "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", 1: "_sum_bitmatrix_rows"}
    found = row(served(DECODE, spans, kernels), "vllm::moe_forward")
    # AMD TraceLens: 4.831838208 up and 2.415919104 down.
    assert found["flops"] == 2 * 32 * 4 * 3072 * 3072 * 3 == 4_831_838_208 + 2_415_919_104
    weights = 32 * 3 * 3072 * 3072 // 2
    assert found["least_bytes"] == weights + 2 * 32 * 3072 * 2 + 32 * 32 * 2
    assert found["n_kernels"] == 2
    assert "assumed gated and as wide as the hidden size" in found["evidence"]


def test_experts_that_nothing_tells_are_not_modelled() -> None:
    spans = [op("vllm::moe_forward", ([32, 3072], H), ([32, 32], H), ([], ""), ([], ""))]
    frame = roofline(served(DECODE, spans, {0: "_matmul_ogs"}))
    assert frame.filter(op="vllm::moe_forward").is_empty()


def test_float32_and_memory_are_said_with_their_times() -> None:
    """A product of 2,048³ takes 1 ms in float32 on an H200: 0.035 ms in TF32 at 494.7 TFLOP/s.

    A sum of two million numbers moves 24 MB, for which 0.005 ms would do.
    """
    f32 = "float"
    spans = [
        op("aten::mm", ([2048, 2048], f32), ([2048, 2048], f32)),
        op("aten::add", ([2_000_000], f32), ([2_000_000], f32), ([], "Scalar")),
    ]
    kernels = [
        {"name": "sgemm", "span_id": 0, "duration_ns": 1_000_000},
        {"name": "add", "span_id": 1, "duration_ns": 250_000},
    ]
    trace = make_trace(spans=spans, kernels=kernels, devices=[{"name": "NVIDIA H200"}])
    said = " ".join(notes(trace, roofline(trace)))
    least = 2 * 2048**3 / 494.7e12 * 1e3
    assert "in float32 without tensor cores take 1.00 ms (80.0% of kernel time)" in said
    assert f"autocast up to {1e3 * (1 - least):.0f} µs less" in said
    moved = 24e6 / 4.8e12 * 1e3
    assert "which are bound by memory, take 250 µs (20.0% of kernel time) in 1 calls" in said
    assert f"{1e3 * (0.25 - moved):.0f} µs more than at their roof" in said


def test_sizes_of_long_lists_come_from_their_blocks() -> None:
    """Of more than 30 tensors no sizes are recorded; a block takes 65,536 elements."""
    spans = [op("aten::_foreach_neg_", ([], "TensorList"))]
    name = "void at::native::multi_tensor_apply_kernel<UnaryOpFunctor<float, 1, 1, 0>>"
    kernels = [{"name": name, "span_id": 0, "duration_ns": 9, "grid_x": 3, "grid_y": 1}]
    found = row(make_trace(spans=spans, kernels=kernels), "aten::_foreach_neg_")
    assert found["least_bytes"] == 2 * 4 * 3 * 65_536
    assert found["evidence"].endswith(
        "an upper bound: sizes are estimated from the kernels' blocks"
    )


def test_requests_of_unknown_lengths_follow_from_the_mark() -> None:
    """Keys and values are among the inputs: the mark tells the pairs, and no more bytes."""
    tokens = ([40, 64, 64], H)
    ends = ([32], "int")
    spans = [op("aiter::mha_varlen_fwd", tokens, tokens, tokens, ends, ends)]
    found = row(served(MIXED, spans, {0: "fmha"}), "aiter::mha_varlen_fwd")
    assert found["flops"] == 4 * 64 * 64 * 400
    assert found["least_bytes"] == 4 * 40 * 64 * 64 * 2 + 32 * 4


@pytest.mark.parametrize(
    ("kernel", "n_elements", "said"),
    [
        # A block takes 4 elements in each of 128 threads: 3 blocks take 1,536 at most.
        ("void at::native::index_elementwise_kernel<128, 4, at::native::F>", 1536, True),
        # A block takes a row of 64.
        ("void at::native::vectorized_gather_kernel<16, long>", 3 * 64, False),
    ],
)
def test_indexing_takes_what_its_blocks_take(kernel: str, n_elements: int, said: bool) -> None:
    spans = [op("aten::index", ([512, 64], H), ([], ""))]
    kernels = [{"name": kernel, "span_id": 0, "duration_ns": 9, "grid_x": 3}]
    found = row(make_trace(spans=spans, kernels=kernels), "aten::index")
    assert found["least_bytes"] == 2 * 2 * n_elements
    assert found["shapes"] == "512x64"  # those of the indices are not recorded
    assert (
        "an upper bound: sizes are estimated from the kernels' blocks" in found["evidence"]
    ) == said


def test_indexing_by_an_unknown_kernel_is_not_modelled() -> None:
    spans = [op("aten::index", ([512, 64], H), ([], ""))]
    kernels = [{"name": "mystery", "span_id": 0, "duration_ns": 9, "grid_x": 3}]
    frame = roofline(make_trace(spans=spans, kernels=kernels))
    assert frame.filter(op="aten::index").is_empty()


def test_latent_attention_reads_each_row_of_its_cache_once() -> None:
    """128 heads of 576 numbers, of which 512 are values; contexts of 55,086 tokens in all."""
    inputs = ([32, 128, 576], H), ([9999, 1, 1, 576], H), ([33], "int")
    spans = [op("aiter::mla_decode_stage1_asm_fwd", *inputs)]
    found = row(served(DECODE, spans, {0: "mla_a16w16"}), "aiter::mla_decode_stage1_asm_fwd")
    assert found["flops"] == 2 * 128 * (576 + 512) * 55086
    assert found["least_bytes"] == 55086 * 576 * 2 + 32 * 128 * (576 + 512) * 2
    assert "values are assumed 64 numbers narrower than keys" in found["evidence"]


@pytest.mark.parametrize(
    ("n_blocks", "longest", "n_read"),
    [
        (20, 320, 32 * 320),  # 20 blocks of 16 for each of 32 requests
        (90, 1440, 16_000),  # together as many tokens as the cache has room for
    ],
)
def test_caches_and_block_tables_bound_contexts(n_blocks: int, longest: int, n_read: int) -> None:
    """1,000 blocks of 16 tokens, with 8 heads of 64 numbers for keys and values each."""
    cache = ([1000, 16, 8, 64], H)
    inputs = ([32, 64, 64], H), cache, cache, ([33], "int"), ([32, n_blocks], "int")
    spans = [op("_vllm_fa2_C::varlen_fwd", *inputs)]
    trace = served(None, spans, {0: "flash_fwd_splitkv_kernel"})
    found = row(trace, "_vllm_fa2_C::varlen_fwd")
    own = 2 * 32 * 64 * 64 * 2
    assert (found["flops"], found["least_bytes"]) == (4 * 64 * 64 * 32, own)
    assert found["most_flops"] == 4 * 64 * 64 * 32 * longest
    assert found["most_bytes"] == own + n_read * 2 * 8 * 64 * 2
    said = notes(trace, roofline(trace))[0]
    assert f"moves {own / 1e6:.1f} to {found['most_bytes'] / 1e6:.1f} MB" in said


def test_a_known_context_has_no_range() -> None:
    cache = ([9999, 16, 8, 64], H)
    spans = [op("_vllm_fa2_C::varlen_fwd", ([32, 64, 64], H), cache, cache, ([32, 600], "int"))]
    found = row(served(DECODE, spans, {0: "flash_fwd"}), "_vllm_fa2_C::varlen_fwd")
    assert (found["flops"], found["most_flops"], found["most_bytes"]) == (902_529_024, None, None)


def test_keys_of_the_batch_bound_no_context() -> None:
    """The cache itself is not among the inputs of vLLM's op."""
    found = row(served(None, [attention(32)], {0: "k"}), "vllm::unified_attention_with_output")
    assert found["most_bytes"] is None
