"""Single operations: convolutions by kernel, stride and padding, matrix products by size, blocks by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import modes
import single_claims as claims
from figures import Run
from page import Figure, Section, table

NEAR = 0.05
"""What is more than so much above 1 is a win."""
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
            "Each is compiled by itself in the default mode, and timed like the models; in one"
            " session (`operations` of `results.json`). In small operations the host's call of a"
            " compiled region weighs most, so each is measured by the GPU time of its kernels too"
            " (torch.profiler, means of five executions): that is the second number."
        ),
        (
            "Speedup of a convolution of 64 channels, 32 images of 56×56, by kernel size (rows) and"
            " stride, padding; by the clock / by kernels:"
        ),
        table(*_grid(rows["convolution"])),
        *_wins(rows["convolution"]),
        (
            "The convolutions of ResNet-50 that differ, in isolation, 32 images (the thesis's Fig."
            " 5.4):"
        ),
        table(
            ["in, out", "kernel, stride", "side", *_HEADS],
            [
                [
                    f"{r['n_in']}, {r['n_out']}",
                    f"{r['kernel']}×{r['kernel']}, {r['stride']}",
                    r["side"],
                    *_times(r),
                ]
                for r in rows["resnet"]
            ],
        ),
        "Square matrix products, on the GPU and on the CPU:",
        table(
            ["size", "on", *_HEADS],
            [[r["size"], word, *_times(r)] for kind, word in _PLACES.items() for r in rows[kind]],
        ),
        *modes.blocks(run),
        (
            "Chains of 3×3 convolutions; the thesis's Listing 4.1 calls one convolution with the"
            " same input again and again and drops the result, and a compiler leaves equal calls"
            " out:"
        ),
        table(
            ["what", "number", *_HEADS],
            [[word, r["blocks"], *_times(r)] for kind, word in CHAINS.items() for r in rows[kind]],
        ),
    ]
    figures = [
        Figure(
            "single",
            _chart(rows),
            "Speedup of single operations, by the eager run's time; dashed: even. Without Listing"
            " 4.1's equal calls.",
        )
    ]
    found = [
        claims.products(rows["matmul"], "GPU", "both call the same cuBLAS kernels: rows `matmul`"),
        claims.products(rows["matmul_cpu"], "CPU", "rows `matmul_cpu`; cause not established"),
        *modes.findings(run),
        claims.crossing(rows["matmul"], rows["matmul_cpu"]),
        claims.ones(rows["convolution"]),
        claims.isolated(rows["resnet"]),
        claims.parameters(rows["resnet"]),
        *claims.in_the_model(run),
        claims.converges(rows["chain"]),
        claims.in_series(rows["chain"]),
    ]
    return Section("Single operations", blocks, figures, found)


_HEADS = (
    "eager, ms",
    "compiled, ms",
    "speedup",
    "kernels, eager",
    "compiled",
    "speedup by kernels",
)
_PLACES = {"matmul": "GPU", "matmul_cpu": "CPU, compiled to C++"}


def of_kind(run: Run, kind: str) -> list[Row]:
    """The operations of a kind: speedup, the least and most that the quartiles allow, that of kernels on a GPU."""
    found = run.results["parts"].get("operations", {}).get("operations", [])
    made = []
    for row in found:
        if row["kind"] == kind:
            kernels = {
                f"{way}_kernels": sum(row.get(f"{way}_kernel_ms", {}).values())
                for way in ("eager", "compiled")
            }
            by_kernels = (
                kernels["eager_kernels"] / kernels["compiled_kernels"]
                if all(kernels.values())
                else None
            )
            (low, high), (c_low, c_high) = (
                row[f"{way}_quartiles_ms"] for way in ("eager", "compiled")
            )
            ratios = {
                "speedup": row["eager_ms"] / row["compiled_ms"],
                "low": low / c_high,
                "high": high / c_low,
            }
            made.append(row | kernels | ratios | {"by_kernels": by_kernels})
    return made


def _wins(rows: Sequence[Row]) -> list[str]:
    """What the convolutions that win by the clock owe it to."""
    wins = [r for r in rows if r["speedup"] > 1 + NEAR and r["by_kernels"]]
    if not wins:
        return []
    lines = [
        f"- {r['kernel']}×{r['kernel']}, stride {r['stride']}, padding {r['padding']}:"
        f" {r['speedup']:.2f}; eager's kernels `{_longest(r, 'eager')}` take"
        f" {r['eager_kernels']:.3f} ms, compiled `{_longest(r, 'compiled')}`"
        f" {r['compiled_kernels']:.3f} ms."
        for r in wins
    ]
    return [
        "Where compiling wins, cuDNN was given another layout and chose another kernel:\n\n"
        + "\n".join(lines)
    ]


def _longest(row: Row, way: str) -> str:
    sums: Mapping[str, float] = row[f"{way}_kernel_ms"]
    return max(sums, key=sums.__getitem__)


def _grid(rows: Sequence[Row]) -> tuple[list[str], list[list[str | None]]]:
    ways = sorted({(row["stride"], row["padding"]) for row in rows})
    kernels = sorted({row["kernel"] for row in rows})
    ratios = {
        (
            row["kernel"],
            row["stride"],
            row["padding"],
        ): f"{row['speedup']:.2f} / {row['by_kernels'] or 0:.2f}"
        for row in rows
    }
    headings = ["kernel", *(f"stride {stride}, padding {padding}" for stride, padding in ways)]
    return headings, [[f"{k}×{k}", *(ratios.get((k, *way)) for way in ways)] for k in kernels]


def _times(row: Row) -> list[str | None]:
    """Milliseconds by the clock and of kernels, eager and compiled, each with the speedup."""
    found: list[str | None] = [
        f"{row['eager_ms']:.3f}",
        f"{row['compiled_ms']:.3f}",
        f"{row['speedup']:.2f}",
    ]
    if not row["by_kernels"]:
        return [*found, None, None, None]
    return [
        *found,
        f"{row['eager_kernels']:.3f}",
        f"{row['compiled_kernels']:.3f}",
        f"{row['by_kernels']:.2f}",
    ]


def _chart(rows: Mapping[str, Sequence[Row]]) -> alt.VConcatChart:
    words = {
        "matmul": "matrix product",
        "matmul_cpu": "on the CPU",
        "resnet": "of ResNet-50",
        **CHAINS,
    }
    values = [
        {
            "what": words.get(kind) or f"convolution {row['kernel']}×{row['kernel']}",
            "ms": row["eager_ms"],
            "ratio": ratio,
            "by": by,
        }
        for kind, found in rows.items()
        if kind != "listing"  # equal calls, left out by the compiler: no speedup of a convolution
        for row in found
        for by, ratio in (("by the clock", row["speedup"]), ("by kernels", row["by_kernels"]))
        if ratio
    ]
    x = alt.X("ms:Q", title="eager, ms", scale=alt.Scale(type="log"))
    y = alt.Y("ratio:Q", title="speedup", scale=alt.Scale(type="log", base=2))
    color = alt.Color(
        "what:N", title=None, legend=alt.Legend(orient="top", columns=3, labelLimit=320)
    )
    panels = []
    for by in ("by the clock", "by kernels"):
        shown = alt.InlineData(values=[value for value in values if value["by"] == by])
        points = alt.Chart(shown).mark_point(size=45, filled=True).encode(x=x, y=y, color=color)
        even = (
            alt.Chart(alt.InlineData(values=[{"even": 1}]))
            .mark_rule(strokeDash=[4, 4])
            .encode(y="even:Q")
        )
        panels.append((points + even).properties(width=560, height=200, title=by))
    return alt.vconcat(*panels)
