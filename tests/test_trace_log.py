"""torch's structured logs: the modules of kernels are read, and nothing else."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.analyses import layer_attribution
from tracelens.collectors import collect, provenance, trace_log
from tracelens.errors import SourceError
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.combine import combine
from tracelens.trace.sources import detect

KEY = "fvtypsese5mqljhayerw55mdvwkn52ssscyigsl6jxkawmndtxiq"
DYNAMO = """
class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_stem_parameters_weight_: "f32[8, 3, 3, 3][27, 9, 3, 1]cuda:0", L_x_: "f32[2, 3]"):
        l_self_modules_stem_parameters_weight_ = L_self_modules_stem_parameters_weight_
        l_x_ = L_x_
        l_self_modules_blocks_modules_0_modules_up_proj_parameters_weight_ = \
L_self_modules_Blocks_modules_0_modules_up_proj_parameters_weight_
        l_self_parameters_scale_ = L_self_parameters_scale_

        # File: /home/someone/secret/model.py:9 in forward, code: x = self.stem(x)  # password123
        conv2d: "f32[2, 8, 14, 14][1568, 196, 14, 1]cuda:0" = torch.conv2d(l_x_, \
l_self_modules_stem_parameters_weight_, None, (1, 1));  l_x_ = l_self_modules_stem_parameters_weight_ = None
        relu: "bf16[2, 8][8, 1]cuda:0" = torch.nn.functional.relu(conv2d, inplace = False);  conv2d = None
        linear: "f32[2, 8][8, 1]cuda:0" = torch._C._nn.linear(relu, \
l_self_modules_blocks_modules_0_modules_up_proj_parameters_weight_);  relu = None
        mul: "f32[2, 8][8, 1]cuda:0" = linear * l_self_parameters_scale_;  linear = None
        return (mul,)
"""
CODE = '''
# AOT ID: ['0_inference']
# kernel path: /var/someone/abc.py
# Topologically Sorted Source Nodes: [conv2d, relu], Original ATen: [aten.convolution, aten.relu]
# Source node to ATen node mapping:
#   relu => relu
triton_poi_fused_convolution_relu_0 = async_compile.triton('triton_poi_fused_convolution_relu_0', """
def triton_poi_fused_convolution_relu_0(in_ptr0):
    pass
""", device_str='cuda')

def call(args):
    with torch.cuda._DeviceGuard(0):
        # Topologically Sorted Source Nodes: [conv2d], Original ATen: [aten.convolution]
        buf0 = extern_kernels.convolution(arg1_1, arg0_1, stride=(1, 1))
        # Topologically Sorted Source Nodes: [conv2d, relu], Original ATen: [aten.convolution, aten.relu]
        stream0 = get_raw_stream(0)
        triton_poi_fused_convolution_relu_0.run(buf1, 3136, stream=stream0)
        # Unsorted Source Nodes: [linear], Original ATen: [aten.mm]
        extern_kernels.mm(buf1, arg2_1, out=buf2)
        triton_poi_fused_convolution_relu_0.run(buf2, 3136, stream=stream0)
'''
BACKWARD = """
class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[8, 3, 3, 3][27, 9, 3, 1]cuda:0", primals_3: "f32[2]", tangents_1: "f32[2]"):
        # File: /home/someone/secret/model.py:9 in forward, code: x = self.stem(x)
        mm_1: "f32[2, 8][8, 1]cuda:0" = torch.ops.aten.mm.default(tangents_1, primals_3);  tangents_1 = None
        le: "b8[2, 8][8, 1]cuda:0" = torch.ops.aten.le.Scalar(mm_1, 0)
        convolution_backward = torch.ops.aten.convolution_backward.default(le, primals_2, primals_1, [0], [1, 1])
        return [convolution_backward]
"""
BACKWARD_CODE = """
# AOT ID: ['0_backward']
def call(args):
        # Topologically Sorted Source Nodes: [mm_1], Original ATen: [aten.mm]
        extern_kernels.mm(tangents_1, primals_3, out=buf0)
        # Topologically Sorted Source Nodes: [le, convolution_backward], Original ATen: [aten.convolution_backward]
        buf1 = torch.ops.aten.convolution_backward.default(buf0, primals_2, primals_1, [0], [1, 1])
