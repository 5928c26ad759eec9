"""Rows by rank and id, and numbers of groups, against what Python says."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.columns.lookup import by_value, is_each_once, numbered, rows_of

SCHEMA = {"rank": pl.Int32, "id": pl.Int64}
WANTED = [(0, 1), (1, 0), (0, None), (2, 0), (1, 5), (0, -1), (0, 0)]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ([(0, 0), (0, 1), (1, 0)], [1, 2, None, None, None, None, 0]),  # as collected
        ([(0, 0), (0, 1)], [1, None, None, None, None, None, 0]),
        ([(0, 7), (1, 5), (0, 1)], [2, None, None, None, 1, None, None]),  # ids of its own
        ([(0, 0), (1, 0), (0, 1)], [2, 1, None, None, None, None, 0]),  # ranks mixed
        ([], [None] * 7),
    ],
)
def test_rows_of(table: list[tuple[int, int]], rows: list[int | None]) -> None:
    frame = pl.DataFrame(table, schema=SCHEMA, orient="row")
    wanted = pl.DataFrame(WANTED, schema={"rank": pl.Int32, "other_id": pl.Int64}, orient="row")
    assert rows_of(frame["rank"], frame["id"], wanted).to_list() == rows


_WORDS = st.none() | st.sampled_from(
    ["a", "b", "a long name that does not stand in the view itself"]
)
_NUMBERS = st.none() | st.integers(-2, 2) | st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 61])
_SCHEMA = {
    "word": pl.Categorical(),
    "number": pl.Int64(),
    "flag": pl.Boolean(),
    "other": pl.Int64(),
}
_ROWS = st.lists(st.tuples(_WORDS, _NUMBERS, st.none() | st.booleans(), _NUMBERS), max_size=12)


@given(_ROWS)
def test_groups_are_numbered_by_their_sorted_keys(rows: list[tuple[Any, ...]]) -> None:
    frame = pl.DataFrame(
        rows, schema=["word", "number", "flag", "other"], orient="row", schema_overrides=_SCHEMA
    )
    expected = sorted(set(rows), key=lambda row: [(value is not None, value) for value in row])
    number, groups = numbered(frame, frame.columns)
    assert groups.rows() == expected
    assert number.to_list() == [expected.index(row) for row in rows]


@given(st.lists(st.integers(0, 12), max_size=6))
def test_rows_that_stand_there_once(rows: list[int]) -> None:
    assert is_each_once(pl.Series(rows, dtype=pl.Int64)) is (len(set(rows)) == len(rows))


@pytest.mark.parametrize("n_values", [2, 5])
def test_by_value_of_few_and_many(n_values: int) -> None:
    numbers = [n_values - 1 - row % n_values for row in range(3 * n_values)]
    frame = pl.DataFrame({"rank": numbers, "row": range(3 * n_values)})
    parts = list(by_value(frame, "rank"))
    assert [value for value, _ in parts] == list(range(n_values))
    for value, part in parts:
        assert part["row"].to_list() == [row for row, rank in enumerate(numbers) if rank == value]
