"""Kinds of work, by layers, ops and kernels; and where kernels come from."""

from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.analyses import top_kernels, work_kinds
from tracelens.analyses.work_kinds import notes
from tracelens.answers import make_answer
from tracelens.derive.kernels.work_kinds import kinds_of
from tracelens.trace import Trace

KINDS = (
    ("nvjet_tst", "aten::mm", "model.layers.0.mlp.down_proj", "gemm", "dense products"),
    ("sm90_xmma_fprop", "aten::cudnn_convolution", None, "conv", "convolutions"),
    ("flash_fwd_kernel", "aten::_flash", "model.layers.0.self_attn", "attention", "attention"),
    # Attention written out: products and softmax inside it, not its projections.
    ("nvjet_tst", "aten::bmm", "bert.layer.0.attention.self", "gemm", "attention"),
    ("softmax_warp_forward", "aten::_softmax", "h.0.attn", "softmax", "attention"),
    ("nvjet_tst", "aten::addmm", "bert.layer.0.attention.self.query", "gemm", "dense products"),
    ("reshape_and_cache_flash_kernel", None, None, "indexing", "attention"),
    # A norm written out in multiplications.
    ("elementwise_kernel", "aten::mul", "model.layers.3.input_layernorm", "elementwise",
     "normalisation"),
    ("elementwise_kernel", "aten::mul", "model.layers.3.mlp", "elementwise", "elementwise"),
    # A mixture of experts: by layers, by an op around, by the kernel alone.
    ("nvjet_tst", "aten::mm", "model.layers.1.mlp.experts.7.up_proj", "gemm", "MoE experts"),
    ("nvjet_tst", "aten::mm", "model.layers.1.block_sparse_moe.gate", "gemm", "MoE routing"),
    ("_topk_forward", "vllm::moe_forward", None, "indexing", "MoE routing"),
    ("_matmul_ogs_NNT_bf16xbf16xmxfp4", None, None, "gemm", "MoE experts"),
    ("_finalize_matmul_scatter_bf16", "vllm::moe_forward", None, "unknown", "MoE combine"),
    ("expandInputRowsKernel", "moe", None, "indexing", "MoE dispatch"),
    ("silu_and_mul", "sgl_kernel::silu_and_mul", "m.experts", "elementwise", "MoE experts"),
    # Groups of rows with weights of their own, and what brings tokens to experts' ranks.
    ("deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 32u, (deep_gemm::GemmType)1>", None,
     None, "gemm", "MoE experts"),
    ("deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 1u, (deep_gemm::GemmType)0>", None,
     None, "gemm", "dense products"),
    ("cutlass::device_kernel", "aten::_grouped_mm", None, "gemm", "MoE experts"),
    ("nvjet_qqtst", "_GroupedLinearBackward", None, "gemm", "MoE experts"),
    ("router_gemm_kernel", "sgl_kernel::dsv3_router_gemm", None, "gemm", "MoE routing"),
    ("moe_fused_gate_kernel", None, None, "unknown", "MoE routing"),
    ("_fwd_kernel_ep_scatter_2", None, None, "indexing", "MoE dispatch"),
    ("_fwd_kernel_ep_gather", None, None, "indexing", "MoE combine"),
    ("per_token_group_quant_8bit_kernel", None, None, "elementwise", "elementwise"),
    ("argmax", "aten::argmax", "sampler", "reduction", "reductions"),
    # By what they do, outside of attention and experts.
    ("vectorized_gather_kernel", "aten::embedding", "model.embed", "indexing", "indexing"),
    ("EmbeddingBag_updateOutputKernel", "aten::_embedding_bag", None, "indexing", "indexing"),
    ("cunn_SoftMaxForward", "aten::_softmax", "sampler", "softmax", "reductions"),
    ("FillFunctor", "aten::fill_", None, "memory", "elementwise"),
    ("mystery", "mine::op", None, "unknown", "other"),
    # States that run along the tokens: by the kernel, by the layer, within a server's op.
    ("_chunk_scan_fwd_kernel", None, "layers.0.mixer", "recurrence", "recurrence"),
    ("cumsum", "aten::cumsum", "model.layers.0.linear_attn", "indexing", "recurrence"),
    ("nvjet_tst", "aten::mm", "model.layers.0.linear_attn.out_proj", "gemm", "dense products"),
    ("_causal_conv1d_fwd_kernel", "vllm::gdn_attention_core", None, "conv", "convolutions"),
    ("lightning_attention_decode_kernel", None, None, "recurrence", "recurrence"),
    # Of a mixture by the kernel alone: scores, rows brought and taken back.
    ("void topkGatingSoftmax<4, 32>", None, None, "softmax", "MoE routing"),
    ("tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRoutingKernel<half>", None, None,
     "reduction", "MoE combine"),
    ("tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<half>", None, None,
     "indexing", "MoE dispatch"),
    ("post_reorder_triton_kernel", None, None, "indexing", "MoE combine"),
    ("pre_reorder_triton_kernel", None, None, "indexing", "MoE dispatch"),
    ("_sort_chunks_by_map_kernel", None, None, "indexing", "MoE dispatch"),
    ("void flashinfer::AppendPagedKVCacheKernel<128>", None, None, "indexing", "attention"),
    # Kernels of TensorRT-LLM, AITER and vLLM as servers of 2026 run them, without an op.
    ("bmm_Bfloat16_E2m1E2m1_Fp32_Ab16_t128x8x512_s5_TN_transOut_bN_rgTma_clmp_dynB_sm100f",
     None, None, "gemm", "MoE experts"),
    ("bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x8x128", None, None, "gemm", "dense products"),
    ("applyMLARopeAndAssignQKVKernelGeneration", None, None, "unknown", "attention"),
    ("set_mla_kv_buffer_kernel", None, None, "indexing", "attention"),
    ("_combined_routing_fused", None, None, "indexing", "MoE routing"),
    ("void compute_problem_sizes<true>", None, None, "unknown", "MoE routing"),
    ("void shuffleInputRowsKernel<c10::BFloat16>", None, None, "unknown", "MoE dispatch"),
)  # fmt: skip


