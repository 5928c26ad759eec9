"""Draw charts as SVG, with text measured in DejaVu Sans.

DejaVu Sans is wider than most fonts, so no label is cut.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import altair as alt

FONT = "DejaVu Sans, Verdana, sans-serif"
FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.fonts",
    "~/.local/share/fonts",
    "/Library/Fonts",
)
COLORS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2", "#d6a90e", "#72b7b2", "#8a919c")


def save(charts: Mapping[str, alt.TopLevelMixin], folder: Path) -> None:
    """Write each chart as FOLDER/NAME.svg; write nothing if DejaVu Sans is not installed."""
    files = [file for place in FOLDERS for file in Path(place).expanduser().rglob("DejaVuSans.ttf")]
    if not files:
        print(f"{folder}: charts kept, since DejaVu Sans is not installed", file=sys.stderr)
        return
    import vl_convert  # noqa: PLC0415 - takes a second, and only drawing needs it

    vl_convert.register_font_directory(str(files[0].parent))
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        chart.configure(font=FONT, background="white").save(folder / f"{name}.svg")


def even_line(axis: str = "x") -> alt.Chart:
    """Return a dashed line at 1 of the axis, where nothing is gained or lost."""
    values = alt.InlineData(values=[{"even": 1}])
    where = {"x": alt.X("even:Q")} if axis == "x" else {"y": alt.Y("even:Q")}
    line: alt.Chart = alt.Chart(values).mark_rule(strokeDash=[4, 4]).encode(**where)
    return line


def legend(columns: int = 0) -> alt.Legend:
    """Return a legend above the chart, with labels that are never cut."""
    return alt.Legend(
        orient="top",
        labelLimit=0,
        columns=columns,
    )
