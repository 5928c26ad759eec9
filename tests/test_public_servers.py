"""The roofline of steps as public traces have them: ops, inputs, kernels and times of one layer.

They are those of AMD TraceLens's examples (its perf_csvs, read in 2026): Qwen3 in SGLang and
gpt-oss in vLLM, decoding 32 requests on an MI300 by a HIP graph whose capture is a trace of its
own, and Flux with AITER. Beside each row stand the GFLOP that it gives, or None.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.torch_files import call, kernel, span, write
from tracelens.analyses import roofline
from tracelens.analyses.work_kinds import work_kinds

H, L, F, S = "c10::BFloat16", "long int", "float", "Scalar"
INT, B = "int", "unsigned char"
Row = tuple[str, list[tuple[list[Any], str, str]], str, float, float | None]
"""Ops from the outer to the inner one, the inner one's inputs, its kernel, µs and GFLOP."""


def of(*sizes: int, dtype: str = H) -> tuple[list[int], str, str]:
    return list(sizes), dtype, ""


def value(text: str) -> tuple[list[int], str, str]:
    return [], S, text


NONE: tuple[list[int], str, str] = ([], "", "")
SGLANG_MARK = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)"
GEMM = "aiter::gemm_a16w16 aten::linear aten::matmul aten::mm"
NORM = "sglang_profiler::rmsnorm_rmsnorm2d_fwd aiter::rmsnorm"
SGLANG: list[Row] = [
    (
        GEMM,
        [of(32, 4096), of(4096, 24576)],
        "Cijk_Alik_Bljk_BBS_BH_MT256x32x64",
        2417.659,
        6.442450944,
    ),
    (
        "sglang_profiler::attention_paged_attention_ragged",
        [
            *[of(32, 32, 128), of(10905190400, dtype=B), of(32, 32, 128)],
            *[of(835874, 1, 8, 128), of(835874, 1, 8, 128), of(33, dtype=INT)],
            *[
                of(20971520, dtype=INT),
                of(4096, dtype=INT),
                NONE,
                of(1, dtype=F),
                of(1, dtype=F),
                NONE,
            ],
        ],
        "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16>(int)",
        2127.863,
        0.53714944,
    ),
    (
        GEMM,
        [of(32, 12288), of(12288, 4096)],
        "Cijk_Alik_Bljk_BBS_BH_MT32x32x256",
        1461.903,
        3.221225472,
    ),
    (
        GEMM,
        [of(32, 4096), of(4096, 6144)],
        "Cijk_Alik_Bljk_BBS_BH_MT64x32x256",
        903.519,
        1.610612736,
    ),
    (
        "sglang_profiler::rmsnorm_rmsnorm2d_fwd_with_add aiter::add_rmsnorm",
        [*[of(32, 4096)] * 4, of(4096), value("9.9999999999999995e-07")],
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_",
        346.842,
        None,
    ),
    (
        "sgl_kernel::silu_and_mul",
        [of(32, 12288), of(32, 24576)],
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16EEvPS3_PS4_i",
        324.367,
        None,
    ),
    (
        "sgl_kernel::rotary_embedding",
        [of(32, dtype=L), of(32, 4096), of(32, 1024), value("128"), of(41216, 128), value("True")],
        "void rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
        195.815,
        None,
    ),
    (
        "aten::reshape aten::clone aten::copy_",
        [of(32, 4096), of(32, 4096), value("False")],
        "void at::native::elementwise_kernel_manual_unroll<128, 8, direct_copy_kernel_cuda>(int)",
        346.648,
        None,
    ),
    (
        "sglang_profiler::memory_pool__set_kv_buffer_impl sglang::store_cache",
        [*[of(32, 1024)] * 2, *[of(835874, 1024)] * 2, of(32, dtype=L), value("2048"), value("0")],
        "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>(StoreKVCacheParams)",
        173.543,
        None,
    ),
    (
        NORM,
        [of(256, 128), of(256, 128), of(128), value("1e-06")],
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi64EEEv",
        331.434,
        None,
    ),
    (
        "aten::gather",
        [of(151936, 4096), value("0"), of(32, 4096, dtype=L), value("False"), of(32, 4096)],
        "void at::native::vectorized_gather_kernel<16, long>(char*)",
        13.499,
        None,
    ),
]
ROTATED = of(16, 16, 559, 64)
QWEN: list[Row] = [
    (
        "aten::linear aten::mm",
        [of(8944, 1024), of(1024, 2816)],
        "sm90_xmma_gemm_bf16bf16",
        4055.252,
        51.581550592,
    ),
    (
        "aten::scaled_dot_product_attention aten::_scaled_dot_product_flash_attention",
        [*[ROTATED] * 3, *map(value, ("0.", "True", "False", "0.125"))],
        "void pytorch_flash::flash_fwd_kernel<int>(pytorch_flash::Flash_fwd_params)",
        2722.704,
        10.239377408,
    ),
    (
        "aten::linear aten::addmm",
        [of(1024), of(8944, 1024), of(1024, 1024), value("1"), value("1")],
        "sm90_xmma_gemm_bf16",
        2329.076,
        18.766086144,
    ),
    (
        "aten::contiguous aten::copy_",
        [ROTATED, ROTATED, value("False")],
        "void at::native::elementwise_kernel<128, 4>(int)",
        2108.188,
        None,
    ),
    (
        "aten::add",
        [ROTATED, ROTATED, value("1")],
        "void at::native::elementwise_kernel<128, 4>(int)",
        1671.096,
        None,
    ),
    (
        "aten::mul",
        [of(16, 559, 1024, dtype=F), of(16, 559, 1, dtype=F)],
        "void at::native::elementwise_kernel<128, 2>(int)",
        1608.922,
        None,
    ),
    (
        "aten::mul",
        [ROTATED, of(1, 1, 559, 64)],
        "void at::native::elementwise_kernel<128, 4>(int)",
        1537.848,
        None,
    ),
    ("aten::_local_scalar_dense", [of(dtype="bool")], "mystery", 2.368, None),
]
"""Qwen1.5-0.5B-Chat on an H100, launched op by op."""