def test_kinds() -> None:
    names = ("name", "op", "layer", "primitive", "expected")
    rows = pl.DataFrame(KINDS, schema=dict.fromkeys(names, pl.String), orient="row")
    kernels = rows.with_columns(phase=pl.lit(None, pl.String), is_communication=pl.lit(value=False))
    found = kernels.select("name", expected=kinds_of(kernels).cast(pl.String))
    assert found.equals(kernels.select("name", "expected")), found.filter(
        found["expected"] != kernels["expected"]
    )


def test_what_a_layer_with_experts_does_around_them() -> None:
    """The layer is a mixture as it holds experts; its sums of residuals stay elementwise."""
    rows = [
        ("layers.0.mlp.experts.7.up", "aten::mm", "gemm", "MoE experts"),
        ("layers.0.mlp.gate", "aten::mm", "gemm", "MoE routing"),
        ("layers.0.mlp", "aten::topk", "indexing", "MoE routing"),
        ("layers.0.mlp", "aten::index", "indexing", "MoE dispatch"),
        ("layers.0.mlp", "aten::index_add", "indexing", "MoE combine"),
        ("layers.0.mlp", "aten::bmm", "gemm", "MoE experts"),
        ("layers.0.mlp", "aten::add", "elementwise", "elementwise"),
        ("layers.0.attn.gate", "aten::mm", "gemm", "dense products"),
        ("layers.0", "aten::index", "indexing", "indexing"),
    ]
    names = ("layer", "op", "primitive", "expected")
    kernels = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        name=pl.lit("a kernel"), phase=pl.lit(None, pl.String), is_communication=pl.lit(value=False)
    )
    assert kinds_of(kernels).to_list() == kernels["expected"].to_list()


def kernel(span: int, step: int, duration: int, **more: Any) -> dict[str, Any]:
    common = {"span_id": span, "step": step, "duration_ns": duration, "name": "nvjet_tst"}
    return {**common, "primitive": "gemm", "device_id": 0, **more}


def served() -> Trace:
    """A prefill and a decode of one linear layer, launched at two lines, and an all-reduce.

    A product of 1024 by 1024 by 1024 in bfloat16 on an H200 takes 2.171 µs at 989 TFLOP/s.
    """
    frame: dict[str, Any] = {
        "kind": "python",
        "name": "vllm/model_executor/layers/linear.py(134): apply",
    }
    frame |= {"duration_ns": 9}
    product = {
        "kind": "op",
        "name": "aten::mm",
        "input_shapes": "[[1024, 1024], [1024, 1024]]",
        "input_dtypes": '["c10::BFloat16", "c10::BFloat16"]',
        "module_path": "model.layers.7.mlp",
    }
    spans: list[dict[str, Any]] = [
        frame,
        {**product, "parent_id": 0},
        {"kind": "python", "name": "sampler.py(9): lm_head", "start_ns": 10, "duration_ns": 9},
        {"kind": "python", "name": "torch/nn/modules/module.py(1): _call_impl", "parent_id": 2},
        {**product, "parent_id": 3, "module_path": None},
        {"kind": "op", "name": "c10d::allreduce_"},
    ]
    marks = ("execute_context_1(8)_generation_0(0)", "execute_context_0(0)_generation_8(8)")
    phases = ("prefill", "decode")
    steps = [{"step": n, "name": marks[n], "phase": phases[n]} for n in range(2)]
    kernels = [
        kernel(1, 0, 2_500),
        kernel(1, 1, 4_500),
        kernel(4, 1, 3_000),
        kernel(5, 1, 10_000, name="ncclAllReduce", is_communication=True),
    ]
    return make_trace(spans=spans, steps=steps, kernels=kernels, devices=[{"name": "NVIDIA H200"}])


