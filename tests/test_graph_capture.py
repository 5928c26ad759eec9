"""Replays of CUDA graphs, placed by the launches recorded while the graphs were captured."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.cases import layers_with_kernels, make_trace
from tracelens.analyses import layer_attribution
from tracelens.analyses.layer_attribution import notes
from tracelens.collectors import collect
from tracelens.trace import Trace

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "graphs"
LAYERS = [{"module_path": path, "class_name": path} for path in ("net", "net.a", "net.b")]
COLUMNS = ["layer", "n_kernels", "duration_total_ns", "evidence"]


def sample(name: str) -> Trace:
    return tl.collect(SAMPLES / f"{name}.pt.trace.json.gz")


def op(name: str, layer: str, shapes: str | None = None) -> dict[str, Any]:
    return {
        "kind": "op",
        "name": name,
        "module_path": layer,
        "phase": "forward",
        "input_shapes": shapes,
    }


def capture(*launches: tuple[dict[str, Any], dict[str, Any]], **more: Any) -> Trace:
    """A graph's capture: the op around each launch, and the launch's arguments."""
    calls = [{"kind": "other", "api": "cudaStreamBeginCapture", "start_ns": 0}]
    for at, (_, arguments) in enumerate(launches):
        calls.append(
            {
                "kind": "kernel_launch",
                "api": "cudaLaunchKernel",
                "start_ns": 10 + at,
                "span_id": at,
                **arguments,
            }
        )
    calls.append({"kind": "other", "api": "cudaStreamEndCapture", "start_ns": 99})
    return make_trace(
        layers=LAYERS, spans=[around for around, _ in launches], api_calls=calls, **more
    )


def kernel(
    name: str, primitive: str = "unknown", grid: tuple[int, int, int] | None = None, **more: Any
) -> dict[str, Any]:
    sizes = {f"grid_{axis}": n for axis, n in zip("xyz", grid or (), strict=False)}
    return {"name": name, "primitive": primitive, **sizes, **more}


def replay(*kernels: dict[str, Any]) -> Trace:
    """One replay of kernels that took 10 ns each."""
    rows = [
        {"link": "graph", "api_call_id": 0, "duration_ns": 10, "start_ns": 100 + at, **one}
        for at, one in enumerate(kernels)
    ]
    return make_trace(kernels=rows, api_calls=[{"kind": "graph_launch", "start_ns": 50}])


def placed(trace: Trace, base: Trace | None) -> list[tuple[Any, ...]]:
    frame = layers_with_kernels(trace, base=base)
    assert frame["duration_total_ns"].sum() == trace.kernels["duration_ns"].sum()
    return frame.sort("layer").select(COLUMNS).rows()


def said(trace: Trace, base: Trace | None) -> str:
    return " ".join(notes(trace, layer_attribution(trace, base=base), base))


def test_launches_in_order_stand_for_the_kernels_of_a_replay() -> None:
    captured = capture(
        (op("aten::add", "net.a"), {}), (op("aten::mm", "net.b"), {}), (op("aten::add", "net"), {})
    )
    assert placed(replay(kernel("x"), kernel("y", "gemm"), kernel("z")), captured) == [
        ("net", 1, 10, "graph capture"),
        ("net.a", 1, 10, "graph capture"),
        ("net.b", 1, 10, "graph capture"),
    ]


def test_a_capture_with_another_number_of_launches_is_refused() -> None:
    trace, captured = replay(kernel("x")), capture((op("a", "net.a"), {}), (op("b", "net.b"), {}))
    assert placed(trace, captured) == [("(unattributed)", 1, 10, "none")]
    assert "is not the one replayed: replays have 1 kernels, captures 2 launches." in said(
        trace, captured
    )


@pytest.mark.parametrize(
    ("shapes", "name", "grid", "fits"),
    [
        # 2·17·256 elements, 128 threads with 2 elements each: 34 blocks. With twice the batch there
        # are 68.
        (
            "[[2, 17, 256], [1, 17, 256], []]",
            "void at::native::elementwise_kernel<128, 2, F>(int, F)",
            (34, 1, 1),
            True,
        ),
        (
            "[[4, 17, 256], [1, 17, 256], []]",
            "void at::native::elementwise_kernel<128, 2, F>(int, F)",
            (34, 1, 1),
            False,
        ),
        # Broadcast: 8 × 1 and 1 × 512 are 4,096 elements, 16 blocks.
        (
            "[[8, 1], [512], []]",
            "void at::native::elementwise_kernel<128, 2, F>(int, F)",
            (16, 1, 1),
            True,
        ),
        # 8,704 elements, 4 or 8 a thread: 17 or 9 blocks.
        (
            "[[2, 17, 256]]",
            "void at::native::vectorized_elementwise_kernel<4, F>(int, F)",
            (17, 1, 1),
            True,
        ),
        (
            "[[2, 17, 256]]",
            "void at::native::vectorized_elementwise_kernel<4, F>(int, F)",
            (9, 1, 1),
            True,
        ),
        (
            "[[8, 17, 256]]",
            "void at::native::vectorized_elementwise_kernel<4, F>(int, F)",
            (9, 1, 1),
            False,
        ),
        # A row of 256 a block.
        (
            "[[2, 17, 256], [], [256], [256], []]",
            "void at::native::vectorized_layer_norm_kernel<F>",
            (34, 1, 1),
            True,
        ),
        (
            "[[2, 17, 256], [], [256], [256], []]",
            "void at::native::vectorized_layer_norm_kernel<F>",
            (68, 1, 1),
            False,
        ),
        (
            "[[2, 17, 4, 64], [2, 17, 4, 64]]",
            "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
            (1, 4, 2),
            True,
        ),
        (
            "[[2, 17, 4, 64], [2, 17, 4, 64]]",
            "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
            (1, 4, 4),
            False,
        ),
        (
            "[[2, 64, 8, 8], [64]]",
            "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float>",
            (64, 2, 1),
            True,
        ),
        (
            "[[4, 64, 8, 8], [64]]",
            "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float>",
            (64, 2, 1),
            False,
        ),
        # Nothing tells.
        ("[[4, 64, 8, 8], [64]]", "some_kernel", (64, 2, 1), True),
        (None, "void at::native::elementwise_kernel<128, 2, F>(int, F)", (34, 1, 1), True),
        ("[[2, 17", "void at::native::elementwise_kernel<128, 2, F>(int, F)", (34, 1, 1), True),
        ("7", "void at::native::elementwise_kernel<128, 2, F>(int, F)", (34, 1, 1), True),
        ("[[0, 17]]", "void at::native::elementwise_kernel<128, 2, F>(int, F)", (34, 1, 1), True),
    ],
)
def test_a_capture_of_another_batch_is_refused(
    shapes: str | None, name: str, grid: tuple[int, int, int], *, fits: bool
) -> None:
    trace, captured = replay(kernel(name, grid=grid)), capture((op("aten::x", "net.a", shapes), {}))
    assert [row[0] for row in placed(trace, captured)] == ["net.a" if fits else "(unattributed)"]
    assert ("as with another batch size" in said(trace, captured)) is not fits


def test_of_several_captures_the_one_that_fits_is_taken() -> None:
    """A server captures one graph per batch size. Here the second one is replayed."""
    one = capture((op("aten::native_layer_norm", "net.a", "[[2, 8], [], [8]]"), {}))
    two = capture((op("aten::native_layer_norm", "net.b", "[[4, 8], [], [8]]"), {}))
    later = two.api_calls.with_columns(
        pl.col("api_call_id", "start_ns") + 1000,
        span_id=pl.when(pl.col("span_id") == 0).then(pl.lit(1, pl.Int64)),
    )
    spans = pl.concat([one.spans, two.spans.with_columns(span_id=pl.lit(1, pl.Int64))])
    tables = {name: one.scan(name) for name in tl.schemas.TABLES}
    tables |= {"spans": spans.lazy(), "api_calls": pl.concat([one.api_calls, later]).lazy()}
    both = Trace(one.manifest, tables)
    for rows, layer in ((2, "net.a"), (4, "net.b")):
        assert placed(replay(kernel("layer_norm_kernel", grid=(rows, 1, 1))), both) == [
            (layer, 1, 10, "graph capture")
        ]
    assert [
        row[0] for row in placed(replay(kernel("layer_norm_kernel", grid=(8, 1, 1))), both)
    ] == ["(unattributed)"]


def test_a_product_does_not_run_as_attention() -> None:
    captured = capture((op("aten::mm", "net.a"), {}))
    assert placed(replay(kernel("x", "gemm")), captured)[0][0] == "net.a"
    assert placed(replay(kernel("x", "attention")), captured)[0][0] == "(unattributed)"


def rocm(path: Path, names: list[str], grid: int) -> Trace:
    """A capture as ROCm writes it: kernel, grid and block among a launch's arguments."""

    def call(name: str, start: int, correlation: int, **more: Any) -> dict[str, Any]:
        return {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": name,
            "ts": start,
            "dur": 1,
            "args": {"correlation": correlation, **more},
        }

    events = [call("hipStreamBeginCapture", 1, 1), call("hipStreamEndCapture", 900, 99)]
    for at, name in enumerate(names):
        start, ids = 100 + 10 * at, {"Python id": at, "Python module id": at}
        module = {
            "cat": "python_function",
            "name": f"nn.Module: Linear_{at}",
            "ts": start,
            "dur": 8,
            "args": ids,
        }
        arguments = {"kernel": name, "grid": [grid, 1, 1], "block": [64, 1, 1]}
        events += [
            {"ph": "X", **module},
            call("hipModuleLaunchKernel", start + 2, 10 + at, **arguments),
        ]
    path.write_text(
        json.dumps({"traceEvents": [{"pid": 1, "tid": 1, **event} for event in events]})
    )
    return collect(path)


