"""Measure on how many of a GPU's SMs the computing kernels of a program have blocks."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.intervals import union
from tracelens.derive.time.in_program import in_program
from tracelens.trace import Trace

_FEW = 0.5
"""Kernels use few SMs if more than this share of the SMs has no block, averaged over time."""


class SmUse(Struct, frozen=True):
    """SMs that have a block of a running kernel, averaged over the time in which kernels compute.

    `sm_count` is the device's number of SMs.
    """

    n_used: float
    sm_count: int

    @property
    def is_few(self) -> bool:
        """True if more than half of the SMs have nothing to do, on average."""
        return self.n_used < _FEW * self.sm_count

    @property
    def sentence(self) -> str:
        """The number of SMs that have work, in words."""
        used = max(round(self.n_used), 1)
        return f"its kernels have blocks for {used} of {self.sm_count} SMs, averaged over time"


def sm_use(trace: Trace, rank: int) -> SmUse | None:
    """Measure how many SMs a rank's program uses.

    A block runs on one SM, so a kernel uses no more SMs than it has blocks. Kernels that run at the
    same time are added. Return None if no kernel computes, if a grid or a device's number of SMs is
    not known, or if the rank uses devices of several sizes.
    """
    grid = ("grid_x", "grid_y", "grid_z")
    columns = ("device_id", "start_ns", "duration_ns", "is_communication", *grid)
    kernels = trace.select("kernels", "rank", "step", *columns, rank=rank)
    kernels = kernels.filter(in_program(trace) & ~pl.col("is_communication"))
    sm_count = _common_sm_count(trace, rank, kernels["device_id"].unique())
    if kernels.is_empty() or sm_count is None:
        return None
    n_blocks = pl.col("grid_x").cast(pl.Int64) * pl.col("grid_y") * pl.col("grid_z")
    kernels = kernels.with_columns(
        n_blocks=n_blocks,
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
    )
    busy = union(kernels.select("device_id", "start_ns", "end_ns"), by="device_id")
    busy_ns = int((busy["end_ns"] - busy["start_ns"]).sum())
    if not busy_ns or kernels["n_blocks"].null_count():
        return None
    used_sms = pl.min_horizontal("n_blocks", sm_count)
    used_ns = int(kernels.select((used_sms * pl.col("duration_ns")).sum()).item())
    return SmUse(min(used_ns / busy_ns, sm_count), sm_count)


def _common_sm_count(trace: Trace, rank: int, devices: pl.Series) -> int | None:
    """Return the devices' number of SMs; None if it is not known, or not the same for all."""
    is_used = pl.col("device_id").is_in(devices.implode())
    rows = trace.devices.filter(is_used, rank=rank)
    counts = rows["sm_count"].unique().to_list()
    return counts[0] if len(counts) == 1 else None
