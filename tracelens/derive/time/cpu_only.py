"""Time of a process without a device: computing in ops, or something else for a cause."""

import polars as pl

from tracelens.derive.columns.intervals import END, covered_by, union
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.columns.split_intervals import cut_rows, overlay
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.cpu_busy import (
    COMMUNICATION,
    COMPUTES,
    communication_spans,
    outermost_ops,
)
from tracelens.derive.time.judged_parts import PROFILER_KIND
from tracelens.derive.time.op_times import op_times
from tracelens.derive.time.program_phases import phases
from tracelens.derive.time.step_table import activities_of
from tracelens.errors import MissingTableError
from tracelens.schemas.events import CAUSES
from tracelens.schemas.results.time import PROGRAM, TIME_BREAKDOWN
from tracelens.trace import Trace

_LENGTH = pl.col("end_ns") - pl.col("start_ns")
_IDLE = _LENGTH - pl.col("op_ns") - pl.col("communication_ns")
_IS_PROFILER = pl.col("what").cast(pl.String).eq_missing(pl.lit(PROFILER))


def process_ranks(trace: Trace) -> list[int]:
    """The ranks that run ops, but no kernel and no call that launches one: their process's time is judged."""
    known = activities_of(trace).filter(pl.col("op_ns").is_not_null())["rank"].unique().sort()
    with_kernels = trace.heights("kernels") if trace.has("kernels") else {}
    return [rank for rank in known.to_list() if not with_kernels.get(rank)]


def require_time(trace: Trace, analysis: str) -> None:
    """Raise MissingTableError where the trace has neither kernels nor a process that runs ops."""
    if not trace.has("kernels") and not process_ranks(trace):
        raise MissingTableError(
            f"{analysis} needs the table kernels, or spans of ops in a trace that launches nothing;"
            " tracelens collect torch or nsys gives them"
        )


def process_sentences(trace: Trace) -> list[str]:
    """A sentence on what rows without a device mean, if there are any."""
    ranks = process_ranks(trace)
    if not ranks:
        return []
    which = (
        f" of rank {', '.join(map(str, ranks))}" if len(ranks) < len(trace.manifest.ranks) else ""
    )
    said = (
        f"Nothing was recorded on a device, so this is the time{which} of the process: it computes"
        " while any of its "
    )
    return [said + "threads runs an op, and launch is the framework's Python between ops."]


def unseen_device(trace: Trace) -> list[str]:
    """A warning that a device may have worked unseen, where the machine of a rank without device work has one."""
    devices = trace.frame("devices").filter(pl.col("rank").is_in(process_ranks(trace)))
    return [
        f"The machine has a device ({name}), and none of its work was recorded: if the program used"
        " it, ops launched or waited rather than computed. Profile with ProfilerActivity.CUDA to"
        " see it."
        for name in devices["name"].unique().sort().head(1)
    ]


def count_ops(trace: Trace) -> dict[int, int]:
    """The number of ops on each rank whose process's time is judged."""
    return {rank: int(ops["n_calls"].sum()) for rank, ops in trace.derived(_ops).items()}


def heaviest_ops(trace: Trace) -> dict[int, str]:
    """The op with most self time on each rank whose process's time is judged."""
    communicates = pl.col("name").cast(pl.String).str.contains(COMMUNICATION)
    ordered = {
        rank: ops.filter(~communicates).sort("cpu_self_ns", "name", descending=[True, False])
        for rank, ops in trace.derived(_ops).items()
    }
    return {rank: str(ops["name"][0]) for rank, ops in ordered.items() if ops.height}


def longest_communication(trace: Trace) -> dict[int, str]:
    """The name of the communication that takes most time on each rank whose process's time is judged."""
    columns = ("rank", "kind", "name", "duration_ns")
    ranks = process_ranks(trace)
    spans = trace.select("spans", *columns).filter(pl.col("rank").is_in(ranks))
    (communicates,) = matching(spans["name"], COMMUNICATION)
    sums = spans.filter(communicates).group_by("rank", "name").agg(pl.col("duration_ns").sum())
    most = sums.sort("duration_ns", "name", descending=[True, False]).unique(
        "rank", keep="first", maintain_order=True
    )
    return {rank: str(name) for rank, name in most.select("rank", "name").iter_rows()}


