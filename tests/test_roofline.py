"""The roofline: by hand, and on real captures beside torch's own counts."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tests.command_line import command_line
from tests.sources import SAMPLES, collected, torch_trace
from tracelens.advisor.measuring import peaks
from tracelens.analyses import roofline
from tracelens.analyses.roofline import ANALYSIS
from tracelens.derive.kernels.peaks import Peaks, peaks_of, read_peaks
from tracelens.errors import MissingTableError, SourceError
from tracelens.report import build_report
from tracelens.views.charts import draw

Row = dict[str, Any]
PRODUCTS = SAMPLES / "roofline" / "products.pt.trace.json.gz"
COUNTS = json.loads((SAMPLES / "roofline" / "counts.json").read_text())
GPU = [{"device_id": 0, "name": "GPU"}]
PEAKS = Peaks("GPU", {"fp32": 1e12, "tf32": 4e12}, 1e11, "measured")
"""The ridge is at 10 operations a byte in float32, and at 40 in TF32."""
MM = {
    "kind": "op",
    "name": "aten::mm",
    "input_shapes": "[[100, 100], [100, 100]]",
    "input_dtypes": '["float", "float"]',
    "input_strides": "[[100, 1], [100, 1]]",
    "concrete_inputs": "[null, null]",
}
"""2,000,000 operations on 120,000 bytes: 16.7 a byte."""


def ops(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of ops alone."""
    return frame.filter(~pl.col("op").str.starts_with("("))


def test_an_op_its_step_and_what_is_not_modelled() -> None:
    """A product of 4 µs (0.5 TFLOP/s, 30 GB/s), one of 8 by TF32, another kernel of 8 µs."""
    trace = make_trace(
        devices=GPU,
        spans=[MM | {"step": 0}, MM | {"step": 1}, {"kind": "op", "name": "aten::add", "step": 1}],
        kernels=[
            {"span_id": 0, "duration_ns": 4_000, "step": 0, "name": "sgemm"},
            {"span_id": 2, "duration_ns": 8_000, "step": 1},
        ],
        steps=[{"step": 0, "duration_ns": 20_000}, {"step": 1, "duration_ns": 50_000}],
    )
    found = roofline(trace, peaks=PEAKS)
    shown = (
        "op",
        "shapes",
        "dtypes",
        "n_calls",
        "flops",
        "least_bytes",
        "duration_total_ns",
        "share_frac",
    )
    assert found.filter(pl.col("step").is_null()).select(shown).rows() == [
        ("(not modelled)", None, None, None, None, None, 8_000, 8 / 12),
        ("aten::mm", "100x100 100x100", "float32", 1, 2e6, 120_000, 4_000, 4 / 12),
    ]
    rates = (
        "flops_per_s",
        "bandwidth_bytes_per_s",
        "roof",
        "peak_frac",
        "precision",
        "peak_flops_per_s",
        "evidence",
    )
    assert ops(found).select(rates).rows() == [
        (0.5e12, 3e10, "compute", 0.5, "fp32", 1e12, "measured")
    ]
    # 2e6 operations take 2 µs of the step's 20 at the peak; the second step has none that is
    # modelled.
    steps = found.filter(pl.col("op") == "(step)").select(
        "step", "mfu_frac", "share_frac", "duration_total_ns"
    )
    assert steps.rows() == [(0, pytest.approx(0.1), 1, 4_000), (1, None, 0, 8_000)]
    assert ANALYSIS.notes is not None
    # At its roof the product of 4 µs would take 2: two of the twelve.
    assert ANALYSIS.notes(trace, found)[:3] == [
        (
            "0.0% of kernel time is within 20 % of its roof. At its roof, the rest would take"
            " 2.00 µs less (16.7% of kernel time); most to gain: aten::mm 2.00 µs."
        ),
        "Modelled: 1 calls, 0.002 GFLOP, 33.3% of kernel time. Not modelled: 66.7%, of it aten::add 100%.",
        "Model FLOP utilization of a step: 10.0% in the median, 10.0% to 10.0%.",
    ]


