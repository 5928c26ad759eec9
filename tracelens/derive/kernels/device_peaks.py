"""Look up the peak FLOP rates and bandwidths of a trace's devices."""

import polars as pl

from tracelens.derive.kernels.peaks import PRECISIONS, Peaks, peaks_of
from tracelens.errors import SourceError
from tracelens.trace import Trace

DEVICE_KEY = ("rank", "device_id")


def device_peaks(trace: Trace, given: Peaks | None) -> pl.DataFrame:
    """Return the peak rates of each device, one row per device and precision.

    - rank, device_id, precision
    - peak_flops_per_s, peak_bytes_per_s: None if unknown
    - evidence: source of the peak, or the reason why it is unknown
    - source: source of the device's peaks, None if unknown

    Raises SourceError if the trace has no device of the name in `given`.
    """
    devices = trace.devices.select(*DEVICE_KEY, "name").unique(
        DEVICE_KEY, keep="first", maintain_order=True
    )
    names = devices["name"].unique(maintain_order=True).to_list()
    if given is not None and given.device not in names:
        raise SourceError(
            f"the peaks are of {given.device}, and the trace is of"
            f" {', '.join(names) or 'no known device'}; run tracelens peaks there"
        )
    rows = []
    for rank, device, name in devices.iter_rows():
        peaks = peaks_of(name, given)
        for precision in (*PRECISIONS, None):
            rate = None if peaks is None or precision is None else peaks.flops_per_s.get(precision)
            rows.append(
                (
                    rank,
                    device,
                    precision,
                    rate,
                    None if peaks is None else peaks.bandwidth_bytes_per_s,
                    _evidence(name, peaks, precision, rate),
                    None if peaks is None else peaks.source,
                )
            )
    schema = {
        "rank": pl.Int32,
        "device_id": pl.Int32,
        "precision": pl.String,
        "peak_flops_per_s": pl.Float64,
        "peak_bytes_per_s": pl.Float64,
        "evidence": pl.String,
        "source": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _evidence(
    name: str,
    peaks: Peaks | None,
    precision: str | None,
    rate: float | None,
) -> str:
    """Return the source of a device's peak, or why it is unknown."""
    if peaks is None:
        return f"no peaks of {name} are known; measure them with tracelens peaks"
    if rate is None:
        return f"no peak of {precision or 'this element type'}: {peaks.source}"
    return peaks.source


def roof_ns() -> pl.Expr:
    """Return the least time of a call in ns by the roofline, from its work and its device's peaks.

    The time is None if the bytes or the bandwidth are unknown. For a call that computes products,
    the time is also None if the peak of FLOPs is unknown.
    """
    flops, moved = (
        1e9 * pl.col("needed_flops") / pl.col("peak_flops_per_s"),
        1e9 * pl.col("least_bytes") / pl.col("peak_bytes_per_s"),
    )
    is_known = moved.is_not_null() & (flops.is_not_null() | (pl.col("flops") == 0))
    return pl.when(is_known).then(pl.max_horizontal(flops, moved))
