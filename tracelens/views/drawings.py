"""Drawings of events themselves for the page: a step as a timeline, kernel time as an icicle, and stacks by frame."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracelens.derive.layers.icicle import kernel_paths
from tracelens.derive.rank_ranges import MANY, list_ranks
from tracelens.derive.stacks.stack_listing import first_hits, pair_stacks, side_by_side
from tracelens.derive.time.rank_steps import heat_map, ranks_to_draw, same_moment
from tracelens.derive.time.timeline import Timeline, draw_timeline, first_rank, windows
from tracelens.report import Report
from tracelens.trace import Trace
from tracelens.views.charts import COLORS, PALETTE
from tracelens.views.embedding import clip, packed
from tracelens.views.values import quantity

_MOST_STACKS = 8


@dataclass(frozen=True, slots=True)
class View:
    """One picture of a drawing: whose it is, the words to choose it by, what is said of it, and its data, packed."""

    rank: str
    step: str
    data: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing: the name of its section, its title, what is said of it, and its views, of which one is shown."""

    name: str
    title: str
    notes: list[str]
    views: list[View]


def draw_events(report: Report) -> Iterator[Drawn]:
    """The heat maps of several ranks, the timeline and the icicle; none where sections were asked for."""
    if report.is_asked:
        return
    trace = report.trace
    yield from _heat(trace)
    together = ranks_to_draw(trace)
    ranks = _chosen(trace, together)
    timelines = [
        *_together(trace, together),
        *(one for rank in ranks for one in _of_rank(trace, rank)),
    ]
    if timelines:
        notes = [
            "Python calls are left out. An arrow leads from a launch to the work that it started."
        ]
        if not any("idle" in lane for one in timelines[:1] for lane in one.bars["lane"].unique()):
            notes = ["Python calls are left out."]
        if len(ranks) < len(trace.manifest.ranks) and len(trace.manifest.ranks) > 1:
            notes.append(f"To choose from are {list_ranks(ranks)} of {len(trace.manifest.ranks)}.")
        yield Drawn("timeline", "What ran when?", notes, [_timeline_view(one) for one in timelines])
    paths = {rank: kernel_paths(trace, rank) for rank in ranks}
    views = [
        View(f"rank {rank}", "", _packed("icicle", found, total, _icicle_note(rank, total)))
        for rank, found in paths.items()
        if (total := int(found["duration_ns"].sum()))
    ]
    if views:
        yield Drawn("icicle", "Which layers, ops and kernels make up the time?", [], views)


def _chosen(trace: Trace, together: list[int]) -> list[int]:
    """The ranks that are drawn: all, where they are few, else the first and those that stand together."""
    if len(trace.manifest.ranks) <= MANY:
        return [*trace.manifest.ranks] or [first_rank(trace)]
    return [*dict.fromkeys((*together, first_rank(trace)))]


def _heat(trace: Trace) -> Iterator[Drawn]:
    found = heat_map(trace)
    if found is None:
        return
    notes = [
        "A row is a rank, a column a step. Waiting is for other ranks, while nothing is computed."
    ]
    if any(" to " in label for label in (*found.ranks, *found.steps)):
        notes.append(
            "There are too many to draw each: a cell of several has the largest value of any, and"
            " the cause of most idle time."
        )
    colors = {cause: COLORS[cause] for cause in found.cells["cause"].drop_nulls().unique().sort()}
    columns = {name: found.cells[name].to_list() for name in found.cells.columns}
    data = {
        "kind": "heat",
        "ranks": found.ranks,
        "steps": found.steps,
        "columns": columns,
        "colors": colors,
    }
    yield Drawn(
        "ranks_by_step",
        "Which ranks wait, compute or idle in which step?",
        notes,
        [View("", "", packed(data))],
    )


def _together(trace: Trace, ranks: list[int]) -> Iterator[Timeline]:
    """Timelines of the ranks below each other, on aligned clocks."""
    for window in windows(trace, ranks[0]) if len(ranks) > 1 else []:
        made = draw_timeline(trace, window, same_moment(trace, ranks[0], window.start_ns, ranks))
        if made is not None:
            yield made


