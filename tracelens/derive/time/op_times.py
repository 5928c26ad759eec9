"""Time of ops on the host and on the device by name: in C where there are many spans."""

import polars as pl

from tracelens.derive.columns.intervals import durations
from tracelens.derive.events.call_tree import nearest_row, repeats, sum_within
from tracelens.derive.events.span_trees import of_rank, span_trees
from tracelens.derive.time import op_times_fast
from tracelens.derive.time.self_time import charge, charge_calls
from tracelens.schemas import DEVICE_WORK
from tracelens.trace import Trace

_MANY_SPANS = 1 << 10
"""Below this number of spans whole columns are faster."""


def op_times(trace: Trace) -> list[pl.DataFrame]:
    """A frame a rank with ops, a row a name: rank, name, `durations`, cpu_self_ns, cuda_self_ns, cuda_total_ns."""
    found = op_times_fast.op_times(trace) if trace.height("spans") >= _MANY_SPANS else None
    return _by_columns(trace) if found is None else found


def _by_columns(trace: Trace) -> list[pl.DataFrame]:
    """As `op_times`, in Polars: the reference for the C code."""
    spans = trace.select(
        "spans", "rank", "span_id", "parent_id", "kind", "name", "duration_ns", "self_ns"
    )
    columns = ["rank", "span_id", "duration_ns"]
    work = pl.concat([trace.select(name, *columns) for name in DEVICE_WORK])
    calls = trace.select(
        "api_calls", "rank", "process_id", "thread_id", "span_id", "start_ns", "duration_ns"
    )
    found = [by_name(tree, of_rank(work, tree), of_rank(calls, tree)) for tree in span_trees(spans)]
    return [names for names in found if names.height]


def by_name(tree: pl.DataFrame, work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Time of each op of one rank: a row a name, names as categorical codes."""
    kind = pl.col("kind")
    tree = tree.with_columns(is_op=kind == "op", is_python=kind.is_in(["python", "module"]))
    parent, is_op, word = tree["parent_id"], tree["is_op"], tree["name"]
    in_calls = charge_calls(calls, tree.height)
    innermost = nearest_row(parent, is_op)
    within = sum_within(parent, charge(work["span_id"], work["duration_ns"], tree.height))
    is_repeated = repeats(innermost.gather(parent), word, is_op & (within > 0))
    spans = tree.select(
        "name",
        "duration_ns",
        cpu_self_ns=(pl.col("self_ns") - in_calls).clip(0),
        cuda_total_ns=pl.when(is_repeated).then(0).otherwise(within),
    )
    measures = [*durations(), pl.col("cpu_self_ns", "cuda_total_ns").sum()]
    ops = spans.filter(is_op).group_by("name").agg(measures)
    # CPU self of an op includes the Python calls directly within it.
    is_python = tree["is_python"] & innermost.is_not_null()
    python = spans.filter(is_python).select(python_ns="cpu_self_ns", name=_owners(tree, is_python))
    launched = work.select(
        cuda_self_ns="duration_ns", name=word.gather(innermost.gather(work["span_id"]))
    )
    for part in (python, launched):
        ops = ops.join(part.group_by("name").sum(), on="name", how="left")
    cpu_self = pl.col("cpu_self_ns") + pl.col("python_ns").fill_null(0)
    ops = ops.with_columns(cpu_self, pl.col("cuda_self_ns").fill_null(0)).drop("python_ns")
    return ops.select(pl.lit(tree["rank"][0], pl.Int32).alias("rank"), pl.all())


def _owners(tree: pl.DataFrame, chosen: pl.Series) -> pl.Series:
    """The names of the ops directly around the chosen Python calls; null where an annotation stands between."""
    if not chosen.any():
        return tree["name"].clear()
    owner = nearest_row(tree["parent_id"], ~tree["is_python"]).filter(chosen)
    return tree["name"].gather(owner.set(~tree["is_op"].gather(owner), None))
