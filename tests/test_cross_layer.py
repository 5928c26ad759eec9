"""Op, library, primitive and family of the device time, and how much of it two runs share."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.cases import make_trace
from tests.command_line import command_line
from tests.sources import SAMPLES, check_kernel_time_adds_up, collected, torch_file, torch_trace
from tracelens.analyses import ANALYSES, compare_cross_layer, cross_layer, layer_attribution
from tracelens.analyses.analysis import SplitBars
from tracelens.report import run_section
from tracelens.schemas.device import FAMILIES, PRIMITIVES
from tracelens.trace import Trace
from tracelens.trace.capture import Manifest

STUDY = SAMPLES / "study" / "captures"
ROWS = ["op", "library", "primitive", "family", "n_calls", "n_kernels", "duration_total_ns"]


def kernel(library: str, primitive: str, ns: int, **more: Any) -> dict[str, Any]:
    return {"library": library, "primitive": primitive, "duration_ns": ns, **more}


def shares(trace: Trace, by: str) -> dict[str, float]:
    """Percent of the kernel total by family or primitive, to a digit."""
    frame = cross_layer(trace)
    total = frame["duration_total_ns"].sum()
    sums = frame.group_by(by).agg(pl.col("duration_total_ns").sum())
    return {word: round(100 * ns / total, 1) for word, ns in sums.iter_rows()}


def reuse(base: Trace, other: Trace) -> tuple[float, float]:
    """Percent of each side's time in kernels that the other runs too, by name, to a digit."""
    frame = compare_cross_layer(base, other)
    sums = frame.select(
        pl.col(f"{side}_{what}").sum() for side in ("base", "other") for what in _PARTS
    ).row(0)
    return round(100 * sums[0] / sums[1], 1), round(100 * sums[2] / sums[3], 1)


_PARTS = ("reused_ns", "duration_total_ns")


def test_rows_by_op_library_and_primitive_with_gains() -> None:
    trace = make_trace(
        sites=[
            {"site_id": 0, "op": "aten::conv2d"},
            {"site_id": 1, "op": "aten::relu"},
            {"site_id": 2, "op": None},
        ],
        api_calls=[
            {"site_id": 0, "op_span_id": 3},
            {"site_id": 0, "op_span_id": 3},
            {"site_id": 0, "op_span_id": 7},
            {"site_id": 1, "op_span_id": 9},
            {"site_id": 2},
        ],
        kernels=[
            kernel("cudnn", "layout", 10, site_id=0, api_call_id=0),
            kernel("cudnn", "conv", 30, site_id=0, api_call_id=1),
            kernel("cudnn", "conv", 10, site_id=0, api_call_id=2),
            kernel("aten", "elementwise", 30, site_id=1, api_call_id=3),
            kernel("cudnn", "conv", 20, site_id=2, api_call_id=4),
        ],
    )
    frame = cross_layer(trace)
    assert frame.select(ROWS).rows() == [
        ("aten::conv2d", "cudnn", "conv", "linear algebra", 2, 2, 40),
        ("aten::relu", "aten", "elementwise", "elementwise", 1, 1, 30),
        (None, "cudnn", "conv", "linear algebra", None, 1, 20),
        ("aten::conv2d", "cudnn", "layout", "movement", 1, 1, 10),
    ]
    assert frame["share_frac"].to_list() == [0.4, 0.3, 0.2, 0.1]
    assert frame["cumulative_frac"].to_list() == pytest.approx([0.4, 0.7, 0.9, 1.0])
    # All 60 ns of conv, wherever they are: 100 / (100 - 30), and 100 / 40 without them.
    assert frame["what_if_twice"].to_list() == pytest.approx(
        [100 / 70, 100 / 85, 100 / 70, 100 / 95]
    )
    assert frame["what_if_limit"].to_list() == pytest.approx([2.5, 100 / 70, 2.5, 100 / 90])
    assert frame["low_ns"].equals(frame["duration_total_ns"], check_names=False)
    notes = run_section(ANALYSES["cross_layer"], trace).notes
    assert (
        notes[0]
        == "Rank 0: linear algebra 60.0%, elementwise 30.0%, movement 10.0% of 0.10 µs of kernel"
        " time. Of 3 pairs of library and primitive, 2 take 90.0% of it, 3 take 100.0% of it."
    )
    assert (
        "if conv were twice as fast, all of kernel time would be 1.429 times as fast, and if"
        " it took no time, 2.500 times. A step may gain less, as it also waits for other things."
        in notes[1]
    )
    assert len(notes) == 2


