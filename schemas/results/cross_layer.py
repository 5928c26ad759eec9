"""Results by op, library, primitive and family, for one trace and for two traces."""

import polars as pl

from tracelens.schemas.device import FAMILIES, LIBRARIES, PRIMITIVES
from tracelens.schemas.results.common import RANK, SIDE_WORDS
from tracelens.storage.table import Column, Table

_FAMILY = Column(
    "family", pl.String, "The sort of operation that the primitive is.", values=tuple(FAMILIES)
)

CROSS_LAYER = Table(
    "cross_layer",
    "Device time that one framework op spent in one library's kernels of one primitive, "
    "in one rank. For a trace without kernels, an op's own time on the host.",
    (
        RANK,
        Column(
            "op",
            pl.String,
            "Outermost operator around the launches (aten::conv2d), or, if there is none,"
            " the outermost op; for a part of a fused kernel, an operator from which the"
            " kernel was made. Null if no op is known. On the host, the op itself.",
            nullable=True,
        ),
        Column(
            "library",
            pl.String,
            "Who wrote the code that runs, as in kernels. On the host, by the op's name:"
            " onednn for mkldnn's ops, for matrix products the BLAS of torch's build if the"
            " capture recorded it, else blas; aten for all other ops of torch.",
        ),
        Column("primitive", pl.String, "What it computes.", values=PRIMITIVES),
        _FAMILY,
        Column(
            "n_calls",
            pl.Int64,
            "Calls of the op; null if none is known, and for ops from which fused kernels"
            " were made.",
            nullable=True,
        ),
        Column(
            "n_kernels", pl.Int64, "Kernels; a kernel that was split counts in each of its rows."
        ),
        Column(
            "duration_total_ns",
            pl.Int64,
            "Sum of the kernels' durations; all rows sum to the kernel total exactly."
            " Without kernels, sum of the ops' own time on the host.",
            "ns",
        ),
        Column("share_frac", pl.Float64, "duration_total_ns divided by the rank's sum.", "1"),
        Column("cumulative_frac", pl.Float64, "Share of this row and all before it.", "1"),
        Column(
            "low_ns",
            pl.Int64,
            "Least time that the row can have, if fused kernels were split.",
            "ns",
        ),
        Column("high_ns", pl.Int64, "Most time it can have.", "ns"),
        Column(
            "what_if_twice",
            pl.Float64,
            "The speedup of the rank's whole sum if the primitive ran twice as fast in all its rows"
            " (Amdahl).",
            "1",
        ),
        Column(
            "what_if_limit",
            pl.Float64,
            "The speedup if it took no time at all; null if nothing else takes time.",
            "1",
            nullable=True,
        ),
    ),
)

COMPARE_CROSS_LAYER = Table(
    "compare_cross_layer",
    "One library's kernels of one primitive in two traces, and how much of their time is in kernels"
    " that both run.",
    (
        RANK,
        Column("library", pl.String, "Who wrote the code that runs.", values=LIBRARIES),
        Column("primitive", pl.String, "What it computes.", values=PRIMITIVES),
        _FAMILY,
        *(
            column
            for side, beside in (("base", "other"), ("other", "base"))
            for column in (
                Column(
                    f"{side}_duration_total_ns",
                    pl.Int64,
                    f"Sum of the kernels' durations in {SIDE_WORDS[side]}.",
                ),
                Column(
                    f"{side}_share_frac",
                    pl.Float64,
                    f"That time divided by the rank's kernel total in {SIDE_WORDS[side]}.",
                ),
                Column(
                    f"{side}_reused_ns",
                    pl.Int64,
                    f"Time in {SIDE_WORDS[side]} in kernels whose names {SIDE_WORDS[beside]} has, too.",
                ),
            )
        ),
        Column(
            "match",
            pl.String,
            "Which of the traces run this library's kernels of the primitive.",
            values=("both", "only_base", "only_other"),
        ),
    ),
)
