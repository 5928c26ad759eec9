"""The order in which a track's slices begin and end, and lanes of their own for those that overlap."""

from collections.abc import Iterator

import polars as pl

from tracelens.errors import SourceError

_AT_ONCE = 1 << 17
_MOST_LANES = 1000


def in_lanes(starts: pl.Series, ends: pl.Series, *, nested: bool) -> Iterator[tuple[int, pl.Series]]:
    """Lane by lane, some events at a time: a slice's row where it begins, and ~row where it ends.

    Slices are sorted by start, the longest first. One goes to the first lane where it overlaps none, or where `nested`
    lies wholly within what is open. Events of a lane are in an order in which slices open and close like brackets, also
    those without a duration.
    """
    rows = pl.int_range(len(starts), eager=True)
    for lane in range(_MOST_LANES):
        left: list[int] = []
        open_now: list[tuple[int, int]] = []
        for part in rows.to_frame().iter_slices(_AT_ONCE):
            own = part.to_series()
            yield lane, _events(own, starts.gather(own), ends.gather(own), (open_now, left, nested))
        if open_now:
            yield lane, pl.Series([~row for _, row in reversed(open_now)], dtype=pl.Int64)
        rows = pl.Series(left, dtype=pl.Int64)
        if not left:
            return
    raise SourceError(
        f"more than {_MOST_LANES:,} events overlap each other on one thread or stream, which no program does; see "
        "tracelens check"
    )


def _events(
    rows: pl.Series, starts: pl.Series, ends: pl.Series, state: tuple[list[tuple[int, int]], list[int], bool]
) -> pl.Series:
    """The events of some more rows of a lane; `state` has what is open, what another lane gets, and if slices nest."""
    open_now, left, nested = state
    events = []
    for row, start, end in zip(rows.to_list(), starts.to_list(), ends.to_list(), strict=True):
        while open_now and open_now[-1][0] <= start:
            events.append(~open_now.pop()[1])
        if open_now and (not nested or open_now[-1][0] < end):
            left.append(row)
        else:
            events.append(row)
            open_now.append((end, row))
    return pl.Series(events, dtype=pl.Int64)
