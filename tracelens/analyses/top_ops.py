"""Which ops take the host's and the device's time."""

from __future__ import annotations

import polars as pl

from tracelens.coding import is_word, spelled
from tracelens.derive.ancestry import nearest_row, prepare, repeats, sum_within
from tracelens.derive.charging import charge, charge_calls
from tracelens.derive.intervals import durations
from tracelens.derive.span_trees import of_rank, span_trees
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import TOP_OPS
from tracelens.trace import Trace


def top_ops(trace: Trace) -> pl.DataFrame:
    """A row an op name and rank, most device time first, then most host time.

    CPU self, CUDA self and CUDA total are torch.profiler's measures; only, an op within an op of the same name adds to
    CUDA total once here and twice there. Raises MissingTableError when the trace holds no op.
    """
    trace.require("top_ops", "spans")
    prepare(trace.height("spans"))
    spans, words = trace.coded("spans", "rank", "span_id", "parent_id", "kind", "name", "duration_ns", "self_ns")
    if not words["kind"].is_in(["op"]).any():
        raise MissingTableError("top_ops needs op spans, and this trace has none; tracelens collect torch gives them")
    columns = ["rank", "span_id", "duration_ns"]
    work = pl.concat([trace.select(name, *columns) for name in ("kernels", "memcpys", "memsets")])
    calls = trace.select("api_calls", "rank", "process_id", "thread_id", "span_id", "start_ns", "duration_ns")
    trees = (_with_kinds(tree, words) for tree in span_trees(spans))
    found = pl.concat([_measured(tree, of_rank(work, tree), of_rank(calls, tree)) for tree in trees])
    ordered = found.with_columns(spelled(found["name"], words["name"])).sort(
        "rank", "cuda_total_ns", "cpu_self_ns", "name", descending=[False, True, True, False]
    )
    return TOP_OPS.conform(ordered)


def _with_kinds(tree: pl.DataFrame, words: dict[str, pl.Series]) -> pl.DataFrame:
    """The tree with is_op and is_python (a Python or module call) instead of kind."""
    kinds = {"is_op": ("op",), "is_python": ("python", "module")}
    flags = {name: is_word(tree["kind"], words["kind"], *wanted) for name, wanted in kinds.items()}
    return tree.drop("kind").with_columns(**flags)


def _measured(tree: pl.DataFrame, work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The op names (codes) of a rank with their measures; `work` and `calls` are of the rank too."""
    parent, is_op, word = tree["parent_id"], tree["is_op"], tree["name"]
    in_calls = charge_calls(calls, tree.height)
    innermost = nearest_row(parent, is_op)
    within = sum_within(parent, charge(work["span_id"], work["duration_ns"], tree.height))
    is_repeated = repeats(innermost.gather(parent), word, is_op & (within > 0))
    spans = pl.DataFrame(
        {
            "rank": tree["rank"],
            "name": word,
            "duration_ns": tree["duration_ns"],
            "cpu_self_ns": (tree["self_ns"] - in_calls).clip(0),
            "within_ns": within,
            "is_repeated": is_repeated,
        }
    )
    ops = spans.filter(is_op).group_by("rank", "name")
    measures = ops.agg(
        *durations(),
        pl.col("cpu_self_ns").sum(),
        cuda_total_ns=pl.col("within_ns").filter(~pl.col("is_repeated")).sum(),
    )
    # CPU self of an op includes the Python calls directly within it.
    is_python = tree["is_python"] & innermost.is_not_null()
    python = spans.filter(is_python).select("cpu_self_ns", name=_owners(tree, is_python))
    launched = work.select(device_ns="duration_ns", name=word.gather(innermost.gather(work["span_id"])))
    for part in (python.group_by("name").agg(python_ns=pl.col("cpu_self_ns").sum()), launched.group_by("name").sum()):
        measures = measures.join(part, on="name", how="left")
    return measures.with_columns(
        pl.col("cpu_self_ns") + pl.col("python_ns").fill_null(0),
        cuda_self_ns=pl.col("device_ns").fill_null(0),
    )


def _owners(tree: pl.DataFrame, chosen: pl.Series) -> pl.Series:
    """The names of the ops that the chosen Python calls run directly in; null where an annotation stands between."""
    if not chosen.any():
        return tree["name"].clear()
    owner = nearest_row(tree["parent_id"], ~tree["is_python"]).filter(chosen)
    return tree["name"].gather(owner.set(~tree["is_op"].gather(owner), None))
