"""What each layer costs on the GPU, by library and primitive, forward and backward."""

from __future__ import annotations

import polars as pl

from tracelens.derive.attribution import UNATTRIBUTED, attribute_kernels
from tracelens.trace import Trace


def layer_attribution(trace: Trace) -> pl.DataFrame:
    """A row a layer and phase of each rank, most time first; the rows sum to the kernel total exactly.

    A kernel belongs to the innermost module around its launch; in the backward pass to the module of the forward op
    that made the autograd node. Placement on a model's root alone says nothing and counts as unattributed. Raises
    MissingTableError without kernels.
    """
    trace.require("layer_attribution", "kernels")
    return attribute_kernels(trace)


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """How much was placed, on what evidence, and what would place the rest."""
    found = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        lost = part.filter(pl.col("layer").is_in([UNATTRIBUTED, "(pre-window)"]))["share_frac"].sum()
        layout = (part["layout_frac"] * part["share_frac"]).sum()
        n_layout = trace.kernels.filter((pl.col("rank") == rank) & (pl.col("primitive") == "layout")).height
        found.append(
            f"Rank {rank}: {1 - lost:.1%} of kernel time has a layer or a named row; {layout:.1%} is layout transforms "
            f"({n_layout:,} of {part['n_kernels'].sum():,} kernels)."
        )
    if not trace.has("layers"):
        found.append(
            "The trace has no module calls, so layers are unknown; profile with with_stack=True, with_modules=True."
        )
    return found
