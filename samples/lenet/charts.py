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


def figures(run: Run) -> list[Figure]:
    """All charts of the page."""
    return [lines(run), times(run), length_and_time(run)]


def lines(run: Run) -> Figure:
    """Lines of code by level: the source's Figure 1."""
    values = [{"level": KINDS[name].label, "lines": length.lines} for name, length in run.lengths.items()]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y("level:N", title=None, sort=NAMES), x=alt.X("lines:Q", title="lines of code")
    )
    text = base.mark_text(align="left", dx=3).encode(text="lines:Q")
    chart = (base.mark_bar(color="#4c78a8") + text).properties(width=520, height={"step": 18})
    return Figure("lines", chart, "Lines of the network and its inference by level, the source's Figure 1.")


def times(run: Run) -> Figure:
    """Milliseconds of an inference of one image by level, device and network: the source's Figure 2."""
    values: list[dict[str, Any]] = []
    for (device, level, size, batch), row in run.rows.items():
        if batch == 1:
            time = row["copies"]
            about = {"level": KINDS[level].label, "device": DEVICES[device], "network": f"{size} network"}
            values.append(about | {"ms": time["median_ms"], "low": time["p25_ms"], "high": time["p75_ms"]})
    base = alt.Chart().encode(
        y=alt.Y("level:N", title=None, sort=NAMES),
        color=alt.Color(
            "device:N",
            title=None,
            scale=alt.Scale(domain=list(DEVICES.values()), range=COLORS),
            legend=alt.Legend(orient="top"),
        ),
    )
    scale = alt.Scale(type="log", nice=False)
    points = base.mark_point(filled=True, size=45).encode(x=alt.X("ms:Q", title="ms an inference", scale=scale))
    rules = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="ms an inference", scale=scale), x2="high:Q")
    chart = (
        alt.layer(rules, points, data=alt.InlineData(values=values))
        .properties(width=290, height={"step": 18})
        .facet(column=alt.Column("network:N", title=None))
    )
    caption = (
        "Time of one image from the host's memory to logits there, on a logarithmic axis; lines from quartile to "
        "quartile. GPU and CPU are of two machines. The source's Figure 2."
    )
    return Figure("times", chart, caption)


def length_and_time(run: Run) -> Figure:
    """Code length against latency; the colour is the number of calls to the library."""
    values: list[dict[str, Any]] = []
    for name in sorted(run.levels("cuda"), key=lambda name: -run.lengths[name].lines):
        time, calls = run.time("cuda", name) or run.time("cuda", name, copies=True), calls_of(run, name)
        if time:
            about = {"level": KINDS[name].label, "lines": run.lengths[name].lines, "ms": time["median_ms"]}
            side = {"side": "left" if any(_overlap(about, other) for other in values) else "right"}
            values.append(about | side | {"low": time["p25_ms"], "high": time["p75_ms"], "calls": calls})
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
    right, left = (
        base.mark_text(align=align, dx=dx, fontSize=10)
        .transform_filter(alt.datum.side == side)
        .encode(y=y, text="level:N")
        for side, align, dx in (("right", "left", 8), ("left", "right", -8))
    )
    chart = (rules + points + right + left).properties(width=640, height=380)
    caption = (
        "Lines of code against the time of one image on the GPU (larger network, without copies but for `predict`), "
        "both logarithmic; the colour is the number of calls from the level's inference to cuDNN or the graph's launch."
    )
    return Figure("length_and_time", chart, caption)


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the names would overlap to the right of their points."""
    near = abs(math.log10(one["ms"] / other["ms"])) < 0.09
    return near and other["side"] == "right" and abs(math.log10(one["lines"] / other["lines"])) < 0.4
