"""Build the views of the timeline and the icicle; page.js draws them as bars."""

from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.drawn_bars import DETAILS
from tracelens.derive.time.event_bars import BARS
from tracelens.derive.time.time_parts import TimeModel
from tracelens.derive.time.timeline import DrawnStep, Timeline
from tracelens.report import Report
from tracelens.schemas.results.replay import STRETCH_WORDS, STRETCHES
from tracelens.views.values import quantity

MOST_COLUMNS = 500
"""Largest number of steps in the overview; later steps are left out."""
PATH_LANE = "critical path: what the step waited for"
_HOST_KINDS = {"python": "python", "api_call": "api call"}
"""Legend words for host activity on the critical path, the same as in lanes of host threads."""
_INTERNAL = ("rank", "source", "event_id")
_SHOWN = {name: dtype for name, dtype in (BARS | DETAILS).items() if name not in _INTERNAL}


class Bars(Struct, frozen=True):
    """A picture of bars, with one bar per row of `frame`.

    `kind` is "timeline" or "icicle". `length` is the duration of the whole picture in nanoseconds.
    """

    kind: str
    frame: pl.DataFrame
    length: int
    note: str


class View(Struct, frozen=True):
    """One picture of a drawing.

    `rank` and `step` are the texts by which the user chooses the picture, such as "rank 0" and
    "12 (median)".
    """

    rank: str
    step: str
    picture: Bars | dict[str, Any]


def icicle_view(rank: int, paths: pl.DataFrame) -> View:
    """Return the icicle of a rank's kernel time by phase, layer, op and kernel."""
    total = int(paths["duration_ns"].sum())
    note = (
        f"Kernel time of rank {rank}, {quantity(total, 'ns')} in all: by phase, layer, op and"
        " kernel, as launched."
    )
    return View(f"rank {rank}", "", Bars("icicle", paths, total, note))


def timeline_view(timeline: Timeline, path: pl.DataFrame) -> View:
    """Return the view of a timeline, with the intervals of the critical `path` in a first lane."""
    length, note = timeline.drawn_step.duration_ns, timeline_note(timeline)
    bars = Bars("timeline", _shown_bars(timeline, path), length, note)
    return View(*_view_names(timeline), bars)


def _shown_bars(timeline: Timeline, path: pl.DataFrame) -> pl.DataFrame:
    """Return the bars of a timeline for the page, with bars of the critical `path` first.

    The critical path is left out if the timeline shows several ranks.
    """
    bars = pl.concat([timeline.bars, timeline.calls]).drop(_INTERNAL)
    if len(timeline.ranks) == 1:
        bars = pl.concat([_path_bars(path, timeline.drawn_step), bars], how="diagonal")
    return _with_cause_words(bars.select(*_SHOWN))


def _with_cause_words(bars: pl.DataFrame) -> pl.DataFrame:
    """Replace names of causes of idle time by words, such as "dependency" by "stream wait"."""
    is_idle = pl.col("kind").str.starts_with("idle: ")
    cause = pl.col("kind").str.strip_prefix("idle: ")
    word = cause.replace(PART_WORDS)
    place = pl.col("name").str.strip_prefix(cause)
    return bars.with_columns(
        kind=pl.when(is_idle).then("idle: " + word).otherwise("kind"),
        name=pl.when(is_idle).then(word + place).otherwise("name"),
    )


def _path_bars(path: pl.DataFrame, drawn_step: DrawnStep) -> pl.DataFrame:
    """Return the critical path's intervals in the drawn step, as bars of one lane.

    The result is empty if the critical path is of another step.
    """
    rows = path.filter(
        pl.col("rank") == drawn_step.rank, pl.col("step").eq_missing(drawn_step.step)
    )
    begin = pl.col("start_ns") - drawn_step.start_ns
    bars = rows.select(
        lane=pl.lit(PATH_LANE),
        level=pl.lit(0, pl.Int64),
        start_ns=begin.clip(0, drawn_step.duration_ns),
        duration_ns=pl.col("duration_ns"),
        name=pl.coalesce("what", pl.col("kind").replace(STRETCHES)),
        kind=pl.col("kind").replace(STRETCH_WORDS | _HOST_KINDS),
        api_call_id=pl.lit(None, pl.Int64),
        n=pl.lit(1, pl.Int64),
        op=pl.col("op"),
        layer=pl.col("module_path"),
        shapes=pl.lit(None, pl.String),
        size=pl.col("kind").replace(STRETCHES),
    )
    left = drawn_step.duration_ns - pl.col("start_ns")
    return bars.with_columns(duration_ns=pl.min_horizontal("duration_ns", left)).filter(
        pl.col("duration_ns") > 0
    )


