"""The paper's Figures 7 to 13 beside today's measurements: which orders and gaps are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import polars as pl

from samples.kit.significance import Range, more
from samples.study import paper
from samples.study.points import ratio, time_of, value

Point = tuple[int, int]
SMALL_SIZE, SMALL_BATCH = 64, 128
"""Up to where the paper calls cuDNN and TorchScript leaner (section 4)."""


def published_points() -> list[Point]:
    """The points of inference, in order."""
    return sorted({(batch, size) for _, mode, batch, size in paper.SWEEPS if mode == "infer"})


def published_ms(level: str, at: Point) -> float | None:
    """Published milliseconds an image of inference; PyTorch's without the training time in them."""
    corrected = paper.corrected_ms(*at) if level == "eager" else None
    point = paper.SWEEPS.get((level, "infer", *at))
    return corrected or (point.ms if point else None)


def published_ratio(at: Point, *, corrected: bool) -> float | None:
    """PyTorch's published time over LibTorch's, as it stands or without the training time in it."""
    libtorch = published_ms("libtorch", at)
    point = paper.SWEEPS.get(("eager", "infer", *at))
    eager = published_ms("eager", at) if corrected else point.ms if point else None
    return eager / libtorch if eager and libtorch else None


FROM_CPP = tuple({v: k for k, v in paper.LIKE.items()}.get(level, level) for level in paper.LEVELS)
"""The levels as the paper ran them: TorchScript in C++."""


def orders(points: pl.DataFrame, levels: Sequence[str] = FROM_CPP) -> list[bool | None]:
    """Return for each pair of levels whether it stands in the published order, at each point.

    Both must have the point. `levels` are those that stand for the paper's.
    """
    return [
        None if (longer := more(*now)) is None else longer == (then[0] > then[1])
        for then, now in _pairs(points, levels)
    ]


def _pairs(
    points: pl.DataFrame, levels: Sequence[str]
) -> Iterator[tuple[tuple[float, float], tuple[Range, Range]]]:
    for at in published_points():
        for pair in combinations(levels, 2):
            one, two = (paper.LIKE.get(level, level) for level in pair)
            then = published_ms(one, at), published_ms(two, at)
            now = tuple(time_of(points, (level, "infer", *at)) for level in pair)
            if then[0] and then[1] and now[0] and now[1]:
                yield (then[0], then[1]), (now[0], now[1])


def eager_over_others(points: pl.DataFrame) -> dict[Point, list[Range]]:
    """Eager's time over that of each other level of the paper, by point where all were measured."""
    found = {}
    for at in published_points():
        ratios = [ratio(points, at, ("eager", level)) for level in FROM_CPP[1:]]
        if None not in ratios:
            found[at] = [r for r in ratios if r is not None]
    return found


def leaner(points: pl.DataFrame, level: str) -> dict[Point, tuple[float, float]]:
    """MiB in use by the level and by eager, at each point so small as the paper means."""
    keys = points.filter(
        pl.col("size") <= SMALL_SIZE, pl.col("batch") <= SMALL_BATCH, mode="infer", level=level
    ).select("batch", "size")
    found = {}
    for batch, size in sorted(keys.iter_rows()):
        ours, eager = (
            value(points, (name, "infer", batch, size), "used_mib") for name in (level, "eager")
        )
        if ours is not None and eager is not None:
            found[batch, size] = (ours, eager)
    return found


def libtorch_over_eager_mib(points: pl.DataFrame) -> list[float]:
    """Memory in use of inference, at every point that both were measured at; in order of size."""
    both = (
        points.filter(mode="infer")
        .pivot("level", index=["batch", "size"], values="used_mib")
        .drop_nulls(["eager", "libtorch"])
    )
    return (both["libtorch"] / both["eager"]).sort().to_list()