@pytest.mark.parametrize(
    ("kernel", "dtype", "expected"),
    [
        # 0.5 of TF32's 4 TFLOP/s, but 16.7 operations a byte are less than its ridge: 30 of 100
        # GB/s.
        ("sm80_xmma_gemm_tf32f32_tf32f32", "float", ("tf32", "memory", 0.3)),
        ("cutlass_80_tensorop_s1688gemm_128x128", "float", ("tf32", "memory", 0.3)),
        ("sm90_tf32_like_name", "double", ("fp64", None, None)),
        # Four real products: 8,000,000 operations, 33 a byte, at twice the peak.
        ("cgemm", "c10::complex<float>", ("fp32", "compute", 2.0)),
        ("sgemm", "c10::BFloat16", ("bf16", None, None)),
        ("sgemm", "mystery", (None, None, None)),
    ],
)
def test_the_peak_is_of_the_precision_that_ran(
    kernel: str, dtype: str, expected: tuple[object, ...]
) -> None:
    mm = MM | {"input_dtypes": json.dumps([dtype] * 2)}
    kernels = [{"span_id": 0, "duration_ns": 4_000, "name": kernel, "step": 0}]
    trace = make_trace(
        devices=GPU, spans=[mm], kernels=kernels, steps=[{"step": 0, "duration_ns": 9_000}]
    )
    found = roofline(trace, peaks=PEAKS)
    assert ops(found).select("precision", "roof", "peak_frac").row(0) == expected
    if expected[1] is None:  # then a step's utilization is not known either, and the reason is
        assert found["mfu_frac"].count() == 0
        assert "no peak of" in ops(found)["evidence"][0]


def test_of_nested_ops_the_innermost_modelled_one_counts() -> None:
    """conv2d > convolution > _convolution > cudnn_convolution, with a bias added beside them."""
    said = "[[1, 1, 4, 4], [1, 1, 3, 3], [1]]", '["float", "float", "float"]'
    outer: Row = {"kind": "op", "input_shapes": said[0], "input_dtypes": said[1]}
    values = "[null, null, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1]"
    spans: list[Row] = [
        outer
        | {
            "name": "aten::conv2d",
            "concrete_inputs": "[null, null, null, [1, 1], [0, 0], [1, 1], 1]",
        },
        outer | {"name": "aten::convolution", "parent_id": 0, "concrete_inputs": values},
        outer | {"name": "aten::_convolution", "parent_id": 1, "concrete_inputs": values},
        outer
        | {
            "name": "aten::cudnn_convolution",
            "parent_id": 2,
            "concrete_inputs": "[null, null, [0, 0], [1, 1], [1, 1], 1, false, false, true]",
        },
        {"kind": "op", "name": "aten::add_", "parent_id": 2},
    ]
    kernels = [
        {"span_id": 3, "duration_ns": 5},
        {"span_id": 3, "duration_ns": 6},
        {"span_id": 4, "duration_ns": 7},
    ]
    found = roofline(make_trace(devices=GPU, spans=spans, kernels=kernels))
    columns = ("op", "n_calls", "n_kernels", "flops", "duration_total_ns")
    assert found.select(columns).rows() == [
        ("aten::cudnn_convolution", 1, 2, 2 * 4 * 9, 11),
        ("(not modelled)", None, 1, None, 7),
    ]
    # Where the innermost's inputs do not tell, the one around it counts, with all that ran in it.
    blind = [
        span | ({"concrete_inputs": "[]"} if span["name"] == "aten::cudnn_convolution" else {})
        for span in spans
    ]
    found = roofline(make_trace(devices=GPU, spans=blind, kernels=kernels))
    assert found.select(columns).rows() == [
        ("aten::_convolution", 1, 3, 2 * 4 * 9, 18),
        ("(not modelled)", None, 0, None, 0),
    ]


