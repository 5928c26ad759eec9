"""Layers: layout transforms, speedups and losers, what attribution rests on; and what profiling costs."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import altair as alt
import polars as pl
from figures import Run, agree, even_line, model_axis, spread
from page import Figure, Finding, Section, table
from there import NAMES, PROFILING

import tracelens as tl

NAMED = 3
MOST, FEW = 0.5, 0.1
"""Of the time that compiling saves: what makes layout transforms its cause, and what rules that out."""


def layout(run: Run) -> Section:
    """Layout transforms' share of GPU time, and of what compiling saves."""
    rows, shares, values = [], {}, []
    for model in run.models():
        (eager, eager_all), (compiled, compiled_all) = map(layout_ns, run.pair(model))
        shares[model] = (eager - compiled) / (eager_all - compiled_all) if eager_all > compiled_all else None
        percent = {"eager": eager / eager_all, "compiled": compiled / compiled_all}
        values += [{"model": NAMES[model], "run": kind, "percent": 100 * part} for kind, part in percent.items()]
        rows.append([NAMES[model], *(f"{100 * part:.1f} %" for part in percent.values()), _percent(shares[model])])
    known = [share for share in shares.values() if share is not None]
    finding = Finding(
        "Layout transforms are what makes CUDA's layers slow",
        "suspected",
        f"{spread((100 * share for share in known), ' %', 0)} of the GPU time that compiling saves",
        agree(is_cause(share) for share in known),
    )
    bars = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(
            x=alt.X("percent:Q", title="layout transforms, % of GPU time"),
            y=model_axis(run.models()),
            yOffset=alt.YOffset("run:N", sort=["eager", "compiled"]),
            color=alt.Color("run:N", title=None, sort=["eager", "compiled"], legend=alt.Legend(orient="top")),
        )
        .properties(width=520, height=220)
    )
    blocks = [
        (
            "Kernels that only change the order of a tensor in memory (NCHW to NHWC and back), by "
            "`layer_attribution`. The last column is how much of the GPU time saved by compiling is such kernels "
            "gone; layout changes inside fused kernels cannot be seen in either run."
        ),
        table(["model", "eager", "compiled", "of what is saved"], rows),
    ]
    return Section(
        "Layout transforms", blocks, [Figure("layout", bars, "Layout transforms' share of GPU time.")], [finding]
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
                NAMES[model], both.height, *(outcomes.count(word) for word in ("faster", "unclear", "slower")),
                f"{middle:.2f} ({low:.2f} to {high:.2f})", losers(both),
            ]
        )  # fmt: skip
    curves = (
        alt.Chart(alt.InlineData(values=values))
        .transform_density("log2", groupby=["model"], as_=["log2", "density"], extent=[-2, 5])
        .transform_calculate(even="pow(2, datum.log2)")
        .mark_line()
        .encode(
            x=alt.X("even:Q", title="speedup of a layer", scale=alt.Scale(type="log", base=2, nice=False)),
            y=alt.Y("density:Q", title="density"),
            color=alt.Color(
                "model:N", title=None, sort=list(NAMES.values()), legend=alt.Legend(orient="top", columns=3)
            ),
        )
    )
    chart = (curves + even_line()).properties(width=520, height=220)
    blocks = [
        (
            "Layers of both runs, matched by module path, by GPU time of kernels, eager over compiled. A fused "
            "kernel is split over its layers, so a layer's time has a range; unclear are those whose range of "
            "speedups holds 1. Very large speedups are layers that vanish in a neighbour's kernel. Quartiles in "
            "brackets; losers with their speedup, those that lose most first."
        ),
        table(["model", "layers", "faster", "unclear", "slower", "median speedup", "layers that lose"], rows),
    ]
    caption = "How the layers' speedups are distributed (density of the logarithm), between 1/4 and 32."
    return Section("Layer by layer", blocks, [Figure("layers", chart, caption)])


