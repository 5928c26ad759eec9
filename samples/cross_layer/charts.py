"""Draw the charts of the cross-layer page: kernel time by library within family."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from samples.cross_layer.runs import LINEAR, NS, Run
from samples.kit.drawing import legend
from tracelens.schemas.device import FAMILIES

COLORS = {
    LINEAR: "#4c78a8",
    "elementwise": "#f58518",
    "reduction": "#54a24b",
    "movement": "#e45756",
    "fused": "#b279a2",
    "other": "#8a919c",
}
_LABELLED = 0.08
GROUPS = {"levels": ("levels", "profiled"), "vision": ("vision",), "language": ("language",)}


def charts(runs: Sequence[Run]) -> dict[str, alt.TopLevelMixin]:
    """Draw one chart per group of captures."""
    return {
        name: bars([run for run in runs if run.group in groups]) for name, groups in GROUPS.items()
    }


def bars(runs: Sequence[Run]) -> alt.LayerChart:
    """Draw one stacked bar per trace, by library within family."""
    rows = []
    order = list(FAMILIES)
    for run in runs:
        sums = run.rows.group_by("family", "library").agg(NS.sum() / run.total_ns)
        until = 0.0
        for family, library, share in sorted(
            sums.iter_rows(), key=lambda r: (order.index(r[0]), r[1])
        ):
            rows.append(
                {
                    "run": run.name,
                    "family": family,
                    "library": library,
                    "from": 100 * until,
                    "to": 100 * (until + share),
                    "middle": 100 * (until + share / 2),
                    "word": library if share >= _LABELLED else "",
                }
            )
            until += share
    shown = [family for family in FAMILIES if any(row["family"] == family for row in rows)]
    y = alt.Y(
        "run:N",
        title=None,
        sort=None,
        axis=alt.Axis(labelLimit=0),
    )
    colour = alt.Color(
        "family:N",
        title=None,
        sort=shown,
        legend=legend(),
        scale=alt.Scale(domain=shown, range=[COLORS[family] for family in shown]),
    )
    base = alt.Chart(alt.InlineData(values=rows))
    axis = alt.X("from:Q", title="share of kernel time, %", scale=alt.Scale(domain=[0, 100]))
    pieces = base.mark_bar(stroke="white", strokeWidth=1).encode(
        x=axis,
        x2="to:Q",
        y=y,
        color=colour,
    )
    words = base.mark_text(color="white", fontSize=9).encode(
        x="middle:Q",
        y=y,
        text="word:N",
    )
    return alt.layer(pieces, words).properties(width=620, height=22 * len(runs))
