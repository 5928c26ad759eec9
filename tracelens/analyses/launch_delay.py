"""How long work waits between the call that starts it and the device."""

from __future__ import annotations

import polars as pl

from tracelens.derive.intervals import END
from tracelens.schemas.results.time import LAUNCH_DELAY
from tracelens.trace import Trace

_KEY = ["rank", "api", "work"]


def launch_delay(trace: Trace) -> pl.DataFrame:
    """A row an API function and sort of work, in each rank. Raises MissingTableError without kernels or API calls."""
    trace.require("launch_delay", "kernels", "api_calls")
    columns = ["rank", "api_call_id", "start_ns", "duration_ns"]
    work = pl.concat(
        trace.frame(f"{name}s").select(*columns, work=pl.lit(name)) for name in ("kernel", "memcpy", "memset")
    )
    calls = trace.api_calls.select("rank", "api_call_id", "api", api_ns="duration_ns", returned=END)
    matched = work.join(calls, on=["rank", "api_call_id"]).with_columns(delay=pl.col("start_ns") - pl.col("returned"))
    frame = matched.group_by(_KEY).agg(
        n_calls=pl.len().cast(pl.Int64),
        delay_median_ns=pl.col("delay").median(),
        delay_mean_ns=pl.col("delay").mean(),
        delay_max_ns=pl.col("delay").max(),
        duration_total_ns=pl.col("duration_ns").sum(),
    )
    # A graph launch starts many pieces of work, but its own time counts once, and against all of theirs.
    per_call = matched.group_by(*_KEY, "api_call_id").agg(
        pl.col("api_ns").first(), n=pl.len(), is_short=pl.col("duration_ns").sum() < pl.col("api_ns").first()
    )
    of_calls = per_call.group_by(_KEY).agg(
        api_total_ns=pl.col("api_ns").sum(),
        api_median_ns=pl.col("api_ns").median(),
        short_frac=pl.col("n").filter("is_short").sum() / pl.col("n").sum(),
    )
    ordered = frame.join(of_calls, on=_KEY).sort(
        "rank", "api_total_ns", *_KEY[1:], descending=[False, True, False, False]
    )
    return LAUNCH_DELAY.conform(ordered)


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """What the delays mean, and what was left out."""
    found = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        short = part.select((pl.col("short_frac") * pl.col("n_calls")).sum() / pl.sum("n_calls")).item()
        found.append(
            f"Rank {rank}: {short:.0%} of the work ran for less time than the call that started it took; "
            "such work cannot keep the device busy one launch at a time."
        )
    unlinked = trace.kernels.filter(pl.col("api_call_id").is_null()).height
    if unlinked:
        found.append(f"{unlinked:,} kernels have no launching call in the trace and are left out.")
    return found
