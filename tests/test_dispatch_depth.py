"""dispatch_depth: spans above a launch, and frames of a stack, by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import make_trace
from tracelens.analyses.dispatch_depth import dispatch_depth, notes
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import DISPATCH_DEPTH

# main > Conv2d > aten::conv2d > aten::cudnn_convolution, which launches twice
SPANS: list[dict[str, Any]] = [
    {"kind": "python", "name": "main", "start_ns": 0, "duration_ns": 500},
    {"kind": "module", "name": "Conv2d_0", "start_ns": 90, "duration_ns": 300, "parent_id": 0},
    {"kind": "op", "name": "aten::conv2d", "start_ns": 100, "duration_ns": 200, "parent_id": 1},
    {
        "kind": "op",
        "name": "aten::cudnn_convolution",
        "start_ns": 110,
        "duration_ns": 180,
        "parent_id": 2,
    },
]
for _span in SPANS[1:]:
    _span |= {"module_path": "Net_0.Conv2d_0", "phase": "forward"}


def call(
    span_id: int | None, start: int, end: int, kind: str = "kernel_launch", **more: Any
) -> dict[str, Any]:
    return {"span_id": span_id, "start_ns": start, "duration_ns": end - start, "kind": kind, **more}


def test_depth_and_host_time_of_a_call_site() -> None:
    trace = make_trace(
        spans=SPANS,
        api_calls=[call(3, 150, 160), call(3, 170, 180, "memset"), call(3, 190, 199, "sync")],
    )
    (row,) = DISPATCH_DEPTH.check(dispatch_depth(trace)).to_dicts()
    assert (row["source"], row["op"], row["layer"], row["phase"]) == (
        "span",
        "aten::conv2d",
        "Net_0.Conv2d_0",
        "forward",
    )
    assert row["n_launches"] == 2
    assert (row["op_depth_median"], row["python_depth_median"], row["total_depth_median"]) == (
        2.0,
        2.0,
        4.0,
    )
    assert (row["op_depth_max"], row["python_depth_max"], row["total_depth_max"]) == (2, 2, 4)
    assert row["host_median_ns"] == 70.0  # of 160 - 100 and 180 - 100
    assert (
        row["host_total_ns"] == 80
    )  # the op is on the host once, until the second launch returned


def test_each_call_of_an_op_adds_its_host_time() -> None:
    again = [span | {"start_ns": span["start_ns"] + 1000} for span in SPANS]
    for span in again:
        span["parent_id"] = span["parent_id"] + 4 if "parent_id" in span else None
    trace = make_trace(spans=[*SPANS, *again], api_calls=[call(3, 150, 160), call(6, 1120, 1130)])
    (row,) = dispatch_depth(trace).to_dicts()
    assert (row["n_launches"], row["host_total_ns"]) == (2, 60 + 30)
    assert (row["op_depth_median"], row["op_depth_max"]) == (1.5, 2)


@pytest.mark.parametrize("spans", [[], SPANS])
def test_launches_outside_any_op(spans: list[dict[str, Any]]) -> None:
    trace = make_trace(
        spans=spans, api_calls=[call(None, 0, 5), call(None, 10, 15, "graph_launch")]
    )
    (row,) = DISPATCH_DEPTH.check(dispatch_depth(trace)).to_dicts()
    assert (row["op"], row["n_launches"], row["total_depth_max"]) == (None, 2, 0)
    assert (row["host_median_ns"], row["host_total_ns"]) == (None, None)


def test_a_launch_from_python_has_depth_but_no_op() -> None:
    (row,) = dispatch_depth(make_trace(spans=SPANS, api_calls=[call(1, 95, 99)])).to_dicts()
    assert (row["op"], row["layer"], row["op_depth_max"], row["python_depth_max"]) == (
        None,
        "Net_0.Conv2d_0",
        0,
        2,
    )
    assert row["host_total_ns"] is None


def test_frames_of_stacks_are_rows_of_their_own_by_role() -> None:
    def frames(stack_id: int, *roles: str) -> list[dict[str, Any]]:
        return [
            {"stack_id": stack_id, "level": level, "role": role} for level, role in enumerate(roles)
        ]

    stack = {"symbol": "cudnnExecute", "implementation": "v8"}
    trace = make_trace(
        stacks=[stack | {"stack_id": 0, "depth": 3}, stack | {"stack_id": 1, "depth": 2}],
        frames=[
            *frames(0, "library", "dispatcher", "dispatcher"),
            *frames(1, "library", "dispatcher"),
        ],
    )
    found = DISPATCH_DEPTH.check(dispatch_depth(trace))
    columns = [
        "source",
        "op",
        "layer",
        "role",
        "n_launches",
        "total_depth_median",
        "total_depth_max",
    ]
    assert sorted(found.select(columns).rows(), key=str) == [
        ("stack", "cudnnExecute", "v8", "dispatcher", 2, 1.5, 2),
        ("stack", "cudnnExecute", "v8", "library", 2, 1.0, 1),
        ("stack", "cudnnExecute", "v8", None, 2, 2.5, 3),
    ]
    assert found["op_depth_median"].null_count() == 3
    assert notes(trace, found) == [
        "Rank 0: cudnnExecute stands 2.5 frames deep in v8 (median of 2 stacks)."
    ]


def test_without_launches_and_stacks() -> None:
    with pytest.raises(MissingTableError, match="tracelens collect torch, nsys or gdb"):
        dispatch_depth(make_trace(spans=SPANS, api_calls=[call(3, 150, 160, "sync")]))


def test_notes() -> None:
    trace = make_trace(spans=SPANS, api_calls=[call(3, 150, 160)])
    said = notes(trace, dispatch_depth(trace))
    assert "inside 2.0 ops and 2.0 Python calls on average (1 launches and copies)" in said[0]
    assert "tracelens collect gdb" in said[1]
    bare = make_trace(spans=[{"kind": "op"}], api_calls=[call(0, 150, 160)])
    assert "with_stack=True" in notes(bare, dispatch_depth(bare))[1]


@given(
    st.lists(st.tuples(st.sampled_from([None, 0, 1, 2, 3]), st.integers(120, 280)), min_size=1),
    st.integers(0, 10**18),
)
def test_order_and_shift_change_nothing(launches: list[tuple[int | None, int]], shift: int) -> None:
    calls = [call(span_id, start, start + 5) for span_id, start in launches]
    found = dispatch_depth(make_trace(spans=SPANS, api_calls=calls))
    assert found["n_launches"].sum() == len(launches)
    shifted = [
        [row | {"start_ns": row["start_ns"] + shift} for row in rows]
        for rows in ([span | {"span_id": i} for i, span in enumerate(SPANS)], calls)
    ]
    assert_frame_equal(
        dispatch_depth(make_trace(spans=shifted[0][::-1], api_calls=shifted[1][::-1])), found
    )
