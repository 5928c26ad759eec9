"""Waiting of ranks for each other, in collectives."""

from __future__ import annotations

import polars as pl

from tracelens.trace import Trace

WAITS = {"rank": pl.Int32, "step": pl.Int64, "wait_ns": pl.Int64, "hidden_ns": pl.Int64, "exposed_ns": pl.Int64}


def waits_by_step(trace: Trace) -> pl.DataFrame:
    """A row a rank and step, and one (step null) a rank for all its time, with the columns of WAITS."""
    del trace
    return pl.DataFrame(schema=WAITS)
