"""Results of very many names: those with most time have rows; one row sums all others."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.analyses import (
    dispatch_depth,
    idle_gaps,
    kernel_grids,
    time_by_range,
    top_kernels,
    top_ops,
)
from tracelens.answers import make_answer
from tracelens.exports.export import Selection
from tracelens.exports.perfetto import EXPORT as PERFETTO
from tracelens.report import build_report
from tracelens.trace import Trace

KERNELS = [
    {"name": name, "duration_ns": duration, "start_ns": 100 * at, "span_id": at, "site_id": at}
    for at, (name, duration) in enumerate(
        [("a", 10), ("b", 50), ("c", 5), ("d", 4), ("a", 20), ("d", 2)]
    )
]
SPANS = [
    {"name": f"op_{k['name']}", "kind": "op", "duration_ns": k["duration_ns"], "start_ns": 100 * at}
    for at, k in enumerate(KERNELS)
]
CALLS = [{"kind": "kernel_launch", "site_id": at, "op_span_id": at} for at in range(len(KERNELS))]
SITES = [{"op": span["name"], "op_depth": 1} for span in SPANS]
STORED: list[Callable[[Trace, Path], Trace]] = [
    lambda trace, _: trace,
    lambda trace, folder: trace.write(folder / "names.tracelens"),
]


def _made() -> Trace:
    return make_trace(kernels=KERNELS, spans=SPANS, sites=SITES, api_calls=CALLS)


@pytest.fixture(autouse=True)
def _two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACELENS_MAX_NAMES", "2")


@pytest.fixture(params=STORED, ids=["in memory", "in files"])
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> Trace:
    made: Trace = request.param(_made(), tmp_path)
    return made


def test_one_row_is_of_all_but_the_longest_kernels(trace: Trace) -> None:
    columns = ["name", "n_calls", "duration_total_ns", "duration_median_ns", "duration_max_ns"]
    assert top_kernels(trace).select(columns).rows() == [
        ("b", 1, 50, 50.0, 50),
        ("a", 2, 30, 15.0, 20),
        ("(2 other kernels)", 3, 11, 4.0, 5),
    ]
    assert top_kernels(trace)["share_frac"].sum() == pytest.approx(1)


def test_ops_grids_and_places_have_as_few_rows(trace: Trace) -> None:
    ops = top_ops(trace).select("name", "n_calls", "duration_total_ns", "cuda_total_ns").rows()
    assert ops == [("op_b", 1, 50, 50), ("op_a", 2, 30, 30), ("(2 other ops)", 3, 11, 11)]
    assert kernel_grids(trace)["name"].to_list() == ["b", "a", "(2 other kernels)"]
    assert set(dispatch_depth(trace)["op"]) == {"op_b", "op_a", "(2 other ops)"}
    places = idle_gaps(trace)["what"].drop_nulls()
    assert places.str.contains("op_[cd]").sum() == 0


def test_ops_of_a_large_trace_are_added_up_in_c_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracelens.derive.time.op_times._MANY_SPANS", 1)
    trace = make_trace(spans=SPANS)
    ops = top_ops(trace).select("name", "duration_total_ns").sort("name").rows()
    assert ops == [("(2 other ops)", 11), ("op_a", 30), ("op_b", 50)]


def test_a_report_says_what_the_row_is(trace: Trace) -> None:
    sections = {one.analysis.name: one for one in build_report(trace).sections}
    assert any(
        note.startswith(
            "(2 other kernels): all whose names are not among the 2 names with the most time"
        )
        for note in sections["top_kernels"].notes
    )
    assert any("(2 other ops)" in note for note in sections["top_ops"].notes)
    assert not any("other" in note for note in sections["data_quality"].notes)
    assert make_answer(trace).sentence


def test_tables_queries_and_exports_have_all_names(trace: Trace) -> None:
    names = {"a", "b", "c", "d"}
    top_kernels(trace)
    assert set(trace.kernels["name"]) == names
    assert set(trace.sql("SELECT DISTINCT name FROM kernels")["name"]) == names
    stream = io.BytesIO()
    PERFETTO.write(Selection.of(trace), stream)
    assert all(f"op_{name}".encode() in stream.getvalue() for name in names)


def test_ranges_and_functions_have_as_few_rows_and_steps_all() -> None:
    """Two of three requests and functions are listed. All steps and modules are."""
    spans = [
        *({"name": f"request_{i}", "kind": "annotation", "duration_ns": i} for i in range(3)),
        *({"name": f"file.py({i}): f", "kind": "python", "duration_ns": 9 - i} for i in range(3)),
        *({"name": f"nn.Module: M_{i}", "kind": "module", "duration_ns": i} for i in range(4)),
        *({"name": f"ProfilerStep#{i}", "kind": "annotation", "duration_ns": 0} for i in range(4)),
    ]
    steps = [{"name": f"ProfilerStep#{i}", "step": i} for i in range(4)]
    spans = [{**span, "start_ns": 100 * at} for at, span in enumerate(spans)]
    made = make_trace(spans=spans, steps=steps).with_listed_names()
    others = "(2 other ranges and Python functions)"
    assert made.select("spans", "name").cast(pl.String)["name"].to_list() == [
        others,
        "request_1",
        "request_2",
        "file.py(0): f",
        "file.py(1): f",
        others,
        *(span["name"] for span in spans[6:]),
    ]
    assert set(time_by_range(made)["path"]) >= {others, "request_1", "request_2"}


def test_a_name_listed_for_one_kind_is_listed_for_all() -> None:
    marks = [{"name": "op_c", "kind": "annotation", "duration_ns": 1}]
    made = make_trace(spans=[*SPANS, *marks]).with_listed_names()
    names = set(made.select("spans", "name").cast(pl.String)["name"])
    assert names == {"op_a", "op_b", "op_c", "(1 other ops)"}


def test_a_trace_of_few_names_is_read_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACELENS_MAX_NAMES", "4")
    trace = make_trace(kernels=KERNELS, spans=SPANS)
    assert trace.with_listed_names() is trace
    assert trace.shared_names == {}


def test_a_stored_trace_knows_how_many_names_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ranks' names count, so at most six kernels have a name of their own."""
    monkeypatch.setenv("TRACELENS_MAX_NAMES", "6")
    kernels = [*KERNELS, *({**kernel, "rank": 1} for kernel in KERNELS[:2])]
    trace = make_trace(kernels=kernels, spans=SPANS).write(tmp_path / "names.tracelens")
    assert trace.manifest.n_names["kernels"] == {"0": 4, "1": 2}
    assert trace.manifest.of_rank(1).n_names["kernels"] == {"1": 2}
    monkeypatch.setattr(Trace, "batches", lambda *_: pytest.fail("names are read"))
    assert trace.with_listed_names() is trace


def test_names_of_an_older_trace_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "names.tracelens"
    _made().write(folder)
    file = folder / "manifest.json"
    about = json.loads(file.read_text())
    del about["n_names"]
    file.write_text(json.dumps(about))
    assert "(2 other kernels)" in top_kernels(Trace.open(folder))["name"]
