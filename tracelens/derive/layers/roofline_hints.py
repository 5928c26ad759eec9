"""Say in sentences how near a program is to its roofline, and what would bring it nearer.

`rows` and `calls` are rows of the analysis `roofline`.
"""

import polars as pl

from tracelens.derive.columns.time_text import duration
from tracelens.derive.kernels.peaks import peaks_of
from tracelens.derive.layers.roofline_rules import is_fusible
from tracelens.trace import Trace

_LEAST_HINTED = 0.02
"""Notes give a hint on float32 matrix products that take at least this share of kernel time.

For elementwise ops and copies, the share is five times as large.
"""
_NEAR = 0.8
"""An op counts as near its roof if it reaches this share of the roof."""


def nearness(calls: pl.DataFrame, total: int) -> list[str]:
    """Give the share of kernel time near its roof, and the ops that would gain most."""
    rated = calls.drop_nulls("gain_ns")
    rates = calls.filter(pl.col("gain_ns").is_null() & pl.col("peak_frac").is_not_null())
    unknown = int(rates["duration_total_ns"].sum())
    sentences = [
        f"{unknown / total:.1%} of kernel time is attention to contexts of unknown length, or with"
        " a mask that is not recorded: its bytes and operations are the least possible, and its"
        f" gain is not known.{_upper_bound(rates)}"
        for _ in range(unknown > 0)
    ]
    if not rated.height or not total:
        return sentences
    near = int(rated.filter(pl.col("peak_frac") >= _NEAR)["duration_total_ns"].sum())
    gain = float(rated["gain_ns"].sum())
    best = (
        rated.group_by("op", maintain_order=True)
        .agg(pl.col("gain_ns").sum())
        .top_k(3, by="gain_ns")
    )
    most = ", ".join(f"{op} {duration(saved)}" for op, saved in best.iter_rows() if saved > 0)
    sentence = (
        f"{near / total:.1%} of kernel time is within 20 % of its roof. At its roof, the rest would"
        f" take {duration(gain)} less ({gain / total:.1%} of kernel time); most to gain:"
        f" {most or 'nothing'}."
    )
    return [sentence, *sentences]


def _upper_bound(rows: pl.DataFrame) -> str:
    """Return a sentence on the most bytes that attention with unknown context lengths can move.

    It is empty if there is no such limit.
    """
    bounded = rows.drop_nulls("most_bytes")
    if not bounded.height:
        return ""
    least, most = (float(bounded[name].sum()) / 1e6 for name in ("least_bytes", "most_bytes"))
    return (
        f" By the sizes of caches and block tables, {', '.join(bounded['op'].unique().sort())} moves"
        f" {least:,.1f} to {most:,.1f} MB."
    )


def hints(trace: Trace, rows: pl.DataFrame, total_ns: int) -> list[str]:
    """Return hints on float32 products and memory-bound ops, with their times and savings.

    `rows` are the roofline's rows of modelled ops. `total_ns` is all kernel time.
    """
    if not total_ns:
        return []
    return [*_in_float32(trace, rows, total_ns), *_moving(rows, total_ns)]


def _in_float32(trace: Trace, rows: pl.DataFrame, total: int) -> list[str]:
    """Give the most that float32 products would save if they ran on tensor cores."""
    products = rows.filter(
        pl.col("precision") == "fp32",
        pl.col("flops") > 0,
    )
    devices = trace.devices.select("rank", "device_id", "name").iter_rows()
    names = {(rank, device): name for rank, device, name in devices}
    saved = taken = 0.0
    for row in products.iter_rows(named=True):
        peaks = peaks_of(names.get((row["rank"], row["device_id"]), ""), None)
        fast = None if peaks is None else peaks.flops_per_s.get("tf32")
        if peaks is None or fast is None or row["least_bytes"] is None:
            continue
        least = max(
            row["needed_flops"] / fast,
            row["least_bytes"] / peaks.bandwidth_bytes_per_s,
        )
        taken += row["duration_total_ns"]
        saved += max(0.0, row["duration_total_ns"] - 1e9 * least)
    if taken < _LEAST_HINTED * total:
        return []
    sentence = (
        f"Products and convolutions in float32 without tensor cores take {duration(taken)}"
        f" ({taken / total:.1%} of kernel time): with TF32 (allow_tf32,"
        f" set_float32_matmul_precision) or autocast up to {duration(saved)} less."
    )
    return [sentence]


def _moving(rows: pl.DataFrame, total: int) -> list[str]:
    """Give the time of ops that read and write memory for little arithmetic."""
    moving = rows.filter(
        is_fusible(),
        pl.col("roof") == "memory",
    )
    taken = int(moving["duration_total_ns"].sum())
    if taken < 5 * _LEAST_HINTED * total:
        return []
    gain = float(moving["gain_ns"].sum())
    sentence = (
        f"Elementwise ops and copies, which are bound by memory, take {duration(taken)}"
        f" ({taken / total:.1%} of kernel time) in {int(moving['n_calls'].sum()):,} calls,"
        f" {duration(gain)} more than at their roof: fused (torch.compile), a chain of them"
        " reads and writes memory once."
    )
    return [sentence]
