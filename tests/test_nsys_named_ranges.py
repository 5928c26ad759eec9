"""NVTX ranges that PyTorch's emit_nvtx and TensorRT name: ops, annotations and layers.

The formats are those of getNvtxStr in torch/csrc/profiler/util.cpp, of PyTorch 1.6 to 2.11. A real
capture under emit_nvtx (`first_run_resnet50`) is compared with nsys's own tables in test_nsys.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.nsys_exports import KERNEL, NVTX, RUNTIME, Row, call, kernel, packed, read_both_ways
from tests.sources import MORE
from tracelens.analyses import dispatch_depth, layer_attribution, top_ops
from tracelens.collectors import collect
from tracelens.collectors.nsys.nvtx import read_names
from tracelens.trace import Trace
from tracelens.trace.combine import combine

THREAD = packed(7, 8)


def pushed(start: int, end: int, text: str, **more: Any) -> Row:
    return {"start": start, "end": end, "eventType": 59, "text": text, "globalTid": THREAD} | more


def traced(folder: Path, **tables: list[Row]) -> Trace:
    return combine([read_both_ways(folder, tables)])


NAMES: dict[str, tuple[str | None, str, int | None, int | None, str | None]] = {
    "aten::mm, op_id = 12": ("op", "aten::mm", None, 12, None),
    "aten::mm, seq = 3, op_id = 12, sizes = [[8, 64], [64, 64]], input_op_ids = [(9,0), (11,0)]": (
        "op",
        "aten::mm",
        3,
        12,
        "[[8, 64], [64, 64]]",
    ),
    "aten::add.Tensor, op_id = 1, sizes = [[], [2]]": (
        "op",
        "aten::add.Tensor",
        None,
        1,
        "[[], [2]]",
    ),
    "AddmmBackward0, seq = 3, op_id = 40": ("op", "AddmmBackward0", 3, 40, None),
    "MyFunction, seq = 0, op_id = 41": ("op", "MyFunction", 0, 41, None),
    "autograd::engine::evaluate_function: AddmmBackward0, op_id = 39": (
        "op",
        "autograd::engine::evaluate_function: AddmmBackward0",
        None,
        39,
        None,
    ),
    "nccl:all_reduce, op_id = 5, sizes = [[4]]": ("op", "nccl:all_reduce", None, 5, "[[4]]"),
    # PyTorch 1.6 to 1.10: no op_id.
    "aten::relu_": ("op", "aten::relu_", None, None, None),
    "aten::conv2d, seq = 7, sizes = [[1, 3], [4, 3]]": (
        "op",
        "aten::conv2d",
        7,
        None,
        "[[1, 3], [4, 3]]",
    ),
    "ConvBackward, seq = 7": ("op", "ConvBackward", 7, None, None),
    # record_function under emit_nvtx.
    "ProfilerStep#3, op_id = 7": ("annotation", "ProfilerStep#3", None, 7, None),
    "load, shard 2, op_id = 8": ("annotation", "load, shard 2", None, 8, None),
    # The program's own.
    "load, shard 2": (None, "load, shard 2", None, None, None),
    "decode, seq = 12": (None, "decode, seq = 12", None, None, None),
    "batch, sizes = [[8, 64]]": (None, "batch, sizes = [[8, 64]]", None, None, None),
    "Model::forward": (None, "Model::forward", None, None, None),
    "mm, op_id = many": (None, "mm, op_id = many", None, None, None),
    ", op_id = 3": (None, ", op_id = 3", None, None, None),
    "": (None, "", None, None, None),
}
"""kind, name, sequence_number, external_id, input_shapes by the range's text."""


@pytest.mark.parametrize("text", NAMES)
def test_what_a_name_says(text: str) -> None:
    found = read_names(pl.Series([text]))
    columns = ("kind", "name", "sequence_number", "external_id", "input_shapes")
    assert found.select(columns).row(0) == NAMES[text]


def test_ops_have_depths_shapes_and_device_time(tmp_path: Path) -> None:
    """A convolution of two ops within a range of the program's own.

    The same name in a library's domain is no op.
    """
    trace = traced(
        tmp_path,
        **{
            RUNTIME: [call(20, 25, 1, 1), call(60, 65, 1, 2)],
            KERNEL: [kernel(30, 80, 2, 1), kernel(80, 90, 2, 2)],
            NVTX: [
                pushed(0, 100, "train"),
                pushed(10, 40, "aten::conv2d, seq = 2, op_id = 1, sizes = [[1, 3], [4, 3]]"),
                pushed(15, 35, "aten::convolution, seq = 2, op_id = 2, sizes = [[1, 3], [4, 3]]"),
                pushed(50, 70, "aten::mm", domainId=9),
                {
                    "start": 0,
                    "eventType": 75,
                    "domainId": 9,
                    "text": "library",
                    "globalTid": THREAD,
                },
            ],
        },
    )
    columns = [
        "kind",
        "name",
        "depth",
        "sequence_number",
        "external_id",
        "input_shapes",
        "category",
    ]
    assert trace.spans.select(columns).rows() == [
        ("nvtx", "train", 0, None, None, None, "push_pop"),
        ("op", "aten::conv2d", 1, 2, 1, "[[1, 3], [4, 3]]", "push_pop"),
        ("op", "aten::convolution", 2, 2, 2, "[[1, 3], [4, 3]]", "push_pop"),
        ("nvtx", "aten::mm", 1, None, None, None, "push_pop library"),
    ]
    sites = (
        dispatch_depth(trace).select("op", "n_launches", "op_depth_max", "host_total_ns").sort("op")
    )
    assert sites.rows() == [(None, 1, 0, None), ("aten::conv2d", 1, 2, 15)]
    ops = top_ops(trace).select("name", "cuda_self_ns", "cuda_total_ns")
    assert ops.rows() == [("aten::convolution", 50, 50), ("aten::conv2d", 0, 50)]


