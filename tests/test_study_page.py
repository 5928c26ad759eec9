"""The study's page: what its sections say of hand-made captures, counted by hand, and of the samples' own."""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.cases import make_trace

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "samples/study"
MODULES = tuple(file.stem for file in STUDY.glob("*.py"))

Load = Callable[[str], ModuleType]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a module of the study, whose files stand beside each other as scripts do."""
    monkeypatch.syspath_prepend(str(STUDY))
    for name in MODULES:
        sys.modules.pop(name, None)
    return importlib.import_module


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


def claims(findings: list[Any]) -> dict[str, bool | None]:
    """Finding's first words to whether it holds."""
    return {" ".join(finding.claim.split()[:3]): finding.holds for finding in findings}


def test_calls_are_counted_from_the_innermost_convolution(study: Load) -> None:
    depth = study("depth")
    path = depth.path_of("eager", stack(*EAGER))
    # conv2d::call is #2, Conv2d.forward #6 (the model's own forward, #8, is not it).
    assert (path.start, path.total, path.above, path.below) == ("Conv2d.forward", 6, 4, 2)
    # Calls by who makes them: #1 to #6.
    assert path.by_role == {"vendor_glue": 1, "dispatcher": 1, "binding": 1, "python": 3}
    assert depth.path_of("cudnn", stack(*CUDNN)).total == 1
    assert depth.path_of("libtorch", stack(*EAGER)) is None


def test_without_python_frames_the_binding_stands_for_the_call(study: Load) -> None:
    depth = study("depth")
    made = depth.section({"stack_eager_old": stack(*EAGER[:5], python="unavailable")})
    assert "Python's own frames are missing in the stacks of PyTorch eager." in made.blocks
    assert any(
        "Counted from the binding" in block and "THPVariable_conv2d" in block
        for block in made.blocks
    )


def test_stacks_as_in_the_paper_hold_its_findings(study: Load) -> None:
    captures = {
        "stack_eager_old": stack(*EAGER),
        "stack_libtorch_old": stack(*LIBTORCH),
        "stack_torchscript_old": stack(*SCRIPT),
        "stack_cudnn_old": stack(*CUDNN),
    }
    made = study("depth").section(captures)
    assert claims(made.findings) == {
        "Python makes the": True,  # 6 calls against 3
        "PyTorch and LibTorch": True,  # #0 to #2 in common
        # 2 calls of 3, and like builds: nothing to compare the paper's with
        "TorchScript's way to": None,
        "A program on": True,
    }
    assert (
        "| PyTorch eager and LibTorch | 62 | 3 | `torch::autograd::THPVariable_conv2d` |"
        in made.blocks[2]
    )


def test_another_function_of_cudnn_is_said(study: Load) -> None:
    new = ("cudnnBackendExecute@library", *EAGER[1:])
    made = study("depth").section({"stack_eager_old": stack(*EAGER), "stack_eager": stack(*new)})
    assert claims(made.findings) == {"All implementations come": False}
    assert "PyTorch eager call `cudnnBackendExecute`" in made.findings[0].now


def test_levels_that_part_early_do_not_coincide(study: Load) -> None:
    other = ("cudnnConvolutionForward@library", "at::native::another@vendor_glue", *LIBTORCH[2:])
    made = study("depth").section(
        {"stack_eager_old": stack(*EAGER), "stack_libtorch_old": stack(*other)}
    )
    assert claims(made.findings)["PyTorch and LibTorch"] is False


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


def test_doubled_bytes_are_set_beside_what_may_double_them(study: Load) -> None:
    made = study("copies").section(
        {
            "copy_b16_f64_pageable": copying("pageable", LARGE, 2_000_000),
            "copy_b16_f32_pageable": copying("pageable", SMALL, 1_000_000),
            "copy_b16_f32_pinned": copying("pinned", SMALL, 250_000),
            "copy_b32_f32_pageable": copying("pageable", LARGE, 2_000_000),
        }
    )
    finding, pinned = made.findings
    assert pinned.holds is False  # 1 ms pageable, 0.25 ms pinned
    assert pinned.now.startswith("4.0 times as fast (4.0 to 4.0")
    assert finding.holds is True
    assert "a ratio of 2.01 at 1.66 GB/s" in finding.then  # 15.17 / 7.55; 25.165824 MB / 15.17 ms
    assert (
        "2.000 against 1.000 ms, a ratio of 2.00 (2.00 to 2.00 by the fastest and slowest"
        in finding.now
    )
    said = made.blocks[2]
    assert (
        "12,582,912 bytes a step are batch 16 in float32 from pageable memory (PyTorch eager) and"
        in said
    )
    assert "no capture copies its batch more than once" in said
    assert "takes 1.000 ms, pinned 0.250 ms: 4.0 times as fast (12.6 against 50.3 GB/s)" in said
    assert "Batch: twice the images double the copy" in said


