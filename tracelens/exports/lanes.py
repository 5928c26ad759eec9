"""Lay slices of a track in lanes: slices that overlap without nesting get separate lanes."""

from collections.abc import Iterator

import polars as pl
from msgspec import Struct, field

from tracelens.errors import SourceError

_MOST_LANES = 1000
_Events = tuple[int, pl.Series, pl.Series]
"""A lane, its events (row where a slice begins, ~row where it ends), and their times."""


class Lanes(Struct):
    """The slices of a track that are still open, lane by lane, as (end, row).

    A slice goes to the first lane in which it overlaps no other slice. With `is_nested`, it may
    also lie wholly within the open slices of a lane. In the order of a lane's events, slices open
    and close like brackets, even those without a duration. Rows are counted from the first slice
    added.
    """

    is_nested: bool
    opened: list[list[tuple[int, int]]] = field(default_factory=list)
    n_rows: int = 0

    def add(self, starts: pl.Series, ends: pl.Series) -> Iterator[_Events]:
        """Yield the events of more slices, which are sorted by start, the longest first."""
        first = self.n_rows
        self.n_rows += len(starts)
        numbers = range(first, self.n_rows)
        rows = [
            *zip(
                numbers,
                starts.to_list(),
                ends.to_list(),
                strict=True,
            )
        ]
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
        """Return the events and times of a lane, and the slices that do not fit into it."""
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
