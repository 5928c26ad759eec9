"""Layers: layout transforms, speedups and losers, what attribution rests on; and what profiling costs."""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import polars as pl
from figures import Run, agree, even_line, model_axis, spread
from page import Figure, Finding, Section, listed, table
from there import NAMES

import tracelens as tl

NAMED = 3
MOST, FEW = 0.5, 0.1
"""Of the time that compiling saves: what makes layout transforms its cause, and what rules that
out."""


def layout(run: Run) -> Section:
    """Layout transforms' share of GPU time, and of what compiling saves."""
    rows, shares, values = [], {}, []
    for model in run.models():
        (eager, eager_all), (compiled, compiled_all) = map(layout_ns, run.pair(model))
        shares[model] = (
            (eager - compiled) / (eager_all - compiled_all) if eager_all > compiled_all else None
        )
        percent = {"eager": eager / eager_all, "compiled": compiled / compiled_all}
        values += [
            {"model": NAMES[model], "run": kind, "percent": 100 * part}
            for kind, part in percent.items()
        ]
        rows.append(
            [
                NAMES[model],
                *(f"{100 * part:.1f} %" for part in percent.values()),
                _percent(shares[model]),
            ]
        )
    known = [share for share in shares.values() if share is not None]
    finding = Finding(
        "Layout transforms are what makes CUDA's layers slow",
        "section 5.4.1",
        "suspected",
        f"{spread((100 * share for share in known), ' %', 0)} of the GPU time that compiling saves",
        agree(is_cause(share) for share in known),
        "a part of what is saved in every model, and nowhere most of it: `..._eager` and"
        " `..._compiled`",
    )
    bars = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(
            x=alt.X("percent:Q", title="layout transforms, % of GPU time"),
            y=model_axis(run.models()),
            yOffset=alt.YOffset("run:N", sort=["eager", "compiled"]),
            color=alt.Color(
                "run:N", title=None, sort=["eager", "compiled"], legend=alt.Legend(orient="top")
            ),
        )
        .properties(width=520, height=220)
    )
    blocks = [
        (
            "Kernels that only change the order of a tensor in memory (NCHW to NHWC and back), by"
            " `layer_attribution`. The last column is how much of the GPU time saved by compiling"
            " is such kernels gone; layout changes inside fused kernels cannot be seen in either"
            " run."
        ),
        table(["model", "eager", "compiled", "of what is saved"], rows),
    ]
    return Section(
        "Layout transforms",
        blocks,
        [Figure("layout", bars, "Layout transforms' share of GPU time.")],
        [finding],
    )


def layout_ns(trace: tl.Trace) -> tuple[float, float]:
    """GPU time of layout transforms, and of all kernels."""
    frame = tl.analyses.layer_attribution(trace)
    layout, total = frame.select(pl.col("primitive_layout_ns", "estimate_ns").sum()).row(0)
    return float(layout), float(total)


def is_cause(share: float) -> bool | None:
    """Whether so much of the time saved makes layout transforms its cause; null for a part of it."""
    return True if share >= MOST else False if share < FEW else None


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.0f} %"


def layers(run: Run) -> Section:
    """Per-layer speedups: how they are distributed, and which layers lose."""
    rows, values = [], []
    for model in run.models():
        frame = tl.analyses.compare_layers(*run.pair(model))
        both = frame.filter(pl.col("match") == "both", ~pl.col("layer").str.starts_with("("))
        ratios = both["speedup"].drop_nulls()
        values += [{"model": NAMES[model], "log2": x} for x in ratios.log(2).to_list()]
        outcomes = both["outcome"].to_list()
        low, middle, high = (ratios.quantile(q) for q in (0.25, 0.5, 0.75))
        rows.append(
            [
                NAMES[model],
                both.height,
                *(outcomes.count(word) for word in ("faster", "unclear", "slower")),
                f"{middle:.2f} ({low:.2f} to {high:.2f})",
                losers(both),
            ]
        )
    curves = (
        alt.Chart(alt.InlineData(values=values))
        .transform_density("log2", groupby=["model"], as_=["log2", "density"], extent=[-2, 5])
        .transform_calculate(even="pow(2, datum.log2)")
        .mark_line()
        .encode(
            x=alt.X(
                "even:Q",
                title="speedup of a layer",
                scale=alt.Scale(type="log", base=2, nice=False),
            ),
            y=alt.Y("density:Q", title="density"),
            color=alt.Color(
                "model:N",
                title=None,
                sort=list(NAMES.values()),
                legend=alt.Legend(orient="top", columns=3),
            ),
        )
    )
    chart = (curves + even_line()).properties(width=520, height=220)
    blocks = [
        (
            "Layers of both runs, matched by module path, by GPU time of kernels, eager over"
            " compiled. A fused kernel is split over its layers, so a layer's time has a range;"
            " unclear are those whose range of speedups holds 1, and those that differ by less than"
            " 1 % or than their steps do. Very large speedups are layers that vanish in a"
            " neighbour's kernel. Quartiles in brackets; losers with their speedup, those that lose"
            " most first."
        ),
        table(
            [
                "model",
                "layers",
                "faster",
                "unclear",
                "slower",
                "median speedup",
                "layers that lose",
            ],
            rows,
        ),
    ]
    caption = (
        "How the layers' speedups are distributed (density of the logarithm), between 1/4 and 32."
    )
    return Section("Layer by layer", blocks, [Figure("layers", chart, caption)])


def losers(both: pl.DataFrame) -> str | None:
    """The layers that are surely slower compiled, those that lose most first; the rest counted."""
    slower = both.filter(pl.col("outcome") == "slower").sort("saved_ns", "layer")
    named = [
        f"`{layer}` {ratio:.2f}"
        for layer, ratio in slower.head(NAMED).select("layer", "speedup").iter_rows()
    ]
    more = [f"{slower.height - NAMED} more"] if slower.height > NAMED else []
    return ", ".join([*named, *more]) or None


