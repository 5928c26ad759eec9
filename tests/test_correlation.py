"""Tying device work to its call: by process and correlation id, or a message without one."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.torch_files import call, kernel, read, rows, span, write
from tracelens.derive.events.correlation import Callers, fill_process

pytestmark = pytest.mark.usefixtures("index")
LINK = ("name", "link", "api_call_id")


@pytest.fixture(params=[16, 0], ids=["by process", "in one join"])
def index(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Index the calls process by process, or in the way for many processes."""
    monkeypatch.setattr("tracelens.derive.events.correlation._FEW", request.param)


def linked(
    tmp_path: Path, *events: dict[str, Any], table: str = "kernels"
) -> list[tuple[Any, ...]]:
    """Name, link and call of each piece of work in a trace of these events."""
    return rows(read(write(tmp_path / "t.json", events)), table, *LINK)


def driver(name: str, ts: float, dur: float, correlation: int) -> dict[str, Any]:
    return call(name, ts, dur, correlation, cat="cuda_driver")


def test_launches_through_runtime_and_driver(tmp_path: Path) -> None:
    events = (
        span("aten::mm", 0, 50),
        call("cudaLaunchKernel", 5, 3, 1),
        kernel("by runtime", 20, 5, 1),
        driver("cuLaunchKernelEx", 60, 3, 2),
        kernel("by driver", 70, 5, 2),
    )
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "kernels", *LINK, "span_id") == [
        ("by runtime", "launched", 0, 0),
        ("by driver", "launched", 1, None),
    ]
    assert rows(capture, "api_calls", "source_api", "kind") == [
        ("runtime", "kernel_launch"),
        ("driver", "kernel_launch"),
    ]


def test_a_graph_launch_starts_many(tmp_path: Path) -> None:
    node = {"device": 0, "stream": 7, "correlation": 9}
    events = (
        call("cudaGraphLaunch", 5, 3, 9),
        *(kernel(f"k{i}", 10 + i, 1, 9, args=node | {"graph node id": 100 + i}) for i in range(3)),
        driver("cuGraphLaunch", 30, 3, 10),
        kernel("k3", 40, 1, 10),
    )
    assert linked(tmp_path, *events) == [
        ("k0", "graph", 0),
        ("k1", "graph", 0),
        ("k2", "graph", 0),
        ("k3", "graph", 1),
    ]
    nodes = rows(read(tmp_path / "t.json"), "kernels", "graph_node_id")
    assert nodes == [(100,), (101,), (102,), (None,)]


def test_the_runtime_call_counts_not_the_driver_call_below(tmp_path: Path) -> None:
    events = (
        driver("cuLaunchKernel", 6, 1, 1),
        call("cudaLaunchKernel", 5, 3, 1),
        kernel("k", 20, 5, 1),
    )
    assert linked(tmp_path, *events) == [("k", "launched", 0)]
    # Old traces count in microseconds: both may start in the same one.
    events = (
        driver("cuLaunchKernel", 5, 1, 1),
        call("cudaLaunchKernel", 5, 3, 1),
        kernel("k", 20, 5, 1),
    )
    capture = read(write(tmp_path / "t.json", events))
    by_call = dict(rows(capture, "api_calls", "api_call_id", "api"))
    assert [by_call[i] for (i,) in rows(capture, "kernels", "api_call_id")] == ["cudaLaunchKernel"]


def test_of_calls_with_one_id_the_one_that_starts_work(tmp_path: Path) -> None:
    events = (
        call("cudaStreamIsCapturing", 4, 9, 1),
        driver("cuLaunchKernel", 6, 1, 1),
        kernel("k", 20, 5, 1),
    )
    assert linked(tmp_path, *events) == [("k", "launched", 1)]


def test_earlier_work_and_work_without_its_call(tmp_path: Path) -> None:
    events = (
        kernel("ran before the first call", 10, 5, 99),
        kernel("its id is older", 60, 5, 49),
        call("cudaLaunchKernel", 50, 5, 50),
        kernel("starts with the first call", 50, 1, 52),
        kernel("its call is missing", 70, 5, 51),
        kernel("launched", 80, 5, 50),
    )
    assert linked(tmp_path, *events) == [
        ("ran before the first call", "pre_window", None),
        ("starts with the first call", "unlinked", None),
        ("its id is older", "pre_window", None),
        ("its call is missing", "unlinked", None),
        ("launched", "launched", 0),
    ]


def test_work_of_a_trace_without_calls_is_unlinked(tmp_path: Path) -> None:
    assert linked(tmp_path, kernel("k", 10, 5, 3)) == [("k", "unlinked", None)]


def test_zero_and_no_id_link_nothing(tmp_path: Path) -> None:
    without = {"device": 0, "stream": 7}
    events = (
        call("cudaLaunchKernel", 5, 1, 0),
        call("cudaLaunchKernel", 7, 1, 3),
        kernel("before, id 0", 1, 1, 0),
        kernel("id 0", 10, 1, 0),
        kernel("no id", 11, 1, 0, args=without),
    )
    assert linked(tmp_path, *events) == [
        ("before, id 0", "pre_window", None),
        ("id 0", "unlinked", None),
        ("no id", "unlinked", None),
    ]


