"""Operations in every mode of torch.compile, on the GPU, the CPU and by NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samples.kit.significance import Range
from samples.thesis.figures import Run

MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
KINDS = ("matmul", "convolution", "matmul_cpu", "matmul_numpy")
Row = Mapping[str, Any]


def measured(run: Run) -> dict[str, list[Row]]:
    """The operations that were timed in every mode, by kind."""
    return {kind: [row for row in of_kind(run, kind) if f"{MODES[-1]}_ms" in row] for kind in KINDS}


def of_kind(run: Run, kind: str) -> list[Row]:
    """All operations of a kind, those too for which the time ended before all modes were tried."""
    return [
        row for row in run.results["parts"].get("modes", {}).get("modes", []) if row["kind"] == kind
    ]


def what(row: Row) -> str:
    """The operation's size, or a convolution's kernel."""
    return str(row["size"]) if "size" in row else f"{row['kernel']}×{row['kernel']}"


def time(row: Row, way: str = "eager") -> Range:
    """Milliseconds of an operation in a mode, between their quartiles."""
    low, high = row[f"{way}_quartiles_ms"]
    return Range(low, row[f"{way}_ms"], high)


def slowest_over_fastest(row: Row) -> Range:
    """The slowest mode's time over the fastest's."""
    slow, fast = (pick(MODES, key=lambda m: row[f"{m}_ms"]) for pick in (max, min))
    return time(row, slow).over(time(row, fast))