EXPERTS = "vllm::moe_forward"
VLLM_MARK = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)"
ROCM_GEMM = "vllm::rocm_unquantized_gemm aten::linear aten::addmm"
BIASED = (value("1"), value("1"))
VLLM: list[Row] = [
    ("vllm::moe_forward TopK", [of(32, 32), value("4"), NONE], "_topk_forward", 119.814, None),
    (
        "vllm::moe_forward SortTokens",
        [of(32, 4), of(32, 4, dtype="short int"), value("32")],
        "_sum_bitmatrix_rows",
        60.0,
        None,
    ),
    (
        "vllm::moe_forward",
        [of(32, 3072), of(32, 32), NONE, NONE],
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        3272.719 + 3761.88,
        4.831838208 + 2.415919104,
    ),
    (
        "vllm::unified_attention_with_output",
        [of(32, 64, 64), *[of(32, 8, 64)] * 2, of(32, 64, 64), *[NONE] * 3, of(0)],
        "kernel_unified_attention_2d",
        724.361,
        0.902529024,
    ),
    (
        ROCM_GEMM,
        [of(5120), of(32, 2880), of(2880, 5120), *BIASED],
        "Cijk_Alik_Bljk_BBS_BH_MT256",
        387.012,
        0.94388224,
    ),
    (
        "triton_poi_fused__to_copy_1",
        [of(32, 2880), of(32, 2880), value("92160")],
        "triton_poi_fused__to_copy_1",
        292.374,
        None,
    ),
    (
        ROCM_GEMM,
        [of(32), of(32, 2880), of(2880, 32), *BIASED],
        "Cijk_Alik_Bljk_BBS_BH_MT16",
        200.652,
        0.005899264,
    ),
    (
        "vllm::rocm_aiter_rmsnorm2d_fwd_with_add aiter::rmsnorm2d_fwd_with_add_ck",
        [*[of(32, 2880)] * 4, of(2880), value("1e-05"), value("0")],
        "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdEEEEvDpT1_",
        326.038,
        None,
    ),
    (
        "_C::rotary_embedding",
        [of(32, dtype=L), of(32, 4096), of(32, 512), value("64"), of(131072, 64), value("True")],
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
        149.738,
        None,
    ),
    (
        "vllm::unified_kv_cache_update _C_cache_ops::reshape_and_cache_flash",
        [
            *[of(32, 8, 64)] * 2,
            *[of(224304, 32, 8, 64)] * 2,
            *[of(32, dtype=L), NONE, of(dtype=F), of(dtype=F)],
        ],
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(__hip_bfloat16 const*)",
        136.41,
        None,
    ),
    (
        "triton_poi_fused_constant_pad_nd_moe_forward_0",
        [of(32, 2880), of(32, 3072), value("98304")],
        "triton_poi_fused_constant_pad_nd_moe_forward_0",
        122.61,
        None,
    ),
]
FLUX: list[Row] = [
    (
        "aiter::fmha_v3_fwd",
        [
            *[of(1, 4608, 24, 128)] * 3,
            *map(value, ("0.", "0.088388347648318447", "False", "-1", "-1", "True", "False", "2")),
            *[NONE] * 7,
        ],
        "aiter::fmha_fwd_hd128_bf16_rtz",
        120655.894,
        260.919263232,
    ),
    (
        "aiter::_groupnorm_run",
        [of(1, 512, 128, 128), value("32"), of(512), of(512), value("1e-06")],
        "void aiter::groupnorm<int>(int)",
        3547.576,
        None,
    ),
]


