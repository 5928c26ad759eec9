"""Compare the paper's Figures 7 to 13 with today's measurements: orders and distances of levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import polars as pl

from samples.kit.significance import Range, more
from samples.study import paper
from samples.study.points import ratio, time_of, value

Point = tuple[int, int]
SMALL_SIZE, SMALL_BATCH = 64, 128
"""The paper calls cuDNN and TorchScript leaner below this resolution and batch (section 4).

Its sweep over batches is at this very resolution, which therefore counts as small.
"""


def published_points() -> list[Point]:
    """Return the published points of inference, in order."""
    return sorted({(batch, size) for _, mode, batch, size in paper.SWEEPS if mode == "infer"})


def published_ms(level: str, point_key: Point) -> float | None:
    """Return the published inference time per image in ms.

    PyTorch's is without the training time in it.
    """
    corrected = paper.corrected_ms(*point_key) if level == "eager" else None
    point = paper.SWEEPS.get((level, "infer", *point_key))
    return corrected or (point.ms if point else None)


def published_ratio(point_key: Point, *, corrected: bool) -> float | None:
    """Return PyTorch's published time over LibTorch's.

    If `corrected`, PyTorch's time is without the training time in it.
    """
    libtorch = published_ms("libtorch", point_key)
    point = paper.SWEEPS.get(("eager", "infer", *point_key))
    eager = published_ms("eager", point_key) if corrected else point.ms if point else None
    return eager / libtorch if eager and libtorch else None


def published_over_others() -> list[float]:
    """Return PyTorch's published inference time over each other level's, sorted.

    PyTorch's published time includes time of training.
    """
    return sorted(
        eager.ms / other.ms
        for (level, mode, *point_key), other in paper.SWEEPS.items()
        if mode == "infer" and level in paper.LEVELS[1:] and other.ms
        for eager in [paper.SWEEPS.get(("eager", mode, *point_key))]
        if eager and eager.ms
    )


def published_leaner(level: str) -> list[bool]:
    """Return at each small point whether the level's published memory is less than PyTorch's."""
    return [
        point.used < eager.used
        for (name, mode, batch, size), point in sorted(paper.SWEEPS.items())
        if (name, mode) == (level, "infer") and batch < SMALL_BATCH and size <= SMALL_SIZE
        for eager in [paper.SWEEPS.get(("eager", mode, batch, size))]
        if point.used and eager and eager.used
    ]


FROM_CPP = tuple({v: k for k, v in paper.LIKE.items()}.get(level, level) for level in paper.LEVELS)
"""The levels as the paper ran them, TorchScript in C++."""


def orders(points: pl.DataFrame, levels: Sequence[str] = FROM_CPP) -> list[bool | None]:
    """Return, for each pair of levels and each point, whether their order is the published one.

    Both levels must have the point. `levels` are compared with the paper's levels.
    """
    return [
        None if (longer := more(*now)) is None else longer == (then[0] > then[1])
        for then, now in _pairs(points, levels)
    ]


def _pairs(
    points: pl.DataFrame, levels: Sequence[str]
) -> Iterator[tuple[tuple[float, float], tuple[Range, Range]]]:
    for point in published_points():
        for pair in combinations(levels, 2):
            first, second = (paper.LIKE.get(level, level) for level in pair)
            then = published_ms(first, point), published_ms(second, point)
            now = tuple(time_of(points, (level, "infer", *point)) for level in pair)
            if then[0] and then[1] and now[0] and now[1]:
                yield (then[0], then[1]), (now[0], now[1])


def eager_over_others(points: pl.DataFrame) -> dict[Point, list[Range]]:
    """Return eager's time over each other level's, at points where all levels were measured."""
    by_point = {}
    for point in published_points():
        ratios = [ratio(points, point, ("eager", level)) for level in FROM_CPP[1:]]
        if None not in ratios:
            by_point[point] = [r for r in ratios if r is not None]
    return by_point


def leaner(points: pl.DataFrame, level: str) -> dict[Point, tuple[float, float]]:
    """Return MiB in use by the level and by eager, at the points that the paper calls small."""
    keys = points.filter(
        pl.col("size") <= SMALL_SIZE,
        pl.col("batch") < SMALL_BATCH,
        mode="infer",
        level=level,
    ).select("batch", "size")
    by_point = {}
    for batch, size in sorted(keys.iter_rows()):
        ours, eager = (
            value(points, (name, "infer", batch, size), "used_mib") for name in (level, "eager")
        )
        if ours is not None and eager is not None:
            by_point[batch, size] = (ours, eager)
    return by_point


def libtorch_over_eager_mib(points: pl.DataFrame) -> list[float]:
    """Return inference memory of LibTorch over eager's, for every point of both, by size."""
    both = (
        points.filter(mode="infer")
        .pivot("level", index=["batch", "size"], values="used_mib")
        .drop_nulls(["eager", "libtorch"])
    )
    return (both["libtorch"] / both["eager"]).sort().to_list()