def test_levels_that_copy_the_same_batch_alike_do_not_double_it(study: Load) -> None:
    captures = {
        "copy_b16_f32_pageable": copying("pageable", SMALL, 1_000_000),
        "nsys_libtorch_b16_f32": copying("pageable", SMALL, 1_100_000),
    }
    (finding,) = study("copies").section(captures).findings
    assert finding.holds is False
    assert finding.now == "PyTorch eager and LibTorch copy 12,582,912 bytes each"
    captures["nsys_libtorch_b16_f32"] = copying("pageable", LARGE, 2_000_000)
    (finding,) = study("copies").section(captures).findings
    assert finding.holds is True


def test_a_difference_without_a_reason_is_refused(study: Load) -> None:
    with pytest.raises(ValueError, match="no reason"):
        study("page").Finding("claim", "Fig. 1", "then", "now", holds=False)


def test_two_copies_a_step_are_said(study: Load) -> None:
    made = study("copies").section(
        {"nsys_libtorch_b16_f32": copying("pageable", SMALL, 1_000, copies=2)}
    )
    assert "| LibTorch | 16 | float32 | pageable | 2 | 25,165,824 |" in made.blocks[1]
    assert "Double copy: up to 2 copies a step" in made.blocks[2]


def test_a_cast_names_the_dtype(study: Load) -> None:
    copies = study("copies")
    cast = copies.Copy(
        "eager", 16, "float64", "float32", "pageable", 1, LARGE, 2.0, "float64", (2.0, 2.0)
    )
    assert copies.sentences([cast])[1].startswith(
        "Dtype: the batches in float64 are each followed by a cast"
    )
    plain = copies.Copy(
        "eager", 16, "float64", "float64", "pageable", 1, LARGE, 2.0, None, (2.0, 2.0)
    )
    assert not any(text.startswith("Dtype") for text in copies.sentences([plain]))


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


def test_what_doubles_the_grid_is_named(study: Load) -> None:
    made = study("relu").section(
        {
            "copy_b16_f32_pageable": relus(100, 1_000),
            "copy_b32_f32_pageable": relus(200, 1_900),
            "copy_b16_f64_pageable": relus(100, 1_000),
        }
    )
    assert claims(made.findings) == {
        "Twice the blocks": True,
        "One cause doubles": True,
        "ReLU is launched": False,
        "ReLU is the": False,  # first in calls here
    }
    cause = next(finding for finding in made.findings if finding.claim.startswith("One cause"))
    assert (
        cause.now
        == "as there: twice the images. Not as there: a float64 batch that is cast on the device"
    )
    assert "has 2.00 times the blocks and takes 1.90 times as long" in made.blocks[2]
    assert (
        "(200, 1, 1) | (128, 1, 1) | 1 | 1.9 | `vectorized_elementwise_kernel` |" in made.blocks[1]
    )


def test_a_grid_of_two_dimensions_holds(study: Load) -> None:
    made = study("relu").section({"nsys_cudnn": relus(512, 1_000, depth=2)})
    assert claims(made.findings) == {"ReLU is launched": True}


def test_the_caches_of_a_doubled_grid(study: Load) -> None:
    counters = pl.DataFrame(
        {
            "level": ["eager"] * 3,
            "batch": [16, 16, 32],
            "size": [256] * 3,
            "grid_x": [100, 10, 200],
            "l1_hit_percent": [40.0, 90.0, 40.0],
            "l2_hit_percent": [50.0, 90.0, 51.0],
            "dram_read_bytes": [1_000, 10, 2_000],
            "dram_write_bytes": [0, 0, 0],
            "dram_percent_of_peak": [70.0, 1, 80.0],
            "duration_ns": [10_000, 500, 19_000],
            "warps_stalled_on_memory_per_issue": [100.0, 1.0, 110.0],
        }
    )
    made = study("relu").section({"copy_b16_f32_pageable": relus(100, 1_000)}, counters)
    assert claims(made.findings)["A larger grid"] is False  # 50 and 51 % of L2's requests hit
    assert (
        "| PyTorch eager | 16 | (100, 1, 1) | 1 | 10.0 | 40.0 | 50.0 | 0.0 | 70 | 100 |"
        in made.blocks[-1]
    )
    worse = counters.with_columns(l2_hit_percent=pl.Series([50.0, 90.0, 40.0]))
    made = study("relu").section({"copy_b16_f32_pageable": relus(100, 1_000)}, worse)
    assert claims(made.findings)["A larger grid"] is True


def test_what_the_published_program_adds_to_its_evaluation(study: Load) -> None:
    paper = study("paper")
    # 13,700 images of 17,125 train: 429 batches of 32, 9 after the last multiple of 20; 3,425
    # evaluate: 108 batches.
    assert paper.left_over(32) == pytest.approx(9 / 108)
    assert paper.left_over(512) == 1  # 27 batches, 7 after the 20th; 7 of evaluation
    # By hand from the published 1.2547 and 2.9469 ms, over LibTorch's 0.2608.
    assert paper.corrected_ms(32, 64) == pytest.approx(1.2547 - 2.9469 / 12)
    assert paper.corrected_ms(32, 64) / paper.SWEEPS[
        "libtorch", "infer", 32, 64
    ].ms == pytest.approx(3.87, abs=0.005)


