"""The time of a rank's steps, in numbers and in words."""

from __future__ import annotations

import polars as pl

from tracelens.derive.time.completing import steps_of
from tracelens.trace import Trace

_MANY_RANKS = 4


def step_times(trace: Trace) -> pl.DataFrame:
    """A row for each rank that marks steps: n_steps, median_ns, low_ns, high_ns of their durations."""
    ns = pl.col("duration_ns")
    found = (
        steps_of(trace).group_by("rank").agg(n_steps=pl.len(), median_ns=ns.median(), low_ns=ns.min(), high_ns=ns.max())
    )
    return found.sort("rank")


def step_sentences(trace: Trace) -> list[str]:
    """A sentence for each rank on the time of its steps and its spread; for many ranks one sentence on all."""
    found = step_times(trace)
    if found.height <= _MANY_RANKS:
        several = len(trace.manifest.ranks) > 1
        return [_sentence(f"Rank {rank}: a" if several else "A", *row) for rank, *row in found.iter_rows()]
    low, middle, high = found.select(
        low=pl.col("median_ns").min(), middle=pl.col("median_ns").median(), high=pl.col("median_ns").max()
    ).row(0)
    spread = f"{low / 1e6:.2f} to {high / 1e6:.2f} ms"
    return [f"A step takes {middle / 1e6:.2f} ms in the median of {found.height} ranks ({spread})."]


def _sentence(subject: str, n: int, median: float, low: int, high: int) -> str:
    if n == 1:
        return f"{subject} step takes {median / 1e6:.2f} ms; there is one, so nothing tells how much it varies."
    return f"{subject} step takes {median / 1e6:.2f} ms (median of {n}; {low / 1e6:.2f} to {high / 1e6:.2f} ms)."
