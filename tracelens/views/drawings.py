"""Draw events for the page: a step's timeline, kernel time as an icicle, stacks by frame."""

from typing import Any

import polars as pl
from msgspec import Struct, field

from tracelens.derive.layers.icicle import kernel_paths
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.stacks.stack_listing import first_hits, pair_stacks, side_by_side
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.rank_steps import HeatMap, heat_map, ranks_to_draw
from tracelens.derive.time.time_parts import TimeModel
from tracelens.derive.time.timeline import draw_timelines, ranks_alone, steps_to_draw
from tracelens.report import Report
from tracelens.schemas.results.replay import CRITICAL_PATH
from tracelens.trace import Trace
from tracelens.views.bar_views import View, icicle_view, overviews, timeline_view
from tracelens.views.palette import COLORS

_MOST_STACKS = 8


class Drawing(Struct, frozen=True):
    """A drawing: the name of its section, its title, its caption, and its views.

    One view is shown at a time.
    """

    name: str
    title: str
    notes: list[str]
    views: list[View]
    overviews: dict[str, dict[str, Any]] = field(default_factory=dict)
    """All steps of each rank, by the words that choose its views."""


def draw_events(report: Report, model: TimeModel) -> list[Drawing]:
    """Draw the heat map of several ranks, the timeline and the icicle, from the trace's model.

    Nothing is drawn if sections were asked for.
    """
    if report.is_asked:
        return []
    n_ranks = len(report.trace.manifest.ranks)
    heat = heat_map(model) if n_ranks > 1 else None
    together = ranks_to_draw(model) if n_ranks > 1 else []
    ranks = ranks_alone(model, together)
    path = report.frames.get("critical_path", CRITICAL_PATH.empty())
    alone = {rank: steps_to_draw(model, rank, path) for rank in ranks}
    timelines = [*draw_timelines(model, together, alone)]
    paths = {rank: kernel_paths(report.trace, rank) for rank in ranks}
    drawings = [] if heat is None else [_heat(heat)]
    if timelines:
        notes = []
        if 1 < n_ranks > len(ranks):
            notes.append(f"The page has timelines of {list_ranks(ranks)}, of {n_ranks} ranks.")
        views = [timeline_view(timeline, path) for timeline in timelines]
        steps = overviews(report, model, timelines)
        drawings.append(Drawing("timeline", "What ran when?", notes, views, steps))
    icicles = [
        icicle_view(rank, of_rank)
        for rank, of_rank in paths.items()
        if of_rank["duration_ns"].sum()
    ]
    if icicles:
        title = "Which layers, ops and kernels make up the time?"
        drawings.append(Drawing("icicle", title, [], icicles))
    return drawings


def _heat(heat: HeatMap) -> Drawing:
    notes = [
        "Rows are ranks, columns steps. Waiting is for other ranks, while nothing is computed."
    ]
    if any(" to " in label for label in (*heat.ranks, *heat.steps)):
        notes.append(
            "There are too many to draw each. A cell that stands for several shows the largest"
            " value of them, and the cause of most idle time."
        )
    cells = heat.cells.with_columns(pl.col("cause").replace(PART_WORDS))
    colors = {cause: COLORS[cause] for cause in cells["cause"].drop_nulls().unique().sort()}
    columns = {name: cells[name].to_list() for name in cells.columns}
    data = {
        "kind": "heat",
        "ranks": heat.ranks,
        "steps": heat.steps,
        "columns": columns,
        "colors": colors,
        "shades": {"waiting_ns": COLORS["waiting"], "compute_ns": COLORS["compute"]},
    }
    return Drawing(
        "ranks_by_step",
        "Which ranks wait, compute or idle in which step?",
        notes,
        [View("", "", data)],
    )


def list_stacks(report: Report) -> list[dict[str, Any]]:
    """List the call stacks that the page shows, one entry per symbol.

    An entry has a title and its stacks. With a base, its stack is beside the trace's. If there are
    too many symbols, a last entry without stacks counts the others.
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

    A frame is None if only the other stack has one there. `shared` frames have the same function in
    both stacks and share a row.
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
