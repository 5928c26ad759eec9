"""Arithmetic of intervals, against counting nanoseconds one by one."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.columns.intervals import END, covered_ns, durations, union

Intervals = list[tuple[int, int]]
FEW = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=8)
GROUPED = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40), st.integers(0, 15)), max_size=8)


def frame(intervals: Intervals) -> pl.DataFrame:
    return pl.DataFrame(
        intervals, schema={"start_ns": pl.Int64, "duration_ns": pl.Int64}, orient="row"
    )


def grouped(rows: list[tuple[int, int, int]]) -> pl.DataFrame:
    schema = {"rank": pl.Int32, "start_ns": pl.Int64, "duration_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def length_of_union(intervals: Intervals) -> int:
    pieces = union(frame(intervals).select("start_ns", end_ns=END))
    assert (pieces["start_ns"].slice(1) > pieces["end_ns"].head(max(pieces.height - 1, 0))).all()
    return int((pieces["end_ns"] - pieces["start_ns"]).sum())


def moments(intervals: Intervals) -> set[int]:
    return {moment for start, length in intervals for moment in range(start, start + length)}


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0),
        ([(5, 0)], 0),
        ([(0, 10), (5, 10), (20, 5)], 20),
        ([(0, 10), (10, 5)], 15),  # touching
        ([(0, 100), (10, 20), (50, 10)], 100),  # within, twice
        ([(0, 100), (10, 20), (90, 20)], 110),  # what ended in between does not count as the end
        ([(7, 3), (7, 3)], 3),
    ],
)
def test_union(intervals: Intervals, length: int) -> None:
    assert length_of_union(intervals) == length


@given(FEW)
def test_union_counts_each_moment_once(intervals: Intervals) -> None:
    assert length_of_union(intervals) == len(moments(intervals))


def test_cover_of_times_a_life_apart() -> None:
    far = 1 << 62
    rows = grouped([(0, 0, 5), (0, far, 5), (1, 0, 5), (1, far, 5)])
    asked = grouped([(0, far + 1, 50), (1, 3, 1), (2, 0, 9)])
    assert covered_ns(asked, rows, ["rank"]).to_list() == [4, 1, 0]


@pytest.mark.parametrize(
    ("row", "covered"),
    [
        ((0, 100), 15),
        ((5, 10), 5),
        ((12, 6), 0),
        ((20, 5), 5),
        ((22, 1), 1),
        ((24, 10), 1),
        ((5, 0), 0),
        ((90, 5), 0),
    ],
)
def test_cover(row: tuple[int, int], covered: int) -> None:
    cover = grouped([(0, 0, 10), (0, 20, 5), (1, 0, 1000)])
    assert covered_ns(grouped([(0, *row)]), cover, ["rank"]).to_list() == [covered]


@given(GROUPED, GROUPED)
def test_cover_counts_moments_of_the_same_group(
    rows: list[tuple[int, int, int]], cover: list[tuple[int, int, int]]
) -> None:
    expected = [
        len(moments([(start, length)]) & moments([c[1:] for c in cover if c[0] == rank]))
        for rank, start, length in rows
    ]
    assert covered_ns(grouped(rows), grouped(cover), ["rank"]).to_list() == expected


def test_durations() -> None:
    (row,) = frame([(0, 1), (5, 2), (9, 6), (20, 3)]).select(durations()).rows()
    assert row == (4, 12, 3.0, 2.5, 1, 6)
