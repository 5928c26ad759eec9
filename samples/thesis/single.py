"""Single operations: convolutions by kernel, stride and padding, matrix products by size, blocks by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from figures import Run
from page import Figure, Finding, Section, table
from there import BLOCKS

NEAR = 0.05
"""How near to the thesis's value blocks must come to hold it."""
Row = Mapping[str, Any]


def single(run: Run) -> Section:
    """Eager over compiled of each operation."""
    rows = {kind: of_kind(run, kind) for kind in ("convolution", "matmul", "blocks")}
    region_us = [part["region_ns"] / 1000 for part in run.models().values() if part.get("region_ns")]
    calls = (
        f" ({min(region_us):.0f} to {max(region_us):.0f} µs more than an eager call, of a tiny one)"
        if region_us
        else ""
    )
    blocks = [
        (
            "Each is compiled by itself in the default mode, and timed like the models. In the small ones the host's "
            f"call of a compiled region weighs most{calls}, so they measure that call and not the kernel; only the "
            "large ones compare kernels."
        ),
        "Speedup of a convolution of 64 channels, 32 images of 56×56, by kernel size (rows) and stride, padding:",
        table(*_grid(rows["convolution"])),
        table(["matrix product", "eager, ms", "compiled, ms", "speedup"], _lines(rows["matmul"], "size", "{0}×{0}")),
        table(["blocks", "eager, ms", "compiled, ms", "speedup"], _lines(rows["blocks"], "blocks", "{0}")),
        "A block is a 3×3 convolution, normalisation and ReLU, which compiling fuses.",
    ]
    figures = [Figure("single", _chart(rows), "Speedup of single operations, by the eager run's time; dashed: even.")]
    return Section("Single operations", blocks, figures, [converges(rows["blocks"])])


def of_kind(run: Run, kind: str) -> list[Row]:
    """The operations of a kind, with their speedup."""
    found = run.results["parts"].get("operations", {}).get("operations", [])
    return [row | {"speedup": row["eager_ms"] / row["compiled_ms"]} for row in found if row["kind"] == kind]


def converges(blocks: Sequence[Row]) -> Finding:
    """Whether the longest chain of blocks comes near the thesis's speedup; null where there are none."""
    claim = "The speedup of blocks converges near 0.95 with their number"
    if not blocks:
        return Finding(claim, f"{BLOCKS}", "not measured", None)
    ordered = sorted(blocks, key=lambda row: row["blocks"])
    now = ", ".join(f"{row['speedup']:.2f}" for row in ordered)
    return Finding(
        claim, f"{BLOCKS}", f"{now} for {', '.join(str(row['blocks']) for row in ordered)}",
        abs(ordered[-1]["speedup"] - BLOCKS) <= NEAR,
    )  # fmt: skip


def _grid(rows: Sequence[Row]) -> tuple[list[str], list[list[str | None]]]:
    ways = sorted({(row["stride"], row["padding"]) for row in rows})
    kernels = sorted({row["kernel"] for row in rows})
    ratios = {(row["kernel"], row["stride"], row["padding"]): f"{row['speedup']:.2f}" for row in rows}
    headings = ["kernel", *(f"stride {stride}, padding {padding}" for stride, padding in ways)]
    return headings, [[f"{k}×{k}", *(ratios.get((k, *way)) for way in ways)] for k in kernels]


def _lines(rows: Sequence[Row], by: str, text: str) -> list[list[str]]:
    return [
        [text.format(row[by]), f"{row['eager_ms']:.3f}", f"{row['compiled_ms']:.3f}", f"{row['speedup']:.2f}"]
        for row in rows
    ]


def _chart(rows: Mapping[str, Sequence[Row]]) -> alt.LayerChart:
    words = {"matmul": "matrix product", "blocks": "blocks"}
    values = [
        {
            "what": words.get(kind) or f"convolution {row['kernel']}×{row['kernel']}",
            "ms": row["eager_ms"],
            "ratio": row["speedup"],
        }
        for kind, found in rows.items()
        for row in found
    ]
    points = (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(size=60, filled=True)
        .encode(
            x=alt.X("ms:Q", title="eager, ms", scale=alt.Scale(type="log")),
            y=alt.Y("ratio:Q", title="speedup"),
            color=alt.Color("what:N", title=None, legend=alt.Legend(orient="top", columns=3)),
        )
    )
    even = alt.Chart(alt.InlineData(values=[{"ratio": 1}])).mark_rule(strokeDash=[4, 4]).encode(y="ratio:Q")
    return (points + even).properties(width=520, height=220)