def host_events(rows: list[Row], *, in_capture: bool) -> list[dict[str, Any]]:
    """The rows' ops one after another, nested, each with its launch; experts are one op."""
    events: list[dict[str, Any]] = []
    experts = [number for number, row in enumerate(rows) if row[0].startswith(EXPERTS)]
    if experts:
        begin, end = 1_000 + 100 * experts[0], 1_095 + 100 * experts[-1]
        args: Any = {"Input Dims": [[32, 3072], [32, 32], [], []], "Input type": [H, H, "", ""]}
        events.append(span(EXPERTS, begin, end - begin, args=args))
    for number, (ops, inputs, name, _, _) in enumerate(rows):
        begin, names = 1_000 + 100 * number, [op for op in ops.split() if op != EXPERTS]
        dims, words, values = zip(*inputs, strict=True)
        own: dict[str, Any] = {"Input Dims": dims, "Input type": words, "Concrete Inputs": values}
        for depth, op in enumerate(names, 1):
            args = own if depth == len(names) else {}
            events.append(span(op, begin + depth, 90 - 2 * depth, args=args))
        launch = call("hipModuleLaunchKernel", begin + 20, 5, 10 + number)
        if in_capture:
            launch["args"] |= {"kernel": name, "grid": [8, 1, 1], "block": [64, 1, 1]}
        events.append(launch)
    return events


def kernels_of(rows: list[Row], correlation: int | None) -> list[dict[str, Any]]:
    """The rows' kernels one after another; without a correlation each has that of its launch."""
    events, at = [], 50_000.0
    for number, (_, _, name, lasts, _) in enumerate(rows):
        launched = 10 + number if correlation is None else correlation
        made = kernel(name, at, lasts, launched)
        made["args"] |= {"grid": [8, 1, 1], "block": [64, 1, 1]}
        events.append(made)
        at += lasts
    return events


def replayed(folder: Path, rows: list[Row], mark: str, name: str) -> tuple[Any, Any]:
    """A step that replays one graph, and the trace of the graph's capture."""
    capture = [
        span(name, 900, 90_000, cat="user_annotation"),
        call("hipStreamBeginCapture", 950, 2, 1),
        *host_events(rows, in_capture=True),
        call("hipStreamEndCapture", 80_000, 2, 2),
    ]
    step = [
        span(mark, 0, 90_000, cat="user_annotation"),
        call("hipGraphLaunch", 10, 5, 7),
        *kernels_of(rows, 7),
    ]
    return (
        tl.collect(write(folder / "step.pt.trace.json", step)),
        tl.collect(write(folder / "capture.pt.trace.json", capture)),
    )


