"""Draw the charts of a section, as Altair specifications."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl
from altair.utils.schemapi import debug_mode
from msgspec import Struct

from tracelens.analyses.analysis import TOP, Bars, Chart, Density, Lines, Points, SplitBars
from tracelens.report import Section
from tracelens.storage.table import Table
from tracelens.views.palette import COOL, GREY, colors_of, role_colors
from tracelens.views.values import (
    Scale,
    columns_of,
    label_of,
    largest_of,
    printable,
    scale_of,
    shorten,
)

_LABEL_WIDTH, _LEAST_NAME = 60, 24
_MOST_POINTS = 500
_BAR, _THIN_BAR = 20, 12


class Drawing(Struct, frozen=True):
    """A chart and its title."""

    title: str
    chart: alt.Chart | alt.LayerChart


def draw(section: Section) -> list[Drawing]:
    """Return the section's charts, without empty ones."""
    with debug_mode(
        arg=False
    ):  # leaves out checking each chart against Vega-Lite's schema, which takes half a second
        drawings = [_drawn(asked, section.analysis.result) for asked in section.charts]
    return [drawing for drawing in drawings if drawing is not None]


def _drawn(asked: Chart, result: Table) -> Drawing | None:
    if isinstance(asked, Bars):
        return _bars(asked, result)
    if isinstance(asked, Points):
        return _points(asked, result)
    if isinstance(asked, Lines):
        return _lines(asked, result)
    return _density(asked, result) if isinstance(asked, Density) else _split_bars(asked, result)


def _bars(asked: Bars, result: Table) -> Drawing | None:
    """Draw one bar per row. A speedup's begins at 1 and goes left or right on a log axis."""
    measure, color = asked.measure, asked.color
    is_ratio = measure.startswith("speedup")
    frame = asked.frame.filter(
        pl.col(measure).is_not_null() & (pl.col(measure) > 0 if is_ratio else True)
    )
    n_rows = frame.height
    frame = frame.sort(measure, descending=True, maintain_order=True).head(TOP)
    if frame.is_empty():
        return None
    axis, scale = _axis(result, asked.frame, [measure])
    value = pl.Series("value", [_scaled(v, scale) for v in frame[measure]], pl.Float64)
    label = pl.Series("label", labels(frame, asked.names), pl.String)
    rows = frame.select(value, label, *([color] if color else [])).to_dicts()
    x = alt.X(
        "value:Q",
        title=axis,
        scale=alt.Scale(type="log", nice=False) if is_ratio else alt.Scale(),
        axis=_NUMBERS,
    )
    encoding: dict[str, Any] = {
        "x": x,
        "y": _row_axis(),
        "tooltip": _tooltips(axis, *([color] if color else [])),
    }
    if is_ratio:
        encoding["x2"] = alt.X2Datum(1)
    if color is not None:
        encoding["color"] = _color(color, frame[color].unique(maintain_order=True).to_list())
    chart = _base(rows, frame.height * _BAR).mark_bar(color=COOL[0]).encode(**encoding)
    return Drawing(_title(asked.title, n_rows), chart)


def _split_bars(asked: SplitBars, result: Table) -> Drawing | None:
    """Draw stacked or grouped bars, without parts that are zero everywhere."""
    frame, names, stacked = asked.frame, asked.names, asked.stacked
    parts = {
        column: word
        for column, word in asked.parts.items()
        if column in frame.columns and largest_of(frame[column])
    }
    if not parts:
        return None
    across = pl.sum_horizontal(*parts) if stacked else pl.max_horizontal(*parts)
    wide = frame.group_by(names, maintain_order=True).agg(pl.col(list(parts)).sum())
    wide = wide.with_columns(size=across).filter(pl.col("size") > 0)
    n_rows = wide.height
    wide = (
        wide if asked.in_order else wide.sort("size", descending=True, maintain_order=True)
    ).head(TOP)
    axis, scale = _axis(result, asked.frame, list(parts))
    words = list(parts.values())
    rows = [
        {"label": label, "part": word, "order": i, "value": _scaled(row[column], scale)}
        for label, row in zip(labels(wide, names), wide.iter_rows(named=True), strict=True)
        for i, (column, word) in enumerate(parts.items())
    ]
    encoding: dict[str, Any] = {
        "x": alt.X("value:Q", title=axis, stack="zero" if stacked else None, axis=_NUMBERS),
        "y": _row_axis(),
        "color": _color("part", words),
        "tooltip": _tooltips(axis, "part"),
    }
    if stacked:
        encoding["order"] = alt.Order("order:Q")
    else:
        encoding["yOffset"] = alt.YOffset("part:N", sort=words)
    height = wide.height * (_BAR if stacked else _THIN_BAR * len(words) + 4)
    return Drawing(_title(asked.title, n_rows), _base(rows, height).mark_bar().encode(**encoding))


