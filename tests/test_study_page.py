"""The study's values from captures: hand-made ones, counted by hand."""

import polars as pl
import pytest

import tracelens as tl
from samples.kit.significance import Range
from samples.study import copies, depth, paper, points, relu, sweeps
from tests.cases import make_trace


def stack(*functions: str, build: str = "release", python: str = "merged") -> tl.Trace:
    """One stack from the innermost function on; `@role` behind a function says whose it is."""
    frames = []
    for level, text in enumerate(functions):
        function, _, role = text.partition("@")
        frames.append(
            {"stack_id": 0, "level": level, "function": function, "role": role or "unknown"}
        )
    about = {
        "stack_id": 0,
        "symbol": functions[0].partition("@")[0],
        "depth": len(functions),
        "hit": 1,
    }
    return make_trace(
        stacks=[about | {"build_kind": build, "python_frames": python}], frames=frames
    )


EAGER = (
    "cudnnConvolutionForward@library",
    "at::native::cudnn_convolution@vendor_glue",
    "at::_ops::conv2d::call@dispatcher",
    "torch::autograd::THPVariable_conv2d@binding",
    "_PyEval_EvalFrameDefault@python",
    "Conv2d._conv_forward@python",
    "Conv2d.forward@python",
    "Module._call_impl@python",
    "ResNet50.forward@python",
    "main@user",
)
LIBTORCH = (
    *EAGER[:3],
    "torch::nn::Conv2dImpl::forward@libtorch_nn",
    "ResNet50Impl::forward@user",
    "main@user",
)
SCRIPT = (
    *EAGER[:2],
    "torch::autograd::VariableType::_convolution@autograd",
    "torch::jit::run@torchscript",
)
CUDNN = (
    "cudnnConvolutionForward@library",
    "Conv2d::forward@user",
    "Sequential::forward@user",
    "main@user",
)


def test_calls_are_counted_from_the_innermost_convolution() -> None:
    path = depth.path_of("eager", stack(*EAGER))
    assert path is not None
    # conv2d::call is #2, Conv2d.forward #6 (the model's own forward, #8, is not it).
    assert (path.start, path.total, path.above, path.below) == ("Conv2d.forward", 6, 4, 2)
    # Calls by who makes them: #1 to #6.
    assert path.by_role == {"vendor_glue": 1, "dispatcher": 1, "binding": 1, "python": 3}
    bare = depth.path_of("cudnn", stack(*CUDNN))
    assert bare is not None
    assert bare.total == 1
    assert depth.path_of("libtorch", stack(*EAGER)) is None


def test_the_paper_s_span_begins_at_the_interpreter_s_call() -> None:
    bare = depth.path_of("eager", stack(*EAGER))
    assert bare is not None
    assert depth.calls("eager", bare) == 6
    called = depth.path_of("eager", stack(*EAGER[:8], "_PyObject_MakeTpCall@python", "main@user"))
    assert called is not None
    assert depth.calls("eager", called) == 8


def copying(memory: str, size: int, duration_ns: int, copies: int = 1) -> tl.Trace:
    """Two steps that copy a batch, after a larger copy that belongs to no step."""
    one = {
        "direction": "h2d",
        "source_memory": memory,
        "destination_memory": "device",
        "size_bytes": size,
    }
    rows = [
        one
        | {
            "step": step,
            "start_ns": 1_000_000_000 * step + 10_000_000 * i,
            "duration_ns": duration_ns,
        }
        for step in (0, 1)
        for i in range(copies)
    ]
    return make_trace(
        memcpys=[*rows, one | {"size_bytes": 9_999_999, "start_ns": 1, "duration_ns": 1}]
    )


LARGE, SMALL = 25_165_824, 12_582_912


def test_copies_are_those_of_a_step_by_what_the_capture_is_named() -> None:
    found = copies.copies_of(
        {
            "copy_b16_f32_pageable": copying("pageable", SMALL, 1_000_000),
            "copy_b16_f32_pinned": copying("pinned", SMALL, 250_000),
            "nsys_libtorch_b16_f32": copying("pageable", SMALL, 1_000, copies=2),
        }
    )
    assert [(c.level, c.batch, c.memory, c.n_copies, c.n_bytes, c.ms) for c in found] == [
        ("eager", 16, "pageable", 1, SMALL, 1.0),
        ("eager", 16, "pinned", 1, SMALL, 0.25),
        ("libtorch", 16, "pageable", 2, LARGE, 0.002),
    ]
    ((one, two),) = copies.pageable_and_pinned(found)
    assert one.ms / two.ms == 4


