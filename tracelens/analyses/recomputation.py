"""Find forward ops that ran again in the backward pass: the cost of activation checkpointing."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.columns.time_text import duration
from tracelens.derive.events.autograd_nodes import ENGINE
from tracelens.derive.events.call_tree import nearest_row, sum_within
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.time.self_time import attribute
from tracelens.schemas import DEVICE_WORK
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

RECOMPUTATION = Table(
    "recomputation",
    "An op of a layer that ran in the forward pass and again within the backward pass.",
    (
        Column("rank", pl.Int32, "Rank."),
        Column("module_path", pl.String, "Layer; null if none is recorded.", nullable=True),
        Column("op", pl.String, "Outermost op that ran again."),
        Column("n_calls", pl.Int64, "Times that it ran again."),
        Column("host_ns", pl.Int64, "Time of these calls on the host."),
        Column("device_ns", pl.Int64, "Time of the work that they launched."),
    ),
)
_COLUMNS = ("rank", "span_id", "parent_id", "kind", "name", "sequence_number", "module_path")


def recomputation(trace: Trace) -> pl.DataFrame:
    """Find ops that ran again for the backward pass: one row per rank, layer and op.

    Rows are sorted by rank, then by time, longest first. The result is empty if nothing ran again.
    Raises MissingTableError without spans.
    """
    trace.require("recomputation", "spans")
    spans = trace.select("spans", *_COLUMNS, "duration_ns")
    work = pl.concat([trace.select(name, "rank", "span_id", "duration_ns") for name in DEVICE_WORK])
    ops_by_rank = [_of_rank(tree, part) for tree, part in with_trees(spans, work)]
    frame = pl.concat(ops_by_rank) if ops_by_rank else pl.DataFrame()
    order = ["rank", "device_ns", "host_ns", "op"]
    return RECOMPUTATION.conform(
        frame.sort(order, descending=[False, True, True, False]) if frame.width else frame
    )


def _of_rank(tree: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    parent, names = tree["parent_id"], tree["name"]
    is_engine = each_once(names, lambda name: name.str.starts_with(ENGINE))
    in_backward = nearest_row(parent, is_engine).is_not_null()
    is_backward = each_once(
        names,
        lambda name: name.str.contains("Backward", literal=True),
    )
    is_backward = is_backward | is_engine
    is_op = (tree["kind"] == "op") & ~is_backward
    # Autograd numbers the ops that it records. Within the backward pass it records ops that run
    # again, but with create_graph=True also ops of the backward pass itself. Those did not run
    # before.
    ran_before = names.is_in(names.filter(is_op & ~in_backward).unique().implode())
    again = is_op & in_backward & ran_before & tree["sequence_number"].is_not_null()
    around = nearest_row(parent, again).gather(parent)
    within = sum_within(
        parent,
        attribute(work["span_id"], work["duration_ns"], tree.height),
    )
    calls = tree.select("rank", "module_path", "duration_ns", op=names, device_ns=within)
    return (
        calls.filter(again & around.is_null())
        .group_by("rank", "module_path", "op")
        .agg(
            n_calls=pl.len().cast(pl.Int64),
            host_ns=pl.col("duration_ns").sum(),
            device_ns=pl.col("device_ns").sum(),
        )
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - as all notes
    """Give the time that recomputation cost, or say that there was none."""
    if frame.is_empty():
        return ["No forward op ran again within the backward pass."]
    host, device, calls = frame.select("host_ns", "device_ns", "n_calls").sum().row(0)
    cost = f"{duration(host)} on the host, {duration(device)} of work on devices"
    return [f"{calls:,} forward ops ran again in the backward pass, to save memory: {cost}."]


ANALYSIS = Analysis(
    "Which forward ops ran twice, and what did that cost?",
    RECOMPUTATION,
    recomputation,
    notes=notes,
    parallel=Parallel.BY_RANK,
)
