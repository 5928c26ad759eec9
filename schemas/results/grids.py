"""Results of analyses of launch grids."""

import polars as pl

from tracelens.schemas.common import DEVICE, RANK
from tracelens.schemas.device import LIBRARIES, PRIMITIVES
from tracelens.schemas.results.common import SIDE_WORDS
from tracelens.storage.table import Column, Table

I64, I32, STR, F64 = pl.Int64, pl.Int32, pl.String, pl.Float64

_NAME = Column("name", STR, "Demangled name of the kernel.")
_LIBRARY = Column("library", STR, "Library that the kernel's code comes from.", values=LIBRARIES)
_PRIMITIVE = Column("primitive", STR, "Kind of computation.", values=PRIMITIVES)


def _shape(prefix: str = "", of: str = "") -> tuple[Column, ...]:
    """Return columns for grid and block size along each axis.

    Each column's name begins with `prefix`. Each column's description ends with the text `of`.
    """
    return tuple(
        Column(
            f"{prefix}{what}_{axis}",
            I32,
            f"{what.capitalize()} size along {axis}{of}.",
            nullable=True,
        )
        for what in ("grid", "block")
        for axis in "xyz"
    )


KERNEL_GRIDS = Table(
    "kernel_grids",
    "A kernel, the grid and block of its launch, and how well these fill the device. Where"
    " calls with the same grid and block differ in shared memory, registers or primitive, each of"
    " these has a row.",
    (
        RANK,
        DEVICE,
        _NAME,
        _LIBRARY,
        _PRIMITIVE,
        *_shape(),
        Column("n_calls", I64, "Executions."),
        Column(
            "duration_total_ns",
            I64,
            "Sum of the durations; kernels may overlap, so it is not wall time.",
        ),
        Column("duration_mean_ns", F64, "Mean duration."),
        Column(
            "duration_median_ns",
            F64,
            "Median duration; halfway between the middle two of an even number.",
        ),
        Column("duration_min_ns", I64, "Shortest duration."),
        Column("duration_max_ns", I64, "Longest duration."),
        Column("n_blocks", I64, "Blocks of the grid.", nullable=True),
        Column(
            "n_threads",
            I64,
            "Threads of the grid: its blocks times the threads of a block.",
            nullable=True,
        ),
        Column("registers_per_thread", I32, "Registers a thread uses.", nullable=True),
        Column("shared_bytes", I64, "Shared memory a block, static plus dynamic.", nullable=True),
        Column(
            "blocks_per_sm",
            I64,
            "Blocks that an SM holds at once, by CUDA's occupancy rules.",
            nullable=True,
        ),
        Column(
            "occupancy_limiter",
            STR,
            "Resource that keeps an SM from holding more blocks; if several do, the first in"
            " this order.",
            nullable=True,
            values=("warps", "registers", "shared_memory", "blocks", "unknown"),
        ),
        Column(
            "theoretical_occupancy_frac",
            F64,
            "Warps that an SM holds at once, divided by the most that it can hold, if the"
            " grid is large enough.",
            nullable=True,
        ),
        Column(
            "waves",
            F64,
            "Blocks of the grid divided by the blocks that the whole device holds at once"
            " (blocks_per_sm times its SMs).",
            nullable=True,
        ),
        Column(
            "tail_frac",
            F64,
            "Share of the block slots of all waves that the last wave leaves empty: 1 -"
            " waves / ceil(waves). 0 if all waves are full; for a grid below one wave, the"
            " share of the device that stays empty. If all blocks take equally long, this"
            " share of the kernel's time would be saved by filling the slots.",
            nullable=True,
        ),
        Column(
            "occupancy_reason",
            STR,
            "Reason for missing occupancy, waves or tail; null if they are known.",
            nullable=True,
        ),
    ),
)


def _side(side: str) -> tuple[Column, ...]:
    """Return columns of the launches in one of the two traces."""
    of = f" in {SIDE_WORDS[side]}"
    return (
        *_shape(f"{side}_", of),
        Column(
            f"{side}_n_grids",
            I64,
            f"Kernels, each counted once per grid and block with which it was launched{of}.",
        ),
        Column(f"{side}_n_calls", I64, f"Executions{of}."),
        Column(f"{side}_duration_total_ns", I64, f"Sum of the durations{of}."),
        Column(f"{side}_duration_mean_ns", F64, f"Mean duration{of}.", nullable=True),
        Column(
            f"{side}_n_blocks",
            F64,
            f"Mean blocks per launch{of}.",
            nullable=True,
        ),
    )


COMPARE_GRIDS = Table(
    "compare_grids",
    "A kernel that both traces ran, with its grid in each; or a primitive, with all of its"
    " kernels that have no match in the other trace. Ranks and devices are taken together.",
    (
        Column(
            "match",
            STR,
            "kernel: the same kernel in both traces; primitive: the unmatched kernels of a"
            " primitive that both traces have; only_base, only_other: in one trace only."
            " Kernels with equal grids are matched first, then the others, by total time.",
            values=("kernel", "primitive", "only_base", "only_other", "unknown"),
        ),
        Column(
            "name", STR, "Demangled name of the kernel; null on rows of a primitive.", nullable=True
        ),
        Column(
            "primitive",
            STR,
            "Kind of computation; for a kernel that serves several, the one with most time in"
            " base.",
            values=PRIMITIVES,
        ),
        *_side("base"),
        *_side("other"),
        Column(
            "speedup",
            F64,
            "Total duration in base over that in new: above 1 means that new takes less time."
            " Null for a kernel that one trace called more often, in another number of steps.",
            "1",
            nullable=True,
        ),
        Column(
            "speedup_per_call",
            F64,
            "Mean duration in base divided by that in new. It means little in rows of a"
            " primitive whose kernels were fused.",
            "1",
            nullable=True,
        ),
        Column(
            "n_blocks_ratio",
            F64,
            "Blocks per launch in base divided by those in new.",
            "1",
            nullable=True,
        ),
    ),
)

RECONCILE = Table(
    "reconcile",
    "Kernels that two captures of one run have in common, by layer, op, name and grid, "
    "with their time under each profiler; or kernels of one capture only.",
    (
        RANK,
        Column(
            "match",
            STR,
            "aligned: in both captures, at the same position of the same step; only_base,"
            " only_other: in one of them only.",
            values=("aligned", "only_base", "only_other"),
        ),
        Column(
            "layer",
            STR,
            "Layer; for a fused kernel, all of its layers, joined by commas.",
            nullable=True,
        ),
        Column("op", STR, "Innermost op around the launch.", nullable=True),
        Column("input_shapes", STR, "That op's input shapes as JSON.", nullable=True),
        Column(
            "evidence",
            STR,
            "other capture: only one of the two captures knows layer and op, which count for"
            " both; both captures: each knows some, and those of other count; none: neither"
            " knows any.",
            values=("other capture", "both captures", "none"),
        ),
        _NAME,
        *_shape(),
        Column("registers_per_thread", I32, "Registers a thread uses.", nullable=True),
        Column("n_kernels", I64, "Kernels."),
        Column("base_duration_total_ns", I64, "Sum of the kernels' durations in base."),
        Column("other_duration_total_ns", I64, "Sum of the kernels' durations in new."),
        Column(
            "other_over_base",
            F64,
            "Time in new divided by time in base: it shows what the profiler of new"
            " or its run costs.",
            "1",
            nullable=True,
        ),
    ),
)
