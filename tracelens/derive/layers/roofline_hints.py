"""What the roofline's rows say to change: products in float32, and ops that only move memory."""

import polars as pl

from tracelens.derive.kernels.op_families import signatures
from tracelens.derive.kernels.peaks import peaks_of
from tracelens.trace import Trace

_LEAST = 0.02
"""The least share of kernel time that a hint is about."""
_FUSED = ("elementwise", "copy", "dropout")
"""Families of ops that a compiler joins to their neighbours."""


def roofline_hints(trace: Trace, rows: pl.DataFrame, total_ns: int) -> list[str]:
    """Return sentences on modelled rows of the roofline, each with its time and what it would save.

    `rows` are those of ops: rank, device_id, op, precision, flops, needed_flops, least_bytes,
    duration_total_ns, n_calls, gain_ns and bound; `total_ns` is all kernel time.
    """
    if not total_ns:
        return []
    return [*_in_float32(trace, rows, total_ns), *_moving(rows, total_ns)]


def _in_float32(trace: Trace, rows: pl.DataFrame, total: int) -> list[str]:
    """Say what products in float32 would save on tensor cores, at most."""
    products = rows.filter(pl.col("precision") == "fp32", pl.col("flops") > 0)
    devices = trace.devices.select("rank", "device_id", "name").iter_rows()
    names = {(rank, device): name for rank, device, name in devices}
    saved = taken = 0.0
    for row in products.iter_rows(named=True):
        peaks = peaks_of(names.get((row["rank"], row["device_id"]), ""), None)
        fast = None if peaks is None else peaks.flops_per_s.get("tf32")
        if peaks is None or fast is None or row["least_bytes"] is None:
            continue
        least = max(row["needed_flops"] / fast, row["least_bytes"] / peaks.bandwidth_bytes_per_s)
        taken += row["duration_total_ns"]
        saved += max(0.0, row["duration_total_ns"] - 1e9 * least)
    if taken < _LEAST * total:
        return []
    sentence = (
        f"Products and convolutions in float32 without tensor cores take {taken / 1e6:,.3f} ms"
        f" ({taken / total:.1%} of kernel time): with TF32 (allow_tf32,"
        f" set_float32_matmul_precision) or autocast up to {saved / 1e6:,.3f} ms less."
    )
    return [sentence]


def _moving(rows: pl.DataFrame, total: int) -> list[str]:
    """Say what ops cost that read and write memory for little arithmetic, one after the other."""
    families = {op: family for op, (family, _) in signatures().items()}
    family = pl.col("op").replace_strict(families, default=None, return_dtype=pl.String)
    moving = rows.filter(family.is_in(_FUSED), pl.col("bound") == "memory")
    taken = int(moving["duration_total_ns"].sum())
    if taken < 5 * _LEAST * total:
        return []
    gain = float(moving["gain_ns"].sum())
    sentence = (
        f"Elementwise ops and copies, which memory bounds, take {taken / 1e6:,.3f} ms"
        f" ({taken / total:.1%} of kernel time) in {int(moving['n_calls'].sum()):,} calls, of it"
        f" {gain / 1e6:,.3f} ms above their own roof: fused (torch.compile), a chain reads and"
        " writes memory once."
    )
    return [sentence]
