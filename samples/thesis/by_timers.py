"""The thesis's sections 5.5.3 and 5.5.4 by timers around each layer: curves, densities and oracle."""

from __future__ import annotations

from itertools import pairwise

import altair as alt
import curves
import polars as pl
from figures import Run, even_line, spread
from page import Figure, Finding, Section, table
from there import NAMES, ORACLE

import tracelens as tl

GPU, CPU = ("cuda", "triton"), ("interpreted", "cpp")
N_PARTS = 3
"""The thesis compares the first third of ResNet's layers with the others."""
LOG2 = alt.Scale(type="log", base=2, nice=False)
LEGEND = alt.Legend(orient="top", columns=3)
ENOUGH = 1.02
"""The least of the thesis's oracle speedups, to two digits."""


def section(run: Run) -> list[Section]:
    """Layers that compiling makes faster and slower, and what choosing would gain; no section without timings."""
    models = [model for model in curves.measured(run) if not layers(run, model, GPU).is_empty()]
    if not models:
        return []
    rows, values = [], []
    for model in models:
        row: list[object] = [NAMES[model]]
        for pair in (GPU, CPU):
            frame = layers(run, model, pair)
            if frame.is_empty():
                row += [None] * 4
                continue
            row += [frame.height, *sides(frame), f"{best_of_two(frame):.3f}"]
        rows.append(
            [*row, ", ".join(f"{ratio:.2f}" for ratio in by_parts(layers(run, model, GPU)))]
        )
        values += [
            {"model": NAMES[model], "log2": x}
            for x in layers(run, model, GPU)["ratio"].log(2).to_list()
        ]
    heads = [
        "GPU: layers",
        "faster",
        "slower",
        "best of two",
        "CPU: layers",
        "faster",
        "slower",
        "best of two",
    ]
    blocks = [
        (
            "The thesis's own way: a timer around each layer that waits for the device (`layer`,"
            " synchronised, of `MODEL_timings_cuda` and `MODEL_timings_interpreted`; medians of"
            " twenty executions, on the CPU of six). Faster and slower compiled are layers whose"
            " quartiles do not overlap. Best of two: the sum of each layer's better time, over the"
            " better of both sums. The last column is CUDA's time over Triton's in the first,"
            " second and last third of the layers."
        ),
        table(["model", *heads, "CUDA over Triton by thirds"], rows),
    ]
    figures = [_densities(values)]
    return [Section("Layer by layer, by timers", blocks, figures, findings(run, models))]


def layers(run: Run, model: str, pair: tuple[str, str]) -> pl.DataFrame:
    """The layers of both configurations in the order of calls: `one`, `two` (ms), `ratio`, its `low` and `high`."""
    frame = curves.layer_times(run, model)
    one, two = (
        frame.filter(configuration=name).rename({"ms": place})
        for name, place in zip(pair, ("one", "two"), strict=True)
    )
    both = one.join(two, on=["module_path", "call_order"], suffix="_two").sort("call_order")
    return both.with_columns(
        ratio=pl.col("one") / pl.col("two"),
        low=pl.col("p25") / pl.col("p75_two"),
        high=pl.col("p75") / pl.col("p25_two"),
    )


def sides(frame: pl.DataFrame) -> tuple[int, int]:
    """How many layers are surely faster in the second configuration, and how many slower."""
    return frame.filter(pl.col("low") > 1).height, frame.filter(pl.col("high") < 1).height


def best_of_two(frame: pl.DataFrame) -> float:
    """The gain of the better of both for each layer over the better of both sums."""
    one, two, best = frame.select(
        pl.col("one").sum(), pl.col("two").sum(), best=pl.min_horizontal("one", "two").sum()
    ).row(0)
    return float(min(one, two) / best)


