"""The grids of the ReLU kernels: what doubles them, and how long they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import paper
import polars as pl
from page import NAMES, Finding, Section, table

import tracelens as tl

KERNELS = r"(?i)clamp|relu|activation"
"""In the names of kernels that compute ReLU: alone in PyTorch (a clamp) and cuDNN, fused under
torch.compile."""

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class Largest:
    """The ReLU kernel with the most blocks of a capture; `spread`: microseconds of its shortest and longest call."""

    name: str
    grid: Grid
    block: Grid
    n_calls: int
    mean_us: float
    spread: tuple[float, float]


def largest(trace: tl.Trace) -> Largest | None:
    """The capture's largest ReLU; null where no kernel's name tells of one."""
    if not trace.has("kernels"):
        return None
    grids = tl.analyses.kernel_grids(trace).filter(pl.col("name").str.contains(KERNELS))
    if grids.is_empty():
        return None
    row = grids.sort("n_blocks", "duration_total_ns", descending=True).row(0, named=True)
    grid, block = (
        tuple(int(row[f"{kind}_{axis}"]) for axis in "xyz") for kind in ("grid", "block")
    )
    calls = (
        trace.kernels.filter(name=row["name"], grid_x=row["grid_x"], grid_y=row["grid_y"])[
            "duration_ns"
        ].sort()
        / 1e3
    )
    spread = (float(calls[0]), float(calls[-1]))
    return Largest(row["name"], grid, block, row["n_calls"], row["duration_mean_ns"] / 1e3, spread)  # type: ignore[arg-type]


CASES = (
    ("nsys_eager", "PyTorch eager: batch 32, 64×64"),
    ("nsys_compile", "torch.compile: the same"),
    ("nsys_torchscript", "TorchScript: the same"),
    ("nsys_libtorch", "LibTorch: the same"),
    ("nsys_cudnn", "cuDNN: the same"),
    ("copy_b16_f32_pageable", "PyTorch eager: batch 16, 256×256"),
    ("copy_b16_f64_pageable", "the same, the batch in float64 on the host, cast on the device"),
    ("copy_b16_f64_model", "the same, batch and model in float64"),
    ("copy_b32_f32_pageable", "PyTorch eager: batch 32, 256×256"),
    ("nsys_libtorch_b16_f32", "LibTorch: batch 16, 256×256"),
    ("nsys_cudnn_b16_f32", "cuDNN: batch 16, 256×256"),
)
"""Captures and what they hold."""

BASE = "copy_b16_f32_pageable"
DOUBLED = {
    "batch": ("copy_b32_f32_pageable", "twice the images"),
    "input": ("copy_b16_f64_pageable", "a float64 batch that is cast on the device"),
    "model": ("copy_b16_f64_model", "batch and model in float64"),
}
"""What may have doubled the paper's grid, beside the base."""


def section(captures: Mapping[str, tl.Trace], counters: pl.DataFrame | None = None) -> Section:
    """The section of the page; `counters`: ncu_relu.csv."""
    made = Section("Grids of the ReLU kernels")
    found = {name: largest(captures[name]) for name, _ in CASES if name in captures}
    if not any(found.values()):
        made.blocks.append("No kernels of ReLU were captured.")
        return made
    (big, big_us), (little, little_us) = paper.RELU
    made.blocks.append(
        f"The paper found ReLU with a grid of {big} and a mean of {big_us} µs in PyTorch, {little}"
        f" and {little_us} µs in LibTorch and cuDNN (section 4). Today, the ReLU with the most"
        " blocks of each capture:"
    )
    rows = []
    for name, words in CASES:
        kernel = found.get(name)
        if kernel:
            shown = [
                kernel.grid,
                kernel.block,
                kernel.n_calls,
                f"{kernel.mean_us:.1f}",
                f"`{short(kernel.name)}`",
            ]
            rows.append([words, *shown])
    made.blocks.append(table(["capture", "grid", "block", "calls", "mean µs", "kernel"], rows))
    without = [words for name, words in CASES if name in found and not found[name]]
    if without:
        made.blocks.append(f"No kernel is named after ReLU in: {'; '.join(without)}.")
    if captures.get(BASE):
        made.blocks.append("\n".join(f"- {sentence}" for sentence in sentences(captures)))
    made.findings = [*findings(captures), *_share(captures)]
    if counters is not None:
        made.blocks.append(_caches(counters))
        made.findings.append(_stalls(counters))
    return made


