"""Align two captures of one run by different profilers: one gets the other's layers and ops."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Scope, SplitBars, named
from tracelens.derive.columns.ratios import speedup, which_side
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.grids import SHAPE
from tracelens.derive.layers.attribution import in_launch_order, kernel_layers
from tracelens.derive.layers.graph_replay import BARE_NAME, UNATTRIBUTED, tools
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.derive.layers.sequence_alignment import align
from tracelens.errors import MissingTableError
from tracelens.schemas.results.grids import RECONCILE
from tracelens.trace import Trace

_PAIRS = {"rank": pl.Int32, "base_id": pl.Int64, "other_id": pl.Int64}

_LEAST = 0.5
"""With a smaller share of the kernels aligned, the captures are of two programs."""
_WHERE = ("layer", "op", "input_shapes")
_OWN = (*_WHERE, "name", *SHAPE, "registers_per_thread")


@pairs_ranks
def reconcile(base: Trace, other: Trace) -> pl.DataFrame:
    """Align two captures: one row per rank, layer, op, kernel name and grid.

    Most time in other comes first.
    Raises MissingTableError where a capture has no kernels, or too few of them are aligned: it says
    what share.
    """
    for trace in (base, other):
        trace.require("reconcile", "kernels")
    pairs = aligned_kernels(base, other)
    of = max(base.height("kernels"), other.height("kernels"))
    if pairs.height < _LEAST * of:
        raise MissingTableError(
            f"reconcile needs two captures of one program: only {pairs.height:,} of {of:,} kernels"
            f" ({pairs.height / of:.1%}) of {base.name} and {other.name} are aligned; see"
            " compare_grids for two programs"
        )
    mine, theirs = (_told(trace, side) for trace, side in ((base, "base"), (other, "other")))
    rows = mine.join(pairs, on=["rank", "base_id"], how="left").join(
        theirs, on=["rank", "other_id"], how="full", coalesce=True, suffix="_other"
    )
    tells = [
        pl.any_horizontal(pl.col(f"{c}{end}").is_not_null() for c in _WHERE)
        for end in ("", "_other")
    ]
    rows = rows.with_columns(
        *(pl.coalesce(f"{column}_other", column).alias(column) for column in _OWN),
        match=which_side("base_id", "other_id", ("only_base", "only_other", "aligned")),
        evidence=pl.when(tells[0] & tells[1])
        .then(pl.lit("both captures"))
        .when(tells[0] | tells[1])
        .then(pl.lit("other capture"))
        .otherwise(pl.lit("none")),
    )
    time = [
        pl.col(f"{side}_ns").sum().alias(f"{side}_duration_total_ns") for side in ("base", "other")
    ]
    sums = rows.group_by("rank", "match", "evidence", *_OWN).agg(*time, n_kernels=pl.len())
    base_ns, other_ns = pl.col("base_duration_total_ns"), pl.col("other_duration_total_ns")
    ordered = sums.sort(
        other_ns + base_ns, "rank", "match", *_OWN, descending=[True] + [False] * (2 + len(_OWN))
    )
    return RECONCILE.conform(ordered.with_columns(other_over_base=speedup(other_ns, base_ns)))


def _told(trace: Trace, side: str) -> pl.DataFrame:
    """List each kernel with its layer, op and shapes, None where they were not recorded.

    Columns end with its id and time, named by `side`.
    """
    layers = kernel_layers(trace).cast({"layer": pl.String})
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name", "input_shapes")
    kernels = trace.select("kernels", "rank", "kernel_id", "span_id", *_OWN[3:], "duration_ns")
    parts = []
    for tree, part in with_trees(spans, kernels.cast({"name": pl.String})):
        is_op = (tree["kind"] == "op").fill_null(value=False)
        op_rows = nearest_row(tree["parent_id"], is_op, part["span_id"])
        columns = {"op": tree["name"], "input_shapes": tree["input_shapes"]}
        parts.append(
            part.with_columns(
                **{name: values.cast(pl.String).gather(op_rows) for name, values in columns.items()}
            )
        )
    named_layers = layers.with_columns(layer=pl.when(pl.col("layer") != UNATTRIBUTED).then("layer"))
    joined = pl.concat(parts).join(named_layers, on=["rank", "kernel_id"], how="left")
    return joined.select("rank", *_OWN, "kernel_id", "duration_ns").rename(
        {"kernel_id": f"{side}_id", "duration_ns": f"{side}_ns"}
    )


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Say how many kernels were aligned, their time in each capture, and where layers came from."""
    aligned = frame.filter(match="aligned")
    n, of = int(aligned["n_kernels"].sum()), (base.height("kernels"), other.height("kernels"))
    times = [int(aligned[f"{side}_duration_total_ns"].sum()) for side in ("base", "other")]
    taken = aligned.filter(evidence="other capture")
    share = int(taken["other_duration_total_ns"].sum()) / times[1] if times[1] else 0.0
    summary = (
        f"{n:,} kernels are aligned, of {of[0]:,} in base and {of[1]:,} in other: they take"
        f" {times[0] / 1e6:.3f} ms in base and {times[1] / 1e6:.3f} ms in other."
    )
    return [summary, f"One capture tells the layer or op of {share:.1%} of that time to the other."]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {"base_duration_total_ns": "base", "other_duration_total_ns": "this trace"}
    by_layer = (
        frame.filter(match="aligned")
        .group_by("layer")
        .agg(pl.sum(*parts))
        .sort([*parts], descending=True)
    )
    return [
        SplitBars(
            "GPU time by layer and profiler",
            by_layer,
            named(by_layer, "layer"),
            parts,
            stacked=False,
        )
    ]


