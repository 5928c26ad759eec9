"""Splitting each device's time into computing, communicating, copying and idle by cause, step by step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.columns.ratios import over
from tracelens.derive.ranks.matching import match_collectives
from tracelens.derive.ranks.waiting import WAITS, waits_by_step
from tracelens.derive.time.completing import activities_of, steps_of
from tracelens.derive.time.host_time import host_times
from tracelens.derive.time.idle import COMMUNICATION, COPY, PLACES, UNIONS, DeviceWork
from tracelens.derive.time.idle_fast import idle_of_device, time_of_device
from tracelens.derive.time.process_time import break_down_processes, process_idle, process_ranks
from tracelens.schemas.events import CAUSES
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace

_KEY = ["rank", "device_id", "step"]
_WORK = ("rank", "device_id", "start_ns", "duration_ns", "api_call_id")
_KERNEL_KIND = pl.col("is_communication").fill_null(value=False).cast(pl.UInt8)
"""The work's kind by column is_communication: COMMUNICATION, else COMPUTE."""
_TIMES = {"step": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}
_CAUSE = pl.Series("cause", CAUSES)
_INTERVALS = {
    "rank": pl.Int32, "device_id": pl.Int32, "start_ns": pl.Int64, "end_ns": pl.Int64, "cause": pl.String,
    "what": pl.String,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The breakdown of a trace; `frame` has the columns of TIME_BREAKDOWN.

    `idle` has idle_ns by rank, device_id, step, cause and whether it lies `within` the device's work; `places` has
    what, idle_ns, n_gaps, longest_ns and example_ns by rank, device_id, cause and place, for the steps where the rank
    marks any.
    """

    frame: pl.DataFrame
    idle: pl.DataFrame
    places: pl.DataFrame


_made: WeakKeyDictionary[Trace, Breakdown] = WeakKeyDictionary()


def break_down(trace: Trace) -> Breakdown:
    """A row for each rank, device and step, and one (step null) from a device's first to its last work.

    Lengths are of interval unions, so overlapping work counts once; exposed time is what no other work hides. Work
    counts in the step in whose time it runs. The definitions of compute and idle are those of HTA's temporal breakdown.
    Ranks without device work are broken down by `break_down_processes`. The result is cached, as several analyses need
    it.
    """
    if trace not in _made:
        made = [_break_down(trace)] if trace.has("kernels") else []
        if process_ranks(trace):
            made.append(Breakdown(*break_down_processes(trace)))
        frames, idle, places = ([getattr(one, name) for one in made] for name in ("frame", "idle", "places"))
        frame = pl.concat(frames).sort("rank", maintain_order=True)
        _made[trace] = Breakdown(frame, pl.concat(idle), pl.concat(places))
    return _made[trace]


def put_together(trace: Trace, parts: Sequence[Breakdown]) -> None:
    """Keep what was found of each rank by itself, in the order of ranks, as the trace's own; only waiting is of all."""
    frames, idle, places = (pl.concat([getattr(part, name) for part in parts]) for name in ("frame", "idle", "places"))
    waits = _collective_wait(trace)
    frame = frames.drop("collective_wait_ns").join(waits, on=_KEY, how="left", nulls_equal=True, maintain_order="left")
    _made[trace] = Breakdown(TIME_BREAKDOWN.conform(frame), idle, places)


def idle_intervals(trace: Trace) -> pl.DataFrame:
    """The idle time of each device, by start: rank, device_id, start_ns, end_ns, cause, what.

    Of the ranks that `process_ranks` names it is that of the process, and device_id is null. Lengths sum to the idle
    time of `break_down`: of the steps, or where a rank marks none, between its first and last work.
    """
    steps = steps_of(trace).select("rank", "step", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    made = [pl.DataFrame(schema=_INTERVALS)]
    devices = _devices(trace, steps, steps.clear()) if trace.has("kernels") else ()
    for (rank, device_id), device, _ in devices:
        pieces = idle_of_device(device)
        what = pl.Series("what", [*device.host.places, None], dtype=pl.String).gather(pieces["place"])
        key = [pl.lit(rank, pl.Int32).alias("rank"), pl.lit(device_id, pl.Int32).alias("device_id")]
        made.append(pieces.select(*key, "start_ns", "end_ns", _CAUSE.gather(pieces["cause"]), what))
    for rank in process_ranks(trace):
        key = [pl.lit(rank, pl.Int32).alias("rank"), pl.lit(None, pl.Int32).alias("device_id")]
        made.append(process_idle(trace, rank).select(*key, pl.all()))
    return pl.concat(made)


def _break_down(trace: Trace) -> Breakdown:
    steps = steps_of(trace).select("rank", "step", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    recorded = _recorded(trace, steps["rank"].unique())
    made = []
    for (rank, device_id), device, own in _devices(trace, steps, recorded):
        key = [pl.lit(rank, pl.Int32).alias("rank"), pl.lit(device_id, pl.Int32).alias("device_id")]
        made.append([part.with_columns(key) for part in _of_device(device, own)])
    rows, sums, places = (pl.concat(parts) for parts in zip(*made, strict=True))
    ns = pl.col("idle_ns").sum()
    in_steps = sums.drop_nulls("step").group_by(*_KEY, "cause").agg(ns)
    whole = sums.filter("within").group_by(*_KEY[:2], "cause").agg(ns)
    idle = pl.concat([in_steps, whole.with_columns(step=pl.lit(None, pl.Int64)).select(in_steps.columns)])
    by_cause = idle.pivot("cause", index=_KEY, values="idle_ns")
    by_cause = by_cause.rename({name: f"idle_{name}_ns" for name in by_cause.columns if name not in _KEY})
    names = [f"idle_{cause}_ns" for cause in CAUSES]
    frame = rows.join(by_cause, on=_KEY, how="left", nulls_equal=True)
    frame = frame.with_columns(
        (pl.col(name) if name in frame.columns else pl.lit(None, pl.Int64)).fill_null(0).alias(name) for name in names
    )
    frame = frame.join(_collective_wait(trace), on=_KEY, how="left", nulls_equal=True).with_columns(
        exposed_communication_ns=pl.col("kernels_ns") - pl.col("compute_ns"),
        exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns"),
        idle_ns=pl.col("window_ns") - pl.col("all_ns"),
    )
    shares = ["compute", "exposed_communication", "exposed_copy", "idle"]
    window = pl.col("window_ns")
    frame = frame.with_columns(over(pl.col(f"{name}_ns"), window).alias(f"{name}_frac") for name in shares)
    return Breakdown(TIME_BREAKDOWN.conform(frame.sort("rank", "device_id", "step", nulls_last=False)), sums, places)


def _devices(
    trace: Trace, steps: pl.DataFrame, recorded: pl.DataFrame
) -> Iterator[tuple[tuple[int, int], DeviceWork, pl.DataFrame]]:
    """For each device its rank and number, its work, and the rank's steps."""
    kernels = trace.select("kernels", *_WORK, "is_communication").with_columns(kind=_KERNEL_KIND)
    others = pl.concat([trace.select(name, *_WORK) for name in ("memcpys", "memsets")])
    parts = [_by_device(part) for part in (kernels, others.with_columns(kind=pl.lit(COPY, pl.UInt8)))]
    hosts = host_times(trace, sorted({rank for part in parts for rank, _ in part}))
    steps_by_rank, recorded_by_rank = (dict(by_value(part, "rank")) for part in (steps, recorded))
    for key in sorted({key for part in parts for key in part}):
        rank, host = key[0], hosts[key[0]]
        work = [part.get(key, kernels.clear()) for part in parts]
        with_calls = [
            part.select("start_ns", "duration_ns", "kind", call=host.rows(part["api_call_id"])) for part in work
        ]
        first, second = (
            part if part["start_ns"].is_sorted() else part.sort("start_ns", maintain_order=True) for part in with_calls
        )
        own = steps_by_rank.get(rank, steps.clear()).sort("start_ns", "end_ns")
        windows = own if own.height else recorded_by_rank.get(rank, recorded.clear())
        windows = windows.filter(pl.col("end_ns") > pl.col("start_ns"))
        yield key, DeviceWork(host, (first, second), windows, own.height > 0), own


def _by_device(work: pl.DataFrame) -> dict[tuple[int, int], pl.DataFrame]:
    """The work by rank and device."""
    return {
        (rank, device): own
        for rank, of_rank in by_value(work, "rank")
        for device, own in by_value(of_rank, "device_id")
    }


def _of_device(device: DeviceWork, steps: pl.DataFrame) -> tuple[pl.DataFrame, ...]:
    """The measures of all a device's work and of each step, and its idle time and places as in a Breakdown."""
    found = time_of_device(device)
    begin = min(int(part["start_ns"][0]) for part in device.work if part.height)
    whole = pl.DataFrame([(None, begin, found.end_ns)], schema=_TIMES, orient="row")
    each = pl.concat([whole, steps.select(*_TIMES)])
    # Steps without a length are no windows.
    rows = pl.concat([pl.Series([0]), (steps["end_ns"] > steps["start_ns"]).arg_true().cast(pl.Int64) + 1])
    busy = pl.concat([found.busy.tail(1), found.busy.head(len(rows) - 1)])
    measures = each.with_columns(
        window_ns=pl.col("end_ns") - pl.col("start_ns"),
        last_collective_ns=_last_collective(device.work[0], each),
        **{name: pl.zeros(each.height, pl.Int64, eager=True).scatter(rows, busy[name]) for name in UNIONS},
    ).drop("start_ns", "end_ns")
    step = device.windows["step"].cast(pl.Int64).extend_constant(None, 1)
    idle = found.idle.select(
        step.gather(found.idle["window"]).alias("step"), _CAUSE.gather(found.idle["cause"]), "within", "idle_ns"
    )
    what = pl.Series("what", [*device.host.places, None], dtype=pl.String).gather(found.places["place"])
    places = found.places.select(_CAUSE.gather(found.places["cause"]), what, *PLACES[2:])
    return measures, idle, places


def _recorded(trace: Trace, marked: pl.Series) -> pl.DataFrame:
    """For each rank without steps, the time for which its host's activities are known, as one window without a step."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    known = activities_of(trace).filter(~pl.col("rank").is_in(marked.implode())).group_by("rank")
    found = known.agg(start_ns=pl.col("start_ns").min(), end_ns=end.max())
    return found.select("rank", pl.lit(None, pl.Int64).alias("step"), "start_ns", "end_ns")


def _last_collective(kernels: pl.DataFrame, windows: pl.DataFrame) -> pl.Series:
    """The duration of the last communication kernel that starts in each window; null where none does."""
    own = kernels.filter(pl.col("kind") == COMMUNICATION).sort("start_ns", "duration_ns", maintain_order=True)
    after = own["start_ns"].search_sorted(windows["end_ns"], side="left").cast(pl.Int64)
    first = own["start_ns"].search_sorted(windows["start_ns"], side="left").cast(pl.Int64)
    return own["duration_ns"].gather((after - 1).set(after <= first, None))


def _collective_wait(trace: Trace) -> pl.DataFrame:
    """Each rank's exposed waiting for others by step, and in all (step null), on the device that it communicates on."""
    calls = match_collectives(trace).calls
    devices = calls.group_by("rank").agg(pl.col("device_id").mode().min())
    waits = waits_by_step(trace, steps_of(trace)) if calls.height else pl.DataFrame(schema=WAITS)
    return waits.join(devices, on="rank").select(*_KEY, collective_wait_ns="exposed_ns")
