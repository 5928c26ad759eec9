"""Which ops take the host's and the device's time."""

from __future__ import annotations

import polars as pl

from tracelens.derive.ancestry import nearest
from tracelens.derive.intervals import END, durations
from tracelens.derive.span_trees import op_tree, repeats_an_outer, span_trees, totals_upwards
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import TOP_OPS
from tracelens.trace import Trace


def top_ops(trace: Trace) -> pl.DataFrame:
    """A row an op name and rank, most device time first, then most host time.

    CPU self, CUDA self and CUDA total are torch.profiler's measures; only, an op within an op of the same name adds to
    CUDA total once here and twice there. Raises MissingTableError when the trace holds no op.
    """
    trace.require("top_ops", "spans")
    if not (trace.spans["kind"] == "op").any():
        raise MissingTableError("top_ops needs op spans, and this trace has none; tracelens collect torch gives them")
    device, calls = _device_work(trace), _call_time(trace)
    spans = trace.spans.select("rank", "span_id", "parent_id", "kind", "name", "duration_ns", "self_ns")
    ops = pl.concat([_measured(tree, device, calls) for tree in span_trees(spans)])
    frame = ops.group_by("rank", "name").agg(
        *durations(),
        pl.col("cpu_self_ns", "device_ns").sum(),
        cuda_total_ns=pl.col("device_total_ns").filter(~pl.col("repeats")).sum(),
    )
    ordered = frame.rename({"device_ns": "cuda_self_ns"}).sort(
        "rank", "cuda_total_ns", "cpu_self_ns", "name", descending=[False, True, True, False]
    )
    return TOP_OPS.conform(ordered)


def _device_work(trace: Trace) -> pl.DataFrame:
    """rank, span_id, ns of the work launched directly in each span."""
    columns = ["rank", "span_id", "duration_ns"]
    work = pl.concat([trace.frame(name).select(columns) for name in ("kernels", "memcpys", "memsets")])
    return work.drop_nulls("span_id").group_by("rank", "span_id").agg(ns=pl.col("duration_ns").sum())


def _call_time(trace: Trace) -> pl.DataFrame:
    """rank, span_id, ns in the API calls made directly in each span; a call within another call adds nothing."""
    thread = ["rank", "process_id", "thread_id"]
    calls = trace.api_calls.select(*thread, "span_id", "start_ns", end=END).sort(
        "start_ns", "end", descending=[False, True]
    )
    reached = pl.col("end").cum_max().shift(1).over(thread).fill_null(pl.col("start_ns"))
    own = (pl.col("end") - pl.max_horizontal("start_ns", reached)).clip(0)
    return calls.with_columns(ns=own).drop_nulls("span_id").group_by("rank", "span_id").agg(pl.col("ns").sum())


def _measured(tree: pl.DataFrame, device: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The ops of a rank with cpu_self_ns, device_ns, device_total_ns and repeats (an op of its name is around it)."""
    ops, innermost = op_tree(tree)
    device = device.join(tree.select(pl.col("rank").first()), on="rank", how="semi")
    by_op = device.select("ns", op=innermost.gather(device["span_id"])).group_by("op").agg(device_ns=pl.col("ns").sum())
    ops = (
        ops.join(by_op, on="op", how="left", maintain_order="left")
        .join(_host_self(tree, calls, innermost), on="span_id", how="left", maintain_order="left")
        .with_columns(pl.col("device_ns", "cpu_self_ns").fill_null(0))
    )
    return ops.with_columns(device_total_ns=totals_upwards(ops, ops["device_ns"]), repeats=repeats_an_outer(ops))


def _host_self(tree: pl.DataFrame, calls: pl.DataFrame, innermost: pl.Series) -> pl.DataFrame:
    """span_id, cpu_self_ns of each op and annotation: its own time and that of the Python calls directly within it."""
    is_python = tree["kind"].is_in(["python", "module"])
    owner = tree["span_id"].set(is_python, None)
    if (is_python & innermost.is_not_null()).any():
        owner = nearest(tree["parent_id"], owner)
    within = tree.select("rank", "span_id", "self_ns", owner=owner).drop_nulls("owner")
    return (
        within.join(calls, on=["rank", "span_id"], how="left")
        .group_by(span_id="owner")
        .agg(cpu_self_ns=(pl.col("self_ns") - pl.col("ns").fill_null(0)).clip(0).sum())
    )
