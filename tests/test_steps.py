"""Steps and phases, from the markers that programs and profilers leave."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torch_files import call, kernel, read, rows, span, write
from tracelens.derive.steps import STEP_NAME, mark_phases, mark_steps, step_intervals

SCHEMA = {
    "kind": pl.String, "name": pl.String, "start_ns": pl.Int64, "end": pl.Int64, "process_id": pl.Int64,
    "forward_thread_id": pl.Int64,
}  # fmt: skip


def spans(*given: tuple[Any, ...]) -> pl.DataFrame:
    """Rows of (kind, name, start, end), then optionally process and forward thread."""
    padded = [(*row, *(1, None)[len(row) - 4 :]) for row in given]
    frame = pl.DataFrame(padded, schema=SCHEMA, orient="row")
    return frame.with_columns(duration_ns=pl.col("end") - pl.col("start_ns"))


def steps_at(marked: pl.DataFrame, *moments: int, process: int = 1) -> list[int | None]:
    """The step under way at each moment."""
    frame = pl.DataFrame({"start_ns": moments, "process_id": [process] * len(moments)})
    return mark_steps(frame, step_intervals(marked))["step"].to_list()


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("ProfilerStep#0", 0),
        ("ProfilerStep#417", 417),
        ("step 3", 3),
        ("step 3 of 5", None),
        ("ProfilerStep#", None),
        ("my step 3", None),
        ("step 99999999999999999999", None),
    ],
)
def test_names_of_steps(name: str, step: int | None) -> None:
    assert step_intervals(spans(("annotation", name, 0, 10)))["step"].to_list() == ([] if step is None else [step])
    assert STEP_NAME.startswith("^")


def test_only_annotations_and_ranges_mark_steps() -> None:
    marked = spans(("op", "step 1", 0, 10), ("python", "step 2", 0, 10), ("nvtx", "step 3", 20, 30))
    assert steps_at(marked, 5, 25) == [None, 3]


def test_the_step_under_way() -> None:
    marked = spans(("annotation", "ProfilerStep#1", 10, 20), ("annotation", "ProfilerStep#2", 20, 30))
    assert steps_at(marked, 9, 10, 19, 20, 29, 30) == [None, 1, 1, 2, 2, None]
    assert steps_at(marked, 15, process=2) == [None]
    assert steps_at(spans(), 15) == [None]


def test_after_an_inner_step_the_outer_one_goes_on() -> None:
    marked = spans(
        ("annotation", "ProfilerStep#7", 0, 100),
        ("nvtx", "step 0", 10, 20),
        ("nvtx", "step 1", 20, 30),
        ("nvtx", "step 2", 30, 30),
    )
    assert steps_at(marked, 5, 10, 19, 20, 30, 99, 100) == [7, 0, 0, 1, 7, 7, None]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6),
    st.lists(st.tuples(st.integers(1, 2), st.integers(-1, 22)), max_size=12),
)
def test_of_steps_in_any_order_the_last_to_start(steps: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    """Steps of process 1, named for their start and end; asked for moments of one process, and of two."""
    edges = [(start, start + length) for start, length in steps]
    marked = spans(*(("nvtx", f"step {start * 100 + end}", start, end) for start, end in edges))
    for processes in ({1}, {1, 2}):
        some = [(process, moment) for process, moment in asked if process in processes]
        under_way = [
            max(((start, -end) for start, end in edges if process == 1 and start <= moment < end), default=None)
            for process, moment in some
        ]
        frame = pl.DataFrame(some, schema={"process_id": pl.Int32, "start_ns": pl.Int64}, orient="row")
        expected = [None if last is None else last[0] * 100 - last[1] for last in under_way]
        assert mark_steps(frame, step_intervals(marked))["step"].to_list() == expected


def test_of_overlapping_steps_the_later_one() -> None:
    marked = spans(("nvtx", "step 1", 0, 20), ("nvtx", "step 2", 10, 30), ("nvtx", "step 9", 0, 50, 2))
    assert steps_at(marked, 9, 10, 25, 30) == [1, 2, 2, None]
    assert steps_at(marked, 25, process=2) == [9]


def phases(marked: pl.DataFrame, *parents: int | None) -> list[str | None]:
    """The phase of each span."""
    return mark_phases(marked, pl.Series(parents or [None] * marked.height, dtype=pl.Int64)).to_list()


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


def test_phases_are_inherited_and_then_taken_from_the_annotation_under_way() -> None:
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
    assert found == ["forward", "forward", "other", "other", "forward", None, "backward", "backward", None]


def test_work_belongs_to_the_step_that_launched_it(tmp_path: Path) -> None:
    events = [
        span("ProfilerStep#4", 0, 10, cat="user_annotation"),
        call("cudaLaunchKernel", 8, 1, 1),
        span("ProfilerStep#5", 10, 10, cat="user_annotation"),
        kernel("launched in 4, runs in 5", 12, 3, 1),
        call("cudaLaunchKernel", 21, 1, 2),
        kernel("after", 23, 3, 2),
        kernel("nobody's", 13, 1, 3),
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "api_calls", "step") == [(4,), (None,)]
    assert rows(capture, "kernels", "name", "step") == [
        ("launched in 4, runs in 5", 4), ("nobody's", None), ("after", None)
    ]  # fmt: skip