def losers(both: pl.DataFrame) -> str | None:
    """The layers that are surely slower compiled, those that lose most first; the rest counted."""
    slower = both.filter(pl.col("outcome") == "slower").sort("saved_ns", "layer")
    named = [f"`{layer}` {ratio:.2f}" for layer, ratio in slower.head(NAMED).select("layer", "speedup").iter_rows()]
    more = [f"{slower.height - NAMED} more"] if slower.height > NAMED else []
    return ", ".join([*named, *more]) or None


def attribution(run: Run) -> Section:
    """How much of the compiled kernels' time provenance places."""
    rows = []
    for model in run.models():
        frame = tl.analyses.layer_attribution(run.pair(model)[1])
        total = frame["estimate_ns"].sum()
        by = {
            "provenance": pl.col("evidence").str.starts_with("compile provenance").fill_null(value=False),
            "nowhere": pl.col("layer") == "(unattributed)",
        }
        placed = [float(frame.filter(rule)["estimate_ns"].sum()) / total for rule in by.values()]
        width = frame.select((pl.col("high_ns") - pl.col("low_ns")).sum()).item() / 2 / total
        rows.append([NAMES[model], *(f"{100 * share:.2f} %" for share in placed), f"±{100 * width:.0f} %"])
    blocks = [
        (
            "GPU time of the compiled runs' kernels by what placed it: the record made at compile time of the FX "
            "nodes, and so modules, of each generated kernel. How a fused kernel's time is split over its layers is "
            "an estimate: the last column is half of the summed ranges of all layers."
        ),
        table(["model", "placed by provenance", "not attributed", "range of the split"], rows),
    ]
    return Section("What the compiled kernels' layers rest on", blocks)


def profiling(run: Run, study: Mapping[str, Any] | None = None) -> Section:
    """A profiled step beside one that is not, of the eager captures."""
    captures = {NAMES[model]: _settings(run.pair(model)[0]) for model in run.models()}
    if study:
        captures["ResNet-50 of the abstraction study"] = study
    steps = {name: times for name, found in captures.items() if (times := _step_ms(found))}
    if not steps:
        return Section("What profiling costs", ["No capture tells."])
    ratios = {name: profiled / plain for name, (plain, profiled) in steps.items()}
    finding = Finding(
        "A profiled step takes about twice as long",
        f"about {PROFILING:g}",
        f"{spread(ratios.values())}, median {median(ratios.values()):.2f}",
        agree(is_twofold(ratio) for ratio in ratios.values()),
    )
    blocks = [
        (
            "Wall time of eager steps by the captures' own record, milliseconds: the few steps before the profiler "
            "starts, and the three that it records, with shapes, stacks and modules. The former are a model's first "
            "after compiling and hold what is set up then, so the ratio is a rough one, and too small where they "
            "were slow."
        ),
        table(
            ["capture", "not profiled", "profiled", "times as long"],
            [[name, *(f"{ms:.2f}" for ms in pair), f"{ratios[name]:.2f}"] for name, pair in steps.items()],
        ),
    ]
    return Section("What profiling costs", blocks, [], [finding])


def is_twofold(ratio: float) -> bool:
    """About two, to the next half."""
    return abs(ratio - PROFILING) <= 0.5


def _step_ms(settings: Mapping[str, Any]) -> tuple[float, float] | None:
    """Median time of a step without the profiler and with it, as captures tell it now or told it at first."""
    plain, profiled = settings.get("unprofiled_step_ns"), settings.get("profiled_step_ns")
    if plain and profiled:
        return plain["median"] / 1e6, profiled["median"] / 1e6
    plain, profiled = settings.get("step_median_ns"), settings.get("profiled_step_median_ns")
    return (plain / 1e6, profiled / 1e6) if plain and profiled else None


def _settings(trace: tl.Trace) -> Mapping[str, Any]:
    found: Mapping[str, Any] = trace.manifest.sources[0]["settings"]
    return found
