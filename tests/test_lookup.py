"""Rows by rank and id, and groups by number, against joins and groups by the columns themselves."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.columns import lookup
from tracelens.derive.columns.lookup import grouped, is_each_once, rows_of

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


_WORDS = st.none() | st.sampled_from(["a", "b", "a long name that does not stand in the view itself"])
_NUMBERS = st.none() | st.integers(-2, 2) | st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 61])
_ROWS = st.lists(st.tuples(_WORDS, _NUMBERS, st.none() | st.booleans(), _NUMBERS), max_size=12)


@given(_ROWS)
def test_grouped(rows: list[tuple[str | None, int | None, bool | None, int | None]]) -> None:
    schema = {"word": pl.String, "number": pl.Int64, "flag": pl.Boolean, "other": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("row")
    keys = list(schema)
    measures = [pl.len().alias("n"), pl.col("row").min()]
    found, expected = grouped(frame, keys, measures), frame.group_by(keys).agg(measures)
    assert found.sort("row").equals(expected.sort("row"))


def test_keys_that_have_no_room_in_one_number_get_two(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"x": [0, 1, 0, 1], "y": [0, 0, 1, 1], "z": ["a", "b", "b", "a"]})
    assert len(lookup.numbered(frame, ["x", "y", "z"])) == 1
    monkeypatch.setattr(lookup, "_ROOM", 7)
    assert len(lookup.numbered(frame, ["x", "y", "z"])) == 2
    assert grouped(frame, ["x", "y", "z"], [pl.len()]).height == 4


@given(st.lists(st.integers(0, 12), max_size=6))
def test_rows_that_stand_there_once(rows: list[int]) -> None:
    assert is_each_once(pl.Series(rows, dtype=pl.Int64)) is (len(set(rows)) == len(rows))
