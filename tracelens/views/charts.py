"""Draw the charts of a section, as specifications of Vega-Lite."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

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
_NUMBERS = {"format": ",.4~f", "tickCount": 8, "gridOpacity": 0.5}
_LOG_AROUND_1 = {"type": "log", "nice": False}
_QUANTITATIVE, _NOMINAL = "quantitative", "nominal"

Spec: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart and its title."""

    title: str
    chart: Spec


def draw(section: Section) -> list[Drawing]:
    """Return the section's charts; none that would be empty."""
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
    """Draw a bar for each row; bars of a speedup grow from 1, both ways, on a log axis."""
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
    encoding: Spec = {
        "x": _number("value", axis, **({"scale": _LOG_AROUND_1} if is_ratio else {})),
        "y": _row_axis(),
        "tooltip": _tooltips(axis, *([color] if color else [])),
    }
    if is_ratio:
        encoding["x2"] = {"datum": 1}
    if color is not None:
        encoding["color"] = _color(color, frame[color].unique(maintain_order=True).to_list())
    layer = {"mark": {"type": "bar", "color": COOL[0]}, "encoding": encoding}
    return _drawing(_title(asked.title, n_rows), rows, frame.height * _BAR, layer)


def _split_bars(asked: SplitBars, result: Table) -> Drawing | None:
    """Draw stacked or grouped bars, without the parts that are zero everywhere."""
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
    encoding: Spec = {
        "x": _number("value", axis, stack="zero" if stacked else None),
        "y": _row_axis(),
        "color": _color("part", words),
        "tooltip": _tooltips(axis, "part"),
    }
    if stacked:
        encoding["order"] = {"field": "order", "type": _QUANTITATIVE}
    else:
        encoding["yOffset"] = {"field": "part", "type": _NOMINAL, "sort": words}
    height = wide.height * (_BAR if stacked else _THIN_BAR * len(words) + 4)
    layer = {"mark": {"type": "bar"}, "encoding": encoding}
    return _drawing(_title(asked.title, n_rows), rows, height, layer)


def _points(asked: Points, result: Table) -> Drawing | None:
    """Draw a point for each row that has a value on both axes, below their roofs."""
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
    place = {
        "x": _number("x", on["x"][0], scale={"type": "log"}),
        "y": _number("y", on["y"][0], scale={"type": "log" if asked.roofs else "linear"}),
        "color": _color(color, frame[color].unique(maintain_order=True).to_list()),
    }
    circles = {
        "mark": {"type": "circle", "opacity": 0.75},
        "encoding": {
            **place,
            "size": {
                "field": "size",
                "type": _QUANTITATIVE,
                "legend": None,
                "scale": {"range": [30, 900]},
            },
            "tooltip": [
                _word("label", "name"),
                *(_told(field, axis, ",.4~g") for field, (axis, _) in on.items()),
            ],
        },
    }
    roofs = _roofs(asked, rows, on["y"][1])
    lines = {
        "data": {"values": roofs},
        "mark": {"type": "line", "strokeDash": [4, 4]},
        "encoding": place,
    }
    layers = {"layer": [circles, lines] if roofs else [circles]}
    return _drawing(asked.title, rows, 280, layers)


def _roofs(asked: Points, rows: list[dict[str, Any]], scale: Scale) -> list[dict[str, Any]]:
    """Return the corners of each roof's line, which rises to its ridge and is level after it."""
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
    layer = {
        "mark": {"type": "line", "interpolate": "step-after"},
        "encoding": {
            "x": _number("x", across),
            "y": _number("value", up),
            "color": _color("part", list(parts.values())),
            "tooltip": [
                _word("part"),
                _told("x", across, ",.4~f"),
                _told("value", up, ",.4~f"),
            ],
        },
    }
    return _drawing(asked.title, rows, 220, layer)


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
    density = {
        "density": "log2",
        "groupby": ["group"],
        "as": ["log2", "density"],
        "extent": [min(lowest, 0) - margin, max(highest, 0) + margin],
    }
    curves = {
        "transform": [density, {"calculate": "pow(2, datum.log2)", "as": "ratio"}],
        "mark": {"type": "area", "opacity": 0.45, "line": True},
        "encoding": {
            "x": _number("ratio", axis, scale=_LOG_AROUND_1),
            "y": _number("density", "density", stack=None),
            "color": _color("group", words),
            "tooltip": [_word("group"), _told("ratio", axis, ",.3~g")],
        },
    }
    even = {
        "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY},
        "encoding": {"x": {"datum": 1}},
    }
    return _drawing(asked.title, rows, 220, {"layer": [curves, even]})


def labels(frame: pl.DataFrame, names: Sequence[str | pl.Expr]) -> list[str]:
    """Return a short, distinct label per row.

    Two kernels that shorten to the same text stay two bars.
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
    """Return the value on the scale; None where JSON has no number for it."""
    shown = None if value is None else value / scale.divisor
    return shown if shown is not None and abs(shown) < float("inf") else None


def _drawing(title: str, rows: list[dict[str, Any]], height: int, marks: Spec) -> Drawing:
    """Return a chart of these rows; `marks` is one mark with its encoding, or layers of them."""
    chart = {
        "description": title,
        "data": {"values": rows},
        "width": "container",
        "height": height,
        "background": "transparent",
        **marks,
    }
    return Drawing(title, chart)


def _number(field: str, title: str, **more: Any) -> Spec:
    """Encode a number on an axis."""
    return {"field": field, "type": _QUANTITATIVE, "title": title, "axis": _NUMBERS, **more}


def _row_axis() -> Spec:
    axis = {"labelLimit": 420, "labelFontSize": 11, "ticks": False, "domain": False}
    return {"field": "label", "type": _NOMINAL, "title": None, "sort": None, "axis": axis}


def _color(name: str, words: Sequence[str]) -> Spec:
    colors = (role_colors if name == "role" else colors_of)([*words])
    legend = {
        "orient": "top",
        "columns": 8,
        "symbolLimit": 40,
        "labelLimit": 400,
        "symbolType": "square",
    }
    return {
        "field": name,
        "type": _NOMINAL,
        "title": None,
        "scale": {"domain": [*words], "range": [*colors.values()]},
        "legend": legend,
    }


def _word(field: str, title: str | None = None) -> Spec:
    """Show a text in the tooltip."""
    return {"field": field, "type": _NOMINAL, **({"title": title} if title else {})}


def _told(field: str, title: str, number_format: str) -> Spec:
    """Show a number in the tooltip."""
    return {"field": field, "type": _QUANTITATIVE, "title": title, "format": number_format}


def _tooltips(axis: str, *names: str) -> list[Spec]:
    words = [_word("label", "name"), *(_word(name, name) for name in names)]
    return [*words, _told("value", axis or "value", ",.4~g")]
