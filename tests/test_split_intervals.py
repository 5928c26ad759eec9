"""Cutting disjoint intervals at the edges of others, against a count of every moment."""

from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.columns.split_intervals import cut_rows


def disjoint(points: list[int]) -> list[tuple[int, int]]:
    """Every other interval between sorted distinct points, so that some touch and some do not."""
    return [interval for place, interval in enumerate(pairwise(points)) if place % 3 < 2]


POINTS = st.lists(st.integers(0, 60), unique=True, max_size=20).map(sorted).map(disjoint)


def frame(intervals: list[tuple[int, int]]) -> pl.DataFrame:
    return pl.DataFrame(intervals, schema={"start_ns": pl.Int64, "end_ns": pl.Int64}, orient="row")


def moments(start: int, end: int, row: int, at: int | None) -> set[tuple[int, int, int | None]]:
    """Each moment of a piece with its interval and segment."""
    return {(moment, row, at) for moment in range(start, end)}


@given(POINTS, POINTS)
def test_every_moment_is_in_its_interval_and_segment(
    intervals: list[tuple[int, int]], segments: list[tuple[int, int]]
) -> None:
    found = cut_rows(frame(intervals).with_row_index("row"), frame(segments))
    assert found["start_ns"].is_sorted()
    pieces = found.select("start_ns", "end_ns", "row", "at").rows()
    assert all(start < end for start, end, _, _ in pieces)
    expected = {
        (moment, row, next((at for at, (a, b) in enumerate(segments) if a <= moment < b), None))
        for row, (start, end) in enumerate(intervals)
        for moment in range(start, end)
    }
    assert set().union(*(moments(*piece) for piece in pieces)) == expected
    assert sum(end - start for start, end, _, _ in pieces) == sum(
        end - start for start, end in intervals
    )


def test_of_nothing_there_are_no_pieces() -> None:
    assert cut_rows(frame([]), frame([(0, 5)])).height == 0
