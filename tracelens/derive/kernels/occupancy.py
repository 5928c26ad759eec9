"""Occupancy: the blocks of a kernel that an SM holds at once, by CUDA's rules."""

import polars as pl

from tracelens.derive.kernels.device_limits import LIMITS, complete_devices, cuda_capability

REASONS = {
    "cluster": "cluster launch: its blocks are placed together, which these rules do not cover",
    "device": "no occupancy rules for this device",
    "launch": "the source does not give block size, registers and shared memory of the launch",
    "misfit": "by the rules of this device the launch does not fit an SM",
}
"""Reasons why an occupancy is not known, in words."""

_WARP = 32
_REGISTER_UNIT = 256
_MAX_REGISTERS = 255
_MAX_THREADS = 1024
_UNBOUNDED = 1 << 30


def occupancy(launches: pl.DataFrame, devices: pl.DataFrame) -> pl.DataFrame:
    """Return the launches, in order, with the blocks and warps that an SM holds of each.

    `launches` has rank, device_id, threads_per_block, registers_per_thread, shared_bytes (static
    plus dynamic, a block) and is_cluster_launch. Added are sm_count, blocks_per_sm,
    occupancy_limiter, theoretical_occupancy_frac (resident warps over the most an SM can hold) and
    occupancy_reason, set exactly where the others but sm_count are None.

    The rules are those of cudaOccupancyMaxActiveBlocksPerMultiprocessor (cuda_occupancy.h, CUDA
    13.0), with all the shared memory that an SM can give to blocks. A trace does not record how
    many barriers a kernel uses: one with many named barriers may hold fewer blocks than stated
    here.
    """
    frame = launches.join(
        _rules(devices), on=["rank", "device_id"], how="left", maintain_order="left"
    )
    frame = frame.with_columns(_warps=_ceil_div(pl.col("threads_per_block").cast(pl.Int64), _WARP))
    # Where several limit alike, the first of these is named.
    limits = {
        "warps": _by_warps(),
        "registers": _by_registers(),
        "shared_memory": _by_shared_memory(),
        "blocks": pl.col("_max_blocks").cast(pl.Int64),
    }
    fitting = pl.min_horizontal(limits.values())
    frame = frame.with_columns(occupancy_reason=_reason(fitting))
    blocks = pl.when(pl.col("occupancy_reason").is_null()).then(fitting)
    return frame.select(
        *launches.columns,
        "sm_count",
        blocks_per_sm=blocks,
        occupancy_limiter=pl.coalesce(
            pl.when(by == blocks).then(pl.lit(name)) for name, by in limits.items()
        ),
        theoretical_occupancy_frac=blocks * pl.col("_warps") / pl.col("_max_warps"),
        occupancy_reason="occupancy_reason",
    )


def _rules(devices: pl.DataFrame) -> pl.DataFrame:
    """Return each device's resources and allocation units; None where CUDA documents none."""
    limits = LIMITS.select(
        "compute_capability",
        "shared_memory_per_block_bytes",
        "registers_per_block",
        _partitions="n_partitions",
    )
    major = pl.col("_capability").str.extract(r"^([0-9]+)\.", 1).cast(pl.Int64)
    ruled = (
        complete_devices(devices)
        .with_columns(_capability=cuda_capability())
        .join(limits, left_on="_capability", right_on="compute_capability", how="left")
    )
    return ruled.select(
        "rank",
        "device_id",
        "sm_count",
        "_partitions",
        _max_warps=pl.col("max_warps_per_sm").cast(pl.Int64),
        _max_blocks="max_blocks_per_sm",
        _registers=pl.col("registers_per_sm").cast(pl.Int64),
        _block_registers=pl.col("registers_per_block").cast(pl.Int64),
        _shared="shared_memory_per_sm_bytes",
        _block_shared="shared_memory_per_block_bytes",
        # From 8.0 the driver keeps 1 KB of every block's, and the unit is 128 bytes instead of 256.
        _reserved=pl.when(major >= 8).then(1024).otherwise(0),
        _shared_unit=pl.when(major >= 8).then(128).otherwise(256),
    ).unique(["rank", "device_id"], keep="first")


def _by_warps() -> pl.Expr:
    """Return the blocks that fit into the SM's warp slots."""
    return (
        pl.when(pl.col("threads_per_block") <= _MAX_THREADS)
        .then(pl.col("_max_warps") // pl.col("_warps"))
        .otherwise(0)
    )


def _by_registers() -> pl.Expr:
    """Return the blocks that fit into the register file.

    Registers go to warps, in units, separately in each partition.
    """
    registers, parts = pl.col("registers_per_thread").cast(pl.Int64), pl.col("_partitions")
    a_warp = _round_up(registers * _WARP, _REGISTER_UNIT)
    fits = (registers <= _MAX_REGISTERS) & (
        a_warp * _round_up(pl.col("_warps"), parts) <= pl.col("_block_registers")
    )
    n_warps = pl.col("_registers") // parts // a_warp * parts
    return (
        pl.when(registers == 0)
        .then(_UNBOUNDED)
        .when(fits)
        .then(n_warps // pl.col("_warps"))
        .otherwise(0)
    )


def _by_shared_memory() -> pl.Expr:
    """Return the blocks that fit into the shared memory."""
    taken = _round_up(pl.col("shared_bytes") + pl.col("_reserved"), pl.col("_shared_unit"))
    fits = pl.col("shared_bytes") <= pl.col("_block_shared")
    return (
        pl.when(taken == 0)
        .then(_UNBOUNDED)
        .when(fits)
        .then(pl.col("_shared") // taken)
        .otherwise(0)
    )


def _reason(fitting: pl.Expr) -> pl.Expr:
    """Return the reason why there is no occupancy, None where there is one."""
    sizes = ("threads_per_block", "registers_per_thread", "shared_bytes")
    return (
        pl.when(pl.col("is_cluster_launch").fill_null(value=False))
        .then(pl.lit(REASONS["cluster"]))
        .when(pl.col("_partitions").is_null())
        .then(pl.lit(REASONS["device"]))
        .when(pl.any_horizontal(pl.col(*sizes).is_null()))
        .then(pl.lit(REASONS["launch"]))
        .when(fitting < 1)
        .then(pl.lit(REASONS["misfit"]))
    )


def _ceil_div(value: pl.Expr, unit: int | pl.Expr) -> pl.Expr:
    return -(-value // unit)


def _round_up(value: pl.Expr, unit: int | pl.Expr) -> pl.Expr:
    return _ceil_div(value, unit) * unit