def test_on_rocm_launches_name_their_kernels(tmp_path: Path) -> None:
    """Names tell a capture even where copies among the replayed kernels launched nothing."""
    names = ["gemm_a.kd", "relu.kd", *(f"more_{at}.kd" for at in range(38))]
    captured = rocm(tmp_path / "a.json", names, 5)
    launches = captured.api_calls.filter(kind="kernel_launch").select("kernel", "grid_x", "block_x")
    assert launches.row(0) == ("gemm_a.kd", 5, 64)
    kernels = [kernel(name.removesuffix(".kd"), grid=(5, 1, 1), block_x=64) for name in names]
    found = placed(replay(*kernels[:1], kernel("copyBuffer"), *kernels[1:]), captured)
    assert found[0] == ("(unattributed)", 1, 10, "none")
    assert [row[0] for row in found[1:]] == sorted(f"Linear_{at}" for at in range(40))
    # A grid in threads is the same; another one is another batch size, other names are another
    # model.
    assert len(placed(replay(*kernels), rocm(tmp_path / "b.json", names, 320))) == 40
    assert len(placed(replay(*kernels), rocm(tmp_path / "c.json", names, 10))) == 1
    assert len(placed(replay(*kernels), rocm(tmp_path / "d.json", names[::-1], 5))) == 1


