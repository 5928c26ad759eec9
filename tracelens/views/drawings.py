"""What a page draws of events themselves: a step as a timeline, kernel time as an icicle, and stacks by frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracelens.derive.layers.icicle import kernel_paths
from tracelens.derive.stacks.listed import first_hits, in_common, pair_stacks
from tracelens.derive.time.timeline import draw_timeline
from tracelens.report import Report
from tracelens.trace import Trace
from tracelens.views.charts import COLORS, PALETTE
from tracelens.views.embedding import clip, packed
from tracelens.views.values import quantity

_MOST_STACKS = 8


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing: the name of its section, its title, what is said of it, and its data for bars.js."""

    name: str
    title: str
    notes: list[str]
    data: str


def draw_events(report: Report) -> Iterator[Drawn]:
    """The timeline and the icicle of the report's trace, those that have bars; none where sections were asked for."""
    timeline = None if report.is_asked else draw_timeline(report.trace)
    if timeline is None:
        return
    where = f"Step {timeline.step}, that of median duration," if timeline.step is not None else "All that was recorded"
    of_rank = f"{where} of rank {timeline.rank}: {timeline.bars.height:,} bars."
    if timeline.merged_ns is not None:
        of_rank += (
            f" There are too many to draw each: those shorter than {quantity(timeline.merged_ns, 'ns')} that begin "
            "together are one, with the longest one's name."
        )
    notes = [of_rank, "Python calls are left out. An arrow leads from a launch to the work that it started."]
    if "idle" not in " ".join(timeline.bars["lane"].unique()):
        notes[1] = "Python calls are left out."
    yield Drawn("timeline", "What ran when?", notes, _packed("timeline", timeline.bars, timeline.duration_ns))
    paths = kernel_paths(report.trace, timeline.rank)
    total = int(paths["duration_ns"].sum())
    if total:
        of_rank = (
            f"Kernel time of rank {timeline.rank}, {quantity(total, 'ns')} in all: by phase, layer, op and kernel, as "
            "launched."
        )
        yield Drawn(
            "icicle", "Which layers, ops and kernels make up the time?", [of_rank], _packed("icicle", paths, total)
        )


def _packed(kind: str, frame: pl.DataFrame, length: int) -> str:
    """The frame's columns, texts as words and places, with the colours of the words that have one."""
    columns: dict[str, Any] = {}
    for series in frame:
        if series.dtype != pl.String:
            columns[series.name] = series.to_list()
            continue
        words = series.unique(maintain_order=True)
        at = series.to_frame().join(
            words.to_frame().with_row_index("at"), on=series.name, how="left", nulls_equal=True, maintain_order="left"
        )["at"]
        columns[series.name] = {
            "words": [clip(word) if word is not None else "(none)" for word in words],
            "at": at.to_list(),
        }
    kinds = columns["kind" if "kind" in columns else "primitive"]["words"]
    colors = {word: COLORS.get(word, PALETTE[at % len(PALETTE)]) for at, word in enumerate([*kinds, "module", "op"])}
    return packed({"kind": kind, "length": length, "columns": columns, "colors": colors})


def list_stacks(report: Report) -> list[dict[str, Any]]:
    """Stacks to be read: a title, the stacks that stand beside each other with their titles, and what is left out."""
    if report.is_asked or not report.trace.has("frames"):
        return []
    if report.base is not None and report.base.has("frames"):
        found = [
            _beside(f"{one['symbol']} and {two['symbol']}", [(report.base, one), (report.trace, two)])
            for one, two in pair_stacks(report.base, report.trace)
        ]
    else:
        found = [_beside(symbol, [(report.trace, stack)]) for symbol, stack in first_hits(report.trace).items()]
    left_out = len(found) - _MOST_STACKS
    return [*found[:_MOST_STACKS], *([{"title": f"{left_out} more symbols", "stacks": []}] if left_out > 0 else [])]


def _beside(title: str, stacks: list[tuple[Trace, dict[str, Any]]]) -> dict[str, Any]:
    """Stacks beside each other, from the innermost frame; `shared` frames are those that both begin with."""
    frames = [stack["frames"] for _, stack in stacks]
    n_shared = in_common(*frames) if len(frames) == 2 else 0
    listed = [
        {
            "title": f"{trace.name}{'' if stack['implementation'] is None else ': ' + stack['implementation']}, "
            f"{stack['depth']} frames",
            "frames": [row | {"shared": at < n_shared} for at, row in enumerate(own.iter_rows(named=True))],
        }
        for (trace, stack), own in zip(stacks, frames, strict=True)
    ]
    return {"title": title, "stacks": listed}
