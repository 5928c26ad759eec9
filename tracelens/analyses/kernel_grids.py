"""List the grids that were launched, and how well they fill the device."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Points, named
from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.columns.ratios import percent
from tracelens.derive.columns.time_text import duration
from tracelens.derive.kernels.device_limits import LIMITS, complete_devices, cuda_capability
from tracelens.derive.kernels.grids import by_grid
from tracelens.derive.time.bound_places import short_kernel
from tracelens.schemas.results.grids import KERNEL_GRIDS
from tracelens.trace import Trace

REASONS = {
    "cluster": "cluster launch: its blocks are placed together, which these rules do not cover",
    "device": "no occupancy rules for this device",
    "launch": "the source does not give block size, registers and shared memory of the launch",
    "misfit": "by the rules of this device the launch does not fit an SM",
}
"""Reasons why an occupancy is unknown, in words."""

_WARP = 32
_REGISTER_UNIT = 256
_MAX_REGISTERS = 255
_MAX_THREADS = 1024
_UNBOUNDED = 1 << 30

_CLUSTERS = (
    "Kernels may place their blocks in clusters from compute capability 9.0 on, and then need more"
    " waves than this: the source does not record which do."
)
_LONG_TAIL = 0.25
_LEAST = 0.02
"""Grids of one block are mentioned if they take at least this share of kernel time."""
# Shared memory is a launch argument like the grid: cuDNN's batch norm uses several sizes with one
# grid.
_TAKEN = ("registers_per_thread", "shared_bytes", "is_cluster_launch")
_KEYS = ("rank", "device_id", "name", "library", "primitive", *_TAKEN)
_DEVICE = ("rank", "device_id")


def kernel_grids(trace: Trace) -> pl.DataFrame:
    """List kernels by name, grid, block and resources: one row per combination, rank and device.

    The longest total time comes first. Occupancy is computed by CUDA's rules for the device. It is
    None, with the reason, if the rules or the numbers are missing. Raises MissingTableError if the
    trace has no kernels.
    """
    trace.require("kernel_grids", "kernels")
    grids = by_grid(trace, _KEYS).pipe(occupancy, trace.devices)
    blocks = pl.col("n_blocks")
    slots = pl.col("blocks_per_sm") * pl.col("sm_count")
    full_waves = -(-blocks // slots)
    fits = blocks.is_not_null() & slots.is_not_null()
    lacks_size = ~fits & pl.col("blocks_per_sm").is_not_null()
    return KERNEL_GRIDS.conform(
        grids.with_columns(
            n_threads=blocks * pl.col("threads_per_block"),
            waves=pl.when(fits).then(blocks / slots),
            tail_frac=pl.when(fits).then(1 - blocks / (full_waves * slots)),
            occupancy_reason=pl.when(lacks_size)
            .then(pl.lit("the source does not give the grid or the device's number of SMs"))
            .otherwise("occupancy_reason"),
        )
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Describe the grids, and why occupancies are missing."""
    kernels = trace.select("kernels", "duration_ns", "is_cluster_launch")
    total_ns = int(kernels["duration_ns"].sum())
    shared = _partitions(trace, frame)
    with_waves = frame.filter(pl.col("waves").is_not_null())
    known = with_waves.join(shared, on=["rank", "device_id", "n_blocks"], how="anti")
    lacks_clusters = known.height and kernels["is_cluster_launch"].null_count()
    return [
        f"{frame['n_calls'].sum():,} kernels ran with {frame.height:,} distinct grids.",
        *_on_partitions(shared),
        *_on_single_blocks(frame, total_ns),
        *(_on_waves(known, total_ns) if known.height else ()),
        *_on_missing_occupancy(frame, total_ns),
        *([_CLUSTERS] if lacks_clusters else ()),
    ]


def _on_partitions(shared: pl.DataFrame) -> list[str]:
    """Name the kernels that run at the same time on separate SMs of a device."""
    partitions = shared.select("rank", "low", "high").unique().sort("rank")
    return [
        f"Rank {rank}: streams share the device on purpose: kernels of {low:,} and of {high:,}"
        f" blocks run at the same time on its {low + high:,} SMs."
        for rank, low, high in partitions.iter_rows()
    ]


def _on_missing_occupancy(frame: pl.DataFrame, total_ns: int) -> list[str]:
    """Give the share of kernel time without a known occupancy, by reason."""
    missing = frame.filter(pl.col("occupancy_reason").is_not_null())
    by_reason = missing.group_by("occupancy_reason", maintain_order=True)
    return [
        f"No occupancy for {_share(part, total_ns)} of kernel time: {reason}."
        for (reason,), part in by_reason
    ]


