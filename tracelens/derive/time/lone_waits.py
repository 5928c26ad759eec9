"""Tell from one rank's collectives alone that they mostly wait for ranks that were not given."""

import polars as pl
from msgspec import Struct

from tracelens.derive.ranks.missing import missing_ranks
from tracelens.derive.time.program_phases import in_program
from tracelens.trace import Trace

_SLOW_NETWORK = 1e9
"""Bytes a second of a network slower than any that is built for training: 10 gigabits a second."""
_LATENCY_NS = 1_000_000
"""No call takes longer than this to begin and end, beside its transfer."""
_PASSES = 2
"""An all-reduce sends and receives its bytes at most this many times."""
_MOSTLY = 0.5


class LoneWaits(Struct, frozen=True):
    """Time of a lone rank's collectives, and the most that a slow network needs for their bytes."""

    recorded_ns: int
    transfer_ns: int


def lone_waits(trace: Trace) -> LoneWaits | None:
    """Return the times of a lone rank's collectives if they mostly wait for other ranks.

    They do if even a slow network would need less than half of their time. The result is None for
    several ranks, and if bytes of collectives are not recorded.
    """
    return trace.derived(_lone_waits)


def _lone_waits(trace: Trace) -> LoneWaits | None:
    if len(trace.manifest.ranks) > 1 or not missing_ranks(trace):
        return None
    n_bytes = pl.max_horizontal("size_in_bytes", "size_out_bytes")
    sizes = trace.collectives.select(
        "rank",
        "kernel_id",
        n_bytes=n_bytes,
    )
    columns = ("kernel_id", "step", "start_ns", "duration_ns", "is_communication")
    kernels = trace.select("kernels", "rank", *columns)
    communicating = kernels.filter(pl.col("is_communication") & in_program(trace))
    calls = communicating.join(
        sizes,
        on=["rank", "kernel_id"],
        how="left",
    )
    if calls.is_empty() or calls["n_bytes"].null_count():
        return None
    slow_transfer_ns = pl.col("n_bytes") * _PASSES / _SLOW_NETWORK * 1e9
    needed_ns = (slow_transfer_ns + _LATENCY_NS).cast(pl.Int64)
    transfer_ns = pl.min_horizontal("duration_ns", needed_ns)
    sums = calls.select(
        recorded_ns=pl.col("duration_ns").sum(),
        transfer_ns=transfer_ns.sum(),
    )
    times = LoneWaits(*sums.row(0))
    if times.transfer_ns >= _MOSTLY * times.recorded_ns:
        return None
    return times