def test_kernels_of_no_time_and_no_known_device_have_no_rates() -> None:
    trace = make_trace(devices=GPU, spans=[MM], kernels=[{"span_id": 0}])
    found = ops(roofline(trace)).row(0, named=True)
    assert (found["flops_per_s"], found["peak_frac"], found["share_frac"]) == (None, None, None)
    assert found["evidence"] == "no peaks of GPU are known; measure them with tracelens peaks"
    without = make_trace(spans=[MM], kernels=[{"span_id": 0, "duration_ns": 8}])
    assert ops(roofline(without))["evidence"].to_list() == [
        "no peaks: the trace does not describe the device"
    ]


def test_without_shapes_it_says_what_to_record() -> None:
    spans = [{"kind": "op", "name": "aten::mm"}]
    trace = make_trace(spans=spans, kernels=[{"span_id": 0}])
    with pytest.raises(MissingTableError, match="record_shapes=True"):
        roofline(trace)
    # With shapes, and none of an op that is modelled, all time is not modelled.
    spans = [{"kind": "op", "name": "aten::add", "input_shapes": "[[2]]"}]
    found = roofline(make_trace(spans=spans, kernels=[{"span_id": 0, "duration_ns": 3}]))
    assert found.select("op", "share_frac").rows() == [("(not modelled)", 1.0)]


def test_the_operations_of_a_program_are_torchs() -> None:
    """Every op that FlopCounterMode counted on the GPU, with the same number per step.

    Forward and backward count.
    """
    found = ops(roofline(collected(PRODUCTS)))
    named = dict(
        found.filter(pl.col("flops") > 0)
        .group_by(pl.col("op").str.strip_prefix("aten::"))
        .agg(pl.col("flops").sum() / 2)
        .iter_rows()
    )
    convolutions = named.pop("cudnn_convolution") + named.pop(
        "_convolution"
    )  # a transposed one is not modelled alone
    assert {f"aten.{name}": flops for name, flops in named.items()} | {
        "aten.convolution": convolutions
    } == COUNTS["flops_a_step"]
    causal = found.filter(pl.col("op").str.contains("attention"))
    # Each kind ran plain and causal.
    assert causal["needed_flops"].to_list() == (causal["flops"] * 0.75).to_list()


def test_convolutions_of_resnet50() -> None:
    found = ops(roofline(torch_trace("resnet50_eager")))
    convolutions = found.filter(pl.col("op") == "aten::cudnn_convolution")
    assert convolutions["n_calls"].sum() == 159
    assert convolutions["flops"].sum() == pytest.approx(784.730e9, abs=0.5e6)
    (first,) = convolutions.filter(shapes="32x3x224x224 64x3x7x7").iter_rows(named=True)
    assert first["flops"] / first["n_calls"] == pytest.approx(7.552893e9, abs=500)


def test_attention_of_llama_and_products_of_bert() -> None:
    found = roofline(torch_trace("llama_train"))
    (forward,) = found.filter(op="aten::_scaled_dot_product_cudnn_attention").iter_rows(named=True)
    (backward,) = found.filter(op="aten::_scaled_dot_product_cudnn_attention_backward").iter_rows(
        named=True
    )
    assert forward["n_calls"] == 8
    assert forward["flops"] / 8 == pytest.approx(8.589935e9, abs=500)
    assert forward["needed_flops"] / 8 == pytest.approx(4.294967e9, abs=500)
    assert backward["flops"] == 2.5 * forward["flops"]
    found = roofline(torch_trace("bert_train")).filter(
        pl.col("op").is_in(["aten::mm", "aten::addmm"])
    )
    assert found["n_calls"].sum() == 217
    assert found["duration_total_ns"].sum() == pytest.approx(3.597e6, abs=500)


