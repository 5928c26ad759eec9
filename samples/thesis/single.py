"""Single operations: convolutions by kernel, stride and padding, matrix products by size, blocks by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from figures import Run, spread
from page import Figure, Finding, Section, table
from there import BLOCKS

NEAR = 0.05
"""How near to the thesis's value blocks must come to hold it."""
Row = Mapping[str, Any]
KINDS = ("convolution", "resnet", "matmul", "matmul_cpu", "chain", "listing", "blocks")
CHAINS = {
    "chain": "bare convolutions, one after the other",
    "listing": "the same bare convolution of one input, as in Listing 4.1",
    "blocks": "convolution, normalisation and ReLU",
}


def single(run: Run) -> Section:
    """Eager over compiled of each operation, by the clock and by its kernels."""
    rows = {kind: of_kind(run, kind) for kind in KINDS}
    blocks = [
        (
            "Each is compiled by itself in the default mode, and timed like the models; in one session (`operations` "
            "of `results.json`). In small operations the host's call of a compiled region weighs most, so each is "
            "measured by the GPU time of its kernels too (torch.profiler, means of five executions): that "
            "is the second number."
        ),
        (
            "Speedup of a convolution of 64 channels, 32 images of 56×56, by kernel size (rows) and stride, padding; "
            "by the clock / by kernels:"
        ),
        table(*_grid(rows["convolution"])),
        *_wins(rows["convolution"]),
        "The convolutions of ResNet-50 that differ, in isolation, 32 images (the thesis's Fig. 5.4):",
        table(
            ["in, out", "kernel, stride", "side", *_HEADS],
            [
                [f"{r['n_in']}, {r['n_out']}", f"{r['kernel']}×{r['kernel']}, {r['stride']}", r["side"], *_times(r)]
                for r in rows["resnet"]
            ],
        ),
        "Square matrix products, on the GPU and on the CPU:",
        table(
            ["size", "on", *_HEADS],
            [[r["size"], word, *_times(r)] for kind, word in _PLACES.items() for r in rows[kind]],
        ),
        (
            "Chains of 3×3 convolutions; the thesis's Listing 4.1 calls one convolution with the same input again and "
            "again and drops the result, and a compiler leaves equal calls out:"
        ),
        table(
            ["what", "number", *_HEADS],
            [[word, r["blocks"], *_times(r)] for kind, word in CHAINS.items() for r in rows[kind]],
        ),
    ]
    figures = [Figure("single", _chart(rows), "Speedup of single operations, by the eager run's time; dashed: even.")]
    found = [converges(rows["chain"]), _ones(rows["convolution"]), _isolated(rows["resnet"]), _products(rows["matmul"])]
    return Section("Single operations", blocks, figures, found)


_HEADS = ("eager, ms", "compiled, ms", "speedup", "kernels, eager", "compiled", "speedup by kernels")
_PLACES = {"matmul": "GPU", "matmul_cpu": "CPU, compiled to C++"}


def of_kind(run: Run, kind: str) -> list[Row]:
    """The operations of a kind, with their speedup, and that of their kernels where they ran on a GPU."""
    found = run.results["parts"].get("operations", {}).get("operations", [])
    made = []
    for row in found:
        if row["kind"] == kind:
            kernels = {f"{way}_kernels": sum(row.get(f"{way}_kernel_ms", {}).values()) for way in ("eager", "compiled")}
            by_kernels = kernels["eager_kernels"] / kernels["compiled_kernels"] if all(kernels.values()) else None
            made.append(row | kernels | {"speedup": row["eager_ms"] / row["compiled_ms"], "by_kernels": by_kernels})
    return made


def converges(chain: Sequence[Row]) -> Finding:
    """Whether the longest chain of bare convolutions comes near the thesis's speedup; null where there is none."""
    claim, where = (
        "The speedup of repeated convolutions converges near 0.95 with their number",
        "section 5.4.3, Fig. 5.5",
    )
    if not chain:
        return Finding(claim, where, f"{BLOCKS}", "not measured", None)
    ordered = sorted(chain, key=lambda row: row["blocks"])
    now = ", ".join(f"{row['speedup']:.2f}" for row in ordered)
    kernels = ", ".join(f"{row['by_kernels']:.2f}" for row in ordered if row.get("by_kernels"))
    return Finding(
        claim, where, f"{BLOCKS}",
        f"{now} for {', '.join(str(row['blocks']) for row in ordered)} bare convolutions; by kernels {kernels or '-'}",
        abs(ordered[-1]["speedup"] - BLOCKS) <= NEAR,
        "each saves GPU time, as Inductor hands cuDNN tensors in NHWC, until that outweighs the one call of the "
        "region: rows `chain`",
    )  # fmt: skip


