"""Result of the memory timeline."""

import polars as pl

from tracelens.schemas.events import PHASES
from tracelens.schemas.results.common import RANK
from tracelens.storage.table import Column, Table

I64, STR = pl.Int64, pl.String

BEFORE, KEPT = "before the capture", "not freed"
MEMORY_TIMELINE = Table(
    "memory_timeline",
    "Of one device's allocator, or the host's: the moment of most memory (peak), blocks that were alive then (alive), "
    "or a moment (time).",
    (
        RANK,
        Column("device_id", pl.Int32, "Device; null for host memory.", nullable=True),
        Column("what", STR, "Which of these the row is.", values=("peak", "alive", "time")),
        Column("step", I64, "Step under way; null outside of steps, and for blocks.", nullable=True),
        Column("offset_ns", I64, "Time after the rank's first recorded event of an allocator.", nullable=True),
        Column("allocated_bytes", I64, "Bytes allocated; of a moment the most until the next one.", nullable=True),
        Column("reserved_bytes", I64, "Bytes that the allocator took from the device, likewise.", nullable=True),
        Column("op", STR, "Innermost op around the allocation that made the peak.", nullable=True),
        Column("below", STR, "Innermost op around that one that does more than allocate.", nullable=True),
        Column("layer", STR, "Innermost module around it.", nullable=True),
        Column(
            "allocated_by",
            STR,
            f"Phase of the step that allocated the blocks, by the ops and annotations around; unknown without any. "
            f"`{BEFORE}`: what the total counts and no recorded allocation explains; unknown where one has no address.",
            nullable=True,
            values=(*PHASES, BEFORE),
        ),
        Column(
            "freed_by",
            STR,
            f"Phase that frees them, likewise; `{KEPT}` where the capture ends first.",
            nullable=True,
            values=(*PHASES, KEPT),
        ),
        Column("n_blocks", I64, "Blocks; null where the capture does not hold their allocation.", nullable=True),
        Column("size_bytes", I64, "Bytes of the blocks, or of the allocation that made the peak.", nullable=True),
        Column("share_frac", pl.Float64, "size_bytes over the peak.", nullable=True),
    ),
)
