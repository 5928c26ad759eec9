"""Which ops take the host's and the device's time."""

from __future__ import annotations

import polars as pl

from tracelens.derive.ancestry import nearest_row, repeats, sum_within
from tracelens.derive.intervals import END, durations
from tracelens.derive.span_trees import with_trees
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import TOP_OPS
from tracelens.trace import Trace


def top_ops(trace: Trace) -> pl.DataFrame:
    """A row an op name and rank, most device time first, then most host time.

    CPU self, CUDA self and CUDA total are torch.profiler's measures; only, an op within an op of the same name adds to
    CUDA total once here and twice there. Raises MissingTableError when the trace holds no op.
    """
    trace.require("top_ops", "spans")
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name", "duration_ns", "self_ns")
    if not (spans["kind"] == "op").any():
        raise MissingTableError("top_ops needs op spans, and this trace has none; tracelens collect torch gives them")
    measured = [_measured(tree, work) for tree, work in with_trees(spans, _per_span(trace)) if tree.height]
    ordered = pl.concat(measured).sort(
        "rank", "cuda_total_ns", "cpu_self_ns", "name", descending=[False, True, True, False]
    )
    return TOP_OPS.conform(ordered)


def _per_span(trace: Trace) -> pl.DataFrame:
    """rank, span_id, device_ns of the work launched directly in each span, host_ns of the API calls made there."""
    columns = ["rank", "span_id", "duration_ns"]
    work = pl.concat([trace.select(name, *columns) for name in ("kernels", "memcpys", "memsets")])
    calls = _own_time(trace.select("api_calls", *_THREAD, "span_id", "start_ns", "duration_ns"))
    nothing = pl.lit(0, pl.Int64)
    both = pl.concat(
        [
            work.select("rank", "span_id", device_ns="duration_ns", host_ns=nothing),
            calls.select("rank", "span_id", device_ns=nothing, host_ns="own_ns"),
        ]
    )
    return both.drop_nulls("span_id").group_by("rank", "span_id").agg(pl.col("device_ns", "host_ns").sum())


_THREAD = ["rank", "process_id", "thread_id"]


def _own_time(calls: pl.DataFrame) -> pl.DataFrame:
    """The calls with own_ns: their time, of a call within another call none."""
    ordered = calls.with_columns(end=END).sort("start_ns", "end", descending=[False, True])
    reached = pl.col("end").cum_max().shift(1).over(_THREAD).fill_null(pl.col("start_ns"))
    return ordered.with_columns(own_ns=(pl.col("end") - pl.max_horizontal("start_ns", reached)).clip(0))


def _measured(tree: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """The op names of a rank with their measures; `work` is of its spans."""
    parent, is_op = tree["parent_id"], tree["kind"] == "op"
    word = tree["name"].cast(pl.Categorical)
    work = work.drop_nulls("span_id")
    device, calls = (
        pl.repeat(0, tree.height, dtype=pl.Int64, eager=True).scatter(work["span_id"], work[name])
        for name in ("device_ns", "host_ns")
    )
    innermost = nearest_row(parent, is_op)
    within = sum_within(parent, device)
    is_repeated = repeats(innermost.gather(parent), word.to_physical().cast(pl.Int64), is_op & (within > 0))
    spans = pl.DataFrame(
        {
            "rank": tree["rank"],
            "name": word,
            "duration_ns": tree["duration_ns"],
            "cpu_self_ns": (tree["self_ns"] - calls).clip(0),
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
    is_python = tree["kind"].is_in(["python", "module"]) & innermost.is_not_null()
    python = spans.filter(is_python).select("cpu_self_ns", name=_owners(tree, is_python, is_op, word))
    launched = work.select("device_ns", name=word.gather(innermost.gather(work["span_id"])))
    for part in (python.group_by("name").agg(python_ns=pl.col("cpu_self_ns").sum()), launched.group_by("name").sum()):
        measures = measures.join(part, on="name", how="left")
    return measures.with_columns(
        pl.col("cpu_self_ns") + pl.col("python_ns").fill_null(0),
        cuda_self_ns=pl.col("device_ns").fill_null(0),
        name=pl.col("name").cast(pl.String),
    )


def _owners(tree: pl.DataFrame, is_python: pl.Series, is_op: pl.Series, word: pl.Series) -> pl.Series:
    """The names of the ops that Python calls run directly in; null where an annotation stands between."""
    if not is_python.any():
        return word.clear()
    outside = ~tree["kind"].is_in(["python", "module"])
    owner = nearest_row(tree["parent_id"], outside).filter(is_python)
    return word.gather(owner.set(~is_op.gather(owner), None))
