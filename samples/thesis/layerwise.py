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
    return {row["kind"]: row["duration_ns"] / n_steps / 1e6 for row in sums.iter_rows(named=True)}


def layout_ns(trace: tl.Trace) -> tuple[float, float]:
    """Return the kernel time of layout transforms, and of all kernels."""
    frame = tl.analyses.layer_attribution(trace)
    layout, total = frame.select(pl.col("primitive_layout_ns", "estimate_ns").sum()).row(0)
    return float(layout), float(total)


def layers(run: Run, model: str) -> pl.DataFrame:
    """Compare the layers' kernel time, eager over compiled.

    Adds the columns `speedup` and `outcome`.
    """
    frame = tl.analyses.compare_layers(*run.pair(model))
    return frame.filter(pl.col("match") == "both", ~pl.col("layer").str.starts_with("("))


def saved(run: Run, model: str) -> dict[str, float]:
    """Return the milliseconds of kernels per step that compiling saves, by kind."""
    eager, compiled = map(by_kind, run.pair(model))
    return {kind: eager.get(kind, 0.0) - compiled.get(kind, 0.0) for kind in KINDS}


def triton(run: Run, model: str) -> tuple[int, float]:
    """Count the compiled model's convolutions that are Triton kernels.

    Also returns their time's share.
    """
    kernels = run.pair(model)[1].kernels
    own = kernels.filter(library="triton")
    return own.filter(primitive="conv").height, float(
        own["duration_ns"].sum() / kernels["duration_ns"].sum()
    )


def ones(run: Run, model: str) -> tuple[int, int]:
    """Count the model's 1×1 convolutions, and all its convolutions."""
    found = run.pair(model)[0].layers.filter(class_name="Conv2d")["hyperparameters"].to_list()
    sizes = [tuple(json.loads(text)["kernel_size"]) for text in found]
    return sizes.count((1, 1)), len(sizes)


def attributed(run: Run, model: str) -> tuple[float, float]:
    """Return the share of compiled kernel time that provenance assigns to layers.

    Also returns half the width of the range that the split between layers leaves open, as a share.
    """
    frame = tl.analyses.layer_attribution(run.pair(model)[1])
    total = frame["estimate_ns"].sum()
    is_placed = pl.col("evidence").str.starts_with("compile provenance").fill_null(value=False)
    placed = frame.filter(is_placed)["estimate_ns"].sum() / total
    width = frame.select((pl.col("high_ns") - pl.col("low_ns")).sum()).item() / 2 / total
    return float(placed), float(width)


def shorter_than_a_call(run: Run) -> float:
    """Return the share of layers whose eager kernels take less time than a region's call.

    The layers are those of all models; the region is a compiled one.
    """
    found: list[bool] = []
    for model, part in run.models().items():
        frame = tl.analyses.compare_layers(*run.pair(model))
        times = frame.filter(~pl.col("layer").str.starts_with("("))["base_estimate_ns"].drop_nulls()
        found += (times < part["region_ns"]).to_list()
    return sum(found) / len(found)
