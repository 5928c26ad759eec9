"""Look up the resources of an SM by compute capability, for sources that only name the device."""

import polars as pl

_KB = 1024

# Compute capability; warps, blocks and KB of shared memory per SM; KB of shared memory per block;
# registers per block; partitions of an SM's warps and registers. Sources:
# CUDA programming guide 13.0, Technical Specifications per Compute Capability (for 5.x to 7.2, the
# guide of CUDA 12.9; 10.1 became 11.0 in CUDA 13); partitions from cuda_occupancy.h of the toolkit.
_LIMITS = (
    ("5.0", 64, 32, 64, 48, 65536, 4),
    ("5.2", 64, 32, 96, 48, 65536, 4),
    ("5.3", 64, 32, 64, 48, 32768, 4),
    ("6.0", 64, 32, 64, 48, 65536, 2),
    ("6.1", 64, 32, 96, 48, 65536, 4),
    ("6.2", 64, 32, 64, 48, 32768, 4),
    ("7.0", 64, 32, 96, 96, 65536, 4),
    ("7.2", 64, 32, 96, 96, 65536, 4),
    ("7.5", 32, 16, 64, 64, 65536, 4),
    ("8.0", 64, 32, 164, 163, 65536, 4),
    ("8.6", 48, 16, 100, 99, 65536, 4),
    ("8.7", 48, 16, 164, 163, 65536, 4),
    ("8.9", 48, 24, 100, 99, 65536, 4),
    ("9.0", 64, 32, 228, 227, 65536, 4),
    ("10.0", 64, 32, 228, 227, 65536, 4),
    ("10.1", 48, 24, 228, 227, 65536, 4),
    ("10.3", 64, 32, 228, 227, 65536, 4),
    ("11.0", 48, 24, 228, 227, 65536, 4),
    ("12.0", 48, 24, 100, 99, 65536, 4),
    ("12.1", 48, 24, 100, 99, 65536, 4),
)

LIMITS = pl.DataFrame(
    _LIMITS,
    schema={
        "compute_capability": pl.String,
        "max_warps_per_sm": pl.Int32,
        "max_blocks_per_sm": pl.Int32,
        "shared_memory_per_sm_bytes": pl.Int64,
        "shared_memory_per_block_bytes": pl.Int64,
        "registers_per_block": pl.Int32,
        "n_partitions": pl.Int32,
    },
    orient="row",
).with_columns(
    pl.col("shared_memory_per_sm_bytes", "shared_memory_per_block_bytes") * _KB,
    warp_size=pl.lit(32, pl.Int32),
    max_threads_per_sm=pl.col("max_warps_per_sm") * 32,
    registers_per_sm=pl.lit(65536, pl.Int32),
)
"""Resources of an SM, one row per compute capability that CUDA documents."""

FILLED = (
    "warp_size",
    "max_threads_per_sm",
    "max_warps_per_sm",
    "max_blocks_per_sm",
    "registers_per_sm",
    "shared_memory_per_sm_bytes",
)
"""Columns of `devices` that follow from the compute capability."""


def cuda_capability() -> pl.Expr:
    """Return the compute capability of a row of `devices`, None for an AMD device."""
    # PyTorch for ROCm reports the gfx number as a compute capability: gfx90a as 9.0, gfx1100 as
    # 11.0.
    amd = pl.col("name").str.contains(
        r"(?i)\b(AMD|Instinct|Radeon|gfx[0-9a-f]+|MI[0-9]{2,3}[AX]?)\b"
    )
    return pl.when((pl.col("warp_size").fill_null(32) == 32) & ~amd).then("compute_capability")


def complete_devices(devices: pl.DataFrame) -> pl.DataFrame:
    """Return the devices, with None values of FILLED set by the compute capability.

    They stay None if CUDA does not document the capability.
    """
    known = LIMITS.select("compute_capability", *FILLED)
    joined = devices.with_columns(_capability=cuda_capability()).join(
        known,
        left_on="_capability",
        right_on="compute_capability",
        how="left",
        suffix="_known",
        maintain_order="left",
    )
    return joined.with_columns(pl.coalesce(column, f"{column}_known") for column in FILLED).select(
        devices.columns
    )
