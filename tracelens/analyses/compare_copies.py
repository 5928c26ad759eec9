"""Compare the copies of two traces."""

from typing import Any

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, SplitBars, named
from tracelens.derive.columns.time_text import duration
from tracelens.derive.comparing.comparability import same_steps
from tracelens.derive.comparing.rows import Comparison
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import COMPARE_COPIES
from tracelens.trace import Trace


def _copies(trace: Trace) -> pl.DataFrame:
    """Sum the copies of each rank and direction."""
    size, duration = pl.col("size_bytes"), pl.col("duration_ns")
    kinds = pl.concat_str("source_memory", pl.lit(" to "), "destination_memory")
    # A copy of unknown size is stored with 0 bytes.
    sized_ns = duration.filter(size > 0).sum()
    return trace.memcpys.group_by("rank", "direction").agg(
        kinds.unique().sort().str.join(", ").alias("memory"),
        pl.len().cast(pl.Int64).alias("n_calls"),
        size.sum(),
        duration.sum(),
        (size == 0).sum().cast(pl.Int64).alias("n_unsized"),
        bandwidth_bytes_per_s=pl.when(sized_ns > 0).then(size.sum() / sized_ns * 1e9),
    )


_COPIES = Comparison(("rank", "direction"), _copies)
_COLUMNS = {
    f"{side}_{measure}": column.replace("SIDE", side)
    for side in ("base", "other")
    for measure, column in (
        ("memory", "memory_SIDE"),
        ("n_calls", "n_calls_SIDE"),
        ("n_unsized", "n_unsized_SIDE"),
        ("size_bytes", "size_SIDE_bytes"),
        ("duration_ns", "duration_SIDE_ns"),
        ("bandwidth_bytes_per_s", "bandwidth_SIDE_bytes_per_s"),
    )
}
"""New names for the columns of `_COPIES.sums`, such as size_base_bytes for base_size_bytes."""


@pairs_ranks
def compare_copies(base: Trace, other: Trace) -> pl.DataFrame:
    """Compare the copies: one row per rank and direction found in either trace.

    Raises MissingTableError if neither trace has a copy.
    """
    if not base.has("memcpys") and not other.has("memcpys"):
        raise MissingTableError(
            "compare_copies needs the table memcpys, empty in both traces: neither holds a copy;"
            " make the input's copy inside the profiled region, and tracelens collect torch or nsys"
            " gives it"
        )
    copies = _COPIES.sums(base, other).rename(_COLUMNS)
    sides = ("base", "other")
    sized = [pl.col(f"n_calls_{which}") - pl.col(f"n_unsized_{which}") for which in sides]
    each = [pl.col(f"size_{which}_bytes") / n for which, n in zip(sides, sized, strict=True)]
    both = (pl.col("n_calls_base") > 0) & (pl.col("n_calls_other") > 0)
    same = both & (same_steps(base, other) | (pl.col("n_calls_base") == pl.col("n_calls_other")))
    copies = copies.with_columns(
        size_ratio=pl.when((sized[0] > 0) & (sized[1] > 0)).then(each[0] / each[1]),
        speedup=pl.when(same & (pl.col("duration_other_ns") > 0)).then(
            pl.col("duration_base_ns") / pl.col("duration_other_ns")
        ),
    )
    return COMPARE_COPIES.conform(copies.sort("rank", "direction"))


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - all pair notes take these
    """Compare bytes, bandwidth and time of the copies of each rank and direction."""
    measured_columns = ("size_ratio", "bandwidth_base_bytes_per_s", "bandwidth_other_bytes_per_s")
    unsized = [
        f"Rank {row['rank']}, {row['direction']}: {row['n_unsized_base']:,} copies in base and"
        f" {row['n_unsized_other']:,} in new have no known size; bytes and bandwidths are those"
        " of the others."
        for row in frame.filter(
            (pl.col("n_unsized_base") > 0) | (pl.col("n_unsized_other") > 0)
        ).iter_rows(named=True)
    ]
    return unsized + [
        f"Rank {row['rank']}, {row['direction']}: {_bytes_a_copy(row, 'base')} in base against"
        f" {_bytes_a_copy(row, 'other')} in new (ratio {row['size_ratio']:.2f}), at"
        f" {row['bandwidth_base_bytes_per_s'] / 1e9:.1f} GB/s ({row['memory_base']}) against"
        f" {row['bandwidth_other_bytes_per_s'] / 1e9:.1f} GB/s ({row['memory_other']}); all copies"
        f" take {duration(row['duration_base_ns'])} in base and"
        f" {duration(row['duration_other_ns'])} in new: {_speedup(row)}."
        for row in frame.drop_nulls(measured_columns).iter_rows(named=True)
    ]


def _bytes_a_copy(row: dict[str, Any], which: str) -> str:
    n_sized = row[f"n_calls_{which}"] - row[f"n_unsized_{which}"]
    return f"{row[f'size_{which}_bytes'] / n_sized:,.0f} bytes a copy"


def _speedup(row: dict[str, Any]) -> str:
    if row["speedup"] is None:
        return (
            f"{row['n_calls_base']:,} copies against {row['n_calls_other']:,}, so the times do not"
            " compare"
        )
    return f"a speedup of {row['speedup']:.2f}"


def _charts(frame: pl.DataFrame) -> list[Chart]:
    names = named(frame, "direction")
    measures = {
        "Copy time": ("duration_base_ns", "duration_other_ns"),
        "Bytes copied": ("size_base_bytes", "size_other_bytes"),
        "Bandwidth": ("bandwidth_base_bytes_per_s", "bandwidth_other_bytes_per_s"),
    }
    return [
        SplitBars(
            title,
            frame,
            names,
            {base: "base", other: "new"},
            stacked=False,
        )
        for title, (base, other) in measures.items()
    ]


ANALYSIS = Analysis(
    "How do the copies of two runs differ?",
    COMPARE_COPIES,
    compare_copies,
    notes=notes,
    shown=(
        "rank",
        "direction",
        "speedup",
        "duration_base_ns",
        "duration_other_ns",
        "size_base_bytes",
        "size_other_bytes",
        "bandwidth_base_bytes_per_s",
        "bandwidth_other_bytes_per_s",
        "memory_base",
        "memory_other",
    ),
    charts=_charts,
    of_one_program=True,
)