def _points(asked: Points, result: Table) -> Drawing | None:
    """Draw one point per row that has values on both axes, below the roofs."""
    axes, color, size = asked.axes, asked.color, "duration_total_ns"
    logarithmic = axes if asked.roofs else axes[:1]
    frame = (
        asked.frame.drop_nulls(axes)
        .filter(pl.all_horizontal(pl.col(logarithmic) > 0))
        .head(_MOST_POINTS)
    )
    if frame.is_empty():
        return None
    drawn = dict(zip(("x", "y", "size"), (*axes, size), strict=True))
    on = {field: _axis(result, asked.frame, [column]) for field, column in drawn.items()}
    rows = [
        {
            "label": label,
            color: row[color],
            **{field: _scaled(row[c], on[field][1]) for field, c in drawn.items()},
        }
        for label, row in zip(labels(frame, asked.names), frame.iter_rows(named=True), strict=True)
    ]
    values = [
        alt.Tooltip(f"{field}:Q", title=axis, format=",.4~g") for field, (axis, _) in on.items()
    ]
    place = {
        "x": alt.X("x:Q", title=on["x"][0], scale=alt.Scale(type="log"), axis=_NUMBERS),
        "y": alt.Y(
            "y:Q",
            title=on["y"][0],
            scale=alt.Scale(type="log" if asked.roofs else "linear"),
            axis=_NUMBERS,
        ),
        "color": _color(color, frame[color].unique(maintain_order=True).to_list()),
    }
    layers = [
        alt.Chart()
        .mark_circle(opacity=0.75)
        .encode(
            **place,
            size=alt.Size("size:Q", legend=None, scale=alt.Scale(range=[30, 900])),
            tooltip=[alt.Tooltip("label:N", title="name"), *values],
        )
    ]
    roofs = _roofs(asked, rows, on["y"][1])
    if roofs:
        layers.append(
            alt.Chart(alt.InlineData(values=roofs)).mark_line(strokeDash=[4, 4]).encode(**place)
        )
    chart = alt.LayerChart(data=alt.InlineData(values=rows), layer=layers)
    return Drawing(
        asked.title, chart.properties(width="container", height=280, background="transparent")
    )


def _roofs(asked: Points, rows: list[dict[str, Any]], scale: Scale) -> list[dict[str, Any]]:
    """Return the corners of each roof's line, which rises up to its ridge and is level after it."""
    xs = [row["x"] for row in rows if row["x"] is not None]
    words = {row[asked.color] for row in rows}
    return [
        {asked.color: word, "x": x, "y": min(most, slope * x) / scale.divisor}
        for word, (most, slope) in asked.roofs.items()
        if word in words and math.isfinite(ridge := most / slope)
        for x in sorted({min(*xs, ridge) / 2, ridge, max(*xs, ridge) * 2})
    ]


def _lines(asked: Lines, result: Table) -> Drawing | None:
    parts = {
        column: word for column, word in asked.parts.items() if largest_of(asked.frame[column])
    }
    if not parts:
        return None
    (across, x_scale), (up, y_scale) = (
        _axis(result, asked.frame, names) for names in ([asked.x], list(parts))
    )
    rows = [
        {"x": _scaled(row[asked.x], x_scale), "value": _scaled(row[column], y_scale), "part": word}
        for column, word in parts.items()
        for row in asked.frame.drop_nulls(column).select(asked.x, column).iter_rows(named=True)
    ]
    chart = (
        _base(rows, 220)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("x:Q", title=across, axis=_NUMBERS),
            y=alt.Y("value:Q", title=up, axis=_NUMBERS),
            color=_color("part", list(parts.values())),
            tooltip=[
                alt.Tooltip("part:N"),
                *(
                    alt.Tooltip(f"{axis}:Q", title=name, format=",.4~f")
                    for axis, name in (("x", across), ("value", up))
                ),
            ],
        )
    )
    return Drawing(asked.title, chart)


