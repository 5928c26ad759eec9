"""The roofline of compiled graphs from the sizes in their sidecar, by hand."""

import json
from typing import Any

import polars as pl

from tests.cases import make_trace
from tracelens.analyses import roofline
from tracelens.trace import Trace

KEY = "fabc"
RUN = {"name": f"## Call CompiledFxGraph {KEY} ##", "kind": "annotation"}


def recorded(
    order: int, name: str, node: str, *tensors: list[int], numbers: tuple[int, ...] = ()
) -> dict[str, Any]:
    """A kernel call with its float32 tensors, then numbers."""
    n = len(numbers)
    return {
        "graph_key": KEY,
        "call_order": order,
        "kernel_name": name,
        "is_extern": "triton" not in name,
        "node": name,
        "aten_op": node,
        "module_path": "a",
        "rule": "nn_module_stack",
        "input_shapes": json.dumps([*tensors, *[[]] * n]),
        "input_dtypes": json.dumps(["float32"] * len(tensors) + ["Scalar"] * n),
        "concrete_inputs": json.dumps([None] * len(tensors) + [*numbers]),
    }


CALLS = [
    recorded(0, "triton_poi_fused_relu_0", "aten.relu.default", [4, 8], [4, 8], numbers=(32, 1)),
    recorded(1, "extern_kernels.mm", "aten.mm.default", [4, 8], [8, 16]),
    recorded(2, "triton_tem_fused_mm_1", "aten.mm.default", [4, 16], [16, 2], [4, 2]),
    # A look-up reads 4 rows of the table, one for each index, and writes them.
    recorded(
        3, "triton_poi_fused_embedding_2", "aten.embedding.default", [1000, 2], [4, 2], numbers=(8,)
    ),
]
KERNELS = [
    ("triton_poi_fused_relu_0", "elementwise"),
    ("sm90_gemm", "gemm"),
    ("triton_tem_fused_mm_1", "gemm"),
    ("triton_poi_fused_embedding_2", "indexing"),
]
WORK = [
    ("triton_poi_fused_relu_0", 0, 4 * (32 + 32)),
    ("aten::mm", 2 * 4 * 8 * 16, 4 * (32 + 128 + 64)),
    ("triton_tem_fused_mm_1", 2 * 4 * 16 * 2, 4 * (64 + 32 + 8)),
    ("triton_poi_fused_embedding_2", 0, 4 * (8 + 8)),
]


def replayed(provenance: list[dict[str, Any]]) -> Trace:
    """Two replays of a graph of four kernels."""
    kernels = [
        {
            "name": name,
            "primitive": primitive,
            "span_id": run,
            "api_call_id": run,
            "link": "graph",
            "start_ns": 100 * run + 10 * n,
            "duration_ns": 5,
        }
        for run in range(2)
        for n, (name, primitive) in enumerate(KERNELS)
    ]
    spans = [{**RUN, "start_ns": 100 * run} for run in range(2)]
    launches = [{"span_id": run, "start_ns": 100 * run} for run in range(2)]
    return make_trace(spans=spans, api_calls=launches, kernels=kernels, provenance=provenance)


def test_replays_have_the_sizes_of_their_sidecar() -> None:
    frame = roofline(replayed(CALLS)).filter(pl.col("op").is_in([name for name, *_ in WORK]))
    found = {row["op"]: row for row in frame.iter_rows(named=True)}
    assert [(name, found[name]["flops"], found[name]["least_bytes"]) for name, *_ in WORK] == [
        (name, 2 * flops, 2 * n_bytes) for name, flops, n_bytes in WORK
    ]
    assert {row["n_calls"] for row in found.values()} == {2}
    assert found["aten::mm"]["shapes"] == "4x8 8x16"


def test_a_sidecar_without_sizes_is_said() -> None:
    sizeless = [{**call, "input_shapes": None} for call in CALLS]
    op = {"kind": "op", "name": "aten::relu", "input_shapes": "[[1]]", "input_dtypes": '["float"]'}
    trace = replayed(sizeless)
    other = make_trace(spans=[op], kernels=[{"span_id": 0, "duration_ns": 1}])
    (reason,) = roofline(trace, base=other).filter(op="(not modelled)")["evidence"]
    assert reason.startswith("replays of a graph (its sidecar has no sizes: record it again")


def test_a_modelled_op_is_not_counted_again() -> None:
    """The library's op around the kernel is known; its other kernel gets no call of its own."""
    op = {"kind": "op", "name": "aten::mm", "start_ns": 1, "parent_id": 0}
    inner = {"kind": "op", "name": "aten::mm", "start_ns": 1, "parent_id": 1}
    sizes = {"input_shapes": "[[4, 8], [8, 16]]", "input_dtypes": '["float", "float"]'}
    trace = make_trace(
        spans=[{**RUN, "start_ns": 0}, op, inner | sizes],
        kernels=[
            {"name": "copy", "span_id": 1, "duration_ns": 5, "start_ns": 2},
            {"name": "sm90_gemm", "span_id": 2, "duration_ns": 5, "start_ns": 8},
        ],
        provenance=[CALLS[1] | {"call_order": 0}],
    )
    frame = roofline(trace)
    assert frame.filter(op="aten::mm")["flops"].to_list() == [2 * 4 * 8 * 16]
    assert frame.filter(op="(not modelled)")["n_kernels"].to_list() == [1]
