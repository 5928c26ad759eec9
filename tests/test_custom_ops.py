"""Custom ops of servers and training libraries: all are modelled, products checked by hand."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import tracelens as tl
from tests.custom_op_calls import CALLS, as_texts, recorded
from tests.torch_files import call, kernel, span, write
from tracelens.analyses import roofline
from tracelens.derive.kernels.op_work import work_of
from tracelens.derive.kernels.peaks import peaks_of

ROWS = 32


def test_every_listed_op_is_modelled(tmp_path: Path) -> None:
    events = []
    for number, (name, text) in enumerate(CALLS.items()):
        begin = 1_000 + 100 * number
        events.append(span(name, begin, 90, args=recorded(text)))
        events.append(call("cudaLaunchKernel", begin + 20, 5, 10 + number))
        events.append(kernel("a kernel", begin + 50, 10.0, 10 + number))
    frame = roofline(tl.collect(write(tmp_path / "a.pt.trace.json", events)))
    assert len(CALLS) >= 60
    assert set(CALLS) - set(frame["op"]) == set()
    assert frame.filter(op="(not modelled)")["duration_total_ns"].to_list() == [0]


@pytest.mark.parametrize(
    ("name", "flops"),
    [
        # 32 rows of 4,096 with 4,096 columns, in four bits, eight bits or by sizes.
        ("_C::awq_gemm", 2 * ROWS * 4096 * 4096),
        ("_C::gptq_gemm", 2 * ROWS * 4096 * 4096),
        ("_C::marlin_gemm", 2 * ROWS * 4096 * 4096),
        ("sgl_kernel::gptq_marlin_gemm", 2 * ROWS * 4096 * 4096),
        ("_C::machete_mm", 2 * ROWS * 4096 * 4096),
        ("_C::allspark_w8a16_gemm", 2 * ROWS * 4096 * 4096),
        ("_C::cutlass_w4a8_mm", 2 * ROWS * 4096 * 4096),
        ("_C::ggml_mul_mat_a8", 2 * ROWS * 4096 * 4096),
        ("_C::cutlass_scaled_mm_azp", 2 * ROWS * 4096 * 4096),
        # Two numbers in each of 2,048 bytes.
        ("sgl_kernel::cutlass_scaled_fp4_mm", 2 * ROWS * 4096 * 4096),
        ("sgl_kernel::dsv3_router_gemm", 2 * 16 * 7168 * 256),
        # 4 of 64 experts for each token: 2,048 by 2,816 each, packed or not.
        ("_C::cutlass_moe_mm", 2 * ROWS * 4 * 2048 * 2816),
        ("_C::cutlass_fp4_group_mm", 2 * ROWS * 4 * 2048 * 2816),
        ("_C::cutlass_mxfp8_grouped_mm", 2 * ROWS * 4 * 2048 * 2816),
        ("_moe_C::moe_wna16_gemm", 2 * ROWS * 4 * 2048 * 2816),
        ("sgl_kernel::moe_wna16_marlin_gemm", 2 * ROWS * 4 * 2048 * 2816),
        # 256 rows of 7,168 with one expert each.
        ("sgl_kernel::cutlass_w4a8_moe_mm", 2 * 256 * 7168 * 4096),
        ("sgl_kernel::fp8_blockwise_scaled_grouped_mm", 2 * 256 * 7168 * 2048),
        # 128 heads: a key is 576 numbers, a value 512; each token meets itself at least.
        ("_C::sm100_cutlass_mla_decode", ROWS * 128 * 2 * (576 + 512)),
        ("sgl_kernel::cutlass_mla_decode", ROWS * 128 * 2 * (576 + 512)),
        ("aiter::pa_decode_gluon", ROWS * 32 * 2 * (128 + 128)),
        # 8 requests of 512 tokens, of which causal attention leaves half of the pairs.
        ("aiter::mha_varlen_fwd", 8 * 512 * 512 // 2 * 32 * 2 * (128 + 128)),
        ("_FAv3SageWrapperFunc", 4608 * 4608 * 24 * 2 * (128 + 128)),
        # Chunks of 256: 8 groups of 128 states inside, then 80 heads of 64; states go in and out.
        ("MambaChunkScanCombinedFn", 4096 * (2 * 256 * (8 * 128 + 80 * 64) + 4 * 80 * 64 * 128)),
        # The same, of one projection, after a convolution of 5,120 + 2 · 8 · 128 channels.
        (
            "MambaSplitConv1dScanCombinedFn",
            4096 * (2 * 256 * (8 * 128 + 80 * 64) + 4 * 80 * 64 * 128 + 2 * 7168 * 4),
        ),
        # 32 heads with a state of 128 by 128; five products with triangles of 64.
        ("ChunkGatedDeltaRuleFunction", 4096 * 32 * (3 * 2 * 128 * 128 + 5 * 64 * 128)),
        ("_Linear", 2 * 2048 * 4096 * 4096),
        ("_LayerNormLinear", 2 * 2048 * 4096 * 12288),
        # 2 sequences of 4,096 tokens, of which a mask may leave half of the pairs.
        ("FusedAttnFunc", 2 * 4096 * 4096 // 2 * 32 * 2 * (128 + 128)),
        # 8,192 rows, each with one of 4 experts.
        ("_GroupedLinear", 2 * 8192 * 2048 * 1536),
        ("ChunkKDAFunction", 4096 * 32 * (3 * 2 * 128 * 128 + 5 * 64 * 128)),
        ("_C::get_cutlass_moe_mm_data", 0),
        # 4,096 rows by 4,096 and 1,536 columns; scales of as many rows are no matrix of it.
        ("vllm::fp8_gemm_nt_op", 2 * 4096 * 4096 * 1536),
        ("deep_gemm::fp8_gemm_nt", 2 * 4096 * 4096 * 1536),
        ("deep_gemm::bf16_gemm_nt", 2 * 4096 * 4096 * 1536),
        ("deep_gemm::m_grouped_fp8_gemm_nt_contiguous", 2 * 8192 * 7168 * 4096),
        ("vllm::padded_cutlass", 2 * ROWS * 4096 * 4096),
        ("_moe_C::dsv3_router_gemm", 2 * 16 * 7168 * 256),
        ("_moe_C::moe_wna16_marlin_gemm", 2 * ROWS * 4 * 2048 * 2816),
        # A state of 128 by 256 is changed and read; in chunks of 64, q k and its product with v.
        ("ChunkGLAFunction", 2 * 2048 * 4 * (4 * 128 * 256 + 64 * (128 + 256))),
        ("ChunkSimpleGLAFunction", 2 * 2048 * 8 * (4 * 128 * 128 + 64 * (128 + 128))),
        # Weights of four bits by 1,536 columns, in bytes or in rows of some format.
        ("vllm::_fused_mul_mat_gguf", 2 * ROWS * 4096 * 1536),
        ("vllm::apply_bnb_4bit", 2 * ROWS * 4096 * 1536),
        ("bitsandbytes::gemv_4bit", 2 * 4096 * 1536),
        ("aten::_weight_int4pack_mm", 2 * ROWS * 4096 * 1536),
        ("aten::_weight_int8pack_mm", 2 * ROWS * 4096 * 1536),
        ("_rocm_C::wvSplitK", 2 * 4 * 4096 * 1536),
        # 4 of 64 experts, which are 704 wide and gated.
        ("vllm::flashinfer_fused_moe_bf16", 6 * ROWS * 4 * 2048 * 704),
        ("sglang::trtllm_fp8_block_scale_moe_wrapper", 6 * ROWS * 4 * 2048 * 704),
        ("trtllm::fused_moe", 6 * ROWS * 4 * 2048 * 704),
        # 16 groups with about 24 rows each.
        ("deep_gemm::m_grouped_fp8_gemm_nt_masked", 2 * 16 * 24 * 7168 * 4096),
        # 8,192 rows with one of 8 weights each, and the gradient of these weights.
        ("primus_turbo::grouped_gemm_impl", 2 * 8192 * 2048 * 1536),
        ("primus_turbo::grouped_gemm_variable_k_impl", 2 * 8192 * 2048 * 1536),
        ("aten::_scaled_grouped_mm", 2 * 8192 * 2048 * 1536),
        # 64 systems of 64 unknowns for 64 right sides.
        ("aten::linalg_solve_triangular", 64 * 64 * 64 * 64),
        # 24 sums over 4 streams of 4,096.
        ("aiter::mhc_pre_gemm_sqrsum", 2 * 64 * 4 * 4096 * 24),
        ("vllm::rocm_aiter_mla_decode_fwd", ROWS * 128 * 2 * (576 + 512)),
        # 98,304 pairs of a query with a key, which is its own value.
        ("aiter::pa_sparse_prefill_opus_fwd", (65536 + 32768) * 64 * 2 * (512 + 512)),
        # 128 sequences of 256 residues; 8 requests of 512 tokens with a causal mask.
        ("EvoformerFusedAttention", 128 * 256 * 256 * 4 * 2 * (32 + 32)),
        ("torch_attn::_varlen_attn", 8 * 512 * 512 // 2 * 32 * 2 * (128 + 128)),
        ("aten::_flash_attention_forward", 8 * 512 * 512 // 2 * 32 * 2 * (128 + 128)),
        # A causal mask by its number; five products in the backward pass.
        ("aten::_efficient_attention_forward", 2048 * 2048 // 2 * 24 * 2 * (128 + 128)),
        ("aten::_efficient_attention_backward", 2048 * 2048 * 24 * 2 * 5 * 128),
        # 32 rows with 2 of 8 experts each, 4,096 by 14,336 in packed weights.
        ("_C::ggml_moe_a8", 2 * ROWS * 2 * 4096 * 14336),
        # 128 products of 32 by 512 with 512 by 128.
        ("sgl_kernel::bmm_fp8", 2 * 128 * 32 * 512 * 128),
        # Two numbers in each byte of tokens and weights; 8 of 128 experts, gated and 704 wide.
        ("trtllm::fp4_block_scale_moe_runner", 6 * ROWS * 8 * 2048 * 704),
        ("fbgemm::f8f8bf16_rowwise_grouped_stacked", 2 * 8192 * 2048 * 1536),
        ("fbgemm::bf16i4bf16_rowwise", 2 * ROWS * 4096 * 1536),
        ("torchao::marlin_qqq_gemm", 2 * ROWS * 1536 * 4096),
        # 8 requests of 512 tokens with a causal mask, one after another in a batch of one.
        ("xformers_flash::flash_fwd", 8 * 512 * 512 // 2 * 32 * 2 * (128 + 128)),
        # 64 heads score a key of 128; each token scores itself at least.
        ("vllm::sparse_attn_indexer", ROWS * 64 * 2 * 128),
        # A state of 128 by 128 decays, is read, changed, and read again.
        ("vllm::gdn_attention_core", 7 * ROWS * 32 * 128 * 128),
    ],
)
def test_products_by_hand(name: str, flops: int) -> None:
    work = work_of(name, as_texts(CALLS[name]))
    assert work is not None
    assert work.flops == flops


@pytest.mark.parametrize(
    ("name", "operations", "n_bytes"),
    [
        # 8,192 channels with 16 states. u, delta and z have 2 bytes, and delta is written.
        (
            "_C::selective_scan_fwd",
            9 * 8192 * 32 * 16,
            4 * 8192 * 32 * 2 + 8192 * 16 * 4 + 2 * 16 * 32 * 2 + 2 * 8192 * 4,
        ),
        # Four weights for each channel, x is changed in place.
        (
            "sgl_kernel::causal_conv1d_fwd",
            2 * 8192 * 4096 * 4,
            2 * 8192 * 4096 * 2 + 8192 * 4 * 2 + 8192 * 2,
        ),
        # Each of 32 tokens changes and reads 32 states of 128 by 128, which are read.
        (
            "FusedRecurrentFunction",
            32 * 32 * 4 * 128 * 128,
            2 * 32 * 16 * 128 * 2 + 2 * 32 * 32 * 128 * 2 + 32 * 32 * 6 + 32 * 32 * 128 * 128 * 4,
        ),
        # Of the cache only what fills 4,096 rows of 576.
        ("_C_cache_ops::cp_gather_cache", 0, 2 * 4096 * 576 * 2),
        # Queries, keys and values change in place; the two weights have 128, positions 8 bytes.
        ("_C::fused_qk_norm_rope", 0, 2 * ROWS * 6144 * 2 + 2 * 128 * 2 + ROWS * 8),
        # Rotated parts change in place, the compressed row is read.
        (
            "_C_cache_ops::concat_and_cache_mla_rope_fused",
            0,
            2 * ROWS * (128 * 64 + 64) * 2 + ROWS * 512 * 2 + ROWS * 8,
        ),
        # Queries of 64 heads and a row for the cache are read and written.
        (
            "_C::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert",
            0,
            2 * ROWS * (64 * 512 + 512) * 2 + 2 * ROWS * 8,
        ),
        ("_C::persistent_topk", 0, ROWS * 65536 * 4),
        ("sgl_kernel::top_k_top_p_sampling_from_probs", 0, ROWS * 32000 * 4),
        # 32 rows become 128, and are added up again with 4 weights each.
        ("_moe_C::moe_permute", 0, (32 + 128) * 2048 * 2 + ROWS * 4 * 4),
        ("_moe_C::moe_unpermute", 0, (32 + 128) * 2048 * 2 + 2 * ROWS * 4 * 4),
        # Four weights for each of 1,024 channels.
        ("CausalConv1dFunction", 2 * 4096 * 1024 * 4, 2 * 4096 * 1024 * 2 + 1024 * 4 * 2),
        # x, residual, their sum and its norm.
        ("LigerFusedAddRMSNormFunction", 7 * 4096 * 1024, 4 * 4096 * 1024 * 2 + 1024 * 2),
        # 16 heads of queries and 4 of keys, with a cosine and a sine for each of 2,048 places.
        ("LigerRopeFunction", 0, 2 * 2 * 20 * 2048 * 64 * 2 + 2 * 2048 * 64 * 2),
        # x is read, its convolution by four weights a channel is written.
        (
            "DaoAILab::_causal_conv1d_fwd_cpp",
            2 * 2 * 4096 * 2048 * 4,
            2 * 2 * 4096 * 2048 * 2 + 5 * 4096 * 2,
        ),
        # Parameters and two moments of a byte change, the gradient is read.
        (
            "bitsandbytes::optimizer_update_8bit_blockwise",
            12 * 4096 * 4096,
            4096 * 4096 * (2 + 2 * (2 + 1 + 1)),
        ),
        ("CrossEntropyFunction", 0, 2 * 4096 * 32000 * 2 + 4096 * 8),
        # Two numbers for each byte, 2 bytes each, and a scale for each 64 of them.
        ("bitsandbytes::dequantize_4bit", 4096 * 1536, 1536 * 4096 // 2 * 5 + 98304 * 4),
        # Each row of 531,072 indices has 64 numbers in float32; bags begin at 53,249 places.
        (
            "fbgemm::split_embedding_codegen_forward_unweighted_cuda",
            531072 * 64,
            531072 * (64 * 4 + 8) + 53249 * (64 * 4 + 8),
        ),
        # Rows are read and written, the gradient of 2,048 by 26 bags is read.
        (
            "fbgemm::split_embedding_backward_codegen_rowwise_adagrad_unweighted_exact_cuda",
            0,
            531072 * (2 * 64 * 4 + 8) + 2048 * 26 * 64 * 4,
        ),
        # Keys and values are read, and written as bytes into the cache.
        ("sgl_kernel::downcast_fp8", 0, 2 * ROWS * 8 * 128 * (2 + 1)),
        ("aiter::concat_and_cache_mla", 0, 2 * ROWS * (512 + 64) * 2 + ROWS * 8),
        ("vllm::triton_per_token_group_quant_fp8", 0, ROWS * 4096 * (2 + 1)),
        # x is read, half of a byte is written for each of its numbers.
        ("bitsandbytes::quantize_4bit", 2 * 1536 * 4096, 1536 * 4096 * 5 // 2),
        # Queries, keys and values of 12 heads of 64 get a bias.
        ("aten::_transform_bias_rescale_qkv", 8 * 128 * 2304, 2 * (2 * 8 * 128 * 2304 + 2304)),
        # The gradient takes the place of the logits.
        ("LigerCrossEntropyFunction", 0, 2 * 4096 * 32000 * 2),
    ],
)
def test_bytes_by_hand(name: str, operations: int, n_bytes: int) -> None:
    work = work_of(name, as_texts(CALLS[name]))
    assert work is not None
    assert (work.flops, work.needed_flops, work.least_bytes) == (0, operations, n_bytes)


def test_adapters_of_lora_by_hand() -> None:
    """16 tokens, queries and keys of 4,096 and 1,024 columns, 4 adapters of rank 16 of each."""
    shapes = "[[16, 4096], [[4, 16, 4096], [4, 16, 4096]], [2, 16, 16]]"
    shrink = work_of(
        "vllm::lora_shrink", [shapes, '["c10::Half", "TensorList", "float"]', *2 * [None]]
    )
    assert shrink is not None
    assert shrink.flops == 2 * 16 * 2 * 16 * 4096
    assert shrink.least_bytes == 2 * (16 * 4096 + 2 * 16 * 4096) + 4 * 2 * 16 * 16
    shapes = "[[2, 16, 16], [[4, 4096, 16], [4, 1024, 16]], [16, 5120]]"
    expand = work_of(
        "vllm::lora_expand", [shapes, '["float", "TensorList", "c10::Half"]', *2 * [None]]
    )
    assert expand is not None
    assert expand.flops == 2 * 16 * 16 * 5120
    assert expand.least_bytes == 2 * (2 * 16 * 5120 + 16 * 5120)
    assert shrink.dtype == expand.dtype == "float16"


def test_groups_of_rows_read_the_weights_of_all_groups() -> None:
    work = work_of("_GroupedLinear", as_texts(CALLS["_GroupedLinear"]))
    assert work is not None
    assert work.least_bytes == 2 * (8192 * 2048 + 4 * 1536 * 2048 + 8192 * 1536)


def test_rows_permuted_with_the_arguments_of_2025() -> None:
    inputs = as_texts("h[32,2048] f[32,4] i[32,4] i[32,4] 64 4 h[128,2048] l[65] i[128]")
    work = work_of("_moe_C::moe_permute", inputs)
    assert work is not None
    assert work.least_bytes == (32 + 128) * 2048 * 2 + ROWS * 4 * 4


def test_scales_are_no_matrix_of_an_unlisted_product() -> None:
    """Both the scales and the weights have a side of 256, the length of the sums."""
    shapes = "[[256, 256], [256, 2], [64, 256], [256, 64]]"
    dtypes = '["c10::Float8_e4m3fn", "float", "c10::Float8_e4m3fn", "c10::BFloat16"]'
    work = work_of("mine::fp8_gemm_nt", [shapes, dtypes, None, None])
    assert work is not None
    assert work.flops == 2 * 256 * 256 * 64


@pytest.mark.parametrize(
    ("name", "factor", "gradient", "n_bytes"),
    [
        # Inputs and weights are read and get gradients; the result's gradient is read.
        ("_Linear", 2, "h[2048,4096]", 2 * (2 * (4096 * 4096 + 2048 * 4096) + 2048 * 4096)),
        # Two products become five. Queries are 32 heads of 128, keys and values 8 each; where
        # requests end takes 12 bytes.
        ("FusedAttnFunc", 2.5, "h[4096,2,4096]", 8192 * 256 * (2 * (32 + 2 * 8) + 32) + 2 * 12),
        # Each product of a state or a chunk has two gradients. q, k, gates and v.
        ("ChunkGLAFunction", 2, "h[2,2048,4,256]", 16384 * (2 * (3 * 128 + 256) + 256) * 2),
    ],
)
def test_the_node_of_a_function_is_modelled_by_its_forward_call(
    tmp_path: Path, name: str, factor: float, gradient: str, n_bytes: int
) -> None:
    """The second kernel's op records the gradient only; another node's number is not this one's."""
    forward, node = recorded(CALLS[name]), recorded(gradient)
    events = [
        span(name, 1_000, 90, args=forward | {"Sequence number": 7, "Fwd thread id": 0}),
        call("cudaLaunchKernel", 1_020, 5, 10),
        kernel("nvjet_qqtst_128x256", 1_050, 10.0, 10),
    ]
    for number, begin in ((7, 2_000), (6, 2_200)):
        args = node | {"Sequence number": number, "Fwd thread id": 1}
        events += [
            span(f"{name}Backward", begin, 90, tid=2, args=args),
            call("cudaLaunchKernel", begin + 20, 5, begin, tid=2),
            kernel("nvjet_qqtst_128x256", begin + 50, 20.0, begin),
        ]
    frame = roofline(tl.collect(write(tmp_path / "a.pt.trace.json", events)))
    work = work_of(name, as_texts(CALLS[name]))
    assert work is not None
    found = frame.filter(op=f"{name}Backward").select("flops", "least_bytes", "n_calls").rows()
    assert found == [(factor * work.flops, n_bytes, 1)]
    assert frame.filter(op="(not modelled)")["duration_total_ns"].to_list() == [20_000]
    # Tensors stand for bfloat16 here, but the kernel's name says that they are of eight bits.
    assert frame.filter(pl.col("flops") > 0)["precision"].unique().to_list() == ["fp8"]


