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
    marked = work.filter(pl.col("step").is_not_null())
    whole = work.group_by(_KEY[:2]).agg(*_lengths()).with_columns(step=pl.lit(None, pl.Int64))
    frame = pl.concat([whole.select(*_KEY, pl.exclude(_KEY)), marked.group_by(_KEY).agg(*_lengths())])
    frame = frame.join(_collective_wait(marked), on=_KEY, how="left").with_columns(
        exposed_communication_ns=pl.col("kernels_ns") - pl.col("compute_ns"),
        exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns"),
        idle_ns=pl.col("window_ns") - pl.col("all_ns"),
    )
    share = ["compute", "exposed_communication", "exposed_copy", "idle"]
    window = pl.when(pl.col("window_ns") > 0).then(pl.col("window_ns"))
    frame = frame.with_columns((pl.col(f"{name}_ns") / window).alias(f"{name}_frac") for name in share)
    return TIME_BREAKDOWN.conform(frame.sort("rank", "device_id", "step", nulls_last=False))


def _device_work(trace: Trace) -> pl.DataFrame:
    """All device work in order of start: the key, start_ns, duration_ns, work, name, and when its call returned.

    `work` is compute, communication or copy.
    """
    columns = [*_KEY, "start_ns", "duration_ns", "api_call_id"]
    kind = pl.when("is_communication").then(pl.lit("communication")).otherwise(pl.lit("compute"))
    work = pl.concat(
        [
            trace.kernels.select(*columns, work=kind, name="name"),
            trace.memcpys.select(*columns, work=pl.lit("copy"), name=pl.lit("memcpy")),
            trace.memsets.select(*columns, work=pl.lit("copy"), name=pl.lit("memset")),
        ]
    )
    calls = trace.api_calls.select("rank", "api_call_id", returned=END)
    return work.join(calls, on=["rank", "api_call_id"], how="left").sort("start_ns", "duration_ns")


def _lengths() -> list[pl.Expr]:
    """The measures of a group of device work in order of start."""
    work = pl.col("work")
    return [
        (END.max() - pl.col("start_ns").min()).alias("window_ns"),
        union_ns(work == "compute").alias("compute_ns"),
        union_ns(work == "communication").alias("communication_ns"),
        union_ns(work == "copy").alias("copy_ns"),
        union_ns(work != "copy").alias("kernels_ns"),
        union_ns().alias("all_ns"),
        _starved().alias("starved_ns"),
        pl.col("duration_ns").filter(work == "communication").last().alias("last_collective_ns"),
    ]


def _starved() -> pl.Expr:
    """Idle time before work whose call had not returned when the device fell idle, up to the call's return.

    Work whose call is not known says nothing of the host.
    """
    start, free_since = pl.col("start_ns"), END.cum_max().shift(1)
    waited = pl.when(pl.col("returned") < start).then("returned").otherwise(start) - free_since
    return waited.clip(0).filter((start > free_since) & pl.col("returned").is_not_null()).sum()


def _collective_wait(work: pl.DataFrame) -> pl.DataFrame:
    """Each rank's time in collectives beyond the fastest rank's in the same one, matched by order within a step.

    Steps in which the ranks' collectives do not match (in number or order of kernels by name) are left out.
    """
    place = ["device_id", "step", "place", "name"]
    # Only the device a rank computes on communicates, and ranks number theirs differently on different hosts.
    kernels = (
        work.filter(pl.col("work") == "communication")
        .sort("start_ns", "duration_ns", "name")
        .with_columns(place=pl.int_range(pl.len()).over(_KEY))
    )
    n_ranks = kernels["rank"].n_unique()
    fastest = kernels.group_by(place[1:]).agg(fastest=pl.col("duration_ns").min(), n_ranks=pl.col("rank").n_unique())
    matched = kernels.join(fastest, on=place[1:])
    agreed = (pl.col("n_ranks") == n_ranks).all().over("step")
    waits = matched.filter(agreed & (n_ranks > 1)).group_by(_KEY)
    return waits.agg(collective_wait_ns=(pl.col("duration_ns") - pl.col("fastest")).sum())
