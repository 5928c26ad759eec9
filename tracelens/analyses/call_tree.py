"""Sum the host's time by call path, as a calling-context tree."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, Scope, named
from tracelens.derive.columns.lookup import by_value
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.columns.time_text import duration
from tracelens.derive.events.call_tree import call_paths, sum_within
from tracelens.derive.events.span_trees import of_rank, span_trees
from tracelens.derive.time.ranges import without_step
from tracelens.derive.time.self_time import attribute, with_own_time
from tracelens.errors import MissingTableError
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

CALL_TREE = Table(
    "call_tree",
    "A chain of calls on the host: a span or API call, and the spans around it, over all threads.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("node_id", pl.Int64, "Number of the chain; chains around it have smaller numbers."),
        Column("parent_node_id", pl.Int64, "The chain without its innermost call.", nullable=True),
        Column(
            "path",
            pl.String,
            "The chain's calls, outermost first; for a deep chain, only the innermost 32.",
        ),
        Column("name", pl.String, "The chain's innermost call."),
        Column("depth", pl.Int64, "Number of calls around the innermost one."),
        Column("n_calls", pl.Int64, "How often the innermost call was made by this chain."),
        Column("host_total_ns", pl.Int64, "Time of the innermost call, with all calls inside it."),
        Column("host_self_ns", pl.Int64, "Time of the innermost call, without calls inside it."),
        Column("step_total_ns", pl.Float64, "Mean total time per step.", nullable=True),
        Column("step_self_ns", pl.Float64, "Mean self time per step.", nullable=True),
    ),
)
SMALLEST_FRAC = 0.001
"""Call paths that take a smaller share of a rank's time are summed in one row per parent."""
_OTHERS, _BELOW, _SHOWN = "(other calls)", " > ", 32


def call_tree(trace: Trace, *, smallest_frac: float = SMALLEST_FRAC) -> pl.DataFrame:
    """Sum the time of spans and API calls: one row per rank and call path.

    A call path is a call with all its callers. Names of steps lose their number, so all steps have
    the same path. Self time is the time that no inner call covers. Rows are sorted by rank, then by
    self time, longest first. Paths that take less than `smallest_frac` of their rank's time become
    one row per parent, `(other calls)`. Raises MissingTableError without spans and API calls.
    """
    if not trace.has("spans") and not trace.has("api_calls"):
        raise MissingTableError(
            "call_tree needs spans or api_calls, both empty here; tracelens collect torch or nsys"
            " gives them"
        )
    spans = trace.select(
        "spans", "rank", "span_id", "parent_id", "depth", "name", "self_ns", "step"
    )
    call_columns = ("rank", "span_id", "process_id", "thread_id", "start_ns", "duration_ns", "step")
    calls = dict(
        by_value(
            trace.select("api_calls", *call_columns, "api").rename({"api": "name"}),
            "rank",
        )
    )
    steps = dict(trace.frame("steps").group_by("rank").agg(pl.col("step").n_unique()).iter_rows())
    trees = {tree["rank"][0]: tree for tree in span_trees(spans)}
    tables = []
    for rank in sorted({*trees, *calls}):
        tree = trees.get(rank, spans.clear())
        rows = _of_rank(tree, calls.get(rank), steps.get(rank, 0), smallest_frac)
        tables.append(rows.with_columns(rank=pl.lit(rank, pl.Int32)))
    order = ["rank", "host_self_ns", "node_id"]
    return CALL_TREE.conform(pl.concat(tables).sort(order, descending=[False, True, False]))


