"""Distribute the slices of a thread or stream over lanes, so that they do not overlap in a lane."""

from collections.abc import Iterator

import polars as pl
from msgspec import Struct, field

from tracelens.errors import SourceError

_MOST_LANES = 1000
_Events = tuple[int, pl.Series, pl.Series]
"""A lane, its events, and their times. An event is `row` if a slice begins, `~row` if it ends."""


class Lanes(Struct):
    """Holds the open slices of each lane, as (end, row).

    A slice goes to the first lane in which it overlaps no other slice. Rows are counted from the
    first added slice.
    """

    # If True, a slice may also lie completely within the open slices of a lane.
    is_nested: bool
    opened: list[list[tuple[int, int]]] = field(default_factory=list)
    n_rows: int = 0

    def add(self, starts: pl.Series, ends: pl.Series) -> Iterator[_Events]:
        """Add slices, sorted by start and longest first; yield begins and ends, lane by lane."""
        first = self.n_rows
        self.n_rows += len(starts)
        numbers = range(first, self.n_rows)
        rows = [*zip(numbers, starts.to_list(), ends.to_list(), strict=True)]
        lane = 0
        while rows:
            if lane == len(self.opened):
                if lane == _MOST_LANES:
                    raise SourceError(
                        f"more than {_MOST_LANES:,} events overlap each other on one thread or"
                        " stream, which no program does; see tracelens check"
                    )
                self.opened.append([])
            events, times, rows = self._placed(lane, rows)
            yield lane, _integers(events), _integers(times)
            lane += 1

    def close(self) -> Iterator[_Events]:
        """Yield the ends of all open slices."""
        for lane, still_open in enumerate(self.opened):
            if still_open:
                ends = still_open[::-1]
                yield (
                    lane,
                    _integers([~row for _, row in ends]),
                    _integers([end for end, _ in ends]),
                )
            still_open.clear()

    def _placed(
        self,
        lane: int,
        rows: list[tuple[int, int, int]],
    ) -> tuple[list[int], list[int], list[tuple[int, int, int]]]:
        """Add slices to a lane; return its events, their times, and the slices that do not fit."""
        open_now = self.opened[lane]
        events = []
        times = []
        left = []
        for row, start, end in rows:
            while open_now and open_now[-1][0] <= start:
                closed_ns, closed = open_now.pop()
                events.append(~closed)
                times.append(closed_ns)
            if open_now and (not self.is_nested or open_now[-1][0] < end):
                left.append((row, start, end))
            else:
                events.append(row)
                times.append(start)
                open_now.append((end, row))
        return events, times, left


def _integers(values: list[int]) -> pl.Series:
    return pl.Series(values, dtype=pl.Int64)
