"""The passes in C give the results of doubling."""

from array import array
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.events import call_tree
from tracelens.native import LIBRARY

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the native library was not compiled")
_ROWS = st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(0, 2)), max_size=40)


def columns(rows: list[tuple[int, bool, int]]) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Draw rows: a parent that stands before its row, or none; a flag; a number."""
    parent = pl.Series(
        "parent", [up if up < i else None for i, (up, _, _) in enumerate(rows)], dtype=pl.Int64
    )
    flags = pl.Series("flag", [flag for _, flag, _ in rows], dtype=pl.Boolean)
    return parent, flags, pl.Series("number", [number for _, _, number in rows], dtype=pl.Int64)


def doubled(name: str) -> Callable[..., Any]:
    """The pass by whole columns."""

    def slow(*columns: pl.Series) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(call_tree, "LIBRARY", None)
            return getattr(call_tree, name)(*columns)

    return slow


@given(_ROWS)
def test_rows_counts_and_sums(rows: list[tuple[int, bool, int]]) -> None:
    parent, flags, numbers = columns(rows)
    passes: tuple[tuple[str, pl.Series], ...] = (
        ("nearest_row", flags),
        ("outermost_row", flags),
        ("count_among", flags),
        ("sum_within", numbers),
    )
    for name, values in passes:
        slow: Callable[..., pl.Series] = doubled(name)
        fast: Callable[..., pl.Series] = getattr(call_tree, name)
        parts = pl.concat([parent[:3], parent[3:4], parent[4:]], rechunk=False)
        found, expected = fast(parts, values), slow(parent, values)
        assert found.dtype == expected.dtype, name
        assert found.to_list() == expected.to_list(), name


@given(_ROWS, st.lists(st.none() | st.integers(0, 50), max_size=9))
def test_above(rows: list[tuple[int, bool, int]], asked: list[int | None]) -> None:
    parent, _, numbers = columns(rows)
    marks = numbers.cast(pl.UInt8)
    at = pl.Series(
        [row if row is not None and row < len(rows) else None for row in asked], dtype=pl.Int64
    )
    found, expected = call_tree.above(parent, marks, at), doubled("above")(parent, marks, at)
    assert found.equals(expected)


@pytest.mark.parametrize("parents", [[1, None], [None, 1], [None, 5], [None, -1]])
def test_what_is_no_row_before_the_child_is_left_to_the_slow_way(parents: list[int | None]) -> None:
    parent = pl.Series(parents, dtype=pl.Int64)
    assert call_tree._in_c(0, parent, pl.Series([True, False])) is None
    assert call_tree._in_c(3, parent, pl.Series([1, 2])) is None


def test_the_fast_way_is_gone_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    parent, flags = pl.Series([None, 0, 1], dtype=pl.Int64), pl.Series([True, False, False])
    monkeypatch.setattr(call_tree, "_in_c", lambda *_: pl.Series([7, 7, 7]))
    assert call_tree.nearest_row(parent, flags).to_list() == [7, 7, 7]
    monkeypatch.setattr(call_tree, "_in_c", lambda *_: None)
    assert call_tree.nearest_row(parent, flags).to_list() == [0, 0, 0]


def test_the_library_takes_no_array_that_is_too_short() -> None:
    words = array("q", [0, 1, 2])
    assert LIBRARY is not None
    for first, flags, result in (
        (1, bytes(3), words),
        (-1, bytes(3), words),
        (0, bytes(2), words),
        (0, None, words),
    ):
        with pytest.raises(ValueError, match="expected a part of a tree"):
            LIBRARY.among(0, words, first, flags, result)
    with pytest.raises(ValueError, match="expected items of 8 bytes"):
        LIBRARY.among(0, bytes(7), 0, bytes(3), words)
    with pytest.raises(TypeError, match="too few arguments"):
        LIBRARY.among(0, words, 0, bytes(3))
    with pytest.raises(BufferError):
        LIBRARY.among(0, words, 0, bytes(3), bytes(24))
