"""Draw the charts of a section with Altair."""

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
    """Return the section's charts that have data."""
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
    """Return a chart with one bar per row, None without values.

    The bar of a speedup begins at 1 on a logarithmic axis.
    """
    measure, color = asked.measure, asked.color
    is_ratio = measure.startswith("speedup")
    known = asked.frame.drop_nulls(measure)
    drawn = known.filter(pl.col(measure) > 0) if is_ratio else known
    longest = drawn.sort(measure, descending=True, maintain_order=True).head(TOP)
    if longest.is_empty():
        return None
    axis, scale = _axis(result, asked.frame, [measure])
    value = pl.Series(
        "value",
        [_scaled(v, scale) for v in longest[measure]],
        pl.Float64,
    )
    label = pl.Series("label", labels(longest, asked.names), pl.String)
    colored_by = [] if color is None else [color]
    rows = longest.select(value, label, *colored_by).to_dicts()
    x_scale = alt.Scale(type="log", nice=False) if is_ratio else alt.Scale()
    encoding: dict[str, Any] = {
        "x": alt.X("value:Q", title=axis, scale=x_scale, axis=_NUMBERS),
        "y": _row_axis(),
        "tooltip": _tooltips(axis, *colored_by),
    }
    if is_ratio:
        encoding["x2"] = alt.X2Datum(1)
    if color is not None:
        encoding["color"] = _color(
            color,
            longest[color].unique(maintain_order=True).to_list(),
        )
    chart = _base(rows, longest.height * _BAR).mark_bar(color=COOL[0]).encode(**encoding)
    return Drawing(_title(asked.title, drawn.height), chart)


def _split_bars(asked: SplitBars, result: Table) -> Drawing | None:
    """Return a chart of stacked or grouped bars, without parts that are zero in all rows."""
    names, stacked = asked.names, asked.stacked
    parts = {
        column: word
        for column, word in asked.parts.items()
        if column in asked.frame.columns and largest_of(asked.frame[column])
    }
    if not parts:
        return None
    size = pl.sum_horizontal(*parts) if stacked else pl.max_horizontal(*parts)
    sums = asked.frame.group_by(names, maintain_order=True).agg(pl.col(list(parts)).sum())
    drawn = sums.with_columns(size=size).filter(pl.col("size") > 0)
    in_order = drawn if asked.in_order else drawn.sort("size", descending=True, maintain_order=True)
    first = in_order.head(TOP)
    axis, scale = _axis(result, asked.frame, list(parts))
    rows = [
        {
            "label": label,
            "part": word,
            "order": i,
            "value": _scaled(row[column], scale),
        }
        for label, row in zip(
            labels(first, names),
            first.iter_rows(named=True),
            strict=True,
        )
        for i, (column, word) in enumerate(parts.items())
    ]
    words = list(parts.values())
    encoding: dict[str, Any] = {
        "x": alt.X(
            "value:Q",
            title=axis,
            stack="zero" if stacked else None,
            axis=_NUMBERS,
        ),
        "y": _row_axis(),
        "color": _color("part", words),
        "tooltip": _tooltips(axis, "part"),
    }
    if stacked:
        encoding["order"] = alt.Order("order:Q")
        bar_height = _BAR
    else:
        encoding["yOffset"] = alt.YOffset("part:N", sort=words)
        bar_height = _THIN_BAR * len(words) + 4
    chart = _base(rows, first.height * bar_height).mark_bar().encode(**encoding)
    return Drawing(_title(asked.title, drawn.height), chart)


def _points(asked: Points, result: Table) -> Drawing | None:
    """Return a chart with the roofs, and one point per row with values on both axes."""
    x, y = asked.axes
    logarithmic = (x, y) if asked.roofs else (x,)
    is_drawn = pl.all_horizontal(pl.col(logarithmic) > 0)
    frame = asked.frame.drop_nulls((x, y)).filter(is_drawn).head(_MOST_POINTS)
    if frame.is_empty():
        return None
    columns = {"x": x, "y": y, "size": "duration_total_ns"}
    titles, scales = {}, {}
    for channel, column in columns.items():
        titles[channel], scales[channel] = _axis(result, asked.frame, [column])
    rows = [
        {"label": label, asked.color: row[asked.color]}
        | {channel: _scaled(row[column], scales[channel]) for channel, column in columns.items()}
        for label, row in zip(
            labels(frame, asked.names),
            frame.iter_rows(named=True),
            strict=True,
        )
    ]
    axes = {
        "x": alt.X(
            "x:Q",
            title=titles["x"],
            scale=alt.Scale(type="log"),
            axis=_NUMBERS,
        ),
        "y": alt.Y(
            "y:Q",
            title=titles["y"],
            scale=alt.Scale(type="log" if asked.roofs else "linear"),
            axis=_NUMBERS,
        ),
        "color": _color(
            asked.color,
            frame[asked.color].unique(maintain_order=True).to_list(),
        ),
    }
    size = alt.Size(
        "size:Q",
        legend=None,
        scale=alt.Scale(range=[30, 900]),
    )
    values = [
        alt.Tooltip(f"{channel}:Q", title=title, format=",.4~g")
        for channel, title in titles.items()
    ]
    tooltip = [alt.Tooltip("label:N", title="name"), *values]
    layers = [alt.Chart().mark_circle(opacity=0.75).encode(**axes, size=size, tooltip=tooltip)]
    roofs = _roofs(asked, rows, scales["y"])
    if roofs:
        lines = alt.Chart(alt.InlineData(values=roofs)).mark_line(strokeDash=[4, 4])
        layers.append(lines.encode(**axes))
    chart = alt.LayerChart(data=alt.InlineData(values=rows), layer=layers)
    return Drawing(
        asked.title,
        chart.properties(width="container", height=280, background="transparent"),
    )