def test_nodes_of_attention_and_products_in_one_trace(tmp_path: Path) -> None:
    events = []
    for number, (name, gradient) in enumerate(
        [("_Linear", "h[2048,4096]"), ("FusedAttnFunc", "h[4096,2,4096]")]
    ):
        begin, numbers = 1_000 + 100 * number, {"Sequence number": number}
        args = recorded(CALLS[name]) | numbers | {"Fwd thread id": 0}
        events.append(span(name, begin, 90, args=args))
        begin, node = 2_000 - 100 * number, recorded(gradient) | numbers | {"Fwd thread id": 1}
        events.append(span(f"{name}Backward", begin, 90, tid=2, args=node))
        events.append(call("cudaLaunchKernel", begin + 20, 5, number + 1, tid=2))
        events.append(kernel("a kernel", begin + 50, 20.0, number + 1))
    frame = roofline(tl.collect(write(tmp_path / "a.pt.trace.json", events)))
    evidence = dict(frame.select("op", "evidence").iter_rows())
    assert evidence["_LinearBackward"].endswith("backward is taken as 2 times forward")
    assert evidence["FusedAttnFuncBackward"].endswith("backward is taken as 2.5 times forward")


def test_products_within_a_node_count_by_themselves(tmp_path: Path) -> None:
    """Another version of the same function computes its gradients by two ops that are recorded."""
    forward = recorded("h[64,32] h[16,64] -")
    events = [
        span("_Linear", 1_000, 90, args=forward | {"Sequence number": 7, "Fwd thread id": 0}),
        call("cudaLaunchKernel", 1_020, 5, 10),
        kernel("nvjet", 1_050, 10.0, 10),
        span(
            "_LinearBackward",
            2_000,
            90,
            tid=2,
            args=recorded("h[16,32]") | {"Sequence number": 7, "Fwd thread id": 1},
        ),
        span("aten::mm", 2_010, 30, tid=2, args=recorded("h[16,32] h[32,64]")),
        call("cudaLaunchKernel", 2_020, 5, 11, tid=2),
        kernel("nvjet", 2_050, 10.0, 11),
    ]
    frame = roofline(tl.collect(write(tmp_path / "a.pt.trace.json", events)))
    assert "_LinearBackward" not in frame["op"]
    assert frame.filter(op="aten::mm")["flops"].to_list() == [2 * 16 * 32 * 64]


