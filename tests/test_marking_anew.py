"""Steps marked by a pattern, and steps and activities of traces that hold none."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import tracelens as tl
from tests.cases import make_trace
from tests.torch_files import call, kernel, span, write
from tracelens.cli.commands import app
from tracelens.derive.time.step_table import activities_of, mark_steps_by, steps_of
from tracelens.errors import UsageError

EVENTS = [
    span("train.py(7): one_batch", 0, 40, cat="python_function"),
    call("cudaLaunchKernel", 5, 2, 1),
    kernel("first", 10, 20, 1),
    span("train.py(7): one_batch", 50, 40, cat="python_function"),
    call("cudaLaunchKernel", 55, 2, 2),
    kernel("second", 60, 50, 2),
]


def test_steps_are_the_spans_that_a_pattern_names(tmp_path: Path) -> None:
    trace = tl.collect(write(tmp_path / "t.json", EVENTS))
    assert not trace.has("steps")
    marked = mark_steps_by(trace, "one_batch$")
    # The first ends where the second call begins, the second with its last kernel.
    steps = marked.steps.select("step", "start_ns", "duration_ns", "host_ns", "n_kernels")
    assert steps.rows() == [(0, 0, 50_000, 50_000, 1), (1, 50_000, 60_000, 40_000, 1)]
    assert marked.kernels.select("name", "step").rows() == [("first", 0), ("second", 1)]
    assert marked.api_calls["step"].to_list() == [0, 1]
    assert marked.spans["step"].to_list() == [0, 1]
    assert trace.kernels["step"].to_list() == [None, None], "the trace itself stays as it was"


def test_a_group_tells_the_number(tmp_path: Path) -> None:
    events = [
        span("batch=7", 0, 10, cat="user_annotation"),
        span("batch=8", 10, 10, cat="user_annotation"),
    ]
    trace = tl.collect(
        write(
            tmp_path / "t.json", [*events, call("cudaLaunchKernel", 1, 1, 1), kernel("k", 3, 1, 1)]
        )
    )
    assert mark_steps_by(trace, r"^batch=(\d+)$").steps["step"].to_list() == [7, 8]


@pytest.mark.parametrize(
    ("pattern", "said"), [("no such", "no span has a name"), ("(", "not a regular expression")]
)
def test_what_names_no_step_is_refused(tmp_path: Path, pattern: str, said: str) -> None:
    trace = tl.collect(write(tmp_path / "t.json", EVENTS))
    with pytest.raises(UsageError, match=said):
        mark_steps_by(trace, pattern)


def test_collecting_and_reporting_with_a_pattern(tmp_path: Path) -> None:
    source, out = write(tmp_path / "t.json", EVENTS), tmp_path / "t.tracelens"
    asked = ["--step", "one_batch"]
    assert (
        CliRunner()
        .invoke(app, ["collect", "torch", str(source), "--out", str(out), *asked])
        .exit_code
        == 0
    )
    assert tl.open(out).steps["step"].to_list() == [0, 1]
    said = CliRunner().invoke(app, ["report", str(source), "--section", "time_breakdown", *asked])
    assert "A step takes 55.0 µs (median of 2" in said.output


def test_a_trace_without_the_tables_has_them_derived() -> None:
    trace = make_trace(
        spans=[
            {"kind": "annotation", "name": "ProfilerStep#3", "start_ns": 0, "duration_ns": 500_000}
        ],
        api_calls=[
            {
                "kind": "kernel_launch",
                "api": "cudaLaunchKernel",
                "start_ns": 400_000,
                "duration_ns": 10,
            }
        ],
        kernels=[{"start_ns": 400_100, "duration_ns": 300_000, "api_call_id": 0}],
    )
    steps = steps_of(trace).select("rank", "step", "start_ns", "duration_ns", "n_kernels")
    assert steps.rows() == [(0, 3, 0, 700_100, 1)]
    found = activities_of(trace).select("start_ns", "duration_ns", "cause")
    # What the annotation still covers after the launch is shorter than a pause, so it belongs to
    # launching.
    assert found.rows() == [(0, 400_000, "host"), (400_000, 100_000, "launch")]
