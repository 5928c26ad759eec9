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
    key = _narrowest_key(work, calls)
    callers = calls.filter(_HAS_ID).select(*_KEY, "api_call_id", "span_id", "step", "start_ns", "duration_ns", "kind")
    starts_work = pl.col("kind").is_in(["kernel_launch", "graph_launch", "memcpy", "memset"])
    keyed = _one_a_key(callers.filter(starts_work), key)
    # Nearly all work is found among the calls that start work; only what is left is looked for among the others.
    left = work.select(*_KEY).filter(_HAS_ID).join(keyed, on=key, how="anti")
    if left.height:
        others = callers.filter(~starts_work).join(left, on=key, how="semi")
        keyed = pl.concat([keyed, _one_a_key(others, key)])
    keyed = keyed.select(*key, "api_call_id", "span_id", "step", call_kind="kind")
    known = calls.group_by("process_id").agg(
        first_correlation=pl.col("correlation_id").filter(pl.col("correlation_id") > 0).min(),
        first_call_ns=pl.col("start_ns").min(),
    )
    earlier_id = _HAS_ID & (pl.col("correlation_id") < pl.col("first_correlation"))
    before = earlier_id.fill_null(value=False) | (pl.col("start_ns") < pl.col("first_call_ns"))
    # Keys alone are joined: the columns of the work itself stay where they are.
    link = (
        work.select(*_KEY, "start_ns")
        .join(keyed, on=key, how="left", maintain_order="left")
        .join(known, on="process_id", how="left", maintain_order="left")
        .select(
            "api_call_id",
            "span_id",
            "step",
            link=pl.when(pl.col("call_kind") == "graph_launch")
            .then(pl.lit("graph", pl.Categorical))
            .when(pl.col("api_call_id").is_not_null())
            .then(pl.lit("launched", pl.Categorical))
            .when(before.fill_null(value=False))
            .then(pl.lit("pre_window", pl.Categorical))
            .otherwise(pl.lit("unlinked", pl.Categorical)),
        )
    )
    return work.with_columns(link.get_columns())


def _narrowest_key(work: pl.DataFrame, calls: pl.DataFrame) -> list[str]:
    """The columns to match on: correlation id alone where all is of one process, which joins five times as fast."""
    processes = pl.concat([work["process_id"].unique(), calls["process_id"].unique()])
    return ["correlation_id"] if processes.n_unique() == 1 else [*_KEY]


def _one_a_key(callers: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """The calls, and of those with one key the first, the outer of two that start together."""
    if callers.select(key).n_unique() == callers.height:
        return callers
    ordered = callers.sort("start_ns", "duration_ns", descending=[False, True])
    return ordered.unique(key, keep="first", maintain_order=True)


def fill_process(work: pl.DataFrame, calls: pl.DataFrame, fallback: int) -> pl.DataFrame:
    """Device work of a source that names no process with the process of its call, else the trace's main process.

    Correlation ids are unique within a process only: work whose id several processes used gets process -1, so that it
    stays unlinked instead of landing on the wrong one.
    """
    if "process_id" in work.columns:
        return work
    # The common case, a program of one process, needs no look at the calls' ids.
    if calls["process_id"].min() == calls["process_id"].max() == fallback:
        return work.with_columns(process_id=pl.lit(fallback, pl.Int64))
    process = pl.col("process_id")
    owners = (
        calls.filter(_HAS_ID)
        .group_by("correlation_id")
        .agg(process_id=pl.when(process.min() == process.max()).then(process.min()).otherwise(-1))
    )
    found = work.select("correlation_id").join(owners, on="correlation_id", how="left", maintain_order="left")
    return work.with_columns(found["process_id"].fill_null(fallback))
