"""Draw steps as bars: choose the steps, and the bars for which there is room."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct, field

from tracelens.derive.time.drawn_bars import DETAILS, merge_short, with_details, without_deepest
from tracelens.derive.time.event_bars import BARS, CODED, bars_between, python_calls
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.time import PROGRAM
from tracelens.trace import Trace

MOST_BARS = 20_000
"""Above this number of bars, short ones are merged."""
_FEW_BARS = 20_000
"""After the median and the longest step, a rank's steps are drawn until it has this many bars."""
_MOST_STEPS = 6
"""The most steps of a rank to draw, if they have few bars."""


class DrawnStep(Struct, frozen=True):
    """Holds a step to draw."""

    rank: int
    step: int | None
    """None for the whole program of a rank without steps."""
    length_word: str
    """The word "median" or "longest" for the rank's median or longest step, else empty."""
    start_ns: int
    duration_ns: int


class Timeline(Struct, frozen=True):
    """Holds the bars of a drawn step of one or several ranks, with times since the step's start."""

    drawn_step: DrawnStep
    ranks: list[int]
    bars: pl.DataFrame
    """Columns: BARS and DETAILS."""
    merged_ns: int | None
    """Bars shorter than this are merged; None if each bar is drawn."""
    n_left_out: int = 0
    """Number of bars on the deepest levels that are not drawn for want of room."""
    calls: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=BARS | DETAILS))
    """Bars of Python calls, one lane per thread, if they were recorded and one rank is drawn."""


def median_and_longest(model: TimeModel, rank: int) -> list[DrawnStep]:
    """Return the rank's median and longest step, or its whole program if it has no steps."""
    is_of_rank = pl.col("rank") == rank
    steps = model.program_steps.filter(is_of_rank).sort("duration_ns", "step")
    if steps.is_empty():
        return _whole_program(model, rank)
    drawn = [
        _drawn(
            steps.row(
                (steps.height - 1) // 2,
                named=True,
            ),
            "median",
        )
    ]
    if steps.height > 1:
        drawn.append(
            _drawn(
                steps.row(-1, named=True),
                "longest",
            )
        )
    return [drawn_step for drawn_step in drawn if drawn_step.duration_ns > 0]


def _drawn(step: Mapping[str, Any], length_word: str) -> DrawnStep:
    return DrawnStep(
        step["rank"],
        step["step"],
        length_word,
        step["start_ns"],
        step["duration_ns"],
    )


def _whole_program(model: TimeModel, rank: int) -> list[DrawnStep]:
    """Return the program of a rank without steps, or its whole recording if it has no program."""
    program = model.phases.filter(rank=rank, phase=PROGRAM)
    length = pl.col("end_ns") - pl.col("start_ns")
    edges = program.select("start_ns", length).rows() or [_recorded(model.trace, rank)]
    drawn = []
    for start_ns, duration_ns in edges:
        if duration_ns > 0:
            drawn.append(DrawnStep(rank, None, "", start_ns, duration_ns))
    return drawn


def steps_to_draw(model: TimeModel, rank: int, path: pl.DataFrame) -> list[DrawnStep]:
    """Return a rank's steps to draw: median, longest, steps with a critical path, the first steps.

    `path` lists, by rank, the steps with a known critical path.
    """
    is_of_rank = pl.col("rank") == rank
    chosen = median_and_longest(model, rank)
    chosen_steps = {drawn_step.step for drawn_step in chosen}
    steps_on_path = path.filter(is_of_rank)["step"].drop_nulls()
    on_path = {*steps_on_path}
    rank_steps = model.program_steps.filter(is_of_rank).sort("start_ns")
    other_steps = rank_steps.filter(pl.col("duration_ns") > 0)
    others = [_drawn(row, "") for row in other_steps.iter_rows(named=True)]
    others = [drawn_step for drawn_step in others if drawn_step.step not in chosen_steps]
    others.sort(key=lambda drawn_step: drawn_step.step not in on_path)
    n_more = max(_MOST_STEPS - len(chosen), 0)
    return [*chosen, *others[:n_more]]


