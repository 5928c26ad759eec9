"""Results of analyses of many ranks: collectives, and waiting of ranks for other ranks."""

import polars as pl

from tracelens.schemas.results.common import RANK
from tracelens.schemas.results.time import BOUNDS
from tracelens.storage.table import Column, Table

I32, I64, STR, F64 = pl.Int32, pl.Int64, pl.String, pl.Float64

COLLECTIVES_ACROSS = Table(
    "collectives_across",
    "Collectives of one group, kind, element type and size, matched "
    "across ranks; only calls that every captured rank of the group has. A pair of ranks that send"
    " and receive is a group.",
    (
        Column(
            "group",
            STR,
            "Process group: its description or name.",
            nullable=True,
        ),
        Column("ranks", STR, "Captured ranks of the group."),
        Column("name", STR, "Collective; send/recv for a pair of a send and a receive."),
        Column("dtype", STR, "Element type.", nullable=True),
        Column(
            "size_in_bytes",
            I64,
            "Bytes sent by a rank; the most of any rank if they differ.",
            nullable=True,
        ),
        Column(
            "size_out_bytes",
            I64,
            "Bytes received by a rank; the most of any rank if they differ.",
            nullable=True,
        ),
        Column("n_ranks", I64, "Ranks that took part; the most of any call."),
        Column("n_calls", I64, "Calls, each counted once for all ranks."),
        Column(
            "transfer_mean_ns",
            F64,
            "Mean transfer time. A call's transfer time is its least duration over the"
            " ranks: that of the rank that waited least.",
        ),
        Column("transfer_median_ns", F64, "Median transfer time."),
        Column("transfer_total_ns", I64, "Sum of the transfer times."),
        Column("skew_mean_ns", F64, "Mean time from the first rank's start to the last's."),
        Column("skew_max_ns", I64, "Longest time from the first rank's start to the last's."),
        Column(
            "algbw_bytes_per_s",
            F64,
            "Mean over the calls of size divided by transfer time. The size is counted as in"
            " nccl-tests: all that a rank holds, sent or received.",
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
            "peers_ns",
            F64,
            "Median, over all groups of as many ranks, of their median transfer time of the"
            " same collective. Null if there is only one such group, or if a rank of the"
            " group was not captured.",
            nullable=True,
        ),
        Column(
            "slowdown",
            F64,
            "transfer_median_ns divided by peers_ns; above 1, the group is slower than its peers.",
            nullable=True,
        ),
        Column(
            "slow",
            STR,
            "What makes the group slow. link: its transfers take at least 1.5 times as long"
            " as its peers'. network: it also spans more hosts than its peers, or slow groups"
            " have no rank and no host in common, or groups of several hosts carry less than"
            " a twentieth of what groups within a host do. Null if it is not slow.",
            nullable=True,
            values=("link", "network"),
        ),
        Column(
            "link_frac",
            F64,
            "busbw divided by the link's peak, if --peaks states one.",
            nullable=True,
        ),
    ),
)

WAITING = Table(
    "waiting",
    "A rank's waiting in collectives, until the last rank of each has begun.",
    (
        RANK,
        Column(
            "n_collectives", I64, "Collectives that could be matched with those of other ranks."
        ),
        Column(
            "wait_ns",
            I64,
            "Sum over its collectives of the time from its own start to the last rank's.",
        ),
        Column(
            "hidden_ns", I64, "Time in which a collective waited while the rank's device computed."
        ),
        Column(
            "exposed_ns",
            I64,
            "Time in which a collective waited while the device did not compute: time lost."
            " Time in which two collectives wait counts once.",
        ),
        Column(
            "exposed_frac",
            F64,
            "The share of the program's time that this takes, as in verdict: what begins or ends in"
            " start-up does not count.",
            nullable=True,
        ),
        Column("awaited_rank", I32, "The rank for which it lost most time waiting.", nullable=True),
        Column("awaited_ns", I64, "The part of exposed_ns that was for that rank.", nullable=True),
        Column(
            "n_last",
            I64,
            "Collectives that it began last. That is not a loss if the others computed meanwhile.",
        ),
    ),
)

WAITING_FOR = Table(
    "waiting_for",
    "The waiting of one rank for one other rank.",
    (
        RANK,
        Column("awaited_rank", I32, "The rank that began last."),
        Column("n_collectives", I64, "Collectives in which it waited for that rank."),
        Column(
            "wait_ns",
            I64,
            "Sum over these collectives: from the rank's own start to the awaited rank's.",
        ),
        Column(
            "exposed_ns",
            I64,
            "Time lost, see waiting. If two collectives wait at once, the time belongs to"
            " the one that began first.",
        ),
    ),
)

JOB = Table(
    "job",
    "A culprit: a rank, or a set of ranks, whose delay the others wait for. Without a culprit there"
    " is one row. The first row has the bound of the whole job, and its sentence.",
    (
        Column(
            "bound",
            STR,
            "The first thing to work on: straggler if the job loses most by waiting for"
            " culprits; else the part that takes most time of culprits and others alike, or"
            " the bound of most ranks; inconclusive if clocks or matched collectives leave it"
            " open.",
            values=("straggler", *BOUNDS),
        ),
        Column(
            "value",
            F64,
            "In the first row: share of all ranks' time that the bound takes, all culprits"
            " together. In other rows: cost_frac.",
            nullable=True,
        ),
        Column("unit", STR, "Unit of the value.", nullable=True),
        Column(
            "second",
            STR,
            "The next thing to work on: the second part of the ranks that share the bound;"
            " straggler if culprits come second; after a straggler, the part in which all"
            " ranks lose most time, if it is at least a tenth.",
            nullable=True,
            values=("straggler", *BOUNDS[:-1]),
        ),
        Column("second_frac", F64, "The share of `second`.", nullable=True),
        Column("culprit", STR, "The rank or set of ranks by name.", nullable=True),
        Column(
            "kind",
            STR,
            "What the set is named after; ranks if it is a list of ranks.",
            nullable=True,
            values=("rank", "node", "stage", "group", "ranks"),
        ),
        Column("rank", I32, "The rank, if the culprit is a single one.", nullable=True),
        Column("ranks", STR, "The ranks.", nullable=True),
        Column(
            "cause",
            STR,
            "Why it is late: the part of a step that takes it longer than the median rank;"
            " link or network if transfers are slow; bubble if ranks wait because of a"
            " pipeline's schedule.",
            nullable=True,
        ),
        Column("steps", STR, "The steps in which it is late, in words.", nullable=True),
        Column(
            "excess_ns",
            I64,
            "How much longer its own time is than the median rank's, in a step in which it is"
            " late; for a set, the mean.",
            nullable=True,
        ),
        Column(
            "cost_ns",
            I64,
            "Time that the job would gain in such a step if only the culprit became like its"
            " peers.",
            nullable=True,
        ),
        Column("cost_frac", F64, "cost_ns divided by the duration of such a step.", nullable=True),
        Column("evidence", STR, "The evidence in words."),
        Column("n_ranks", I64, "Ranks in the trace."),
        Column("exposed_ns", I64, "Time that all ranks together lost by waiting."),
    ),
)
