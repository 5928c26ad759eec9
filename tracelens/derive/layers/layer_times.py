"""Times of layers in one trace: GPU time a step from kernels, and the times in the table `timings`."""

from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import polars as pl

from tracelens.derive.layers.attribution import attribute_kernels
from tracelens.schemas.events import PRIMITIVES
from tracelens.trace import Trace

Sides: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]
REGION = "(compiled region)"
DEVICES = {"interpreted": "cpu", "cpp": "cpu", "cuda": "gpu", "triton": "gpu"}
EAGER = ("interpreted", "cuda")
VARIANT = ("method", "synchronized", "profiled", "clock", "quantity")
"""The columns that identify a way of measuring."""
_BOUNDS = ("low_ns", "estimate_ns", "high_ns")


def kernel_times(trace: Trace) -> pl.DataFrame:
    """GPU time a step of each layer and phase: rank, layer, class_name, phase, evidence, n, bounds, primitive_*_ns.

    Where steps are marked, work outside of them is left out; where none is, the whole trace counts as one.
    """
    steps = trace.select("kernels", "rank", "step")
    # Kernels of a step mostly follow each other, so few rows are left to compare.
    begins = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in steps.columns)
    steps = steps.filter(begins).unique()
    n_steps = steps.group_by("rank").agg(n_steps=pl.col("step").drop_nulls().len().clip(1))
    per_step = [*_BOUNDS, *(f"primitive_{word}_ns" for word in PRIMITIVES)]
    found = attribute_kernels(trace, in_steps=True).join(n_steps, on="rank")
    n = (pl.col("n_kernels") / pl.col("n_steps")).round().cast(pl.Int64).alias("n")
    return found.select("rank", "layer", "class_name", "phase", "evidence", n, pl.col(per_step) / pl.col("n_steps"))


def both_kernel_times(base: Trace, other: Trace) -> Sides | None:
    """`kernel_times` of each trace, computed in two threads; null where one has no kernels."""
    if not base.has("kernels") or not other.has("kernels"):
        return None
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(kernel_times, (base, other))
    return one, two


def measured_times(trace: Trace) -> pl.DataFrame:
    """Medians and quartiles of each layer's measured times, warm-up left out, for each configuration and variant.

    rank, configuration, compile_mode, method, synchronized, profiled, clock, quantity, layer, class_name, n, bounds.
    """
    ns = pl.col("duration_ns")
    classes = trace.layers.select("rank", "class_name", layer="module_path").unique(["rank", "layer"])
    return (
        trace.timings.filter(~pl.col("is_warmup"), pl.col("module_path").is_not_null())
        .rename({"module_path": "layer"})
        .filter(pl.col("layer") != REGION)
        .group_by("rank", "configuration", "compile_mode", *VARIANT, "layer", maintain_order=True)
        .agg(
            n=pl.len().cast(pl.Int64),
            low_ns=ns.quantile(0.25, "linear"),
            estimate_ns=ns.median(),
            high_ns=ns.quantile(0.75, "linear"),
        )
        .join(classes, on=["rank", "layer"], how="left", maintain_order="left")
    )


def region_cost(trace: Trace, configuration: str | None) -> float | None:
    """Median cost of calling a compiled region, as measured in the configuration (null: in any); null if it never was.

    A median below 0, which is noise, counts as 0.
    """
    rows = trace.timings.filter(~pl.col("is_warmup"), pl.col("module_path") == REGION)
    if configuration is not None:
        rows = rows.filter(pl.col("configuration") == configuration)
    found = rows["duration_ns"].median()
    return max(float(found), 0.0) if isinstance(found, (int, float)) else None


def are_numbered(layers: pl.DataFrame) -> bool:
    """Whether the layers' paths number modules by class (ResNet_0.Conv2d_3), as traces do, not by attribute."""
    named = layers.drop_nulls("class_name")
    last = pl.col("layer").str.extract(r"([^.]+?)_\d+$")
    return bool(named.height) and bool(named.select((last == pl.col("class_name")).fill_null(False).all()).item())
