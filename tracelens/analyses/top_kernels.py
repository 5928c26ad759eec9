"""The kernels that take the most time."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, named
from tracelens.derive.columns.intervals import durations
from tracelens.schemas.results.time import TOP_KERNELS
from tracelens.trace import Trace

_WORDS = ("name", "library", "primitive")


def top_kernels(trace: Trace) -> pl.DataFrame:
    """Sum kernel time: one row per kernel name and rank, most time first.

    Raises MissingTableError without kernels.
    """
    trace.require("top_kernels", "kernels")
    kernels = trace.select("kernels", "rank", "name", "library", "primitive", "duration_ns")
    by_primitive = (
        kernels.lazy().group_by("rank", *_WORDS).agg(pl.col("duration_ns").sum()).collect()
    )
    by_name = kernels.lazy().group_by("rank", "name").agg(durations()).collect()
    main = by_primitive.sort("duration_ns", "primitive", descending=[True, False]).unique(
        ["rank", "name"], keep="first"
    )
    frame = (
        by_name.join(main.select("rank", "name", "library", "primitive"), on=["rank", "name"])
        .with_columns(
            share_frac=pl.col("duration_total_ns") / pl.col("duration_total_ns").sum().over("rank")
        )
        .sort("rank", "duration_total_ns", "name", descending=[False, True, False])
    )
    return TOP_KERNELS.conform(frame.with_columns(pl.col("share_frac").fill_nan(0.0)))


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - every notes function takes both
    """Say how many kernel names make up half of the time."""
    sentences = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        total = part.select(pl.sum("duration_total_ns")).item()
        half = min(int((part["share_frac"].cum_sum() < 0.5).sum()) + 1, part.height)
        sentences.append(
            f"Rank {rank}: {half} of {part.height} kernel names make up half of {total / 1e6:,.3f}"
            " ms of kernel time (a sum of durations: kernels that overlap count twice)."
        )
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    return [
        Bars("GPU time by kernel", frame, named(frame, "name"), "duration_total_ns", "primitive")
    ]


ANALYSIS = Analysis(
    "Which kernels take the time?",
    TOP_KERNELS,
    top_kernels,
    notes=notes,
    shown=("rank", "name", "library", "primitive", "duration_total_ns", "share_frac", "n_calls"),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
