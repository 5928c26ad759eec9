"""Read peak rates of devices, measured on the device or from its datasheet."""

import tomllib
from collections.abc import Mapping
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tracelens.errors import SourceError, first_line

_DATASHEETS = Path(__file__).with_name("datasheets.toml")
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8")
"""Precisions of products for which peaks are known."""


class Peaks(Struct, frozen=True):
    """Holds the peak rates of a device, and their source."""

    device: str
    flops_per_s: Mapping[str, float]  # by precision
    bandwidth_bytes_per_s: float
    source: str
    link_bytes_per_s: float | None = None  # to other devices, in one direction


class _File(msgspec.Struct):
    """Holds what `read_peaks` reads from a file that `tracelens peaks` wrote."""

    device: str
    date: str
    flops_per_s: dict[str, float]
    bandwidth_bytes_per_s: float
    torch: str = ""
    link_bytes_per_s: float | None = None


def read_peaks(path: Path) -> Peaks:
    """Return the peaks in a file of `tracelens peaks`. Raises SourceError if it is malformed."""
    again = f"write it with tracelens peaks --out {path.name}"
    try:
        measured = msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}; {again}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(
            f"{path}: expected peaks as JSON, found {first_line(error)}; {again}"
        ) from error
    rates = {"bandwidth": measured.bandwidth_bytes_per_s, **measured.flops_per_s}
    rates |= {} if measured.link_bytes_per_s is None else {"link": measured.link_bytes_per_s}
    for name, rate in rates.items():
        if not (isfinite(rate) and rate > 0):
            raise SourceError(f"{path}: expected a peak above 0 of {name}, found {rate}; {again}")
    source = f"measured on {measured.date} with torch {measured.torch}"
    return Peaks(
        measured.device,
        measured.flops_per_s,
        measured.bandwidth_bytes_per_s,
        source,
        measured.link_bytes_per_s,
    )


def peaks_of(device: str, given: Peaks | None) -> Peaks | None:
    """Return the peaks of a device by its name, None if unknown.

    If `given` is of a device with this name, it is returned. Otherwise the device's datasheet is
    used.
    """
    if given is not None and given.device == device:
        return given
    name = device.removeprefix("NVIDIA ").removeprefix("Tesla ").removesuffix(" OAM")
    row = _datasheets().get(name)
    if row is None:
        return None
    known = {precision: row[precision] * 1e12 for precision in PRECISIONS if precision in row}
    return Peaks(
        device,
        known,
        row["gb_per_s"] * 1e9,
        row["source"],
    )


@cache
def _datasheets() -> Mapping[str, Mapping[str, Any]]:
    """Return the datasheet of each device, by the device's name without the maker."""
    return tomllib.loads(_DATASHEETS.read_text(encoding="utf-8"))
