"""List the kernels that take the most time, with their origins."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, named
from tracelens.derive.columns.intervals import durations
from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.time_text import duration
from tracelens.derive.layers.kernel_origins import kernel_origins
from tracelens.schemas.results.calls import TOP_KERNELS
from tracelens.trace import Trace

_WORDS = ("name", "library", "primitive")
_ORIGINS = {"ops": "op", "layers": "layer", "places": "place", "phases": "phase"}
_N_ORIGINS = 3
_NUMBER = r"[_.]\d+(\.|$)"
"""The number of a layer in its path. Many layers of a model differ in this number only."""
_KEY = ["rank", "name"]


def top_kernels(trace: Trace, *, base: Trace | None = None) -> pl.DataFrame:
    """Sum kernel time: one row per kernel name and rank.

    A kernel of a replayed graph has the origin that was recorded when the graph was captured, in
    the trace or in `base`. Rows are sorted by rank, then by time, longest first. Raises
    MissingTableError without kernels.
    """
    trace.require("top_kernels", "kernels")
    columns = ("rank", "kernel_id", "name", "library", "primitive", "duration_ns")
    kernels = trace.select("kernels", *columns)
    by_name = kernels.lazy().group_by(_KEY).agg(durations()).collect()
    total_ns = pl.col("duration_total_ns").sum().over("rank")
    share_frac = pl.col("duration_total_ns") / total_ns
    with_shares = by_name.join(_main_primitives(kernels), on=_KEY).with_columns(
        share_frac=share_frac.fill_nan(0.0)
    )
    longest_first = with_shares.sort(
        "rank",
        "duration_total_ns",
        "name",
        descending=[False, True, False],
    )
    origins = _times_by_origin(kernels, trace, base)
    frame = longest_first
    for column, origin in _ORIGINS.items():
        shares = _shares(origins, origin).rename({"text": column})
        frame = frame.join(shares, on=_KEY, how="left", maintain_order="left")
    return TOP_KERNELS.conform(frame)


def _main_primitives(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the library and primitive with most time of each kernel name, one row per name."""
    by_primitive = (
        kernels.lazy().group_by("rank", *_WORDS).agg(pl.col("duration_ns").sum()).collect()
    )
    longest_first = by_primitive.sort("duration_ns", "primitive", descending=[True, False])
    main = longest_first.unique(_KEY, keep="first")
    return main.select(*_KEY, "library", "primitive")


def _times_by_origin(kernels: pl.DataFrame, trace: Trace, base: Trace | None) -> pl.DataFrame:
    """Sum kernel time: one row per rank, name and origins."""
    origins = kernel_origins(trace, base)
    rows = rows_of(
        origins["rank"],
        origins["kernel_id"],
        kernels.select("rank", "kernel_id"),
    )
    columns = [*_ORIGINS.values()]
    of_kernels = pl.col(columns).gather(rows)
    times = kernels.select(*_KEY, "duration_ns").hstack(origins.select(of_kernels))
    total_ns = pl.col("duration_ns").sum()
    sums = times.lazy().group_by(*_KEY, *columns).agg(total_ns).collect()
    # Layers that differ only in the numbers of their paths get one name.
    layer = pl.col("layer").cast(pl.String).str.replace_all(_NUMBER, "$1")
    is_named = ~layer.str.starts_with("(")
    return sums.with_columns(layer=pl.when(is_named).then(layer))


def _shares(origins: pl.DataFrame, origin: str) -> pl.DataFrame:
    """Return rank, name and text of each kernel.

    The text lists the kernel's main origins, each with its percentage of the kernel's time.
    """
    sums = origins.group_by(*_KEY, origin).agg(pl.col("duration_ns").sum())
    total_ns = pl.col("duration_ns").sum().over(_KEY)
    share = 100 * pl.col("duration_ns") / total_ns
    named = sums.with_columns(share=share.fill_nan(0.0)).drop_nulls(origin)
    named = named.sort("share", origin, descending=[True, False])
    whole_percent = pl.col("share").round(0).cast(pl.Int64)
    text = pl.format("{} {}%", origin, whole_percent)
    return named.group_by(_KEY, maintain_order=True).agg(text=text.head(_N_ORIGINS).str.join(", "))


def notes(
    trace: Trace,  # noqa: ARG001 - all notes take these
    frame: pl.DataFrame,
    base: Trace | None = None,  # noqa: ARG001
) -> list[str]:
    """Say how many kernel names make up half of the time."""
    sentences = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        total = part.select(pl.sum("duration_total_ns")).item()
        half = min(
            int((part["share_frac"].cum_sum() < 0.5).sum()) + 1,
            part.height,
        )
        sentences.append(
            f"Rank {rank}: {half} of {part.height} kernel names make up half of"
            f" {duration(total)} of kernel time (a sum of durations: kernels that overlap count twice)."
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