def _ones(rows: Sequence[Row]) -> Finding:
    by_kernel = {size: [r["speedup"] for r in rows if r["kernel"] == size] for size in (1, 3, 5)}
    now = "; ".join(f"{size}×{size}: {spread(found)}" for size, found in by_kernel.items() if found)
    return Finding(
        "Of convolutions in isolation only those of 1×1 come near CUDA's speed",
        "section 5.4.1, Fig. 5.3",
        "all below 1, 1×1 the nearest",
        now or "not measured",
        min(by_kernel[1]) > max(by_kernel[3]) if by_kernel[1] and by_kernel[3] else None,
        "1×1 are the shortest kernels, so the host's call of a region weighs most: the grid of convolutions",
    )


def _isolated(rows: Sequence[Row]) -> Finding:
    slower = sum(r["speedup"] < 1 for r in rows)
    kernels = [r["by_kernels"] for r in rows if r["by_kernels"]]
    return Finding(
        "ResNet's convolutions are slower compiled when each is run in isolation",
        "section 5.4.2, Fig. 5.4",
        "all by timers",
        f"{slower} of {len(rows)}; by kernels {spread(kernels)}" if rows else "not measured",
        slower == len(rows) if rows else None,
        "the kernels are mostly the same ones; what is slower is the call: rows `resnet`",
    )


def _products(rows: Sequence[Row]) -> Finding:
    kernels = [r["by_kernels"] for r in rows if r["by_kernels"]]
    return Finding(
        "Matrix products gain nothing from compiling",
        "section 5.3, Fig. 5.1",
        "slightly slower at every size",
        f"{spread(r['speedup'] for r in rows)} times; by kernels {spread(kernels)}" if rows else "not measured",
        max(r["speedup"] for r in rows) <= 1 + NEAR if rows else None,
        "both call the same cuBLAS kernels: rows `matmul`",
    )


def _wins(rows: Sequence[Row]) -> list[str]:
    """What the convolutions that win by the clock owe it to."""
    wins = [r for r in rows if r["speedup"] > 1 + NEAR and r["by_kernels"]]
    if not wins:
        return []
    lines = [
        f"- {r['kernel']}×{r['kernel']}, stride {r['stride']}, padding {r['padding']}: {r['speedup']:.2f}; eager's "
        f"kernels `{_longest(r, 'eager')}` take {r['eager_kernels']:.3f} ms, compiled `{_longest(r, 'compiled')}` "
        f"{r['compiled_kernels']:.3f} ms."
        for r in wins
    ]
    return ["Where compiling wins, cuDNN was given another layout and chose another kernel:\n\n" + "\n".join(lines)]


def _longest(row: Row, way: str) -> str:
    sums: Mapping[str, float] = row[f"{way}_kernel_ms"]
    return max(sums, key=sums.__getitem__)


def _grid(rows: Sequence[Row]) -> tuple[list[str], list[list[str | None]]]:
    ways = sorted({(row["stride"], row["padding"]) for row in rows})
    kernels = sorted({row["kernel"] for row in rows})
    ratios = {
        (row["kernel"], row["stride"], row["padding"]): f"{row['speedup']:.2f} / {row['by_kernels'] or 0:.2f}"
        for row in rows
    }
    headings = ["kernel", *(f"stride {stride}, padding {padding}" for stride, padding in ways)]
    return headings, [[f"{k}×{k}", *(ratios.get((k, *way)) for way in ways)] for k in kernels]


def _times(row: Row) -> list[str | None]:
    """Milliseconds by the clock and of kernels, eager and compiled, each with the speedup."""
    found: list[str | None] = [f"{row['eager_ms']:.3f}", f"{row['compiled_ms']:.3f}", f"{row['speedup']:.2f}"]
    if not row["by_kernels"]:
        return [*found, None, None, None]
    return [*found, f"{row['eager_kernels']:.3f}", f"{row['compiled_kernels']:.3f}", f"{row['by_kernels']:.2f}"]


def _chart(rows: Mapping[str, Sequence[Row]]) -> alt.LayerChart:
    words = {"matmul": "matrix product", "matmul_cpu": "on the CPU", "resnet": "of ResNet-50", **CHAINS}
    values = [
        {
            "what": words.get(kind) or f"convolution {row['kernel']}×{row['kernel']}",
            "ms": row["eager_ms"], "ratio": ratio, "by": by,
        }
        for kind, found in rows.items()
        for row in found
        for by, ratio in (("by the clock", row["speedup"]), ("by kernels", row["by_kernels"]))
        if ratio
    ]  # fmt: skip
    points = (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(size=45, filled=True)
        .encode(
            x=alt.X("ms:Q", title="eager, ms", scale=alt.Scale(type="log")),
            y=alt.Y("ratio:Q", title="speedup", scale=alt.Scale(type="log", base=2)),
            color=alt.Color("what:N", title=None, legend=alt.Legend(orient="top", columns=3, labelLimit=320)),
            shape=alt.Shape("by:N", title=None, legend=alt.Legend(orient="top")),
        )
    )
    even = alt.Chart(alt.InlineData(values=[{"even": 1}])).mark_rule(strokeDash=[4, 4]).encode(y="even:Q")
    return (points + even).properties(width=560, height=260)
