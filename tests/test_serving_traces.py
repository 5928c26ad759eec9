"""Traces of a serving program: no sidecar, no steps, CUDA graphs, work from before the window.

Shaped as vLLM's profiles are (torch.profiler with stacks and modules, or without): a prefill that
ran module by module, decodes replayed from a CUDA graph within a user annotation, and compiled
pieces in between. Expected rows by hand.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import layers_with_kernels
from tests.torch_files import CAPTURES, call, kernel, needs_captures, span, write
from tracelens.analyses import compare_layers, data_quality, layer_attribution, top_kernels, verdict
from tracelens.analyses.layer_attribution import notes
from tracelens.collectors import collect
from tracelens.trace import Trace

GEMM = "nvjet_tst_128x8_64x12_4x1_v_bz_TNT"
NORM = (
    "void vllm::rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16 const*, float, int,"
    " int)"
)
ATTENTION = (
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128,"
    " 4>>(flash::Flash_fwd_params)"
)
CACHE = (
    "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(__nv_bfloat16 const*,"
    " long const*)"
)
REDUCE = (
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals,"
    " int)"
)


def module(name: str, ts: float, dur: float) -> dict[str, Any]:
    return span(f"nn.Module: {name}", ts, dur, cat="python_function")


def annotation(name: str, ts: float, dur: float) -> list[dict[str, Any]]:
    """An annotation on the host, and its copy on the GPU's track. The copy is no kernel."""
    copy = span(name, ts + 5, dur, cat="gpu_user_annotation", pid=0, tid=7)
    return [span(name, ts, dur, cat="user_annotation"), copy]


def launched(name: str, ts: float, dur: float, number: int) -> list[dict[str, Any]]:
    return [call("cudaLaunchKernel", ts, 1, number), kernel(name, ts + 500, dur, number)]


BEFORE = [kernel(GEMM, 0.5, 40, 3), kernel(NORM, 41, 7, 4)]
PREFILL = [
    *annotation("execute_context_1(512)_generation_0(0)", 100, 400),
    module("LlamaForCausalLM_0", 110, 380),
    module("LlamaModel_0", 120, 300),
    module("LlamaDecoderLayer_0", 130, 250),
    module("RMSNorm_0", 135, 10),
    *launched(NORM, 137, 10, 101),
    module("LlamaAttention_0", 150, 100),
    *launched(GEMM, 155, 100, 102),
    *launched(CACHE, 165, 5, 103),
    *launched(ATTENTION, 175, 200, 104),
    *launched(REDUCE, 185, 20, 105),
    module("LogitsProcessor_0", 430, 30),
    *launched(GEMM, 435, 60, 106),
    *launched("void at::native::index_elementwise_kernel<128, 4>(long)", 480, 3, 107),
]
DECODE = [
    *annotation("execute_context_0(0)_generation_8(8)", 2000, 100),
    call("cudaGraphLaunch", 2010, 5, 200),
    *(
        kernel(name, 2100 + 50 * i, 30, 200)
        for i, name in enumerate((NORM, GEMM, CACHE, ATTENTION, GEMM))
    ),
]
SAMPLER = [module("Sampler_0", 2200, 50), *launched("_topk_topp_kernel", 2210, 8, 300)]


def opened(tmp_path: Path, *events: dict[str, Any]) -> Trace:
    return collect(write(tmp_path / "serving.pt.trace.json.gz", [*events]))


