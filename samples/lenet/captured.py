"""Read kernels, their time, launches, and calls above cuDNN from a level's captures."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

import tracelens as tl
from samples.lenet.levels import PROFILED

LAUNCHES = r"(?i)launch"
ENTRY = re.compile(r"(^|[.:>])infer$")


def on_the_gpu(trace: tl.Trace) -> dict[str, float]:
    """Return an inference's kernel time in ms, its kernels and its launches.

    `unlinked` counts kernels without a call in the trace.
    """
    calls = trace.api_calls.filter(pl.col("api").str.contains(LAUNCHES))
    return {
        "kernel_ms": trace.kernels["duration_ns"].sum() / PROFILED / 1e6,
        "kernels": trace.kernels.height / PROFILED,
        "launches": calls.height / PROFILED,
        "unlinked": trace.kernels.filter(pl.col("api_call_id").is_null()).height / PROFILED,
        "copies_on_device": (trace.memcpys.height + trace.memsets.height) / PROFILED,
    }


def kernel_names(trace: tl.Trace) -> list[str]:
    """Return the kernels of the trace by name, in the order of the names."""
    return trace.kernels["name"].cast(pl.String).sort().to_list()


def depth(trace: tl.Trace) -> dict[str, Any] | None:
    """Count the calls from the level's `infer` to the function at which the debugger stopped first.

    `entry` is the frame to count from; None if the stack lacks it, as on another thread than
    Python's.
    """
    candidates = []
    for row in trace.stacks.iter_rows(named=True):
        frames = trace.frames.filter(stack_id=row["stack_id"]).sort("level")
        entries = [
            level
            for level, name in frames.select("level", "function").iter_rows()
            if ENTRY.search(name)
        ]
        total = max(entries) if entries else None
        candidates.append(
            {
                "symbol": row["symbol"],
                "calls": total,
                "frames": frames.height,
                "python": row["python_frames"],
            }
        )
    # If one of these functions calls another one, the level calls the outer one.
    return min(
        candidates,
        key=lambda row: (row["calls"] is None, row["calls"] or row["frames"]),
        default=None,
    )