def _ops(trace: Trace) -> dict[int, pl.DataFrame]:
    """Return `op_times` by rank, of the ranks whose process's time is judged."""
    ranks = process_ranks(trace)
    by_rank = {int(ops["rank"][0]): ops for ops in op_times(trace)} if ranks else {}
    return {rank: by_rank[rank] for rank in ranks}


def break_down_processes(trace: Trace) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """For the `process_ranks`: rows of TIME_BREAKDOWN with device_id null, and `idle` and `places` as in a Breakdown.

    A process computes while any of its threads runs an op and its main thread does not load data,
    compile, allocate or wait for a device. Else it communicates while any of its threads does. The
    rest of the time has the cause of what the main thread does.
    """
    made = []
    for rank in process_ranks(trace):
        lane, own = _lane_and_steps(trace, rank)
        tiles = _with_communication(_tiles(lane, own), _work_of(trace, rank, lane))
        idle = tiles.with_columns(idle_ns=_IDLE).filter(pl.col("idle_ns") > 0)
        places = _places(idle.filter(pl.col("phase") == PROGRAM))
        kind = pl.when(_IS_PROFILER).then(pl.lit(PROFILER_KIND)).otherwise("cause")
        by_cause = idle.drop_nulls("phase").group_by("step", "phase", kind.alias("cause"))
        idle = by_cause.agg(pl.col("idle_ns").sum())
        key = [pl.lit(rank, pl.Int32).alias("rank"), pl.lit(None, pl.Int32).alias("device_id")]
        made.append([part.with_columns(key) for part in (_sums(tiles), idle, places)])
    frame, idle, places = (pl.concat(parts) for parts in zip(*made, strict=True))
    order = ["rank", "device_id", "step", "phase", "cause", "idle_ns"]
    return TIME_BREAKDOWN.conform(frame), idle.select(order), places


def process_idle(trace: Trace, rank: int) -> pl.DataFrame:
    """Return the program's time in which a process of `process_ranks` does not compute, by start.

    The columns are start_ns, end_ns, cause and what; the length is the idle time of
    `break_down_processes` in the phase program.
    """
    lane, own = _lane_and_steps(trace, rank)
    pieces = cut_rows(
        _tiles(lane, own), union(pl.concat(_work_of(trace, rank, lane)).sort("start_ns"))
    )
    cause = pl.col("cause").cast(pl.String)
    pieces = pieces.filter(pl.col("at").is_null() | ~cause.is_in(COMPUTES))
    pieces = pieces.filter(pl.col("phase") == PROGRAM)
    return pieces.select("start_ns", "end_ns", cause, pl.col("what").cast(pl.String))


