"""The charts of the thesis's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from samples.kit.drawing import COLORS, even_line, legend
from samples.thesis.there import NAMES

ORDER = list(NAMES.values())


def _models() -> alt.Y:
    return alt.Y("model:N", title=None, sort=ORDER)


def _data(values: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=list(values))


def _bars(values: Iterable[Mapping[str, Any]]) -> alt.Chart:
    """Return one bar per value, yet without axes."""
    return alt.Chart(_data(values)).mark_bar()


def _in_order(values: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    """Return each distinct value of a name once, in the order of the first."""
    return list(dict.fromkeys(value[name] for value in values))


def speedup(rows: Mapping[str, Mapping[str, float]]) -> alt.LayerChart:
    """Draw each model's speedup over eager by each method that measured or predicted it."""
    values = [
        {"model": NAMES[model], "by": by, "speedup": ratio}
        for model, ratios in rows.items()
        for by, ratio in ratios.items()
    ]
    order = _in_order(values, "by")
    points = (
        alt.Chart(_data(values))
        .mark_point(
            size=90,
            filled=True,
            opacity=0.9,
        )
        .encode(
            x=alt.X("speedup:Q", title="speedup over eager", scale=alt.Scale(domain=[0.8, 2.4])),
            y=_models(),
            color=alt.Color(
                "by:N",
                title=None,
                scale=alt.Scale(domain=order),
                legend=legend(),
            ),
            shape=alt.Shape(
                "by:N",
                title=None,
                scale=alt.Scale(domain=order),
                legend=legend(),
            ),
        )
    )
    return (points + even_line()).properties(width=600, height=190)


def saved(rows: Mapping[str, Mapping[str, float]], words: Mapping[str, str]) -> alt.Chart:
    """Draw the milliseconds of kernels that compiling saves, by kind."""
    values = [
        {"model": NAMES[model], "kind": words[kind], "ms": ms}
        for model, kinds in rows.items()
        for kind, ms in kinds.items()
    ]
    chart: alt.Chart = (
        _bars(values)
        .encode(
            x=alt.X("ms:Q", title="ms of kernels saved a step"),
            y=_models(),
            color=alt.Color(
                "kind:N",
                title=None,
                sort=list(words.values()),
                legend=legend(),
            ),
        )
        .properties(width=560, height=170)
    )
    return chart


def ticks(frames: Mapping[str, Sequence[float]], title: str) -> alt.LayerChart:
    """Draw one tick per layer's speedup, without smoothing."""
    values = [
        {"model": NAMES[model], "speedup": ratio}
        for model, ratios in frames.items()
        for ratio in ratios
    ]
    marks = (
        alt.Chart(_data(values))
        .mark_tick(thickness=1, opacity=0.5)
        .encode(
            x=alt.X(
                "speedup:Q",
                title=title,
                scale=alt.Scale(
                    type="log",
                    base=2,
                    nice=False,
                    padding=8,
                ),
            ),
            y=_models(),
        )
    )
    return (marks + even_line()).properties(width=600, height=190)


def curves(frames: Mapping[str, pl.DataFrame], words: Mapping[str, str]) -> alt.ConcatChart:
    """Draw milliseconds of each layer in the order of calls, by configuration.

    It is the thesis's Figure 5.11.
    """
    color = alt.Color(
        "configuration:N",
        title=None,
        scale=alt.Scale(
            domain=list(words.values()), range=[COLORS[0], COLORS[1], COLORS[3], COLORS[6]]
        ),
        legend=legend(),
    )
    panels = []
    for model, frame in frames.items():
        values = (
            frame.filter(pl.col("ms") > 0)
            .with_columns(
                pl.col("configuration").replace(words),
                ms=pl.col("ms").round(4),
            )
            .select("configuration", "call_order", "ms")
        )
        panels.append(
            alt.Chart(_data(values.to_dicts()), title=NAMES[model])
            .mark_line(strokeWidth=1, opacity=0.85)
            .encode(
                x=alt.X("call_order:Q", title="layer, in the order of calls"),
                y=alt.Y("ms:Q", title="ms", scale=alt.Scale(type="log", nice=False)),
                color=color,
            )
            .properties(width=310, height=150)
        )
    return alt.concat(*panels, columns=2).resolve_scale(color="shared")


def gains(rows: Mapping[str, Mapping[str, float]]) -> alt.Chart:
    """Draw what choosing layer by layer gains over the faster whole, in percent."""
    values = [
        {"model": NAMES[model], "by": by, "percent": 100 * (ratio - 1)}
        for model, ratios in rows.items()
        for by, ratio in ratios.items()
    ]
    order = _in_order(values, "by")
    chart: alt.Chart = (
        _bars(values)
        .encode(
            x=alt.X("percent:Q", title="gain over the better whole model, %"),
            y=_models(),
            yOffset=alt.YOffset("by:N", sort=order),
            color=alt.Color(
                "by:N",
                title=None,
                sort=order,
                legend=legend(),
            ),
        )
        .properties(width=560, height=230)
    )
    return chart


def measuring(rows: Mapping[tuple[str, str], Mapping[str, float]]) -> alt.Chart:
    """Draw AlexNet's time by each timing method, with and without the profiler.

    It is the thesis's Figure 5.7.
    """
    values = [
        {"way": f"{way}, {word}", "profiler": by, "ms": ms}
        for (way, word), times in rows.items()
        for by, ms in times.items()
    ]
    order = _in_order(values, "way")
    chart: alt.Chart = (
        _bars(values)
        .encode(
            y=alt.Y(
                "way:N",
                title=None,
                sort=order,
                axis=alt.Axis(labelLimit=0),
            ),
            x=alt.X("ms:Q", title="ms of an execution of AlexNet"),
            yOffset=alt.YOffset("profiler:N", sort="descending"),
            color=alt.Color("profiler:N", title=None, legend=legend()),
        )
        .properties(width=480, height=240)
    )
    return chart


def operations(
    convolutions: Sequence[Mapping[str, Any]], chains: Mapping[str, Sequence[Mapping[str, Any]]]
) -> alt.HConcatChart:
    """Draw speedup over a convolution's kernel size, and over the number of operations in a row.

    They are Figures 5.3 and 5.5.
    """
    by = {
        "by the clock": lambda row: row["speedup"].middle,
        "by kernels": lambda row: row["by_kernels"],
    }
    sizes = [
        {"x": f"{row['kernel']}×{row['kernel']}", "speedup": ratio(row), "by": word}
        for row in convolutions
        for word, ratio in by.items()
    ]
    numbers = [
        {"x": row["blocks"], "speedup": ratio(row), "by": word, "what": what}
        for what, rows in chains.items()
        for row in rows
        for word, ratio in by.items()
    ]
    y = alt.Y("speedup:Q", title="speedup", scale=alt.Scale(type="log", base=2))
    color = alt.Color("by:N", title=None, legend=legend())
    sizes_chart = alt.Chart(_data(sizes)).mark_point(
        filled=True,
        size=45,
        opacity=0.7,
    )
    left = sizes_chart.encode(
        x=alt.X("x:N", title="convolution's kernel", axis=alt.Axis(labelAngle=0)),
        y=y,
        color=color,
    )
    two = alt.Chart(_data(numbers)).mark_line(point=True)
    right = two.encode(
        x=alt.X("x:Q", title="convolutions in a chain", scale=alt.Scale(type="log", base=2)),
        y=y,
        color=color,
        strokeDash=alt.StrokeDash("what:N", legend=None),
    )
    return alt.hconcat(
        (left + even_line("y")).properties(width=250, height=210),
        (right + even_line("y")).properties(width=330, height=210),
    )
