"""Drawings of events for the page: a step's timeline, kernel time as an icicle, stacks by frame."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tracelens.derive.layers.icicle import kernel_paths
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.stacks.stack_listing import first_hits, pair_stacks, side_by_side
from tracelens.derive.time.rank_steps import HeatMap, heat_map, ranks_to_draw
from tracelens.derive.time.time_parts import TimeModel
from tracelens.derive.time.timeline import Timeline, draw_timelines, ranks_alone, steps_to_draw
from tracelens.report import Report
from tracelens.schemas.results.replay import CRITICAL_PATH
from tracelens.trace import Trace
from tracelens.views.embedding import packed, packed_bars
from tracelens.views.palette import COLORS
from tracelens.views.timeline_views import (
    overviews,
    shown_bars,
    timeline_note,
    view_names,
)
from tracelens.views.values import quantity

_MOST_STACKS = 8


@dataclass(frozen=True, slots=True)
class View:
    """One picture of a drawing: the words to choose it by, its caption, and packed data."""

    rank: str
    step: str
    data: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing: the name of its section, its title, its caption, and its views.

    One view is shown at a time.
    """

    name: str
    title: str
    notes: list[str]
    views: list[View]
    overviews: dict[str, str] = field(default_factory=dict)
    """All steps of a rank, packed, by the words that its views are chosen by."""


def draw_events(report: Report, model: TimeModel) -> Iterator[Drawn]:
    """Draw heat maps of several ranks, the timeline and the icicle, from the trace's model.

    None are drawn where sections were asked for.
    """
    if report.is_asked:
        return
    several = len(report.trace.manifest.ranks) > 1
    heat = heat_map(model) if several else None
    together = ranks_to_draw(model) if several else []
    ranks = ranks_alone(model, together)
    path = report.frames.get("critical_path", CRITICAL_PATH.empty())
    alone = {rank: steps_to_draw(model, rank, path) for rank in ranks}
    timelines = [*draw_timelines(model, together, alone)]
    paths = {rank: kernel_paths(report.trace, rank) for rank in ranks}
    if heat is not None:
        yield _heat(heat)
    if timelines:
        yield _timeline(report, model, timelines, ranks, path)
    icicles = [_icicle(rank, found) for rank, found in paths.items() if found["duration_ns"].sum()]
    if icicles:
        yield Drawn("icicle", "Which layers, ops and kernels make up the time?", [], icicles)


def _timeline(
    report: Report,
    model: TimeModel,
    timelines: list[Timeline],
    ranks: list[int],
    path: pl.DataFrame,
) -> Drawn:
    """Draw steps of the `ranks` that can be chosen, with the stretches of the critical `path`."""
    n_ranks = len(report.trace.manifest.ranks)
    notes = []
    if 1 < n_ranks > len(ranks):
        notes.append(f"The page has timelines of {list_ranks(ranks)}, of {n_ranks} ranks.")
    steps = overviews(report, model, timelines)
    drawn = [
        (view_names(one), shown_bars(one, path), one.drawn_step.duration_ns, timeline_note(one))
        for one in timelines
    ]
    packed_steps = {name: packed(data) for name, data in steps.items()}
    views = [
        View(*names, packed_bars("timeline", frame, length, note))
        for names, frame, length, note in drawn
    ]
    return Drawn("timeline", "What ran when?", notes, views, packed_steps)


def _heat(heat: HeatMap) -> Drawn:
    notes = [
        "Rows are ranks, columns steps. Waiting is for other ranks, while nothing is computed."
    ]
    if any(" to " in label for label in (*heat.ranks, *heat.steps)):
        notes.append(
            "There are too many to draw each. A cell that stands for several shows the largest"
            " value of them, and the cause of most idle time."
        )
    colors = {cause: COLORS[cause] for cause in heat.cells["cause"].drop_nulls().unique().sort()}
    columns = {name: heat.cells[name].to_list() for name in heat.cells.columns}
    data = {
        "kind": "heat",
        "ranks": heat.ranks,
        "steps": heat.steps,
        "columns": columns,
        "colors": colors,
    }
    return Drawn(
        "ranks_by_step",
        "Which ranks wait, compute or idle in which step?",
        notes,
        [View("", "", packed(data))],
    )


def _icicle(rank: int, paths: pl.DataFrame) -> View:
    """Draw the kernel time of a rank by path."""
    total = int(paths["duration_ns"].sum())
    note = (
        f"Kernel time of rank {rank}, {quantity(total, 'ns')} in all: by phase, layer, op and"
        " kernel, as launched."
    )
    return View(f"rank {rank}", "", packed_bars("icicle", paths, total, note))


def list_stacks(report: Report) -> list[dict[str, Any]]:
    """List the call stacks that the page shows, one entry per symbol.

    An entry has a title and its stacks. With a base, its stack stands beside the trace's. If there
    are too many symbols, a last entry without stacks counts the others.
    """
    if report.is_asked or not report.trace.has("frames"):
        return []
    if report.base is not None and report.base.has("frames"):
        stacks = [
            _beside(
                f"{one['symbol']} and {two['symbol']}", [(report.base, one), (report.trace, two)]
            )
            for one, two in pair_stacks(report.base, report.trace)
        ]
    else:
        stacks = [
            _beside(symbol, [(report.trace, stack)])
            for symbol, stack in first_hits(report.trace).items()
        ]
    left_out = len(stacks) - _MOST_STACKS
    return [
        *stacks[:_MOST_STACKS],
        *([{"title": f"{left_out} more symbols", "stacks": []}] if left_out > 0 else []),
    ]


def _beside(title: str, stacks: list[tuple[Trace, dict[str, Any]]]) -> dict[str, Any]:
    """Put stacks side by side, from the innermost frame.

    A frame is None where only the other stack has one. `shared` frames have the same function in
    both stacks, and stand in one row.
    """
    both = [stack["frames"] for _, stack in stacks]
    rows = (
        side_by_side(*both) if len(both) > 1 else [(at, at, False) for at in range(both[0].height)]
    )
    listed = []
    for side, (trace, stack) in enumerate(stacks):
        about = f"{trace.name}{'' if stack['implementation'] is None else ': ' + stack['implementation']}"
        own = [*both[side].iter_rows(named=True)]
        places = ((row[side], row[2]) for row in rows)
        frames = [
            None if at is None else own[at] | {"shared": is_shared} for at, is_shared in places
        ]
        listed.append({"title": f"{about}, {stack['depth']} frames", "frames": frames})
    return {"title": title, "stacks": listed}