def test_a_layer_with_a_state_says_that_it_is_a_lower_bound() -> None:
    work = work_of("vllm::mamba_mixer2", as_texts(CALLS["vllm::mamba_mixer2"]))
    assert work is not None
    assert work.least_bytes == ROWS * (10576 + 4096) * 2
    assert work.assumed is not None
    assert work.assumed.startswith("at least")


@pytest.mark.parametrize("name", ["_C::cutlass_fp4_group_mm", "_C::cutlass_scaled_fp4_mm"])
def test_products_of_four_bits_have_their_own_peak(tmp_path: Path, name: str) -> None:
    events = [
        span(name, 1_000, 90, args=recorded(CALLS[name])),
        call("cudaLaunchKernel", 1_020, 5, 10),
        # Scales of four-bit numbers have eight bits.
        kernel("cutlass3x_sm100_gemm_ue4m3xe2m1_ue4m3xe2m1_f32", 1_050, 10.0, 10),
    ]
    frame = roofline(tl.collect(write(tmp_path / "a.pt.trace.json", events)))
    assert frame.filter(pl.col("flops") > 0)["precision"].unique().to_list() == ["fp4"]


@pytest.mark.parametrize(
    ("device", "of_fp8"),
    [("NVIDIA B200", 2), ("AMD Instinct MI355X", 2), ("AMD Instinct MI350X", 2)],
)
def test_four_bits_take_half_the_time_of_eight(device: str, of_fp8: int) -> None:
    peaks = peaks_of(device, None)
    assert peaks is not None
    assert peaks.flops_per_s["fp4"] == pytest.approx(of_fp8 * peaks.flops_per_s["fp8"], rel=1e-3)
    assert peaks.flops_per_s["fp4"] >= peaks.flops_per_s["fp6"] >= peaks.flops_per_s["fp8"]


