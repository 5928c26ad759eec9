"""The thesis's claims on single operations, beside what was measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from figures import Run, spread
from page import Finding, listed
from there import BLOCKS

import tracelens as tl

NEAR = 0.05
"""How near to the thesis's value blocks must come to hold it."""
SMALL = 1000
"""The thesis's size below which the CPU multiplies sooner."""
Row = Mapping[str, Any]
"""An operation as `single.of_kind` has it: times, quartiles, `speedup`, `low` and `high`,
`by_kernels`."""


def converges(chain: Sequence[Row]) -> Finding:
    """Whether the longest chain of bare convolutions comes near the thesis's speedup; null where there is none."""
    claim, where = (
        "The speedup of repeated convolutions converges near 0.95 with their number",
        "section 5.4.3, Fig. 5.5",
    )
    if not chain:
        return Finding(claim, where, f"{BLOCKS}", "not measured", None)
    ordered = sorted(chain, key=lambda row: row["blocks"])
    now = ", ".join(_one(row) if "low" in row else f"{row['speedup']:.2f}" for row in ordered)
    kernels = ", ".join(f"{row['by_kernels']:.2f}" for row in ordered if row.get("by_kernels"))
    return Finding(
        claim,
        where,
        f"{BLOCKS}",
        f"{now} for {', '.join(str(row['blocks']) for row in ordered)} bare convolutions; by"
        f" kernels {kernels or '-'}",
        abs(ordered[-1]["speedup"] - BLOCKS) <= NEAR,
        "each saves GPU time until that outweighs the one call of the region: eager execution has a"
        " `nchwToNhwcKernel` at each convolution, Inductor hands cuDNN tensors in NHWC, and its"
        " kernel is another one: kernels of rows `chain`",
    )


def ones(rows: Sequence[Row]) -> Finding:
    """Whether 1×1 convolutions lose least when compiled."""
    by_kernel = {size: [r for r in rows if r["kernel"] == size] for size in (1, 3, 5)}
    now = "; ".join(f"{size}×{size}: {_range(found)}" for size, found in by_kernel.items() if found)
    one, three = by_kernel[1], by_kernel[3]
    nearest = bool(one and three) and min(r["low"] for r in one) > max(r["high"] for r in three)
    farther = bool(one and three) and max(r["high"] for r in one) < max(r["low"] for r in three)
    return Finding(
        "Of convolutions in isolation only those of 1×1 come near CUDA's speed",
        "section 5.4.1, Fig. 5.3",
        "all below 1, 1×1 the nearest",
        now or "not measured",
        True if nearest else False if farther else None,
        f"1×1 have the shortest kernels ({_kernels_us(one)} µs, 3×3 {_kernels_us(three)}), so the"
        " call of a region weighs most; where they lose by kernels too, Inductor's and cuDNN's"
        " layout transforms are the loss: kernels of rows `convolution`",
    )


def _kernels_us(rows: Sequence[Row]) -> str:
    return spread((1000 * r["eager_kernels"] for r in rows if r.get("eager_kernels")), digits=0)


def isolated(rows: Sequence[Row]) -> Finding:
    """Whether ResNet's convolutions lose by themselves."""
    slower = sum(r["high"] < 1 for r in rows)
    kernels = [r["by_kernels"] for r in rows if r["by_kernels"]]
    return Finding(
        "ResNet's convolutions are slower compiled when each is run in isolation",
        "section 5.4.2, Fig. 5.4",
        "all by timers",
        (
            f"{slower} of {len(rows)}, {_range(rows)} times as fast; by kernels {spread(kernels)}"
            if rows
            else "not measured"
        ),
        slower == len(rows) if rows else None,
        "the kernels are mostly the same ones; what is slower is the call: rows `resnet`",
    )


def _range(rows: Sequence[Row]) -> str:
    """Speedups of several operations, between the least and the most that the quartiles of any allow."""
    low, high = min(r["low"] for r in rows), max(r["high"] for r in rows)
    return f"{spread(r['speedup'] for r in rows)} ({low:.2f} to {high:.2f})"


def in_the_model(run: Run) -> list[Finding]:
    """The convolutions of the whole ResNet, by kernels, eager over compiled."""
    model = "resnet50"
    if f"{model}_eager" not in run.captures:
        return []
    both = tl.analyses.compare_layers(*run.pair(model)).filter(match="both", class_name="Conv2d")
    ratios = both["speedup"].drop_nulls()
    outcomes = both["outcome"].to_list()
    return [
        Finding(
            "Within the model, ResNet's convolutions are faster compiled, by the profiler",
            "section 5.4.2, Fig. 5.4",
            "noticeably faster",
            f"{outcomes.count('faster')} of {both.height} surely faster, {outcomes.count('slower')}"
            f" slower; the median {ratios.median():.2f} ({ratios.quantile(0.25):.2f} to"
            f" {ratios.quantile(0.75):.2f})",
            outcomes.count("faster") > both.height / 2,
            "a convolution's time holds the layout transforms that eager execution adds to it:"
            " `resnet50_eager`, `resnet50_compiled`",
        )
    ]


