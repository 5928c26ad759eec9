"""The timeline's data for the page: a step's bars, what a click tells of them, and all steps."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.time.bar_details import DETAILS, with_details
from tracelens.derive.time.model import TimeModel
from tracelens.derive.time.rank_steps import same_moment
from tracelens.derive.time.timeline import BARS, Timeline, Window, draw_timeline, windows
from tracelens.report import Report
from tracelens.schemas.results.replay import STRETCHES
from tracelens.views.embedding import clip, packed
from tracelens.views.palette import colors_of
from tracelens.views.values import quantity

_MOST_STEPS = 6
"""Steps of a rank that can be looked at, where their bars are few."""
_FEW_BARS = 20_000
"""Most bars of one rank's steps. The median and the longest step are drawn even above it."""
MOST_COLUMNS = 500
"""Steps in the overview; where there are more, the first."""
PATH_LANE = "critical path: what the step waited for"
_INTERNAL = ("rank", "source", "event_id")


def timelines(
    report: Report, model: TimeModel, together: list[int], ranks: list[int]
) -> Iterator[Timeline]:
    """Yield timelines of ranks below each other, then of each rank's steps.

    Of a rank there are more than two only where their bars are few.
    """
    for window in windows(model, together[0]) if len(together) > 1 else []:
        moment = same_moment(model.collectives.clocks, together[0], window.start_ns, together)
        timeline = draw_timeline(model, window, moment)
        if timeline is not None:
            yield timeline
    for rank in ranks:
        n_bars = 0
        for window in _windows(report, model, rank):
            if n_bars > _FEW_BARS and not window.length_word:
                break
            timeline = draw_timeline(model, window)
            if timeline is not None:
                n_bars += timeline.bars.height + timeline.calls.height
                yield timeline


def _windows(report: Report, model: TimeModel, rank: int) -> list[Window]:
    """Return a rank's steps to draw: median, longest, the critical path's, then the first ones."""
    chosen = windows(model, rank)
    path = _critical_path(report, rank)
    on_path = set(path["step"].drop_nulls()) if path.height else set()
    rank_steps = model.program_steps.filter(pl.col("rank") == rank).sort("start_ns")
    others = [
        Window(rank, row["step"], "", row["start_ns"], row["duration_ns"])
        for row in rank_steps.iter_rows(named=True)
        if row["step"] not in {window.step for window in chosen} and row["duration_ns"] > 0
    ]
    others.sort(key=lambda window: window.step not in on_path)
    return [*chosen, *others[: max(_MOST_STEPS - len(chosen), 0)]]


def _critical_path(report: Report, rank: int) -> pl.DataFrame:
    """Return the rank's critical path, where the report has it; else no rows."""
    frames = [
        section.frame for section in report.sections if section.analysis.name == "critical_path"
    ]
    if not frames or not frames[0].height:
        return pl.DataFrame()
    return frames[0].filter(pl.col("rank") == rank)


def view_data(report: Report, timeline: Timeline) -> str:
    """Return a timeline's bars with their details, packed, and the note above them."""
    trace, window = report.trace, timeline.window
    bars = pl.concat([timeline.bars, timeline.calls])
    detailed = with_details(trace, bars).drop(_INTERNAL)
    if len(timeline.ranks) == 1:
        path = _path_bars(_critical_path(report, window.rank), window)
        detailed = pl.concat([path, detailed], how="diagonal")
    return packed_bars(
        "timeline", detailed.select(_shown()), window.duration_ns, timeline_note(timeline)
    )


def _shown() -> list[str]:
    return [name for name in (*BARS, *DETAILS) if name not in _INTERNAL]


