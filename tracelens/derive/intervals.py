"""Arithmetic of time intervals in whole columns: unions, and how much of one set another covers."""

from __future__ import annotations

import polars as pl

END = pl.col("start_ns") + pl.col("duration_ns")


def union_ns(chosen: pl.Expr | None = None) -> pl.Expr:
    """Aggregate: length of the union of a group's intervals (start_ns, duration_ns), in a frame sorted by start_ns.

    `chosen` leaves out rows that it is false for.
    """
    start, end = pl.col("start_ns"), END
    if chosen is not None:
        start, end = start.filter(chosen), end.filter(chosen)
    reached = end.cum_max().shift(1).fill_null(start)
    return (end - pl.max_horizontal(start, reached)).clip(0).sum()


def merged(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """The union's separate pieces in time order: `by`, start_ns, end, covered_before (the length of those before)."""
    reached = pl.col("end").cum_max().shift(1).over(by)
    return (
        frame.select(*by, "start_ns", end=END)
        .sort("start_ns")
        .with_columns(piece=(pl.col("start_ns") > reached).fill_null(True).cum_sum().over(by))
        .group_by(*by, "piece")
        .agg(pl.col("start_ns").min(), pl.col("end").max())
        .sort("start_ns")
        .with_columns(length=pl.col("end") - pl.col("start_ns"))
        .with_columns(covered_before=pl.col("length").cum_sum().over(by) - pl.col("length"))
        .drop("piece", "length")
    )


def covered_ns(frame: pl.DataFrame, cover: pl.DataFrame, by: list[str]) -> pl.Series:
    """For each row of `frame`, how much of its interval the union of `cover`'s intervals in its group covers."""
    pieces = merged(cover, by)
    rows = frame.select(*by, "start_ns", end=END).with_row_index("_row")

    def covered_until(moment: str) -> pl.Series:
        found = (
            rows.select("_row", *by, at=pl.col(moment))
            .sort("at")
            .join_asof(pieces, left_on="at", right_on="start_ns", by=by, check_sortedness=False)
            .select("_row", total=pl.col("covered_before") + pl.min_horizontal("at", "end") - pl.col("start_ns"))
            .sort("_row")
        )
        return found["total"].fill_null(0)

    return (covered_until("end") - covered_until("start_ns")).alias("covered_ns")


def durations() -> list[pl.Expr]:
    """The aggregate columns every result with durations has (schemas/results/common.DURATIONS)."""
    ns = pl.col("duration_ns")
    return [
        pl.len().cast(pl.Int64).alias("n_calls"),
        ns.sum().alias("duration_total_ns"),
        ns.mean().alias("duration_mean_ns"),
        ns.median().alias("duration_median_ns"),
        ns.min().alias("duration_min_ns"),
        ns.max().alias("duration_max_ns"),
    ]