def _of_rank(trace: Trace, rank: int) -> Iterator[Timeline]:
    yield from filter(None, (draw_timeline(trace, window) for window in windows(trace, rank)))


def _timeline_view(timeline: Timeline) -> View:
    window, ranks = timeline.window, timeline.ranks
    where = (
        "All that was recorded"
        if window.step is None
        else f"Step {window.step}, that of {window.place} duration,"
    )
    bars = f"{timeline.bars.height:,} bars."
    note = f"{where} of rank {window.rank}: {bars}"
    if len(ranks) > 1:
        roles = zip(
            ranks, ("loses most by waiting", "is waited for", "loses the median"), strict=False
        )
        told = "; ".join(f"rank {rank} {role}" for rank, role in roles)
        note = (
            f"{note[: note.index(':')]}, and the others meanwhile, on aligned clocks: {told}."
            f" {bars}"
        )
    if timeline.merged_ns is not None:
        note += (
            " There are too many to draw each: those shorter than"
            f" {quantity(timeline.merged_ns, 'ns')} that begin together are one, with the longest"
            " one's name."
        )
    if timeline.n_left_out:
        note += (
            f" The deepest levels and last lanes, with {timeline.n_left_out:,} bars, are left out:"
            " there are too many to draw."
        )
    whose = f"ranks {', '.join(map(str, ranks))}" if len(ranks) > 1 else f"rank {window.rank}"
    step = "" if window.step is None else f"{window.step} ({window.place})"
    return View(whose, step, _packed("timeline", timeline.bars, window.duration_ns, note))


def _icicle_note(rank: int, total: int) -> str:
    return (
        f"Kernel time of rank {rank}, {quantity(total, 'ns')} in all: by phase, layer, op and"
        " kernel, as launched."
    )


def _packed(kind: str, frame: pl.DataFrame, length: int, note: str) -> str:
    """The frame's columns, texts as words and places, with a note and the colours of the words that have one."""
    columns: dict[str, Any] = {}
    for series in frame:
        if series.dtype != pl.String:
            columns[series.name] = series.to_list()
            continue
        words = series.unique(maintain_order=True)
        at = series.to_frame().join(
            words.to_frame().with_row_index("at"),
            on=series.name,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )["at"]
        columns[series.name] = {
            "words": [clip(word) if word is not None else "(none)" for word in words],
            "at": at.to_list(),
        }
    kinds = columns["kind" if "kind" in columns else "primitive"]["words"]
    colors = {
        word: COLORS.get(word, PALETTE[at % len(PALETTE)])
        for at, word in enumerate([*kinds, "module", "op"])
    }
    return packed(
        {"kind": kind, "length": length, "note": note, "columns": columns, "colors": colors}
    )


def list_stacks(report: Report) -> list[dict[str, Any]]:
    """Stacks to be read: a title, the stacks that stand beside each other with their titles, and what is left out."""
    if report.is_asked or not report.trace.has("frames"):
        return []
    if report.base is not None and report.base.has("frames"):
        found = [
            _beside(
                f"{one['symbol']} and {two['symbol']}", [(report.base, one), (report.trace, two)]
            )
            for one, two in pair_stacks(report.base, report.trace)
        ]
    else:
        found = [
            _beside(symbol, [(report.trace, stack)])
            for symbol, stack in first_hits(report.trace).items()
        ]
    left_out = len(found) - _MOST_STACKS
    return [
        *found[:_MOST_STACKS],
        *([{"title": f"{left_out} more symbols", "stacks": []}] if left_out > 0 else []),
    ]


def _beside(title: str, stacks: list[tuple[Trace, dict[str, Any]]]) -> dict[str, Any]:
    """Stacks beside each other, from the innermost frame; a frame is null where only the other stack has one.

    `shared` frames are of functions that both call there, and stand in one row.
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
