"""Sum the cost of copies: bytes, bandwidth, time that no kernel hides, and possible savings."""

from typing import Any

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, SplitBars, named
from tracelens.derive.columns.intervals import covered_ns, durations
from tracelens.derive.columns.ratios import over
from tracelens.derive.columns.time_text import duration
from tracelens.derive.kernels.copy_casts import casts_after_copies
from tracelens.derive.time.migrations import (
    migrations,
    stalls_by_place,
    touched_by_host,
    waiting_kernels,
)
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import COPY_COST
from tracelens.trace import Trace

_KEY = ["rank", "direction", "source_memory", "destination_memory", "step"]
_WAYS = {"h2d": "to the device", "d2h": "to the host", "d2d": "between devices"}
_MOST_PLACES = 3
_PINNED_BYTES = 64 << 10
"""Copies below this size are limited by latency, not bandwidth.

Pinned memory does not speed up such copies, and such copies do not show its bandwidth.
"""


def copy_cost(trace: Trace, base: Trace | None = None) -> pl.DataFrame:
    """Sum copies: one row per rank, direction, pair of memory kinds and step.

    Rows with step None are for the whole trace. The bandwidth of pinned copies comes from `trace`,
    or from `base` for directions without a pinned copy in `trace`. Raises MissingTableError if the
    trace has no copy.
    """
    if not trace.has("memcpys"):
        raise MissingTableError(
            "copy_cost needs the table memcpys, empty here: the capture holds no copy; make the"
            " input's copy inside the profiled region, and tracelens collect torch or nsys gives it"
        )
    copies = _with_casts(trace)
    kernels = trace.select("kernels", "rank", "device_id", "start_ns", "duration_ns")
    hidden_ns = covered_ns(copies, kernels, ["rank", "device_id"])
    size = pl.col("size_bytes")
    ns = pl.col("duration_ns")
    is_large = size >= _PINNED_BYTES
    copies = copies.with_columns(exposed_ns=ns - hidden_ns)
    in_steps = copies.filter(pl.col("step").is_not_null())
    of_whole_trace = copies.with_columns(step=pl.lit(None, pl.Int64))
    sums = (
        pl.concat([of_whole_trace, in_steps])
        .group_by(_KEY)
        .agg(
            *durations(),
            pl.col("size_bytes", "exposed_ns").sum(),
            # Copies whose size the source does not record
            n_unsized=(size == 0).sum().cast(pl.Int64),
            sized_ns=ns.filter(size > 0).sum(),
            wasted_bytes=pl.col("wasted").sum(),
            wasteful_dtype=pl.col("dtype").drop_nulls().mode().min(),
            large_bytes=size.filter(is_large).sum(),
            small_ns=ns.filter(~is_large).sum(),
        )
    )
    rates = _pinned_rates(trace)
    if base is not None:
        rates_of_base = _pinned_rates(base).join(rates, on="direction", how="anti")
        rates = pl.concat([rates, rates_of_base])
    memories = pl.col("source_memory", "destination_memory")
    is_pageable = pl.any_horizontal(memories == "pageable")
    large_ns = (pl.col("large_bytes") / pl.col("pinned_rate") * 1e9).round().cast(pl.Int64)
    frame = sums.join(rates, on="direction", how="left").with_columns(
        bandwidth_bytes_per_s=1e9 * over(size, pl.col("sized_ns")),
        pinned_ns=pl.when(is_pageable).then(pl.col("small_ns") + large_ns),
    )
    return COPY_COST.conform(frame.sort(_KEY, nulls_last=False))


def _with_casts(trace: Trace) -> pl.DataFrame:
    """Return the copies, each with the dtype cast that follows the copy, if there is one.

    Column `wasted` has the bytes that would be saved if the cast came before the copy. It is 0 for
    a copy that no cast follows.
    """
    wasted = pl.col("elements") * (pl.col("read_bytes") - pl.col("written_bytes"))
    casts = casts_after_copies(trace)
    with_casts = trace.memcpys.join(casts, on=["rank", "memcpy_id"], how="left")
    return with_casts.with_columns(wasted=wasted.fill_null(0))


def _pinned_rates(trace: Trace) -> pl.DataFrame:
    """Return direction and pinned_rate: the bytes per second of large copies of pinned memory."""
    memories = pl.col("source_memory", "destination_memory")
    is_pinned = pl.any_horizontal(memories == "pinned")
    pinned = trace.memcpys.filter(is_pinned, pl.col("size_bytes") >= _PINNED_BYTES)
    sums = pinned.group_by("direction").agg(pl.col("size_bytes", "duration_ns").sum())
    rate = 1e9 * over(pl.col("size_bytes"), pl.col("duration_ns"))
    return sums.select("direction", pinned_rate=rate).drop_nulls()