def _density(asked: Density, result: Table) -> Drawing | None:
    """Draw a curve for each group of at least three different values.

    The axis is logarithmic, with a line at 1. The density is of the logarithm, by Vega's Gaussian
    kernel with the bandwidth of Scott's rule.
    """
    measure, group = asked.measure, asked.group
    finite = pl.col(measure).is_finite() & (pl.col(measure) > 0)
    frame = asked.frame.filter(finite.fill_null(False)).filter(
        pl.col(measure).n_unique().over(group) >= 3
    )
    if frame.is_empty():
        return None
    rows = [
        {"log2": math.log2(value), "group": printable(str(name)), "value": value}
        for value, name in frame.select(measure, group).iter_rows()
    ]
    lowest, highest = min(row["log2"] for row in rows), max(row["log2"] for row in rows)
    margin = max((highest - lowest) / 4, 0.1)
    words = list(dict.fromkeys(row["group"] for row in rows))
    axis, _ = _axis(result, asked.frame, [measure])
    curves = (
        alt.Chart()
        .transform_density(
            "log2",
            groupby=["group"],
            as_=["log2", "density"],
            extent=[min(lowest, 0) - margin, max(highest, 0) + margin],
        )
        .transform_calculate(ratio="pow(2, datum.log2)")
        .mark_area(opacity=0.45, line=True)
        .encode(
            x=alt.X("ratio:Q", title=axis, scale=alt.Scale(type="log", nice=False), axis=_NUMBERS),
            y=alt.Y("density:Q", title="density", stack=None, axis=_NUMBERS),
            color=_color("group", words),
            tooltip=[alt.Tooltip("group:N"), alt.Tooltip("ratio:Q", title=axis, format=",.3~g")],
        )
    )
    even = alt.Chart().mark_rule(strokeDash=[4, 4], color=GREY).encode(x=alt.XDatum(1))
    chart = alt.LayerChart(data=alt.InlineData(values=rows), layer=[curves, even])
    return Drawing(
        asked.title, chart.properties(width="container", height=220, background="transparent")
    )


def labels(frame: pl.DataFrame, names: Sequence[str | pl.Expr]) -> list[str]:
    """Return a short, distinct label per row.

    Two kernels that shorten to the same text still get two bars.
    """
    used: dict[str, int] = {}
    out = []
    for row in frame.select(names).iter_rows(named=True):
        words = [
            (
                f"{name.removesuffix('_id')} {value}"
                if name in {"rank", "step", "device_id"}
                else printable(str(value))
            )
            for name, value in row.items()
            if value is not None
        ]
        over = sum(map(len, words)) - _LABEL_WIDTH
        if over > 0:
            longest = max(range(len(words)), key=lambda i: len(words[i]))
            words[longest] = shorten(words[longest], max(len(words[longest]) - over, _LEAST_NAME))
        label = " · ".join(words) or "(none)"
        used[label] = used.get(label, 0) + 1
        out.append(label if used[label] == 1 else f"{label} #{used[label]}")
    return out


def _title(title: str, n_rows: int) -> str:
    return f"{title} ({TOP} of {n_rows:,})" if n_rows > TOP else title


def _axis(result: Table, frame: pl.DataFrame, measures: Sequence[str]) -> tuple[str, Scale]:
    """Return the axis title of the measures, and their common scale."""
    column = columns_of(result, frame)[measures[0]]
    scale = scale_of(column, max(largest_of(frame[name]) for name in measures))
    words = [label_of(column)] if len(measures) == 1 else []
    return (
        " ".join(
            [*words, f"({scale.symbol})"] if words and scale.symbol else [*words, scale.symbol]
        ).strip(),
        scale,
    )


def _scaled(value: float | None, scale: Scale) -> float | None:
    """Return the value on the scale; None if JSON has no number for it."""
    shown = None if value is None else value / scale.divisor
    return shown if shown is not None and abs(shown) < float("inf") else None


_NUMBERS = alt.Axis(format=",.4~f", tickCount=8, gridOpacity=0.5)


def _base(rows: list[dict[str, Any]], height: int) -> alt.Chart:
    data = alt.InlineData(values=rows)
    return alt.Chart(data).properties(width="container", height=height, background="transparent")


def _row_axis() -> alt.Y:
    return alt.Y(
        "label:N",
        title=None,
        sort=None,
        axis=alt.Axis(labelLimit=420, labelFontSize=11, ticks=False, domain=False),
    )


def _color(name: str, words: Sequence[str]) -> alt.Color:
    return alt.Color(
        f"{name}:N",
        title=None,
        scale=alt.Scale(
            domain=words,
            range=[*(role_colors if name == "role" else colors_of)([*words]).values()],
        ),
        legend=alt.Legend(
            orient="top", columns=8, symbolLimit=40, labelLimit=400, symbolType="square"
        ),
    )


def _tooltips(axis: str, *names: str) -> list[alt.Tooltip]:
    words = [
        alt.Tooltip(f"{name}:N", title="name" if name == "label" else name)
        for name in ("label", *names)
    ]
    return [*words, alt.Tooltip("value:Q", title=axis or "value", format=",.4~g")]
