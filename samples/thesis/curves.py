"""Per-layer curves of the thesis's four configurations, from what `tl.measure` wrote; none where it did not."""

from __future__ import annotations

import altair as alt
import polars as pl
from figures import Run
from page import Figure, Section, table
from there import NAMES

CONFIGURATIONS = {
    "interpreted": "CPU, interpreted",
    "cpp": "CPU, compiled to C++",
    "cuda": "CUDA",
    "triton": "Triton",
}
_INFIX = "_timings_"
COLOURS = dict(
    zip(CONFIGURATIONS.values(), ("#4c78a8", "#f58518", "#e45756", "#72b7b2"), strict=True)
)


def measured(run: Run) -> list[str]:
    """The models whose layers were measured in any configuration."""
    found = {name.split(_INFIX)[0] for name in run.captures if _INFIX in name}
    return [model for model in NAMES if model in found and not layer_times(run, model).is_empty()]


def layer_times(run: Run, model: str) -> pl.DataFrame:
    """A row a configuration and layer in the order of calls: median and quartiles of its synchronised timers, ms."""
    frames = []
    for name, trace in run.captures.items():
        if name.split(_INFIX)[0] != model or _INFIX not in name:
            continue
        order = trace.layers.select("module_path", "call_order")
        frames.append(
            trace.timings.filter(
                ~pl.col("is_warmup"),
                ~pl.col("profiled"),
                "synchronized",
                method="layer",
                clock="wall",
            )
            .group_by("configuration", "module_path")
            .agg(
                ms=pl.col("duration_ns").median() / 1e6,
                p25=pl.col("duration_ns").quantile(0.25, "linear") / 1e6,
                p75=pl.col("duration_ns").quantile(0.75, "linear") / 1e6,
            )
            .join(order, on="module_path")
        )
    if not frames:
        times = dict.fromkeys(("ms", "p25", "p75"), pl.Float64)
        return pl.DataFrame(
            schema={
                "configuration": pl.String,
                "module_path": pl.String,
                **times,
                "call_order": pl.Int64,
            }
        )
    return pl.concat(frames).sort("configuration", "call_order")


_COLUMNS = ((("configuration", "module_path"), pl.String), (("ms", "p25", "p75"), pl.Float64))


def sum_of(run: Run, model: str, configuration: str) -> tuple[float, float, float]:
    """Milliseconds of the sum of the layers' times: quartile, median and quartile over the executions."""
    for name, trace in run.captures.items():
        if name.split(_INFIX)[0] == model and _INFIX in name:
            rows = trace.timings.filter(
                ~pl.col("is_warmup"),
                ~pl.col("profiled"),
                "synchronized",
                method="layer",
                clock="wall",
                quantity="arr_sum",
                configuration=configuration,
            )
            if rows.height:
                low, middle, high = (
                    rows["duration_ns"].quantile(q, "linear") or 0.0 for q in (0.25, 0.5, 0.75)
                )
                return low / 1e6, middle / 1e6, high / 1e6
    raise ValueError(f"the layers of {model} were not timed in {configuration}")


def lacking(run: Run) -> dict[tuple[str, ...], list[str]]:
    """Models whose layers were not timed in some configurations, by those."""
    found: dict[tuple[str, ...], list[str]] = {}
    for model in run.models():
        timed = set(layer_times(run, model)["configuration"])
        left = tuple(text for name, text in CONFIGURATIONS.items() if name not in timed)
        if left:
            found.setdefault(left, []).append(model)
    return found


def section(run: Run) -> list[Section]:
    """The curves of each model that was measured; no section where none was."""
    models = measured(run)
    if not models:
        return []
    rows, figures = [], []
    for model in models:
        frame = layer_times(run, model)
        by = {name: frame.filter(configuration=name) for name in CONFIGURATIONS}
        rows.append(
            [
                NAMES[model],
                *(f"{part['ms'].sum():.2f}" if part.height else None for part in by.values()),
            ]
        )
        figures.append(_curves(model, frame))
    blocks = [
        (
            "Milliseconds of each layer in the order of calls, by a timer around it that waits for"
            " the device: the median of the measured executions. A compiled layer is a region of"
            " its own, so its time holds what calling a region costs, and lacks what fusing across"
            " layers saves. The layers' sums (arr_sum):"
        ),
        table(["model", *CONFIGURATIONS.values()], rows),
    ]
    return [
        Section(
            "Curves per layer in four configurations", blocks, [_oracle_bars(run, models), *figures]
        )
    ]


