"""Draw steps as bars: choose the steps, and the bars for which there is room."""

from collections.abc import Iterator, Mapping, Sequence

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
"""Largest number of bars in a rank's drawn steps, except for the median and the longest step."""
_MOST_STEPS = 6
"""At most this many steps of a rank are drawn, if they have few bars."""


class DrawnStep(Struct, frozen=True):
    """A step of a rank that is drawn; step None is the whole program of a rank without steps.

    `length_word` is "median" or "longest" if the step is the median or longest of the rank's steps.
    """

    rank: int
    step: int | None
    length_word: str
    start_ns: int
    duration_ns: int


class Timeline(Struct, frozen=True):
    """The bars of a drawn step of one or several ranks, with times since its start.

    The bars have the columns BARS and DETAILS. Bars shorter than `merged_ns` are merged, level by
    level; merged_ns is None if each bar is drawn.
    """

    drawn_step: DrawnStep
    ranks: list[int]
    bars: pl.DataFrame
    merged_ns: int | None
    n_left_out: int = 0
    """Number of bars on the deepest levels that are not drawn for want of room."""
    calls: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=BARS | DETAILS))
    """Bars of Python calls, one lane per thread, if they were recorded and one rank is drawn."""


def median_and_longest(model: TimeModel, rank: int) -> list[DrawnStep]:
    """Return the program's median step and its longest, else its whole program."""
    is_of_rank = pl.col("rank") == rank
    steps = model.program_steps.filter(is_of_rank)
    if steps.height:
        steps = steps.sort("duration_ns", "step")
        middle = (steps.height - 1) // 2
        last = steps.height - 1
        chosen = {middle: "median"} if middle == last else {middle: "median", last: "longest"}
        rows = [(place, steps.row(number, named=True)) for number, place in chosen.items()]
        drawn = [
            DrawnStep(
                rank,
                row["step"],
                place,
                row["start_ns"],
                row["duration_ns"],
            )
            for place, row in rows
        ]
    else:
        is_program = pl.col("phase") == PROGRAM
        program = model.phases.filter(is_of_rank, is_program)
        length = pl.col("end_ns") - pl.col("start_ns")
        edges = program.select("start_ns", length).rows() or [_recorded(model.trace, rank)]
        drawn = [DrawnStep(rank, None, "", *edge) for edge in edges]
    return [drawn_step for drawn_step in drawn if drawn_step.duration_ns > 0]


def steps_to_draw(model: TimeModel, rank: int, path: pl.DataFrame) -> list[DrawnStep]:
    """Return a rank's steps to draw: median, longest, the critical path's, then the first ones.

    `path` has, by rank, the steps whose critical path is known.
    """
    chosen = median_and_longest(model, rank)
    on_path = {*path.filter(pl.col("rank") == rank)["step"].drop_nulls()}
    rank_steps = model.program_steps.filter(pl.col("rank") == rank).sort("start_ns")
    others = [
        DrawnStep(
            rank,
            row["step"],
            "",
            row["start_ns"],
            row["duration_ns"],
        )
        for row in rank_steps.iter_rows(named=True)
        if row["step"] not in {drawn_step.step for drawn_step in chosen} and row["duration_ns"] > 0
    ]
    others.sort(key=lambda drawn_step: drawn_step.step not in on_path)
    return [
        *chosen,
        *others[: max(_MOST_STEPS - len(chosen), 0)],
    ]


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
    """Return the start and the length of all that was recorded of a rank."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    bounds = []
    for name in ("kernels", "memcpys", "spans", "api_calls"):
        times = trace.select(name, "rank", "start_ns", "duration_ns").filter(pl.col("rank") == rank)
        if times.height:
            bounds.append(
                times.select(
                    pl.col("start_ns").min(),
                    end=end.max(),
                ).row(0)
            )
    if not bounds:
        return 0, 0
    start = min(first for first, _ in bounds)
    return start, max(last for _, last in bounds) - start


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
    """Draw the bars of the step; return None if there are none.

    Lanes come in the order in which they are drawn: each device's streams, its idle time by cause,
    its queue of launches, then threads, busiest first. Causes are those of `time_breakdown`, except
    that loading of code at a kernel's first use is drawn as launching. `begins` names several ranks
    to draw below each other, and for each the moment on its own clock at which its part begins.
    """
    length = drawn_step.duration_ns
    if begins is None:
        place = drawn_step.rank, drawn_step.start_ns, length
        calls = python_calls(model.trace, *place)
        bars = bars_between(model, *place)
    else:
        bars, calls = _below_each_other(model, begins, length), pl.DataFrame(schema=BARS)
    shallow = without_deepest(bars, most)
    drawn, merged_ns = merge_short(shallow, length, most)
    if not drawn.height:
        return None
    drawn_calls, _ = merge_short(without_deepest(calls, most), length, most)
    detailed = with_details(model.trace, pl.concat([drawn, drawn_calls]))
    return Timeline(
        drawn_step,
        [drawn_step.rank] if begins is None else [*begins],
        detailed.head(drawn.height),
        merged_ns,
        bars.height - shallow.height,
        detailed.slice(drawn.height),
    )


def _below_each_other(model: TimeModel, begins: Mapping[int, int], length: int) -> pl.DataFrame:
    """List the bars of several ranks, each from its own moment on; calls are numbered by rank."""
    lane = pl.col("lane").cast(pl.String)
    call_ids = pl.col("api_call_id") * len(begins)
    return pl.concat(
        bars_between(model, rank, begin, length)
        .with_columns(lane=f"rank {rank}: " + lane, api_call_id=call_ids + number)
        .cast(CODED)
        for number, (rank, begin) in enumerate(begins.items())
    )
