"""Distinguish waits for one other rank's data, in pipelines, from waits in collectives."""

import polars as pl

from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.ranks.host_collectives import communicating_spans
from tracelens.derive.time.program_phases import in_program
from tracelens.trace import Trace

_RECEIVES = r"^(?:\w+:{1,2})?_?i?recv(?:_any_source)?_?$"
"""Pattern for names of receives in collective libraries and host backends: recv, gloo:recv."""
_DEVICE = ["rank", "device_id"]


def is_mostly_receiving(trace: Trace) -> bool:
    """Return whether receives take most of the communication time that no other kernel hides.

    A receive takes data from one other rank and lasts until that rank has sent.
    """
    return trace.derived(_is_mostly_receiving)


def _is_mostly_receiving(trace: Trace) -> bool:
    calls = match_collectives(trace).calls
    # If sends are matched with receives, waits for the sender are measured themselves.
    if (calls["name"] == "send/recv").any():
        return False
    times = pl.concat([_of_devices(trace), _of_hosts(trace)])
    is_receive = pl.col("name").str.contains(_RECEIVES)
    receiving_ns = int(times.filter(is_receive)["ns"].sum())
    return 2 * receiving_ns > int(times["ns"].sum())


def _of_devices(trace: Trace) -> pl.DataFrame:
    """Return name and ns of each communication kernel.

    ns is the kernel's time without overlap with other kernels and without known waiting.
    """
    columns = ("kernel_id", "step", "is_communication", "start_ns", "duration_ns")
    kernels = trace.select("kernels", *_DEVICE, *columns)
    communicates = pl.col("is_communication").fill_null(value=False)
    communicating = kernels.filter(communicates & in_program(trace))
    if communicating.is_empty():
        return pl.DataFrame(schema={"name": pl.String, "ns": pl.Int64})
    computing = kernels.filter(~communicates)
    hidden_ns = covered_ns(communicating, computing, _DEVICE)
    exposed_ns = pl.col("duration_ns") - hidden_ns
    timed = communicating.with_columns(ns=exposed_ns.cast(pl.Int64))
    kernel = ["rank", "kernel_id"]
    name = pl.col("name").cast(pl.String)
    names = trace.collectives.select(*kernel, name)
    calls = match_collectives(trace).calls
    least = calls.select(*kernel, "least_ns").drop_nulls()
    named = timed.join(names, on=kernel, how="left")
    described = named.join(least, on=kernel, how="left")
    return described.select(
        pl.col("name").fill_null(""),
        ns=pl.min_horizontal("ns", "least_ns"),
    )


def _of_hosts(trace: Trace) -> pl.DataFrame:
    """Return name and ns of each span in which a rank without kernels communicates."""
    spans = []
    for rank, of_rank in communicating_spans(trace).items():
        with_rank = of_rank.with_columns(rank=pl.lit(rank, pl.Int32))
        spans.append(with_rank.select("rank", "step", "name", "duration_ns"))
    if not spans:
        return pl.DataFrame(schema={"name": pl.String, "ns": pl.Int64})
    judged = pl.concat(spans).filter(in_program(trace))
    return judged.select(
        pl.col("name").cast(pl.String),
        ns=pl.col("duration_ns").cast(pl.Int64),
    )
