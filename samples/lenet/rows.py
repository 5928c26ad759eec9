"""The measurements of all levels, from what run.py wrote and from the captures beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tracelens as tl
from samples.kit.page import unique
from samples.kit.significance import Range
from samples.lenet.captured import depth, kernel_names, on_the_gpu
from samples.lenet.code_length import Length, of_level
from samples.lenet.levels import KINDS

Row = Mapping[str, Any]
CELLS = [(size, batch) for size in ("large", "small") for batch in (1, 128)]


@dataclass(frozen=True)
class Run:
    """All measurements."""

    about: Mapping[str, Mapping[str, Any]]
    # By device, level, size and batch
    rows: Mapping[tuple[str, str, str, int], Row]
    # Calls to cuDNN by level, for the larger network
    depths: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lengths: Mapping[str, Length] = field(default_factory=dict)
    # Kernels of ten inferences of one image by the larger network, by level
    kernels: Mapping[str, list[str]] = field(default_factory=dict)
    # Median milliseconds of earlier runs on other machines, the short run first, by `LEVEL SIZE
    # BATCH`
    earlier: Mapping[str, Sequence[float]] = field(default_factory=dict)
    # Calls to cuDNN by level, for the smaller network
    small_depths: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def levels(self, device: str) -> list[str]:
        """Return the levels that have rows for the device, lowest first."""
        return [name for name in KINDS if (device, name, "large", 1) in self.rows]

    def row(self, device: str, level: str, size: str = "large", batch: int = 1) -> Row | None:
        """Return one row; None if it was not measured."""
        return self.rows.get((device, level, size, batch))

    def time(
        self, device: str, level: str, size: str = "large", batch: int = 1, *, copies: bool = False
    ) -> Row | None:
        """Return the quartiles of an inference in milliseconds, with or without copies.

        Returns None if it was not measured.
        """
        row = self.row(device, level, size, batch)
        return row.get("copies" if copies else "call") if row else None

    def range(
        self, device: str, level: str, size: str = "large", batch: int = 1, *, copies: bool = False
    ) -> Range | None:
        """Return an inference's quartiles in milliseconds; None if it was not measured."""
        quartiles = self.time(device, level, size, batch, copies=copies)
        return quartiles and Range(quartiles["p25_ms"], quartiles["median_ms"], quartiles["p75_ms"])


def read(folder: Path) -> Run:
    """Read the measurements in a folder of captures.

    Kernels and calls of one image are from its traces and stacks.
    """
    about = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("cuda", "cpu")}
    rows = unique(
        ((device, row["level"], row["size"], row["batch"]), row)
        for device, measured in about.items()
        for row in measured["rows"]
    )
    traces = {
        path.stem.removeprefix("trace_"): tl.open(path)
        for path in sorted(folder.glob("trace_*.tracelens"))
    }
    for level, trace in traces.items():
        rows["cuda", level, "large", 1].update(on_the_gpu(trace))
    large, small = (
        {name: depth for name in KINDS if (depth := _depth(folder, size, name))}
        for size in ("large", "small")
    )
    kernels = {level: kernel_names(trace) for level, trace in traces.items()}
    earlier = json.loads((folder / "earlier.json").read_text())
    return Run(
        about, rows, large, {name: of_level(name) for name in KINDS}, kernels, earlier, small
    )


def _depth(folder: Path, size: str, level: str) -> Mapping[str, Any] | None:
    path = folder / f"stack_{size}_{level}.tracelens"
    return depth(tl.open(path)) if path.is_dir() else None
