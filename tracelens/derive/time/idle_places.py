"""The places in the program that idle time comes from, and what takes most of the busy time."""

from __future__ import annotations

import re

import polars as pl

from tracelens.derive.time.breakdown import break_down
from tracelens.derive.time.process_time import heaviest_ops
from tracelens.trace import Trace

_LONGEST = 60


def idle_places(trace: Trace) -> pl.DataFrame:
    """A row a rank, device, cause and place (what): idle_ns, n_gaps, longest_ns, example_ns; most idle time first.

    For steps; on a rank without steps, for all known time. The place of an activity is its own; the place of launching
    is the outermost op around the call that launched the next work, or the API function without such an op.
    `longest_ns` is the most that one gap has of it, `example_ns` the start of that gap.
    """
    order = ["rank", "device_id", "idle_ns", "cause", "what"]
    return break_down(trace).places.sort(order, descending=[False, False, True, False, False])


def busy_places(trace: Trace) -> dict[tuple[int, str], str]:
    """By rank and part (compute, communication, waiting, copy) the kernel, kind of copy or op that takes most of it."""
    kernels = trace.select("kernels", "rank", "name", "is_communication", "duration_ns")
    sums = kernels.lazy().group_by("rank", "name", "is_communication").agg(pl.col("duration_ns").sum()).collect()
    most = sums.sort("duration_ns", "name", descending=[True, False]).unique(
        ["rank", "is_communication"], keep="first", maintain_order=True
    )
    found: dict[tuple[int, str], str] = {}
    for rank, name, is_communication, _ in most.iter_rows():
        parts = ("communication", "waiting") if is_communication else ("compute",)
        found |= dict.fromkeys(((rank, part) for part in parts), _short_kernel(name))
    copies = trace.select("memcpys", "rank", "direction", "source_memory", "destination_memory", "duration_ns")
    by_kind = copies.group_by(pl.exclude("duration_ns")).agg(pl.col("duration_ns").sum())
    for rank, direction, source, destination, _ in by_kind.sort("duration_ns", "direction").iter_rows():
        found[rank, "copy"] = f"{direction} copies from {source} to {destination} memory"
    return found | {(rank, "compute"): op for rank, op in heaviest_ops(trace).items()}


def _short_kernel(name: str) -> str:
    """A kernel's name without its template arguments and parameters, cut where it is long."""
    bare = re.sub(r"^void ", "", name).replace("(anonymous namespace)::", "")
    bare = re.sub(r"[<(].*", "", bare) or name
    return bare if len(bare) <= _LONGEST else bare[: _LONGEST - 1] + "…"