def aligned_kernels(base: Trace, other: Trace) -> pl.DataFrame:
    """Return pairs of kernels that correspond: rank, base_id, other_id.

    Each kernel is in one pair at most. Kernels are matched within a rank and step, in launch order:
    grid, block, registers and name must be equal. For two profilers, names are compared without
    template arguments and parameters. The nth step is matched with the nth, whatever their numbers.
    Where one capture marks no steps, each rank is one sequence. Equal sequences take time in
    proportion to their length.
    """
    sides = [_sequence(trace, is_bare=tools(base) != tools(other)) for trace in (base, other)]
    if any(not side["step"].count() for side in sides):
        sides = [side.with_columns(unit=0) for side in sides]
    what = ["name", *SHAPE, "registers_per_thread"]
    both = pl.concat([side.select(what) for side in sides])
    known = [
        c for c in what if all(side[c].count() for side in sides)
    ]  # not every source tells registers
    codes = both.select(pl.struct(known).rank("dense").cast(pl.Int64)).to_series()
    n_base, n_other = sides[0].height, sides[1].height
    coded = (
        sides[0].with_columns(code=codes.head(n_base)),
        sides[1].with_columns(code=codes.tail(n_other)),
    )
    theirs = dict(coded[1].group_by("rank", "unit", maintain_order=True))
    frames = []
    for key, mine in coded[0].group_by("rank", "unit", maintain_order=True):
        if key in theirs:
            place = pl.Series(
                align(tuple(mine["code"]), tuple(theirs[key]["code"])), dtype=pl.Int64
            )
            other_id = theirs[key]["kernel_id"].gather(place)
            frames.append(
                mine.select("rank", base_id="kernel_id")
                .with_columns(other_id=other_id)
                .drop_nulls()
            )
    return pl.concat(frames) if frames else pl.DataFrame(schema=_PAIRS)


def _sequence(trace: Trace, *, is_bare: bool) -> pl.DataFrame:
    """Return kernels in launch order.

    `unit` is the place of the kernel's step among the rank's steps, -1 outside of steps.
    """
    name = BARE_NAME if is_bare else pl.col("name").cast(pl.String)
    unit = pl.col("step").rank("dense").over("rank").cast(pl.Int64).fill_null(-1)
    kernels = in_launch_order(trace).with_columns(name, unit=unit)
    return kernels.select(
        "rank", "kernel_id", "step", "unit", "name", *SHAPE, "registers_per_thread"
    )


ANALYSIS = Analysis(
    "What do two captures of one run tell together?",
    RECONCILE,
    reconcile,
    notes=notes,
    shown=(
        "rank",
        "match",
        "layer",
        "op",
        "name",
        "n_kernels",
        "base_duration_total_ns",
        "other_duration_total_ns",
        "other_over_base",
        "evidence",
    ),
    charts=_charts,
    scope=Scope.PROFILERS,
)
