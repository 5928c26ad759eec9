"""Split each kernel's time by shares, so that its parts sum to its duration."""

import polars as pl


def cumulated(shares: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Add until_frac and is_last to the shares.

    until_frac is the cumulative sum of estimate_frac within each group of equal `key`. is_last
    marks the group's last row.
    """
    last_number = pl.len().over(key) - 1
    is_last = pl.int_range(pl.len()).over(key) == last_number
    return shares.with_columns(
        until_frac=pl.col("estimate_frac").cum_sum().over(key),
        is_last=is_last,
    )


def split_duration(parts: pl.DataFrame) -> pl.DataFrame:
    """Add estimate_ns, low_ns and high_ns to the parts of kernels.

    `parts` has rank, kernel_id, the kernel's duration_ns, low_frac, high_frac, and the columns from
    `cumulated`. A kernel's estimates sum to its duration.
    """
    ns = pl.col("duration_ns")
    until_ns = (ns * pl.col("until_frac")).floor()
    until = pl.when("is_last").then(ns).otherwise(until_ns.cast(pl.Int64))
    earlier = until.shift(1, fill_value=0).over("rank", "kernel_id")
    estimate = until - earlier
    low = (ns * pl.col("low_frac")).floor()
    high = (ns * pl.col("high_frac")).ceil()
    return parts.with_columns(
        estimate_ns=estimate,
        low_ns=pl.min_horizontal(estimate, low.cast(pl.Int64)),
        high_ns=pl.max_horizontal(estimate, high.cast(pl.Int64)),
    )
