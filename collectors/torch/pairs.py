"""Find to whom a kernel sends, and from whom it receives, where NCCL batches such calls.

`batch_isend_irecv`, which pipelines use, has one kernel for a batch of sends and receives. The
kernel tells nothing of them; torch records each as a span `record_param_comms`, and the batch after
them as an annotation, in which the kernel is launched.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

OF_PAIRS = ("collective", "group_id", "group_ranks", "peer", "dtype", "in_elements")
"""Columns of the spans of calls, which describe a kernel instead."""
_NUMBERS = ("peer", "in_elements")
_BATCH, _CALL = "nccl:coalesced", "record_param_comms"
_THREAD = ["process_id", "thread_id"]


def describe_pairs(kernels: pl.DataFrame, raw: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the kernels, those of a batch with one send or receive described as the call.

    A kernel that serves several calls stays as it is. `raw` has spans and api_calls.
    """
    is_open = pl.col("collective").is_null() & pl.col("name").cast(pl.String).str.contains(
        "(?i)send_?recv"
    )
    rows = kernels.select(is_open).to_series().arg_true()
    if not rows.len() or "spans" not in raw or "api_calls" not in raw:
        return kernels
    calls = _single_calls(raw["spans"])
    launches = raw["api_calls"].select("correlation_id", *_THREAD, at="start_ns")
    launched = kernels.select("correlation_id")[rows].with_columns(row=rows)
    launched = launched.join(launches, on="correlation_id").sort("at")
    found = launched.join_asof(
        calls, left_on="at", right_on="start_ns", by=_THREAD, check_sortedness=False
    ).filter(pl.col("at") < pl.col("end_ns"))
    told = kernels.select(pl.int_range(pl.len()).cast(rows.dtype).alias("row"))
    described = told.join(found, on="row", how="left", maintain_order="left")
    types = {name: pl.Int64 if name in _NUMBERS else pl.Categorical for name in OF_PAIRS}
    return kernels.with_columns(
        pl.coalesce(pl.col(name).cast(dtype), described[name].cast(dtype)).alias(name)
        for name, dtype in types.items()
    )


def _single_calls(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the batches with one call by start: their thread, start_ns, end_ns and OF_PAIRS."""
    named = pl.col("name").cast(pl.String)
    batches = spans.filter(named == _BATCH).select(
        *_THREAD, "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns")
    )
    is_pair = (named == _CALL) & pl.col("collective").cast(pl.String).is_in(["send", "recv"])
    calls = spans.filter(is_pair).select(*_THREAD, *OF_PAIRS, called_ns="start_ns")
    batched = calls.sort("called_ns").join_asof(
        batches.sort("start_ns"),
        left_on="called_ns",
        right_on="start_ns",
        by=_THREAD,
        strategy="forward",
        check_sortedness=False,
    )
    single = batched.drop_nulls("start_ns").filter(pl.len().over(*_THREAD, "start_ns") == 1)
    return single.drop("called_ns").sort("start_ns")