def test_copies_fills_and_waits_link_too(tmp_path: Path) -> None:
    def on_device(cat: str, correlation: int) -> dict[str, Any]:
        return kernel("x", 20, 1, correlation, cat=cat)

    events = (
        call("cudaMemcpyAsync", 1, 1, 1),
        call("cudaMemsetAsync", 3, 1, 2),
        call("cudaStreamSynchronize", 5, 9, 3),
        on_device("gpu_memcpy", 1),
        on_device("gpu_memset", 2),
        on_device("cuda_sync", 3),
    )
    capture = read(write(tmp_path / "t.json", events))
    for api_call_id, table in enumerate(("memcpys", "memsets", "synchronizations")):
        assert rows(capture, table, "api_call_id") == [(api_call_id,)]


def test_an_external_id_is_no_correlation_id(tmp_path: Path) -> None:
    ids = {"device": 0, "stream": 7, "correlation": 8, "External id": 5}
    events = (call("cudaLaunchKernel", 1, 1, 5), kernel("k", 20, 1, 8, args=ids))
    assert linked(tmp_path, *events) == [("k", "unlinked", None)]


CALLS = pl.DataFrame(
    # Two processes count their correlation ids from 1 each; 7 is only the second one's.
    [(0, 1, 1, 0), (1, 2, 1, 5), (2, 2, 7, 6)],
    schema={
        "api_call_id": pl.Int64,
        "process_id": pl.Int64,
        "correlation_id": pl.Int64,
        "start_ns": pl.Int64,
    },
    orient="row",
).with_columns(
    duration_ns=pl.lit(1),
    span_id=pl.lit(None, pl.Int64),
    step=pl.lit(None, pl.Int64),
    kind=pl.lit("kernel_launch"),
)


def test_two_processes_with_the_same_ids() -> None:
    work = pl.DataFrame(
        {"process_id": [1, 2, 1], "correlation_id": [1, 1, 7], "start_ns": [10, 10, 10]}
    )
    assert Callers(CALLS).link(work).select("api_call_id", "link").rows() == [
        (0, "launched"),
        (1, "launched"),
        (None, "unlinked"),
    ]


def test_work_without_a_process_is_given_to_none_wrongly() -> None:
    work = pl.DataFrame(
        {"correlation_id": [1, 7, 8, None, 0], "start_ns": [10] * 5},
        schema_overrides={"correlation_id": pl.Int64},
    )
    filled = fill_process(work, CALLS, fallback=2)
    assert filled["process_id"].to_list() == [-1, 2, 2, 2, 2]
    assert Callers(CALLS).link(filled)["api_call_id"].to_list() == [None, 2, None, None, None]
    named = work.with_columns(process_id=pl.lit(5, pl.Int64))
    assert fill_process(named, CALLS, fallback=2)["process_id"].to_list() == [5] * 5


def test_ids_of_any_size_link() -> None:
    """Ids that lie close are looked up in a list, ids far apart are joined.

    Both take the first call, the outer one.
    """
    for scale in (1, 10**12):
        calls = pl.DataFrame(
            {
                "process_id": [1, 1, 1, 1, 1],
                "correlation_id": [scale, 2 * scale, 2 * scale, 3 * scale, 4 * scale],
                "start_ns": [10, 20, 20, 30, 40],
                "duration_ns": [1, 1, 5, 1, 1],
                "api_call_id": [0, 1, 2, 3, 4],
                "span_id": [None, 7, 8, None, None],
                "step": [0, 1, 1, 2, 2],
                "kind": ["memory", "kernel_launch", "kernel_launch", "graph_launch", "sync"],
            },
            schema_overrides={"span_id": pl.Int64},
        )
        ids = [2 * scale, 3 * scale, 3 * scale, 4 * scale, scale, 5 * scale, None, 0, -1]
        work = pl.DataFrame({"process_id": [1] * 9, "correlation_id": ids, "start_ns": [50] * 9})
        answers = Callers(calls).link(work).select("api_call_id", "span_id", "step", "link").rows()
        assert answers == [
            (2, 8, 1, "launched"),
            (3, None, 2, "graph"),
            (3, None, 2, "graph"),
            (4, None, 2, "launched"),
            (0, None, 0, "launched"),
            # Null and 0 are no ids; -1 is below every recorded one, and so from before the window.
            (None, None, None, "unlinked"),
            (None, None, None, "unlinked"),
            (None, None, None, "unlinked"),
            (None, None, None, "pre_window"),
        ]


@pytest.mark.parametrize("apart", [1, 10**7])
def test_ids_may_lie_close_or_far_apart(apart: int) -> None:
    names, starts = ["cudaLaunchKernel"] * 3, [10, 20, 30]
    calls = pl.DataFrame(
        {"process_id": 1, "correlation_id": [5 * apart, 6 * apart, 9 * apart], "start_ns": starts}
    )
    calls = calls.with_columns(
        pl.lit("kernel_launch").alias("kind"),
        raw_api=pl.Series(names),
        duration_ns=1,
        step=None,
        span_id=None,
    )
    calls = calls.with_row_index("api_call_id")
    asked = [
        9 * apart,
        6 * apart,
        5 * apart,
        7 * apart,
        10 * apart,
        4 * apart,
        0,
        None,
        -apart,
        2**62,
    ]
    expected = [2, 1, 0, *[None] * 7]
    in_order = sorted((i for i in range(10) if asked[i] is not None), key=lambda i: asked[i] or 0)
    for places in (range(10), in_order):
        work = pl.DataFrame(
            {"process_id": 1, "correlation_id": [asked[i] for i in places], "start_ns": 40}
        )
        assert Callers(calls).link(work)["api_call_id"].to_list() == [expected[i] for i in places]
