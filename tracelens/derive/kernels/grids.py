"""Aggregate kernels by grid and block."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.intervals import durations
from tracelens.trace import Trace

SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
"""Columns of a kernel's grid and block."""


def by_grid(trace: Trace, keys: Sequence[str]) -> pl.DataFrame:
    """Return durations of kernels by keys, grid and block, the longest total first.

    - the keys, SHAPE, n_calls, n_blocks, threads_per_block
    - duration_total_ns, also mean, median, min and max
    """
    key = [*keys, *SHAPE]
    grids = (
        trace.select("kernels", *key, "duration_ns").lazy().group_by(key).agg(durations()).collect()
    )
    return grids.with_columns(
        # Computed from integers, so that it does not depend on the order of the rows.
        duration_mean_ns=pl.col("duration_total_ns") / pl.col("n_calls"),
        n_blocks=pl.col("grid_x").cast(pl.Int64) * pl.col("grid_y") * pl.col("grid_z"),
        threads_per_block=pl.col("block_x").cast(pl.Int64) * pl.col("block_y") * pl.col("block_z"),
    ).sort(
        "duration_total_ns",
        *key,
        descending=[True] + [False] * len(key),
    )
