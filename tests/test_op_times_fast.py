"""Times of ops in C, group of rows by group, are those of whole columns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import make_trace
from tracelens.analyses.top_ops import top_ops
from tracelens.derive.time import op_times
from tracelens.native import LIBRARY
from tracelens.trace import Trace

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the native library was not compiled")
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
    st.tuples(
        _AT,
        st.integers(0, 1),
        st.integers(0, 9),
        st.integers(0, 5),
        st.integers(0, 1),
        st.integers(0, 1),
    ),
    max_size=12,
)
_BATCHES = Trace.batches
_OP = {"kind": "op", "name": "f", "duration_ns": 9, "self_ns": 9}


def sliced(
    trace: Trace, name: str, *columns: str, use_threads: bool
) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    """`Trace.batches` of a trace on disk whose groups have three rows."""
    for rank, batches in _BATCHES(trace, name, *columns, use_threads=use_threads):
        for whole in batches:
            yield from (
                (rank, [whole[at : at + 2], whole[at + 2 : at + 3]])
                for at in range(0, whole.num_rows, 3)
            )


def fast_and_slow(trace: Trace, *, is_fast: bool | None = True) -> None:
    """Check that both ways give the same, and whether there is a fast one (None: either)."""
    slow = top_ops(trace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(op_times, "_MANY_SPANS", 0)
        patch.setattr(Trace, "batches", sliced)
        assert is_fast is None or (op_times.in_batches(trace) is not None) is is_fast
        assert top_ops(trace).equals(slow)


@given(spans=_SPANS, work=_WORK, calls=_CALLS, in_order=st.booleans())
def test_fast_and_slow(
    spans: list[Any], work: list[Any], calls: list[Any], *, in_order: bool
) -> None:
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
    fast_and_slow(
        make_trace(
            spans=[_OP, *rows], kernels=launched[::2], memcpys=launched[1::2], api_calls=made
        ),
        is_fast=in_order or None,
    )


@pytest.mark.parametrize(("n_threads", "is_fast"), [(2, True), (1024, True), (1025, False)])
def test_too_many_threads_are_left_to_the_slow_way(n_threads: int, *, is_fast: bool) -> None:
    calls = [
        {"thread_id": n % n_threads, "start_ns": n // 2, "duration_ns": 3, "span_id": 0}
        for n in range(2060)
    ]
    trace = make_trace(spans=[_OP | {"self_ns": 10**6}, _OP | {"name": "g"}], api_calls=calls)
    fast_and_slow(trace, is_fast=is_fast)


@pytest.mark.parametrize(("n_chains", "is_fast"), [(2**17 - 1, True), (2**17, False)])
def test_too_many_chains_are_left_to_the_slow_way(n_chains: int, *, is_fast: bool) -> None:
    ops = op_times._Ops(n_chains)
    kinds = pa.DictionaryArray.from_arrays(pa.array([0] * n_chains, pa.int32()), ["op"])
    names = pa.DictionaryArray.from_arrays(
        pa.array(range(n_chains), pa.int32()), [str(n) for n in range(n_chains)]
    )
    ids, parents = pa.array(range(n_chains)), pa.nulls(n_chains, pa.int64())
    spans = pa.RecordBatch.from_pydict(
        {"span_id": ids, "parent_id": parents, "kind": kinds, "name": names}
    )
    assert ops.place(spans) is is_fast


def test_a_rank_without_ops_has_no_rows() -> None:
    note = {"kind": "annotation", "duration_ns": 4, "self_ns": 4}
    fast_and_slow(make_trace(spans=[_OP | {"rank": 1, "span_id": 0}, note | {"span_id": 0}]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(op_times, "_MANY_SPANS", 0)
        assert op_times.in_batches(make_trace(spans=[note])) == []


@pytest.mark.parametrize(
    "spans", [[_OP | {"span_id": 1}, _OP | {"span_id": 0}], [_OP, _OP | {"span_id": 2}]]
)
def test_ids_that_are_no_rows_are_left_to_the_slow_way(spans: list[dict[str, Any]]) -> None:
    fast_and_slow(make_trace(spans=spans), is_fast=False)


def test_a_trace_on_disk_is_read_rank_by_rank_and_group_by_group(tmp_path: Path) -> None:
    spans = [
        _OP
        | {
            "rank": rank,
            "span_id": row,
            "parent_id": (row - 1) // 2 if row else None,
            "name": "fgh"[row % 3],
        }
        for rank in (0, 2)
        for row in range(7)
    ]
    kernels = [{"rank": row % 3, "span_id": row, "duration_ns": 2} for row in range(8)]
    make_trace(spans=spans, kernels=kernels).write(tmp_path / "t")
    for file in (tmp_path / "t").glob("*/*/*.parquet"):
        pq.write_table(pq.read_table(file, partitioning=None), file, row_group_size=3)
    slow = top_ops(Trace.open(tmp_path / "t"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(op_times, "_MANY_SPANS", 0)
        trace = Trace.open(tmp_path / "t")
        trace.select("spans", "rank", "self_ns")  # groups are the same ones, whatever is held
        assert [(rank, len(batches)) for rank, batches in trace.batches("spans", "name")] == [
            (0, 1)
        ] * 3 + [(2, 1)] * 3
        assert op_times.in_batches(trace) is not None
        assert top_ops(trace).equals(slow)


def batch_of_spans(**columns: pa.Array) -> pa.RecordBatch:
    """Return two ops called f, the second within the first. Given columns replace these."""
    names = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), ["f"])
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), ["op"])
    usual = {
        "span_id": pa.array([0, 1]),
        "parent_id": pa.array([None, 0]),
        "kind": kinds,
        "name": names,
    }
    return pa.RecordBatch.from_pydict(usual | columns)


@pytest.mark.parametrize("column", ["kind", "name"])
@pytest.mark.parametrize("place", [1, -1, 1 << 30, None])
def test_words_in_no_dictionary_are_left_to_the_slow_way(column: str, place: int | None) -> None:
    places = pa.array([0, place], pa.int32())
    broken = pa.DictionaryArray.from_arrays(places, ["op"], safe=False)
    for batch, is_fast in ((batch_of_spans(), True), (batch_of_spans(**{column: broken}), False)):
        ops = op_times._Ops(2)
        assert (op_times._can_be_read(batch) and ops.place(batch)) is is_fast


def test_a_name_that_is_no_text_is_left_to_the_slow_way() -> None:
    damaged = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    names = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), damaged)
    assert not op_times._Ops(2).place(batch_of_spans(name=names))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("span_id", pa.array([0, 1], pa.int32())),
        ("self_ns", pa.array([1, None])),
        ("name", pa.array(["f", "f"])),
        ("name", pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), ["f"])),
        ("name", pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), pa.array([1]))),
    ],
)
def test_undeclared_columns_are_left_to_the_slow_way(column: str, values: pa.Array) -> None:
    assert op_times._can_be_read(batch_of_spans())
    assert not op_times._can_be_read(batch_of_spans(**{column: values}))


def test_what_is_not_placed_yet_has_no_times() -> None:
    ops, times = op_times._Ops(2), pa.RecordBatch.from_pydict({"self_ns": pa.array([1, 2])})
    assert not ops.time(times)


def test_names_without_ops_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 60,000 Python functions beside 26 ops, only the 26 have durations to be looked at."""
    n_measured = []
    measures = op_times._Ops.measures

    def counted(ops: Any) -> Iterator[Any]:
        for durations in measures(ops):
            n_measured.append(durations.len())
            yield durations

    monkeypatch.setattr(op_times._Ops, "measures", counted)
    functions = [_OP | {"kind": "python", "name": f"f{i}", "start_ns": 9 * i} for i in range(5)]
    trace = make_trace(spans=[*functions, _OP | {"name": "op", "start_ns": 50}])
    (names,) = op_times.in_batches(trace) or []
    assert names.select("name", "n_calls", "duration_total_ns").rows() == [("op", 1, 9)]
    assert n_measured == [1]
