"""The charts of a section, drawn."""

from __future__ import annotations

from tracelens.analyses.chart import Bars, Chart, Density, Points
from tracelens.report import Section
from tracelens.storage.table import Table
from tracelens.views.chart_parts import Drawing, bars, density, points, split_bars


def draw(section: Section) -> list[Drawing]:
    """The section's charts; none without rows, and none that would have nothing in it."""
    if section.frame.is_empty() or section.analysis.charts is None:
        return []
    drawings = (_drawn(asked, section.analysis.result) for asked in section.analysis.charts(section.frame))
    return [drawing for drawing in drawings if drawing is not None]


def _drawn(asked: Chart, result: Table) -> Drawing | None:
    if isinstance(asked, Bars):
        return bars(asked, result)
    if isinstance(asked, Points):
        return points(asked, result)
    return density(asked, result) if isinstance(asked, Density) else split_bars(asked, result)