def test_without_sites_the_outermost_op_is_from_spans() -> None:
    trace = make_trace(
        spans=[
            {"name": "step", "kind": "annotation"},
            {"name": "aten::linear", "kind": "op", "parent_id": 0},
            {"name": "aten::addmm", "kind": "op", "parent_id": 1},
        ],
        kernels=[kernel("cublas", "gemm", 5, span_id=2), kernel("cublas", "gemm", 4, span_id=None)],
    )
    assert cross_layer(trace).select(ROWS).rows() == [
        ("aten::linear", "cublas", "gemm", "linear algebra", 1, 1, 5),
        (None, "cublas", "gemm", "linear algebra", None, 1, 4),
    ]


def test_operators_are_named_below_an_op_that_is_none() -> None:
    trace = make_trace(
        spans=[
            {"name": "forward", "kind": "op"},
            {"name": "aten::conv2d", "kind": "op", "parent_id": 0},
            {"name": "aten::cudnn_convolution", "kind": "op", "parent_id": 1},
        ],
        sites=[{"site_id": 0, "op": "forward"}],
        kernels=[
            kernel("cudnn", "conv", 5, span_id=2, site_id=0),
            kernel("aten", "fused", 4, span_id=0, site_id=0),
        ],
    )
    assert cross_layer(trace).select("op", "n_calls", "duration_total_ns").rows() == [
        ("aten::conv2d", 1, 5),
        ("forward", 1, 4),
    ]


def test_one_primitive_alone_has_no_limit() -> None:
    frame = cross_layer(make_trace(kernels=[kernel("cublas", "gemm", 5)]))
    assert frame["what_if_twice", "what_if_limit"].row(0) == (2.0, None)


def test_kernels_of_no_duration_have_no_share() -> None:
    frame = cross_layer(make_trace(kernels=[kernel("cublas", "gemm", 0)]))
    assert frame["share_frac", "cumulative_frac", "what_if_twice", "what_if_limit"].row(0) == (
        0.0,
        0.0,
        1.0,
        None,
    )


def test_ranks_are_counted_apart() -> None:
    kernels = [
        kernel("cublas", "gemm", 5),
        kernel("cublas", "gemm", 6, rank=1),
        kernel("aten", "layout", 2, rank=1),
    ]
    frame = cross_layer(make_trace(kernels=kernels))
    assert frame.select("rank", "primitive", "share_frac").rows() == [
        (0, "gemm", 1.0),
        (1, "gemm", 0.75),
        (1, "layout", 0.25),
    ]


GRAPH = {"span_id": 0, "name": "## Call CompiledFxGraph k ##", "kind": "annotation"}


def node(call: int, kernel_name: str, aten_op: str | None, n_bytes: int) -> dict[str, Any]:
    return {
        "graph_key": "k",
        "call_order": call,
        "kernel_name": kernel_name,
        "aten_op": aten_op,
        "output_bytes": n_bytes,
        "is_extern": not kernel_name.startswith("triton"),
        "module_path": "a",
    }


def compiled(nodes: list[dict[str, Any]]) -> Trace:
    """A compiled graph that runs a fused kernel of 1000 ns and a convolution of 500."""
    return make_trace(
        spans=[
            {"name": "Torch-Compiled Region: 0/0", "kind": "op"},
            GRAPH | {"span_id": 1, "parent_id": 0},
            {"name": "triton_poi_0", "kind": "op", "parent_id": 1},
            {"name": "aten::convolution", "kind": "op", "parent_id": 1},
        ],
        kernels=[
            kernel("triton", "fused", 1000, name="triton_poi_0", span_id=2),
            kernel("cudnn", "conv", 500, name="conv", span_id=3),
        ],
        provenance=nodes,
    )


