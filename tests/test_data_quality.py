"""data_quality: how far a trace can be trusted, check by check."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.cases import make_trace
from tracelens.analyses.data_quality import data_quality, notes
from tracelens.schemas.results.calls import DATA_QUALITY
from tracelens.trace import Trace

SAMPLES = Path(__file__).parents[1] / "samples"


def kernel(duration: int = 100, link: str = "launched", **more: Any) -> dict[str, Any]:
    return {"duration_ns": duration, "link": link, "primitive": "gemm", **more}


def found(trace: Trace, check: str, rank: int = 0) -> tuple[str, float | None]:
    frame = DATA_QUALITY.check(data_quality(trace))
    (row,) = frame.filter((pl.col("check") == check) & (pl.col("rank") == rank)).to_dicts()
    return row["status"], row["value"]


@pytest.mark.parametrize("link", ["pre_window", "unlinked"])
@pytest.mark.parametrize(
    ("lost", "status"), [(0, "ok"), (10, "ok"), (11, "info"), (100, "info"), (101, "warning")]
)
def test_time_of_work_that_has_no_launch(link: str, lost: int, status: str) -> None:
    trace = make_trace(kernels=[kernel(1000 - lost), kernel(lost, link)])
    assert found(trace, f"{link}_kernels") == (status, lost / 1000)


def test_kernels_of_unknown_primitive() -> None:
    assert found(
        make_trace(kernels=[kernel(50), kernel(50, primitive="unknown")]), "unknown_primitive"
    ) == (
        "warning",
        0.5,
    )


def test_kernels_without_time() -> None:
    assert found(make_trace(kernels=[kernel(5)]), "zero_durations") == ("ok", 0.0)
    assert found(make_trace(kernels=[kernel(0), kernel(5), kernel(0)]), "zero_durations") == (
        "warning",
        2.0,
    )


def test_steps() -> None:
    assert found(make_trace(kernels=[kernel()]), "steps") == ("info", 0.0)
    assert found(
        make_trace(kernels=[kernel(step=4), kernel(step=4), kernel(), kernel(step=5)]), "steps"
    ) == ("ok", 2.0)


@pytest.mark.parametrize(("first", "status"), [(105, "ok"), (150, "warning"), (60, "warning")])
def test_a_first_step_unlike_the_others(first: int, status: str) -> None:
    trace = make_trace(
        kernels=[
            kernel(first, step=0),
            kernel(100, step=1),
            kernel(100, step=2),
            kernel(90, step=3),
        ]
    )
    assert found(trace, "first_step") == (status, first / 100)


def test_one_step_is_like_itself() -> None:
    assert "first_step" not in data_quality(make_trace(kernels=[kernel(step=0)]))["check"]


def test_device_limits() -> None:
    assert found(make_trace(kernels=[kernel()]), "device_limits")[0] == "warning"
    trace = make_trace(kernels=[kernel()], devices=[{"name": "H200", "compute_capability": "9.0"}])
    assert found(trace, "device_limits")[0] == "ok"


def test_what_was_recorded_of_the_host() -> None:
    bare = make_trace(spans=[{"kind": "op"}])
    assert (found(bare, "shapes")[0], found(bare, "modules")[0]) == ("info", "info")
    assert "python_recording" not in data_quality(bare)["check"]
    full = make_trace(
        spans=[{"kind": "op", "input_shapes": "[[1]]"}, {"kind": "module"}, {"kind": "python"}]
    )
    assert (found(full, "shapes")[0], found(full, "modules")[0]) == ("ok", "ok")
    assert found(full, "python_recording")[0] == "info"
    # Where times are of a second window without Python calls, they can be read.
    full.manifest.sources = [{"rank": 0, "settings": {"light_window": True}}]
    assert "python_recording" not in data_quality(full)["check"]


def test_the_profilers_own_time() -> None:
    spans = [
        {"kind": "op", "duration_ns": 1000},
        {"kind": "overhead", "start_ns": 100, "duration_ns": 200},
    ]
    assert found(make_trace(spans=spans), "profiler_overhead") == ("warning", 0.2)


def test_a_cut_source_is_the_loss_of_its_rank_only() -> None:
    trace = make_trace(kernels=[kernel(), kernel(rank=1)])
    assert found(trace, "complete") == ("ok", None)
    trace.manifest.complete = False
    assert found(trace, "complete", rank=0)[0] == found(trace, "complete", rank=1)[0] == "loss"
    trace.manifest.sources = [{"rank": 0, "complete": True}, {"rank": 1, "complete": False}]
    assert found(trace, "complete", rank=0)[0] == "ok"
    assert found(trace, "complete", rank=1)[0] == "loss"


def test_whole_microseconds() -> None:
    trace = make_trace()
    assert found(trace, "time_precision") == ("ok", 1.0)
    trace.manifest.time_precision_ns = 1000
    assert found(trace, "time_precision") == ("warning", 1000.0)


def test_what_collecting_recorded_comes_along_worst_first() -> None:
    recorded = [
        {"severity": severity, "code": code, "count": 3, "text": "why"}
        for severity, code in (("info", "a"), ("error", "b"), ("loss", "c"))
    ]
    frame = data_quality(make_trace(diagnostics=recorded))
    assert frame.select("check", "status", "value").rows()[:3] == [
        ("b", "error", 3.0),
        ("c", "loss", 3.0),
        ("a", "info", 3.0),
    ]
    assert frame["text"][0] == "why"
    assert notes(make_trace(), frame) == ["2 of 5 checks need attention; they stand first."]


def test_a_clean_trace() -> None:
    assert notes(make_trace(), data_quality(make_trace())) == ["No check found anything wrong."]


@pytest.mark.parametrize(
    ("source", "check", "advice"),
    [
        ("torch/resnet50_train_f32_pinned.pt.trace.json.gz", "modules", "with_stack=True"),
        ("nsys/eager_resnet50.sqlite", "shapes", "emit_nvtx(record_shapes=True)"),
        ("nsys/eager_resnet50.sqlite", "modules", "tracelens collect torch"),
        ("jax/perceptron.trace.json.gz", "shapes", "a trace of jax holds no input shapes"),
        ("jax/perceptron.trace.json.gz", "modules", "JAX calls no nn.Module"),
    ],
)
def test_advice_is_of_the_profiler_that_recorded(source: str, check: str, advice: str) -> None:
    """Nobody can give JAX an option of torch.profiler."""
    frame = data_quality(tl.collect(SAMPLES / source))
    (text,) = frame.filter(check=check)["text"]
    assert advice in text
    assert source.startswith("torch/") or "with_stack=True" not in text


def test_advice_is_there_for_a_stored_trace(tmp_path: Path) -> None:
    """Whoever opens a stored trace has no collector imported."""
    folder = tmp_path / "jax.tracelens"
    tl.collect(SAMPLES / "jax/perceptron.trace.json.gz").write(folder)
    words = "import sys, tracelens as tl; t = tl.Trace.open(sys.argv[1]);"
    words += "print(*tl.analyses.data_quality(t)['text'], sep='\\n')"
    ended = subprocess.run(
        [sys.executable, "-c", words, str(folder)], capture_output=True, text=True, check=True
    )
    assert "a trace of jax holds no input shapes" in ended.stdout
