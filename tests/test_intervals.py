"""Arithmetic of intervals, against counting nanoseconds one by one."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.columns.intervals import added_ns, covered_ns, durations, on_one_line

Intervals = list[tuple[int, int]]
FEW = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=8)
GROUPED = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40), st.integers(0, 15)), max_size=8)


def frame(intervals: Intervals) -> pl.DataFrame:
    return pl.DataFrame(intervals, schema={"start_ns": pl.Int64, "duration_ns": pl.Int64}, orient="row")


def grouped(rows: list[tuple[int, int, int]]) -> pl.DataFrame:
    schema = {"rank": pl.Int32, "start_ns": pl.Int64, "duration_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def union(intervals: Intervals) -> int:
    return int(frame(intervals).sort("start_ns").select(added_ns().sum()).item())


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
    assert union(intervals) == length


def test_union_of_chosen_rows() -> None:
    rows = frame([(0, 10), (5, 10), (20, 5)])
    assert rows.select(added_ns(pl.col("start_ns") != 5).sum()).item() == 15


@given(FEW)
def test_union_counts_each_moment_once(intervals: Intervals) -> None:
    assert union(intervals) == len(moments(intervals))


def test_groups_stand_one_after_the_other_on_the_line() -> None:
    rows = grouped([(1, 3, 1), (0, 50, 5), (0, 0, 10), (0, 4, 2), (1, 0, 9)])
    line = on_one_line(rows, ["rank"])
    assert line is not None
    assert line.groups.select("group", "rank", "low", "high").rows() == [(0, 0, 0, 55), (1, 1, 0, 9)]
    shift = line.groups["shift"].gather(line.rows["group"])
    back = line.rows.select("rank", pl.col("start_ns") - shift, "duration_ns")
    assert back.rows() == [(0, 0, 10), (0, 4, 2), (0, 50, 5), (1, 0, 9), (1, 3, 1)]
    added = line.rows.with_columns(added=added_ns()).group_by("group").agg(pl.col("added").sum())
    assert added.sort("group").rows() == [(0, 15), (1, 9)]


def test_groups_a_life_apart_have_no_line_but_the_same_cover() -> None:
    far = 1 << 62
    rows = grouped([(0, 0, 5), (0, far, 5), (1, 0, 5), (1, far, 5)])
    assert on_one_line(rows, ["rank"]) is None
    asked = grouped([(0, far + 1, 50), (1, 3, 1), (2, 0, 9)])
    assert covered_ns(asked, rows, ["rank"]).to_list() == [4, 1, 0]


@pytest.mark.parametrize(
    ("row", "covered"),
    [((0, 100), 15), ((5, 10), 5), ((12, 6), 0), ((20, 5), 5), ((22, 1), 1), ((24, 10), 1), ((5, 0), 0), ((90, 5), 0)],
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