def by_parts(frame: pl.DataFrame) -> list[float]:
    """The first configuration's time over the second's in each third of the layers."""
    cuts = [frame.height * at // N_PARTS for at in range(N_PARTS + 1)]
    parts = [frame[begin:end] for begin, end in pairwise(cuts)]
    return [float(part["one"].sum() / part["two"].sum()) for part in parts if part.height]


def kernels_by_parts(run: Run, model: str) -> list[float]:
    """The same by GPU time of kernels, eager over compiled, from the two traces."""
    found = tl.analyses.compare_layers(*run.pair(model)).filter(match="both")
    order = run.pair(model)[0].layers.select("call_order", layer="module_path")
    both = found.join(order, on="layer").sort("call_order")
    return by_parts(both.select(one="base_estimate_ns", two="other_estimate_ns"))


def findings(run: Run, models: list[str]) -> list[Finding]:
    """Sections 5.5.3 and 5.5.4, by the thesis's own way of timing."""
    frames = {model: layers(run, model, GPU) for model in models}
    found = {model: sides(frame) for model, frame in frames.items()}
    both = [model for model, (faster, slower) in found.items() if faster and slower]
    gains = {model: best_of_two(frame) for model, frame in frames.items()}
    excess = pl.concat(
        [frame.select(us=(pl.col("two") - pl.col("one")) * 1000) for frame in frames.values()]
    )["us"]
    low, middle, high = (excess.quantile(q, "linear") or 0.0 for q in (0.25, 0.5, 0.75))
    calls = [part["region_ns"] / 1000 for part in run.models().values()]
    why = (
        f"a layer compiled by itself takes {middle:.0f} µs ({low:.0f} to {high:.0f}) longer,"
        " whatever it computes (`MODEL_timings_cuda`), of which the call of a region is"
        f" {spread(calls, ' µs', 0)} (`region_ns` of `results.json`) and the rest not established;"
        " by kernels, which have no such call, see "
    )
    said = [
        Finding(
            "Every model has layers that compiling makes faster and layers that it makes slower",
            "section 5.5.3, Fig. 5.8 and Appendix Fig. 2",
            "all six, by timers around each layer",
            f"by such timers {len(both)} of {len(found)}: {sum(f for f, _ in found.values())}"
            f" layers faster, {sum(s for _, s in found.values())} slower, of"
            f" {sum(frame.height for frame in frames.values())}",
            len(both) == len(found),
            why + '"Layer by layer"',
        ),
        Finding(
            "Choosing the better of both for each layer gains 2 % or more, in theory, in every"
            " model",
            "section 5.5.4, Table 5.1, by timers around each layer",
            spread(ORACLE.values(), digits=3),
            f"by such timers {spread(gains.values(), digits=3)}",
            min(gains.values()) >= ENOUGH,
            why + '"In theory: the oracle"',
        ),
        _artefacts(frames),
    ]
    if "resnet50" in frames:
        said.append(_thirds(run, frames["resnet50"]))
    on_cpu = layers(run, "resnet50", CPU)
    return [*said, *([_on_cpu(run)] if not on_cpu.is_empty() else [])]


def _artefacts(frames: dict[str, pl.DataFrame]) -> Finding:
    worst = {model: frame.sort("ratio").row(-1, named=True) for model, frame in frames.items()}
    top = max(worst, key=lambda model: worst[model]["ratio"])
    surely = {model: sides(frame)[0] for model, frame in frames.items()}
    return Finding(
        "In all six models some layers take CUDA much longer than Triton, most in the three that"
        " gain most",
        "section 5.5.3, Fig. 5.11 and Appendix Figs. 5 to 10",
        "peaks in all six, minor in AlexNet",
        f"{sum(surely.values())} layers take CUDA surely longer; the largest ratio is"
        f" {worst[top]['ratio']:.2f} ({worst[top]['low']:.2f} to {worst[top]['high']:.2f}),"
        f" `{worst[top]['module_path']}` of {NAMES[top]}",
        all(surely.values()),
        "a compiled layer's time holds the call of its region, as above; what the peaks of torch"
        " 2.3 were is not established",
    )


def _thirds(run: Run, frame: pl.DataFrame) -> Finding:
    first, *others = by_parts(frame)
    kernels = ", ".join(f"{ratio:.2f}" for ratio in kernels_by_parts(run, "resnet50"))
    return Finding(
        "CUDA is slower than Triton in the first third of ResNet's layers, then about equal",
        "section 5.5.3, Fig. 5.11",
        "slower, then about equal",
        "CUDA's time over Triton's by thirds:"
        f" {', '.join(f'{ratio:.2f}' for ratio in (first, *others))}; by kernels {kernels}",
        first > 1 and all(abs(ratio - 1) < 0.1 for ratio in others),
        "by timers each compiled layer pays the call of its region; by kernels compiling gains in"
        " every third: `resnet50_timings_cuda`, `resnet50_eager` and `resnet50_compiled`",
    )


def _on_cpu(run: Run) -> Finding:
    sums = {name: curves.sum_of(run, "resnet50", name) for name in CPU}
    (low, one, high), (two_low, two, two_high) = (sums[name] for name in CPU)
    return Finding(
        "On the CPU ResNet's layers are slower compiled to C++",
        "section 5.5.3, Fig. 5.11",
        "the poorest curve",
        f"{one / two:.2f} ({low / two_high:.2f} to {high / two_low:.2f}) times as fast as"
        " interpreted, by the sums",
        None if low / two_high <= 1 <= high / two_low else one < two,
        "`resnet50_timings_interpreted`; cause not established",
    )


def _densities(values: list[dict[str, object]]) -> Figure:
    lines = (
        alt.Chart(alt.InlineData(values=values))
        .transform_density("log2", groupby=["model"], as_=["log2", "density"], extent=[-3, 1])
        .transform_calculate(even="pow(2, datum.log2)")
        .mark_line()
        .encode(
            x=alt.X(
                "even:Q",
                title="CUDA's time of a layer over Triton's",
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
    chart = (lines + even_line()).properties(width=520, height=200)
    caption = (
        "How the layers' speedups by timers are distributed (density of the logarithm; the thesis's"
        " Fig. 5.8)."
    )
    return Figure("densities", chart, caption)