def test_a_fused_kernel_is_split_among_the_ops_it_was_made_of() -> None:
    trace = compiled(
        [
            node(0, "triton_poi_0", "aten.add.Tensor", 200),
            node(0, "triton_poi_0", "aten.add.Tensor", 100),
            node(0, "triton_poi_0", "aten.max_pool2d_with_indices.default", 100),
            # None of these is computed there: a view, a library's convolution, and what is no op.
            node(0, "triton_poi_0", "aten.unsqueeze.default", 800),
            node(0, "triton_poi_0", "aten.convolution.default", 800),
            node(0, "triton_poi_0", "<built-in function getitem>", 800),
            node(1, "extern_kernels.convolution", "aten.convolution.default", 100),
        ]
    )
    # By bytes 3 : 1, equally 1 : 1, all for the one with most bytes 1 : 0.
    assert cross_layer(trace).select(*ROWS, "low_ns", "high_ns").rows() == [
        ("aten::add", "triton", "elementwise", "elementwise", None, 1, 750, 500, 1000),
        ("aten::convolution", "cudnn", "conv", "linear algebra", 1, 1, 500, 500, 500),
        ("aten::max_pool2d_with_indices", "triton", "pooling", "reduction", None, 1, 250, 0, 500),
    ]
    notes = run_section(ANALYSES["cross_layer"], trace).notes
    (split,) = notes[2:]
    assert split.startswith(
        "2 rows hold parts of fused kernels, split by the bytes that each op writes"
    )


@pytest.mark.parametrize("nodes", [[], [node(0, "triton_poi_0", "aten.convolution.default", 800)]])
def test_a_fused_kernel_of_which_nothing_tells_stays_fused(nodes: list[dict[str, Any]]) -> None:
    trace = compiled(nodes)
    assert cross_layer(trace).select(ROWS).row(0) == (
        "Torch-Compiled Region: 0/0",
        "triton",
        "fused",
        "fused",
        1,
        1,
        1000,
    )
    said = run_section(ANALYSES["cross_layer"], trace).notes[-1]
    assert said.startswith("66.7% of kernel time is in fused kernels")
    assert ("collect torch --compile-provenance" in said) == (not nodes)


def of_cpu(blas: str | None = None) -> Trace:
    """A linear layer, a convolution and a ReLU on the CPU, 100 ns in all; a node of autograd."""
    ops = {
        "aten::linear": 10,
        "aten::addmm": 40,
        "aten::mkldnn_convolution": 30,
        "aten::clamp_min_": 12,
        "AddmmBackward0": 6,
        "mine::op": 2,
    }
    spans = [
        {"name": name, "kind": "op", "duration_ns": ns, "self_ns": ns} for name, ns in ops.items()
    ]
    plain = make_trace(spans=spans)
    return Trace(
        Manifest(sources=[{"settings": {"blas": blas}}]),
        {"spans": plain.spans.lazy()} | _others(plain),
    )


def _others(trace: Trace) -> dict[str, pl.LazyFrame]:
    return {name: trace.scan(name) for name in trace.summary()["table"] if name != "spans"}


def test_without_kernels_own_time_and_libraries_by_name() -> None:
    trace = of_cpu("open")
    assert cross_layer(trace).select(ROWS).rows() == [
        ("aten::addmm", "openblas", "gemm", "linear algebra", 1, 0, 40),
        ("aten::mkldnn_convolution", "onednn", "conv", "linear algebra", 1, 0, 30),
        ("aten::clamp_min_", "aten", "elementwise", "elementwise", 1, 0, 12),
        ("aten::linear", "aten", "gemm", "linear algebra", 1, 0, 10),
        ("AddmmBackward0", "other", "unknown", "other", 1, 0, 6),
        ("mine::op", "other", "unknown", "other", 1, 0, 2),
    ]
    notes = run_section(ANALYSES["cross_layer"], trace).notes
    assert "the BLAS of matrix products is openblas, which torch was built with" in notes[-1]


