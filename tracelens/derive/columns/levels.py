"""Average a level over a trace's time, such as a queue's length."""

from collections.abc import Sequence

import polars as pl

_N_BINS = 200
"""Number of equal time bins from the first change to the last."""


def levels(changes: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the mean and the maximum of a level, such as a queue's length, per key and time bin.

    - Input: `by` (the key), time_ns, and `change`, added to the level at that time. Levels begin at
      0.
    - Result: `by`, start_ns, duration_ns, level_mean, level_max

    At equal times, negative changes are applied first.
    """
    if changes.is_empty():
        return pl.DataFrame()
    begin, end = changes.select(
        pl.min("time_ns"),
        pl.max("time_ns").alias("end"),
    ).row(0)
    width = max(1, -(-(end - begin) // _N_BINS))
    borders = pl.DataFrame({"time_ns": range(begin, end + 1, width), "change": 0})
    keys = changes.select(by).unique()
    change = changes["change"].dtype
    time = pl.col("time_ns")
    edges = borders.cast({"change": change})
    every = pl.concat(
        [
            changes.select(*by, "time_ns", "change"),
            keys.join(edges, how="cross"),
        ]
    ).sort(*by, "time_ns", "change")
    length = pl.col("length")
    level = pl.col("level")
    level_so_far = pl.col("change").cum_sum().over(by)
    next_time = time.shift(-1).over(by)
    pieces = every.select(
        *by,
        bin=(time - begin) // width,
        level=level_so_far,
        length=(next_time.fill_null(end) - time),
    ).filter(length > 0)
    whole = length.sum()
    level_times_length = (level * length).sum()
    begin_of_part = pl.col("bin") * width + begin
    return (
        pieces.group_by(*by, "bin")
        .agg(
            duration_ns=whole,
            level_mean=level_times_length / whole,
            level_max=level.max(),
        )
        .sort(*by, "bin")
        .select(
            *by,
            begin_of_part.alias("start_ns"),
            "duration_ns",
            "level_mean",
            "level_max",
        )
    )
