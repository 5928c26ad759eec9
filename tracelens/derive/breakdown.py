"""Splitting each device's time into computing, communicating, copying and idle, by step."""

from __future__ import annotations

import polars as pl

from tracelens.derive.intervals import END, union_ns
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace

_KEY = ["rank", "device_id", "step"]


def break_down(trace: Trace) -> pl.DataFrame:
    """A row a rank, device and step, and one (step null) for the whole trace: the columns of TIME_BREAKDOWN.

    Lengths are of interval unions, so overlapping work counts once; exposed time is what no other work hides. The
    definitions of compute and idle are those of HTA's temporal breakdown.
    """
    work = _device_work(trace)
    both = pl.concat([work.with_columns(step=pl.lit(None, pl.Int64)), work.filter(pl.col("step").is_not_null())])
    frame = both.group_by(_KEY).agg(window_ns=END.max() - pl.col("start_ns").min())
    is_compute, is_communication = pl.col("work") == "compute", pl.col("work") == "communication"
    lengths = {
        "compute": is_compute,
        "communication": is_communication,
        "copy": pl.col("work") == "copy",
        "kernels": is_compute | is_communication,
        "all": pl.lit(True),
    }
    for name, chosen in lengths.items():
        frame = _joined(frame, union_ns(both.filter(chosen), _KEY).rename({"union_ns": f"{name}_ns"}))
    frame = _joined(_joined(frame, _starved(trace, both)), _last_collective(both))
    frame = _joined(frame, _collective_wait(both))
    frame = frame.with_columns(pl.col(f"{name}_ns").fill_null(0) for name in (*lengths, "starved")).with_columns(
        exposed_communication_ns=pl.col("kernels_ns") - pl.col("compute_ns"),
        exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns"),
        idle_ns=pl.col("window_ns") - pl.col("all_ns"),
    )
    share = ["compute", "exposed_communication", "exposed_copy", "idle"]
    window = pl.when(pl.col("window_ns") > 0).then(pl.col("window_ns"))
    frame = frame.with_columns((pl.col(f"{name}_ns") / window).alias(f"{name}_frac") for name in share)
    return TIME_BREAKDOWN.conform(frame.sort("rank", "device_id", "step", nulls_last=False))


def _device_work(trace: Trace) -> pl.DataFrame:
    """rank, device_id, step, start_ns, duration_ns, api_call_id and work (compute, communication, copy) of all work."""
    columns = ["rank", "device_id", "step", "start_ns", "duration_ns", "api_call_id"]
    kind = pl.when("is_communication").then(pl.lit("communication")).otherwise(pl.lit("compute"))
    return pl.concat(
        [
            trace.kernels.select(*columns, work=kind, name="name"),
            trace.memcpys.select(*columns, work=pl.lit("copy"), name=pl.lit("memcpy")),
            trace.memsets.select(*columns, work=pl.lit("copy"), name=pl.lit("memset")),
        ]
    )


def _joined(frame: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    return frame.join(more, on=_KEY, how="left", nulls_equal=True)


def _starved(trace: Trace, work: pl.DataFrame) -> pl.DataFrame:
    """Idle time before work whose call had not returned when the device fell idle, up to the call's return."""
    calls = trace.api_calls.select("rank", "api_call_id", returned=END)
    reached = pl.col("end").cum_max().shift(1).over(_KEY)
    return (
        work.join(calls, on=["rank", "api_call_id"], how="left")
        .with_columns(end=END)
        .sort("start_ns")
        .with_columns(free_since=reached)
        .filter(pl.col("start_ns") > pl.col("free_since"))
        .with_columns(until=pl.min_horizontal("start_ns", "returned"))
        .group_by(_KEY)
        .agg(starved_ns=(pl.col("until") - pl.col("free_since")).clip(0).sum())
    )


def _last_collective(work: pl.DataFrame) -> pl.DataFrame:
    communication = work.filter(pl.col("work") == "communication").sort("start_ns")
    return communication.group_by(_KEY).agg(last_collective_ns=pl.col("duration_ns").last())


def _collective_wait(work: pl.DataFrame) -> pl.DataFrame:
    """Each rank's time in collectives beyond the fastest rank's in the same one, matched by order within a step.

    Whole-trace and unmatched steps (a different number or order of kernels by name) stay null.
    """
    place = ["device_id", "step", "place", "name"]
    # Only the device a rank computes on communicates, and ranks number theirs differently on different hosts.
    kernels = (
        work.filter((pl.col("work") == "communication") & pl.col("step").is_not_null())
        .sort("start_ns")
        .with_columns(place=pl.int_range(pl.len()).over(_KEY))
    )
    n_ranks = kernels["rank"].n_unique()
    fastest = kernels.group_by(place[1:]).agg(fastest=pl.col("duration_ns").min(), n_ranks=pl.col("rank").n_unique())
    matched = kernels.join(fastest, on=place[1:])
    per_step = matched.group_by(_KEY).agg(
        collective_wait_ns=(pl.col("duration_ns") - pl.col("fastest")).sum(),
        agreed=(pl.col("n_ranks") == n_ranks).all(),
    )
    return per_step.filter(pl.col("agreed") & (n_ranks > 1)).drop("agreed")