def _path_bars(path: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Return the stretches of the critical path as bars of one lane; none of another step."""
    schema = {name: dtype for name, dtype in (BARS | DETAILS).items() if name not in _INTERNAL}
    if not path.height:
        return pl.DataFrame(schema=schema)
    rows = path.filter(pl.col("step").eq_missing(window.step))
    begin = pl.col("start_ns") - window.start_ns
    bars = rows.select(
        lane=pl.lit(PATH_LANE),
        level=pl.lit(0, pl.Int64),
        start_ns=begin.clip(0, window.duration_ns),
        duration_ns=pl.col("duration_ns"),
        name=pl.coalesce("what", pl.col("kind").replace(STRETCHES)),
        kind=pl.col("kind").str.replace("_", " ", literal=True),
        api_call_id=pl.lit(None, pl.Int64),
        n=pl.lit(1, pl.Int64),
        op=pl.col("op"),
        layer=pl.col("module_path"),
        shapes=pl.lit(None, pl.String),
        size=pl.col("kind").replace(STRETCHES),
    )
    left = window.duration_ns - pl.col("start_ns")
    return bars.with_columns(duration_ns=pl.min_horizontal("duration_ns", left)).filter(
        pl.col("duration_ns") > 0
    )


def timeline_note(timeline: Timeline) -> str:
    """Return what is drawn, and what is put together or left out."""
    window, ranks = timeline.window, timeline.ranks
    where = (
        "All that was recorded"
        if window.step is None
        else f"Step {window.step}, the {window.length_word} one,"
        if window.length_word
        else f"Step {window.step}"
    )
    bars = f"{timeline.bars.height:,} bars."
    note = f"{where} of rank {window.rank}: {bars}"
    if len(ranks) > 1:
        roles = zip(
            ranks, ("loses most by waiting", "is waited for", "loses the median"), strict=False
        )
        roles_of_ranks = "; ".join(f"rank {rank} {role}" for rank, role in roles)
        note = (
            f"{note[: note.index(':')]}, and the others meanwhile, on aligned clocks:"
            f" {roles_of_ranks}."
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
    return note


def view_names(timeline: Timeline) -> tuple[str, str]:
    """Return the words by which a timeline is chosen: whose it is, and which step."""
    window, ranks = timeline.window, timeline.ranks
    whose = f"ranks {', '.join(map(str, ranks))}" if len(ranks) > 1 else f"rank {window.rank}"
    if window.step is None:
        return whose, ""
    return (
        whose,
        f"{window.step} ({window.length_word})" if window.length_word else f"{window.step}",
    )


def overviews(report: Report, model: TimeModel, drawn: list[Timeline]) -> dict[str, str]:
    """Return all steps of each rank that is drawn alone, packed, by the words it is chosen by."""
    steps = model.program_steps.sort("start_ns")
    overviews_by_rank = {}
    for rank in dict.fromkeys(view.window.rank for view in drawn if len(view.ranks) == 1):
        rank_steps = steps.filter(pl.col("rank") == rank)
        if rank_steps.height > 1:
            choices = {
                view.window.step: view_names(view)[1] for view in drawn if view.ranks == [rank]
            }
            overviews_by_rank[f"rank {rank}"] = packed(
                _overview(rank_steps, _working(report, rank), choices)
            )
    return overviews_by_rank


def _overview(
    steps: pl.DataFrame, working: dict[int, float], choices: dict[int | None, str]
) -> dict[str, Any]:
    """Return number, duration and share of work of the first steps, and how each is chosen."""
    head = steps.head(MOST_COLUMNS)
    return {
        "n_steps": steps.height,
        "steps": head["step"].to_list(),
        "durations": head["duration_ns"].to_list(),
        "working": [working.get(step) for step in head["step"]],
        "choices": [choices.get(step) for step in head["step"]],
    }


def _working(report: Report, rank: int) -> dict[int, float]:
    """Return the share of each step in which the rank's devices work, where the report has it."""
    frames = [
        section.frame for section in report.sections if section.analysis.name == "time_breakdown"
    ]
    if not frames or "idle_frac" not in frames[0].columns:
        return {}
    rank_rows = frames[0].filter(pl.col("rank") == rank, pl.col("step").is_not_null())
    means = rank_rows.group_by("step").agg(pl.col("idle_frac").mean()).drop_nulls()
    return {step: round(1 - idle, 4) for step, idle in means.iter_rows()}


def packed_bars(kind: str, frame: pl.DataFrame, length: int, note: str) -> str:
    """Pack the frame's columns, texts as words and places, with a note and the kinds' colours."""
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
    return packed(
        {
            "kind": kind,
            "length": length,
            "note": note,
            "columns": columns,
            "colors": colors_of([*dict.fromkeys([*kinds, "module", "op"])]),
        }
    )


def list_chosen(ranks: list[int], n_ranks: int) -> str | None:
    """Return which ranks can be chosen, where not all."""
    if len(ranks) >= n_ranks or n_ranks <= 1:
        return None
    return f"To choose from are {list_ranks(ranks)} of {n_ranks}."