"""


def record(about: dict[str, Any], payload: str = "", compile_id: int = 0) -> str:
    """A record as torch writes it: time, process, place, JSON, and the payload behind tabs."""
    where = "V1121 15:49:46.699000 25398 torch/_dynamo/utils.py:2350] "
    about |= {
        "rank": 2,
        "frame_id": 0,
        "frame_compile_id": compile_id,
        "attempt": 0,
        "has_payload": "c0e9",
    }
    return (
        where + json.dumps(about) + "\n" + "".join(f"\t{line}\n" for line in payload.splitlines())
    )


def artifact(name: str, payload: str) -> str:
    return record({"artifact": {"name": name, "encoding": "json"}}, payload)


LOG = (
    record({"chromium_event": {}}, '{"name": "dynamo"}')
    + artifact("torch_version", '{"pytorch_version": "2.11.0+cu130"}')
    + record(
        {"compilation_metrics": {"co_filename": "/home/someone/secret/model.py"}}, "TOKEN=hunter2"
    )
    + record({"dynamo_output_graph": {"sizes": {}}}, DYNAMO)
    + record({"inductor_output_code": {"filename": "/var/someone/abc.py"}}, CODE)
    + artifact(
        "fx_graph_cache_miss",
        json.dumps({"cache_status_detailed": "full_miss", "key": KEY, "components": []}),
    )
    + artifact("inductor_post_grad_graph", BACKWARD)
    + record({"inductor_output_code": {"filename": "/var/someone/def.py"}}, BACKWARD_CODE)
    + artifact("fx_graph_cache_miss", json.dumps({"key": "fbackward0"}))
)


def written(folder: Path, text: str = LOG) -> Path:
    path = folder / "dedicated_log_torch_trace_rank_2_abc.log"
    path.write_bytes(text.encode(errors="surrogateescape"))
    return path


def test_parameters_and_neighbours_tell_the_modules(tmp_path: Path) -> None:
    trace = collect(written(tmp_path))
    assert detect(written(tmp_path)) == "trace_log"
    forward = trace.provenance.filter(graph_key=KEY)
    columns = ["call_order", "is_extern", "node", "module_path", "rule", "output_bytes"]
    fused = [
        ("conv2d", "stem", "trace_log", 2 * 8 * 14 * 14 * 4),
        ("relu", "stem", "trace_log_neighbour", 2 * 8 * 2),
    ]
    assert forward.select(columns).rows() == [
        (0, True, *fused[0]),
        *((1, False, *node) for node in fused),
        (2, True, "linear", "Blocks.0.up_proj", "trace_log", 2 * 8 * 4),
        *((3, False, *node) for node in fused),
    ]
    assert set(forward["is_backward"]) == {False}
    assert set(trace.provenance["rank"]) == {2}
    assert trace.manifest.sources[0]["versions"] == {"torch": "2.11.0+cu130"}


def test_backward_nodes_are_found_by_forward_inputs(tmp_path: Path) -> None:
    """Dynamo's inputs: first the stem's weight, second x, third the projection's weight."""
    backward = collect(written(tmp_path)).provenance.filter("is_backward")
    assert backward.select("kernel_name", "node", "module_path", "rule").rows() == [
        ("extern_kernels.mm", "mm_1", "Blocks.0.up_proj", "trace_log"),
        (
            "torch.ops.aten.convolution_backward.default",
            "convolution_backward",
            "stem",
            "trace_log",
        ),
    ]


