"""What `tracelens check` says of rows that cannot be true.

No walk over a trace's ids goes in a circle.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tests.command_line import command_line
from tracelens.analyses import ANALYSES
from tracelens.derive.calls.call_graph import read_calls
from tracelens.errors import SourceError
from tracelens.report import build_report
from tracelens.trace import Trace
from tracelens.trace.checking import problems

LATE = 2**63 - 2


def whole() -> dict[str, list[dict[str, Any]]]:
    """A sound step: an op in it calls and launches a kernel."""
    spans: list[dict[str, Any]] = [
        {"kind": "annotation", "name": "step 0", "duration_ns": 10, "self_ns": 4},
        {
            "kind": "op",
            "name": "aten::mm",
            "start_ns": 2,
            "duration_ns": 6,
            "self_ns": 6,
            "parent_id": 0,
            "depth": 1,
        },
    ]
    calls: list[dict[str, Any]] = [
        {
            "start_ns": 3,
            "duration_ns": 1,
            "span_id": 1,
            "api": "cudaLaunchKernel",
            "kind": "kernel_launch",
        }
    ]
    kernels: list[dict[str, Any]] = [
        {"start_ns": 5, "duration_ns": 9, "span_id": 1, "api_call_id": 0}
    ]
    return {"spans": spans, "api_calls": calls, "kernels": kernels}


def changed(table: str, row: int, **values: Any) -> Trace:
    """The whole trace but for some cells of a row."""
    tables = whole()
    tables[table][row] |= values
    return make_trace(**tables)


WRONG = {
    "an id twice": (
        "spans",
        1,
        {"span_id": 0},
        "2 rows of spans share their span_id with another row of their rank",
    ),
    "ids that leave numbers out": (
        "spans",
        1,
        {"span_id": 7},
        "2 rows of spans have another span_id",
    ),
    "its own parent": (
        "spans",
        1,
        {"parent_id": 1},
        "1 rows of spans do not come after their parent",
    ),
    "a circle": ("spans", 0, {"parent_id": 1}, "1 rows of spans do not come after their parent"),
    "a parent that is not there": (
        "spans",
        1,
        {"parent_id": 9},
        "have a parent_id that no row of spans has",
    ),
    "a parent below 0": (
        "spans",
        1,
        {"parent_id": -1},
        "1 rows of spans have a parent_id that no row of spans has",
    ),
    "a call that is not there": (
        "kernels",
        0,
        {"api_call_id": 5},
        "have a api_call_id that no row of api_calls has",
    ),
    "a span of no rank": (
        "kernels",
        0,
        {"rank": 1},
        "1 rows of kernels have a span_id that no row of spans has",
    ),
    "a duration below 0": (
        "kernels",
        0,
        {"duration_ns": -1},
        "1 rows of kernels have a duration_ns below 0",
    ),
    "a depth below 0": ("spans", 1, {"depth": -1}, "1 rows of spans have a depth below 0"),
    "an end past 64 bits": (
        "kernels",
        0,
        {"start_ns": LATE},
        "1 rows of kernels end later than 64 bits can say",
    ),
    "rows out of order": (
        "spans",
        1,
        {"start_ns": -2},
        "1 rows of spans stand after a row of a later start_ns",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_row_that_cannot_be_true_is_found(what: str) -> None:
    table, row, values, expected = WRONG[what]
    assert list(problems(make_trace(**whole()))) == []
    assert any(expected in text for text in problems(changed(table, row, **values)))


@pytest.mark.parametrize(
    ("column", "value"), [("library", "cuda"), ("name", None), ("duration_ns", 1.5)]
)
def test_a_column_that_is_not_as_declared_is_found(column: str, value: object) -> None:
    trace = make_trace(**whole())
    trace._tables["kernels"] = (trace.kernels.with_columns(pl.lit(value).alias(column))).lazy()
    assert any(f"kernels.{column}: " in text for text in problems(trace))


def test_a_layers_time_that_is_a_difference_may_be_below_0() -> None:
    timing = {
        "configuration": "interpreted",
        "module_path": "fc",
        "method": "subtraction",
        "duration_ns": -3,
    }
    assert list(problems(make_trace(timings=[timing]))) == []


@pytest.mark.parametrize("parents", [(1, 0), (None, 1), (None, 9), (None, -3)], ids=str)
def test_parents_that_go_round_or_lead_out_end_every_section(
    tmp_path: Path, parents: tuple[int | None, int]
) -> None:
    tables = whole()
    for row, parent in zip(tables["spans"], parents, strict=True):
        row["parent_id"] = parent
    stored = make_trace(**tables).write(tmp_path / "t.tracelens")
    with pytest.raises(
        SourceError, match=r"t\.tracelens: 1 rows of spans .* parent.*; the trace is damaged"
    ):
        build_report(
            stored, names=[name for name, analysis in ANALYSES.items() if not analysis.is_pair]
        )


@pytest.mark.parametrize("parent", [1, 0])
def test_the_advisor_comes_to_an_end_where_parents_go_round(parent: int) -> None:
    op = {"kind": "op", "name": "aten::relu", "duration_ns": 9, "input_shapes": "[[2]]"}
    spans = [op, op | {"parent_id": parent}, op | {"parent_id": 1}]
    kernel = {"span_id": 1, "duration_ns": 5}
    trace = make_trace(spans=spans, kernels=[kernel])
    if parent:
        with pytest.raises(SourceError, match="the parent_id of 1 ops is not an earlier span"):
            read_calls(trace, 0)
    else:
        assert [node.device_ns for node in read_calls(trace, 0).nodes] == [5]


def test_impossible_shapes_are_not_recorded() -> None:
    """Text that is no JSON, or no list of shapes, used to end the advisor with a traceback."""
    texts = ("[[", '{"a": 1}', '[["x"]]', "7")
    spans = [
        {"kind": "op", "name": "aten::relu", "input_shapes": text, "input_strides": text}
        for text in texts
    ]
    kernels = [{"span_id": at, "start_ns": at, "duration_ns": 5} for at in range(len(spans))]
    assert [
        node.device_ns for node in read_calls(make_trace(spans=spans, kernels=kernels), 0).nodes
    ] == [5] * 4
    node = {
        "graph_key": "g",
        "node": "n",
        "op": "relu",
        "inputs": "[",
        "is_input": False,
        "is_output": True,
    }
    trace = make_trace(spans=spans, kernels=kernels, graph=[node | {"source": "export"}])
    with pytest.raises(SourceError, match=r"graph\.inputs of n: "):
        read_calls(trace, 0)


def test_a_command_that_fails_over_impossible_rows_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_trace(**whole()).write("t.tracelens")
    part = Path("t.tracelens/kernels/rank=0/part-0.parquet")
    pl.read_parquet(part, glob=False).with_columns(name=pl.lit(None, pl.String)).write_parquet(part)
    done = command_line(capsys, "export", "t.tracelens", "--to", "speedscope")
    said = (
        "table kernels.name: null where a value is required; the trace is damaged: collect it again"
    )
    assert (done.code, done.out, done.err) == (1, "", f"error: t.tracelens: {said}\n")
