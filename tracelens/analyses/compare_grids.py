"""Compare the grids of the same kernels, or of kernels of the same primitive, in two traces."""

import polars as pl

from tracelens.analyses.analysis import TOP, Analysis, Bars, Chart, SplitBars
from tracelens.derive.columns.lookup import numbered
from tracelens.derive.columns.ratios import over, percent, speedup
from tracelens.derive.columns.side_by_side import side_by_side
from tracelens.derive.comparing.comparability import same_steps
from tracelens.derive.kernels.grids import SHAPE, by_grid
from tracelens.schemas.results.grids import COMPARE_GRIDS
from tracelens.trace import Trace

_SUMS = ("n_grids", "n_calls", "duration_total_ns", "total_blocks")


def compare_grids(base: Trace, other: Trace) -> pl.DataFrame:
    """Compare each kernel's grids in two traces: one row per pair of grids.

    Grids without a partner are summed by primitive: one row per primitive. Rows are sorted by their
    time in both traces together, longest first. Raises MissingTableError if one of the traces has
    no kernels.
    """
    for trace in (base, other):
        trace.require("compare_grids", "kernels")
    rows = _paired(_grids(base), _grids(other))
    return COMPARE_GRIDS.conform(
        rows.with_columns(*_means("base"), *_means("other"))
        .with_columns(
            # Fusion may have left fewer kernels of a primitive.
            speedup=pl.when(
                (pl.col("match") != "kernel")
                | same_steps(base, other)
                | (pl.col("base_n_calls") == pl.col("other_n_calls"))
            ).then(_speedup("duration_total_ns")),
            speedup_per_call=_speedup("duration_mean_ns"),
            n_blocks_ratio=_speedup("n_blocks"),
        )
        .sort(
            pl.col("base_duration_total_ns") + pl.col("other_duration_total_ns"),
            pl.col("match"),
            pl.col("name"),
            pl.col("primitive"),
            *(f"base_{column}" for column in SHAPE),
            descending=[True] + [False] * 9,
        )
    )


def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the share of time in kernels that both traces have, and doubts about the comparison."""
    total = {side: int(frame[f"{side}_duration_total_ns"].sum()) for side in ("base", "other")}
    same = frame.filter(pl.col("match") == "kernel")
    matched = {
        side: percent(
            int(same[f"{side}_duration_total_ns"].sum()),
            total[side],
        )
        for side in total
    }
    changed = same.filter(
        pl.any_horizontal(pl.col(f"base_{c}").ne_missing(pl.col(f"other_{c}")) for c in SHAPE)
    )
    summary = (
        f"Kernels in both traces: {same['name'].n_unique()}, {matched['base']} of kernel time in"
        f" base and {matched['other']} in new; {changed['name'].n_unique()} with another grid or"
        " block."
    )
    sentences = [summary]
    unequal = frame.filter(
        (pl.col("match") == "kernel") & (pl.col("base_n_calls") != pl.col("other_n_calls"))
    ).height
    if unequal and not same_steps(base, other):
        sentences.append(
            f"{unequal:,} kernels were called more often in one, and not for as many steps: only"
            " speedup_per_call compares them."
        )
    return sentences


def _grids(trace: Trace) -> pl.DataFrame:
    """Sum the launches of each kernel name, grid and block over all ranks, longest time first."""
    grids = by_grid(trace, ("name", "primitive")).with_columns(
        total_blocks=pl.col("n_blocks") * pl.col("n_calls")
    )
    # Kernels are matched only by name: one may serve several primitives, and evidence may differ
    # between traces.
    merged = grids.group_by("name", *SHAPE, maintain_order=True).agg(
        pl.col("primitive").first(),
        pl.col("n_calls", "duration_total_ns", "total_blocks").sum(),
    )
    return merged.with_columns(n_grids=pl.lit(1, pl.Int64)).sort(
        "duration_total_ns",
        "name",
        *SHAPE,
        descending=[True] + [False] * 7,
    )


def _paired(base: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Pair the grids of two runs, first by kernel and grid, then by kernel alone.

    If a kernel has several grids left, those with the longest times are paired. Grids without a
    partner are summed by primitive.
    """
    grid, _ = numbered(pl.concat([base, other]), ["name", *SHAPE])
    of_equal_grids, base, other = _pair_by(
        ["name", "grid"],
        base.with_columns(grid=grid.head(base.height)),
        other.with_columns(grid=grid.tail(other.height)),
    )
    position = pl.int_range(pl.len()).over("name")
    of_equal_names, base, other = _pair_by(
        ["name", "position"],
        base.with_columns(position=position),
        other.with_columns(position=position),
    )
    base_sums, other_sums = (
        side.group_by("primitive").agg(pl.col(_SUMS).sum()) for side in (base, other)
    )
    by_primitive = side_by_side(base_sums, other_sums, ["primitive"], absent=0).with_columns(
        pl.col("match").replace("both", "primitive")
    )
    return pl.concat([of_equal_grids, of_equal_names, by_primitive], how="diagonal_relaxed")


def _pair_by(
    key: list[str],
    base: pl.DataFrame,
    other: pl.DataFrame,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the rows whose key is in both runs, side by side, and each run's other rows.

    A pair has the primitive of base.
    """
    pairs = side_by_side(
        base.join(other, on=key, how="semi"),
        other.join(base, on=key, how="semi"),
        key,
    ).with_columns(primitive="base_primitive", match=pl.lit("kernel"))
    only_base = base.join(other, on=key, how="anti", maintain_order="left")
    only_other = other.join(base, on=key, how="anti", maintain_order="left")
    return pairs, only_base, only_other


def _means(side: str) -> tuple[pl.Expr, pl.Expr]:
    """Return a side's mean duration and mean blocks per launch; None without launches."""
    calls, blocks = pl.col(f"{side}_n_calls"), pl.col(f"{side}_total_blocks")
    duration = pl.col(f"{side}_duration_total_ns")
    return (
        over(duration, calls).alias(f"{side}_duration_mean_ns"),
        pl.when(blocks > 0).then(blocks / calls).alias(f"{side}_n_blocks"),
    )


def _speedup(column: str) -> pl.Expr:
    return speedup(pl.col(f"base_{column}"), pl.col(f"other_{column}"))


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {"base_duration_total_ns": "base", "other_duration_total_ns": "new"}
    matched = frame.filter(pl.col("match").is_in(["kernel", "primitive"]))
    matched = matched.sort("base_duration_total_ns", descending=True).head(TOP)
    return [
        SplitBars("GPU time by primitive", frame, ["primitive"], parts, stacked=False),
        Bars("Speedup of what took most time in base", matched, ["name", "primitive"], "speedup"),
    ]


ANALYSIS = Analysis(
    "How do the grids of two runs differ?",
    COMPARE_GRIDS,
    compare_grids,
    notes=notes,
    shown=(
        "match",
        "name",
        "primitive",
        "base_duration_total_ns",
        "other_duration_total_ns",
        "speedup",
        *(f"{side}_grid_{axis}" for side in ("base", "other") for axis in "xyz"),
        "base_n_calls",
        "other_n_calls",
    ),
    charts=_charts,
    of_one_program=True,
)