@pytest.mark.parametrize(
    "name",
    ["resnet50_eager", "resnet50_train_f32_pinned", "resnet50_inductor", "resnet50_cudagraph"],
)
def test_rows_sum_to_the_kernel_total(name: str) -> None:
    trace = torch_trace(name)
    found = roofline(trace)
    whole = found.filter(pl.col("step").is_null())
    assert whole["duration_total_ns"].sum() == trace.kernels["duration_ns"].sum()
    assert whole["n_kernels"].sum() == trace.kernels.height
    assert whole["share_frac"].sum() == pytest.approx(1)
    assert whole.filter(op="(not modelled)").height == 1
    # A 1x1 convolution with strides of 2 reads a quarter of its input, and comes to 106 % in
    # resnet50_inductor.
    products = found.filter(pl.col("flops") > 0)
    known = products.filter(pl.col("shapes") != "32x256x56x56 512x256x1x1")[
        "peak_frac"
    ].drop_nulls()
    assert ((known > 0) & (known < 1)).all()


@pytest.mark.parametrize("base", ["vit_capture", "vit_eager"])
def test_replays_have_the_work_of_their_capture(base: str) -> None:
    """The same program ran eagerly, and twice as a graph: the same operations, by all kernels."""
    graphs = SAMPLES / "graphs"
    replay, eager = (
        collected(graphs / f"{name}.pt.trace.json.gz") for name in ("vit_replay", "vit_eager")
    )
    found = roofline(replay, base=collected(graphs / f"{base}.pt.trace.json.gz"))
    assert found["flops"].sum() == roofline(eager)["flops"].sum()
    whole = found.filter(pl.col("step").is_null())
    assert whole["n_kernels"].sum() == replay.kernels.height
    assert whole.filter(op="(not modelled)")["n_kernels"].to_list() == [0]


def test_a_capture_of_another_batch_tells_nothing_of_a_replay() -> None:
    graphs = SAMPLES / "graphs"
    replay = collected(graphs / "vit_replay.pt.trace.json.gz")
    other = collected(graphs / "vit_capture_batch4.pt.trace.json.gz")
    assert roofline(replay, base=other)["op"].to_list() == ["(not modelled)"]


def test_peaks_of_a_file_are_taken_for_its_device(tmp_path: Path) -> None:
    peaks = read_peaks(SAMPLES / "roofline" / "h200.json")
    assert peaks_of("NVIDIA H200", peaks) is peaks
    sheet = peaks_of("NVIDIA A100-SXM4-80GB", peaks)
    assert sheet is not None
    assert (sheet.flops_per_s["bf16"], sheet.bandwidth_bytes_per_s) == (312e12, 2039e9)
    h200 = peaks_of("NVIDIA H200", None)
    assert h200 is not None
    assert all(rate < h200.flops_per_s[name] for name, rate in peaks.flops_per_s.items())
    assert [peaks_of(name, None) for name in ("NVIDIA H200 NVL", "NVIDIA A10G", "unknown")] == [
        None
    ] * 3
    own = ops(roofline(collected(PRODUCTS), peaks=peaks))
    assert own["evidence"].unique().to_list() == ["measured on 2026-11-22 with torch 2.11.0+cu130"]
    with pytest.raises(SourceError, match="the peaks are of GPU, and the trace is of NVIDIA H200"):
        roofline(collected(PRODUCTS), peaks=PEAKS)


@pytest.mark.parametrize(
    ("device", "gigahertz", "units"),
    [("MI355X", 2.4, 256), ("MI350X", 2.2, 256), ("MI300X OAM", 2.1, 304), ("MI325X", 2.1, 304)],
)
def test_peaks_follow_from_clocks_and_units(device: str, gigahertz: float, units: int) -> None:
    """AMD states FP8 operations per clock and compute unit: 8,192 of CDNA 4, 4,096 of CDNA 3."""
    peaks = peaks_of(f"AMD Instinct {device}", None)
    assert peaks is not None
    a_clock = 8192 if units == 256 else 4096
    assert peaks.flops_per_s["fp8"] == pytest.approx(a_clock * units * gigahertz * 1e9, rel=1e-3)
    assert peaks.flops_per_s["fp32"] == pytest.approx(256 * units * gigahertz * 1e9, rel=1e-3)


