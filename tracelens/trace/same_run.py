"""Refusing captures that cannot be ranks of one program, by what they say of themselves."""

from collections.abc import Sequence
from itertools import combinations

import polars as pl

from tracelens.errors import SourceError
from tracelens.trace.capture import Capture

WORLD_SIZE = "world_size"
"""The setting that holds the number of ranks of the program, where the source knows it."""
NOT_TOGETHER = "ranks_apart"
"""Code of the diagnostic that says that ranks did not run at the same time."""
_FAR_NS = 3_600 * 10**9
"""Ranks run at the same time, and clocks of two machines differ by less than this."""
_TIMED = ("kernels", "api_calls", "spans")
_NEXT = (
    "collect each into a trace of its own and compare them (--against), or, where they are ranks all the same, say so: "
    "tracelens collect files with --rank once for each file"
)


def refuse_unrelated(captures: Sequence[Capture]) -> None:
    """Raise SourceError where captures of one profiler cannot be ranks of one program; add a warning where in doubt.

    They cannot be where they state different numbers of ranks, or fewer than there are files, and where they lie hours
    apart and not all of them state a number of ranks. It is in doubt where they did not run at the same time. Device
    models may differ. Several traces in one file are taken as its ranks.
    """
    n_files = len({capture.source.sha256 for capture in captures})
    sizes = [(capture, capture.settings.get(WORLD_SIZE)) for capture in captures]
    stated = [(capture, size) for capture, size in sizes if isinstance(size, int) and size > 0]
    for (one, size), (other, other_size) in combinations(stated, 2):
        if size != other_size and one.source.sha256 != other.source.sha256:
            raise _unrelated(one, other, f"one is of {size:,} ranks, the other of {other_size:,}")
    if stated and stated[0][1] < n_files:
        one = stated[0][0]
        other = next(capture for capture in captures if capture.source.sha256 != one.source.sha256)
        raise _unrelated(one, other, f"{one.source.name} is of {stated[0][1]:,} ranks, and {n_files:,} were given")
    extents = [(capture, extent) for capture in captures if (extent := extent_of(capture)) is not None]
    extents.sort(key=lambda pair: pair[1])
    for at, (other, (begins, _)) in enumerate(extents[1:], 1):
        one, ended = max(((capture, end) for capture, (_, end) in extents[:at]), key=lambda pair: pair[1])
        gap_ns = begins - ended
        if gap_ns >= _FAR_NS and len(stated) < len(captures) and one.source.sha256 != other.source.sha256:
            raise _unrelated(one, other, f"the second began {gap_ns / _FAR_NS:.1f} hours after the first had ended")
        if gap_ns > 0:
            text = (
                f"{one.source.name} ended {gap_ns / 1e9:.1f} s before {other.source.name} began; unless they are ranks "
                "of one program, nothing here that compares ranks holds: collect each into a trace of its own"
            )
            other.diagnostics.add("warning", NOT_TOGETHER, text)


def _unrelated(one: Capture, other: Capture, why: str) -> SourceError:
    return SourceError(f"{one.source.name} and {other.source.name} are not ranks of one program: {why}; {_NEXT}")


def extent_of(capture: Capture) -> tuple[int, int] | None:
    """The start of the capture's first event and the end of its last; null where it has its own time origin."""
    if capture.time_base != "unix_epoch":
        return None
    ends = pl.col("start_ns").cast(pl.Int64) + pl.col("duration_ns").cast(pl.Int64)
    bounds = []
    for name in _TIMED:
        rows = capture.table(name)
        if rows is not None:
            found = rows.lazy().select(first=pl.col("start_ns").min().cast(pl.Int64), last=ends.max()).collect().row(0)
            bounds += [] if found[0] is None else [found]
    return (min(first for first, _ in bounds), max(last for _, last in bounds)) if bounds else None
