"""The kernels that take the most time."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, named
from tracelens.derive.columns.intervals import durations
from tracelens.derive.layers.kernel_origins import kernel_origins
from tracelens.schemas.results.calls import TOP_KERNELS
from tracelens.trace import Trace

_WORDS = ("name", "library", "primitive")
_ORIGINS = {"ops": "op", "layers": "layer", "places": "place", "phases": "phase"}
_N_ORIGINS = 3
_NUMBER = r"[_.]\d+(\.|$)"
"""The number of a layer in its path; many layers of a model differ only in it."""


def top_kernels(trace: Trace, *, base: Trace | None = None) -> pl.DataFrame:
    """Sum kernel time: one row per kernel name and rank, most time first.

    Launches of kernels in replayed graphs are those of the graphs' capture, in the trace or in
    `base`. Raises MissingTableError without kernels.
    """
    trace.require("top_kernels", "kernels")
    columns = ("rank", "kernel_id", "name", "library", "primitive", "duration_ns")
    kernels = trace.select("kernels", *columns)
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
    origins = kernels.select("rank", "kernel_id", "name", "duration_ns").join(
        kernel_origins(trace, base), on=["rank", "kernel_id"], how="left"
    )
    layer = pl.col("layer").cast(pl.String).str.replace_all(_NUMBER, "$1")
    origins = origins.with_columns(layer=pl.when(~layer.str.starts_with("(")).then(layer))
    for column, origin in _ORIGINS.items():
        shares = _shares(origins, origin).rename({"text": column})
        frame = frame.join(shares, on=["rank", "name"], how="left", maintain_order="left")
    return TOP_KERNELS.conform(frame.with_columns(pl.col("share_frac").fill_nan(0.0)))


def _shares(origins: pl.DataFrame, origin: str) -> pl.DataFrame:
    """Return rank, name and text: where most time of each kernel comes from, with shares."""
    key = ["rank", "name"]
    sums = origins.group_by(*key, origin).agg(pl.col("duration_ns").sum())
    share = 100 * pl.col("duration_ns") / pl.col("duration_ns").sum().over(key)
    named = sums.with_columns(share=share.fill_nan(0.0)).drop_nulls(origin)
    named = named.sort("share", origin, descending=[True, False])
    text = pl.format("{} {}%", origin, pl.col("share").round(0).cast(pl.Int64))
    return named.group_by(key, maintain_order=True).agg(text=text.head(_N_ORIGINS).str.join(", "))


def notes(
    trace: Trace,  # noqa: ARG001 - all notes take these
    frame: pl.DataFrame,
    base: Trace | None = None,  # noqa: ARG001
) -> list[str]:
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
    shown=(
        *("rank", "name", "library", "primitive", "duration_total_ns", "share_frac", "n_calls"),
        *("places", "ops", "layers", "phases"),
    ),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