def test_squares_of_a_scan_are_half_needed() -> None:
    """Of both products within a chunk of 256 tokens, only one triangle is needed."""
    work = work_of("MambaChunkScanCombinedFn", as_texts(CALLS["MambaChunkScanCombinedFn"]))
    assert work is not None
    assert work.flops - work.needed_flops == 4096 * 256 * (8 * 128 + 80 * 64)


@pytest.mark.parametrize("outer", ["xformers_flash::flash_fwd", "aten::_scaled_dot_product_x"])
def test_attention_that_calls_torch_for_all_counts_once(tmp_path: Path, outer: str) -> None:
    """The caller's own name is kept if it is modelled; else the inner op's."""
    tensors = "h[1,2048,24,128] h[1,2048,24,128] h[1,2048,24,128]"
    inner = "aten::_flash_attention_forward"
    events = [
        span(outer, 1_000, 90, args=recorded(f"{tensors} - - - 2048 2048 0.0 0.08 False")),
        span(inner, 1_010, 70, args=recorded(f"{tensors} - - 2048 2048 0.0 False False")),
        call("cudaLaunchKernel", 1_020, 5, 10),
        kernel("flash_fwd_kernel", 1_050, 10.0, 10),
    ]
    frame = roofline(tl.collect(write(tmp_path / "a.pt.trace.json", events)))
    kept = outer if outer.startswith("xformers") else inner
    flops = frame.filter(pl.col("flops") > 0).select("op", "flops").rows()
    assert flops == [(kept, 2 * 2048 * 2048 * 24 * 2 * 128)]


def test_flex_attention_may_compute_any_share_of_its_pairs(tmp_path: Path) -> None:
    """It moves its tensors once; what it would gain is not known, as its mask is not recorded."""
    inputs = "h[2,16,2048,64] h[2,4,2048,64] h[2,4,2048,64] f[2,16,2048] i[1,1,16] i[1,1,16,16]"
    name = "triton_tem_fused_flex_attention_0"
    events = [
        span(name, 1_000, 90, args=recorded(inputs)),
        call("cuLaunchKernel", 1_020, 5, 10),
        kernel(name, 1_050, 100.0, 10),
    ]
    row = roofline(tl.collect(write(tmp_path / "a.pt.trace.json", events))).row(
        by_predicate=pl.col("op") == name, named=True
    )
    moved = 2 * 24 * 2048 * 64 * 2 + 2 * 16 * 2048 * 4 + (16 + 256) * 4
    assert (row["flops"], row["least_bytes"], row["gain_ns"]) == (0, moved, None)
    assert "at least: which pairs a mask leaves is not recorded" in row["evidence"]
