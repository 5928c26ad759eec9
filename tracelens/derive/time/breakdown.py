"""Split each device's time, step by step, into compute, communication, copies and idle by cause."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.time.cpu_only import break_down_processes, process_idle, process_ranks
from tracelens.derive.time.host_time import call_rows, host_times
from tracelens.derive.time.host_tracks import CAUSE_OF_KIND, IDLE_KINDS, PROFILER_KIND
from tracelens.derive.time.idle import COPY, PLACES, UNIONS, Device, DeviceWork
from tracelens.derive.time.idle_sums import idle_of_devices, times_of_devices
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
_IDLE = {
    "rank": pl.Int32,
    "device_id": pl.Int32,
    "cause": pl.String,
    "what": pl.String,
    **dict.fromkeys(("idle_ns", "n_gaps", "longest_ns", "example_ns"), pl.Int64),
}
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
    """The time of some ranks, each by itself: what the time model is put together from.

    `windows` has the columns of TIME_BREAKDOWN but the shares and collective_wait_ns. `idle` has
    idle_ns, n_gaps, longest_ns and example_ns by rank, device_id, cause and place (what), for the
    program. Both can be pickled.
    """

    windows: pl.DataFrame
    idle: pl.DataFrame


def break_down(
    trace: Trace, steps: pl.DataFrame, activities: pl.DataFrame, phases: pl.DataFrame
) -> Breakdown:
    """Break the time of each rank and device down: one row per step and per phase.

    On a rank that marks steps one row more (step and phase None) is from the device's first to its
    last work. Lengths are of interval unions, so overlapping work counts once; exposed time is what
    no other work hides. Work counts in the step in whose time it runs. The definitions of compute
    and idle are those of HTA's temporal breakdown. Ranks without device work are broken down by
    `break_down_processes`.
    """
    parts = [(TIME_BREAKDOWN.empty(), pl.DataFrame(schema=_IDLE))]
    if trace.has("kernels"):
        parts.append(_break_down_devices(trace, steps, activities, phases))
    if process_ranks(trace):
        parts.append(break_down_processes(trace))
    windows, idle = zip(*parts, strict=True)
    return Breakdown(pl.concat(windows).sort("rank", maintain_order=True), pl.concat(idle))


def idle_intervals(trace: Trace, activities: pl.DataFrame, phases: pl.DataFrame) -> pl.DataFrame:
    """List the program's idle time on each device by start, stretch by stretch.

    Columns are rank, device_id, start_ns, end_ns, cause and what. Of the ranks that `process_ranks`
    names it is that of the process, and device_id is None. Lengths sum to the idle time of
    `break_down` in the phase program.
    """
    parts = [pl.DataFrame(schema=_INTERVALS)]
    devices = _devices(trace, activities, phases) if trace.has("kernels") else {}
    idle = idle_of_devices(trace, devices) if devices else []
    for ((rank, device_id), device), pieces in zip(devices.items(), idle, strict=True):
        what = pl.Series("what", [*device.host.places, None], dtype=pl.String).gather(
            pieces["place"]
        )
        key = [pl.lit(rank, pl.Int32).alias("rank"), pl.lit(device_id, pl.Int32).alias("device_id")]
        parts.append(
            pieces.select(*key, "start_ns", "end_ns", _CAUSE.gather(pieces["cause"]), what)
        )
    for rank in process_ranks(trace):
        key = [pl.lit(rank, pl.Int32).alias("rank"), pl.lit(None, pl.Int32).alias("device_id")]
        parts.append(process_idle(trace, rank).select(*key, pl.all()))
    return pl.concat(parts)


def _break_down_devices(
    trace: Trace, steps: pl.DataFrame, activities: pl.DataFrame, phases: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `windows` and `idle` as in a Breakdown, of all devices."""
    devices = _devices(trace, activities, phases)
    times = times_of_devices(trace, devices)
    windows = _number_windows(devices, phases)
    rows = _busy_times(trace, pl.concat([_whole(devices, steps, times.ends), windows]), times.busy)
    kinds = _idle_by_kind(times.idle, windows, rows)
    frame = rows.join(kinds, on=_KEY, how="left", nulls_equal=True).with_columns(
        pl.col(IDLE_KINDS).fill_null(0)
    )
    frame = frame.with_columns(pl.col("host") + pl.col(PROFILER_KIND)).with_columns(
        *(pl.col(cause).alias(f"idle_{cause}_ns") for cause in CAUSES),
        profiler_ns=PROFILER_KIND,
        exposed_communication_ns=pl.col("kernels_ns") - pl.col("compute_ns"),
        exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns"),
        idle_ns=pl.col("window_ns") - pl.col("all_ns"),
    )
    order = ["rank", "device_id", "step", pl.col("phase").is_not_null(), "start_ns"]
    frame = TIME_BREAKDOWN.conform(frame.sort(order, nulls_last=False))
    return frame, _idle_by_place(devices, times.places)