@pytest.mark.parametrize(
    ("rows", "mark", "name", "peer"),
    [
        (SGLANG, SGLANG_MARK, "capture_32_DECODE", 0.991),
        (VLLM, VLLM_MARK, "capture_32_FULL", 0.916),
    ],
    ids=["SGLang", "vLLM"],
)
def test_decoding_by_a_graph(
    tmp_path: Path, rows: list[Row], mark: str, name: str, peer: float
) -> None:
    trace, base = replayed(tmp_path, rows, mark, name)
    assert trace.kernels["link"].unique().to_list() == ["graph"]
    frame = roofline(trace, base=base)
    check(frame, rows, peer)
    kinds = work_kinds(trace, base=base)
    assert set(kinds["phase"]) == {"decode"}
    assert "other" not in kinds.filter(pl.col("share_frac") > 0.02)["kind"].to_list()


def test_piecewise_graphs_around_attention(tmp_path: Path) -> None:
    """Two graphs, for what is before attention and after it, which runs outside of graphs.

    The step's 30 requests replay the graphs of 32; another capture, of 16, has the same kernels.
    """
    before, attention, after = VLLM[7:10], VLLM[3:4], [*VLLM[:3], *VLLM[4:7]]
    mark = VLLM_MARK.replace("execute_32", "execute_30").replace("sq32", "sq30")
    capture: list[dict[str, Any]] = []
    for size, begin in ((16, 0), (32, 200_000)):
        capture.append(span(f"capture_{size}_PIECEWISE", begin, 190_000, cat="user_annotation"))
        for rows, at in ((before, begin + 1_000), (after, begin + 90_000)):
            events = host_events(rows, in_capture=True)
            if size == 16:
                events = [event for event in events if "Input Dims" not in event["args"]]
            moved = [event | {"ts": event["ts"] + at} for event in events]
            capture += [
                call("hipStreamBeginCapture", at, 1, 1),
                *moved,
                call("hipStreamEndCapture", at + 60_000, 1, 2),
            ]
    base = tl.collect(write(tmp_path / "capture.pt.trace.json", capture))
    eager = host_events(attention, in_capture=False)
    between = kernels_of(attention, None)
    step = [
        span(mark, 0, 40_000, cat="user_annotation"),
        call("hipGraphLaunch", 10, 5, 7),
        *eager,
        call("hipGraphLaunch", 20_000, 5, 8),
        *kernels_of(before, 7),
        *[event | {"ts": event["ts"] + 10_000} for event in between],
        *[event | {"ts": event["ts"] + 20_000} for event in kernels_of(after, 8)],
    ]
    trace = tl.collect(write(tmp_path / "step.pt.trace.json", step))
    assert sorted(trace.kernels["link"].unique()) == ["graph", "launched"]
    check(roofline(trace, base=base), [*before, *attention, *after], 0.967)


@pytest.mark.parametrize(("rows", "peer"), [(FLUX, 0.926), (QWEN, 0.656)], ids=["Flux", "Qwen"])
def test_ops_launched_one_by_one(tmp_path: Path, rows: list[Row], peer: float) -> None:
    events = [*host_events(rows, in_capture=False), *kernels_of(rows, None)]
    check(roofline(tl.collect(write(tmp_path / "a.pt.trace.json", events))), rows, peer)


def check(frame: pl.DataFrame, rows: list[Row], peer: float) -> None:
    """At least the peer's share of time, less five points, and its FLOPs within 0.1 %."""
    ops = frame.filter(pl.col("op") != "(step)")
    total = int(ops["duration_total_ns"].sum())
    left = int(ops.filter(op="(not modelled)")["duration_total_ns"].sum())
    assert 1 - left / total >= peer - 0.05, frame.filter(op="(not modelled)")["evidence"].to_list()
    for names, _, _, _, gflop in rows:
        if gflop is not None:
            found = ops.filter(op=names.split()[-1])["needed_flops"].to_list()
            assert any(flops == pytest.approx(gflop * 1e9, rel=1e-3) for flops in found), names