def _of_rank(
    tree: pl.DataFrame,
    calls: pl.DataFrame | None,
    n_steps: int,
    smallest_frac: float,
) -> pl.DataFrame:
    nodes = _nodes(tree if calls is None else _with_calls(tree, calls))
    least = smallest_frac * int(nodes["host_self_ns"].sum())
    kept, small = (
        nodes.filter((pl.col("host_total_ns") >= least) == is_kept) for is_kept in (True, False)
    )
    # The total of a small chain contains the small chains below it, so only outermost ones count.
    outer = small.join(small, left_on="parent_node_id", right_on="node_id", how="anti")
    others = outer.group_by("parent_node_id", maintain_order=True).agg(
        pl.col("depth").first(),
        pl.col("n_calls", "host_total_ns", "step_total_ns").sum(),
        host_self_ns=pl.col("host_total_ns").sum(),
        step_self_ns=pl.col("step_total_ns").sum(),
        name=pl.lit(_OTHERS, pl.Categorical),
    )
    others = others.with_columns(node_id=pl.int_range(pl.len(), dtype=pl.Int64) + nodes.height)
    rows = pl.concat(
        [kept, others.select(kept.columns)],
        how="vertical_relaxed",
    )
    a_step = [pl.col(name) / pl.lit(n_steps or None) for name in ("step_total_ns", "step_self_ns")]
    return rows.with_columns(_paths(rows), *a_step)


def _with_calls(tree: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return a rank's spans with its API calls below them, and each row's self time."""
    outside = calls.with_columns(span_id=pl.lit(None, pl.Int64))
    timed = with_own_time(of_rank(calls, tree) if tree.height else outside)
    within = attribute(timed["span_id"], timed["own_ns"], tree.height)
    tree = tree.with_columns(self_ns=(pl.col("self_ns") - within).clip(0))
    leaves = timed.select(
        "rank",
        "name",
        "step",
        parent_id="span_id",
        self_ns="own_ns",
        depth=tree["depth"].gather(timed["span_id"]).cast(pl.Int64).fill_null(-1) + 1,
    )
    return pl.concat(
        [tree.select(leaves.columns), leaves],
        how="vertical_relaxed",
    )


def _nodes(tree: pl.DataFrame) -> pl.DataFrame:
    """Return one row per call path, in order of node_id. Parents come first."""
    path, chains = call_paths(
        tree.with_columns(each_once(tree["name"], without_step)),
        "name",
    )
    in_step = pl.when(pl.col("step").is_not_null()).then("self_ns")
    sums = tree.group_by(node_id=path).agg(
        pl.col("depth").first().cast(pl.Int64),
        n_calls=pl.len().cast(pl.Int64),
        host_self_ns=pl.col("self_ns").cast(pl.Int64).sum(),
        step_self_ns=in_step.cast(pl.Int64).sum(),
    )
    parent = chains["parent_id"]
    nodes = sums.sort("node_id").hstack(chains.rename({"parent_id": "parent_node_id"}))
    return nodes.with_columns(
        host_total_ns=sum_within(parent, nodes["host_self_ns"]),
        step_total_ns=sum_within(parent, nodes["step_self_ns"]),
    )


def _paths(rows: pl.DataFrame) -> pl.Series:
    """Return each row's path of names. A long path loses its outermost names."""
    known = dict(rows.select("node_id", pl.struct("parent_node_id", "name")).iter_rows())
    paths = []
    for node in rows["node_id"]:
        names, ancestor = list[str](), node
        while ancestor is not None and len(names) < _SHOWN:
            names.append(known[ancestor]["name"])
            ancestor = known[ancestor]["parent_node_id"]
        paths.append(
            _BELOW.join(
                [
                    *(["…"] if ancestor is not None else []),
                    *reversed(names),
                ]
            )
        )
    return pl.Series("path", paths, dtype=pl.String)


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - as all notes
    """Give the host's time on all threads, and the call path with the most self time."""
    sentences = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        total = int(part["host_self_ns"].sum())
        if total:
            name, share = part.select("name", pl.col("host_self_ns") / total).row(0)
            sentences.append(
                f"Rank {rank}: the host takes {duration(total)} on all threads. The chain of"
                f" calls with the most own time ends in {name}, and has {share:.1%} of that time."
            )
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    return [Bars("Own time by chain of calls", frame, named(frame, "path"), "host_self_ns")]


ANALYSIS = Analysis(
    "By which chains of calls is the host's time taken?",
    CALL_TREE,
    call_tree,
    notes=notes,
    shown=("rank", "path", "n_calls", "host_total_ns", "host_self_ns", "step_self_ns"),
    charts=_charts,
    scope=Scope.ASKED,
    parallel=Parallel.BY_RANK,
)
