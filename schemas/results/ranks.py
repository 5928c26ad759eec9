"""Results of analyses of many ranks: their collectives, and who waits for whom."""

import polars as pl

from tracelens.schemas.results.common import RANK
from tracelens.schemas.results.time import BOUNDS
from tracelens.storage.table import Column, Table

I32, I64, STR, F64 = pl.Int32, pl.Int64, pl.String, pl.Float64

COLLECTIVES_ACROSS = Table(
    "collectives_across",
    "Collectives of one group, kind, element type and size, matched "
    "across ranks; only calls that every captured rank of the group has.",
    (
        Column(
            "group",
            STR,
            "Process group: its description or name, and its ranks where these tell groups apart.",
            nullable=True,
        ),
        Column("name", STR, "Collective; send/recv for a pair of these."),
        Column("dtype", STR, "Element type.", nullable=True),
        Column(
            "size_in_bytes",
            I64,
            "Bytes given by a rank; the most of any where they differ.",
            nullable=True,
        ),
        Column(
            "size_out_bytes",
            I64,
            "Bytes received by a rank; the most of any where they differ.",
            nullable=True,
        ),
        Column("n_ranks", I64, "Ranks that took part; the most of any call."),
        Column("n_calls", I64, "Calls, each counted once for all ranks."),
        Column(
            "transfer_mean_ns",
            F64,
            "Mean transfer time: the least duration over the ranks, of the one that waited least.",
        ),
        Column("transfer_median_ns", F64, "Median transfer time."),
        Column("transfer_total_ns", I64, "Sum of the transfer times."),
        Column("skew_mean_ns", F64, "Mean time from the first rank's start to the last's."),
        Column("skew_max_ns", I64, "Longest such time."),
        Column(
            "algbw_bytes_per_s",
            F64,
            "Mean over the calls of size over transfer time, the size as nccl-tests counts "
            "it: all that a rank holds, given or received.",
            nullable=True,
        ),
        Column(
            "busbw_bytes_per_s",
            F64,
            "algbw times what a link carries of each byte, as nccl-tests defines it: 2(n-1)/n for"
            " all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, else 1.",
            nullable=True,
        ),
        Column(
            "link_frac", F64, "busbw over the link's peak, where --peaks states one.", nullable=True
        ),
    ),
)

WAITING = Table(
    "waiting",
    "A rank's waiting in collectives, until the last rank of each has begun.",
    (
        RANK,
        Column("n_collectives", I64, "Collectives that could be matched with other ranks'."),
        Column(
            "wait_ns",
            I64,
            "Sum over its collectives of the time from its own start to the last rank's.",
        ),
        Column(
            "hidden_ns", I64, "Time in which a collective waited and the rank's device computed."
        ),
        Column(
            "exposed_ns",
            I64,
            "Time in which a collective waited and it did not: time lost. Counted once where two "
            "collectives wait.",
        ),
        Column(
            "exposed_frac",
            F64,
            "exposed_ns over the rank's time, from its device's first to last work.",
            nullable=True,
        ),
        Column("awaited_rank", I32, "The rank it lost most time waiting for.", nullable=True),
        Column("awaited_ns", I64, "The part of exposed_ns that was for that rank.", nullable=True),
        Column(
            "n_last",
            I64,
            "Collectives that it began last: that is no loss where the others computed meanwhile.",
        ),
    ),
)

WAITING_FOR = Table(
    "waiting_for",
    "A rank and one that it waited for.",
    (
        RANK,
        Column("awaited_rank", I32, "The rank that began last."),
        Column("n_collectives", I64, "Collectives in which it waited for that rank."),
        Column(
            "wait_ns", I64, "Sum over these of the time from its own start to the awaited rank's."
        ),
        Column(
            "exposed_ns",
            I64,
            "Time lost, see waiting; where two collectives wait at once, by the one begun first.",
        ),
    ),
)

JOB = Table(
    "job",
    "The bound of the whole job, and the number that shows it.",
    (
        Column(
            "bound",
            STR,
            "The first thing to work on: straggler where the ranks lose most of their time waiting"
            " for others; else the bound of most ranks; inconclusive where clocks or matches do not"
            " allow to say.",
            values=("straggler", "inconclusive", *BOUNDS),
        ),
        Column("value", F64, "The share of the ranks' time that it takes.", nullable=True),
        Column("unit", STR, "Unit of the value.", nullable=True),
        Column(
            "second",
            STR,
            "The next part of the time of the ranks that share a bound; null with a straggler.",
            nullable=True,
            values=BOUNDS[:-1],
        ),
        Column("second_frac", F64, "The share of `second` in the mean.", nullable=True),
        Column("rank", I32, "The rank waited for, of a straggler.", nullable=True),
        Column(
            "cause",
            STR,
            "The part of its time that it has more of than the median rank: why it is late.",
            nullable=True,
        ),
        Column("evidence", STR, "The evidence in words."),
        Column("n_ranks", I64, "Ranks in the trace."),
        Column("exposed_ns", I64, "Time that all ranks together lost by waiting."),
    ),
)
