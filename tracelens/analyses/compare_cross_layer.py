"""Compare two runs' kernel time by library and primitive, and find kernels that both runs have."""

from functools import cache

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, SplitBars, named
from tracelens.derive.columns.ratios import over, percent
from tracelens.derive.comparing.name_spelling import with_one_spelling
from tracelens.derive.comparing.rows import Comparison
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.schemas.device import FAMILIES
from tracelens.schemas.results.cross_layer import COMPARE_CROSS_LAYER
from tracelens.trace import Trace

_KEY = ("rank", "library", "primitive")
_SIDES = ("base", "other")


@pairs_ranks
def compare_cross_layer(base: Trace, other: Trace) -> pl.DataFrame:
    """Compare kernel time: one row per rank, library and primitive of either trace.

    Rows are sorted by rank, then by their time in both traces together, longest first. Columns with
    `reused` have the time of kernels whose names are in both traces. Raises MissingTableError if
    one of the traces has no kernels.
    """
    for trace in (base, other):
        trace.require("compare_cross_layer", "kernels")

    @cache
    def times_by_name(trace: Trace) -> pl.DataFrame:
        kernels = trace.select("kernels", "name", *_KEY, "duration_ns")
        times = kernels.group_by("name", *_KEY).agg(pl.col("duration_ns").sum())
        return with_one_spelling(base, other, times)

    names_of_both = times_by_name(base).join(times_by_name(other), on=["rank", "name"], how="semi")
    reused = names_of_both.select("rank", "name", is_reused=pl.lit(value=True)).unique()

    def kernel_times(trace: Trace) -> pl.DataFrame:
        kernels = times_by_name(trace).join(reused, on=["rank", "name"], how="left")
        ns = pl.col("duration_ns")
        return kernels.group_by(_KEY).agg(
            ns.sum().alias("duration_total_ns"),
            ns.filter("is_reused").sum().alias("reused_ns"),
        )

    both = Comparison(_KEY, kernel_times).sums(base, other)
    times = {side: pl.col(f"{side}_duration_total_ns") for side in _SIDES}
    family = {primitive: name for name, primitives in FAMILIES.items() for primitive in primitives}
    frame = both.with_columns(
        *(
            over(ns, ns.sum().over("rank"), 0.0).alias(f"{side}_share_frac")
            for side, ns in times.items()
        ),
        family=pl.col("primitive").replace_strict(family, return_dtype=pl.String),
    )
    order = frame.sort(
        "rank",
        times["base"] + times["other"],
        "library",
        "primitive",
        descending=[False, True, False, False],
    )
    return COMPARE_CROSS_LAYER.conform(order)


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the share of time in kernels that both runs have, and reasons why it is imprecise."""
    sentences = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        matched = part.filter(match="both")
        by_name = [_percent(part, part, side, "reused_ns") for side in _SIDES]
        by_pair = [_percent(matched, part, side, "duration_total_ns") for side in _SIDES]
        sentences.append(
            f"Rank {rank}: kernels that both runs have, by name, take {by_name[0]} of kernel time in"
            f" base and {by_name[1]} in new; by library and primitive, {by_pair[0]} and"
            f" {by_pair[1]}."
        )
    knows = [
        trace.has("spans") and (trace.select("spans", "kind")["kind"] == "op").any()
        for trace in (base, other)
    ]
    if knows[0] != knows[1]:
        sentences.append(
            f"{'Base' if knows[0] else 'New'} alone has ops, by which a 1×1 convolution in a"
            " kernel for matrix products counts as conv; without them it counts as gemm. Compare"
            " families, not gemm with conv."
        )
    if all(
        (trace.select("kernels", "library")["library"] == "triton").any() for trace in (base, other)
    ):
        sentences.append(
            "Both traces run generated Triton kernels. Their names are numbered by the compilation,"
            " so the same kernel may have another name, and another kernel the same."
        )
    return sentences


def _percent(part: pl.DataFrame, whole: pl.DataFrame, side: str, column: str) -> str:
    return percent(
        int(part[f"{side}_{column}"].sum()),
        int(whole[f"{side}_duration_total_ns"].sum()),
    )


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {"base_duration_total_ns": "base", "other_duration_total_ns": "new"}
    names = named(frame, "library", "primitive")
    return [SplitBars("GPU time by library and primitive", frame, names, parts, stacked=False)]


ANALYSIS = Analysis(
    "How much of the time is in kernels that both runs use?",
    COMPARE_CROSS_LAYER,
    compare_cross_layer,
    notes=notes,
    shown=(
        "rank",
        "library",
        "primitive",
        "family",
        "base_duration_total_ns",
        "other_duration_total_ns",
        "base_share_frac",
        "other_share_frac",
        "base_reused_ns",
        "other_reused_ns",
        "match",
    ),
    charts=_charts,
)
