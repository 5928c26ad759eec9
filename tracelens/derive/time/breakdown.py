"""Splitting each device's time into computing, communicating, copying and idle by cause, step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.ranks.collective_wait import waits_by_step
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.time.cpu_only import break_down_processes, process_idle, process_ranks
from tracelens.derive.time.host_time import call_rows, host_times
from tracelens.derive.time.host_tracks import CAUSE_OF_KIND, IDLE_KINDS
from tracelens.derive.time.idle import COPY, PLACES, UNIONS, Device, DeviceTimes, DeviceWork
from tracelens.derive.time.idle_fast import idle_of_devices, times_of_devices
from tracelens.derive.time.judged_parts import PROFILER_KIND, with_shares
from tracelens.derive.time.program_phases import phases
from tracelens.derive.time.step_table import steps_of
from tracelens.schemas.events import CAUSES
from tracelens.schemas.results.time import PROGRAM, TIME_BREAKDOWN
from tracelens.trace import Trace

_KEY = ["rank", "device_id", "step", "phase"]
_WORK = ("rank", "device_id", "start_ns", "duration_ns", "api_call_id")
_KERNEL_KIND = pl.col("is_communication").fill_null(value=False).cast(pl.UInt8)
"""The work's kind by column is_communication: COMMUNICATION, else COMPUTE."""
_WINDOWS = {
    "device": pl.Int64,
    "rank": pl.Int32,
    "device_id": pl.Int32,
    "step": pl.Int64,
    "phase": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "window": pl.Int64,
}
_OF_DEVICE: dict[str, type[pl.DataType]] = {
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
    "call": pl.Int64,
    "kind": pl.UInt8,
}
_CAUSE = pl.Series("cause", CAUSE_OF_KIND)
_LENGTH = pl.col("end_ns") - pl.col("start_ns")
_KIND = pl.Series("cause", IDLE_KINDS)
_INTERVALS = {
    "rank": pl.Int32,
    "device_id": pl.Int32,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "cause": pl.String,
    "what": pl.String,
}


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The breakdown of a trace; `frame` has the columns of TIME_BREAKDOWN.

    `idle` has idle_ns by rank, device_id, step, phase and cause, the profiler's own work apart from
    the cause host (PROFILER_KIND); `places` has what, idle_ns, n_gaps, longest_ns and example_ns by
    rank, device_id, cause and place, for the program.
    """

    frame: pl.DataFrame
    idle: pl.DataFrame
    places: pl.DataFrame


def break_down(trace: Trace) -> Breakdown:
    """Break the time of each rank and device down: one row per step and per phase, see `phases`.

    On a rank that marks steps one row more (step and phase None) is from the device's first to its
    last work. Lengths are of interval unions, so overlapping work counts once; exposed time is what
    no other work hides. Work counts in the step in whose time it runs. The definitions of compute
    and idle are those of HTA's temporal breakdown. Ranks without device work are broken down by
    `break_down_processes`. Computed once for a trace, as several analyses need it.
    """
    return trace.derived(_of_all_ranks)


def _of_all_ranks(trace: Trace) -> Breakdown:
    parts = [_break_down(trace)] if trace.has("kernels") else []
    if process_ranks(trace):
        parts.append(Breakdown(*break_down_processes(trace)))
    frames, idle, places = (
        [getattr(part, name) for part in parts] for name in ("frame", "idle", "places")
    )
    whole, every = pl.concat(frames).sort("rank", maintain_order=True), pl.concat(idle)
    frame = TIME_BREAKDOWN.conform(with_shares(trace, whole, every))
    return Breakdown(frame, every, pl.concat(places))


def put_together(trace: Trace, parts: Sequence[Breakdown]) -> None:
    """Keep what was found of each rank by itself, in the order of ranks, as the trace's own; only waiting is of all."""
    frames, idle, places = (
        pl.concat([getattr(part, name) for part in parts]) for name in ("frame", "idle", "places")
    )
    waits = _collective_wait(trace)
    frame = frames.drop("collective_wait_ns").join(
        waits, on=_KEY, how="left", nulls_equal=True, maintain_order="left"
    )
    trace.set_derived(_of_all_ranks, Breakdown(TIME_BREAKDOWN.conform(frame), idle, places))