def test_a_blas_that_nothing_names_is_called_so() -> None:
    trace = of_cpu()
    assert cross_layer(trace)["library"][0] == "blas"
    assert "not recorded, so called blas" in run_section(ANALYSES["cross_layer"], trace).notes[-1]


def test_every_primitive_has_one_family() -> None:
    assert sorted(word for words in FAMILIES.values() for word in words) == sorted(PRIMITIVES)


def test_the_chart_has_a_bar_a_rank_by_library_within_family() -> None:
    kernels = [
        kernel("aten", "elementwise", 1),
        kernel("cublas", "gemm", 2),
        kernel("cudnn", "conv", 3),
        kernel("cudnn", "attention", 4),
        kernel("aten", "elementwise", 5, rank=1),
    ]
    trace = make_trace(kernels=kernels)
    charts = ANALYSES["cross_layer"].charts
    assert charts is not None
    (chart,) = charts(cross_layer(trace))
    assert isinstance(chart, SplitBars)
    assert list(chart.parts.values()) == [
        "linear algebra: cublas",
        "linear algebra: cudnn",
        "elementwise: aten",
    ]
    assert chart.frame.rows() == [(0, 2, 7, 1), (1, 0, 0, 5)]


def test_reuse_is_the_time_in_kernels_that_the_other_runs_too() -> None:
    base = make_trace(
        kernels=[
            kernel("cudnn", "conv", 60, name="a"),
            kernel("cudnn", "conv", 20, name="b"),
            kernel("aten", "elementwise", 20, name="c"),
        ]
    )
    other = make_trace(
        kernels=[
            kernel("cudnn", "conv", 10, name="a"),
            kernel("cudnn", "conv", 20, name="d"),
            kernel("cublas", "gemm", 10, name="e"),
        ]
    )
    frame = compare_cross_layer(base, other)
    assert frame.drop("rank", "family").rows() == [
        ("cudnn", "conv", 80, 0.8, 60, 30, 0.75, 10, "both"),
        ("aten", "elementwise", 20, 0.2, 0, 0, 0.0, 0, "only_base"),
        ("cublas", "gemm", 0, 0.0, 0, 10, 0.25, 0, "only_other"),
    ]
    assert (
        run_section(ANALYSES["compare_cross_layer"], other, base).notes[0]
        == "Rank 0: kernels that both runs have, by name, take 60.0% of kernel time in base and"
        " 25.0% in new; by library and primitive, 80.0% and 75.0%."
    )


def test_a_comparison_says_what_makes_the_sides_unlike() -> None:
    triton = [kernel("triton", "fused", 1)]
    with_ops = make_trace(kernels=triton, spans=[{"kind": "op"}])
    notes = run_section(ANALYSES["compare_cross_layer"], make_trace(kernels=triton), with_ops).notes
    assert "Base alone has ops" in notes[1]
    assert "names are numbered by the compilation" in notes[2]
    assert len(run_section(ANALYSES["compare_cross_layer"], with_ops, with_ops).notes) == 2


