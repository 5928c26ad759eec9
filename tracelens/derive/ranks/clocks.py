"""The clocks of a job's hosts: how far each is from the job's, as the matched collectives show."""

from __future__ import annotations

import polars as pl

from tracelens.trace import Trace

CLOCKS = {
    "rank": pl.Int32, "node": pl.Int32, "offset_ns": pl.Float64, "drift_ppm": pl.Float64,
    "uncertainty_ns": pl.Float64, "low_ns": pl.Float64, "high_ns": pl.Float64,
}  # fmt: skip


def clocks_of(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """A row a rank with the columns of CLOCKS: its clock minus the job's, and the bounds of that; calls have raw times.

    On one host, which has one clock, all are 0.
    """
    del calls
    rows = [(rank, None, *[0.0] * 5) for rank in trace.manifest.ranks]
    return pl.DataFrame(rows, schema=CLOCKS, orient="row")


def on_job_clock(calls: pl.DataFrame, clocks: pl.DataFrame) -> pl.DataFrame:
    """The calls with start_ns and end_ns on the job's clock."""
    del clocks
    return calls