def _share(captures: Mapping[str, tl.Trace]) -> list[Finding]:
    """The share of the kernel time that ReLU's kernel takes, and its rank among kernels by number of calls."""
    name = DOUBLED["batch"][0]
    if name not in captures:
        return []
    kernels = (
        tl.analyses.top_kernels(captures[name])
        .group_by("name")
        .agg(pl.col("n_calls", "duration_total_ns").sum())
    )
    ordered = kernels.sort("n_calls", descending=True)
    relus = ordered.with_row_index("place", offset=1).filter(pl.col("name").str.contains(KERNELS))
    if relus.is_empty():
        return []
    place = relus["place"][0]
    share = relus["duration_total_ns"].sum() / kernels["duration_total_ns"].sum()
    return [
        Finding(
            "ReLU is the kernel second in calls, with 12 % of the time",
            "section 4; GPU not said",
            "second, about 12 %",
            f"place {place} by calls of {ordered.height} kernels, {share:.1%} of kernel time",
            place == 2 and 0.1 < share < 0.14,
            f"`{name}`: PyTorch eager, batch 32, 256×256; {relus['n_calls'].sum()} calls, of the"
            f" first {ordered['n_calls'][0]}",
        )
    ]


def _largest_by_batch(counters: pl.DataFrame) -> pl.DataFrame:
    """Means over the calls of the largest ReLU, by level and batch."""
    most = counters.filter(pl.col("grid_x") == pl.col("grid_x").max().over("level", "batch"))
    return (
        most.group_by("level", "batch", "grid_x")
        .agg(pl.len().alias("calls"), pl.all().exclude("size").mean())
        .sort("level", "batch", descending=[True, False])
    )


def _caches(counters: pl.DataFrame) -> str:
    """The hardware's own counters of the largest ReLU at 256×256."""
    rows = [
        [
            NAMES[row["level"]],
            row["batch"],
            f"({row['grid_x']}, 1, 1)",
            row["calls"],
            f"{row['duration_ns'] / 1e3:.1f}",
            f"{row['l1_hit_percent']:.1f}",
            f"{row['l2_hit_percent']:.1f}",
            f"{row['dram_read_bytes'] / 1e6:.1f}",
            f"{row['dram_percent_of_peak']:.0f}",
            f"{row['warps_stalled_on_memory_per_issue']:.0f}",
        ]
        for row in _largest_by_batch(counters).iter_rows(named=True)
    ]
    heads = [
        "level",
        "batch",
        "grid",
        "calls",
        "mean µs",
        "L1 hits, %",
        "L2 hits, %",
        "read from DRAM, MB",
        "of its peak, %",
        "warps waiting for memory",
    ]
    return (
        "The paper's hypothesis for the slower, larger grid is that work spread over more"
        " processors stalls more often on cache misses; its profiler could not tell. Nsight"
        " Compute's counters (`ncu_relu.csv`) of the largest ReLU at 256×256, the last column by"
        f" instruction issued:\n\n{table(heads, rows)}"
    )


def _stalls(counters: pl.DataFrame) -> Finding:
    eager = _largest_by_batch(counters).filter(level="eager").to_dicts()
    one, two = eager[0], eager[-1]
    ratio = two["dram_read_bytes"] / one["dram_read_bytes"]
    return Finding(
        "A larger grid is slower because work on more processors misses the caches more often",
        "section 4, a hypothesis",
        "not measured: the profiler had no such counters",
        f"with twice the blocks {one['l2_hit_percent']:.1f} and {two['l2_hit_percent']:.1f} % of"
        f" L2's requests hit (means of {one['calls']} and {two['calls']} calls, from"
        f" {_least_and_most(counters)}), {ratio:.2f} times as much is read from memory, at"
        f" {one['dram_percent_of_peak']:.0f} and {two['dram_percent_of_peak']:.0f} % of its"
        f" bandwidth, in {two['duration_ns'] / one['duration_ns']:.2f} times the time",
        abs(one["l2_hit_percent"] - two["l2_hit_percent"]) > 2,
        "the kernel waits for memory at both grids, and twice the blocks read twice the bytes: rows"
        " `eager` of `ncu_relu.csv`",
    )


