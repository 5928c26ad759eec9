"""Sum values, such as the times of API calls, for each row of another table, such as spans."""

import polars as pl

from tracelens.derive.columns.intervals import END

_THREAD = ["process_id", "thread_id"]


def attribute(rows: pl.Series, values: pl.Series, n_rows: int) -> pl.Series:
    """Return the sum of the values of each row, for the rows 0 to `n_rows` - 1.

    `rows` has the row of each value. Values with a row of None are left out.
    """
    sums = (
        pl.LazyFrame({"row": rows, "value": values})
        .drop_nulls("row")
        .group_by("row")
        .agg(pl.col("value").sum())
        .collect()
    )
    zeros = pl.repeat(
        0,
        n_rows,
        dtype=pl.Int64,
        eager=True,
    )
    return zeros.scatter(sums["row"], sums["value"])


def attribute_calls(calls: pl.DataFrame, n_rows: int) -> pl.Series:
    """Return, per span of a rank, the time of the API calls directly in the span.

    `calls` has each call's span as `span_id`, a row number below `n_rows`.
    """
    placed = with_own_time(calls.select("span_id", *_THREAD, "start_ns", "duration_ns"))
    return attribute(placed["span_id"], placed["own_ns"], n_rows)


def with_own_time(calls: pl.DataFrame) -> pl.DataFrame:
    """Sort calls by start, and add own_ns, the time that no earlier call of the thread covers."""
    with_ends = calls.with_columns(ends=END)
    ordered = with_ends.sort("start_ns", "ends", descending=[False, True])
    ends = pl.col("ends")
    latest_end = ends.cum_max().shift(1).over(_THREAD)
    reached = latest_end.fill_null(pl.col("start_ns"))
    own = (ends - pl.max_horizontal("start_ns", reached)).clip(0)
    return ordered.with_columns(own_ns=own).drop("ends")