def _on_single_blocks(frame: pl.DataFrame, total_ns: int) -> list[str]:
    """Say how long kernels of one block run, if they take _LEAST of kernel time or more."""
    single = frame.filter(pl.col("n_blocks") == 1)
    single_ns = int(single["duration_total_ns"].sum())
    if single_ns < _LEAST * total_ns:
        return []
    sentence = (
        f"{single['n_calls'].sum():,} kernels of one block take {duration(single_ns)},"
        f" {_share(single, total_ns)} of kernel time, in which one SM works: mostly"
        f" {short_kernel(single['name'][0])}."
    )
    return [sentence]


def _on_waves(known: pl.DataFrame, total_ns: int) -> list[str]:
    """Say how much time is in grids of less than a wave, and in grids with a long tail."""
    is_below_one = pl.col("waves") < 1
    below_one = known.filter(is_below_one)
    long_tails = known.filter(~is_below_one, pl.col("tail_frac") > _LONG_TAIL)
    without_full_wave = (
        f"{below_one['n_calls'].sum():,} kernels, {_share(below_one, total_ns)} of kernel time,"
        " have fewer blocks than the device runs at once, so they do not fill it (less than one"
        " wave)."
    )
    with_long_tail = (
        f"{_share(long_tails, total_ns)} of kernel time is in larger grids that leave over"
        f" {_LONG_TAIL:.0%} of the slots for blocks empty, because their last wave is small."
    )
    return [without_full_wave, with_long_tail]


