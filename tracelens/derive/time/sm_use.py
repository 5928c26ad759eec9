"""Measure how many of a GPU's SMs the computing kernels of a program have blocks for."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.intervals import union
from tracelens.derive.time.in_program import in_program
from tracelens.trace import Trace

_FEW = 0.5
"""Kernels use few SMs if more than this share of the SMs has no block, averaged over their time."""


@dataclass(frozen=True, slots=True)
class SmUse:
    """The SMs that have a block of a running kernel, averaged over the time in which any computes.

    `sm_count` is the device's number of SMs.
    """

    n_used: float
    sm_count: int

    @property
    def is_few(self) -> bool:
        """Return whether at least half of the SMs have nothing to do, on average."""
        return self.n_used < _FEW * self.sm_count

    @property
    def sentence(self) -> str:
        """Say how many SMs have work."""
        used = max(round(self.n_used), 1)
        return f"its kernels have blocks for {used} of {self.sm_count} SMs, averaged over time"


def sm_use(trace: Trace, rank: int) -> SmUse | None:
    """Measure a rank's use of SMs in its program.

    A block runs on one SM, so a kernel uses no more SMs than it has blocks. Kernels that run at the
    same time are added. Return None where a grid or a device's number of SMs is not known, or where
    the rank uses devices of several sizes.
    """
    grid = ("grid_x", "grid_y", "grid_z")
    columns = ("device_id", "start_ns", "duration_ns", "is_communication", *grid)
    kernels = trace.select("kernels", "rank", "step", *columns, rank=rank)
    kernels = kernels.filter(in_program(trace) & ~pl.col("is_communication"))
    devices = kernels["device_id"].unique()
    sizes = trace.devices.filter(rank=rank).filter(pl.col("device_id").is_in(devices.implode()))
    counts = sizes["sm_count"].unique().to_list()
    if kernels.is_empty() or len(counts) != 1 or counts[0] is None:
        return None
    (sm_count,) = counts
    blocks = pl.col(grid[0]).cast(pl.Int64) * pl.col(grid[1]) * pl.col(grid[2])
    used = pl.min_horizontal(blocks, sm_count) * pl.col("duration_ns")
    end = pl.col("start_ns") + pl.col("duration_ns")
    pieces = union(kernels.select("device_id", "start_ns", end_ns=end), by="device_id")
    busy_ns = int(pieces.select(pl.col("end_ns") - pl.col("start_ns")).to_series().sum())
    if not busy_ns or kernels.select(blocks).to_series().null_count():
        return None
    used_ns = int(kernels.select(used.sum()).item())
    return SmUse(min(used_ns / busy_ns, sm_count), sm_count)