def summed(trace: Trace) -> list[tuple[Any, ...]]:
    """Return layers, evidence and µs. Checks that nothing is lost or counted twice."""
    frame = layers_with_kernels(trace)
    assert frame["duration_total_ns"].sum() == trace.kernels["duration_ns"].sum()
    assert frame["n_kernels"].sum() == trace.kernels.height
    return sorted(frame.select("layer", "evidence", pl.col("duration_total_ns") // 1000).rows())


def test_module_spans_place_what_ran_and_the_rest_is_unknown(
    tmp_path: Path,
) -> None:
    trace = opened(tmp_path, *BEFORE, *PREFILL, *DECODE, *SAMPLER)
    model = "LlamaForCausalLM_0"
    assert summed(trace) == [
        ("(communication)", "communication kernel", 20),
        ("(pre-window)", "launched before the trace began", 47),
        # Five replayed kernels, under an annotation alone; and what the model's own forward
        # indexed.
        ("(unattributed)", "none", 150),
        ("(unattributed)", "root module only", 3),
        (f"{model}.LlamaModel_0.LlamaDecoderLayer_0.LlamaAttention_0", "module span", 305),
        (f"{model}.LlamaModel_0.LlamaDecoderLayer_0.RMSNorm_0", "module span", 10),
        (f"{model}.LogitsProcessor_0", "module span", 60),
        ("Sampler_0", "module span", 8),
    ]
    classes = (
        trace.kernels.group_by("library", "primitive")
        .agg(pl.col("duration_ns").sum() // 1000)
        .sort(pl.all())
    )
    assert classes.rows() == [
        ("aten", "indexing", 3),
        ("cublas", "gemm", 40 + 100 + 60 + 60),
        ("flash_attention", "attention", 200 + 30),
        ("other", "communication", 20),
        ("other", "indexing", 5 + 30),
        ("other", "normalization", 7 + 10 + 30),
        ("triton", "indexing", 8),
    ]
    said = " ".join(notes(trace, layer_attribution(trace)))
    assert "--against" in said
    assert trace.kernels["link"].value_counts().sort("link").rows() == [
        ("graph", 5),
        ("launched", 8),
        ("pre_window", 2),
    ]


def test_with_annotations_alone_all_is_unattributed(
    tmp_path: Path,
) -> None:
    events = [
        event
        for event in (*BEFORE, *PREFILL, *DECODE, *SAMPLER)
        if event["cat"] != "python_function"
    ]
    trace = opened(tmp_path, *events)
    assert summed(trace) == [
        ("(communication)", "communication kernel", 20),
        ("(pre-window)", "launched before the trace began", 47),
        ("(unattributed)", "none", 10 + 100 + 5 + 200 + 60 + 3 + 150 + 8),
    ]
    assert "with_stack=True, with_modules=True" in " ".join(notes(trace, layer_attribution(trace)))
    assert trace.spans.filter(kind="annotation").height == 2
    # Nothing else of the report fails for want of modules or steps.
    for analysis in (verdict, top_kernels, data_quality):
        assert analysis(trace).height


def test_a_wrapper_is_no_layer(tmp_path: Path) -> None:
    inner = [module("Net_0", 20, 60), module("Linear_0", 30, 20), *launched(GEMM, 35, 10, 1)]
    bare = opened(tmp_path, *inner)
    wrapped = opened(
        tmp_path,
        module("DistributedDataParallel_0", 5, 90),
        module("OptimizedModule_0", 10, 80),
        *inner,
    )
    assert summed(bare) == summed(wrapped) == [("Net_0.Linear_0", "module span", 10)]
    assert wrapped.layers["module_path"].to_list() == ["Net_0", "Net_0.Linear_0"]
    assert compare_layers(bare, wrapped)["match"].to_list() == ["both"]


def test_a_compiled_model_is_a_root(tmp_path: Path) -> None:
    """The wrapper around it tells it, or the graph it runs. A loss beside it stays a layer."""
    graph = span("## Call CompiledFxGraph fabc ##", 25, 40, cat="user_annotation")
    loss = [module("MSELoss_0", 200, 10), *launched(NORM, 205, 5, 2)]
    ran = [module("Net_0", 20, 60), *launched("triton_poi_fused_relu_0", 35, 10, 1)]
    expected = [("(unattributed)", "root module only", 10), ("MSELoss_0", "module span", 5)]
    assert summed(opened(tmp_path, *ran, graph, *loss)) == expected
    assert summed(opened(tmp_path, module("OptimizedModule_0", 10, 80), *ran, *loss)) == expected


@pytest.mark.parametrize(
    "graph", ["GraphModule_0", "<eval_with_key>.12_0", "OptimizedModule_0", "DataParallel_0"]
)
def test_time_in_a_wrapper_alone_has_no_layer_and_is_said(tmp_path: Path, graph: str) -> None:
    """97 ms of 100 in a module of Dynamo's, the rest in none: nothing has a layer."""
    ran = [module(graph, 10, 80), *launched(GEMM, 35, 97, 1), *launched(NORM, 150, 3, 2)]
    trace = opened(tmp_path, *ran)
    assert sorted(summed(trace)) == [
        ("(unattributed)", "none", 3),
        ("(unattributed)", "root module only", 97),
    ]
    assert trace.layers.is_empty()
    said = notes(trace, layer_attribution(trace))
    assert said[0].startswith("Rank 0: 0.0% of kernel time belongs to a layer")
    assert said[1].startswith(
        "Rank 0: 97.0 µs of (unattributed), 97.0% of kernel time, ran in the root module or a"
    )


def test_a_graph_that_dynamo_made_of_a_layer_is_that_layer(tmp_path: Path) -> None:
    """If Dynamo made it of a model, it is the root: it calls no layers.

    If it made it of a block, it is the block.
    """
    whole = [module("Net_0", 5, 95), module("GraphModule_0", 10, 80), *launched(GEMM, 35, 10, 1)]
    assert summed(opened(tmp_path, *whole)) == [("(unattributed)", "root module only", 10)]
    block = [module("Net_0", 5, 95), module("Block_0", 10, 80), module("GraphModule_0", 11, 70)]
    trace = opened(tmp_path, *block, *launched(GEMM, 35, 10, 1))
    assert summed(trace) == [("Net_0.Block_0", "module span", 10)]
    assert trace.layers.select("module_path", "class_name").rows() == [
        ("Net_0", "Net"),
        ("Net_0.Block_0", "Block"),
    ]
    assert not any(
        "ran in the root module" in said for said in notes(trace, layer_attribution(trace))
    )


@pytest.mark.slow
@needs_captures
def test_compiled_captures_without_sidecar_claim_no_layer() -> None:
    """Each of these traces has only the wrapper's call and the model's own."""
    for name, root in (("resnet50", "ResNet_0"), ("alexnet", "AlexNet_0"), ("bert", "BertModel_0")):
        trace = collect(CAPTURES / f"{name}_inductor.pt.trace.json.gz")
        assert trace.layers["module_path"].to_list() == [root]
        assert {layer for layer, _, _ in summed(trace)} == {"(unattributed)"}
