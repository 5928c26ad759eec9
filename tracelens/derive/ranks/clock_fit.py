"""The straight line that keeps above some points and below others: one clock's offset over time, between its bounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import linear_regression, median

Points = Sequence[tuple[float, float]]
"""Times in s, and offsets in ns."""
STEEPEST = 200_000.0
"""The greatest drift between two clocks, in ns a second: a crystal keeps 100 ppm."""
_ROUNDS = 60
_SEEN = 3
"""A drift counts once it moves the offset by so many times the points' own scatter."""


@dataclass(frozen=True, slots=True)
class Line:
    """An offset at time 0 and its drift, in ns and ns a second, with the bounds of what both may be.

    Every line between the points lies within `low` and `high` at time 0, and within `uncertainty`
    of this one anywhere between the first and the last time. Where no line keeps between all
    points, `strain` is the least distance by which they have to be moved apart.
    """

    offset: float
    drift: float
    low: float
    high: float
    uncertainty: float
    strain: float


def line_between(lows: Points, highs: Points, near: Points, until: float) -> Line | None:
    """The line above `lows`, below `highs` and close to `near`, for times from 0 to `until`; null without bounds.

    A linear programme of two unknowns: for a drift, the offsets that keep between are those from
    `floor` to `ceiling`. Both are straight between the drifts in `corners`, so that what is
    greatest or least is so at one of these.
    """
    if not lows or not highs:
        return None
    lows, highs = _hull(lows, 1), _hull(highs, -1)

    def floor(drift: float) -> float:
        return max(y - drift * t for t, y in lows) - strain

    def ceiling(drift: float) -> float:
        return min(y - drift * t for t, y in highs) + strain

    def room(drift: float) -> float:
        return ceiling(drift) - floor(drift)

    strain = 0.0
    corners = [-STEEPEST, STEEPEST, *_slopes(lows), *_slopes(highs)]
    widest = max(corners, key=room)
    strain = max(0.0, -room(widest) / 2)
    steepest = (
        [widest, widest] if strain else [_last(room, widest, end) for end in (-STEEPEST, STEEPEST)]
    )

    drifts = [*steepest, *(drift for drift in corners if steepest[0] < drift < steepest[1])]

    def highest(time: float) -> float:
        return max(ceiling(drift) + drift * time for drift in drifts)

    def lowest(time: float) -> float:
        return min(floor(drift) + drift * time for drift in drifts)

    middle = (floor(widest) + ceiling(widest)) / 2, widest
    if strain:
        return Line(*middle, middle[0] - strain, middle[0] + strain, strain, strain)
    wished = _through(near) if near else ((floor(0.0) + ceiling(0.0)) / 2, 0.0)
    offset, drift = _towards(wished, middle, lows, highs)
    errors = [
        error
        for t in (0.0, until)
        for error in (highest(t) - offset - drift * t, offset + drift * t - lowest(t))
    ]
    return Line(offset, drift, lowest(0.0), highest(0.0), max(errors), strain)


def _hull(points: Points, side: int) -> Points:
    """The corners of the points' convex hull, above for side 1 and below for -1: no other point bounds a line."""
    kept: list[tuple[float, float]] = []
    for t, y in sorted(points):
        while (
            len(kept) > 1
            and side
            * (
                (kept[-1][0] - kept[-2][0]) * (y - kept[-2][1])
                - (kept[-1][1] - kept[-2][1]) * (t - kept[-2][0])
            )
            >= 0
        ):
            kept.pop()
        kept.append((t, y))
    return kept


def _slopes(hull: Points) -> list[float]:
    """The drifts at which another corner of the hull begins to bound the line."""
    slopes = [(after[1] - y) / (after[0] - t) for (t, y), after in pairwise(hull) if after[0] > t]
    return [slope for slope in slopes if abs(slope) < STEEPEST]


def _last(function: Callable[[float], float], good: float, end: float) -> float:
    """The last place from `good` towards `end` where a concave function is not below 0."""
    if function(end) >= 0:
        return end
    for _ in range(_ROUNDS):
        half = (good + end) / 2
        good, end = (half, end) if function(half) >= 0 else (good, half)
    return good


def _through(points: Points) -> tuple[float, float]:
    """Offset and drift of the line through the points' middle; without drift where the scatter hides it."""
    times, offsets = zip(*points, strict=True)
    level = median(offsets)
    if len({*times}) < _SEEN:
        return level, 0.0
    drift, offset = linear_regression(times, offsets)
    scatter = median(abs(y - offset - drift * t) for t, y in points)
    return (
        (offset, drift)
        if abs(drift) * (max(times) - min(times)) > _SEEN * scatter
        else (level, 0.0)
    )


def _towards(
    wished: tuple[float, float], good: tuple[float, float], lows: Points, highs: Points
) -> tuple[float, float]:
    """The wished line, moved towards a good one as far as the bounds demand."""
    share = 1.0
    for side, points in ((1, lows), (-1, highs)):
        for t, y in points:
            own, other = (side * (offset + drift * t - y) for offset, drift in (wished, good))
            if own < 0:
                share = min(share, max(other, 0.0) / (other - own) if other > own else 0.0)
    share = min(share, STEEPEST / abs(wished[1])) if wished[1] else share
    offset, drift = (at + share * (to - at) for at, to in zip(good, wished, strict=True))
    return offset, drift
