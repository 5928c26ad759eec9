"""What a cheaper legal call sequence would save."""

import polars as pl

from tracelens.schemas.results.common import RANK
from tracelens.storage.table import Column, Table

I64, STR = pl.Int64, pl.String

ADVISE = Table(
    "advise",
    "A part of the model's graph in one step, as it ran and with the calls that are advised; the first row of a rank "
    "is the whole model.",
    (
        RANK,
        Column("sub_graph", I64, "Number of the part, in order; null for the whole model.", nullable=True),
        Column("layers", STR, "First and last layer of the part."),
        Column("calls_now", STR, "Operators that ran, with how many of each."),
        Column("calls_advised", STR, "Functions that are advised, with their layout; empty where nothing is."),
        Column("device_ns", I64, "Kernel time of a step as it ran.", "ns"),
        Column(
            "host_now_ns",
            I64,
            "Least time that the calls of a step take the host, of the whole model and where `verdict` finds launches "
            "to be the bound: the launch delay times the calls. A sequence takes the longer of this and its kernels.",
            "ns",
            nullable=True,
        ),
        Column("host_then_ns", I64, "The same for the advised calls.", "ns", nullable=True),
        Column("transform_now_ns", I64, "Of it in kernels that only change a layout.", "ns"),
        Column("transform_then_ns", I64, "The same for the advised calls.", "ns"),
        Column(
            "n_transforming", pl.Float64, "Kernels a step that only change a layout; of the whole model.", nullable=True
        ),
        Column("saving_low_ns", I64, "Least that the advised calls save.", "ns"),
        Column(
            "saving_ns",
            I64,
            "What they are expected to save; null where a call's cost is only bounded.",
            "ns",
            nullable=True,
        ),
        Column("saving_high_ns", I64, "Most that they save.", "ns"),
        Column(
            "evidence",
            STR,
            "Where the least sure cost of the advised calls is from: measured (this trace), other trace, bench (the "
            "call alone), bound (bytes over bandwidth).",
            values=("measured", "other trace", "bench", "bound", "none", "unknown"),
        ),
        Column("change", STR, "What to change in torch."),
        Column("n_unmatched", I64, "Operators of the graph that no measured call was found for: nothing is advised."),
        Column("unjudged_ns", I64, "Kernel time a step that belongs to no call of the graph.", "ns"),
        Column(
            "source", STR, "How the graph was found: export, observer, or guessed from what follows what (adjacency)."
        ),
    ),
)
