"""Times of ops in machine code, group of rows by group, are those of whole columns."""

import ctypes
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="the fast passes need numpy")

import numpy as np

from tests.cases import make_trace
from tracelens.analyses.top_ops import top_ops
from tracelens.derive import ancestry, ancestry_fast, op_times_fast
from tracelens.fast.kernel import Kernel
from tracelens.trace import Trace

pytestmark = pytest.mark.skipif(ancestry_fast.kernel() is None, reason="numba is not installed: no fast passes")
_SPANS = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.sampled_from(["op", "op", "op", "python", "module", "annotation"]),
        st.sampled_from("fgh"),
        st.integers(0, 9),
        st.integers(0, 9),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=20,
)
_AT = st.none() | st.integers(0, 25)
_WORK = st.lists(st.tuples(_AT, st.integers(0, 9), st.integers(0, 2)), max_size=12)
_CALLS = st.lists(
    st.tuples(_AT, st.integers(0, 1), st.integers(0, 9), st.integers(0, 5), st.integers(0, 1), st.integers(0, 1)),
    max_size=12,
)
_OP = {"kind": "op", "name": "f", "duration_ns": 9, "self_ns": 9}


def sliced(trace: Trace, name: str, *columns: str) -> Iterator[pl.DataFrame]:
    """`Trace.groups` of a trace on disk whose groups have three rows."""
    whole = trace.select(name, *columns)
    return (whole[at : at + 3] for at in range(0, whole.height, 3))


def fast_and_slow(trace: Trace, *, is_fast: bool = True) -> None:
    """The same both ways; and whether there is a fast one."""
    slow = top_ops(trace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ancestry, "WORTH_A_KERNEL", 0)
        patch.setattr(Trace, "groups", sliced)
        assert (op_times_fast.op_times(trace) is not None) is is_fast
        assert top_ops(trace).equals(slow)


@given(spans=_SPANS, work=_WORK, calls=_CALLS, in_order=st.booleans())
def test_fast_and_slow(spans: list[Any], work: list[Any], calls: list[Any], *, in_order: bool) -> None:
    rows: list[dict[str, Any]] = []
    n_of_rank = [1, 0]
    for up, kind, name, duration, own, rank in spans:
        row = n_of_rank[rank]
        times = {"duration_ns": duration, "self_ns": own}
        ids = {"rank": rank, "span_id": row, "parent_id": up if up < row else None}
        rows.append({**ids, "kind": kind, "name": name, **times})
        n_of_rank[rank] += 1
    launched = [{"span_id": at, "duration_ns": ns, "rank": rank} for at, ns, rank in work]
    names = ("span_id", "thread_id", "start_ns", "duration_ns", "process_id", "rank")
    made = [dict(zip(names, call, strict=True)) for call in calls]
    if in_order:
        made.sort(key=lambda call: (call["start_ns"], -call["duration_ns"]))
    fast_and_slow(make_trace(spans=[_OP, *rows], kernels=launched[::2], memcpys=launched[1::2], api_calls=made))


@pytest.mark.parametrize(("name", "is_fast"), [("_N_LANES", True), ("_N_SLOTS", False)])
def test_what_there_is_no_room_for_is_left_to_the_slow_way(
    monkeypatch: pytest.MonkeyPatch, name: str, *, is_fast: bool
) -> None:
    threads = [{"thread_id": thread, "duration_ns": 4 - thread, "span_id": 0} for thread in range(3)]
    trace = make_trace(spans=[_OP, _OP | {"name": "g"}, _OP | {"name": "h", "parent_id": 0}], api_calls=threads)
    fast_and_slow(trace)
    monkeypatch.setattr(op_times_fast, name, 2)
    fast_and_slow(trace, is_fast=is_fast)


@pytest.mark.parametrize("spans", [[_OP | {"span_id": 1}, _OP | {"span_id": 0}], [_OP, _OP | {"span_id": 2}]])
def test_ids_that_are_no_rows_are_left_to_the_slow_way(spans: list[dict[str, Any]]) -> None:
    fast_and_slow(make_trace(spans=spans), is_fast=False)


def test_the_state_is_there_while_the_kernel_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_word(address: int) -> int:
        others = [np.full(20, -1, np.int64) for _ in range(50)]  # what another thread may ask memory for meanwhile
        return int(len(others) != 50 or ctypes.c_int64.from_address(address).value != 7)

    monkeypatch.setattr(ancestry_fast, "kernel", lambda: Kernel(first_word, "none"))
    assert ancestry_fast.run(7, 1, result=np.zeros(1, np.int64))