def _roofs(
    asked: Points,
    rows: list[dict[str, Any]],
    scale: Scale,
) -> list[dict[str, Any]]:
    """Return the corners of each roof's line. A line rises to the ridge and then is level."""
    xs = [row["x"] for row in rows if row["x"] is not None]
    drawn = {row[asked.color] for row in rows}
    corners = []
    for word, (most, slope) in asked.roofs.items():
        ridge = most / slope
        if word not in drawn or not math.isfinite(ridge):
            continue
        begin = min(*xs, ridge) / 2
        end = max(*xs, ridge) * 2
        corners += [
            {
                asked.color: word,
                "x": x,
                "y": min(most, slope * x) / scale.divisor,
            }
            for x in sorted({begin, ridge, end})
        ]
    return corners


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
        {
            "x": _scaled(row[asked.x], x_scale),
            "value": _scaled(row[column], y_scale),
            "part": word,
        }
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
    """Return a chart with one density curve per group.

    The measure is a ratio, so its axis is logarithmic, with a line at 1. Groups with fewer than
    three different values get no curve.
    """
    value = pl.col(asked.measure)
    is_positive = (value.is_finite() & (value > 0)).fill_null(False)
    has_curve = value.n_unique().over(asked.group) >= 3
    frame = asked.frame.filter(is_positive).filter(has_curve)
    if frame.is_empty():
        return None
    rows = [
        {
            "log2": math.log2(ratio),
            "group": printable(str(name)),
            "value": ratio,
        }
        for ratio, name in frame.select(asked.measure, asked.group).iter_rows()
    ]
    lowest = min(row["log2"] for row in rows)
    highest = max(row["log2"] for row in rows)
    margin = max((highest - lowest) / 4, 0.1)
    extent = [min(lowest, 0) - margin, max(highest, 0) + margin]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    axis, _ = _axis(result, asked.frame, [asked.measure])
    # A Gaussian kernel for the logarithm, with the bandwidth by Scott's rule
    density = alt.Chart().transform_density(
        "log2",
        groupby=["group"],
        as_=["log2", "density"],
        extent=extent,
    )
    with_ratio = density.transform_calculate(ratio="pow(2, datum.log2)")
    curves = with_ratio.mark_area(opacity=0.45, line=True).encode(
        x=alt.X(
            "ratio:Q",
            title=axis,
            scale=alt.Scale(type="log", nice=False),
            axis=_NUMBERS,
        ),
        y=alt.Y("density:Q", title="density", stack=None, axis=_NUMBERS),
        color=_color("group", groups),
        tooltip=[
            alt.Tooltip("group:N"),
            alt.Tooltip("ratio:Q", title=axis, format=",.3~g"),
        ],
    )
    even = alt.Chart().mark_rule(strokeDash=[4, 4], color=GREY).encode(x=alt.XDatum(1))
    chart = alt.LayerChart(
        data=alt.InlineData(values=rows),
        layer=[curves, even],
    )
    return Drawing(
        asked.title,
        chart.properties(width="container", height=220, background="transparent"),
    )


def labels(frame: pl.DataFrame, names: Sequence[str | pl.Expr]) -> list[str]:
    """Return a short label per row, different for each row.

    Kernels with the same shortened name would otherwise share a bar.
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
            longest = max(
                range(len(words)),
                key=lambda i: len(words[i]),
            )
            words[longest] = shorten(
                words[longest],
                max(len(words[longest]) - over, _LEAST_NAME),
            )
        label = " · ".join(words) or "(none)"
        used[label] = used.get(label, 0) + 1
        out.append(label if used[label] == 1 else f"{label} #{used[label]}")
    return out


def _title(title: str, n_rows: int) -> str:
    return f"{title} ({TOP} of {n_rows:,})" if n_rows > TOP else title


def _axis(result: Table, frame: pl.DataFrame, measures: Sequence[str]) -> tuple[str, Scale]:
    """Return the title and the scale of the axis for these measures."""
    column = columns_of(result, frame)[measures[0]]
    scale = scale_of(
        column,
        max(largest_of(frame[name]) for name in measures),
    )
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
    return [
        *words,
        alt.Tooltip("value:Q", title=axis or "value", format=",.4~g"),
    ]