def test_time_and_nearness_by_phase_and_kind() -> None:
    frame = work_kinds(served())
    assert frame.select("phase", "kind", "n_kernels", "duration_total_ns", "share_frac").rows() == [
        ("decode", "communication", 1, 10_000, 0.5),
        ("decode", "dense products", 2, 7_500, 0.375),
        ("prefill", "dense products", 1, 2_500, 0.125),
    ]
    least = 2 * 1024**3 / 989.5e12 * 1e9
    roofs = frame["roof_frac"].to_list()
    assert roofs[0] is None
    # Of the first layer's call a part ran in each step: a call is as long as its kernels.
    assert roofs[1] == pytest.approx((least * 4.5 / 7 + least) / 7_500, rel=1e-3)
    assert roofs[2] == pytest.approx(least * 2.5 / 7 / 2_500, rel=1e-3)
    assert notes(served(), frame)[0] == (
        "Rank 0, decode, 87.5% of its kernel time: communication 57.1%, dense products 42.9%."
    )


def test_where_a_kernel_is_launched() -> None:
    row = top_kernels(served()).row(by_predicate=pl.col("name") == "nvjet_tst", named=True)
    assert (
        row["places"]
        == "linear.py(defined at 134): apply 70%, sampler.py(defined at 9): lm_head 30%"
    )
    assert row["ops"] == "aten::mm 100%"
    assert row["layers"] == "model.layers.mlp 70%"
    assert row["phases"] == "decode 75%, prefill 25%"


@pytest.mark.parametrize("kind", ["attention", "recurrence"])
def test_the_answer_names_the_kinds_of_a_language_models_work(kind: str) -> None:
    names = [*["nvjet_tst"] * 9, "another"]
    kernels = [
        kernel(0, 0, 100_000, start_ns=100_000 * n, name=name, primitive=primitive)
        for n, name in enumerate(names)
        for primitive in ["gemm" if name == "nvjet_tst" else kind]
    ]
    answer = make_answer(make_trace(kernels=kernels))
    assert answer.details == (f"kernels: dense products 90 %, {kind} 10 %",)
    assert make_answer(make_trace(kernels=kernels[:9])).details == ()


def test_all_to_alls_what_hides_them_and_who_gets_most() -> None:
    """Of 2 · 3 · 10 ns of exchanges on two ranks a product hides 6; rank 0 gets 30 of 40 bytes.

    The numbers of tokens are exchanged first; what comes back from the experts is not counted.
    """
    kernels: list[dict[str, Any]] = []
    collectives: list[dict[str, Any]] = []
    for rank, received in enumerate((30, 10)):
        for n, (dtype, size) in enumerate((("Long", 8), ("BFloat16", received), ("BFloat16", 20))):
            nccl: dict[str, Any] = {"name": "ncclDevKernel_SendRecv", "is_communication": True}
            at: dict[str, Any] = {"rank": rank, "kernel_id": n}
            kernels.append({**nccl, **at, "start_ns": 20 * n, "duration_ns": 10})
            collectives.append(
                {**at, "name": "all_to_allv", "dtype": dtype, "size_out_bytes": size}
            )
        product: dict[str, Any] = {"rank": rank, "kernel_id": 3, "start_ns": 27, "duration_ns": 7}
        kernels.append(product | {"name": "gemm", "primitive": "gemm"})
    trace = make_trace(kernels=kernels, collectives=collectives)
    assert notes(trace, work_kinds(trace))[-2:] == [
        "All-to-alls take 0.06 µs in 6 calls, 81.1% of kernel time; other kernels hide 10.0% of it.",
        "Experts are chosen unevenly: those of rank 0 get 1.50 times the mean.",
    ]


def test_exchanges_by_kernels_of_their_own() -> None:
    """DeepEP's dispatch takes 30 of 100 ns a rank; experts take 60 and 20 ns: 1.5 times 40."""
    kernels: list[dict[str, Any]] = []
    for rank, duration in enumerate((60, 20)):
        sent: dict[str, Any] = {"name": "void deep_ep::intranode::dispatch<8, 768>(int)"}
        sent |= {"is_communication": True}
        layout: dict[str, Any] = {"name": "void deep_ep::layout::get_dispatch_layout<256>(int)"}
        product: dict[str, Any] = {"name": "fused_moe_kernel", "primitive": "gemm"}
        product |= {"duration_ns": duration}
        for n, (row, start) in enumerate(((sent, 0), (product, 10), (layout, 70))):
            common: dict[str, Any] = {"rank": rank, "kernel_id": n, "duration_ns": 30}
            kernels.append({**common, "start_ns": start, **row})
    trace = make_trace(kernels=kernels)
    assert notes(trace, work_kinds(trace))[-2:] == [
        "All-to-alls take 0.06 µs in 2 calls, 30.0% of kernel time; other kernels hide 66.7% of it.",
        "Experts are chosen unevenly: those of rank 0 compute for 1.50 times the mean.",
    ]
