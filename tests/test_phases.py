"""Phases of a training step, from the markers that programs and profilers leave."""

from typing import Any

import polars as pl
import pytest

from tracelens.derive.events.phases import mark_phases

SCHEMA = {
    "kind": pl.String,
    "name": pl.String,
    "start_ns": pl.Int64,
    "end": pl.Int64,
    "process_id": pl.Int64,
    "forward_thread_id": pl.Int64,
}


def spans(*given: tuple[Any, ...]) -> pl.DataFrame:
    """Rows of (kind, name, start, end), then optionally process and forward thread."""
    padded = [(*row, *(1, None)[len(row) - 4 :]) for row in given]
    frame = pl.DataFrame(padded, schema=SCHEMA, orient="row")
    return frame.with_columns(duration_ns=pl.col("end") - pl.col("start_ns"))


def phases(marked: pl.DataFrame, *parents: int | None) -> list[str | None]:
    """The phase of each span."""
    return mark_phases(
        marked, pl.Series(parents or [None] * marked.height, dtype=pl.Int64)
    ).to_list()


@pytest.mark.parametrize(
    ("kind", "name", "phase"),
    [
        ("annotation", "## forward ##", "forward"),
        ("nvtx", "Backward pass", "backward"),
        ("annotation", "DistributedDataParallel.forward", "forward"),
        ("annotation", "Optimizer.step#SGD.step", "optimizer"),
        ("annotation", "Optimizer.zero_grad#SGD.zero_grad", "optimizer"),
        ("annotation", "## h2d ##", "other"),
        ("annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "other"),
        ("annotation", "forwarder", None),
        ("annotation", "ProfilerStep#1", None),
        ("op", "autograd::engine::evaluate_function: MmBackward0", "backward"),
        ("op", "CompiledFunctionBackward", "backward"),
        ("op", "CompiledFunction", "forward"),
        ("op", "aten::forward", None),
        ("annotation", "Torch-Compiled Region: 0/0", "forward"),
        ("module", "nn.Module: Linear_0", "forward"),
        ("python", "torch/nn/modules/module.py(1): forward", None),
    ],
)
def test_what_marks_a_phase(kind: str, name: str, phase: str | None) -> None:
    assert phases(spans((kind, name, 0, 10))) == [phase]


def test_phases_come_from_ancestors_then_from_annotations() -> None:
    marked = spans(
        ("annotation", "## forward ##", 0, 100),
        ("op", "aten::mm", 10, 20),
        ("annotation", "data", 30, 40),
        ("op", "aten::copy_", 32, 35),
        ("op", "on another thread", 50, 60),
        ("op", "after all", 100, 110),
        ("op", "MmBackward0", 120, 130, 1, 1),
        ("op", "aten::mm", 122, 125),
        ("op", "in another process", 50, 60, 2),
    )
    found = phases(marked, None, 0, 0, 2, None, None, None, 6, None)
    assert found == [
        "forward",
        "forward",
        "other",
        "other",
        "forward",
        None,
        "backward",
        "backward",
        None,
    ]
