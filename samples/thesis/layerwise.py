"""Compare kernel time by kind and by layer, eager and compiled."""

from __future__ import annotations

import json

import polars as pl

import tracelens as tl
from samples.thesis.figures import Run

KINDS = {
    "between": "what stands between convolutions",
    "layout": "layout transforms",
    "products": "convolutions and products",
}
_IS_LAYER = ~pl.col("layer").str.starts_with("(")
"""Rows in brackets stand for what belongs to no layer."""


def by_kind(trace: tl.Trace) -> dict[str, float]:
    """Return milliseconds of kernels per step: layout, convolutions and products, the rest."""
    kernels = trace.kernels.filter(pl.col("step").is_not_null())
    kind = (
        pl.when(pl.col("primitive") == "layout")
        .then(pl.lit("layout"))
        .when(pl.col("primitive").is_in(["conv", "gemm"]))
        .then(pl.lit("products"))
        .otherwise(pl.lit("between"))
    )
    sums = kernels.group_by(kind.alias("kind")).agg(pl.col("duration_ns").sum())
    n_steps = kernels["step"].n_unique()
    return {kind_name: duration_ns / n_steps / 1e6 for kind_name, duration_ns in sums.iter_rows()}


def layout_ns(trace: tl.Trace) -> tuple[float, float]:
    """Return the kernel time of layout transforms, and of all kernels."""
    frame = tl.analyses.layer_attribution(trace)
    layout_total = frame["primitive_layout_ns"].sum()
    total = frame["estimate_ns"].sum()
    return float(layout_total), float(total)


def layers(run: Run, model: str) -> pl.DataFrame:
    """Compare the layers' kernel time, eager over compiled.

    Adds the columns `speedup` and `outcome`.
    """
    frame = tl.analyses.compare_layers(*run.pair(model))
    return frame.filter(pl.col("match") == "both", _IS_LAYER)


def saved(run: Run, model: str) -> dict[str, float]:
    """Return the milliseconds of kernels per step that compiling saves, by kind."""
    eager_ms, compiled_ms = map(by_kind, run.pair(model))
    return {kind: eager_ms.get(kind, 0.0) - compiled_ms.get(kind, 0.0) for kind in KINDS}


def triton(run: Run, model: str) -> tuple[int, float]:
    """Count the compiled model's convolutions that are Triton kernels.

    Also returns their time's share.
    """
    _, compiled = run.pair(model)
    triton_kernels = compiled.kernels.filter(library="triton")
    triton_ns = triton_kernels["duration_ns"].sum()
    all_ns = compiled.kernels["duration_ns"].sum()
    n_convolutions = triton_kernels.filter(primitive="conv").height
    return n_convolutions, float(triton_ns / all_ns)


def ones(run: Run, model: str) -> tuple[int, int]:
    """Count the model's 1×1 convolutions, and all its convolutions."""
    eager, _ = run.pair(model)
    convolutions = eager.layers.filter(class_name="Conv2d")
    settings = [json.loads(text) for text in convolutions["hyperparameters"]]
    sizes = [tuple(setting["kernel_size"]) for setting in settings]
    return sizes.count((1, 1)), len(sizes)


def attributed(run: Run, model: str) -> tuple[float, float]:
    """Return the share of compiled kernel time that provenance assigns to layers.

    Also return half the width of its range, as a share: the split between layers is not known
    exactly.
    """
    _, compiled = run.pair(model)
    frame = tl.analyses.layer_attribution(compiled)
    total_ns = frame["estimate_ns"].sum()
    is_placed = pl.col("evidence").str.starts_with("compile provenance")
    placed_ns = frame.filter(is_placed)["estimate_ns"].sum()
    open_ns = (frame["high_ns"] - frame["low_ns"]).sum()
    return float(placed_ns / total_ns), float(open_ns / 2 / total_ns)


def shorter_than_a_call(run: Run) -> float:
    """Return the share of all models' layers with eager kernels shorter than a region's call."""
    are_shorter: list[bool] = []
    for model, part in run.models().items():
        frame = tl.analyses.compare_layers(*run.pair(model))
        eager_ns = frame.filter(_IS_LAYER)["base_estimate_ns"].drop_nulls()
        are_shorter += (eager_ns < part["region_ns"]).to_list()
    return sum(are_shorter) / len(are_shorter)