def test_tensorrt_layers_have_the_kernels(tmp_path: Path) -> None:
    """Layers lie directly in the call that runs an engine.

    What is in a layer, or in another call, is none.
    """
    trt = {"domainId": 4}
    trace = traced(
        tmp_path,
        **{
            RUNTIME: [
                call(20, 25, 1, 1),
                call(45, 47, 1, 2),
                call(52, 53, 1, 3),
                call(205, 207, 1, 4),
            ],
            KERNEL: [
                kernel(30, 60, 2, 1),
                kernel(60, 70, 3, 2),
                kernel(70, 75, 3, 3),
                kernel(210, 290, 2, 4),
            ],
            NVTX: [
                {
                    "start": 0,
                    "eventType": 75,
                    "domainId": 4,
                    "text": "TensorRT",
                    "globalTid": THREAD,
                },
                pushed(10, 100, "ExecutionContext::enqueue", **trt),
                pushed(15, 40, "/conv1/Conv + /relu/Relu", **trt),
                pushed(41, 50, "{ForeignNode[/fc/Gemm.../out/Add]}", **trt),
                pushed(43, 48, "myelin", **trt),
                pushed(51, 54, "reformat_0", **trt),
                pushed(200, 300, "ICudaEngine::deserialize", **trt),
                pushed(204, 208, "/conv1/Conv + /relu/Relu", **trt),
            ],
        },
    )
    assert trace.spans.select("kind", "module_path").rows() == [
        ("nvtx", None),
        ("module", "/conv1/Conv + /relu/Relu"),
        ("module", "{ForeignNode[/fc/Gemm.../out/Add]}"),
        ("nvtx", "{ForeignNode[/fc/Gemm.../out/Add]}"),
        ("module", "reformat_0"),
        ("nvtx", None),
        ("nvtx", None),
    ]
    assert trace.layers.select("module_path", "class_name", "call_order").rows() == [
        ("/conv1/Conv + /relu/Relu", "unknown", 0),
        ("{ForeignNode[/fc/Gemm.../out/Add]}", "unknown", 1),
        ("reformat_0", "unknown", 2),
    ]
    placed = (
        layer_attribution(trace)
        .filter(pl.col("n_kernels") > 0)
        .select("layer", "duration_total_ns", "evidence")
    )
    assert placed.rows() == [
        ("(unattributed)", 80, "none"),
        ("/conv1/Conv + /relu/Relu", 30, "module span"),
        ("{ForeignNode[/fc/Gemm.../out/Add]}", 10, "module span"),
        ("reformat_0", 5, "module span"),
    ]


def test_tensorrt_names_outside_its_domain_are_no_layers(tmp_path: Path) -> None:
    trace = traced(
        tmp_path,
        **{
            NVTX: [pushed(10, 100, "ExecutionContext::enqueue"), pushed(15, 40, "conv1")],
            RUNTIME: [call(20, 25, 1, 1)],
        },
    )
    assert trace.spans["kind"].to_list() == ["nvtx", "nvtx"]
    assert trace.layers.is_empty()


def test_the_real_capture_under_emit_nvtx_has_ops() -> None:
    """Ranges with an op_id in nsys's nvtx_sum are ops. The rest are ranges of the program."""
    export = MORE / "nsys" / "first_run_resnet50.sqlite"
    if not export.is_file():
        pytest.skip(f"{export.name} is not at hand; only the samples ship with the repository")
    with export.with_name("first_run_resnet50_stats_nvtx_sum.csv").open(newline="") as stream:
        printed = [(row["Range"], int(row["Instances"])) for row in csv.DictReader(stream)]
    n_ops = sum(n for name, n in printed if ", op_id = " in name)
    trace = collect(export)
    kinds = dict(trace.spans["kind"].value_counts().iter_rows())
    assert kinds == {"op": n_ops, "nvtx": sum(n for _, n in printed) - n_ops}
    by_op = dispatch_depth(trace).filter(pl.col("op").is_not_null()).select("op", "op_depth_max")
    assert (
        "aten::conv2d",
        4,
    ) in by_op.rows()  # conv2d > convolution > _convolution > cudnn_convolution
