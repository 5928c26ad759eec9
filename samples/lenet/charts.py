"""Draw the source's two charts, and one that the source lacks."""

from __future__ import annotations

from typing import Any

import altair as alt

from samples.kit.drawing import legend
from samples.lenet.levels import KINDS
from samples.lenet.rows import Run

NAMES = [kind.label for kind in KINDS.values()]
DEVICES = {"cuda": "GPU", "cpu": "CPU"}
COLORS = ["#4c78a8", "#f58518"]
SIDES = {
    "right": ("left", 8, 0),
    "left": ("right", -8, 0),
    "left, below": ("right", -8, 7),
    "right, below": ("left", 8, 9),
}
"""Places for a label: its alignment, and its offset."""
PLACED = {
    "jax_ops": "left",
    "jax_jit": "left",
    "eager": "left",
    "reduce_overhead": "left, below",
    "keras_jax_predict": "right, below",
    "cudnn": "left",
}
"""Labels that would overlap on the right, with their other place."""


def charts(run: Run) -> dict[str, alt.TopLevelMixin]:
    """Return all charts of the page."""
    return {"lines": lines(run), "times": times(run), "length_and_time": length_and_time(run)}


def lines(run: Run) -> alt.LayerChart:
    """Draw lines of code by level: the source's Figure 1."""
    values = [
        {"level": KINDS[name].label, "lines": length.lines} for name, length in run.lengths.items()
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y(
            "level:N",
            title=None,
            sort=NAMES,
            axis=alt.Axis(labelLimit=0),
        ),
        x=alt.X("lines:Q", title="lines of code"),
    )
    text = base.mark_text(align="left", dx=3).encode(text="lines:Q")
    return (base.mark_bar(color="#4c78a8") + text).properties(width=520, height={"step": 18})


def times(run: Run) -> alt.FacetChart:
    """Draw milliseconds of an inference of one image by level, device and network.

    It is the source's Figure 2.
    """
    values: list[dict[str, Any]] = []
    for (device, level, size, batch), row in run.rows.items():
        if batch == 1:
            time = row["copies"]
            about = {
                "level": KINDS[level].label,
                "device": DEVICES[device],
                "network": f"{size} network",
            }
            values.append(
                about | {"ms": time["median_ms"], "low": time["p25_ms"], "high": time["p75_ms"]}
            )
    base = alt.Chart().encode(
        y=alt.Y(
            "level:N",
            title=None,
            sort=NAMES,
            axis=alt.Axis(labelLimit=0),
        ),
        color=alt.Color(
            "device:N",
            title=None,
            scale=alt.Scale(domain=list(DEVICES.values()), range=COLORS),
            legend=legend(),
        ),
    )
    scale = alt.Scale(
        type="log",
        nice=False,
        padding=8,
    )
    points = base.mark_point(filled=True, size=45).encode(
        x=alt.X("ms:Q", title="ms an inference", scale=scale)
    )
    rules = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="ms an inference", scale=scale), x2="high:Q"
    )
    return (
        alt.layer(rules, points, data=alt.InlineData(values=values))
        .properties(width=290, height={"step": 18})
        .facet(column=alt.Column("network:N", title=None))
    )


def length_and_time(run: Run) -> alt.LayerChart:
    """Draw code length against latency; the colour is the number of calls to the library."""
    values: list[dict[str, Any]] = []
    for name in run.levels("cuda"):
        if time := run.time("cuda", name) or run.time("cuda", name, copies=True):
            about = {
                "level": KINDS[name].label,
                "lines": run.lengths[name].lines,
                "calls": run.depths[name]["calls"],
                "side": PLACED.get(name, "right"),
            }
            values.append(
                about | {"ms": time["median_ms"], "low": time["p25_ms"], "high": time["p75_ms"]}
            )
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("lines:Q", title="lines of code", scale=alt.Scale(type="log", domain=[5, 300]))
    )
    scale, title = (
        alt.Scale(
            type="log",
            nice=False,
            padding=16,
        ),
        "ms of one image",
    )
    y = alt.Y("ms:Q", title=title, scale=scale)
    colors = alt.Scale(scheme="viridis", reverse=True)
    points = base.mark_circle(size=90, opacity=1).encode(
        y=y, color=alt.Color("calls:Q", title="calls to the library", scale=colors)
    )
    rules = base.mark_rule().encode(y=alt.Y("low:Q", title=title, scale=scale), y2="high:Q")
    texts = [
        base.mark_text(
            align=align,
            dx=dx,
            dy=dy,
            fontSize=10,
        )
        .transform_filter(alt.datum.side == side)
        .encode(y=y, text="level:N")
        for side, (align, dx, dy) in SIDES.items()
    ]
    return alt.layer(rules, points, *texts).properties(width=640, height=460)
