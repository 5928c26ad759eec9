"""Kernels by the grid they were launched with."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
"""Columns of a launch's grid and block."""


def by_grid(kernels: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """A row a distinct (keys, grid, block), longest total time first.

    Added are n_calls, duration_total_ns, _mean_ns, _median_ns, _min_ns, _max_ns, n_blocks and threads_per_block.
    """
    duration = pl.col("duration_ns")
    words = [key for key in keys if kernels.schema[key] == pl.String]
    grouped = (
        kernels.lazy()
        .select(*keys, *SHAPE, duration)
        # As categories long names are compared by number.
        .with_columns(pl.col(words).cast(pl.Categorical))
        .group_by(*keys, *SHAPE)
        .agg(
            n_calls=pl.len().cast(pl.Int64),
            duration_total_ns=duration.sum(),
            duration_median_ns=duration.median(),
            duration_min_ns=duration.min(),
            duration_max_ns=duration.max(),
        )
        .with_columns(pl.col(words).cast(pl.String))
        .with_columns(
            # Of whole numbers, so that it does not depend on the order of the rows.
            duration_mean_ns=pl.col("duration_total_ns") / pl.col("n_calls"),
            n_blocks=pl.col("grid_x").cast(pl.Int64) * pl.col("grid_y") * pl.col("grid_z"),
            threads_per_block=pl.col("block_x").cast(pl.Int64) * pl.col("block_y") * pl.col("block_z"),
        )
    )
    return grouped.sort(
        "duration_total_ns", *keys, *SHAPE, descending=[True] + [False] * (len(keys) + len(SHAPE))
    ).collect()