def test_eager_resnet50_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    # The sums were added up from the trace's events by other code than ours.
    path = torch_file("resnet50_eager")
    told = command_line(capsys, "report", path, "--section", "cross_layer", "--format", "json")
    rows = pl.DataFrame(json.loads(told.out)["sections"]["cross_layer"]["rows"])
    ns = pl.col("duration_total_ns").sum()
    assert dict(rows.group_by("primitive").agg(ns).iter_rows()) == {
        "conv": 5_697_802,
        "normalization": 3_821_651,
        "elementwise": 3_122_104,
        "layout": 1_777_751,
        "pooling": 311_934,
        "gemm": 76_288,
        "reduction": 52_575,
        "memory": 6_048,
    }
    assert dict(rows.group_by("library").agg(ns).iter_rows()) == {
        "cudnn": 8_479_002,
        "aten": 3_486_613,
        "cublas": 2_900_538,
    }
    assert rows["duration_total_ns"].sum() == 14_866_153
    pairs = rows.group_by("library", "primitive").agg(ns)["duration_total_ns"].sort(descending=True)
    until = (pairs.cum_sum() / 14_866_153 * 100).round(1)
    assert (until[3], until[4]) == (85.0, 97.0)
    assert rows.filter(primitive="conv")["what_if_twice"].round(3).unique().to_list() == [1.237]


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        ("eager", "libtorch", (100.0, 100.0)),
        ("eager", "torchscript", (100.0, 96.2)),
        ("cudnn", "eager", (88.3, 90.7)),
        ("compile", "eager", (29.1, 7.4)),
    ],
)
def test_reuse_among_the_levels_of_the_study(
    base: str, other: str, expected: tuple[float, float]
) -> None:
    # Found by other code than ours.
    assert (
        reuse(*(tl.open(STUDY / f"nsys_{level}.tracelens") for level in (base, other))) == expected
    )


@pytest.mark.parametrize(
    ("name", "percent"),
    [
        ("resnet50_eager", 38.8),
        ("resnet50_inductor", 63.2),
        ("alexnet_eager", 78.1),
        ("bert_eager", 69.9),
        ("llama_train", 36.6),
    ],
)
def test_linear_algebra_is_this_share_of_kernel_time(name: str, percent: float) -> None:
    assert shares(torch_trace(name), "family")["linear algebra"] == percent


def test_without_ops_convolution_by_product_counts_as_gemm() -> None:
    nsys = tl.open(STUDY / "nsys_eager.tracelens")
    found = shares(nsys, "primitive")
    assert (found["gemm"], found["conv"]) == (23.8, 21.8)
    assert any(
        "1×1 convolution" in note for note in run_section(ANALYSES["cross_layer"], nsys).notes
    )
    torch = torch_trace("resnet50_eager")
    found = shares(torch, "primitive")
    assert (found["gemm"], found["conv"]) == (0.5, 38.3)
    assert not any(
        "1×1 convolution" in note for note in run_section(ANALYSES["cross_layer"], torch).notes
    )


CAPTURES = sorted(
    path
    for pattern in ("*/captures/*.tracelens", "torch/*.pt.trace.json.gz", "nsys/*.sqlite")
    for path in SAMPLES.glob(pattern)
)
"""All bundled captures but those of planted causes, whose own test adds them up."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=f"{path.parent.parent.name}/{path.name}",
            marks=[] if at % 40 == 0 else pytest.mark.exhaustive,
        )
        for at, path in enumerate(CAPTURES)
    ],
)
def test_rows_add_up_to_the_kernels_of_every_bundled_capture(path: Path) -> None:
    trace = tl.open(path) if path.is_dir() else collected(path)
    if trace.has("kernels"):
        check_kernel_time_adds_up(trace)


def test_bundled_captures_are_found() -> None:
    assert len(CAPTURES) > 80


@pytest.mark.parametrize("model", ["alexnet", "densenet121", "resnet50"])
def test_what_is_split_is_what_layers_split(model: str) -> None:
    trace = tl.open(SAMPLES / "thesis" / "captures" / f"{model}_compiled.tracelens")
    frame = cross_layer(trace)
    by_layers = layer_attribution(trace)
    # Libraries are not split, and both split Triton's fused kernels and no others.
    for library in ("cudnn", "cublas", "triton"):
        assert (
            frame.filter(library=library)["duration_total_ns"].sum()
            == by_layers[f"library_{library}_ns"].sum()
        )
    split = frame.filter(pl.col("low_ns") < pl.col("high_ns"))
    assert split["library"].unique().to_list() == ["triton"]
    assert (split["low_ns"] <= split["duration_total_ns"]).all()
    assert (split["duration_total_ns"] <= split["high_ns"]).all()
