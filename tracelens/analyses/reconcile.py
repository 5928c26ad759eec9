"""Align two profilers' captures of one run: a kernel gets layer and op from either capture."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Scope, SplitBars, named
from tracelens.derive.columns.lookup import numbered, rows_of
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.columns.ratios import speedup, which_side
from tracelens.derive.columns.time_text import duration
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.grids import SHAPE
from tracelens.derive.layers.attribution import kernel_layers
from tracelens.derive.layers.graph_replay import UNATTRIBUTED, bare_name, in_launch_order, tools
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.derive.layers.sequence_alignment import align
from tracelens.errors import MissingTableError
from tracelens.schemas.results.grids import RECONCILE
from tracelens.trace import Trace

_PAIRS = {"rank": pl.Int32, "base_id": pl.Int64, "other_id": pl.Int64}

_LEAST = 0.5
"""If a smaller share of the kernels is aligned, the captures count as two programs."""
_WHERE = ("layer", "op", "input_shapes")
_SIDES = ("base", "other")
_TOTALS = ("base_duration_total_ns", "other_duration_total_ns")
_KIND = (*_WHERE, "name", *SHAPE, "registers_per_thread")


@pairs_ranks
def reconcile(base: Trace, other: Trace) -> pl.DataFrame:
    """Align two captures: one row per rank, layer, op, kernel name and grid.

    Rows with the most time in both captures together come first. Raises MissingTableError if a
    capture has no kernels, or too few of them are aligned.
    """
    for trace in (base, other):
        trace.require("reconcile", "kernels")
    pairs = aligned_kernels(base, other)
    n_kernels = max(base.height("kernels"), other.height("kernels"))
    if pairs.height < _LEAST * n_kernels:
        raise MissingTableError(
            f"reconcile needs two captures of one program: only {pairs.height:,} of {n_kernels:,}"
            f" kernels ({pairs.height / n_kernels:.1%}) of {base.name} and {other.name} are"
            " aligned; see compare_grids for two programs"
        )
    base_kernels, base_kinds = _by_kind(base, "base")
    other_kernels, other_kinds = _by_kind(other, "other")
    rows = _beside(base_kernels, other_kernels, pairs)
    times = [pl.col(f"{side}_ns").sum().alias(f"{side}_duration_total_ns") for side in _SIDES]
    pairs_of_kinds = rows.lazy().group_by("rank", *_SIDES).agg(*times, n_kernels=pl.len()).collect()
    kinds = pairs_of_kinds.join(base_kinds, on="base", how="left").join(
        other_kinds, on="other", how="left", suffix="_other"
    )
    kinds = kinds.with_columns(
        *(pl.coalesce(f"{column}_other", column).alias(column) for column in _KIND),
        match=which_side(*_SIDES, ("only_base", "only_other", "aligned")),
        evidence=_evidence(),
    )
    sums = kinds.group_by("rank", "match", "evidence", *_KIND).agg(
        pl.col(*_TOTALS, "n_kernels").sum()
    )
    base_ns, other_ns = map(pl.col, _TOTALS)
    order = (other_ns + base_ns, "rank", "match", *_KIND)
    ordered = sums.sort(
        *order,
        descending=[True] + [False] * (len(order) - 1),
    )
    return RECONCILE.conform(ordered.with_columns(other_over_base=speedup(other_ns, base_ns)))


def _evidence() -> pl.Expr:
    """Return the column `evidence`: which captures record a kernel's layer, op or shapes."""
    in_base = pl.any_horizontal(pl.col(_WHERE).is_not_null())
    in_other = pl.any_horizontal(pl.col(f"{column}_other").is_not_null() for column in _WHERE)
    return (
        pl.when(in_base & in_other)
        .then(pl.lit("both captures"))
        .when(in_base | in_other)
        .then(pl.lit("other capture"))
        .otherwise(pl.lit("none"))
    )


