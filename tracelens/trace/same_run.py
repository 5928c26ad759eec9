"""Whether the captures of one collect can be ranks of one program: what they say of themselves may contradict it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import polars as pl

from tracelens.errors import SourceError
from tracelens.trace.capture import Capture

WORLD_SIZE = "world_size"
"""The setting that holds how many ranks the program had, where the source tells."""
APART = "ranks_apart"
"""Code of the diagnostic that says that ranks did not run at the same time."""
_FAR_NS = 3_600 * 10**9
"""Ranks run at the same time; clocks of two machines differ by less than this."""
_TIMED = ("kernels", "api_calls", "spans")
_NEXT = (
    "collect each into a trace of its own and compare them (--against), or, where they are ranks all the same, say so: "
    "tracelens collect files with --rank once for each file"
)


def refuse_unrelated(captures: Sequence[Capture]) -> None:
    """Raise SourceError where captures of one profiler cannot be ranks of one program; count a warning where in doubt.

    They cannot where they tell of different numbers of ranks, or of fewer than there are captures, and where they lie
    hours apart and not all of them say that they are ranks. It is in doubt where they did not run at the same time.
    Device models may differ. Traces that stand in one file are ranks as the file has it.
    """
    n_files = len({capture.source.sha256 for capture in captures})
    sizes = [(capture, capture.settings.get(WORLD_SIZE)) for capture in captures]
    told = [(capture, size) for capture, size in sizes if isinstance(size, int) and size > 0]
    for (one, size), (other, other_size) in combinations(told, 2):
        if size != other_size and one.source.sha256 != other.source.sha256:
            raise _unrelated(one, other, f"one is of {size:,} ranks, the other of {other_size:,}")
    if told and told[0][1] < n_files:
        one = told[0][0]
        other = next(capture for capture in captures if capture.source.sha256 != one.source.sha256)
        raise _unrelated(one, other, f"{one.source.name} is of {told[0][1]:,} ranks, and {n_files:,} were given")
    extents = [(capture, extent) for capture in captures if (extent := _extent(capture)) is not None]
    extents.sort(key=lambda pair: pair[1])
    for at, (other, (begins, _)) in enumerate(extents[1:], 1):
        one, ended = max(((capture, end) for capture, (_, end) in extents[:at]), key=lambda pair: pair[1])
        apart = begins - ended
        if apart >= _FAR_NS and len(told) < len(captures) and one.source.sha256 != other.source.sha256:
            raise _unrelated(one, other, f"the second began {apart / _FAR_NS:.1f} hours after the first had ended")
        if apart > 0:
            text = (
                f"{one.source.name} ended {apart / 1e9:.1f} s before {other.source.name} began; unless they are ranks "
                "of one program, nothing here that compares ranks holds: collect each into a trace of its own"
            )
            other.diagnostics.add("warning", APART, text)


def _unrelated(one: Capture, other: Capture, why: str) -> SourceError:
    return SourceError(f"{one.source.name} and {other.source.name} are not ranks of one program: {why}; {_NEXT}")


def _extent(capture: Capture) -> tuple[int, int] | None:
    """When the capture's first event began and its last one ended; null where its times are no one else's."""
    if capture.time_base != "unix_epoch":
        return None
    ends = pl.col("start_ns").cast(pl.Int64) + pl.col("duration_ns").cast(pl.Int64)
    bounds = []
    for name in _TIMED:
        stored, frame = capture.stored.get(name), capture.tables.get(name)
        if stored is None and frame is None:
            continue
        rows = frame.lazy() if stored is None and frame is not None else pl.scan_parquet(capture.stored[name].path)
        first, last = rows.select(first=pl.col("start_ns").min().cast(pl.Int64), last=ends.max()).collect().row(0)
        bounds += [] if first is None else [(first, last)]
    return (min(first for first, _ in bounds), max(last for _, last in bounds)) if bounds else None
