"""Determine the bandwidth of copies between a device and pinned host memory."""

from __future__ import annotations

import polars as pl

from tracelens.trace import Trace

LARGE_COPY = 1 << 20
"""Copies above this size in bytes show the bandwidth.

Smaller copies show the latency.
"""
_BY_DEVICE = {"H100": 50e9, "H200": 50e9, "A100": 24e9, "L4": 24e9, "V100": 12e9}
"""Bytes per second of pinned copies by device, assumed if the trace has no such copies."""


def pinned_bytes_per_s(trace: Trace, direction: str) -> float | None:
    """Return the bytes per second of the trace's large pinned copies in a direction, h2d or d2h.

    Without such copies, return the rate assumed for the device, None if it is unknown.
    """
    memory = "source_memory" if direction == "h2d" else "destination_memory"
    copies = trace.select("memcpys", "direction", memory, "size_bytes", "duration_ns")
    large = copies.filter(
        (pl.col("direction") == direction)
        & (pl.col(memory) == "pinned")
        & (pl.col("size_bytes") > LARGE_COPY)
    )
    if large.height:
        return int(large["size_bytes"].sum()) / max(int(large["duration_ns"].sum()), 1) * 1e9
    names = trace.frame("devices")["name"].to_list()
    known = [rate for name in names for word, rate in _BY_DEVICE.items() if word in name]
    return known[0] if known else None
