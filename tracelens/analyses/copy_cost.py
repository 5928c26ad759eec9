"""What copies cost: bytes, bandwidth, what of it nothing hides, and what a better copy would save."""

from __future__ import annotations

import polars as pl

from tracelens.derive.casts import casts_after_copies, wider_dtype
from tracelens.derive.intervals import covered_ns, durations
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import COPY_COST
from tracelens.trace import Trace

_KEY = ["rank", "direction", "source_memory", "destination_memory", "step"]
_PINNED_BYTES = 64 << 10
"""Copies below this are latency, not bandwidth, and say nothing of what pinned memory can do."""


def copy_cost(trace: Trace, base: Trace | None = None) -> pl.DataFrame:
    """A row a direction, pair of memory kinds and step (null: the whole trace) of each rank.

    Pinned bandwidth is taken from `trace`, or where it has no pinned copy from `base`. Raises MissingTableError when
    the trace holds no copy.
    """
    if not trace.has("memcpys"):
        raise MissingTableError(
            "copy_cost needs the table memcpys, empty here: the capture holds no copy; to see the input's copy, "
            "make it inside the profiled region"
        )
    copies = trace.memcpys.join(casts_after_copies(trace), on=["rank", "memcpy_id"], how="left")
    kernels = trace.kernels.select("rank", "device_id", "start_ns", "duration_ns")
    hidden = covered_ns(copies, kernels, ["rank", "device_id"])
    wasted = pl.col("elements") * (pl.col("read_bytes") - pl.col("written_bytes"))
    copies = copies.with_columns(
        exposed=pl.col("duration_ns") - hidden, wasted=wasted.fill_null(0), dtype=wider_dtype(pl.col("read_bytes"))
    )
    both = pl.concat([copies.with_columns(step=pl.lit(None, pl.Int64)), copies.filter(pl.col("step").is_not_null())])
    frame = (
        both.group_by(_KEY)
        .agg(
            *durations(),
            size_bytes=pl.col("size_bytes").sum(),
            exposed_ns=pl.col("exposed").sum(),
            wasted_bytes=pl.col("wasted").sum(),
            wasteful_dtype=pl.col("dtype").drop_nulls().mode().min(),
        )
        .with_columns(bandwidth_bytes_per_s=_bandwidth(pl.col("size_bytes"), pl.col("duration_total_ns")))
    )
    rates = _pinned_rates(trace)
    if base is not None and not rates.height:
        rates = _pinned_rates(base)
    pageable = (pl.col("source_memory") == "pageable") | (pl.col("destination_memory") == "pageable")
    frame = frame.join(rates, on="direction", how="left").with_columns(
        pinned_ns=pl.when(pageable).then((pl.col("size_bytes") / pl.col("rate") * 1e9).round().cast(pl.Int64))
    )
    return COPY_COST.conform(frame.sort(_KEY, nulls_last=False))


def _bandwidth(size: pl.Expr, ns: pl.Expr) -> pl.Expr:
    return pl.when(ns > 0).then(size / ns * 1e9)


def _pinned_rates(trace: Trace) -> pl.DataFrame:
    """Direction and bytes per second of copies between pinned host memory and the device."""
    pinned = trace.memcpys.filter(
        ((pl.col("source_memory") == "pinned") | (pl.col("destination_memory") == "pinned"))
        & (pl.col("size_bytes") >= _PINNED_BYTES)
    )
    sums = pinned.group_by("direction").agg(pl.col("size_bytes", "duration_ns").sum())
    return sums.select("direction", rate=_bandwidth(pl.col("size_bytes"), pl.col("duration_ns"))).drop_nulls()


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """The findings: casts that throw copied bytes away, pageable memory, and how much of it delays the device."""
    found = []
    for row in frame.filter(pl.col("step").is_null()).iter_rows(named=True):
        where = f"Rank {row['rank']}, {row['direction']} from {row['source_memory']} memory"
        if row["wasteful_dtype"]:
            casts = casts_after_copies(trace).filter(pl.col("rank") == row["rank"])
            read, written = casts.select(pl.max("read_bytes", "written_bytes")).row(0)
            found.append(
                f"{where}: {casts.height} of {row['n_calls']} copies are followed by a cast that reads {read} bytes an "
                f"element and writes {written}, consistent with a {row['wasteful_dtype']} batch: "
                f"{row['wasted_bytes'] / row['size_bytes']:.0%} of the bytes copied are waste. Cast before copying."
            )
        if row["direction"] == "h2d" and row["source_memory"] == "pageable" and row["duration_total_ns"]:
            found.append(_about_pinning(where, row))
        elif row["direction"] == "h2d":
            found.append(
                f"{where}: {row['bandwidth_bytes_per_s'] / 1e9:.1f} GB/s; {row['exposed_ns'] / 1e6:.3f} ms of "
                f"{row['duration_total_ns'] / 1e6:.3f} ms are not hidden by kernels."
            )
    return found


def _about_pinning(where: str, row: dict[str, float]) -> str:
    """What pinned memory would save, as far as a pinned copy was seen."""
    seen = f"{where}: {row['bandwidth_bytes_per_s'] / 1e9:.1f} GB/s."
    if row["pinned_ns"] is None:
        return (
            f"{seen} Pinned memory is faster and can overlap; no pinned copy was seen, so what it would save is not "
            "known (compare with a trace that pins: --against)."
        )
    saved = row["duration_total_ns"] - row["pinned_ns"]
    return (
        f"{seen} At the pinned bandwidth seen the same bytes take {row['pinned_ns'] / 1e6:.3f} ms instead of "
        f"{row['duration_total_ns'] / 1e6:.3f} ms: pinning would save {saved / 1e6:.3f} ms, and let the copy overlap."
    )