def relus(blocks: int, duration_ns: int, *, depth: int = 1) -> tl.Trace:
    """A ReLU, a smaller one, and a larger kernel that is none."""
    size = {"block_x": 128, "block_y": 1, "block_z": 1, "grid_z": 1}
    rows = [
        {
            "name": "void at::native::vectorized_elementwise_kernel<4, launch_clamp_scalar>(int)",
            "grid_x": blocks,
        },
        {
            "name": "void at::native::vectorized_elementwise_kernel<4, launch_clamp_scalar>(int)",
            "grid_x": 1,
        },
        {"name": "sm90_conv", "grid_x": 10 * blocks},
    ]
    return make_trace(
        kernels=[row | size | {"grid_y": depth, "duration_ns": duration_ns} for row in rows]
    )


def test_the_largest_relu_is_the_one_with_most_blocks() -> None:
    found = relu.largest(relus(100, 1_000))
    assert found is not None
    assert (found.grid, found.n_calls, found.spread) == ((100, 1, 1), 1, (1.0, 1.0))
    assert relu.short(found.name) == "vectorized_elementwise_kernel"


def test_what_the_published_program_adds_to_its_evaluation() -> None:
    # 13,700 images of 17,125 train: 429 batches of 32, 9 after the last multiple of 20; 3,425
    # evaluate: 108 batches.
    assert paper.left_over(32) == pytest.approx(9 / 108)
    assert paper.left_over(512) == 1  # 27 batches, 7 after the 20th; 7 of evaluation
    # By hand from the published 1.2547 and 2.9469 ms, over LibTorch's 0.2608.
    assert paper.corrected_ms(32, 64) == pytest.approx(1.2547 - 2.9469 / 12)
    assert sweeps.published_ratio((32, 64), corrected=True) == pytest.approx(3.87, abs=0.005)
    assert sweeps.published_ratio((32, 64), corrected=False) == pytest.approx(1.2547 / 0.2608)


def measured(*rows: tuple[str, int, int, float, int], spread: float = 0.01) -> pl.DataFrame:
    """Points of inference: level, batch, size, milliseconds per step, MiB.

    Quartiles are off by a share.
    """
    frame = pl.DataFrame(
        rows, schema=["level", "batch", "size", "median_ms", "used_mib"], orient="row"
    )
    low, high = ((pl.col("median_ms") * (1 + off)) for off in (-spread, spread))
    return points.per_image(
        frame.with_columns(mode=pl.lit("infer"), dtype=pl.lit("float32"), p25_ms=low, p75_ms=high)
    )


AS_THERE = (
    ("eager", 32, 64, 40.0, 1800),
    ("libtorch", 32, 64, 8.0, 1785),
    ("torchscript_cpp", 32, 64, 7.0, 1379),
    ("cudnn", 32, 64, 10.0, 1400),
)


def test_orders_are_counted_by_pairs_beyond_the_spread() -> None:
    # Published at 32×64², corrected: TorchScript 0.2454, LibTorch 0.2608, cuDNN 0.3389, eager
    # 1.0091.
    assert sweeps.orders(measured(*AS_THERE)) == [True] * 6
    assert sweeps.orders(measured(*AS_THERE, spread=0.9)) == [None] * 6
    swapped = [("eager", *AS_THERE[1][1:]), ("libtorch", *AS_THERE[0][1:])]
    assert sweeps.orders(measured(*swapped)) == [False]


def test_eager_is_set_beside_every_level_of_the_paper() -> None:
    ((at, ratios),) = sweeps.eager_over_others(measured(*AS_THERE)).items()
    assert at == (32, 64)
    assert [ratio.middle for ratio in ratios] == pytest.approx([5, 40 / 7, 4])
    assert ratios[0] == Range(39.6 / 8.08, 5, 40.4 / 7.92)


def test_memory_is_compared_where_the_paper_means_it() -> None:
    large = ("cudnn", 512, 64, 1.0, 9000), ("eager", 512, 64, 1.0, 2000)
    found = sweeps.leaner(measured(*AS_THERE, *large), "cudnn")
    assert found == {(32, 64): (1400, 1800)}
    assert sweeps.libtorch_over_eager_mib(measured(*AS_THERE)) == [1785 / 1800]
