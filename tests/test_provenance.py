"""Sidecars of compiled graphs, and the modules that they give kernels."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import layers_with_kernels, make_trace
from tests.sources import MORE
from tracelens.collectors import collect
from tracelens.derive.layers.library_calls import calls_in_gap
from tracelens.derive.layers.provenance import kernel_shares, split_kernels
from tracelens.errors import SourceError
from tracelens.trace import Trace
from tracelens.trace.sources import detect

KEY = "fabc"
GRAPH = {
    "span_id": 0,
    "name": f"## Call CompiledFxGraph {KEY} ##",
    "kind": "annotation",
    "start_ns": 0,
}
ROOT = Path(__file__).resolve().parents[1]
CAPTURES = MORE / "provenance"


def node(call: int, kernel: str, module: str | None, n_bytes: int, **more: Any) -> dict[str, Any]:
    return {
        "graph_key": KEY,
        "call_order": call,
        "kernel_name": kernel,
        "module_path": module,
        "output_bytes": n_bytes,
        "node": f"n{call}{module}",
        "rule": "nn_module_stack",
        "is_extern": not kernel.startswith("triton"),
        **more,
    }


def op(span: int, name: str, parent: int = 0) -> dict[str, Any]:
    return {"span_id": span, "parent_id": parent, "name": name, "kind": "op", "start_ns": span}


def kernel(name: str, span: int | None, ns: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "span_id": span, "duration_ns": ns, **more}


def parts(trace: Trace) -> list[tuple[Any, ...]]:
    frame = split_kernels(trace.kernels, trace.spans, trace.provenance)
    return (
        frame.select("kernel_id", "module_path", "estimate_ns", "low_ns", "high_ns")
        .sort("kernel_id", "module_path")
        .rows()
    )


def test_a_fused_kernel_is_split_by_bytes() -> None:
    trace = make_trace(
        spans=[GRAPH, op(1, "triton_poi_0")],
        kernels=[kernel("triton_poi_0", 1, 1000)],
        provenance=[node(0, "triton_poi_0", "a", 300), node(0, "triton_poi_0", "b", 100)],
    )
    # By bytes 3 : 1, equally 1 : 1, all for the one with most bytes 1 : 0.
    assert parts(trace) == [(0, "a", 750, 500, 1000), (0, "b", 250, 0, 500)]


def test_estimates_of_a_kernel_sum_to_its_duration() -> None:
    modules = [node(0, "triton_poi_0", name, 1) for name in "abcdefg"]
    trace = make_trace(
        spans=[GRAPH, op(1, "t")], kernels=[kernel("triton_poi_0", 1, 100)], provenance=modules
    )
    assert sum(part[2] for part in parts(trace)) == 100


def test_names_that_repeat_are_told_apart_by_their_order() -> None:
    trace = make_trace(
        spans=[GRAPH, op(1, "triton_poi_0"), op(2, "aten::convolution"), op(3, "triton_poi_0")],
        kernels=[
            kernel("triton_poi_0", 1, 5),
            kernel("cudnn_conv", 2, 70),
            kernel("triton_poi_0", 3, 6),
        ],
        provenance=[
            node(0, "triton_poi_0", "first", 1),
            node(1, "extern_kernels.convolution", "conv", 1),
            node(2, "triton_poi_0", "second", 1),
        ],
    )
    assert parts(trace) == [(0, "first", 5, 5, 5), (1, "conv", 70, 70, 70), (2, "second", 6, 6, 6)]


def test_every_kernel_of_a_library_call_is_the_calls() -> None:
    trace = make_trace(
        spans=[GRAPH, op(1, "aten::convolution"), op(2, "aten::cudnn_convolution", parent=1)],
        kernels=[
            kernel("nchwToNhwc", 2, 10),
            kernel("implicit_gemm", 2, 90),
            kernel("nhwcToNchw", 1, 5),
        ],
        provenance=[node(0, "extern_kernels.convolution", "conv", 8)],
    )
    assert [part[1:3] for part in parts(trace)] == [("conv", 10), ("conv", 90), ("conv", 5)]


def test_a_call_not_recorded_disturbs_no_other() -> None:
    trace = make_trace(
        spans=[GRAPH, op(1, "triton_poi_0"), op(2, "aten::copy_"), op(3, "triton_poi_1")],
        kernels=[kernel("triton_poi_0", 1, 5), kernel("copy", 2, 7), kernel("triton_poi_1", 3, 6)],
        provenance=[node(0, "triton_poi_0", "a", 1), node(1, "triton_poi_1", "b", 1)],
    )
    assert [part[:2] for part in parts(trace)] == [(0, "a"), (2, "b")]


def test_kernels_outside_of_compiled_graphs_are_left_out() -> None:
    trace = make_trace(
        spans=[GRAPH, op(1, "triton_poi_0"), {**op(2, "aten::relu"), "parent_id": None}],
        kernels=[kernel("triton_poi_0", 1, 5), kernel("relu", 2, 7), kernel("stray", None, 3)],
        provenance=[node(0, "triton_poi_0", "a", 1)],
    )
    assert [part[0] for part in parts(trace)] == [0]


def test_replayed_kernels_take_the_library_call_there() -> None:
    replay = {"link": "graph"}
    trace = make_trace(
        spans=[GRAPH],
        kernels=[
            kernel("triton_poi_0", 0, 1, **replay),
            kernel("nchwToNhwc", 0, 2, primitive="layout", **replay),
            kernel("implicit_gemm", 0, 3, primitive="conv", **replay),
            kernel("triton_poi_1", 0, 4, **replay),
            kernel("sm90_gemm", 0, 5, primitive="gemm", **replay),
            kernel("splitk_reduce", 0, 6, primitive="reduction", **replay),
            kernel("sm90_gemm", 0, 7, primitive="gemm", **replay),
        ],
        provenance=[
            node(0, "triton_poi_0", "a", 1),
            node(1, "extern_kernels.convolution", "conv", 1),
            node(2, "triton_poi_1", "b", 1),
            node(3, "extern_kernels.mm", "fc1", 1),
            node(4, "extern_kernels.mm", "fc2", 1),
        ],
    )
    # One convolution between the generated kernels takes both kernels there; of the two products,
    # the first takes the sum over its depth's parts.
    assert [part[:2] for part in parts(trace)] == [
        (0, "a"),
        (1, "conv"),
        (2, "conv"),
        (3, "b"),
        (4, "fc1"),
        (5, "fc1"),
        (6, "fc2"),
    ]


MM, ADDMM, CONV, SDPA, SORT = (
    f"extern {name}"
    for name in ("mm", "addmm", "convolution", "_scaled_dot_product_flash_attention", "sort")
)


@pytest.mark.parametrize(
    ("primitives", "calls", "found"),
    [
        ([], [MM], []),
        (["gemm"], [], [None]),
        (["layout", "elementwise"], [CONV], [0, 0]),
        (["gemm", "gemm", "attention"], [MM, MM, SDPA], [0, 1, 2]),
        # What prepares a call stands before its main kernel, what finishes one behind it.
        (["gemm", "reduction", "layout", "conv", "gemm"], [MM, CONV, ADDMM], [0, 0, 1, 1, 2]),
        # A 1×1 convolution may run as a product; a product never as a convolution.
        (["gemm", "conv"], [CONV, CONV], [0, 1]),
        (["conv"], [MM, CONV], [1]),
        # A call that launched nothing here.
        (["gemm", "attention"], [MM, SORT, SDPA], [0, 2]),
        (["gemm", "indexing", "gemm"], [MM, SORT, MM], [0, 1, 2]),
        # A name that is not known may be any call's.
        (["gemm", "unknown", "gemm"], [MM, SDPA, MM], [0, 1, 2]),
        (["gemm"], [SDPA, CONV, SDPA], [1]),
        (["attention"], [MM, CONV], [None]),
    ],
)
def test_library_calls_take_the_kernels_between_generated_ones(
    primitives: list[str], calls: list[str], found: list[int | None]
) -> None:
    assert calls_in_gap(primitives, calls) == found


def test_a_split_k_sum_belongs_to_the_product_before_it() -> None:
    """Such kernels are products by their names.

    Counted as calls, they left a gap's calls unmatched.
    """
    names = [
        ("triton_poi_0", "fused"),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", "attention"),
        ("sgemm_64x64", "gemm"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(float*)", "gemm"),
        ("sgemm_64x64", "gemm"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(float*)", "gemm"),
        ("sgemm_32x32", "gemm"),
        ("triton_poi_1", "fused"),
    ]
    calls = [
        ("triton_poi_0", "a"),
        ("torch.ops.aten._scaled_dot_product_efficient_attention.default", "attend"),
        ("extern_kernels.addmm", "out"),
        ("extern_kernels.addmm", "fc1"),
        ("extern_kernels.mm", "fc2"),
        ("triton_poi_1", "b"),
    ]
    trace = make_trace(
        spans=[GRAPH],
        kernels=[
            kernel(name, 0, 1, primitive=primitive, link="graph") for name, primitive in names
        ],
        provenance=[node(at, call, module, 1) for at, (call, module) in enumerate(calls)],
    )
    assert [part[1] for part in parts(trace)] == [
        "a",
        "attend",
        "out",
        "out",
        "fc1",
        "fc1",
        "fc2",
        "b",
    ]


def test_repeated_layers_are_told_apart_around_library_calls() -> None:
    names = [
        ("triton_a", "fused"),
        ("g1", "gemm"),
        ("triton_b", "fused"),
        ("g2", "gemm"),
        ("g3", "gemm"),
    ] * 3
    names += [("triton_a", "fused"), ("triton_b", "fused")]
    kernels = [kernel(name, 0, 1, primitive=primitive, link="graph") for name, primitive in names]
    calls = [name if name.startswith("triton") else "extern_kernels.mm" for name, _ in names]
    modules = [f"{at}.{name}" for at, (name, _) in enumerate(names)]
    nodes = [
        node(at, call, module, 1)
        for at, (call, module) in enumerate(zip(calls, modules, strict=True))
    ]
    trace = make_trace(spans=[GRAPH], kernels=kernels, provenance=nodes)
    assert [part[:2] for part in parts(trace)] == list(enumerate(modules))


def test_layers_of_a_compiled_submodule_get_kernels() -> None:
    layers = [
        {"module_path": path, "class_name": name}
        for path, name in (
            ("net", "Net"),
            ("net.head", "Head"),
            ("net.head.a", "Linear"),
            ("net.head.b", "ReLU"),
        )
    ]
    trace = make_trace(
        layers=layers,
        spans=[
            {**GRAPH, "module_path": "net.head"},
            {**op(1, "triton_poi_0"), "module_path": "net.head"},
            op(2, "triton_poi_1"),
        ],
        kernels=[
            kernel("triton_poi_0", 1, 1000),
            kernel("triton_poi_1", 2, 10),
            kernel("stray", None, 30),
        ],
        provenance=[
            # Paths recorded while a submodule was compiled begin at that submodule.
            node(0, "triton_poi_0", "a", 300),
            node(0, "triton_poi_0", "b", 100),
            node(1, "triton_poi_1", "", 1, rule="root"),
        ],
    )
    frame = layers_with_kernels(trace).select(
        "layer", "class_name", "duration_total_ns", "low_ns", "high_ns", "evidence"
    )
    assert frame.rows() == [
        ("net.head.a", "Linear", 750, 500, 1000, "compile provenance: nn_module_stack"),
        ("net.head.b", "ReLU", 250, 0, 500, "compile provenance: nn_module_stack"),
        ("(unattributed)", None, 40, 40, 40, "none"),
    ]


def test_communication_in_a_compiled_graph_stays_communication() -> None:
    trace = make_trace(
        spans=[GRAPH, op(1, "triton_poi_0")],
        kernels=[kernel("triton_poi_0", 1, 5, is_communication=True)],
        provenance=[node(0, "triton_poi_0", "a", 300)],
    )
    assert layers_with_kernels(trace)["layer"].to_list() == ["(communication)"]


def test_shares_of_nodes_without_bytes_are_equal() -> None:
    trace = make_trace(
        provenance=[node(0, "triton_poi_0", "a", 0), node(0, "triton_poi_0", "b", 0)]
    )
    assert kernel_shares(trace.provenance)["estimate_frac"].to_list() == [0.5, 0.5]


def sidecar(**changes: Any) -> dict[str, Any]:
    nodes = [
        {
            "node": "relu",
            "aten_op": "aten.relu.default",
            "module_path": "act",
            "rule": "nn_module_stack",
            "output_bytes": 4,
        }
    ]
    calls = [
        {"name": "triton_poi_0", "is_extern": False, "nodes": nodes},
        {"name": "triton_poi_1", "is_extern": False, "nodes": []},
    ]
    return {
        "format": "tracelens-provenance",
        "version": 1,
        "torch": "2.13.0",
        "rank": 3,
        "graphs": [{"key": KEY, "is_backward": False, "calls": calls}],
    } | changes


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_sidecar_is_found_by_its_content_and_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"some{suffix}"
    text = json.dumps(sidecar()).encode()
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    assert detect(path) == "provenance"
    rows = (
        collect(path)
        .provenance.select("rank", "call_order", "kernel_name", "node", "module_path", "rule")
        .rows()
    )
    assert rows == [
        (3, 0, "triton_poi_0", "relu", "act", "nn_module_stack"),
        (3, 1, "triton_poi_1", None, None, "none"),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            json.dumps(sidecar(notes=["note"])).replace('"note"', '"\udced"'),
            "expected a tracelens-provenance sidecar, found 'ut",
        ),
        (
            json.dumps(sidecar())[:-1] + ', "more": ' + "[" * 5000,
            "expected a tracelens-provenance sidecar",
        ),
        (
            json.dumps(sidecar(version=2)),
            "version 2, this tracelens reads tracelens-provenance up to 1",
        ),
        (json.dumps(sidecar(graphs=3)), "expected a tracelens-provenance sidecar"),
        (json.dumps(sidecar())[:-9], "expected a tracelens-provenance sidecar"),
        (
            json.dumps(sidecar()).replace('"output_bytes": 4', f'"output_bytes": {2**63}'),
            "expected a tracelens-prov",
        ),
        (json.dumps(sidecar(rank=-5)), "claims rank -5; ranks are whole numbers"),
    ],
)
def test_a_damaged_sidecar_says_what_is_wrong(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "sidecar.json"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(SourceError, match=said):
        collect(path)


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures of compiled models are not here")
@pytest.mark.parametrize("kind", ["infer", "train"])
def test_all_kernels_of_graphs_on_an_h200_are_matched(kind: str) -> None:
    """The prototype that made the sidecars matched all of these, by another way.

    See notes/torch-trace.md.
    """
    recorded = json.loads(
        gzip.decompress((CAPTURES / f"resnet50_inductor_{kind}.sidecar.json.gz").read_bytes())
    )
    rows = [
        {
            "rank": 0,
            "graph_key": key,
            "is_backward": graph["backward"],
            "call_order": order,
            "kernel_name": call["name"],
            "is_extern": call["extern"],
            "node": n["node"],
            "aten_op": n["op"],
            "module_path": n["mod"],
            "rule": n["how"],
            "output_bytes": n["bytes"],
        }
        for key, graph in recorded.items()
        for order, call in enumerate(graph["kernels"])
        for n in call["nodes"] or [dict.fromkeys(("node", "op", "mod", "how", "bytes"))]
    ]
    trace = collect(CAPTURES / f"resnet50_inductor_{kind}.pt.trace.json.gz")
    frame = split_kernels(
        trace.kernels, trace.spans, pl.DataFrame(rows, schema_overrides={"rank": pl.Int32})
    )
    by_kernel = frame.group_by("kernel_id").agg(pl.col("estimate_ns").sum())
    checked = by_kernel.join(trace.kernels, on="kernel_id")
    assert (checked["estimate_ns"] == checked["duration_ns"]).all()
    # What is generated and has nodes: kernels of the first pass over the weights have none.
    nodeless = {row["kernel_name"] for row in rows if row["node"] is None}
    generated = trace.kernels.filter(
        pl.col("name").str.starts_with("triton_") & ~pl.col("name").is_in(nodeless)
    )
    assert generated.join(frame, on="kernel_id", how="anti").height == 0
    convolutions = trace.kernels.filter(
        (pl.col("primitive") == "conv") & (pl.col("library") != "triton")
    )
    paths = frame.join(convolutions, on="kernel_id", how="semi")["module_path"].unique()
    assert paths.str.contains("conv|downsample.0").all()
    assert paths.len() == 53


@pytest.mark.parametrize("version", ["2.8.0", "2.9.1", "2.10.0"])
def test_records_of_older_versions_are_in_model_order(version: str) -> None:
    """Recorded by the versions themselves, on the CPU, with the script beside.

    Expected is the order of its model.
    """
    trace = collect(ROOT / "tests/data/inductor_versions" / version)
    (recorded,) = (source for source in trace.manifest.sources if source["kind"] == "provenance")
    assert recorded["versions"] == {"torch": f"{version}+cpu"}
    runs = trace.spans.filter(pl.col("name").str.starts_with("## Call CompiledFxGraph"))
    of_runs = runs["name"].str.extract(r"^## Call CompiledFxGraph (\S+) ##$").value_counts()
    assert dict(of_runs.iter_rows()) == dict.fromkeys(trace.provenance["graph_key"].unique(), 2)
    calls: dict[bool, list[tuple[str, set[str]]]] = {False: [], True: []}
    for (is_backward, _, name), part in trace.provenance.group_by(
        "is_backward", "call_order", "kernel_name", maintain_order=True
    ):
        calls[bool(is_backward)].append((str(name), set(part["module_path"])))
    forward = [
        (w, paths)
        for name, paths in calls[False]
        for w in ("relu", "tanh", "kernels.")
        if w in name
    ]
    assert forward == [
        ("kernels.", {"conv"}),
        ("kernels.", {"first"}),
        ("relu", {"act"}),
        ("kernels.", {"blocks.0"}),
        ("tanh", {"blocks.1"}),
        ("kernels.", {"head"}),
    ]
    # Two products a linear layer, for its weight and for its input; the last, what made its input
    # too.
    products = [paths for name, paths in calls[True] if name == "extern_kernels.mm"]
    assert products == [{"head"}, {"head"}, {"blocks.0"}, {"blocks.0"}, {"first"}, {"first"}]
    ((_, last),) = [call for call in calls[True] if "convolution_backward" in call[0]]
    assert "conv" in last
    assert not set(trace.provenance["rule"]) & {"source_comment", "none"}
