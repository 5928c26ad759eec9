"""Break down the time of a process without a device: arithmetic, copies, communication, idle."""

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.columns.split_intervals import cut_rows
from tracelens.derive.processes.cpu_work import (
    ARITHMETIC,
    CALLS,
    COLUMNS,
    COMMUNICATES,
    COPY,
    OPTIMIZER_STEP,
    SHAPES,
    process_work,
)
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.cpu_busy import COMPUTES
from tracelens.derive.time.program_phases import phases
from tracelens.derive.time.step_table import activities_of, process_ranks
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import PROGRAM, TIME_BREAKDOWN
from tracelens.trace import Trace

_WITHIN = " > "
_LENGTH = pl.col("end_ns") - pl.col("start_ns")
_IS_IDLE = pl.col("work").is_null() | (pl.col("work") == CALLS)
_IS_PROFILER = pl.col("what").cast(pl.String).eq_missing(pl.lit(PROFILER))


def break_down_processes(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Break down the time of ranks without a device: `windows` and `idle` of a Breakdown.

    The first rule that applies gives the kind or cause of the time:

    - The main thread loads data, compiles, allocates or waits for a device: this is the cause.
    - An op of any thread does arithmetic: the process computes.
    - An op copies memory: the process copies.
    - An op communicates: the process communicates.
    - An op only calls other ops: the cause is `launch`.
    - Otherwise the main thread's activity is the cause.
    """
    windows = []
    idle = []
    for rank, tiles in trace.derived(_tiles_by_rank).items():
        in_program = pl.col("phase") == PROGRAM
        idle_tiles = tiles.filter(_IS_IDLE & in_program)
        windows.append(_of_process(_sums(tiles), rank))
        idle.append(_of_process(_places(idle_tiles), rank))
    return TIME_BREAKDOWN.conform(pl.concat(windows)), pl.concat(idle)


def _of_process(frame: pl.DataFrame, rank: int) -> pl.DataFrame:
    """Put the columns rank and device_id (None) before all other columns."""
    key = {
        "rank": pl.lit(rank, pl.Int32),
        "device_id": pl.lit(None, pl.Int32),
    }
    return frame.with_columns(**key).select(*key, *frame.columns)


def process_idle(trace: Trace, rank: int) -> pl.DataFrame:
    """Return the program's time in which the process of a rank without a device does no work.

    Columns: start_ns, end_ns, cause and what (call path), sorted by start.
    """
    tiles = trace.derived(_tiles_by_rank)[rank]
    is_in_program = pl.col("phase") == PROGRAM
    idle = tiles.filter(_IS_IDLE & is_in_program)
    return idle.select("start_ns", "end_ns", "cause", "what")


def busiest_places(trace: Trace, work: int) -> dict[int, list[tuple[str, int]]]:
    """Return, by rank, the program's time in ns by op or call path, for one kind of work.

    The longest is first. ARITHMETIC is summed by op, any other kind of work by call path.
    """
    name = pl.col("op") if work == ARITHMETIC else pl.coalesce("what", "op")
    places_by_rank = {}
    for rank, tiles in trace.derived(_tiles_by_rank).items():
        tiles_of_work = tiles.filter(work=work, phase=PROGRAM)
        by_name = tiles_of_work.group_by(name=name)
        times = by_name.agg(ns=_LENGTH.sum()).drop_nulls("name")
        longest_first = times.sort("ns", "name", descending=[True, False])
        places_by_rank[rank] = longest_first.rows()
    return places_by_rank


def optimizer_place(trace: Trace, rank: int) -> str | None:
    """Return the name and longest op of the optimizer if it does half of the arithmetic or more."""
    # An optimizer that computes parameter by parameter calls many ops, all of them short.
    regions = _optimizer_steps(trace, rank)
    if regions.is_empty():
        return None
    all_tiles = trace.derived(_tiles_by_rank)[rank]
    arithmetic = all_tiles.filter(work=ARITHMETIC, phase=PROGRAM)
    cut = cut_rows(arithmetic, regions).with_columns(ns=_LENGTH)
    inside = cut.drop_nulls("at")
    inside_ns = int(inside["ns"].sum())
    if inside.is_empty() or 2 * inside_ns < int(cut["ns"].sum()):
        return None
    times = inside.group_by("op").agg(pl.col("ns").sum())
    ops = times.sort("ns", "op", descending=[True, False])
    name = str(regions["name"][0]).removeprefix("Optimizer.step#")
    return f"{name}{_WITHIN}{ops['op'][0]}"


def _optimizer_steps(trace: Trace, rank: int) -> pl.DataFrame:
    """Return the annotations of the optimizer's steps, without steps inside other steps."""
    is_annotation = pl.col("kind") == "annotation"
    columns = ("name", "start_ns", "duration_ns")
    annotations = trace.select(
        "spans",
        *columns,
        where=is_annotation,
        rank=rank,
    )
    (is_step,) = matching(annotations["name"], OPTIMIZER_STEP)
    in_order = annotations.filter(is_step).sort("start_ns")
    steps = in_order.with_columns(end_ns=END)
    latest_end = pl.col("end_ns").cum_max()
    ends_before = latest_end.shift(1, fill_value=0)
    is_outermost = pl.col("start_ns") >= ends_before
    return steps.filter(is_outermost)


def _tiles_by_rank(trace: Trace) -> dict[int, pl.DataFrame]:
    """Cut the time of each rank without a device into the intervals of `_with_work`."""
    tiles_by_rank = {}
    for rank in process_ranks(trace):
        main_thread, steps = _main_thread_and_steps(trace, rank)
        spans = trace.select(
            "spans",
            *COLUMNS,
            *SHAPES,
            rank=rank,
        )
        work = process_work(spans, main_thread["process_id"].first())  # type: ignore[arg-type]
        tiles_by_rank[rank] = _with_work(_tiles(main_thread, steps), work)
    return tiles_by_rank


def _with_work(tiles: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """Cut intervals where the work changes: start_ns, end_ns, step, phase, cause, what, work, op.

    Intervals are disjoint and sorted by start. `work` is None if the process does no work, or if
    the main thread's activity takes precedence over it.
    """
    cut = cut_rows(tiles, work)
    work_rows = cut["at"]
    cause = pl.col("cause").cast(pl.String)
    takes_work = cause.is_in(COMPUTES) & ~_IS_PROFILER
    kind_of_work = work["work"].gather(work_rows)
    with_calls = cut.drop("at").with_columns(
        work=pl.when(takes_work).then(kind_of_work),
        cause=cause,
        what=pl.col("what").cast(pl.String),
        op=work["op"].cast(pl.String).gather(work_rows),
        call=work["call"].cast(pl.String).gather(work_rows),
    )
    is_work = pl.col("work").is_not_null()
    # A pause between two ops counts towards the first op.
    is_pause = ~is_work & (pl.col("cause") == "launch")
    last_call = pl.col("call").forward_fill()
    call = pl.when(is_pause).then(last_call).otherwise("call")
    path = pl.concat_str(
        "what",
        call,
        separator=_WITHIN,
        ignore_nulls=True,
    )
    makes_calls = pl.col("work") == CALLS
    return with_calls.select(
        "start_ns",
        "end_ns",
        "step",
        "phase",
        "work",
        op=pl.when(is_work).then("op"),
        cause=pl.when(makes_calls).then(pl.lit("launch")).otherwise("cause"),
        what=pl.when(is_work | is_pause).then(path).otherwise("what"),
    )


def _main_thread_and_steps(trace: Trace, rank: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the main thread's activities of a rank's process, and its steps.

    The steps have the columns step, phase, start_ns and end_ns.
    """
    is_of_rank = pl.col("rank") == rank
    has_op_time = pl.col("op_ns").is_not_null()
    activities = activities_of(trace).filter(is_of_rank & has_op_time)
    steps = phases(trace).filter(is_of_rank).drop_nulls("step")
    return _main_thread(activities), steps.select("step", "phase", "start_ns", "end_ns")


def _places(tiles: pl.DataFrame) -> pl.DataFrame:
    """Sum idle time by cause and call path. The intervals must be sorted by start."""
    return tiles.group_by("cause", "what").agg(
        idle_ns=_LENGTH.sum(),
        n_gaps=pl.len().cast(pl.Int64),
        longest_ns=_LENGTH.max(),
        example_ns=pl.col("start_ns").get(_LENGTH.arg_max()),
    )


def _main_thread(activities: pl.DataFrame) -> pl.DataFrame:
    """Return the activities of one main thread sorted by start, and add end_ns.

    `activities` are of all main threads. The thread with the most time in activities is chosen.
    """
    key = ["process_id", "thread_id"]
    duration_ns = pl.col("duration_ns")
    times = activities.group_by(key).agg(duration_ns.sum())
    by_time = times.sort("duration_ns", *key, descending=[True, False, False])
    busiest = by_time.head(1).select(key)
    main_thread = activities.join(
        busiest,
        on=key,
        how="semi",
        maintain_order="left",
    )
    end_ns = pl.col("start_ns") + duration_ns
    return main_thread.sort("start_ns").with_columns(end_ns=end_ns)


def _tiles(main_thread: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Cut time into intervals of one step and activity: start_ns, end_ns, step, phase, cause, what.

    Intervals are disjoint and sorted by start. Without steps, all time is in the phase program.
    """
    whole = _whole_time(main_thread, steps)
    by_activity = cut_rows(whole, main_thread)
    activity_rows = by_activity["at"]
    cause = main_thread["cause"].gather(activity_rows)
    tiles = by_activity.drop("at").with_columns(
        cause=cause.fill_null("host"),
        what=main_thread["what"].gather(activity_rows),
    )
    has_length = pl.col("end_ns") > pl.col("start_ns")
    ordered = steps.filter(has_length).sort("start_ns")
    placed = cut_rows(tiles, ordered)
    step_rows = placed["at"]
    phase = ordered["phase"].gather(step_rows) if steps.height else pl.lit(PROGRAM)
    return placed.drop("at").with_columns(
        step=ordered["step"].gather(step_rows),
        phase=phase,
    )


def _whole_time(*frames: pl.DataFrame) -> pl.DataFrame:
    """Return one interval, from the first start of all frames to their last end."""
    edges = pl.concat([frame.select("start_ns", "end_ns") for frame in frames])
    whole = edges.select(pl.col("start_ns").min(), pl.col("end_ns").max())
    return whole.cast(pl.Int64)


def _sums(tiles: pl.DataFrame) -> pl.DataFrame:
    """Sum the intervals per step and in total, with the columns of TIME_BREAKDOWN.

    The columns rank and device_id, and the shares, are left out.
    """

    def spent(condition: pl.Expr) -> pl.Expr:
        return _LENGTH.filter(condition).sum()

    work = pl.col("work")
    compute_ns = spent(work == ARITHMETIC)
    copy_ns = spent(work == COPY)
    communication_ns = spent(work == COMMUNICATES)
    measures = {
        "window_ns": _LENGTH.sum(),
        "compute_ns": compute_ns,
        "copy_ns": copy_ns,
        "exposed_copy_ns": copy_ns,
        "communication_ns": communication_ns,
        "exposed_communication_ns": communication_ns,
        "idle_ns": spent(_IS_IDLE),
        "profiler_ns": spent(_IS_IDLE & _IS_PROFILER),
    }
    for cause in CAUSES:
        is_of_cause = pl.col("cause") == cause
        measures[f"idle_{cause}_ns"] = spent(_IS_IDLE & is_of_cause)
    phase = None if tiles["step"].count() else PROGRAM
    whole = tiles.select(
        step=pl.lit(None, pl.Int64),
        phase=pl.lit(phase, pl.String),
        **measures,
    )
    by_step = tiles.drop_nulls("step").group_by("step", "phase")
    of_steps = by_step.agg(**measures).sort("step")
    return pl.concat([whole, of_steps])