def _least_and_most(counters: pl.DataFrame) -> str:
    """Between which rates of hits in L2 the calls of eager's largest ReLU lie, both batches together."""
    most = counters.filter(
        pl.col("grid_x") == pl.col("grid_x").max().over("level", "batch"), level="eager"
    )
    rates = most["l2_hit_percent"].sort()
    return f"{rates[0]:.1f} to {rates[-1]:.1f} %"


def compared(captures: Mapping[str, tl.Trace], case: str) -> tuple[float, float] | None:
    """Blocks and mean duration of the largest ReLU in a case of DOUBLED over those in the base; null without either."""
    base, other = captures.get(BASE), captures.get(DOUBLED[case][0])
    if base is None or other is None:
        return None
    one, two = largest(base), largest(other)
    if one is None or two is None:
        return None
    return _blocks(two) / _blocks(one), two.mean_us / one.mean_us


def _range(captures: Mapping[str, tl.Trace]) -> str:
    """The least and the most that the shortest and longest calls of both batches allow."""
    one, two = largest(captures[BASE]), largest(captures[DOUBLED["batch"][0]])
    assert one is not None
    assert two is not None
    return f"{two.spread[0] / one.spread[1]:.2f} to {two.spread[1] / one.spread[0]:.2f}"


def _blocks(kernel: Largest) -> int:
    return kernel.grid[0] * kernel.grid[1] * kernel.grid[2]


def sentences(captures: Mapping[str, tl.Trace]) -> list[str]:
    """What doubles a ReLU's blocks and time today."""
    said = []
    for case, (_, words) in DOUBLED.items():
        ratios = compared(captures, case)
        if ratios:
            said.append(
                f"With {words}, the largest ReLU has {ratios[0]:.2f} times the blocks and takes"
                f" {ratios[1]:.2f} times as long."
            )
    return said


def findings(captures: Mapping[str, tl.Trace]) -> list[Finding]:
    """Whether a grid doubles with the time, what doubled it, and the grid's shape."""
    (big, big_us), (little, little_us) = paper.RELU
    found = []
    ratios = {case: found_ for case in DOUBLED if (found_ := compared(captures, case))}
    if "batch" in ratios:
        blocks, time = ratios["batch"]
        found.append(
            Finding(
                "Twice the blocks take nearly twice the time",
                "section 4; GPU not said",
                f"{big} to {little} blocks, {big_us} to {little_us} µs: a ratio of"
                f" {big_us / little_us:.2f}",
                f"twice the images give {blocks:.2f} times the blocks and {time:.2f} times the time"
                f" ({_range(captures)} by the shortest and longest calls)",
                1.7 <= blocks <= 2.3 and 1.5 <= time <= 2.3,
                f"`{DOUBLED['batch'][0]}` and `{BASE}`",
            )
        )
    if ratios:
        alike = [
            DOUBLED[case][1]
            for case, (blocks, time) in ratios.items()
            if 1.7 <= blocks <= 2.3 and 1.5 <= time <= 2.3
        ]
        unlike = [DOUBLED[case][1] for case in ratios if DOUBLED[case][1] not in alike]
        found.append(
            Finding(
                "One cause doubles both the bytes copied and ReLU's grid",
                "section 4; GPU not said",
                "both are doubled, and the paper does not say by what",
                f"as there: {'; '.join(alike) or 'none of the cases'}. Not as there:"
                f" {'; '.join(unlike) or 'none'}",
                bool(alike),
                "twice the images do it: in that the published program differs from the paper"
                " (batch 32 and 16)",
            )
        )
    shapes = [
        kernel
        for name in ("nsys_eager", "nsys_cudnn", BASE)
        if name in captures and (kernel := largest(captures[name]))
    ]
    if shapes:
        flat = [kernel.grid for kernel in shapes if kernel.grid[1:] == (1, 1)]
        found.append(
            Finding(
                "ReLU is launched on a grid of two dimensions",
                "section 4; GPU not said",
                f"{big} and {little}",
                ", ".join(str(kernel.grid) for kernel in shapes),
                len(flat) < len(shapes),
                (
                    ""
                    if len(flat) < len(shapes)
                    else (
                        "other kernels: PyTorch's `vectorized_elementwise_kernel` and cuDNN's "
                        f"`op_generic_tensor_kernel` in `nsys_eager`, `nsys_cudnn` and `{BASE}`"
                    )
                ),
            )
        )
    return found


def short(name: str) -> str:
    """A kernel's name without return type, namespaces and arguments."""
    head = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return head.split("<", 1)[0].split("(", 1)[0].rsplit("::", 1)[-1]
