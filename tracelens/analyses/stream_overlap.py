"""Measure how long each pair of streams of a device works at the same time."""

from itertools import combinations

import polars as pl

from tracelens.analyses.analysis import Analysis
from tracelens.derive.columns.intervals import END, covered_by, union
from tracelens.derive.columns.time_text import duration
from tracelens.schemas import DEVICE_WORK
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

STREAM_OVERLAP = Table(
    "stream_overlap",
    "Two streams of a device, and the time in which both work; or a single stream and the"
    " time in which it works.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("device_id", pl.Int32, "Device."),
        Column("stream_id", pl.Int64, "Stream."),
        Column(
            "other_stream_id",
            pl.Int64,
            "The other stream; the same number in the row of a single stream.",
        ),
        Column(
            "overlap_ns",
            pl.Int64,
            "Time in which both work; for a single stream, in which it works.",
        ),
        Column("share_frac", pl.Float64, "Share of the time of the stream that works less."),
    ),
)
_MOST_STREAMS = 32
"""At most this many streams of a device have rows: the streams with the most work.

The number of pairs grows with the square of the number of streams.
"""


def stream_overlap(trace: Trace) -> pl.DataFrame:
    """Measure how long two streams work at the same time: one row per rank, device and pair.

    The row of a stream with itself has the time in which the stream works. The result is empty if
    each device has one stream. Raises MissingTableError without kernels.
    """
    trace.require("stream_overlap", "kernels")
    columns = ("rank", "device_id", "stream_id", "start_ns", "duration_ns")
    work = pl.concat([trace.select(name, *columns) for name in DEVICE_WORK])
    work = work.with_columns(end_ns=END)
    rows = []
    for (rank, device), part in work.group_by("rank", "device_id", maintain_order=True):
        rows += [(rank, device, *row) for row in _of_device(part)]
    return STREAM_OVERLAP.conform(
        pl.DataFrame(rows, STREAM_OVERLAP.schema, orient="row").sort(
            "rank",
            "device_id",
            "overlap_ns",
            descending=[False, False, True],
        )
    )


def _of_device(work: pl.DataFrame) -> list[tuple[int, int, int, float]]:
    """Return one row per pair of streams: both ids, their overlap and its share.

    A stream is also paired with itself. A device with one stream has no rows.
    """
    busiest = work.group_by("stream_id").agg(pl.col("duration_ns").sum())
    streams = busiest.sort("duration_ns", descending=True)["stream_id"].head(_MOST_STREAMS).sort()
    if len(streams) < 2:
        return []
    intervals = {
        stream: union(work.filter(pl.col("stream_id") == stream).select("start_ns", "end_ns"))
        for stream in streams
    }
    busy_ns = {
        stream: int((times["end_ns"] - times["start_ns"]).sum())
        for stream, times in intervals.items()
    }
    rows = [(stream, stream, ns, 1.0) for stream, ns in busy_ns.items()]
    for first, second in combinations(streams, 2):
        overlap_ns = int(covered_by(intervals[first], intervals[second]).sum())
        share = overlap_ns / max(1, min(busy_ns[first], busy_ns[second]))
        rows.append((first, second, overlap_ns, share))
    return rows


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - as all notes
    """Name the two streams that overlap longest, or say that nothing can overlap."""
    pairs = frame.filter(pl.col("stream_id") != pl.col("other_stream_id"))
    if pairs.is_empty():
        return ["All work of each device is on one stream, so that none of it overlaps."]
    longest = pairs.row(0, named=True)
    streams = f"{longest['stream_id']} and {longest['other_stream_id']} of rank {longest['rank']}"
    together = f"{duration(longest['overlap_ns'])}, {longest['share_frac']:.0%}"
    return [f"Streams {streams} work at once for {together} of the shorter one's time."]


ANALYSIS = Analysis(
    "Which streams work at the same time?", STREAM_OVERLAP, stream_overlap, notes=notes
)
