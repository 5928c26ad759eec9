"""Draw events for the page: heat map, timeline, icicle of kernel time, and call stacks."""

from typing import Any

import polars as pl
from msgspec import Struct, field

from tracelens.derive.layers.layer_rules import name_layers
from tracelens.derive.rank_ranges import MANY, list_ranks
from tracelens.derive.stacks.stack_listing import first_hits, pair_stacks, side_by_side
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.rank_steps import HeatMap, heat_map, ranks_to_draw
from tracelens.derive.time.time_parts import TimeModel
from tracelens.derive.time.timeline import draw_timelines, steps_to_draw
from tracelens.report import Report
from tracelens.schemas.results.replay import CRITICAL_PATH
from tracelens.trace import Trace
from tracelens.views.bar_views import View, icicle_view, overviews, timeline_view
from tracelens.views.palette import COLORS

_MOST_STACKS = 8
MOST_PATHS = 10_000
"""Number of paths with a row of their own. The rest are merged into one row per phase and layer."""
PATHS = {
    "phase": pl.String,
    "layer": pl.String,
    "op": pl.String,
    "kernel": pl.String,
    "primitive": pl.String,
    "n": pl.Int64,
    "duration_ns": pl.Int64,
}
_SITE = ("rank", "site_id")


class Drawing(Struct, frozen=True):
    """A drawing of the page. It shows one of its views at a time."""

    # The section's name
    name: str
    title: str
    # The caption
    notes: list[str]
    views: list[View]
    overviews: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The overview of each rank's steps, by the words for the rank."""


def draw_events(report: Report, model: TimeModel) -> list[Drawing]:
    """Return the heat map, the timeline and the icicle for the page.

    A trace of one rank has no heat map. A report whose sections the user chose has no drawings.
    """
    if report.is_asked:
        return []
    n_ranks = len(report.trace.manifest.ranks)
    heat = heat_map(model) if n_ranks > 1 else None
    together = ranks_to_draw(model) if n_ranks > 1 else []
    ranks = ranks_alone(model, together)
    kernels = {rank: kernel_paths(report.trace, rank) for rank in ranks}
    path = report.frames.get("critical_path", CRITICAL_PATH.empty())
    alone = {rank: steps_to_draw(model, rank, path) for rank in ranks}
    timelines = [*draw_timelines(model, together, alone)]
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
        for rank, of_rank in kernels.items()
        if of_rank["duration_ns"].sum()
    ]
    if icicles:
        title = "Which layers, ops and kernels make up the time?"
        drawings.append(Drawing("icicle", title, [], icicles))
    return drawings


def ranks_alone(model: TimeModel, together: list[int]) -> list[int]:
    """Return the ranks that each get a timeline of their own.

    Of a trace with many ranks, these are the ranks `together` and the first rank. The ranks
    `together` also get one shared timeline.
    """
    ranks = model.trace.manifest.ranks
    if len(ranks) <= MANY:
        return [*ranks] or [first_rank(model)]
    return [*dict.fromkeys((*together, first_rank(model)))]


def first_rank(model: TimeModel) -> int:
    """Return the first rank that marks steps; if no rank does, return the first rank."""
    if model.steps.height:
        return int(model.steps["rank"].min())  # type: ignore[arg-type]  # a number
    return min(model.trace.manifest.ranks, default=0)


def kernel_paths(trace: Trace, rank: int, most: int = MOST_PATHS) -> pl.DataFrame:
    """Return kernel time of a rank by phase, layer, op and kernel name, longest time first.

    The columns are PATHS. `n` is the number of kernels, `op` the outermost op around the launch.
    Times sum to the rank's kernel time. The result is empty if the rank has no kernels, or if
    the trace has no sites of launches.
    """
    kernels = trace.select(
        "kernels", *_SITE, "name", "primitive", "link", "is_communication", "duration_ns"
    )
    of_rank = kernels.lazy().filter(pl.col("rank") == rank)
    groups = of_rank.group_by(pl.exclude("duration_ns"))
    n_kernels = pl.len().cast(pl.Int64)
    total_ns = pl.col("duration_ns").sum()
    sums = groups.agg(total_ns, n=n_kernels).collect()
    if sums.is_empty() or not trace.has("sites"):
        return pl.DataFrame(schema=PATHS)
    sites = trace.select("sites", *_SITE, "op", "is_root", "accumulates", "module_path", "phase")
    with_sites = sums.join(sites, on=_SITE, how="left")
    located = with_sites.with_columns(by_node=pl.lit(value=False))
    key = [name for name in PATHS if name not in {"n", "duration_ns"}]
    totals = [pl.col("n", "duration_ns").sum()]
    with_layers = name_layers(located, trace)
    named = with_layers.rename({"name": "kernel"}).group_by(key).agg(totals)
    named = named.sort("duration_ns", *key, descending=[True] + [False] * len(key))
    small = named.slice(most).with_columns(
        op=pl.lit("(small)"),
        kernel=pl.lit("(small)"),
        primitive=pl.lit("unknown"),
    )
    return pl.concat(
        [
            named.head(most),
            small.group_by(key, maintain_order=True).agg(totals),
        ]
    ).select(*PATHS)


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
    """Return the call stacks for the page, one entry per function in which the program stopped.

    An entry has a `title` and `stacks`. In a comparison, it has the stacks of both traces. If
    functions are left out, a last entry without stacks counts them.
    """
    if report.is_asked or not report.trace.has("frames"):
        return []
    if report.base is not None and report.base.has("frames"):
        stacks = [
            _beside(
                f"{one['symbol']} and {two['symbol']}",
                [(report.base, one), (report.trace, two)],
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


def _beside(
    title: str,
    stacks: list[tuple[Trace, dict[str, Any]]],
) -> dict[str, Any]:
    """Return an entry with one or two stacks, with frames aligned by row, innermost first.

    Frames with the same function in both stacks are in one row, marked as `shared`. A stack has
    None in a row where only the other stack has a frame.
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
