"""The charts of the advisor's page."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

from samples.kit.drawing import COLORS, even_line, legend

ORDER = (
    "channels_last",
    "advised",
    "eager, CUDA graph",
    "advised, CUDA graph",
    "torch.compile, default",
    "torch.compile, reduce-overhead",
    "torch.compile, max-autotune",
    "jax.jit",
)
"""Execution methods other than eager, in a fixed order, so that colours agree between charts."""


def orders(rows: Mapping[str, Mapping[str, float]], most: float = 2.2) -> alt.LayerChart:
    """Draw kernel time relative to eager, of each plan or of each version of a transformer."""
    values = [
        {"model": model, "order": order, "ratio": us / times["eager"]}
        for model, times in rows.items()
        for order, us in times.items()
        if order != "eager"
    ]
    names = list(dict.fromkeys(value["order"] for value in values))
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y(
            "model:N",
            title=None,
            sort=list(rows),
            axis=alt.Axis(labelLimit=0),
        ),
        yOffset=alt.YOffset("order:N", sort=names),
        x=alt.X("ratio:Q", title="kernel time over eager's", scale=alt.Scale(domain=[0, most])),
    )
    color = alt.Color(
        "order:N",
        sort=names,
        title=None,
        legend=legend(),
    )
    text = alt.Text("ratio:Q", format=".2f")
    words = base.mark_text(align="left", dx=3).encode(text=text)
    # A white edge keeps the dashed line off the numbers.
    edge = base.mark_text(
        align="left",
        dx=3,
        stroke="white",
        strokeWidth=4,
    ).encode(text=text)
    return (base.mark_bar().encode(color=color) + even_line() + edge + words).properties(
        width=560, height=18 * len(values) + 36
    )


def ways(rows: Mapping[str, Mapping[str, float]]) -> alt.LayerChart:
    """Draw each execution method's speedup over eager by wall clock.

    The paper shows it in Figures 2 to 4.
    """
    values = [
        {"subject": subject, "way": way, "speedup": times["eager"] / us}
        for subject, times in rows.items()
        for way, us in times.items()
        if way != "eager" and us
    ]
    colors = alt.Scale(
        domain=list(ORDER),
        range=list(COLORS),
    )
    points = (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(
            filled=True,
            size=70,
            opacity=0.85,
        )
        .encode(
            y=alt.Y(
                "subject:N",
                title=None,
                sort=list(rows),
                axis=alt.Axis(labelLimit=0),
            ),
            x=alt.X(
                "speedup:Q",
                title="times as fast as eager, by wall clock",
                scale=alt.Scale(type="log", base=2),
            ),
            color=alt.Color(
                "way:N",
                title=None,
                scale=colors,
                legend=legend(4),
            ),
        )
    )
    return (points + even_line()).properties(width=560, height={"step": 24})