def _devices(
    trace: Trace, activities: pl.DataFrame, phases: pl.DataFrame
) -> dict[Device, DeviceWork]:
    """Return each device's work and windows, by rank and device."""
    kernels = trace.select("kernels", *_WORK, "is_communication").with_columns(kind=_KERNEL_KIND)
    others = pl.concat([trace.select(name, *_WORK) for name in ("memcpys", "memsets")])
    both = kernels, others.with_columns(kind=pl.lit(COPY, pl.UInt8))
    ranks = {rank for part in both for rank in part["rank"].unique()}
    hosts = host_times(trace, activities, ranks)
    parts = [
        _by_device(
            part.select(
                *_WORK[:-1], "kind", call=call_rows(hosts, part.select("rank", "api_call_id"))
            )
        )
        for part in both
    ]
    windows = phases.filter(pl.col("end_ns") > pl.col("start_ns"))
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
    """Return the work of each device by start, by rank and device."""
    order = ["rank", "device_id", "start_ns"]
    same, grows = pl.lit(value=True), pl.lit(value=False)
    for name in order:
        before = pl.col(name).shift(1)
        same, grows = same & (pl.col(name) == before), grows | (same & (pl.col(name) > before))
    if not work.select((same | grows).all()).item():
        work = work.sort(order, maintain_order=True)
    by_device, first, columns = {}, 0, work.select(*_OF_DEVICE)
    for rank, device, n in work.group_by(order[:2], maintain_order=True).len().iter_rows():
        by_device[rank, device] = columns.slice(first, n)
        first += n
    return by_device


def _number_devices(devices: Mapping[Device, DeviceWork]) -> pl.DataFrame:
    """Number the devices: device, rank, device_id."""
    return pl.DataFrame(
        [(number, *key) for number, key in enumerate(devices)],
        schema={name: _WINDOWS[name] for name in ("device", "rank", "device_id")},
        orient="row",
    )


def _number_windows(devices: Mapping[Device, DeviceWork], phases: pl.DataFrame) -> pl.DataFrame:
    """List the windows of each device with their numbers.

    A step without a length is no window: its number is None.
    """
    has_length = pl.col("end_ns") > pl.col("start_ns")
    number = pl.when(has_length).then(has_length.cum_sum().over("rank").cast(pl.Int64) - 1)
    numbered = phases.with_columns(window=number)
    return _number_devices(devices).join(numbered, on="rank").select(*_WINDOWS)


def _whole(
    devices: Mapping[Device, DeviceWork], steps: pl.DataFrame, ends: Sequence[int]
) -> pl.DataFrame:
    """Return the windows from the first to the last work of each device whose rank marks steps."""
    marked = {*steps["rank"].unique()}
    rows = []
    for number, ((key, device), end_ns) in enumerate(zip(devices.items(), ends, strict=True)):
        start_ns = min(part["start_ns"][0] for part in device.work if part.height)
        if key[0] in marked:
            rows.append((number, *key, None, None, start_ns, end_ns, device.windows.height))
    return pl.DataFrame(rows, schema=_WINDOWS, orient="row")


def _busy_times(trace: Trace, windows: pl.DataFrame, busy: pl.DataFrame) -> pl.DataFrame:
    """Return the lengths of UNIONS in each window, with window_ns and last_collective_ns."""
    measures = windows.join(busy, on=["device", "window"], how="left").sort("end_ns")
    # The last communication kernel that starts in each window.
    columns = ("rank", "device_id", "start_ns", "duration_ns", "is_communication")
    kernels = trace.select("kernels", *columns).filter("is_communication")
    kernels = kernels.sort("start_ns", "duration_ns")
    kernels = kernels.select(*_KEY[:2], begun="start_ns", last_collective_ns="duration_ns")
    measures = measures.join_asof(
        kernels,
        left_on="end_ns",
        right_on="begun",
        by=_KEY[:2],
        allow_exact_matches=False,
        check_sortedness=False,
    )
    is_inside = pl.col("begun") >= pl.col("start_ns")
    return measures.select(
        *_KEY,
        "start_ns",
        pl.col(*UNIONS).fill_null(0),
        pl.when(is_inside).then("last_collective_ns").alias("last_collective_ns"),
        window_ns=_LENGTH,
    )


def _idle_by_kind(idle: pl.DataFrame, windows: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Sum idle time by kind: the columns of _KEY and one per kind of IDLE_KINDS.

    `idle` is that of DeviceTimes. The rows from a device's first to its last work (phase None) hold
    what lies within all work, whether or not a window covers it.
    """
    known = windows.drop_nulls("window").select("device", "window", "step", "phase")
    devices = windows.select("device", "rank", "device_id").unique()
    sums = idle.join(known, on=["device", "window"], how="left").join(devices, on="device")
    in_windows = sums.drop_nulls("phase")
    marked = rows.filter(pl.col("phase").is_null()).select(_KEY[:2])
    within = sums.filter("within").join(marked, on=_KEY[:2], how="semi")
    within = within.with_columns(step=pl.lit(None, pl.Int64), phase=pl.lit(None, pl.String))
    both = pl.concat([in_windows, within.select(in_windows.columns)])
    ns = pl.col("idle_ns")
    return both.group_by(_KEY).agg(
        ns.filter(pl.col("cause") == code).sum().alias(kind) for code, kind in enumerate(IDLE_KINDS)
    )


def _idle_by_place(devices: Mapping[Device, DeviceWork], places: pl.DataFrame) -> pl.DataFrame:
    """Name the causes and places of idle time; `places` is that of DeviceTimes."""
    names = [[*device.host.places, None] for device in devices.values()]
    first_name = pl.Series("first", [0, *accumulate(map(len, names))]).head(len(names))
    numbers = _number_devices(devices).with_columns(first_name)
    placed = places.join(numbers, on="device").with_columns(pl.col("first") + pl.col("place"))
    every_name = pl.Series(
        "what", [name for names_of_device in names for name in names_of_device], dtype=pl.String
    )
    what = every_name.gather(placed["first"])
    return placed.select(_CAUSE.gather(placed["cause"]), what, *PLACES[2:], *_KEY[:2]).select(
        *_IDLE
    )