def notes(trace: Trace, frame: pl.DataFrame, _base: Trace | None = None) -> list[str]:
    """Describe casts that discard copied bytes, and pageable memory that delays the device."""
    sentences = []
    kinds = ["rank", "direction", "source_memory", "destination_memory"]
    casts = (
        _with_casts(trace)
        .drop_nulls("read_bytes")
        .group_by(kinds)
        .agg(
            pl.len().alias("n_casts"),
            pl.col("read_bytes", "written_bytes").mode().min(),
            pl.col("is_recorded").all(),
        )
    )
    moved = _about_pages(trace)
    rows = frame.filter(pl.col("step").is_null() & (pl.col("direction") == "h2d"))
    for row in rows.join(casts, on=kinds, how="left", maintain_order="left").iter_rows(named=True):
        where = f"Rank {row['rank']}, {row['direction']} from {row['source_memory']} memory"
        if row["n_casts"]:
            certainty = "recorded as" if row["is_recorded"] else "consistent with"
            sentences.append(
                f"{where}: {row['n_casts']:,} of {row['n_calls']:,} copies are each followed by a"
                f" cast that reads {row['read_bytes']} bytes an element and writes"
                f" {row['written_bytes']}, {certainty} a {row['wasteful_dtype']} batch:"
                f" {row['wasted_bytes'] / row['size_bytes']:.0%} of the bytes copied are waste."
                " Cast before copying."
            )
        if row["n_unsized"]:
            sentences.append(
                f"{where}: {row['n_unsized']:,} of {row['n_calls']:,} copies have no known size;"
                " they count in the times, but not in bytes and bandwidth."
            )
        if row["source_memory"] == "pageable":
            sentences.append(_about_pinning(where, row))
        elif row["source_memory"] != "managed" or not moved:
            sentences.append(
                f"{where}: {_gigabytes(row)}; {duration(row['exposed_ns'])} of"
                f" {duration(row['duration_total_ns'])} are not hidden by kernels."
            )
    return sentences + moved


def _about_pages(trace: Trace) -> list[str]:
    """Say how often pages of managed memory moved, and where kernels waited for them."""
    moves = migrations(trace)
    sentences = []
    for (rank,), part in moves.group_by("rank", maintain_order=True):
        ways = [
            f"{there.height:,} times {words}, {int(there['size_bytes'].sum()) / 1e6:,.3f} MB in"
            f" {duration(int(there['duration_ns'].sum()))}"
            for direction, words in _WAYS.items()
            if (there := part.filter(pl.col("direction") == direction)).height
        ]
        sentence = f"Rank {rank}: pages of managed memory move {' and '.join(ways)}"
        waiting = waiting_kernels(trace, part)
        if waiting.height:
            places = stalls_by_place(trace, waiting)
            shown = ", ".join(f"{duration(ns)} in {what}" for what, ns in places[:_MOST_PLACES])
            sentence += (
                f"; {waiting.height:,} kernels wait for them, for"
                f" {duration(int(waiting['stalled_ns'].sum()))} ({shown})"
            )
        back = touched_by_host(trace, part)
        if back:
            shown = ", ".join(
                f"{size / 1e6:,.3f} MB in {what}" for what, size in back[:_MOST_PLACES]
            )
            sentence += f"; back to the host {shown}"
        sentences.append(
            f"{sentence}. Move them before they are used (cudaMemPrefetchAsync), or copy from pinned"
            " memory."
        )
    return sentences


def _gigabytes(row: dict[str, Any]) -> str:
    rate = row["bandwidth_bytes_per_s"]
    return (
        "no bandwidth to tell (the copies took no time, or have no size)"
        if rate is None
        else f"{rate / 1e9:.1f} GB/s"
    )


def _about_pinning(where: str, row: dict[str, Any]) -> str:
    seen = f"{where}: {_gigabytes(row)}."
    if row["pinned_ns"] is None:
        return (
            f"{seen} Pinned memory is faster and can overlap; no pinned copy was seen, so what it"
            " would save is not known (compare with a trace that pins: --against)."
        )
    saved = row["duration_total_ns"] - row["pinned_ns"]
    if saved <= 0:
        return f"{seen} Pinning would not make these copies faster, but lets them overlap."
    without_waste = row["pinned_ns"] * (1 - row["wasted_bytes"] / row["size_bytes"])
    both = f" ({duration(without_waste)} without the waste)" if row["wasted_bytes"] else ""
    return (
        f"{seen} At the pinned bandwidth seen the same bytes take {duration(row['pinned_ns'])}"
        f"{both} instead of {duration(row['duration_total_ns'])}: pinning would save"
        f" {duration(saved)}, and let the copy overlap."
    )


def _charts(frame: pl.DataFrame) -> list[Chart]:
    # If single steps have rows, the whole trace has rows as well.
    has_whole_trace = frame["step"].null_count() > 0
    rows = frame.filter(pl.col("step").is_null()) if has_whole_trace else frame
    copies = rows.with_columns(hidden_ns=pl.col("duration_total_ns") - pl.col("exposed_ns"))
    names = named(copies, "direction", "source_memory", "destination_memory")
    return [
        SplitBars(
            "Copy time",
            copies,
            names,
            {"exposed_ns": "exposed", "hidden_ns": "hidden behind kernels"},
        ),
        Bars("Bytes copied", copies, names, "size_bytes"),
        Bars("Bandwidth", copies, names, "bandwidth_bytes_per_s"),
    ]


ANALYSIS = Analysis(
    "What do copies cost, and what would better ones save?",
    COPY_COST,
    copy_cost,
    notes=notes,
    shown=(
        "rank",
        "direction",
        "source_memory",
        "destination_memory",
        "step",
        "n_calls",
        "size_bytes",
        "duration_total_ns",
        "bandwidth_bytes_per_s",
        "exposed_ns",
        "pinned_ns",
        "wasteful_dtype",
        "wasted_bytes",
    ),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
