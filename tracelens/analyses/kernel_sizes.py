"""Find short kernels, and how much longer each kernel takes the first time."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel
from tracelens.derive.columns.time_text import duration
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

SHORT_NS = 5_000
"""A run that takes less counts as short: launching it takes the host about as long."""

KERNEL_SIZES = Table(
    "kernel_sizes",
    "The runs of one kernel on one rank: how many are short, and how long the first run took.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("name", pl.String, "Kernel."),
        Column("n_calls", pl.Int64, "Runs."),
        Column("n_short", pl.Int64, f"Runs below {SHORT_NS / 1e3:.0f} µs."),
        Column("short_ns", pl.Int64, "Sum of the short runs' durations."),
        Column("short_frac", pl.Float64, "Share of the runs that are short."),
        Column("first_start_ns", pl.Int64, "Start of the first run."),
        Column("first_ns", pl.Int64, "Duration of the first run."),
        Column(
            "median_ns", pl.Float64, "Median time of the later runs; null for one run.", "ns", True
        ),
    ),
)


def kernel_sizes(trace: Trace) -> pl.DataFrame:
    """Count short runs of kernels, and compare first with later runs: one row per rank and name.

    Rows are sorted by rank, then by the number of short runs. Raises MissingTableError without
    kernels.
    """
    trace.require("kernel_sizes", "kernels")
    kernels = trace.select("kernels", "rank", "name", "start_ns", "duration_ns").sort("start_ns")
    ns = pl.col("duration_ns")
    is_short = ns < SHORT_NS
    sizes = (
        kernels.lazy()
        .group_by("rank", "name")
        .agg(
            n_calls=pl.len().cast(pl.Int64),
            n_short=is_short.sum().cast(pl.Int64),
            short_ns=ns.filter(is_short).sum(),
            first_start_ns=pl.col("start_ns").first(),
            first_ns=ns.first(),
            median_ns=ns.slice(1).median(),
        )
        .with_columns(short_frac=pl.col("n_short") / pl.col("n_calls"))
        .cast({"name": pl.String})
        .sort(
            "rank",
            "n_short",
            "name",
            descending=[False, True, False],
        )
        .collect()
    )
    return KERNEL_SIZES.conform(sizes)


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - as all notes
    """Say how many runs are short, and how much longer first runs took than later runs."""
    n_short, n_runs, ns = frame.select("n_short", "n_calls", "short_ns").sum().row(0)
    late = float(frame.select((pl.col("first_ns") - pl.col("median_ns")).clip(0).sum()).item() or 0)
    short = f"{duration(ns)} together; first runs took {duration(late)} more than later ones."
    limit = f"{SHORT_NS // 1000} µs"
    return [f"{n_short:,} of {n_runs:,} kernels take less than {limit}, {short}"]


ANALYSIS = Analysis(
    "Which kernels are short, and what did first runs cost?",
    KERNEL_SIZES,
    kernel_sizes,
    notes=notes,
    shown=("rank", "name", "n_short", "short_frac", "n_calls", "short_ns", "first_ns", "median_ns"),
    parallel=Parallel.BY_RANK,
)
