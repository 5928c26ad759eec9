"""Matrix products in every mode of torch.compile, and what compiling each took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from figures import EVEN, Run, Speedup
from page import Finding, table

MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
Row = Mapping[str, Any]


def measured(run: Run) -> list[Row]:
    """The matrix products that were compiled in every mode, on the GPU."""
    rows = run.results["parts"].get("modes", {}).get("modes", [])
    return [row for row in rows if row["kind"] == "matmul" and all(f"{mode}_ms" in row for mode in MODES)]


def blocks(run: Run) -> list[str]:
    """The table and its introduction; nothing where none were measured."""
    rows = measured(run)
    if not rows:
        return []
    times = [[row["size"], _ms(row, "eager"), *(_ms(row, mode) for mode in MODES)] for row in rows]
    seconds = [[row["size"], *(f"{row['compile_s'][mode]:.2f}" for mode in MODES)] for row in rows]
    return [
        (
            "Matrix products on the GPU in every mode (`modes` of `results.json`, 22 November 2026), milliseconds by "
            "CUDA events, quartiles in brackets; then the seconds that compiling took, one reading each, the modes in "
            "this order, so that the last finds what the one before it had chosen:"
        ),
        table(["size", "eager", *MODES], times),
        table(["size", *(f"{mode}, s" for mode in MODES)], seconds),
    ]


def findings(run: Run) -> list[Finding]:
    """Section 5.3's claims on modes and on the time of compiling."""
    rows = measured(run)
    if not rows:
        return []
    slowest = {row["size"]: _slowest_over_fastest(row) for row in rows}
    return [
        Finding(
            "The modes of torch.compile make no difference to matrix products",
            "sections 5.5.3 and 5.3, Appendix Fig. 1", "none",
            f"the slowest mode over the fastest: {'; '.join(f'{size}: {ratio}' for size, ratio in slowest.items())}",
            False if any(ratio.low > 1 + EVEN for ratio in slowest.values()) else None,
            "at 256 the call is nearly all of it: CUDA graphs copy the input, and `max-autotune` calls a Triton kernel "
            "of the same length as cuBLAS's: kernels of rows `modes`",
        ),
        Finding(
            "Compiling a matrix product takes the same time at every size", "section 5.3", "constant",
            "; ".join(f"{row['size']}: {row['compile_s']['default']:.2f} s" for row in rows) + ", one reading each",
            None, 'the readings have no spread: column `default` of the seconds in "Single operations"',
        ),
    ]  # fmt: skip


def _ms(row: Row, way: str) -> str:
    low, high = row[f"{way}_quartiles_ms"]
    return f"{row[f'{way}_ms']:.3f} ({low:.3f} to {high:.3f})"


def _slowest_over_fastest(row: Row) -> Speedup:
    slow, fast = max(MODES, key=lambda m: row[f"{m}_ms"]), min(MODES, key=lambda m: row[f"{m}_ms"])
    (s_low, s_high), (f_low, f_high) = row[f"{slow}_quartiles_ms"], row[f"{fast}_quartiles_ms"]
    return Speedup(s_low / f_high, row[f"{slow}_ms"] / row[f"{fast}_ms"], s_high / f_low)
