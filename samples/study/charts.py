"""The charts of the study's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from samples.kit.drawing import COLORS, even_line, legend
from samples.study import paper
from samples.study.paper import NAMES
from samples.study.points import HERE, ratio
from samples.study.sweeps import published_ratio

WORDS = {"infer": "inference", "train": "training"}
LIKE_THERE = {there: here for here, there in paper.LIKE.items()}
"""Levels that stand for a published level of another name."""


def gap(points: pl.DataFrame) -> alt.LayerChart:
    """Draw eager's time over LibTorch's by batch.

    It has three lines: as published, published without the training time in it, and today.
    """
    values: list[dict[str, Any]] = []
    for batch in sorted(points.filter(mode="infer", size=HERE[1])["batch"].unique()):
        point = (batch, HERE[1])
        today = ratio(points, point)
        lines = {
            "published, V100": published_ratio(point, corrected=False),
            "without the training in it": published_ratio(point, corrected=True),
            "today, H200": today and today.middle,
        }
        for of, number in lines.items():
            if number:
                ends = (
                    (today.low, today.high) if today and of.startswith("today") else (number,) * 2
                )
                values.append(
                    {"of": of, "batch": batch, "ratio": number, "low": ends[0], "high": ends[1]}
                )
    x = alt.X(
        "batch:Q",
        title="images in a batch, 64×64 each",
        scale=alt.Scale(
            type="log",
            base=2,
            nice=False,
            padding=16,
        ),
        axis=alt.Axis(values=[8, 16, 32, 64, 128, 256, 512, 1024]),
    )
    order = list(dict.fromkeys(value["of"] for value in values))
    color = alt.Color(
        "of:N",
        title=None,
        sort=order,
        scale=alt.Scale(domain=order, range=["#8a919c", "#f58518", "#4c78a8"]),
        legend=legend(),
    )
    base = alt.Chart(alt.InlineData(values=values)).encode(x=x, color=color)
    lines = base.mark_line(point=True).encode(
        y=alt.Y("ratio:Q", title="PyTorch's time over LibTorch's")
    )
    spans = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
        y=alt.Y("low:Q", title="PyTorch's time over LibTorch's"), y2="high:Q"
    )
    return (spans + lines + even_line("y")).properties(width=620, height=220)


def calls(today: Mapping[str, int]) -> alt.LayerChart:
    """Draw calls to cudnnConvolutionForward by level: the paper's Figure 4, and today's."""
    values = [
        {"level": NAMES[level], "of": of, "calls": number}
        for of, numbers in (
            ("paper, torch 1.7", {level: c.total for level, c in paper.CALLS.items()}),
            ("today, torch 2.11", today),
        )
        for level, number in numbers.items()
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("level:N", title=None, sort=list(NAMES.values())),
        x=alt.X("calls:Q", title="calls to cudnnConvolutionForward"),
        yOffset=alt.YOffset("of:N"),
    )
    color = alt.Color(
        "of:N", title=None, scale=alt.Scale(range=["#8a919c", "#4c78a8"]), legend=legend()
    )
    bars = base.mark_bar().encode(color=color)
    words = base.mark_text(align="left", dx=3).encode(text="calls:Q")
    return (bars + words).properties(width=520, height=210)


def sweep(points: pl.DataFrame, column: str, title: str, then: str) -> alt.ConcatChart:
    """Draw a column over the batch at 64×64 and over the resolution at batch 32.

    Inference and training; dashed lines are as published.
    """
    batch, size = HERE
    panels = []
    for axis, label, fixed, fixed_value in (
        ("batch", f"batch, at {size}×{size}", "size", size),
        ("size", f"resolution, at batch {batch}", "batch", batch),
    ):
        for mode, word in WORDS.items():
            rows = points.filter(
                pl.col(fixed) == fixed_value,
                pl.col("mode") == mode,
            ).drop_nulls(column)
            values = [
                {"level": NAMES[r["level"]], "x": r[axis], "y": r[column], "of": "today"}
                for r in rows.sort(axis).iter_rows(named=True)
            ]
            for (level, m, b, s), point in paper.SWEEPS.items():
                number = getattr(point, then)
                if (
                    m == mode
                    and {"batch": b, "size": s}[fixed] == fixed_value
                    and number is not None
                ):
                    name = NAMES[LIKE_THERE.get(level, level)]
                    row = {"level": name, "x": {"batch": b, "size": s}[axis], "y": number}
                    values.append(row | {"of": "published"})
            panels.append(
                _panel(
                    values,
                    (label, f"{title}, {word}"),
                    is_log=then != "util",
                )
            )
    return alt.concat(*panels, columns=2).resolve_scale(color="shared", strokeDash="shared")


def _panel(values: list[dict[str, Any]], titles: tuple[str, str], *, is_log: bool) -> alt.Chart:
    scale = (
        alt.Scale(
            type="log",
            nice=False,
            padding=12,
        )
        if is_log
        else alt.Scale(domain=[0, 100])
    )
    x = alt.X(
        "x:Q",
        title=titles[0],
        scale=alt.Scale(
            type="log",
            base=2,
            nice=False,
            padding=12,
        ),
    )
    dash = alt.StrokeDash(
        "of:N",
        title=None,
        legend=legend(),
        scale=alt.Scale(domain=["today", "published"], range=[[1, 0], [4, 3]]),
    )
    color = alt.Color(
        "level:N",
        title=None,
        legend=legend(),
        scale=alt.Scale(
            domain=list(NAMES.values()),
            range=list(COLORS[: len(NAMES)]),
        ),
    )
    chart = alt.Chart(alt.InlineData(values=values)).mark_line(strokeWidth=1.6)
    encoded = chart.encode(
        x=x,
        y=alt.Y("y:Q", title=titles[1], scale=scale),
        color=color,
        strokeDash=dash,
    )
    return encoded.properties(width=300, height=200)
