"""Compute the number of launches that wait for each stream, over time."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Lines
from tracelens.derive.columns.levels import levels
from tracelens.derive.layers.graph_replay import has_replays
from tracelens.derive.time.model import time_model
from tracelens.derive.time.time_parts import rank_times
from tracelens.schemas import DEVICE_WORK
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

QUEUE_LENGTH = Table(
    "queue_length",
    "Launched work that has not begun, on one of a device's 32 busiest streams, in one of 200"
    " equal parts of the time.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("device_id", pl.Int32, "Device."),
        Column("stream_id", pl.Int64, "Stream."),
        Column("start_ns", pl.Int64, "Start of this part of the time."),
        Column("duration_ns", pl.Int64, "Length of this part."),
        Column("length_mean", pl.Float64, "Kernels, copies and memsets waiting, on average."),
        Column("length_max", pl.Int64, "The most that waited at once."),
    ),
)
_KEY = ("rank", "device_id", "stream_id")
_SHORT = 1.0
"""With fewer launches in its queue on average, a device waits for the host again and again."""
_MOST_STREAMS = 32
"""At most this many streams of a device have rows: the streams with the most launches."""


def queue_length(trace: Trace) -> pl.DataFrame:
    """Return the length of each stream's queue over time: one row per stream and interval.

    A launch is in the queue from the start of its call until its work starts on the device, as HTA
    defines it. Raises MissingTableError without kernels and API calls.
    """
    trace.require("queue_length", "kernels", "api_calls")
    columns = (*_KEY, "api_call_id", "start_ns")
    work = pl.concat([trace.select(name, *columns) for name in DEVICE_WORK])
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns")
    calls = calls.rename({"start_ns": "launched_ns"})
    launched = work.join(calls, on=["rank", "api_call_id"], how="inner")
    streams = (
        launched.group_by(_KEY)
        .len()
        .sort(
            "len",
            *_KEY,
            descending=[True, *[False] * 3],
        )
    )
    busiest = streams.group_by(_KEY[:2], maintain_order=True).head(_MOST_STREAMS)
    launched = launched.join(busiest, on=_KEY, how="semi", nulls_equal=True)
    changes = pl.concat(
        [
            launched.select(*_KEY, time_ns=moment, change=pl.lit(change, pl.Int64))
            for moment, change in (("launched_ns", 1), ("start_ns", -1))
        ]
    )
    lengths = levels(changes, _KEY)
    return QUEUE_LENGTH.conform(
        lengths.rename({"level_mean": "length_mean", "level_max": "length_max"}, strict=False)
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Say how many launches the queue held, on the rank where the host is least ahead."""
    sentences = []
    weighted = pl.col("length_mean") * pl.col("duration_ns")
    streams = frame.group_by(*_KEY).agg(
        mean=weighted.sum() / pl.col("duration_ns").sum(),
        most=pl.col("length_max").max(),
    )
    by_mean = streams.sort("mean", *_KEY, descending=[True, *[False] * 3])
    longest = by_mean.unique("rank", keep="first", maintain_order=True).sort("mean", "rank").head(1)
    for rank, _, stream, mean, most in longest.iter_rows():
        held = (
            f"the queue of stream {stream} held {mean:,.1f} launches on average, at most {most:,}"
        )
        replays = has_replays(trace)
        # A short queue, or one of CUDA graphs, does not tell how long the device waits.
        if mean < _SHORT or replays:
            share = _launch_share(trace, rank)
            held = f"the device waits for launches {share:.0%} of the time; {held}"
        if replays:
            held += " (kernels of a CUDA graph all wait from its launch on)"
        elif mean >= _SHORT:
            held += ": the host is ahead"
        sentences.append(f"Rank {rank}: {held}.")
    return sentences


def _launch_share(trace: Trace, rank: int) -> float:
    (time,) = (time for time in rank_times(time_model(trace)) if time.rank == rank)
    return time.shares["launch"]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    first = frame.filter(
        pl.all_horizontal(pl.col(name) == frame[name][0] for name in _KEY)
        if frame.height
        else False
    )
    parts = {"length_mean": "on average", "length_max": "at most"}
    return [Lines("Launches that wait", first, "start_ns", parts)]


ANALYSIS = Analysis(
    "How far is the host ahead of the device?",
    QUEUE_LENGTH,
    queue_length,
    notes=notes,
    charts=_charts,
)
