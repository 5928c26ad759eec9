"""Where each device's time went: computing, communicating, copying, or idle for a cause."""

from __future__ import annotations

import polars as pl

from tracelens.derive.time.breakdown import break_down
from tracelens.derive.time.process_time import process_sentences, require_time
from tracelens.derive.time.step_times import step_sentences
from tracelens.trace import Trace


def time_breakdown(trace: Trace) -> pl.DataFrame:
    """A row a rank, device and step, and one (step null) from the device's first to its last work.

    Compute, exposed communication, exposed copies and the causes of idle time add up to each row's window. Lengths are
    of interval unions, so overlapping work counts once; exposed time is what no other work hides. The definitions of
    compute and idle are those of HTA's temporal breakdown. Raises MissingTableError without kernels and ops.
    """
    require_time(trace, "time_breakdown")
    return break_down(trace).frame


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """How long steps take, and what stands out between ranks."""
    found = step_sentences(trace) + process_sentences(trace)
    waits = frame.filter(pl.col("collective_wait_ns").is_not_null() & pl.col("step").is_not_null())
    by_rank = waits.group_by("rank").agg(
        mean=pl.col("collective_wait_ns").mean(),
        low=pl.col("last_collective_ns").min(),
        high=pl.col("last_collective_ns").max(),
    )
    for rank, mean, low, high in by_rank.sort("rank").iter_rows():
        found.append(
            f"Rank {rank} waits {mean / 1e6:.2f} ms a step in collectives for the slowest rank; its last collective "
            f"of a step takes {low / 1e6:.2f} to {high / 1e6:.2f} ms."
        )
    if frame["step"].null_count() == frame.height:
        found.append("The trace marks no steps, so only the whole trace is broken down.")
    return found