def _oracle_bars(run: Run, models: list[str]) -> Figure:
    """The layers' sums of each configuration, and of each layer's least: the thesis's Fig. 5.9, for all models."""
    values = []
    for model in models:
        frame = layer_times(run, model)
        for name, word in CONFIGURATIONS.items():
            part = frame.filter(configuration=name)
            if part.height:
                values.append({"model": NAMES[model], "run": word, "ms": part["ms"].sum()})
        values += [
            {"model": NAMES[model], "run": f"best of two, {place}", "ms": best["ms"].sum()}
            for place, pair in PAIRS.items()
            if (best := _best(frame, pair)).height
        ]
    order = [*CONFIGURATIONS.values(), *(f"best of two, {place}" for place in PAIRS)]
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(
            # A logarithmic axis has no 0 for bars to begin at.
            x=alt.X(
                "ms:Q",
                title="milliseconds, sum over the layers",
                stack=None,
                scale=alt.Scale(type="log", domainMin=1, nice=False),
            ),
            x2=alt.X2Datum(1),
            y=alt.Y("model:N", title=None, sort=[NAMES[model] for model in models]),
            yOffset=alt.YOffset("run:N", sort=order),
            color=alt.Color(
                "run:N", title=None, sort=order, legend=alt.Legend(orient="top", columns=3)
            ),
        )
        .properties(width=560, height={"step": 9})
    )
    return Figure(
        "oracle",
        chart,
        "Sums of the layers' times, and of each layer's better one; a compiled layer is a region.",
    )


PAIRS = {"CPU": ("interpreted", "cpp"), "GPU": ("cuda", "triton")}


def _best(frame: pl.DataFrame, pair: tuple[str, str]) -> pl.DataFrame:
    """The lesser time of each layer that both configurations have."""
    both = (
        frame.filter(pl.col("configuration").is_in(pair))
        .group_by("module_path", maintain_order=True)
        .agg(pl.col("ms").min(), n=pl.len())
    )
    return both.filter(pl.col("n") == len(pair))


def _curves(model: str, frame: pl.DataFrame) -> Figure:
    """A point a layer and configuration, layers from top to bottom; times span decades: a logarithmic axis.

    The lines only lead the eye from layer to layer: they are faint, and do not cover each other's
    points.
    """
    named = frame.with_columns(pl.col("configuration").replace(CONFIGURATIONS))
    values = (
        named.filter(pl.col("ms") > 0)
        .select("configuration", "module_path", "call_order", "ms")
        .to_dicts()
    )
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(point=alt.OverlayMarkDef(size=26, opacity=0.9), strokeWidth=0.8, opacity=0.3)
        .encode(
            y=alt.Y(
                "module_path:N",
                title=None,
                sort=alt.EncodingSortField("call_order"),
                axis=alt.Axis(labelOverlap=False, labelFontSize=9, labelLimit=260, grid=True),
            ),
            x=alt.X(
                "ms:Q",
                title="milliseconds",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(
                    orient="top", values=[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
                ),
            ),
            order="call_order:Q",
            color=alt.Color(
                "configuration:N",
                title=None,
                scale=_colours({row["configuration"] for row in values}),
                legend=alt.Legend(orient="top", symbolOpacity=1),
            ),
        )
        .properties(width=640, height={"step": 11})
    )
    return Figure(
        f"curves_{model}", chart, f"{NAMES[model]}: milliseconds of each layer, by configuration."
    )


def _colours(shown: set[str]) -> alt.Scale:
    """The same colour for a configuration in every chart."""
    names = [name for name in CONFIGURATIONS.values() if name in shown]
    return alt.Scale(domain=names, range=[COLOURS[name] for name in names])
