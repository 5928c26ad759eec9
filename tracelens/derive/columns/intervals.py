"""Compute unions of time intervals, and how much of an interval a union covers."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.filling import gathered, repeated
from tracelens.derive.columns.lookup import last_before

END = pl.col("start_ns") + pl.col("duration_ns")


def union(
    intervals: pl.DataFrame,
    pause: int = 0,
    by: str | None = None,
) -> pl.DataFrame:
    """Return the union as disjoint intervals, sorted by start: start_ns, end_ns.

    - Intervals that touch, or are less than `pause` nanoseconds apart, are merged.
    - Empty intervals are left out.
    - With the column `by`, there is one union per value, sorted by value and start.
    """
    key = [] if by is None else [by]
    if intervals.is_empty():
        return intervals.select(*key, "start_ns", "end_ns")
    is_in_order = by is None and intervals["start_ns"].is_sorted()
    if not is_in_order:
        intervals = intervals.sort(*key, "start_ns")

    def per_value(measure: pl.Expr) -> pl.Expr:
        return measure if by is None else measure.over(by)

    start = pl.col("start_ns")
    end = pl.col("end_ns")
    before = pl.col("before")
    end_of_earlier = end.cum_max().shift(1)
    reached = intervals.select(
        *key,
        start,
        before=per_value(end_of_earlier),
        last=per_value(end.max()),
    )
    widest_joined_gap = max(pause - 1, 0)
    is_apart = start > before + widest_joined_gap
    is_first = is_apart.fill_null(value=True)
    begins = reached.filter(is_first)
    end_before_next = per_value(before.shift(-1))
    end_of_piece = end_before_next.fill_null(pl.col("last"))
    pieces = begins.select(*key, start, end_ns=end_of_piece)
    has_length = start < end
    return pieces.filter(has_length)


def covered_by(pieces: pl.DataFrame, times: pl.DataFrame) -> pl.Series:
    """Return how many ns of each interval in `times` a union of intervals covers.

    `times` has start_ns and end_ns. `pieces` is the result of `union`.
    """
    until_end = _covered_until(pieces, times["end_ns"])
    until_start = _covered_until(pieces, times["start_ns"])
    return until_end - until_start


def _covered_until(pieces: pl.DataFrame, moments: pl.Series) -> pl.Series:
    """Return how many ns before each moment a union of intervals (`pieces`) covers."""
    starts = pieces["start_ns"]
    ends = pieces["end_ns"]
    rows = last_before(starts, moments)
    lengths = ends - starts
    before = lengths.cum_sum() - lengths
    last_pieces = pl.DataFrame(
        {
            "moment": moments,
            "start_ns": gathered(starts, rows),
            "end_ns": gathered(ends, rows),
            "before_ns": gathered(before, rows),
        }
    )
    reached_ns = pl.min_horizontal("moment", "end_ns")
    in_last = reached_ns - pl.col("start_ns")
    covered_until = pl.col("before_ns") + in_last
    return last_pieces.select(covered_until.fill_null(0)).to_series()


def covered_ns(
    frame: pl.DataFrame,
    cover: pl.DataFrame,
    by: Sequence[str],
) -> pl.Series:
    """Return how many ns of each row are covered by rows of `cover` with the same key `by`.

    Time that several rows of `cover` share is counted once.
    """
    key_and_times = [*by, "start_ns", END.alias("end_ns")]
    rows = frame.select(key_and_times).with_row_index("row")
    rows_by_key = rows.partition_by(by, as_dict=True)
    intervals = cover.select(key_and_times)
    intervals_by_key = intervals.partition_by(
        by,
        as_dict=True,
        include_key=False,
    )
    covered = repeated(0, frame.height, pl.Int64).alias("covered_ns")
    for key, part in rows_by_key.items():
        if key in intervals_by_key:
            pieces = union(intervals_by_key[key])
            covered_in_part = covered_by(pieces, part)
            covered = covered.scatter(part["row"], covered_in_part)
    return covered


def durations() -> list[pl.Expr]:
    """Return aggregates of duration_ns: n_calls, total, mean, median, minimum, maximum."""
    ns = pl.col("duration_ns")
    return [
        pl.len().cast(pl.Int64).alias("n_calls"),
        ns.sum().alias("duration_total_ns"),
        ns.mean().alias("duration_mean_ns"),
        ns.median().alias("duration_median_ns"),
        ns.min().alias("duration_min_ns"),
        ns.max().alias("duration_max_ns"),
    ]