def test_layers_are_attributed_by_a_log_and_say_so(tmp_path: Path) -> None:
    log = collect(written(tmp_path))
    run = make_trace(
        spans=[
            {"name": f"## Call CompiledFxGraph {KEY} ##", "kind": "annotation"},
            {"name": "aten::mm", "kind": "op", "parent_id": 0, "start_ns": 1},
        ],
        kernels=[
            {"name": "triton_poi_fused_convolution_relu_0", "span_id": 0, "duration_ns": 100},
            {"name": "sm90_gemm", "span_id": 1, "duration_ns": 50, "start_ns": 2},
        ],
    )
    told = log.provenance.with_columns(rank=pl.lit(0, pl.Int32))
    trace = Trace(
        run.manifest, {name: run.scan(name) for name in TABLES} | {"provenance": told.lazy()}
    )
    frame = layer_attribution(trace).select("layer", "duration_total_ns", "evidence")
    assert frame.rows() == [
        ("stem", 100, "compile provenance: trace_log"),
        ("Blocks.0.up_proj", 50, "compile provenance: trace_log"),
        ("(pre-window)", 0, "no kernel"),
        ("(unattributed)", 0, "no kernel"),
    ]


def test_nothing_but_names_is_taken_from_a_log(tmp_path: Path) -> None:
    trace = collect(written(tmp_path))
    trace.write(tmp_path / "out.tracelens")
    for file in (tmp_path / "out.tracelens").rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        content += str(pl.read_parquet(file).rows()).encode() if file.suffix == ".parquet" else b""
        for secret in (b"someone", b"hunter2", b"password123", b"model.py"):
            assert secret not in content


def test_a_recorded_sidecar_outweighs_a_log_of_the_same_graphs(tmp_path: Path) -> None:
    (log,) = trace_log.read(written(tmp_path))
    node = {
        "node": "n",
        "aten_op": "aten.mm",
        "module_path": "exact",
        "rule": "nn_module_stack",
        "output_bytes": 4,
    }
    graph = {
        "key": KEY,
        "is_backward": False,
        "calls": [{"name": "extern_kernels.mm", "is_extern": True, "nodes": [node]}],
    }
    sidecar = {
        "format": "tracelens-provenance",
        "version": 1,
        "torch": "2.11",
        "rank": 2,
        "graphs": [graph],
    }
    path = tmp_path / "sidecar.json"
    path.write_text(json.dumps(sidecar))
    both = combine([log, *provenance.COLLECTOR.read(path)]).provenance
    assert both.filter(graph_key=KEY)["module_path"].to_list() == ["exact"]
    assert both.filter(graph_key="fbackward0").height == 2


def test_generated_code_without_a_key_is_counted(tmp_path: Path) -> None:
    (capture,) = trace_log.read(
        written(tmp_path, LOG.split("V1121")[0] + record({"inductor_output_code": {}}, CODE))
    )
    assert capture.diagnostics.counts["warning", "graphs_without_key"] == 1
    assert not capture.tables


def test_values_of_other_kinds_and_absurd_sizes_are_no_failure(tmp_path: Path) -> None:
    as_written = collect(written(tmp_path)).provenance
    of_lists = LOG.replace('"frame_id": 0', '"frame_id": [0, {}]')
    assert collect(written(tmp_path, of_lists)).provenance.equals(as_written)
    for size in ("9" * 5000, "999999999999999999, 999999999999999999"):
        odd = collect(written(tmp_path, LOG.replace("[2, 8]", f"[{size}]"))).provenance
        assert odd.filter(node="relu")["output_bytes"].to_list() == [0, 0], "no memory holds it"
    for damaged in (f'"sizes": {"[" * 5000}', '"sizes": "\udced"'):
        assert collect(written(tmp_path, LOG.replace('"sizes": {}', damaged))).provenance.height
    with pytest.raises(SourceError, match="claims rank 5000000000; ranks are whole numbers"):
        collect(written(tmp_path, LOG.replace('"rank": 2', '"rank": 5000000000')))


@pytest.mark.parametrize("cut", range(0, len(LOG), 997))
def test_a_log_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path, LOG[:cut])
    if LOG[:cut].count("{") < 2:
        with pytest.raises(SourceError, match="TORCH_TRACE"):
            trace_log.read(path)
    else:
        trace_log.read(path)
