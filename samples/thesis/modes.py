"""Compare operations in every mode of torch.compile, on the GPU, the CPU and by NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samples.kit.significance import Range
from samples.thesis.figures import Run

MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
KINDS = ("matmul", "convolution", "matmul_cpu", "matmul_numpy")
Row = Mapping[str, Any]


def measured(run: Run) -> dict[str, list[Row]]:
    """Return the operations that were timed in every mode, by kind."""
    last = f"{MODES[-1]}_ms"
    return {kind: [row for row in of_kind(run, kind) if last in row] for kind in KINDS}


def of_kind(run: Run, kind: str) -> list[Row]:
    """Return all operations of a kind, including operations not timed in every mode."""
    part = run.results["parts"].get("modes", {})
    return [row for row in part.get("modes", []) if row["kind"] == kind]


def what(row: Row) -> str:
    """Write the operation's size, or a convolution's kernel size."""
    return str(row["size"]) if "size" in row else f"{row['kernel']}×{row['kernel']}"


def time(row: Row, way: str = "eager") -> Range:
    """Return an operation's time in a mode: milliseconds with quartiles."""
    low, high = row[f"{way}_quartiles_ms"]
    return Range(low, row[f"{way}_ms"], high)


def slowest_over_fastest(row: Row) -> Range:
    """Return the slowest mode's time over the fastest's."""
    by_time = sorted(MODES, key=lambda mode: row[f"{mode}_ms"])
    slowest = time(row, by_time[-1])
    return slowest.over(time(row, by_time[0]))
