"""Peaks of devices: measured on the device, else from its maker's datasheet."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from tracelens.errors import SourceError, first_line

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8")
"""Precisions of products for which peaks are known."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """Peaks of the device of that name.

    They are operations per second by precision, bytes per second, and the source of the numbers.
    `link_bytes_per_s` is the bandwidth of its links to other devices in one direction, where
    stated.
    """

    device: str
    flops_per_s: Mapping[str, float]
    bandwidth_bytes_per_s: float
    source: str
    link_bytes_per_s: float | None = None


class _File(msgspec.Struct):
    """The part of a file of `tracelens measure-peaks` that is read."""

    device: str
    date: str
    flops_per_s: dict[str, float]
    bandwidth_bytes_per_s: float
    torch: str = ""
    link_bytes_per_s: float | None = None


def read_peaks(path: Path) -> Peaks:
    """Return the peaks in a file of `tracelens measure-peaks`.

    Raises SourceError where it holds none.
    """
    again = f"write it with tracelens measure-peaks --out {path.name}"
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

    Given peaks count for the device that they were measured on; others have those of the datasheet.
    """
    if given is not None and given.device == device:
        return given
    name = device.removeprefix("NVIDIA ").removeprefix("Tesla ").removesuffix(" OAM")
    row = _DATASHEETS.get(name)
    if row is None:
        return None
    source, bandwidth, *rates = row
    given_rates = zip(PRECISIONS, [*rates, _INT8.get(name)], strict=True)
    known = {name: rate * 1e12 for name, rate in given_rates if rate is not None}
    return Peaks(device, known, bandwidth * 1e9, source)


# Operations a second are of dense matrices, with sums in float32. Datasheets of Hopper and later
# give sparse ones, which are twice these. Source and date, GB/s, then TFLOP/s by precision.
_H200 = "datasheet: NVIDIA H200 Tensor Core GPU, 2024"
_H100 = "datasheet: NVIDIA H100 Tensor Core GPU, 2023"
_A100 = "datasheet: NVIDIA A100 Tensor Core GPU, 2021"
_V100 = "datasheet: NVIDIA V100 Tensor Core GPU, 2020"
_B300 = "NVIDIA HGX B300, 2025 (as listed at glennklockwood.com/garden/processors/B300)"
_RTX_5090 = (1792, 104.8, None, 209.5, 209.5, None)
# 8,192 FP8 operations a clock of each of 256 compute units (AMD at ISSCC 2026), half of that in
# 16 bits, 256 in float32; clocks of 2.4 and 2.2 GHz (AMD at Hot Chips 2025). TF32 is emulated.
_CDNA_4 = "AMD CDNA 4 architecture, 2025; ISSCC 2026"
_DATASHEETS: dict[str, tuple[Any, ...]] = {
    "B300": (_B300, 8000, 75, 1125, 2250, 2250, 4500),
    "B300 SXM6 AC": (_B300, 8000, 75, 1125, 2250, 2250, 4500),
    "B200": (
        "NVIDIA Blackwell architecture technical brief, 2024",
        8000,
        None,
        1125,
        2250,
        2250,
        4500,
    ),
    "H200": (_H200, 4800, 67, 494.5, 989.5, 989.5, 1979),
    "H100 80GB HBM3": (_H100, 3350, 67, 494.5, 989.5, 989.5, 1979),
    "H100 PCIe": (_H100, 2000, 51, 378, 756.5, 756.5, 1513),
    "A100-SXM4-80GB": (_A100, 2039, 19.5, 156, 312, 312, None),
    "A100 80GB PCIe": (_A100, 1935, 19.5, 156, 312, 312, None),
    "A100-SXM4-40GB": (_A100, 1555, 19.5, 156, 312, 312, None),
    "A100-PCIE-40GB": (_A100, 1555, 19.5, 156, 312, 312, None),
    "V100-SXM2-16GB": (_V100, 900, 15.7, None, None, 125, None),
    "V100-SXM2-32GB": (_V100, 900, 15.7, None, None, 125, None),
    "V100-PCIE-16GB": (_V100, 900, 14, None, None, 112, None),
    "V100-PCIE-32GB": (_V100, 900, 14, None, None, 112, None),
    "L40S": ("datasheet: NVIDIA L40S, 2023", 864, 91.6, 183, 362.05, 362.05, 733),
    "L4": ("datasheet: NVIDIA L4 Tensor Core GPU, 2023", 300, 30.3, 60, 121, 121, 242.5),
    "A10": ("datasheet: NVIDIA A10 Tensor Core GPU, 2021", 600, 31.2, 62.5, 125, 125, None),
    "T4": ("NVIDIA Turing GPU architecture (WP-09183-001), 2018", 320, 8.1, None, None, 65, None),
    "GeForce RTX 5090": ("NVIDIA RTX Blackwell GPU architecture, 2025", *_RTX_5090),
    "GeForce RTX 4090": (
        "NVIDIA Ada GPU architecture, 2022",
        1008,
        82.6,
        82.6,
        165.2,
        165.2,
        330.3,
    ),
    "GeForce RTX 3090": (
        "NVIDIA Ampere GA102 GPU architecture, 2020",
        936,
        35.6,
        35.6,
        71,
        71,
        None,
    ),
    "GeForce GTX 1080 Ti": (
        "NVIDIA Turing GPU architecture (WP-09183-001), 2018",
        484,
        11.3,
        None,
        None,
        None,
        None,
    ),
    "AMD Instinct MI355X": (_CDNA_4, 8000, 157.3, None, 2516.6, 2516.6, 5033.2),
    "AMD Instinct MI350X": (_CDNA_4, 8000, 144.2, None, 2306.9, 2306.9, 4613.7),
    "AMD Instinct MI325X": (
        "datasheet: AMD Instinct MI325X, 2024",
        6000,
        163.4,
        653.7,
        1307.4,
        1307.4,
        2614.9,
    ),
    "AMD Instinct MI300X": (
        "datasheet: AMD Instinct MI300X, 2023",
        5300,
        163.4,
        653.7,
        1307.4,
        1307.4,
        2614.9,
    ),
    "AMD Instinct MI250X": (
        "datasheet: AMD Instinct MI250X (half of it, the device that torch sees), 2021",
        1638.4,
        47.85,
        None,
        191.5,
        191.5,
        None,
    ),
    "AMD Instinct MI250": (
        "AMD Instinct MI250, 2021 (half of it, the device that torch sees)",
        1638.4,
        45.3,
        None,
        181,
        181,
        None,
    ),
    "AMD Instinct MI210": ("AMD Instinct MI210, 2022", 1638.4, 45.3, None, 181, 181, None),
}
_INT8 = {
    "B200": 4500,
    "H200": 1979,
    "H100 80GB HBM3": 1979,
    "H100 PCIe": 1513,
    "A100-SXM4-80GB": 624,
    "A100 80GB PCIe": 624,
    "A100-SXM4-40GB": 624,
    "A100-PCIE-40GB": 624,
    "L40S": 733,
    "L4": 242.5,
    "A10": 250,
    "T4": 130,
    "GeForce RTX 5090": 838,
    "GeForce RTX 4090": 660.6,
    "GeForce RTX 3090": 284,
    "AMD Instinct MI325X": 2614.9,
    "AMD Instinct MI300X": 2614.9,
    "AMD Instinct MI250X": 191.5,
    "AMD Instinct MI250": 181,
    "AMD Instinct MI210": 181,
}
"""Dense products of 8-bit integers in 10^12 operations per second, as their makers publish them.

Those of A100 (glennklockwood.com/garden/processors/A100) and H100 were looked up; the others were
written down without the datasheet at hand.
"""
