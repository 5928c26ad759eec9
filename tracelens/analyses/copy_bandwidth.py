"""Compute the bandwidth of copies over time, by direction."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Lines
from tracelens.derive.columns.levels import levels
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

COPY_BANDWIDTH = Table(
    "copy_bandwidth",
    "Copies of one direction in one of 200 equal parts of the time.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("direction", pl.String, "Direction, as in memcpys."),
        Column("start_ns", pl.Int64, "Start of this part of the time."),
        Column("duration_ns", pl.Int64, "Length of this part."),
        Column("mean_bytes_per_s", pl.Float64, "Bandwidth on average, pauses included."),
        Column("max_bytes_per_s", pl.Float64, "Largest bandwidth of all copies at one moment."),
    ),
)
_KEY = ("rank", "direction")


def copy_bandwidth(trace: Trace) -> pl.DataFrame:
    """Return the bandwidth of copies over time: one row per rank, direction and interval.

    A copy's bandwidth is its size over its duration. Bandwidths of copies that run at the same time
    are added. This is HTA's memory bandwidth. Raises MissingTableError without copies.
    """
    trace.require("copy_bandwidth", "memcpys")
    copies = trace.select("memcpys", *_KEY, "size_bytes", "start_ns", "duration_ns")
    copies = copies.cast({"direction": pl.String}).filter(pl.col("duration_ns") > 0)
    rate = pl.col("size_bytes") / pl.col("duration_ns") * 1e9
    changes = pl.concat(
        [
            copies.select(*_KEY, time_ns=moment, change=change)
            for moment, change in (
                (pl.col("start_ns"), rate),
                (pl.col("start_ns") + pl.col("duration_ns"), -rate),
            )
        ]
    )
    names = {"level_mean": "mean_bytes_per_s", "level_max": "max_bytes_per_s"}
    bandwidth = levels(changes, _KEY).rename(names, strict=False)
    return COPY_BANDWIDTH.conform(
        bandwidth.with_columns(pl.col(*names.values()).round(3).clip(0))
        if bandwidth.width
        else bandwidth
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - as all notes
    """Give the highest bandwidth of each direction."""
    best = frame.group_by("direction").agg(pl.col("max_bytes_per_s").max()).sort("direction")
    rates = [f"{direction} {rate / 1e9:.1f}" for direction, rate in best.iter_rows()]
    return [f"The fastest copies, in GB/s: {', '.join(rates)}."] if rates else []


def _charts(frame: pl.DataFrame) -> list[Chart]:
    charts: list[Chart] = []
    for (direction,), part in frame.group_by("direction", maintain_order=True):
        first = part.filter(pl.col("rank") == part["rank"][0])
        parts = {"mean_bytes_per_s": "on average", "max_bytes_per_s": "at most"}
        charts.append(Lines(f"Bandwidth of copies, {direction}", first, "start_ns", parts))
    return charts


ANALYSIS = Analysis(
    "How fast are copies, and when?", COPY_BANDWIDTH, copy_bandwidth, notes=notes, charts=_charts
)
