"""Which ops take the host's and the device's time."""

from __future__ import annotations

import polars as pl

from tracelens.derive.intervals import durations
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import TOP_OPS
from tracelens.trace import Trace

_SPAN = ["rank", "span_id"]


def top_ops(trace: Trace) -> pl.DataFrame:
    """A row an op name and rank, most device time first, then most host time.

    CPU self, CUDA self and CUDA total are torch.profiler's measures; an op that calls itself counts its device time
    once. Raises MissingTableError when the trace holds no op.
    """
    trace.require("top_ops", "spans")
    spans = trace.spans.select("rank", "span_id", "parent_id", "kind", "name", "start_ns", "duration_ns", "self_ns")
    ops = spans.filter(pl.col("kind") == "op")
    if not ops.height:
        raise MissingTableError("top_ops needs op spans, and this trace has none; tracelens collect torch gives them")
    in_calls = trace.api_calls.group_by("rank", "span_id").agg(api_ns=pl.col("duration_ns").sum())
    launched = _device_time(trace)
    frame = (
        ops.join(in_calls, on=_SPAN, how="left")
        .group_by("rank", "name")
        .agg(*durations(), cpu_self_ns=(pl.col("self_ns") - pl.col("api_ns").fill_null(0)).clip(0).sum())
        .join(_self_time(spans, launched), on=["rank", "name"], how="left")
        .join(_total_time(spans, launched), on=["rank", "name"], how="left")
        .with_columns(pl.col("cuda_self_ns", "cuda_total_ns").fill_null(0))
        .sort("rank", "cuda_total_ns", "cpu_self_ns", "name", descending=[False, True, True, False])
    )
    return TOP_OPS.conform(frame)


def _device_time(trace: Trace) -> pl.DataFrame:
    """rank, span_id, device_ns of the work launched directly in each span."""
    columns = ["rank", "span_id", "duration_ns"]
    work = pl.concat([trace.frame(name).select(columns) for name in ("kernels", "memcpys", "memsets")])
    return work.drop_nulls("span_id").group_by(_SPAN).agg(device_ns=pl.col("duration_ns").sum())


def _climb(spans: pl.DataFrame, here: pl.DataFrame) -> pl.DataFrame:
    """The same device time one span further out; what has no parent is gone."""
    parents = spans.select("rank", "span_id", "parent_id")
    return (
        here.join(parents, on=_SPAN)
        .drop_nulls("parent_id")
        .select(pl.exclude("span_id", "parent_id"), span_id="parent_id")
    )


def _self_time(spans: pl.DataFrame, launched: pl.DataFrame) -> pl.DataFrame:
    """Device time by the innermost op around the launch."""
    here, parts = launched, []
    names = spans.select("rank", "span_id", "kind", "name")
    while here.height:
        at = here.join(names, on=_SPAN)
        parts.append(at.filter(pl.col("kind") == "op").select("rank", "name", "device_ns"))
        here = _climb(spans, at.filter(pl.col("kind") != "op").select(*_SPAN, "device_ns"))
    empty = pl.DataFrame(schema={"rank": pl.Int32, "name": pl.String, "device_ns": pl.Int64})
    return pl.concat([empty, *parts]).group_by("rank", "name").agg(cuda_self_ns=pl.col("device_ns").sum())


def _total_time(spans: pl.DataFrame, launched: pl.DataFrame) -> pl.DataFrame:
    """Device time by every op name around the launch, each name once."""
    names = spans.select("rank", "span_id", "kind", "name")
    here, parts = launched.with_columns(work=pl.col("span_id")), []
    while here.height:
        at = here.join(names, on=_SPAN)
        parts.append(at.filter(pl.col("kind") == "op").select("rank", "name", "work", "device_ns"))
        here = _climb(spans, at.select(*_SPAN, "work", "device_ns"))
    empty = pl.DataFrame(schema={"rank": pl.Int32, "name": pl.String, "work": pl.Int64, "device_ns": pl.Int64})
    once = pl.concat([empty, *parts]).unique(["rank", "name", "work"])
    return once.group_by("rank", "name").agg(cuda_total_ns=pl.col("device_ns").sum())
