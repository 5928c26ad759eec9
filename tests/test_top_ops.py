"""top_ops: the profiler's CPU self, CUDA self and CUDA total, by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import make_trace
from tracelens.analyses.top_ops import top_ops
from tracelens.errors import MissingTableError
from tracelens.schemas.results.calls import TOP_OPS
from tracelens.trace import Trace

COLUMNS = ["name", "n_calls", "duration_total_ns", "cpu_self_ns", "cuda_self_ns", "cuda_total_ns"]


def span(
    name: str, times: tuple[int, int], parent: int | None = None, kind: str = "op"
) -> dict[str, Any]:
    """A span of a duration, of which some is its own."""
    return {
        "name": name,
        "duration_ns": times[0],
        "self_ns": times[1],
        "parent_id": parent,
        "kind": kind,
    }


def work(span_id: int | None, duration: int, **more: Any) -> dict[str, Any]:
    return {"span_id": span_id, "duration_ns": duration, **more}


def rows(trace: Trace) -> list[Any]:
    return TOP_OPS.check(top_ops(trace)).select(COLUMNS).rows()


def test_an_op_gets_its_launches_its_parents_the_total() -> None:
    trace = make_trace(
        spans=[
            span("conv2d", (100, 30)),
            span("cudnn_convolution", (70, 70), parent=0),
            span("relu", (20, 20)),
            span("nothing", (5, 5)),
        ],
        api_calls=[
            {"span_id": 1, "duration_ns": 10},
            {"span_id": 2, "start_ns": 50, "duration_ns": 8},
        ],
        kernels=[work(1, 500), work(1, 100), work(2, 50), work(None, 9000)],
        memsets=[work(0, 5)],
    )
    assert rows(trace) == [
        ("conv2d", 1, 100, 30, 5, 605),
        ("cudnn_convolution", 1, 70, 60, 600, 600),
        ("relu", 1, 20, 12, 50, 50),
        ("nothing", 1, 5, 5, 0, 0),
    ]


def test_an_op_within_an_op_of_its_name_counts_once_in_total() -> None:
    trace = make_trace(
        spans=[span("f", (100, 40)), span("g", (60, 10), parent=0), span("f", (50, 50), parent=1)],
        kernels=[work(0, 3), work(2, 7)],
    )
    assert rows(trace) == [("f", 2, 150, 90, 10, 10), ("g", 1, 60, 10, 0, 7)]


def test_python_between_ops_is_the_outer_ops_time() -> None:
    # torch.profiler records no Python calls among its ops, so what they take is the op's around
    # them.
    trace = make_trace(
        spans=[
            span("Function", (100, 20)),
            span("forward", (80, 60), parent=0, kind="python"),
            span("mul", (20, 20), parent=1),
            span("main", (200, 200), kind="python"),
        ],
        api_calls=[{"span_id": 1, "duration_ns": 15}],
        kernels=[work(1, 4), work(2, 6), work(3, 1000)],
    )
    assert rows(trace) == [("Function", 1, 100, 65, 4, 10), ("mul", 1, 20, 20, 6, 6)]


def test_an_annotation_within_an_op_keeps_its_own_time() -> None:
    trace = make_trace(
        spans=[span("op", (100, 30)), span("mark", (70, 70), parent=0, kind="annotation")]
    )
    assert rows(trace) == [("op", 1, 100, 30, 0, 0)]


def test_a_driver_call_within_a_runtime_call_is_taken_off_once() -> None:
    calls = [
        {"start_ns": 10, "duration_ns": 20, "span_id": 0},
        {"start_ns": 12, "duration_ns": 15, "span_id": 0},
    ]
    calls.append(calls[1] | {"thread_id": 9})
    assert rows(make_trace(spans=[span("op", (100, 100))], api_calls=calls)) == [
        ("op", 1, 100, 65, 0, 0)
    ]


def test_ranks_keep_apart() -> None:
    trace = make_trace(
        spans=[span("op", (10, 10)), span("op", (20, 20)) | {"rank": 1, "span_id": 0}],
        kernels=[work(0, 1), work(0, 2, rank=1)],
    )
    assert top_ops(trace).select("rank", "cuda_total_ns").rows() == [(0, 1), (1, 2)]


@pytest.mark.parametrize("spans", [[], [span("main", (10, 10), kind="python")]])
def test_without_ops(spans: list[dict[str, Any]]) -> None:
    with pytest.raises(MissingTableError, match="tracelens collect torch"):
        top_ops(make_trace(spans=spans))


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw spans of few names, so that ops nest in ops of their name.

    Parents come before their children.
    """
    found = []
    for row in range(draw(st.integers(1, 12))):
        parent = draw(st.one_of(st.none(), st.integers(0, row - 1))) if row else None
        duration = draw(st.integers(0, 50))
        times = (duration, draw(st.integers(0, duration)))
        found.append(
            span(
                draw(st.sampled_from("abc")),
                times,
                parent,
                draw(st.sampled_from(["op", "op", "python"])),
            )
        )
    return [*found, span("a", (1, 1))]


@given(trees(), st.data())
def test_totals_against_climbing_from_each_kernel(
    spans: list[dict[str, Any]], data: st.DataObject
) -> None:
    kernels = [
        work(i, 10**i)
        for i in data.draw(st.lists(st.integers(0, len(spans) - 1), max_size=5, unique=True))
    ]
    own, total = dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    for kernel in kernels:
        at: int | None = kernel["span_id"]
        ops = []
        while at is not None:
            ops += [spans[at]["name"]] if spans[at]["kind"] == "op" else []
            at = spans[at]["parent_id"]
        for name in ops[:1]:
            own[name] += kernel["duration_ns"]
        for name in set(ops):
            total[name] += kernel["duration_ns"]
    trace = make_trace(spans=spans, kernels=kernels)
    found = top_ops(trace)
    for name, cuda_self, cuda_total in found.select("name", "cuda_self_ns", "cuda_total_ns").rows():
        assert (cuda_self, cuda_total) == (own[name], total[name])
    assert (found["cuda_self_ns"] <= found["cuda_total_ns"]).all()
    backwards = make_trace(
        spans=[s | {"span_id": i} for i, s in enumerate(spans)][::-1], kernels=kernels[::-1]
    )
    assert_frame_equal(top_ops(backwards), found)
