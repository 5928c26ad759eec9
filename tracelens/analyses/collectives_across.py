"""Compare collectives across ranks: transfer times and rates, and how unevenly ranks begin."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Scope
from tracelens.derive.columns.time_text import duration
from tracelens.derive.kernels.peaks import Peaks
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.collectives import require_matched
from tracelens.derive.ranks.job_clock import doubt_of
from tracelens.derive.ranks.transfers import SAME_CALL, group_transfers
from tracelens.schemas.results.ranks import COLLECTIVES_ACROSS
from tracelens.trace import Trace

_MOST = 3
"""Notes name at most this many slow groups, and this many groups with unmatched calls."""

_IN_BYTES = pl.col("size_in_bytes")
_SIZE = pl.coalesce(
    *(
        pl.when(least <= _IN_BYTES).then(
            pl.format(f"{{}} {unit}", (_IN_BYTES / least).round_sig_figs(3))
        )
        for least, unit in (
            (10**9, "GB"),
            (10**6, "MB"),
            (10**3, "kB"),
        )
    ),
    pl.format("{} B", _IN_BYTES),
)
"""The bytes that a rank passes to a collective, as text such as "4.19 MB"."""


def collectives_across(trace: Trace, *, peaks: Peaks | None = None) -> pl.DataFrame:
    """Return one row per group, collective, element type and size, most transfer time first.

    Two ranks that send and receive are a group, too. Raises MissingTableError with one rank, or if
    no collectives match.
    """
    require_matched(trace, "collectives_across")
    has_peak = peaks is not None and peaks.device in trace.devices["name"]
    link = peaks.link_bytes_per_s if peaks is not None and has_peak else None
    groups = trace.derived(group_transfers).sort(
        "transfer_total_ns",
        "group",
        "ranks",
        *SAME_CALL,
        descending=[True, *[False] * 6],
    )
    return COLLECTIVES_ACROSS.conform(
        groups.with_columns(
            ranks=pl.Series(
                map(list_ranks, groups["ranks"].to_list()),
                dtype=pl.String,
            ),
            link_frac=pl.col("busbw_bytes_per_s") / pl.lit(link, pl.Float64),
        )
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Count matched calls, and name slow groups and each group's first unmatched call."""
    matched = require_matched(trace, "collectives_across")
    n_calls, n_ranks = int(frame["n_calls"].sum()), matched.calls["rank"].n_unique()
    sentences = [f"{n_calls:,} collectives match across {n_ranks:,} ranks.", *_slow_groups(frame)]
    stops = matched.stops["text"].to_list()
    sentences += [
        f"{text[:1].upper()}{text[1:]}: nothing after it in that group is compared."
        for text in stops[:_MOST]
    ]
    if len(stops) > _MOST:
        n_more = len(stops) - _MOST
        sentences.append(f"{n_more:,} more groups have a call that some rank lacks.")
    doubt = doubt_of(matched.calls)
    doubts = [] if doubt is None else [f"Start skew is inconclusive: {doubt}."]
    return sentences + matched.remarks + doubts


def _slow_groups(frame: pl.DataFrame) -> list[str]:
    """Return a sentence for each group on a slow link or network, up to _MOST."""
    slow = frame.filter(pl.col("slow").is_not_null()).unique("ranks", maintain_order=True)
    sentences = []
    for row in slow.head(_MOST).iter_rows(named=True):
        rate = f"{(row['busbw_bytes_per_s'] or 0) / 1e9:,.1f} GB/s"
        than = f", {row['slowdown']:.1f} times as long as in its peers" if row["slowdown"] else ""
        took = f"{row['name']} takes {duration(row['transfer_median_ns'])}{than} ({rate})"
        sentences.append(f"Slow {row['slow']} between {row['ranks']}: {took}.")
    if slow.height > _MOST:
        sentences.append(f"{slow.height - _MOST:,} more groups are slow.")
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    return [
        Bars(
            "Transfer time of collectives",
            frame,
            ["name", _SIZE, "ranks"],
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
        "slow",
        "slowdown",
        "ranks",
        "group",
        "dtype",
        "n_ranks",
        "transfer_total_ns",
        "skew_max_ns",
        "peers_ns",
        "link_frac",
    ),
    charts=_charts,
    scope=Scope.RANKS,
)