def layers_of(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.filter(~pl.col("layer").str.starts_with("("))
        .select("layer", "phase", "n_kernels")
        .sort("layer")
    )


def test_a_transformer_captured_and_replayed_apart_on_an_h200() -> None:
    """All of 54 kernels but one run in the layer of the run without graphs.

    That one joins the class token to the patches.
    """
    replayed, captured = sample("vit_replay"), sample("vit_capture")
    frame = layer_attribution(replayed, base=captured)
    assert layers_of(frame).equals(layers_of(layer_attribution(sample("vit_eager"))))
    assert layers_of(frame)["n_kernels"].sum() == 2 * 53
    assert frame.filter(layer="(unattributed)")["share_frac"].item() < 0.01
    assert "known from the launches recorded while CUDA graphs were captured" in said(
        replayed, captured
    )


def test_a_capture_of_another_batch_on_an_h200_is_refused() -> None:
    """It has as many launches: only shapes and grids tell."""
    replayed, other = sample("vit_replay"), sample("vit_capture_batch4")
    assert layers_of(layer_attribution(replayed, base=other)).is_empty()
    assert "is not the one replayed: 100% of the kernels that can be compared" in said(
        replayed, other
    )


def test_replays_are_modelled_by_the_sizes_in_their_sidecar() -> None:
    """Two calls of the network, for each of which torch's FlopCounterMode counts 228,962,304."""
    trace = tl.collect(
        [SAMPLES / f"vit_compiled_replay.{what}.json.gz" for what in ("provenance", "pt.trace")]
    )
    frame = tl.analyses.roofline(trace)
    assert frame.filter(op="(not modelled)")["n_kernels"].to_list() == [0]
    ops = frame.filter(~pl.col("op").str.starts_with("("))
    assert ops["flops"].sum() == 2 * 228_962_304
    assert ops["n_kernels"].sum() == trace.kernels.height


def test_reduce_overhead_is_named_by_its_own_provenance() -> None:
    trace = tl.collect(
        [SAMPLES / f"vit_reduce_overhead.{what}.json.gz" for what in ("provenance", "pt.trace")]
    )
    assert trace.kernels["link"].value_counts().rows_by_key("link") == {
        "graph": [(138,)],
        "launched": [(2,)],
    }
    frame = layer_attribution(trace)
    assert frame.filter(layer="(unattributed)")["share_frac"].item() < 0.03
    assert "by the order in which the compiled graph calls them" in said(trace, None)
    # 17 layers that convolve, multiply matrices or attend: conv_proj, 4 × (self_attention, mlp.0,
    # mlp.3), heads.head.
    main = (
        pl.col("primitive_conv_ns") + pl.col("primitive_gemm_ns") + pl.col("primitive_attention_ns")
        > 0
    )
    heavy = frame.filter(main)["layer"].to_list()
    blocks = [
        f"encoder.layers.encoder_layer_{n}.{part}"
        for n in range(4)
        for part in ("self_attention", "mlp.0", "mlp.3")
    ]
    assert sorted(heavy) == sorted(["conv_proj", "heads.head", *blocks])
