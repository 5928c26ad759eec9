"""Find out whether a lone rank's collectives mostly wait for ranks that the trace lacks."""

import polars as pl
from msgspec import Struct

from tracelens.derive.ranks.missing import missing_ranks
from tracelens.derive.time.program_phases import in_program
from tracelens.trace import Trace

_SLOW_NETWORK = 1e9
"""Bytes per second of a network that is slower than all networks built for training."""
_LATENCY_NS = 1_000_000
"""The most time that a call needs in addition to its transfer."""
_PASSES = 2
"""An all-reduce sends and receives its bytes at most this many times."""
_MOSTLY = 0.5


class LoneWaits(Struct, frozen=True):
    """Holds the time of a lone rank's collectives, and the time a slow network needs for them."""

    recorded_ns: int
    transfer_ns: int


def lone_waits(trace: Trace) -> LoneWaits | None:
    """Return the times of a lone rank's collectives if they mostly wait for other ranks, else None.

    The result is also None for several ranks, or if a collective's bytes are not recorded.
    """
    # Collectives mostly wait if even a slow network would need less than half of their time.
    return trace.derived(_lone_waits)


def _lone_waits(trace: Trace) -> LoneWaits | None:
    if len(trace.manifest.ranks) > 1 or not missing_ranks(trace):
        return None
    n_bytes = pl.max_horizontal("size_in_bytes", "size_out_bytes")
    sizes = trace.collectives.select("rank", "kernel_id", n_bytes=n_bytes)
    columns = ("kernel_id", "step", "start_ns", "duration_ns", "is_communication")
    kernels = trace.select("kernels", "rank", *columns)
    communicating = kernels.filter(pl.col("is_communication") & in_program(trace))
    calls = communicating.join(sizes, on=["rank", "kernel_id"], how="left")
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
