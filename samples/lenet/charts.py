"""The charts: the source's two, and the one that it lacks."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
from levels import KINDS
from page import Figure
from rows import Run
from verdicts import calls_of

NAMES = [kind.label for kind in KINDS.values()]
DEVICES = {"cuda": "GPU", "cpu": "CPU"}
COLORS = ["#4c78a8", "#f58518"]
SIDES = {"right": ("left", 8, 0), "left": ("right", -8, 0), "below": ("left", 8, 11)}
"""Where a name may stand: its alignment, and how far it is moved."""


def figures(run: Run) -> list[Figure]:
    """All charts of the page."""
    return [lines(run), times(run), length_and_time(run)]


def lines(run: Run) -> Figure:
    """Lines of code by level: the source's Figure 1."""
    values = [
        {"level": KINDS[name].label, "lines": length.lines} for name, length in run.lengths.items()
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("level:N", title=None, sort=NAMES), x=alt.X("lines:Q", title="lines of code")
    )
    text = base.mark_text(align="left", dx=3).encode(text="lines:Q")
    chart = (base.mark_bar(color="#4c78a8") + text).properties(width=520, height={"step": 18})
    return Figure(
        "lines", chart, "Lines of the network and its inference by level, the source's Figure 1."
    )


def times(run: Run) -> Figure:
    """Milliseconds of an inference of one image by level, device and network: the source's Figure 2."""
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
        y=alt.Y("level:N", title=None, sort=NAMES),
        color=alt.Color(
            "device:N",
            title=None,
            scale=alt.Scale(domain=list(DEVICES.values()), range=COLORS),
            legend=alt.Legend(orient="top"),
        ),
    )
    scale = alt.Scale(type="log", nice=False, padding=8)
    points = base.mark_point(filled=True, size=45).encode(
        x=alt.X("ms:Q", title="ms an inference", scale=scale)
    )
    rules = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="ms an inference", scale=scale), x2="high:Q"
    )
    chart = (
        alt.layer(rules, points, data=alt.InlineData(values=values))
        .properties(width=290, height={"step": 18})
        .facet(column=alt.Column("network:N", title=None))
    )
    caption = (
        "Time of one image from the host's memory to logits there, on a logarithmic axis; lines"
        " from quartile to quartile. GPU and CPU are of two machines. The source's Figure 2."
    )
    return Figure("times", chart, caption)


def length_and_time(run: Run) -> Figure:
    """Code length against latency; the colour is the number of calls to the library."""
    values: list[dict[str, Any]] = []
    for name in run.levels("cuda"):
        if time := run.time("cuda", name) or run.time("cuda", name, copies=True):
            about = {
                "level": KINDS[name].label,
                "lines": run.lengths[name].lines,
                "calls": calls_of(run, name),
            }
            values.append(
                about | {"ms": time["median_ms"], "low": time["p25_ms"], "high": time["p75_ms"]}
            )
    values.sort(key=lambda value: (-value["lines"], -value["ms"]))
    for at, value in enumerate(values):
        taken = {other["side"] for other in values[:at] if _is_near(value, other)}
        value["side"] = next((side for side in SIDES if side not in taken), "right")
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("lines:Q", title="lines of code", scale=alt.Scale(type="log", domain=[5, 300]))
    )
    scale, title = alt.Scale(type="log", nice=False, padding=16), "ms of one image"
    y = alt.Y("ms:Q", title=title, scale=scale)
    colors = alt.Scale(scheme="viridis", reverse=True)
    points = base.mark_circle(size=90, opacity=1).encode(
        y=y, color=alt.Color("calls:Q", title="calls to the library", scale=colors)
    )
    rules = base.mark_rule().encode(y=alt.Y("low:Q", title=title, scale=scale), y2="high:Q")
    texts = [
        base.mark_text(align=align, dx=dx, dy=dy, fontSize=10)
        .transform_filter(alt.datum.side == side)
        .encode(y=y, text="level:N")
        for side, (align, dx, dy) in SIDES.items()
    ]
    chart = alt.layer(rules, points, *texts).properties(width=640, height=560)
    caption = (
        "Lines of code against the time of one image on the GPU (larger network, without copies but"
        " for `predict`), both logarithmic; the colour is the number of calls from the level's"
        " inference to cuDNN or the graph's launch."
    )
    return Figure("length_and_time", chart, caption)


def _is_near(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether their names would overlap on one side of the points."""
    distances = [abs(math.log10(one[name] / other[name])) for name in ("ms", "lines")]
    return distances[0] < 0.045 and distances[1] < 0.4