def idle_intervals(trace: Trace) -> pl.DataFrame:
    """Return the program's idle time on each device, by start: rank, device_id, start_ns, end_ns, cause, what.

    Of the ranks that `process_ranks` names it is that of the process, and device_id is None.
    Lengths sum to the idle time of `break_down` in the phase program.
    """
    made = [pl.DataFrame(schema=_INTERVALS)]
    devices = _devices(trace) if trace.has("kernels") else {}
    idle = idle_of_devices(trace, devices) if devices else []
    for ((rank, device_id), device), pieces in zip(devices.items(), idle, strict=True):
        what = pl.Series("what", [*device.host.places, None], dtype=pl.String).gather(
            pieces["place"]
        )
        key = [pl.lit(rank, pl.Int32).alias("rank"), pl.lit(device_id, pl.Int32).alias("device_id")]
        made.append(pieces.select(*key, "start_ns", "end_ns", _CAUSE.gather(pieces["cause"]), what))
    for rank in process_ranks(trace):
        key = [pl.lit(rank, pl.Int32).alias("rank"), pl.lit(None, pl.Int32).alias("device_id")]
        made.append(process_idle(trace, rank).select(*key, pl.all()))
    return pl.concat(made)


def _break_down(trace: Trace) -> Breakdown:
    devices = _devices(trace)
    rows, sums, places = _of_devices(trace, devices, times_of_devices(trace, devices))
    ns = pl.col("idle_ns").sum()
    is_window = pl.col("phase").is_not_null()
    in_windows = sums.filter(is_window).group_by(*_KEY, "cause").agg(ns)
    marked = rows.filter(pl.col("phase").is_null()).select("rank", "device_id").unique()
    whole = sums.filter("within").group_by(*_KEY[:2], "cause").agg(ns)
    whole = whole.join(marked, on=_KEY[:2], how="semi").with_columns(
        step=pl.lit(None, pl.Int64), phase=pl.lit(None, pl.String)
    )
    idle = pl.concat([in_windows, whole.select(in_windows.columns)])
    by_cause = idle.pivot("cause", index=_KEY, values="idle_ns")
    frame = rows.join(by_cause, on=_KEY, how="left", nulls_equal=True)
    kinds = {
        kind: pl.col(kind).fill_null(0) if kind in frame.columns else pl.lit(0, pl.Int64)
        for kind in IDLE_KINDS
    }
    kinds["host"] += kinds[PROFILER_KIND]
    frame = frame.with_columns(
        *(kinds[cause].alias(f"idle_{cause}_ns") for cause in CAUSES),
        profiler_ns=kinds[PROFILER_KIND],
    )
    frame = frame.join(_collective_wait(trace), on=_KEY, how="left", nulls_equal=True).with_columns(
        exposed_communication_ns=pl.col("kernels_ns") - pl.col("compute_ns"),
        exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns"),
        idle_ns=pl.col("window_ns") - pl.col("all_ns"),
    )
    order = ["rank", "device_id", "step", pl.col("phase").is_not_null(), "start_ns"]
    frame = TIME_BREAKDOWN.conform(frame.sort(order, nulls_last=False))
    return Breakdown(frame, in_windows, places)


def _devices(trace: Trace) -> dict[Device, DeviceWork]:
    """Return each device's work and windows, by rank and device."""
    kernels = trace.select("kernels", *_WORK, "is_communication").with_columns(kind=_KERNEL_KIND)
    others = pl.concat([trace.select(name, *_WORK) for name in ("memcpys", "memsets")])
    both = kernels, others.with_columns(kind=pl.lit(COPY, pl.UInt8))
    hosts = host_times(trace, {rank for part in both for rank in part["rank"].unique()})
    parts = [
        _by_device(
            part.select(
                *_WORK[:-1], "kind", call=call_rows(hosts, part.select("rank", "api_call_id"))
            )
        )
        for part in both
    ]
    windows = phases(trace).filter(pl.col("end_ns") > pl.col("start_ns"))
    windows = windows.with_columns(counted=pl.col("phase") == PROGRAM)
    of_rank = dict(by_value(windows, "rank"))
    nothing = pl.DataFrame(schema=_OF_DEVICE)
    return {
        key: DeviceWork(
            hosts[key[0]],
            (parts[0].get(key, nothing), parts[1].get(key, nothing)),
            of_rank.get(key[0], windows.clear()),
        )
        for key in sorted({key for part in parts for key in part})
    }


