"""Collectives across ranks: how long the transfers themselves take, how fast they are, and how unevenly they begin."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart
from tracelens.derive.kernels.peaks import Peaks
from tracelens.derive.ranks.clocks import doubt_of
from tracelens.derive.ranks.collectives import require_matched
from tracelens.schemas.results.ranks import COLLECTIVES_ACROSS
from tracelens.trace import Trace

_KIND = ["group", "name", "dtype", "size_in_bytes", "size_out_bytes"]
# As nccl-tests' doc/PERFORMANCE.md defines them; names are torch's, and of NCCL's kernels.
_TWICE = "(?i)all_?reduce"
_ALL_BUT_OWN = "(?i)gather|scatter|to_?all"


def collectives_across(trace: Trace, *, peaks: Peaks | None = None) -> pl.DataFrame:
    """A row a group, collective, element type and size, most transfer time first; groups of one description as one.

    Raises MissingTableError with one rank, or where no collectives match.
    """
    calls = require_matched(trace, "collectives_across").calls
    each = calls.group_by("group_key", "call").agg(
        pl.col("group", "name", "dtype", "least_ns", "n_ranks").first(),
        pl.col("size_in_bytes", "size_out_bytes", "group_size").max(),
        skew_ns=(pl.col("last_start_ns") - pl.col("first_start_ns")).first(),
    )
    n = pl.coalesce("group_size", "n_ranks")
    size = pl.max_horizontal("size_in_bytes", "size_out_bytes")
    carried = (
        pl.when(pl.col("name").str.contains(_TWICE))
        .then(2 * (n - 1) / n)
        .when(pl.col("name").str.contains(_ALL_BUT_OWN))
        .then((n - 1) / n)
        .otherwise(1.0)
    )
    each = each.with_columns(
        algbw=pl.when(pl.col("least_ns") > 0).then(size * 1e9 / pl.col("least_ns"))
    )
    ns = pl.col("least_ns")
    busbw = (pl.col("algbw") * carried).mean()
    link = (
        None
        if peaks is None or peaks.device not in trace.devices["name"]
        else peaks.link_bytes_per_s
    )
    found = each.group_by(_KIND).agg(
        pl.col("n_ranks").max(),
        n_calls=pl.len(),
        transfer_mean_ns=ns.mean(),
        transfer_median_ns=ns.median(),
        transfer_total_ns=ns.sum(),
        skew_mean_ns=pl.col("skew_ns").mean(),
        skew_max_ns=pl.col("skew_ns").max(),
        algbw_bytes_per_s=pl.col("algbw").mean(),
        busbw_bytes_per_s=busbw,
        link_frac=busbw / pl.lit(link, pl.Float64),
    )
    return COLLECTIVES_ACROSS.conform(
        found.sort("transfer_total_ns", *_KIND, descending=[True, *[False] * 5])
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """How many calls match, the first that does not in each group, and how they were matched."""
    found = require_matched(trace, "collectives_across")
    n_calls, n_ranks = int(frame["n_calls"].sum()), found.calls["rank"].n_unique()
    said = [f"{n_calls:,} collectives match across {n_ranks:,} ranks."]
    stops = found.stops["text"].to_list()
    said += [
        f"{text[:1].upper()}{text[1:]}: nothing after it in that group is compared."
        for text in stops[:_MOST]
    ]
    if len(stops) > _MOST:
        said.append(f"In {len(stops) - _MOST:,} more groups a call does not pair.")
    doubt = doubt_of(found.calls)
    return (
        said + found.remarks + ([] if doubt is None else [f"Start skew is inconclusive: {doubt}."])
    )


_MOST = 3
"""Groups whose first call that does not pair is named."""


def _charts(frame: pl.DataFrame) -> list[Chart]:
    return [
        Bars(
            "Transfer time of collectives",
            frame,
            ["name", "size_in_bytes"],
            "transfer_total_ns",
            "group",
        )
    ]


ANALYSIS = Analysis(
    "How fast are collectives across ranks?",
    COLLECTIVES_ACROSS,
    collectives_across,
    notes=notes,
    shown=(
        "name",
        "size_in_bytes",
        "n_calls",
        "transfer_mean_ns",
        "algbw_bytes_per_s",
        "busbw_bytes_per_s",
        "skew_mean_ns",
        "dtype",
        "n_ranks",
        "group",
        "transfer_total_ns",
        "skew_max_ns",
        "link_frac",
    ),
    charts=_charts,
    takes_peaks=True,
    of_ranks=True,
)
