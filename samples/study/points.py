"""The points that were measured over batch size and resolution, and ratios of their times."""

from __future__ import annotations

import polars as pl

from samples.kit.significance import Range

HERE = (32, 64)
"""The batch and resolution where the paper's two sweeps meet."""
LARGE = (32, 256)


def per_image(measurements: pl.DataFrame) -> pl.DataFrame:
    """Return the float32 points per image: `ms`, the median of a step, with `low` and `high`.

    The latter are quartiles.
    """
    parts = {name: pl.col(column) / pl.col("batch") for name, column in _QUARTILES.items()}
    return measurements.filter(dtype="float32").with_columns(**parts)


_QUARTILES = {"ms": "median_ms", "low": "p25_ms", "high": "p75_ms"}


def value(points: pl.DataFrame, key: tuple[str, str, int, int], column: str) -> float | None:
    """Return one measurement of a level, mode, batch and resolution; None if there is none."""
    level, mode, batch, size = key
    measured = points.filter(
        level=level,
        mode=mode,
        batch=batch,
        size=size,
    )[column].drop_nulls()
    return float(measured[0]) if measured.len() else None


def time_of(points: pl.DataFrame, key: tuple[str, str, int, int]) -> Range | None:
    """Return the milliseconds per image; None if the point was not measured."""
    middle, low, high = (value(points, key, column) for column in ("ms", "low", "high"))
    return None if middle is None or low is None or high is None else Range(low, middle, high)


def ratio(
    points: pl.DataFrame, point: tuple[int, int], levels: tuple[str, str] = ("eager", "libtorch")
) -> Range | None:
    """Return the first level's inference time over the second's."""
    first, second = (time_of(points, (level, "infer", *point)) for level in levels)
    return None if first is None or second is None else first.over(second)
