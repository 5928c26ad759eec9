"""Splitting each device's time into computing, communicating, copying and idle by cause, step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.columns.ratios import over
from tracelens.derive.ranks.collective_wait import WAITS, waits_by_step
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.time.cpu_only import break_down_processes, process_idle, process_ranks
from tracelens.derive.time.host_time import call_rows, host_times
from tracelens.derive.time.idle import COPY, PLACES, UNIONS, Device, DeviceTimes, DeviceWork
from tracelens.derive.time.idle_fast import idle_of_devices, times_of_devices
from tracelens.derive.time.step_table import activities_of, steps_of
from tracelens.schemas.events import CAUSES
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace

_KEY = ["rank", "device_id", "step"]
_WORK = ("rank", "device_id", "start_ns", "duration_ns", "api_call_id")
_KERNEL_KIND = pl.col("is_communication").fill_null(value=False).cast(pl.UInt8)
"""The work's kind by column is_communication: COMMUNICATION, else COMPUTE."""
_WINDOWS = {
    "device": pl.Int64,
    "rank": pl.Int32,
    "device_id": pl.Int32,
    "step": pl.Int64,
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
_CAUSE = pl.Series("cause", CAUSES)
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

    `idle` has idle_ns by rank, device_id, step, cause and whether it lies `within` the device's
    work; `places` has what, idle_ns, n_gaps, longest_ns and example_ns by rank, device_id, cause
    and place, for the steps where the rank marks any.
    """

    frame: pl.DataFrame
    idle: pl.DataFrame
    places: pl.DataFrame


def break_down(trace: Trace) -> Breakdown:
    """A row for each rank, device and step, and one (step null) from a device's first to its last work.

    Lengths are of interval unions, so overlapping work counts once; exposed time is what no other
    work hides. Work counts in the step in whose time it runs. The definitions of compute and idle
    are those of HTA's temporal breakdown. Ranks without device work are broken down by
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
    frame = pl.concat(frames).sort("rank", maintain_order=True)
    return Breakdown(frame, pl.concat(idle), pl.concat(places))


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
    """The idle time of each device, by start: rank, device_id, start_ns, end_ns, cause, what.

    Of the ranks that `process_ranks` names it is that of the process, and device_id is null.
    Lengths sum to the idle time of `break_down`: of the steps, or where a rank marks none, between
    its first and last work.
    """
    steps = steps_of(trace).select(
        "rank", "step", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns")
    )
    made = [pl.DataFrame(schema=_INTERVALS)]
    devices = _devices(trace, steps, steps.clear()) if trace.has("kernels") else {}
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
    steps = steps_of(trace).select(
        "rank", "step", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns")
    )
    devices = _devices(trace, steps, _recorded(trace, steps["rank"].unique()))
    rows, sums, places = _of_devices(trace, devices, times_of_devices(trace, devices), steps)
    ns = pl.col("idle_ns").sum()
    in_steps = sums.drop_nulls("step").group_by(*_KEY, "cause").agg(ns)
    whole = sums.filter("within").group_by(*_KEY[:2], "cause").agg(ns)
    idle = pl.concat(
        [in_steps, whole.with_columns(step=pl.lit(None, pl.Int64)).select(in_steps.columns)]
    )
    by_cause = idle.pivot("cause", index=_KEY, values="idle_ns")
    by_cause = by_cause.rename(
        {name: f"idle_{name}_ns" for name in by_cause.columns if name not in _KEY}
    )
    names = [f"idle_{cause}_ns" for cause in CAUSES]
    frame = rows.join(by_cause, on=_KEY, how="left", nulls_equal=True)
    frame = frame.with_columns(
        (pl.col(name) if name in frame.columns else pl.lit(None, pl.Int64)).fill_null(0).alias(name)
        for name in names
    )
    frame = frame.join(_collective_wait(trace), on=_KEY, how="left", nulls_equal=True).with_columns(
        exposed_communication_ns=pl.col("kernels_ns") - pl.col("compute_ns"),
        exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns"),
        idle_ns=pl.col("window_ns") - pl.col("all_ns"),
    )
    shares = ["compute", "exposed_communication", "exposed_copy", "idle"]
    window = pl.col("window_ns")
    frame = frame.with_columns(
        over(pl.col(f"{name}_ns"), window).alias(f"{name}_frac") for name in shares
    )
    return Breakdown(
        TIME_BREAKDOWN.conform(frame.sort("rank", "device_id", "step", nulls_last=False)),
        sums,
        places,
    )


def _devices(trace: Trace, steps: pl.DataFrame, recorded: pl.DataFrame) -> dict[Device, DeviceWork]:
    """Each device's work, by rank and device."""
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
    windows = pl.concat([steps, recorded]).filter(pl.col("end_ns") > pl.col("start_ns"))
    windows = windows.sort("rank", "start_ns", "end_ns")
    of_rank, marked = dict(by_value(windows, "rank")), {*steps["rank"].unique()}
    nothing = pl.DataFrame(schema=_OF_DEVICE)
    return {
        key: DeviceWork(
            hosts[key[0]],
            (parts[0].get(key, nothing), parts[1].get(key, nothing)),
            of_rank.get(key[0], windows.clear()),
            key[0] in marked,
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
    trace: Trace, devices: Mapping[Device, DeviceWork], found: DeviceTimes, steps: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The measures of all work of each device and of each step, and idle time and places as in a Breakdown."""
    whole = pl.DataFrame(
        [
            (
                at,
                *key,
                None,
                min(part["start_ns"][0] for part in one.work if part.height),
                end_ns,
                one.windows.height,
            )
            for at, ((key, one), end_ns) in enumerate(zip(devices.items(), found.ends, strict=True))
        ],
        schema=_WINDOWS,
        orient="row",
    )
    # Steps without a length are no windows.
    has_length = pl.col("end_ns") > pl.col("start_ns")
    number = pl.when(has_length).then(has_length.cum_sum().over("rank").cast(pl.Int64) - 1)
    each = steps.sort("rank", "start_ns", "end_ns").with_columns(
        pl.col("step").cast(pl.Int64), window=number
    )
    each = whole.select("device", *_KEY[:2]).join(each, on="rank").select(whole.columns)
    windows = pl.concat([whole, each])
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
        pl.col(*UNIONS).fill_null(0),
        pl.when(pl.col("begun") >= pl.col("start_ns"))
        .then("last_collective_ns")
        .alias("last_collective_ns"),
        window_ns=pl.col("end_ns") - pl.col("start_ns"),
    )
    steps_of_windows = each.drop_nulls("window").select("device", "window", "step")
    keys = whole.select("device", *_KEY[:2])
    idle = found.idle.join(steps_of_windows, on=["device", "window"], how="left").join(
        keys, on="device"
    )
    idle = idle.select("step", _CAUSE.gather(idle["cause"]), "within", "idle_ns", *_KEY[:2])
    what = [[*device.host.places, None] for device in devices.values()]
    firsts = keys.with_columns(first=pl.Series([0, *accumulate(map(len, what))]).head(len(what)))
    places = found.places.join(firsts, on="device").with_columns(pl.col("first") + pl.col("place"))
    texts = pl.Series("what", [text for own in what for text in own], dtype=pl.String).gather(
        places["first"]
    )
    return (
        measures,
        idle,
        places.select(_CAUSE.gather(places["cause"]), texts, *PLACES[2:], *_KEY[:2]),
    )


def _recorded(trace: Trace, marked: pl.Series) -> pl.DataFrame:
    """For each rank without steps, the time for which its host's activities are known, as one window without a step."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    known = activities_of(trace).filter(~pl.col("rank").is_in(marked.implode())).group_by("rank")
    found = known.agg(start_ns=pl.col("start_ns").min(), end_ns=end.max())
    return found.select("rank", pl.lit(None, pl.Int64).alias("step"), "start_ns", "end_ns")


def _collective_wait(trace: Trace) -> pl.DataFrame:
    """Each rank's exposed waiting for others by step, and in all (step null), on the device that it communicates on."""
    calls = match_collectives(trace).calls
    devices = calls.group_by("rank").agg(pl.col("device_id").mode().min())
    waits = waits_by_step(trace, steps_of(trace)) if calls.height else pl.DataFrame(schema=WAITS)
    return waits.join(devices, on="rank").select(*_KEY, collective_wait_ns="exposed_ns")
