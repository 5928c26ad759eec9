"""Tying device work to the API call that started it, and through it to span and step."""

from __future__ import annotations

import polars as pl

_KEY = ("process_id", "correlation_id")
_HAS_ID = pl.col("correlation_id").fill_null(0) != 0
"""0 is CUPTI's word for no correlation."""


def link_work(work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Device work with api_call_id, span_id, step and link, matched on process and correlation id.

    A runtime call and the driver call below it may carry one correlation id: the one that starts work wins, the outer
    one of two. Work whose call is not there counts as pre_window when it started before the first recorded call did,
    or its correlation id is below every recorded one (ids count up), else as unlinked.
    """
    starts_work = pl.col("kind").is_in(["kernel_launch", "graph_launch", "memcpy", "memset"])
    keyed = (
        calls.filter(_HAS_ID)
        .sort(starts_work, "start_ns", "duration_ns", descending=[True, False, True])
        .unique([*_KEY], keep="first", maintain_order=True)
        .select(*_KEY, "api_call_id", "span_id", "step", call_kind="kind")
    )
    known = calls.group_by("process_id").agg(
        first_correlation=pl.col("correlation_id").filter(pl.col("correlation_id") > 0).min(),
        first_call_ns=pl.col("start_ns").min(),
    )
    earlier_id = _HAS_ID & (pl.col("correlation_id") < pl.col("first_correlation"))
    before = earlier_id.fill_null(value=False) | (pl.col("start_ns") < pl.col("first_call_ns"))
    return (
        work.drop("api_call_id", "span_id", "step", "link", strict=False)
        .join(keyed, on=[*_KEY], how="left", maintain_order="left")
        .join(known, on="process_id", how="left", maintain_order="left")
        .with_columns(
            link=pl.when(pl.col("call_kind") == "graph_launch")
            .then(pl.lit("graph"))
            .when(pl.col("api_call_id").is_not_null())
            .then(pl.lit("launched"))
            .when(before.fill_null(value=False))
            .then(pl.lit("pre_window"))
            .otherwise(pl.lit("unlinked"))
        )
        .drop("call_kind", "first_correlation", "first_call_ns")
    )


def fill_process(work: pl.DataFrame, calls: pl.DataFrame, fallback: int) -> pl.DataFrame:
    """Device work of a source that names no process with the process of its call, else the trace's main process.

    Correlation ids are unique within a process only: work whose id several processes used gets process -1, so that it
    stays unlinked instead of landing on the wrong one.
    """
    if "process_id" in work.columns:
        return work
    owners = (
        calls.filter(_HAS_ID)
        .group_by("correlation_id")
        .agg(process_id=pl.when(pl.col("process_id").n_unique() == 1).then(pl.col("process_id").first()).otherwise(-1))
    )
    return work.join(owners, on="correlation_id", how="left", maintain_order="left").with_columns(
        pl.col("process_id").fill_null(fallback)
    )