def _by_device(work: pl.DataFrame) -> dict[Device, pl.DataFrame]:
    """The work of each device by start, by rank and device."""
    order = ["rank", "device_id", "start_ns"]
    same, grows = pl.lit(value=True), pl.lit(value=False)
    for name in order:
        before = pl.col(name).shift(1)
        same, grows = same & (pl.col(name) == before), grows | (same & (pl.col(name) > before))
    if not work.select((same | grows).all()).item():
        work = work.sort(order, maintain_order=True)
    found, at, own = {}, 0, work.select(*_OF_DEVICE)
    for rank, device, n in work.group_by(order[:2], maintain_order=True).len().iter_rows():
        found[rank, device] = own.slice(at, n)
        at += n
    return found


def _of_devices(
    trace: Trace, devices: Mapping[Device, DeviceWork], found: DeviceTimes
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the measures of each device's windows, and idle time and places as in a Breakdown.

    Idle time is by `within`, too, as the windows do not cover all of it.
    """
    numbers = pl.DataFrame(
        [(at, *key) for at, key in enumerate(devices)],
        schema={name: _WINDOWS[name] for name in ("device", "rank", "device_id")},
        orient="row",
    )
    # Steps without a length are no windows.
    has_length = pl.col("end_ns") > pl.col("start_ns")
    number = pl.when(has_length).then(has_length.cum_sum().over("rank").cast(pl.Int64) - 1)
    each = phases(trace).with_columns(window=number)
    each = numbers.join(each, on="rank").select(*_WINDOWS)
    windows = pl.concat([_whole(trace, devices, found.ends), each])
    measures = windows.join(found.busy, on=["device", "window"], how="left").sort("end_ns")
    # The last communication kernel that starts in each window.
    calls = trace.select(
        "kernels", "rank", "device_id", "start_ns", "duration_ns", "is_communication"
    )
    calls = calls.filter("is_communication").sort("start_ns", "duration_ns")
    calls = calls.select(*_KEY[:2], begun="start_ns", last_collective_ns="duration_ns")
    measures = measures.join_asof(
        calls,
        left_on="end_ns",
        right_on="begun",
        by=_KEY[:2],
        allow_exact_matches=False,
        check_sortedness=False,
    ).select(
        *_KEY,
        "start_ns",
        pl.col(*UNIONS).fill_null(0),
        pl.when(pl.col("begun") >= pl.col("start_ns"))
        .then("last_collective_ns")
        .alias("last_collective_ns"),
        window_ns=pl.col("end_ns") - pl.col("start_ns"),
    )
    known = each.drop_nulls("window").select("device", "window", "step", "phase")
    idle = found.idle.join(known, on=["device", "window"], how="left").join(numbers, on="device")
    idle = idle.select(*_KEY, _KIND.gather(idle["cause"]), "within", "idle_ns")
    what = [[*device.host.places, None] for device in devices.values()]
    firsts = numbers.with_columns(first=pl.Series([0, *accumulate(map(len, what))]).head(len(what)))
    places = found.places.join(firsts, on="device").with_columns(pl.col("first") + pl.col("place"))
    texts = pl.Series("what", [text for own in what for text in own], dtype=pl.String).gather(
        places["first"]
    )
    return (
        measures,
        idle,
        places.select(_CAUSE.gather(places["cause"]), texts, *PLACES[2:], *_KEY[:2]),
    )


def _whole(trace: Trace, devices: Mapping[Device, DeviceWork], ends: Sequence[int]) -> pl.DataFrame:
    """Return the windows from the first to the last work of each device whose rank marks steps."""
    marked = {*steps_of(trace)["rank"].unique()}
    rows = []
    for number, ((key, device), end_ns) in enumerate(zip(devices.items(), ends, strict=True)):
        start_ns = min(part["start_ns"][0] for part in device.work if part.height)
        if key[0] in marked:
            rows.append((number, *key, None, None, start_ns, end_ns, device.windows.height))
    return pl.DataFrame(rows, schema=_WINDOWS, orient="row")


def _collective_wait(trace: Trace) -> pl.DataFrame:
    """Return each rank's exposed waiting for others in each row, on the device that it communicates on."""
    calls = match_collectives(trace).calls
    if not calls.height:
        schema = {name: _WINDOWS[name] for name in _KEY} | {"collective_wait_ns": pl.Int64}
        return pl.DataFrame(schema=schema)
    devices = calls.group_by("rank").agg(pl.col("device_id").mode().min())
    windows = phases(trace).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    times = windows.select("rank", pl.col("row").alias("step"), "start_ns", duration_ns=_LENGTH)
    waits = waits_by_step(trace, times).rename({"step": "row"})
    waits = waits.join(windows, on=["rank", "row"], how="left").join(devices, on="rank")
    return waits.select(*_KEY, collective_wait_ns="exposed_ns")