def same_moment(
    clocks: pl.DataFrame,
    rank: int,
    moment_ns: int,
    others: list[int],
) -> dict[int, int]:
    """Convert a moment on a rank's clock to the clocks of other ranks.

    `clocks` is the result of `clocks_of`.
    """
    rows = {row["rank"]: row for row in clocks.iter_rows(named=True)}

    def terms(of: int) -> tuple[float, float, float]:
        row = rows.get(of, {})
        return (
            row.get("offset_ns") or 0,
            (row.get("drift_ppm") or 0) * 1e-6,
            row.get("origin_ns") or 0,
        )

    offset, drift, origin = terms(rank)
    since = moment_ns - offset - origin
    job = round(moment_ns - offset - since * drift / (1 + drift))
    moments = {}
    for other in others:
        offset, drift, origin = terms(other)
        moments[other] = (
            moment_ns if other == rank else job + round(offset + (job - origin) * drift)
        )
    return moments


def _recorded(trace: Trace, rank: int) -> tuple[int, int]:
    """Return the start and the length of a rank's recording in ns, (0, 0) if it is empty."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    starts = []
    ends = []
    for name in ("kernels", "memcpys", "spans", "api_calls"):
        recorded = trace.select(name, "rank", "start_ns", "duration_ns")
        times = recorded.filter(pl.col("rank") == rank)
        if times.height:
            starts.append(times.select(pl.col("start_ns").min()).item())
            ends.append(times.select(end.max()).item())
    if not starts:
        return 0, 0
    first = min(starts)
    return first, max(ends) - first


def draw_timelines(
    model: TimeModel,
    together: list[int],
    alone: Mapping[int, Sequence[DrawnStep]],
) -> Iterator[Timeline]:
    """Draw the ranks in `together` below each other, then the steps of each rank in `alone`.

    More than two steps of a rank are drawn only if their bars are few.
    """
    for drawn_step in median_and_longest(model, together[0]) if len(together) > 1 else []:
        moment = same_moment(
            model.collectives.clocks,
            together[0],
            drawn_step.start_ns,
            together,
        )
        timeline = draw_timeline(model, drawn_step, moment)
        if timeline is not None:
            yield timeline
    for chosen in alone.values():
        n_bars = 0
        for drawn_step in chosen:
            if n_bars > _FEW_BARS and not drawn_step.length_word:
                break
            timeline = draw_timeline(model, drawn_step)
            if timeline is not None:
                n_bars += timeline.bars.height + timeline.calls.height
                yield timeline


def draw_timeline(
    model: TimeModel,
    drawn_step: DrawnStep,
    begins: Mapping[int, int] | None = None,
    most: int = MOST_BARS,
) -> Timeline | None:
    """Draw the bars of the step, or return None if there are no bars.

    Lanes come in the order in which they are drawn. With `begins`, several ranks are drawn below
    each other. `begins` has each rank's first moment, on its own clock.
    """
    length = drawn_step.duration_ns
    if begins is None:
        interval = drawn_step.rank, drawn_step.start_ns, length
        calls = python_calls(model.trace, *interval)
        bars = bars_between(model, *interval)
    else:
        bars, calls = _below_each_other(model, begins, length), pl.DataFrame(schema=BARS)
    shallow = without_deepest(bars, most)
    drawn, merged_ns = merge_short(shallow, length, most)
    if not drawn.height:
        return None
    drawn_calls, _ = merge_short(without_deepest(calls, most), length, most)
    detailed = with_details(
        model.trace,
        pl.concat([drawn, drawn_calls]),
    )
    return Timeline(
        drawn_step,
        [drawn_step.rank] if begins is None else [*begins],
        detailed.head(drawn.height),
        merged_ns,
        bars.height - shallow.height,
        detailed.slice(drawn.height),
    )


def _below_each_other(model: TimeModel, begins: Mapping[int, int], length: int) -> pl.DataFrame:
    """List the bars of several ranks, each from its moment in `begins`, with unique call ids."""
    lane = pl.col("lane").cast(pl.String)
    call_ids = pl.col("api_call_id") * len(begins)
    parts = []
    for number, (rank, begin) in enumerate(begins.items()):
        bars = bars_between(model, rank, begin, length)
        of_rank = bars.with_columns(
            lane=f"rank {rank}: " + lane,
            api_call_id=call_ids + number,
        )
        parts.append(of_rank.cast(CODED))
    return pl.concat(parts)