def _work_of(trace: Trace, rank: int, lane: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """When a process runs ops, and when it communicates: start_ns and end_ns, disjoint and by start."""
    columns = ("kind", "name", "parent_id", "process_id", "start_ns", "duration_ns")
    spans = trace.select("spans", *columns, rank=rank)
    is_own = pl.col("process_id") == lane["process_id"].first()
    computing, communicating = (
        union(part.filter(is_own).select("start_ns", end_ns=END).sort("start_ns"))
        for part in (outermost_ops(spans), communication_spans(spans))
    )
    return computing, communicating


def _with_communication(
    tiles: pl.DataFrame, work: tuple[pl.DataFrame, pl.DataFrame]
) -> pl.DataFrame:
    """The tiles with communication_ns: communication while nothing computes, and the main thread does nothing else."""
    layers = [part.select("start_ns", "end_ns") for part in work]
    alone = overlay(layers).filter(pl.col("layer") == 1).select("start_ns", "end_ns")
    counts = pl.col("cause").cast(pl.String).is_in(COMPUTES)
    return tiles.with_columns(covered_by(alone, tiles).alias("communication_ns")).with_columns(
        communication_ns=pl.when(counts)
        .then(pl.col("communication_ns").clip(0, _LENGTH - pl.col("op_ns")))
        .otherwise(0)
    )


def _lane_and_steps(trace: Trace, rank: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the main thread's activities of a rank's process, and its steps: step, phase, start_ns, end_ns."""
    activities = activities_of(trace).filter(
        (pl.col("rank") == rank) & pl.col("op_ns").is_not_null()
    )
    steps = phases(trace).filter(pl.col("rank") == rank).drop_nulls("step")
    return _main_lane(activities), steps.select("step", "phase", "start_ns", "end_ns")


def _places(tiles: pl.DataFrame) -> pl.DataFrame:
    """The idle time of tiles, which are by start, by cause and place."""
    ns = pl.col("idle_ns")
    return tiles.group_by("cause", "what").agg(
        ns.sum(),
        n_gaps=pl.len().cast(pl.Int64),
        longest_ns=ns.max(),
        example_ns=pl.col("start_ns").get(ns.arg_max()),
    )


def _main_lane(lanes: pl.DataFrame) -> pl.DataFrame:
    """The activities, by start with end_ns, of the process's main thread with most known time."""
    key = ["process_id", "thread_id"]
    known = lanes.group_by(key).agg(pl.col("duration_ns").sum())
    most = known.sort("duration_ns", *key, descending=[True, False, False]).head(1)
    lane = lanes.join(most.select(key), on=key, how="semi", maintain_order="left")
    return lane.sort("start_ns").with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns"))


def _tiles(lane: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Cut all time of steps and main thread into tiles, by start: times, step, phase, cause, what, op_ns.

    Without steps, everything is in the phase program.
    """
    low, high = (
        min(frame["start_ns"].min() for frame in (lane, steps) if frame.height),  # type: ignore[type-var]
        max(frame["end_ns"].max() for frame in (lane, steps) if frame.height),  # type: ignore[type-var]
    )
    whole = pl.DataFrame(
        {"start_ns": [low], "end_ns": [high]}, schema={"start_ns": pl.Int64, "end_ns": pl.Int64}
    )
    by_activity = cut_rows(whole, lane)
    at = by_activity["at"]
    tiles = by_activity.drop("at").with_columns(
        lane["cause"].gather(at).fill_null("host"),
        lane["what"].gather(at),
        lane["op_ns"].gather(at).fill_null(0),
        begins=pl.col("start_ns"),
    )
    ordered = steps.filter(pl.col("end_ns") > pl.col("start_ns")).sort("start_ns")
    placed = cut_rows(tiles, ordered)
    # Activities are cut where steps begin and end. Where a step cuts one all the same, its ops
    # count first.
    own = pl.col("op_ns") - (pl.col("start_ns") - pl.col("begins"))
    phase = ordered["phase"].gather(placed["at"])
    return placed.with_columns(
        step=ordered["step"].gather(placed["at"]),
        phase=phase if steps.height else pl.lit(PROGRAM),
        op_ns=own.clip(0, pl.col("end_ns") - pl.col("start_ns")),
    ).drop("at", "begins")


def _sums(tiles: pl.DataFrame) -> pl.DataFrame:
    """Add up each step and all, with the columns of TIME_BREAKDOWN without the rank and the shares."""
    idle = _IDLE
    measures = [
        _LENGTH.sum().alias("window_ns"),
        pl.col("op_ns").sum().alias("compute_ns"),
        pl.col("communication_ns").sum(),
        pl.col("communication_ns").sum().alias("exposed_communication_ns"),
        idle.sum().alias("idle_ns"),
        idle.filter(_IS_PROFILER).sum().alias("profiler_ns"),
        *(
            idle.filter(pl.col("cause") == cause).sum().alias(f"idle_{cause}_ns")
            for cause in CAUSES
        ),
    ]
    phase = pl.lit(None if tiles["step"].count() else PROGRAM, pl.String).alias("phase")
    whole = tiles.select(pl.lit(None, pl.Int64).alias("step"), phase, *measures)
    of_steps = tiles.drop_nulls("step").group_by("step", "phase").agg(measures).sort("step")
    return pl.concat([whole, of_steps]).with_columns(
        pl.lit(0, pl.Int64).alias(f"{name}_ns") for name in ("copy", "exposed_copy")
    )
