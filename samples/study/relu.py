"""Compare the grids of the ReLU kernels: what doubles them, and how long they run."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

import tracelens as tl

KERNELS = r"(?i)clamp|relu|activation"
"""Parts of the names of kernels that compute ReLU.

It is a kernel of its own in PyTorch (a clamp) and cuDNN, and fused under torch.compile.
"""

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class Largest:
    """A capture's ReLU kernel with the most blocks."""

    name: str
    grid: Grid
    block: Grid
    n_calls: int
    mean_us: float
    # Microseconds of the shortest and the longest call
    spread: tuple[float, float]


def largest(trace: tl.Trace) -> Largest | None:
    """Return the capture's largest ReLU; None if no kernel's name identifies one."""
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
        trace.kernels.filter(
            name=row["name"],
            grid_x=row["grid_x"],
            grid_y=row["grid_y"],
        )["duration_ns"].sort()
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
    ("nsys_libtorch_b32_f32", "LibTorch: batch 32, 256×256"),
    ("nsys_cudnn_b32_f32", "cuDNN: batch 32, 256×256"),
)
"""Captures, and the program and batch of each."""

SHAPES = {
    "32×64²": ("PyTorch eager: batch 32, 64×64", "LibTorch: the same", "cuDNN: the same"),
    "16×256²": tuple(
        f"{level}: batch 16, 256×256" for level in ("PyTorch eager", "LibTorch", "cuDNN")
    ),
    "32×256²": tuple(
        f"{level}: batch 32, 256×256" for level in ("PyTorch eager", "LibTorch", "cuDNN")
    ),
}
"""The cases of the three levels whose grids the paper compares, by batch and resolution."""

BASE = "copy_b16_f32_pageable"
LARGER = "copy_b32_f32_pageable"
"""The same program with twice the images."""


def largest_by_batch(counters: pl.DataFrame) -> pl.DataFrame:
    """Return means over the calls of the largest ReLU, by level and batch."""
    most = counters.filter(pl.col("grid_x") == pl.col("grid_x").max().over("level", "batch"))
    return (
        most.group_by("level", "batch", "grid_x")
        .agg(pl.len().alias("calls"), pl.all().exclude("size").mean())
        .sort("level", "batch", descending=[True, False])
    )


def share_and_place(trace: tl.Trace) -> tuple[float, int, int]:
    """Return ReLU's share of kernel time and its rank by number of calls.

    Also returns how many kernel names are ranked.
    """
    kernels = (
        tl.analyses.top_kernels(trace)
        .group_by("name")
        .agg(pl.col("n_calls", "duration_total_ns").sum())
        .sort("n_calls", descending=True)
        .with_row_index("place", offset=1)
    )
    relus = kernels.filter(pl.col("name").str.contains(KERNELS))
    share = relus["duration_total_ns"].sum() / kernels["duration_total_ns"].sum()
    return float(share), int(relus["place"][0]), kernels.height


def short(name: str) -> str:
    """Return a kernel's name without return type, namespaces and arguments."""
    head = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return head.split("<", 1)[0].split("(", 1)[0].rsplit("::", 1)[-1]