def test_products_of_integers_have_a_peak_of_their_own() -> None:
    """4,096³ in 139.1 µs is half of 1,979 TOP/s; what takes larger numbers has no such peak."""
    of_int8 = MM | {
        "input_shapes": "[[4096, 4096], [4096, 4096]]",
        "input_dtypes": '["signed char", "signed char"]',
        "input_strides": None,
    }
    spans = [of_int8 | {"name": name} for name in ("aten::_int_mm", "aten::maximum")]
    kernels = [{"span_id": number, "duration_ns": 139_100} for number in (0, 1)]
    trace = make_trace(spans=spans, kernels=kernels, devices=[{"name": "NVIDIA H200"}])
    rows = {row["op"]: row for row in roofline(trace).iter_rows(named=True)}
    product = rows["aten::_int_mm"]
    assert product["precision"] == "int8"
    assert product["peak_frac"] == pytest.approx(2 * 4096**3 / 139.1e-6 / 1979e12, rel=1e-6)
    assert 0.49 < product["peak_frac"] < 0.51
    assert rows["aten::maximum"]["precision"] is None


def test_every_device_asked_for_has_peaks() -> None:
    nvidia = "H100 80GB HBM3,H200,B200,B300 SXM6 AC,A100-SXM4-80GB,L40S,GeForce RTX 4090"
    names = [f"NVIDIA {name}" for name in (*nvidia.split(","), "GeForce RTX 5090")]
    names += [f"AMD Instinct {name}" for name in ("MI210", "MI250X", "MI300X", "MI355X")]
    names += ["Tesla V100-SXM2-16GB"]
    known = [peaks_of(name, None) for name in names]
    assert all(peaks and peaks.source and "fp16" in peaks.flops_per_s for peaks in known)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "expected peaks as JSON"),
        ("{", "expected peaks as JSON"),
        (
            (
                '{"device": "GPU", "date": "d", "flops_per_s": {"fp32": 0},'
                ' "bandwidth_bytes_per_s": 1}'
            ),
            "peak above 0 of fp32",
        ),
        (
            '{"device": "GPU", "date": "d", "flops_per_s": {}, "bandwidth_bytes_per_s": "1"}',
            "expected peaks as JSON",
        ),
        (None, "cannot be read"),
    ],
)
def test_a_file_without_peaks_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, said: str
) -> None:
    path = tmp_path / "peaks.json"
    if text is not None:
        path.write_text(text)
    ended = command_line(capsys, "report", PRODUCTS, "--section", "roofline", "--peaks", path)
    assert (ended.code, ended.out) == (1, "")
    (line,) = ended.err.splitlines()
    assert said in line
    assert "tracelens peaks --out peaks.json" in line


def test_the_chart_has_a_roof_for_each_precision() -> None:
    (section,) = build_report(collected(PRODUCTS), names=["roofline"]).sections
    (drawing,) = draw(section)
    spec = drawing.chart.to_dict()
    points, lines = (
        spec["datasets"][layer.get("data", spec["data"])["name"]] for layer in spec["layer"]
    )
    products = ops(section.frame).filter(pl.col("flops") > 0)
    assert len(points) == products["precision"].count()
    tops = {line["precision"]: line["y"] for line in lines}  # of each the last, right of the ridge
    assert tops == {"fp32": 67.0, "tf32": 494.5, "bf16": 989.5, "fp8": 1979.0}


def test_peaks_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU, small and short. Every rate is there, and the file can be read."""
    torch = pytest.importorskip("torch", reason="peaks are measured with PyTorch")
    monkeypatch.setattr(
        peaks, "load_torch", lambda _: torch
    )  # the compiler, which it imports too, takes seconds
    monkeypatch.setattr(peaks, "_ROUND_NS", 100_000)
    found = peaks.measure_peaks("cpu", sizes=(16, 32), copied_bytes=1 << 12)
    assert {*found["flops_per_s"], *found["missing"]} == {"fp32", "tf32", "bf16", "fp16", "fp8"}
    assert all(
        rate > 0 for rate in [*found["flops_per_s"].values(), found["bandwidth_bytes_per_s"]]
    )