def parameters(rows: Sequence[Row]) -> Finding:
    """Whether a convolution's speedup by the clock goes with a parameter, by rank."""
    names = {
        "kernel": "size of the kernel",
        "stride": "stride",
        "n_in": "channels in",
        "n_out": "out",
        "side": "side",
    }
    frame = pl.DataFrame(
        [{name: r[name] for name in (*names, "eager_ms", "speedup")} for r in rows]
    )
    ranks = {name: _rank(frame, name) for name in (*names, "eager_ms")} if rows else {}
    strongest = max((abs(ranks[name]) for name in names), default=0.0) if rows else 0.0
    return Finding(
        "A convolution's parameters do not tell its speedup",
        "section 5.4.2, Fig. 5.4",
        "no correlation",
        (
            "; ".join(f"{word} {ranks[name]:.2f}" for name, word in names.items())
            + f" (rank correlations, {len(rows)} convolutions); with the eager time itself"
            f" {ranks['eager_ms']:.2f}"
            if rows
            else "not measured"
        ),
        strongest < 0.5 if rows else None,
        "no parameter by itself; the longer a convolution takes, the less its region's call weighs:"
        " rows `resnet`",
    )


def _rank(frame: pl.DataFrame, name: str) -> float:
    return float(frame.select(pl.corr(name, "speedup", method="spearman")).item())


def products(rows: Sequence[Row], where: str, why: str) -> Finding:
    """Whether compiling a matrix product gains nothing, on the CPU or the GPU."""
    kernels = [r["by_kernels"] for r in rows if r["by_kernels"]]
    faster = [str(r["size"]) for r in rows if r["low"] > 1]
    said = f"; surely faster at {listed(faster)}" if faster else ""
    return Finding(
        f"Matrix products on the {where} gain nothing from compiling",
        "section 5.3, Fig. 5.1",
        "slightly slower at every size",
        (
            f"{spread(r['speedup'] for r in rows)} times{said}"
            + (f"; by kernels {spread(kernels)}" if kernels else "")
            if rows
            else "not measured"
        ),
        not faster if rows else None,
        why,
    )


def crossing(on_gpu: Sequence[Row], on_cpu: Sequence[Row]) -> Finding:
    """Below which size the CPU computes a product sooner than the GPU does."""
    pairs = [(g, c) for g in on_gpu for c in on_cpu if g["size"] == c["size"] < SMALL]
    times = [(g["eager_quartiles_ms"], c["eager_quartiles_ms"]) for g, c in pairs]
    sooner = bool(pairs) and all(cpu[1] < gpu[0] for gpu, cpu in times)
    later = any(cpu[0] > gpu[1] for gpu, cpu in times)
    return Finding(
        "Matrices smaller than 1,000 are multiplied sooner on the CPU than on the GPU",
        "section 5.3, Fig. 5.1",
        "sooner",
        "; ".join(f"{g['size']}: {_ms(c)} against {_ms(g)} ms" for g, c in pairs) or "not measured",
        True if sooner else False if later else None,
        "eager, the launch included; the matrices are where they are multiplied: rows `matmul` and"
        " `matmul_cpu`; cause not established",
    )


def _ms(row: Row) -> str:
    low, high = row["eager_quartiles_ms"]
    return f"{row['eager_ms']:.3f} ({low:.3f} to {high:.3f})"


def in_series(chain: Sequence[Row]) -> Finding:
    """Whether the longest chain gains more than the shortest."""
    ordered = sorted(chain, key=lambda row: row["blocks"])
    claim = "Convolutions executed in series gain more than one in isolation"
    if not ordered:
        return Finding(claim, "section 5.6.2", "they do", "not measured", None)
    one, most = ordered[0], ordered[-1]
    return Finding(
        claim,
        "section 5.6.2",
        "they do",
        f"{_one(one)} for {one['blocks']}, {_one(most)} for {most['blocks']}",
        (
            most["low"] > one["high"]
            if most["low"] > one["high"] or most["high"] < one["low"]
            else None
        ),
        "they are not fused: by kernels the time grows with their number as well; what is paid once"
        " is the call of the region: rows `chain`",
    )


def _one(row: Row) -> str:
    return f"{row['speedup']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