def timeline_note(timeline: Timeline) -> str:
    """Return sentences on the drawn time and ranks, and on merged and left-out bars."""
    rank = timeline.drawn_step.rank
    bars = f"{timeline.bars.height:,} bars."
    if len(timeline.ranks) > 1:
        roles = ("loses most by waiting", "is waited for", "loses the median")
        roles_of_ranks = "; ".join(
            f"rank {other} {role}" for other, role in zip(timeline.ranks, roles, strict=False)
        )
        drawn = (
            f"{_drawn_time(timeline)} of rank {rank}, and the others meanwhile, on aligned clocks:"
            f" {roles_of_ranks}. {bars}"
        )
    else:
        drawn = f"{_drawn_time(timeline)} of rank {rank}: {bars}"
    merged = (
        " There are too many to draw each: those that begin together and are shorter than"
        f" {quantity(timeline.merged_ns, 'ns')} are drawn as one, under the name of the longest."
        if timeline.merged_ns is not None
        else ""
    )
    left_out = (
        f" The deepest levels and last lanes, with {timeline.n_left_out:,} bars, are left out:"
        " there are too many to draw."
        if timeline.n_left_out
        else ""
    )
    return drawn + merged + left_out


def _drawn_time(timeline: Timeline) -> str:
    """Return the words for the drawn step, or for the whole recording."""
    drawn_step = timeline.drawn_step
    if drawn_step.step is None:
        return "All that was recorded"
    if drawn_step.length_word:
        return f"Step {drawn_step.step}, the {drawn_step.length_word} one,"
    return f"Step {drawn_step.step}"


def _view_names(timeline: Timeline) -> tuple[str, str]:
    """Return the texts `rank` and `step` of a timeline's View."""
    drawn_step, ranks = timeline.drawn_step, timeline.ranks
    whose = f"ranks {', '.join(map(str, ranks))}" if len(ranks) > 1 else f"rank {drawn_step.rank}"
    if drawn_step.step is None:
        return whose, ""
    return (
        whose,
        f"{drawn_step.step} ({drawn_step.length_word})"
        if drawn_step.length_word
        else f"{drawn_step.step}",
    )


def overviews(report: Report, model: TimeModel, drawn: list[Timeline]) -> dict[str, dict[str, Any]]:
    """Return the overview of each drawn rank's steps, by the rank's name in the page.

    Ranks with a single step are left out.
    """
    steps = model.program_steps.sort("start_ns")
    overviews_by_name = {}
    ranks = {_view_names(view)[0]: view.drawn_step.rank for view in drawn}
    for whose, rank in ranks.items():
        rank_steps = steps.filter(pl.col("rank") == rank)
        if rank_steps.height > 1:
            names = [(view.drawn_step.step, *_view_names(view)) for view in drawn]
            choices = {step: word for step, name, word in names if name == whose}
            overview = _overview(rank_steps, _working(report, rank), choices)
            of = f" of rank {rank}" if len(ranks) > 1 else ""
            overviews_by_name[whose] = overview | {"of": of}
    return overviews_by_name


def _overview(
    steps: pl.DataFrame,
    working: dict[int, float],
    choices: dict[int | None, str],
) -> dict[str, Any]:
    """Return the number of steps, and four lists for page.js with one item per step.

    - `steps`: the step's number
    - `durations`: the step's duration in nanoseconds
    - `working`: the share of device work from `working`, or None
    - `choices`: the text from `choices` by which the user chooses the step's picture, or None
    """
    head = steps.head(MOST_COLUMNS)
    return {
        "n_steps": steps.height,
        "steps": head["step"].to_list(),
        "durations": head["duration_ns"].to_list(),
        "working": [working.get(step) for step in head["step"]],
        "choices": [choices.get(step) for step in head["step"]],
    }


def _working(report: Report, rank: int) -> dict[int, float]:
    """Return the share of time in which a rank's devices work, by step.

    Waiting in collectives is not work. The result is empty if the report lacks time_breakdown.
    """
    frame = report.frames.get("time_breakdown")
    if frame is None or "idle_frac" not in frame.columns:
        return {}
    rank_rows = frame.filter(pl.col("rank") == rank, pl.col("step").is_not_null())
    waiting = pl.lit(0.0)
    if "collective_wait_ns" in frame.columns:
        waiting = (pl.col("collective_wait_ns") / pl.col("window_ns")).fill_null(0)
    idle = (pl.col("idle_frac") + waiting).clip(upper_bound=1)
    means = rank_rows.group_by("step").agg(idle.mean().alias("idle")).drop_nulls()
    return {step: round(1 - idle, 4) for step, idle in means.iter_rows()}
