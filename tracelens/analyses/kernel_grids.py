"""The grids that were launched, and how well they fill the device."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Points, named
from tracelens.derive.columns.ratios import percent
from tracelens.derive.kernels.grids import by_grid
from tracelens.derive.kernels.occupancy import occupancy
from tracelens.schemas.results.grids import KERNEL_GRIDS
from tracelens.trace import Trace

_LONG_TAIL = 0.25
# Shared memory is an argument of the launch like the grid: cuDNN's batch norm launches one grid
# with several sizes.
_TAKEN = ("registers_per_thread", "shared_bytes", "is_cluster_launch")
_KEYS = ("rank", "device_id", "name", "library", "primitive", *_TAKEN)


def kernel_grids(trace: Trace) -> pl.DataFrame:
    """List each kernel with its grid, block and resources, by rank and device.

    The longest total time comes first.
    Occupancy is computed by CUDA's rules from the launch and the device's compute capability. It is
    None, with the reason, where the rules or the numbers are missing. Raises MissingTableError when
    the trace has no kernels.
    """
    trace.require("kernel_grids", "kernels")
    grids = by_grid(trace, _KEYS).pipe(occupancy, trace.devices)
    blocks, slots = pl.col("n_blocks"), pl.col("blocks_per_sm") * pl.col("sm_count")
    fits = blocks.is_not_null() & slots.is_not_null()
    return KERNEL_GRIDS.conform(
        grids.with_columns(
            n_threads=blocks * pl.col("threads_per_block"),
            waves=pl.when(fits).then(blocks / slots),
            tail_frac=pl.when(fits).then(1 - blocks / (-(-blocks // slots) * slots)),
            occupancy_reason=pl.when(~fits & pl.col("blocks_per_sm").is_not_null())
            .then(pl.lit("the source does not give the grid or the device's number of SMs"))
            .otherwise("occupancy_reason"),
        )
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Describe the grids, and why occupancies are missing."""
    total = int(trace.select("kernels", "duration_ns")["duration_ns"].sum())
    known = frame.filter(pl.col("waves").is_not_null())
    below = known.filter(pl.col("waves") < 1)
    long = known.filter((pl.col("waves") >= 1) & (pl.col("tail_frac") > _LONG_TAIL))
    sentences = [f"{frame['n_calls'].sum():,} kernels ran with {frame.height:,} distinct grids."]
    if known.height:
        sentences.append(
            f"{below['n_calls'].sum():,} of them, {_share(below, total)} of kernel time, have fewer"
            " blocks than the device runs at once (less than one wave): part of it has nothing to"
            " do."
        )
        sentences.append(
            f"{_share(long, total)} of kernel time is in larger grids whose last wave is filled"
            f" badly: it leaves over {_LONG_TAIL:.0%} of all their block slots empty (tail_frac)."
        )
    reasons = frame.filter(pl.col("occupancy_reason").is_not_null())
    for (reason,), part in reasons.group_by("occupancy_reason", maintain_order=True):
        sentences.append(f"No occupancy for {_share(part, total)} of kernel time: {reason}.")
    if (
        known.height
        and trace.select("kernels", "is_cluster_launch")["is_cluster_launch"].null_count()
    ):
        sentences.append(
            "Kernels may place their blocks in clusters from compute capability 9.0 on, and then"
            " need more waves than this: the source does not tell which do."
        )
    return sentences


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
