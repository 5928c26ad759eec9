"""The passes in machine code give what doubling gives."""

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="the fast passes need numpy")

from polars.testing import assert_frame_equal

from tracelens.derive import ancestry, ancestry_fast, breakdown, charging, op_times_fast

pytestmark = pytest.mark.skipif(ancestry_fast.kernel() is None, reason="numba is not installed: no fast passes")
_ROWS = st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(0, 2)), max_size=40)


def columns(rows: list[tuple[int, bool, int]]) -> tuple[pl.Series, pl.Series, pl.Series]:
    """A parent that stands before its row, or none; a flag; a number."""
    parent = pl.Series("parent", [up if up < i else None for i, (up, _, _) in enumerate(rows)], dtype=pl.Int64)
    flags = pl.Series("flag", [flag for _, flag, _ in rows], dtype=pl.Boolean)
    return parent, flags, pl.Series("number", [number for _, _, number in rows], dtype=pl.Int64)


@given(_ROWS)
def test_rows_counts_and_sums(rows: list[tuple[int, bool, int]]) -> None:
    parent, flags, numbers = columns(rows)
    passes: tuple[tuple[str, pl.Series], ...] = (
        ("nearest_row", flags), ("outermost_row", flags), ("count_among", flags), ("sum_within", numbers),
    )  # fmt: skip
    for name, values in passes:
        slow: Callable[..., pl.Series] = getattr(ancestry, name)
        fast: Callable[..., pl.Series | None] = getattr(ancestry_fast, name)
        parts = pl.concat([parent[:3], parent[3:4], parent[4:]], rechunk=False)
        found, expected = fast(parts, values), slow(parent, values)
        assert found is not None
        assert found.dtype == expected.dtype, name
        assert found.to_list() == expected.to_list(), name


@given(_ROWS, st.lists(st.none() | st.integers(0, 50), max_size=9))
def test_above(rows: list[tuple[int, bool, int]], asked: list[int | None]) -> None:
    parent, _, numbers = columns(rows)
    marks = numbers.cast(pl.UInt8)
    at = pl.Series([row if row is not None and row < len(rows) else None for row in asked], dtype=pl.Int64)
    found, expected = ancestry_fast.above(parent, marks, at), ancestry.above(parent, marks, at)
    assert found is not None
    assert found.equals(expected)


_CALLS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 3), st.integers(0, 1), st.integers(-1, 1), st.integers(-3, 9), st.integers(0, 9)
    ),
    max_size=30,
)


@given(_CALLS)
def test_charges(rows: list[tuple[int | None, int, int, int, int]]) -> None:
    names = ("span_id", "process_id", "thread_id", "start_ns", "duration_ns")
    calls = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")
    found = ancestry_fast.charge(calls["span_id"], calls["duration_ns"], 4)
    assert found is not None
    assert found.tolist() == charging.charge(calls["span_id"], calls["duration_ns"], 4).to_list()


def test_what_is_charged_to_no_row_is_left_to_the_slow_way() -> None:
    assert ancestry_fast.charge(pl.Series([1]), pl.Series([1]), 1) is None


_WORK = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 2), st.integers(0, 20), st.integers(-2, 9), st.none() | st.integers(0, 30)
    ),
    max_size=30,
)


@given(_WORK)
def test_lengths_of_device_work(rows: list[tuple[int, int, int, int, int | None]]) -> None:
    names = ("device_id", "work", "start_ns", "duration_ns", "returned")
    work = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row").with_columns(step=7).sort("start_ns")
    by = ["device_id", "step"]
    slow = breakdown._lengths(work, by)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ancestry, "WORTH_A_KERNEL", 1)
        patch.setattr(breakdown, "_sums", lambda _: None)
        fast = breakdown._lengths(work, by) if rows else slow
    assert_frame_equal(fast, slow, check_row_order=False)


def test_device_work_out_of_order_is_left_to_the_slow_way() -> None:
    work = pl.DataFrame(
        {"group": [1, 0], "work": [0, 0], "start_ns": [0, 0], "duration_ns": [1, 1], "returned": [0, 0]}
    )
    assert ancestry_fast.lengths(work, 2) is None
    assert ancestry_fast.lengths(work.reverse(), 1) is None
    found = ancestry_fast.lengths(work.reverse(), 2)
    assert found is not None
    assert found.tolist() == [[1, 0, 0, 1, 1, 0]] * 2


def test_words_are_those_of_the_kernel() -> None:
    from tracelens.derive import ancestry_kernel as kernel  # noqa: PLC0415 - brings numba

    for name in (
        "NEAREST",
        "OUTERMOST",
        "COUNT",
        "WITHIN",
        "ABOVE",
        "CHARGE",
        "CALLS",
        "PLACED",
        "LAUNCHED",
        "TIMES",
        "ORDERED",
        "TOTALS",
        "LENGTHS",
        "NONE",
    ):
        assert getattr(ancestry_fast, name) == getattr(kernel, name), name
    assert [getattr(kernel, name.upper()) for name in ancestry_fast._ARRAYS] == list(range(2, 26))
    for name in ("CODE", "UP", "N_OPS", "OWN_NS", "DEVICE_NS", "N_WORDS", "N_NODES", "HEAD", "IS_OP", "OWNED"):
        assert getattr(op_times_fast, name) == getattr(kernel, name), name


@pytest.mark.parametrize("parents", [[1, None], [None, 1], [None, 5], [None, -1]])
def test_what_is_no_row_before_the_child_is_left_to_the_slow_way(parents: list[int | None]) -> None:
    parent = pl.Series(parents, dtype=pl.Int64)
    assert ancestry_fast.nearest_row(parent, pl.Series([True, False])) is None
    assert ancestry_fast.sum_within(parent, pl.Series([1, 2])) is None


def test_many_rows_go_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    parent, flags = pl.Series([None, 0, 1], dtype=pl.Int64), pl.Series([True, False, False])
    monkeypatch.setattr(ancestry, "WORTH_A_KERNEL", 3)
    monkeypatch.setattr(ancestry_fast, "nearest_row", lambda *_: pl.Series([7, 7, 7]))
    assert ancestry.nearest_row(parent, flags).to_list() == [7, 7, 7]
    monkeypatch.setattr(ancestry_fast, "nearest_row", lambda *_: None)
    assert ancestry.nearest_row(parent, flags).to_list() == [0, 0, 0]
