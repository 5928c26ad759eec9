"""Splitting a kernel's time among layers by fractions, in whole nanoseconds that sum to its duration."""

from collections.abc import Sequence

import polars as pl


def cumulated(shares: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The shares with until_frac, the running sum of estimate_frac within each group, and is_last."""
    is_last = pl.int_range(pl.len()).over(key) == pl.len().over(key) - 1
    return shares.with_columns(until_frac=pl.col("estimate_frac").cum_sum().over(key), is_last=is_last)


def split_duration(parts: pl.DataFrame) -> pl.DataFrame:
    """The parts of kernels with estimate_ns, low_ns and high_ns.

    `parts` has rank, kernel_id, the kernel's duration_ns, low_frac and high_frac, and the columns of `cumulated`.
    """
    ns = pl.col("duration_ns")
    until = pl.when("is_last").then(ns).otherwise((ns * pl.col("until_frac")).floor().cast(pl.Int64))
    estimate = until - until.shift(1, fill_value=0).over("rank", "kernel_id")
    return parts.with_columns(
        estimate_ns=estimate,
        low_ns=pl.min_horizontal(estimate, (ns * pl.col("low_frac")).floor().cast(pl.Int64)),
        high_ns=pl.max_horizontal(estimate, (ns * pl.col("high_frac")).ceil().cast(pl.Int64)),
    )
