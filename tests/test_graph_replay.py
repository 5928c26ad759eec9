"""Kernels of replayed CUDA graphs, placed by where their nodes were made or by another capture.

That capture is without graphs.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import tracelens as tl
from tests.cases import layers_with_kernels, make_trace
from tests.nsys_exports import KERNEL, NVTX, RUNTIME, call, kernel, packed, read_both_ways, strings
from tests.sources import MORE
from tracelens.analyses import layer_attribution
from tracelens.analyses.layer_attribution import notes
from tracelens.derive.layers.sequence_alignment import align
from tracelens.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
COMPILED = ROOT / "samples" / "thesis" / "captures" / "resnet50_compiled.tracelens"
LAYERS = [{"module_path": path, "class_name": path} for path in ("net", "net.a", "net.b")]
SPANS = [{"kind": "module", "module_path": path, "phase": "forward"} for path in ("net.a", "net.b")]


def base(*kernels: tuple[str, int | None, int]) -> Trace:
    """A run without graphs: name, span and time of each kernel in order."""
    rows = [
        {"name": name, "span_id": span, "duration_ns": ns, "start_ns": at}
        for at, (name, span, ns) in enumerate(kernels)
    ]
    return make_trace(layers=LAYERS, spans=SPANS, kernels=rows)


def replay(*names: str, launch: int = 0) -> Trace:
    """One replay of kernels that took 10 ns each."""
    rows = [
        {
            "name": name,
            "link": "graph",
            "api_call_id": launch,
            "duration_ns": 10,
            "start_ns": 100 + at,
        }
        for at, name in enumerate(names)
    ]
    return make_trace(kernels=rows, api_calls=[{"kind": "graph_launch", "start_ns": 50}])


def placed(trace: Trace, other: Trace | None) -> list[tuple[Any, ...]]:
    frame = layers_with_kernels(trace, base=other)
    assert frame["duration_total_ns"].sum() == trace.kernels["duration_ns"].sum()
    return frame.sort("layer").select("layer", "phase", "duration_total_ns", "evidence").rows()


def test_replayed_kernels_take_places_of_the_sequence() -> None:
    without = base(("relu", 0, 3), ("gemm", 0, 5), ("relu", 1, 7), ("softmax", None, 9))
    assert placed(replay("relu", "gemm", "relu", "softmax"), without) == [
        ("(unattributed)", None, 10, "none"),
        ("net.a", "forward", 20, "base capture"),
        ("net.b", "forward", 10, "base capture"),
    ]


def test_what_the_base_does_not_have_stays_unattributed() -> None:
    without = base(("relu", 0, 3), ("gemm", 0, 5), ("relu", 1, 7))
    assert placed(replay("relu", "gemm", "copy", "relu"), without) == [
        ("(unattributed)", None, 10, "none"),
        ("net.a", "forward", 20, "base capture"),
        ("net.b", "forward", 10, "base capture"),
    ]


def test_another_program_as_the_base_says_nothing() -> None:
    assert placed(replay("relu", "gemm", "copy", "relu"), base(("relu", 0, 3), ("conv", 0, 5))) == [
        ("(unattributed)", None, 40, "none")
    ]
    assert placed(replay("relu"), None) == [("(unattributed)", None, 10, "none")]
    # One of two kernels is enough alike.
    assert placed(replay("relu", "gemm"), base(("relu", 0, 3), ("conv", 0, 5))) == [
        ("(unattributed)", None, 10, "none"),
        ("net.a", "forward", 10, "base capture"),
    ]


def test_a_base_with_graphs_of_its_own_places_nothing_by_them() -> None:
    assert placed(replay("relu"), replay("relu")) == [("(unattributed)", None, 10, "none")]


def test_nodes_order_what_runs_side_by_side() -> None:
    """On two streams kernels start in an order of their own.

    Nodes keep the order in which they were captured.
    """
    rows = [
        {
            "name": "b",
            "link": "graph",
            "api_call_id": 0,
            "duration_ns": 1,
            "start_ns": 100,
            "graph_node_id": 8,
        },
        {
            "name": "a",
            "link": "graph",
            "api_call_id": 0,
            "duration_ns": 2,
            "start_ns": 101,
            "graph_node_id": 7,
        },
    ]
    trace = make_trace(kernels=rows, api_calls=[{"kind": "graph_launch", "start_ns": 50}])
    assert placed(trace, base(("a", 0, 3), ("b", 1, 5))) == [
        ("net.a", "forward", 2, "base capture"),
        ("net.b", "forward", 1, "base capture"),
    ]


def test_a_kernel_split_in_the_base_is_split_alike() -> None:
    graph = {"name": "## Call CompiledFxGraph k ##", "kind": "annotation"}
    nodes = [
        {
            "graph_key": "k",
            "kernel_name": "triton_0",
            "module_path": path,
            "output_bytes": n,
            "node": path,
            "rule": "nn_module_stack",
        }
        for path, n in (("a", 300), ("b", 100))
    ]
    kernels = [{"name": "triton_0", "span_id": 0, "duration_ns": 1000}]
    without = make_trace(spans=[graph], kernels=kernels, provenance=nodes)
    frame = layers_with_kernels(replay("triton_0"), base=without).sort("layer")
    # By bytes 3 : 1, equally 1 : 1, all for the one with most bytes 1 : 0; of 10 ns that is 7 and
    # 3, 5 and 5, 10 and 0.
    assert frame.select("layer", "low_ns", "estimate_ns", "high_ns").rows() == [
        ("a", 5, 7, 10),
        ("b", 0, 3, 5),
    ]


def test_notes_say_what_placed_replays_or_would() -> None:
    trace, without = replay("relu"), base(("relu", 0, 3))
    assert "--against" in " ".join(notes(trace, layer_attribution(trace)))
    said = " ".join(notes(trace, layer_attribution(trace, base=without)))
    assert "Layers that have 100.0% of kernel time" in said
    assert "layers are unknown" not in said


@pytest.mark.parametrize(
    ("mine", "theirs", "found"),
    [
        ((), (1, 2), []),
        ((1, 2), (), [None, None]),
        ((1, 2, 3), (1, 2, 3), [0, 1, 2]),
        ((1, 2, 3), (1, 3), [0, None, 1]),
        ((2, 3), (1, 2, 3), [1, 2]),
        ((1, 1, 1), (1, 1), [0, 1, None]),
        ((5, 1, 2, 6), (7, 1, 2, 8), [None, 1, 2, None]),
    ],
)
def test_alignment(mine: tuple[int, ...], theirs: tuple[int, ...], found: list[int | None]) -> None:
    assert align(mine, theirs) == found


SHORT = st.lists(st.integers(0, 2), max_size=12).map(tuple)


@given(SHORT, SHORT)
def test_alignment_pairs_as_many_as_can_be_in_order(
    mine: tuple[int, ...], theirs: tuple[int, ...]
) -> None:
    found = align(mine, theirs)
    pairs = [(at, place) for at, place in enumerate(found) if place is not None]
    assert all(mine[at] == theirs[place] for at, place in pairs)
    assert [place for _, place in pairs] == sorted({place for _, place in pairs})
    # The textbook's table of longest common subsequences.
    above = [0] * (len(theirs) + 1)
    for code in mine:
        row = [0]
        for at, other in enumerate(theirs):
            row.append(above[at] + 1 if code == other else max(above[at + 1], row[at]))
        above = row
    assert len(pairs) == above[-1]


def test_alignment_of_thousands_keeps_what_is_alike() -> None:
    block = (1, 2, 3, 2, 4, 2, 5)
    theirs = block * 600
    mine = tuple(code for at, code in enumerate(theirs) if at % 700 != 3)
    found = align(mine, theirs)
    assert None not in found
    assert all(
        theirs[place] == code for code, place in zip(mine, found, strict=True) if place is not None
    )


def test_a_capture_as_its_own_replay_is_placed_by_provenance() -> None:
    recorded = tl.open(COMPILED)
    kernels = recorded.kernels.sort("start_ns").with_columns(
        link=pl.lit("graph"), span_id=pl.lit(None, pl.Int64), api_call_id=pl.col("step") - 3
    )
    calls = [
        {"kind": "graph_launch", "start_ns": int(kernels["start_ns"][0]) + step}
        for step in range(3)
    ]
    blind = make_trace(api_calls=calls)
    blind = Trace(
        blind.manifest,
        {name: blind.scan(name) for name in tl.schemas.TABLES} | {"kernels": kernels.lazy()},
    )
    columns = ["layer", "phase", "n_kernels", "duration_total_ns"]
    found = layers_with_kernels(blind, base=recorded)
    # The run that places is one step of three, so parts of a kernel may round otherwise, by a
    # nanosecond each.
    both = found.select(columns).join(
        layers_with_kernels(recorded).select(columns), on=["layer", "phase"], how="full"
    )
    assert both["layer"].null_count() == both["layer_right"].null_count() == 0
    assert (both["n_kernels"] == both["n_kernels_right"]).all()
    apart = both.select(
        (pl.col("duration_total_ns") - pl.col("duration_total_ns_right")).abs().max()
    ).item()
    assert apart <= 20 * 3
    assert set(found["evidence"]) == {"base capture"}


@pytest.mark.skipif(not MORE.is_dir(), reason="the captures of reduce-overhead are not here")
@pytest.mark.parametrize(
    "name", ["torch/resnet50_cudagraph.pt.trace.json.gz", "nsys/cudagraph_resnet50.sqlite"]
)
def test_replays_on_an_h200_are_placed_by_the_default_mode(name: str) -> None:
    """375 kernels of ResNet-50 under reduce-overhead. nsys spells their names otherwise."""
    trace, without = tl.collect(MORE / name), tl.open(COMPILED)
    frame = layers_with_kernels(trace, base=without)
    assert frame["duration_total_ns"].sum() == trace.kernels["duration_ns"].sum()
    # The three copies of inputs before each replay are no part of the graph.
    assert trace.kernels.filter(link="graph").height == 375
    (left,) = frame.filter(pl.col("evidence") != "base capture").to_dicts()
    assert (left["layer"], left["n_kernels"]) == ("(unattributed)", 3)
    # By what the layers are: what convolves or multiplies matrices is in the 53 convolutions and
    # the classifier.
    main = pl.col("primitive_conv_ns") + pl.col("primitive_gemm_ns")
    heavy = frame.filter(main > 0)
    assert heavy["layer"].str.contains(r"conv\d$|downsample\.0$|^fc$").all()
    assert heavy.height == 54
    of_kernels = trace.kernels.filter(pl.col("primitive").is_in(["conv", "gemm"]))[
        "duration_ns"
    ].sum()
    assert heavy.select(main.sum()).item() == of_kernels


def test_a_node_is_placed_where_it_was_captured(tmp_path: Path) -> None:
    """The node was captured within a module's range.

    It was copied when the graph was made, and replayed within no range.
    """
    thread = packed(7, 8)

    def ran(start: int, end: int, text: str) -> dict[str, Any]:
        return {"start": start, "end": end, "eventType": 59, "text": text, "globalTid": thread}

    def node(start: int, number: int, original: int | None = None) -> dict[str, Any]:
        return {
            "start": start,
            "end": start,
            "globalTid": thread,
            "graphNodeId": number,
            "originalGraphNodeId": original,
        }

    capture = read_both_ways(
        tmp_path,
        {
            "StringIds": strings("cudaGraphLaunch_v10000", "gemm", "relu"),
            RUNTIME: [call(100, 110, 1, 9, thread)],
            NVTX: [
                ran(0, 50, "{'Module': 'model', 'Inputs': [[4, 8]]}"),
                ran(10, 20, "{'Module': 'model.layers.0', 'TrainableParams': {'weight': [8, 8]}}"),
                ran(30, 40, "capture"),
                ran(90, 120, "replay"),
            ],
            "CUDA_GRAPH_NODE_EVENTS": [
                node(15, 1),
                node(35, 2),
                node(60, 11, 1),
                node(61, 12, 2),
                node(62, 13),
            ],
            KERNEL: [
                kernel(200, 205, 2, 9, graphNodeId=11),
                kernel(210, 217, 3, 9, graphNodeId=12),
                kernel(220, 231, 3, 9, graphNodeId=13),
                kernel(240, 241, 3, 9, graphNodeId=99),
            ],
        },
    )
    spans = capture.tables["spans"]
    names = spans.select(node_span_id="span_id", made_in="name")
    kernels = capture.tables["kernels"].join(
        names, on="node_span_id", how="left", maintain_order="left"
    )
    assert [name and name[:26] for name in kernels["made_in"]] == [
        "{'Module': 'model.layers.0",
        "capture",
        None,
        None,
    ]
    assert spans.filter(kind="module")["module_path"].to_list() == ["model", "model.layers.0"]
    tables = {
        name: frame.with_columns(rank=pl.lit(0, pl.Int32)).lazy()
        for name, frame in capture.tables.items()
    }
    empty = make_trace()
    trace = Trace(
        empty.manifest, {name: tables.get(name, empty.scan(name)) for name in tl.schemas.TABLES}
    )
    assert sorted(placed(trace, None), key=str) == [
        # The root's own work says nothing of a layer; of 13 and 99 nobody knows where they were
        # made.
        ("(unattributed)", "forward", 7, "root module only"),
        ("(unattributed)", None, 11 + 1, "none"),
        ("model.layers.0", "forward", 5, "graph node"),
    ]
    assert "where the nodes of their CUDA graphs were made" in " ".join(
        notes(trace, layer_attribution(trace))
    )
    assert_frame_equal(layer_attribution(trace, base=trace), layer_attribution(trace))