def measured(*rows: tuple[str, int, int, float, int, float], spread: float = 0.01) -> pl.DataFrame:
    """Points of inference: level, batch, size, milliseconds a step, MiB, percent; quartiles are off by a share."""
    names = ["level", "batch", "size", "median_ms", "used_mib", "gpu_util_percent"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    quartiles = {
        "p25_ms": pl.col("median_ms") * (1 - spread),
        "p75_ms": pl.col("median_ms") * (1 + spread),
    }
    return frame.with_columns(
        mode=pl.lit("infer"), dtype=pl.lit("float32"), checksum=pl.lit(100.0), **quartiles
    )


AS_THERE = (
    ("eager", 32, 64, 40.0, 1800, 11.0),
    ("libtorch", 32, 64, 8.0, 1785, 90.0),
    ("torchscript", 32, 64, 7.0, 1379, 80.0),
    ("cudnn", 32, 64, 10.0, 1400, 66.0),
    ("eager", 32, 256, 96.0, 6473, 32.0),
    ("libtorch", 32, 256, 48.0, 5591, 89.0),
)


def test_measurements_as_in_the_paper_hold_its_findings(study: Load) -> None:
    made = study("sweeps").section(measured(*AS_THERE))
    assert claims(made.findings) == {
        "The order of": True,
        "At a batch": True,
        "The gap between": True,
        "cuDNN has less": True,
        "TorchScript has less": True,
        "PyTorch and LibTorch": True,
        "PyTorch is almost": True,
        "PyTorch leaves the": None,  # with a loader there and without one here
    }
    gap = next(finding for finding in made.findings if finding.claim.startswith("The gap"))
    assert gap.now == "from 5.00 (4.90 to 5.10) times to 2.00 (1.96 to 2.04)"
    assert (
        "| inference | 32 | 64×64 | PyTorch eager | 1.2547 | 1.2500 (1.2375 to 1.2625) | 1,799 |"
        " 1,800 | 11 | 11 |" in made.blocks[1]
    )


def test_measurements_that_differ_do_not(study: Load) -> None:
    even = measured(
        *(
            (level, batch, size, 8.0 + (level == "libtorch"), 1800 - (level == "eager"), 100.0)
            for level, batch, size, *_ in AS_THERE
        )
    )
    found = claims(study("sweeps").section(even).findings)
    assert found["The order of"] is False
    assert found["At a batch"] is False
    assert found["cuDNN has less"] is False


def test_what_lies_within_the_spread_is_not_told(study: Load) -> None:
    wide = claims(study("sweeps").section(measured(*AS_THERE, spread=0.9)).findings)
    assert wide["The order of"] is wide["At a batch"] is wide["The gap between"] is None


def test_levels_that_compute_something_else_are_seen(study: Load) -> None:
    points = measured(*AS_THERE[:2]).with_columns(checksum=pl.Series([100.0, 99.0]))
    assert "by at most 1.0e-02 of it (LibTorch)" in study("sweeps").agreement(points)


def test_a_page_without_captures_says_so(study: Load) -> None:
    analyse = study("analyse")
    text = analyse.page(
        analyse.sections({}, None, None), {"versions": {"torch": "2"}, "commands": []}, "charts"
    )
    for sentence in (
        "No stacks were captured.",
        "No copies were captured.",
        "Nothing was measured.",
    ):
        assert sentence in text


def test_the_page_of_real_captures(
    study: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {
        "stack_eager_old": "stacks/h200_torch211_cudnn_v7.txt",
        "stack_eager": "stacks/h200_torch211_cudnn_v8.txt",
        "nsys_eager": "nsys/eager_resnet50.sqlite",
        "copy_b16_f64_pageable": "torch/resnet50_train_f64_pageable.pt.trace.json.gz",
    }
    for name, source in sources.items():
        tl.collect(ROOT / "samples" / source).write(tmp_path / f"{name}.tracelens")
    failed = {"name": "x", "command": "tracelens collect x", "outcome": "exit 1"}
    (tmp_path / "versions.json").write_text(
        json.dumps({"versions": {"torch": "2.11"}, "commands": [failed]})
    )
    page = tmp_path / "page.md"
    monkeypatch.setattr(
        sys, "argv", ["analyse.py", "--captures", str(tmp_path), "--page", str(page)]
    )
    study("analyse").main()
    text = page.read_text()
    # In the logs #21 is the binding, #20 conv2d::call; at the newer function one frame more lies
    # below.
    assert (
        "| PyTorch eager | `torch::autograd::THPVariable_conv2d` | 30 | 61 | 91 | 1 | 20 | 21 | 1 |"
        " 21 | 22 |" in text
    )
    # 32×3×64×64 float64, and a cast; nsys's own table gives this grid for the largest clamp.
    assert "3,145,728" in text
    assert "float64 to float32" in text
    assert "(25088, 1, 1)" in text
    assert "- `x`: exit 1" in text
    assert (tmp_path / "page" / "calls.svg").read_text().startswith("<svg")