def attribution(run: Run) -> Section:
    """How much of the compiled kernels' time provenance places."""
    rows = []
    for model in run.models():
        frame = tl.analyses.layer_attribution(run.pair(model)[1])
        total = frame["estimate_ns"].sum()
        by = {
            "provenance": (
                pl.col("evidence").str.starts_with("compile provenance").fill_null(value=False)
            ),
            "nowhere": pl.col("layer") == "(unattributed)",
        }
        placed = [float(frame.filter(rule)["estimate_ns"].sum()) / total for rule in by.values()]
        width = frame.select((pl.col("high_ns") - pl.col("low_ns")).sum()).item() / 2 / total
        rows.append(
            [NAMES[model], *(f"{100 * share:.2f} %" for share in placed), f"±{100 * width:.0f} %"]
        )
    blocks = [
        (
            "GPU time of the compiled runs' kernels by what placed it: the record made at compile"
            " time of the FX nodes, and so modules, of each generated kernel. How a fused kernel's"
            " time is split over its layers is an estimate: the last column is half of the summed"
            " ranges of all layers."
        ),
        table(["model", "placed by provenance", "not attributed", "range of the split"], rows),
    ]
    return Section("What the compiled kernels' layers rest on", blocks)


def saved(run: Run) -> Section:
    """Where the GPU time went that compiling saves: by kind of kernel, a step's milliseconds."""
    rows: list[list[Any]] = []
    largest: dict[int, list[str]] = {}
    for model in run.models():
        eager, compiled = map(by_kind, run.pair(model))
        parts = [eager.get(kind, 0.0) - compiled.get(kind, 0.0) for kind in KINDS]
        convolutions = run.pair(model)[1].kernels.filter(pl.col("primitive") == "conv")
        n_triton = convolutions.filter(pl.col("library") == "triton").height
        triton = (
            run.pair(model)[1].kernels.filter(pl.col("library") == "triton")["duration_ns"].sum()
        )
        total = run.pair(model)[1].kernels["duration_ns"].sum()
        whole = sum(parts)
        shown = [f"{ms:.2f} ({ms / whole:.0%})" for ms in parts]
        largest.setdefault(parts.index(max(parts)), []).append(NAMES[model])
        rows.append([NAMES[model], f"{whole:.2f}", *shown, n_triton, f"{triton / total:.0%}"])
    text = (
        "Why is the compiled model faster? The thesis attributes it to Triton's kernels, 1×1"
        " convolutions above all (sections 5.4.1 and 5.5.1). In these captures no convolution is a"
        " Triton kernel: Inductor calls cuDNN and cuBLAS for them, and its own kernels fuse what"
        " stands between. Milliseconds of kernels a step, eager less compiled (`MODEL_eager`,"
        " `MODEL_compiled`):"
    )
    causes = (
        (
            "what stands between convolutions: fused, it reads and writes each activation once"
            " instead of several times"
        ),
        "layout transforms, which Inductor spares by keeping tensors in NHWC",
        (
            "convolutions and products themselves, for which cuDNN and cuBLAS choose other kernels"
            " in that layout"
        ),
    )
    after = (
        "The largest part is "
        + "; ".join(f"in {listed(largest[i])} {causes[i]}" for i in sorted(largest))
        + "."
    )
    heads = [
        "model",
        "saved, ms",
        "normalisation, elementwise, pooling",
        "layout",
        "convolutions, products",
        "convolutions by Triton",
        "Triton's share of compiled GPU time",
    ]
    finding = Finding(
        "Triton's kernels for 1×1 convolutions are what makes compiled models fast",
        "sections 5.4.1 and 5.5.1",
        "named as the cause",
        f"{sum(int(row[5]) for row in rows)} convolutions of the six compiled models are Triton's",
        holds=any(int(row[5]) for row in rows),
        why=(
            'fused normalisation and elementwise kernels, and layout: the table in "Where the time'
            ' went"; which kernels torch 2.3 called on the V100 is not established'
        ),
    )
    return Section(
        "Where the time went", [text, table(heads, rows), after, _share_of_ones(run)], [], [finding]
    )


def _share_of_ones(run: Run) -> str:
    """How many of each model's convolutions are of 1×1."""
    counts = {}
    for model in run.models():
        found = run.pair(model)[0].layers.filter(class_name="Conv2d")["hyperparameters"].to_list()
        sizes = [tuple(json.loads(text)["kernel_size"]) for text in found]
        counts[NAMES[model]] = (sizes.count((1, 1)), len(sizes))
    said = ", ".join(
        f"{name} {ones} of {all_} ({ones / all_:.0%})" for name, (ones, all_) in counts.items()
    )
    return (
        "Nor do 1×1 convolutions tell the models apart that gained in the thesis (section 6.1):"
        f" {said} of their convolutions are of 1×1."
    )


def largest_saving(run: Run, model: str) -> tuple[str, float, float]:
    """The kind of kernel that compiling saves most in, how many milliseconds a step, and their share of the saving."""
    eager, compiled = map(by_kind, run.pair(model))
    parts = {kind: eager.get(kind, 0.0) - compiled.get(kind, 0.0) for kind in KINDS}
    most = max(parts, key=lambda kind: parts[kind])
    return KINDS[most], parts[most], parts[most] / sum(parts.values())


KINDS = {
    "between": "what stands between convolutions",
    "layout": "layout transforms",
    "products": "convolutions and products",
}


def by_kind(trace: tl.Trace) -> dict[str, float]:
    """Milliseconds of kernels a step: layout, convolutions and products, and what stands between."""
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