def _by_kind(trace: Trace, side: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a trace's kernels, and the distinct kinds of kernels, each with an id.

    Kernels of one kind have equal layer, op, shapes, name and grid. `side` is the name of the
    column with the kind's id, in both frames.
    """
    kernels = _recorded(trace)
    numbers, kinds = numbered(kernels, _KIND)
    renamed = kernels.select("rank", "kernel_id", "duration_ns", numbers.alias(side)).rename(
        {"kernel_id": f"{side}_id", "duration_ns": f"{side}_ns"}
    )
    return renamed, kinds.with_row_index(side)


def _beside(
    base_kernels: pl.DataFrame,
    other_kernels: pl.DataFrame,
    pairs: pl.DataFrame,
) -> pl.DataFrame:
    """Return one row per pair of kernels, followed by one per kernel without a partner."""
    of_pairs, alone = [], []
    for side, kernels in zip(_SIDES, (base_kernels, other_kernels), strict=True):
        kernel_id = f"{side}_id"
        rows = rows_of(kernels["rank"], kernels[kernel_id], pairs.select("rank", kernel_id))
        of_pairs.append(kernels[rows].drop(kernel_id))
        is_alone = pl.repeat(value=True, n=kernels.height, eager=True).scatter(rows, values=False)
        alone.append(kernels.filter(is_alone).drop(kernel_id))
    in_base, in_other = of_pairs
    aligned = pl.concat([in_base, in_other.drop("rank")], how="horizontal")
    return pl.concat([aligned, *alone], how="diagonal")


def _recorded(trace: Trace) -> pl.DataFrame:
    """List each kernel with its layer, op and shapes; None if not recorded."""
    layers = kernel_layers(trace).cast({"layer": pl.Categorical})
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name", "input_shapes")
    kernels = trace.select(
        "kernels",
        "rank",
        "kernel_id",
        "span_id",
        *_KIND[3:],
        "duration_ns",
    )
    parts = []
    for tree, part in with_trees(spans, kernels):
        is_op = (tree["kind"] == "op").fill_null(value=False)
        op_rows = nearest_row(tree["parent_id"], is_op, part["span_id"])
        parts.append(
            part.with_columns(
                op=tree["name"].gather(op_rows),
                input_shapes=tree["input_shapes"].gather(op_rows),
            )
        )
    listed = pl.concat(parts)
    rows = rows_of(layers["rank"], layers["kernel_id"], listed.select("rank", "kernel_id"))
    layer = layers["layer"].gather(rows)
    with_layer = listed.with_columns(layer.set(layer == UNATTRIBUTED, None))
    return with_layer.select("rank", *_KIND, "kernel_id", "duration_ns")


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Give number and time of aligned kernels.

    Also give the share of this time with a layer or op that only one capture recorded.
    """
    aligned = frame.filter(match="aligned")
    base_ns, other_ns = (int(aligned[column].sum()) for column in _TOTALS)
    completed = aligned.filter(evidence="other capture")
    share = int(completed["other_duration_total_ns"].sum()) / other_ns if other_ns else 0.0
    summary = (
        f"{int(aligned['n_kernels'].sum()):,} kernels are aligned, of"
        f" {base.height('kernels'):,} in base and {other.height('kernels'):,} in new: they take"
        f" {duration(base_ns)} in base and {duration(other_ns)} in new."
    )
    return [
        summary,
        f"For {share:.1%} of that time only one capture knows layer or op; they count for both.",
    ]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = dict(zip(_TOTALS, ("base", "new"), strict=True))
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

    Kernels of the same rank and step are matched in launch order. Their grid, block, registers and
    name must be equal. A kernel is in one pair at most. Steps are matched by position, not by
    number. If one capture marks no steps, each rank is one sequence.
    """
    # Two profilers spell template arguments and parameters differently.
    is_bare = tools(base) != tools(other)
    base_kernels = _in_sequence(base, is_bare=is_bare)
    other_kernels = _in_sequence(other, is_bare=is_bare)
    if not (base_kernels["step"].count() and other_kernels["step"].count()):
        base_kernels = base_kernels.with_columns(sequence=0)
        other_kernels = other_kernels.with_columns(sequence=0)
    base_codes, other_codes = _codes(base_kernels, other_kernels)
    sequences = _sequences(base_kernels, base_codes).join(
        _sequences(other_kernels, other_codes),
        on=["rank", "sequence"],
        suffix="_other",
        maintain_order="left",
    )
    numbered_sequences = sequences.with_row_index("number")
    # Most sequences are equal on both sides; their kernels are paired as whole columns.
    is_alike = pl.col("code") == pl.col("code_other")
    alike = numbered_sequences.filter(is_alike).select(
        "number", "rank", base_id="kernel_id", other_id="kernel_id_other"
    )
    unlike = numbered_sequences.filter(~is_alike)
    rows = [(number, rank, *_matches(*lists)) for number, rank, _, *lists in unlike.iter_rows()]
    searched = pl.DataFrame(rows, schema=alike.schema, orient="row")
    pairs = pl.concat([alike, searched]).sort("number").explode("base_id", "other_id")
    return pairs.select(pl.col(name).cast(dtype) for name, dtype in _PAIRS.items()).drop_nulls()


def _codes(base_kernels: pl.DataFrame, other_kernels: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return a number for each launch of base and of other.

    Launches with equal name, grid, block and registers have equal numbers.
    """
    columns = ["name", *SHAPE, "registers_per_thread"]
    # Some sources do not record registers.
    known = [name for name in columns if base_kernels[name].count() and other_kernels[name].count()]
    both = pl.concat([base_kernels.select(columns), other_kernels.select(columns)])
    codes = numbered(both, known)[0]
    return codes.head(base_kernels.height), codes.tail(other_kernels.height)


def _sequences(kernels: pl.DataFrame, codes: pl.Series) -> pl.DataFrame:
    """Return one row per rank and sequence, with lists of its kernels' codes and ids."""
    by_sequence = kernels.with_columns(code=codes).group_by("rank", "sequence", maintain_order=True)
    return by_sequence.agg("code", "kernel_id")


def _matches(
    my_codes: list[int],
    my_ids: list[int],
    their_codes: list[int],
    their_ids: list[int],
) -> tuple[list[int], list[int | None]]:
    """Return the ids of one sequence's kernels, and the id of each one's match, or None."""
    matches = align(tuple(my_codes), tuple(their_codes))
    return my_ids, [None if match is None else their_ids[match] for match in matches]


def _in_sequence(trace: Trace, *, is_bare: bool) -> pl.DataFrame:
    """Return kernels in launch order.

    `sequence` is the position of the kernel's step among the rank's steps, -1 outside of steps.
    """
    columns = ("kernel_id", "step", "name", *SHAPE, "registers_per_thread")
    kernels = in_launch_order(trace, columns)
    if is_bare:
        kernels = kernels.with_columns(each_once(kernels["name"], bare_name))
    step_place = pl.col("step").rank("dense").over("rank").cast(pl.Int64)
    return kernels.with_columns(sequence=step_place.fill_null(-1))


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