def _partitions(trace: Trace, frame: pl.DataFrame) -> pl.DataFrame:
    """Find grids of two streams that run at the same time on separate SMs of a device.

    Each pair of grids has two rows, one per grid:

    - `n_blocks`: number of blocks of this grid
    - `low`, `high`: number of blocks of the pair's smaller and of its larger grid
    """
    n_blocks = pl.col("grid_x").cast(pl.Int64) * pl.col("grid_y") * pl.col("grid_z")
    times = ("start_ns", "duration_ns")
    grid = ("grid_x", "grid_y", "grid_z")
    kernels = trace.select("kernels", *_DEVICE, "stream_id", *times, *grid)
    kernels = kernels.with_columns(n_blocks=n_blocks)
    rows: list[tuple[int, int, int, int, int]] = []
    for rank, device, low, high, low_stream, high_stream in _complementary_streams(
        kernels, trace.devices
    ).iter_rows():
        of_device = kernels.filter(rank=rank, device_id=device)
        small = of_device.filter(stream_id=low_stream, n_blocks=low)
        large = of_device.filter(stream_id=high_stream, n_blocks=high)
        shared_ns = int(covered_ns(small, large, _DEVICE).sum())
        small_ns = int(small["duration_ns"].sum())
        # At least half of the smaller grid's time lies within kernels of the larger one.
        if 2 * shared_ns >= small_ns:
            rows.append((rank, device, low, low, high))
            rows.append((rank, device, high, low, high))
    schema = {
        "rank": frame.schema["rank"],
        "device_id": frame.schema["device_id"],
        "n_blocks": pl.Int64(),
        "low": pl.Int64(),
        "high": pl.Int64(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _complementary_streams(kernels: pl.DataFrame, devices: pl.DataFrame) -> pl.DataFrame:
    """Find pairs of streams with main grids that together have one block per SM of their device.

    A stream's main grid takes most of its time. `low` and `high` are the blocks of the two grids.
    """
    sums = kernels.group_by(*_DEVICE, "stream_id", "n_blocks").agg(pl.col("duration_ns").sum())
    # Only the stream that uses a grid most is kept: no more pairs than grids.
    longest_first = sums.sort("duration_ns", "stream_id", descending=[True, False])
    main_grids = longest_first.unique(
        [*_DEVICE, "stream_id"], keep="first", maintain_order=True
    ).unique([*_DEVICE, "n_blocks"], keep="first", maintain_order=True)
    sm_counts = devices.select(*_DEVICE, "sm_count").drop_nulls().unique(_DEVICE)
    with_rest = main_grids.join(sm_counts, on=_DEVICE).select(
        *_DEVICE,
        low="n_blocks",
        high=pl.col("sm_count") - pl.col("n_blocks"),
        low_stream="stream_id",
    )
    others = main_grids.select(*_DEVICE, high="n_blocks", high_stream="stream_id")
    pairs = with_rest.join(others, on=[*_DEVICE, "high"], maintain_order="left")
    return pairs.filter(pl.col("low") < pl.col("high")).select(
        *_DEVICE, "low", "high", "low_stream", "high_stream"
    )


def _share(part: pl.DataFrame, total: int) -> str:
    return percent(int(part["duration_total_ns"].sum()), total)


def _charts(frame: pl.DataFrame) -> list[Chart]:
    grid, block = (
        pl.concat_str([f"{what}_{axis}" for axis in "xyz"], separator="x")
        for what in ("grid", "block")
    )
    launch = pl.format("<<<{},{}>>>", grid, block).alias("launch")
    names: list[str | pl.Expr] = [*named(frame, "name"), launch]
    title = "How each launch fills the device; larger points took more time"
    return [
        Bars("GPU time by kernel and launch", frame, names, "duration_total_ns", "primitive"),
        Points(title, frame, names, ("waves", "theoretical_occupancy_frac"), "primitive"),
    ]


def occupancy(launches: pl.DataFrame, devices: pl.DataFrame) -> pl.DataFrame:
    """Return the launches, in order, with their theoretical occupancy and its limiter.

    `launches` has these columns:

    - rank, device_id, threads_per_block, registers_per_thread, is_cluster_launch
    - shared_bytes: static plus dynamic shared memory, per block

    Added columns:

    - sm_count, blocks_per_sm, occupancy_limiter
    - theoretical_occupancy_frac: resident warps over the most that an SM holds
    - occupancy_reason: the reason if a launch has no occupancy

    The rules are those of cudaOccupancyMaxActiveBlocksPerMultiprocessor (cuda_occupancy.h, CUDA
    13.0), with all shared memory that an SM can give to blocks. Barriers are not counted, because a
    trace does not record them: a kernel with many named barriers may fit fewer blocks.
    """
    with_rules = launches.join(
        _rules(devices),
        on=["rank", "device_id"],
        how="left",
        maintain_order="left",
    )
    n_threads = pl.col("threads_per_block").cast(pl.Int64)
    with_warps = with_rules.with_columns(_warps=_ceil_div(n_threads, _WARP))
    # If several resources limit equally, the first of these is named.
    limits = {
        "warps": _by_warps(),
        "registers": _by_registers(),
        "shared_memory": _by_shared_memory(),
        "blocks": pl.col("_max_blocks").cast(pl.Int64),
    }
    fitting = pl.min_horizontal(limits.values())
    with_reasons = with_warps.with_columns(occupancy_reason=_reason(fitting))
    blocks = pl.when(pl.col("occupancy_reason").is_null()).then(fitting)
    return with_reasons.select(
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
    """Return each device's resources and allocation units; None without documented rules."""
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
        # From 8.0 on, the driver takes 1 KB of every block's shared memory, and the unit is 128
        # bytes instead of 256.
        _reserved=pl.when(major >= 8).then(1024).otherwise(0),
        _shared_unit=pl.when(major >= 8).then(128).otherwise(256),
    ).unique(["rank", "device_id"], keep="first")


def _by_warps() -> pl.Expr:
    """Return how many blocks fit into the SM's warp slots."""
    return (
        pl.when(pl.col("threads_per_block") <= _MAX_THREADS)
        .then(pl.col("_max_warps") // pl.col("_warps"))
        .otherwise(0)
    )


def _by_registers() -> pl.Expr:
    """Return how many blocks fit into the SM's register file.

    Each partition of the SM allocates registers in units, warp by warp.
    """
    registers, parts = pl.col("registers_per_thread").cast(pl.Int64), pl.col("_partitions")
    registers_per_warp = _round_up(registers * _WARP, _REGISTER_UNIT)
    fits = (registers <= _MAX_REGISTERS) & (
        registers_per_warp * _round_up(pl.col("_warps"), parts) <= pl.col("_block_registers")
    )
    n_warps = pl.col("_registers") // parts // registers_per_warp * parts
    return (
        pl.when(registers == 0)
        .then(_UNBOUNDED)
        .when(fits)
        .then(n_warps // pl.col("_warps"))
        .otherwise(0)
    )


def _by_shared_memory() -> pl.Expr:
    """Return how many blocks fit into the SM's shared memory."""
    taken = _round_up(
        pl.col("shared_bytes") + pl.col("_reserved"),
        pl.col("_shared_unit"),
    )
    fits = pl.col("shared_bytes") <= pl.col("_block_shared")
    return (
        pl.when(taken == 0)
        .then(_UNBOUNDED)
        .when(fits)
        .then(pl.col("_shared") // taken)
        .otherwise(0)
    )


def _reason(fitting: pl.Expr) -> pl.Expr:
    """Return the reason for a missing occupancy; None if the occupancy is known."""
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


ANALYSIS = Analysis(
    "How well do the launched grids fill the device?",
    KERNEL_GRIDS,
    kernel_grids,
    notes=notes,
    shown=(
        "rank",
        "name",
        *(f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz"),
        "n_calls",
        "duration_total_ns",
        "waves",
        "theoretical_occupancy_frac",
        "tail_frac",
        "occupancy_limiter",
        "duration_median_ns",
    ),
    charts=_charts,
)
