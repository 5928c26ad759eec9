"""Fit one clock: a line for its offset over time that keeps lower and upper bounds."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import linear_regression, median

from msgspec import Struct

Points = Sequence[tuple[float, float]]
"""Pairs of a time in s and an offset in ns."""
STEEPEST = 200_000.0
"""The greatest drift between two clocks, in ns per second; a crystal keeps within 100 ppm."""
_ROUNDS = 60
_SEEN = 3
"""A drift counts only if it moves the offset by this many times the scatter of the points."""


class ClockFit(Struct, frozen=True):
    """Holds the line fitted to a clock's offset over time, and the bounds of all possible lines.

    Offsets are in ns.
    """

    offset: float  # at time 0
    drift: float  # in ns per second
    low: float  # least offset at time 0
    high: float  # greatest offset at time 0
    uncertainty: float  # greatest distance of a possible line from this one
    residual: float  # distance by which bounds have to be moved for a line, 0 if none


class _Corridor(Struct, frozen=True):
    """Holds the points that bound a line from below, and the points that bound it from above."""

    lows: Points
    highs: Points

    def floor(self, drift: float) -> float:
        """Return the least offset that a line with this drift may have."""
        return max(offset - drift * time for time, offset in self.lows)

    def ceiling(self, drift: float) -> float:
        """Return the greatest offset that a line with this drift may have."""
        return min(offset - drift * time for time, offset in self.highs)

    def room(self, drift: float) -> float:
        """Return the distance from floor to ceiling at this drift; negative if no line fits."""
        return self.ceiling(drift) - self.floor(drift)

    def middle(self, drift: float) -> float:
        """Return the offset halfway between floor and ceiling at this drift."""
        return (self.floor(drift) + self.ceiling(drift)) / 2


def fit_clock(lows: Points, highs: Points, near: Points, until: float) -> ClockFit | None:
    """Return the line above `lows`, below `highs` and close to `near`, for times from 0 to `until`.

    Return None without lower or without upper bounds.
    """
    if not lows or not highs:
        return None
    # This is a linear programme with two unknowns, offset and drift. The possible offsets for a
    # drift lie between a floor and a ceiling. Both are piecewise linear in the drift, so their
    # extremes are at the slopes of the points' convex hulls.
    corridor = _Corridor(
        _hull(lows, 1),
        _hull(highs, -1),
    )
    corners = [
        -STEEPEST,
        STEEPEST,
        *_slopes(corridor.lows),
        *_slopes(corridor.highs),
    ]
    widest = max(corners, key=corridor.room)
    residual = max(0.0, -corridor.room(widest) / 2)
    if residual:
        offset = corridor.middle(widest)
        return ClockFit(
            offset,
            widest,
            offset - residual,
            offset + residual,
            residual,
            residual,
        )
    return _fit_inside(corridor, corners, widest, near, until)


def _fit_inside(
    corridor: _Corridor,
    corners: Sequence[float],
    widest: float,
    near: Points,
    until: float,
) -> ClockFit:
    """Return the line in a corridor that is closest to the points `near`.

    - `corners`: the drifts at which the corridor's floor or ceiling bends
    - `widest`: the drift at which the corridor's floor and ceiling are farthest apart
    """
    least = _last(corridor.room, widest, -STEEPEST)
    most = _last(corridor.room, widest, STEEPEST)
    inside = [drift for drift in corners if least < drift < most]
    drifts = [least, most, *inside]
    wanted = _through(near) if near else (corridor.middle(0.0), 0.0)
    safe = (corridor.middle(widest), widest)
    offset, drift = _towards(wanted, safe, corridor)
    errors = []
    for time in (0.0, until):
        moved = drift * time
        highest = max(corridor.ceiling(other) + other * time for other in drifts)
        lowest = min(corridor.floor(other) + other * time for other in drifts)
        errors += [highest - offset - moved, offset + moved - lowest]
    low = min(map(corridor.floor, drifts))
    high = max(map(corridor.ceiling, drifts))
    return ClockFit(
        offset,
        drift,
        low,
        high,
        max(errors),
        0.0,
    )


def _hull(points: Points, side: int) -> Points:
    """Return the corners of the points' upper (side 1) or lower (-1) convex hull.

    This is Andrew's monotone chain algorithm (1979).
    """
    corners: list[tuple[float, float]] = []
    for time, offset in sorted(points):
        while (
            len(corners) > 1
            and side
            * _turn(
                corners[-2],
                corners[-1],
                (time, offset),
            )
            >= 0
        ):
            corners.pop()
        corners.append((time, offset))
    return corners


def _turn(
    first: tuple[float, float],
    second: tuple[float, float],
    third: tuple[float, float],
) -> float:
    """Return the cross product of three points: above 0 if the path through them bends left."""
    first_x, first_y = first
    second_x, second_y = second
    third_x, third_y = third
    rise = (second_x - first_x) * (third_y - first_y)
    fall = (second_y - first_y) * (third_x - first_x)
    return rise - fall


def _slopes(hull: Points) -> list[float]:
    """Return the slopes of the hull's sides, up to STEEPEST."""
    slopes = []
    for (time, offset), (later, later_offset) in pairwise(hull):
        if later <= time:
            continue
        slope = (later_offset - offset) / (later - time)
        if abs(slope) < STEEPEST:
            slopes.append(slope)
    return slopes


def _last(
    function: Callable[[float], float],
    good: float,
    end: float,
) -> float:
    """Return the value nearest to `end` for which a concave function is at least 0.

    The function is at least 0 at `good`.
    """
    if function(end) >= 0:
        return end
    for _ in range(_ROUNDS):
        half = (good + end) / 2
        good, end = (half, end) if function(half) >= 0 else (good, half)
    return good


def _through(points: Points) -> tuple[float, float]:
    """Return offset and drift of the line through the points.

    The drift is 0 if the points scatter too much to show a drift.
    """
    times, offsets = zip(*points, strict=True)
    level = median(offsets)
    if len({*times}) < _SEEN:
        return level, 0.0
    drift, offset = linear_regression(times, offsets)
    scatter = median(abs(y - offset - drift * t) for t, y in points)
    moved = abs(drift) * (max(times) - min(times))
    if moved > _SEEN * scatter:
        return offset, drift
    return level, 0.0


def _towards(
    wanted: tuple[float, float],
    safe: tuple[float, float],
    corridor: _Corridor,
) -> tuple[float, float]:
    """Return the wanted line, moved towards a safe line as far as the bounds require."""
    share = min(
        _allowed_share(wanted, safe, corridor.lows, 1),
        _allowed_share(wanted, safe, corridor.highs, -1),
    )
    offset, drift = wanted
    safe_offset, safe_drift = safe
    if drift:
        share = min(share, STEEPEST / abs(drift))
    return (
        safe_offset + share * (offset - safe_offset),
        safe_drift + share * (drift - safe_drift),
    )


def _allowed_share(
    wanted: tuple[float, float],
    safe: tuple[float, float],
    points: Points,
    side: int,
) -> float:
    """Return the greatest share of the way from the safe to the wanted line that keeps the bounds.

    The line has to stay above the points for side 1, below them for side -1.
    """
    offset, drift = wanted
    safe_offset, safe_drift = safe
    share = 1.0
    for time, bound in points:
        room = side * (offset + drift * time - bound)
        if room >= 0:
            continue
        safe_room = side * (safe_offset + safe_drift * time - bound)
        if safe_room <= 0:
            return 0.0
        share = min(share, safe_room / (safe_room - room))
    return share
