"""Split each device's time, step by step, into compute, communication, copies and idle by cause."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import polars as pl
from msgspec import Struct

from tracelens.derive.time.cpu_only import process_idle
from tracelens.derive.time.device_work import UNIONS, Device, DeviceWork
from tracelens.derive.time.host_tracks import CAUSE_OF_KIND, IDLE_KINDS, PROFILER_KIND
from tracelens.derive.time.idle import PLACES
from tracelens.derive.time.idle_sums import DeviceTimes, idle_of_devices
from tracelens.derive.time.step_table import process_ranks
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace

_KEY = ["rank", "device_id", "step", "phase"]
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
_CAUSE = pl.Series("cause", CAUSE_OF_KIND)
_LENGTH = pl.col("end_ns") - pl.col("start_ns")
_IDLE = {
    "rank": pl.Int32,
    "device_id": pl.Int32,
    "cause": pl.String,
    "what": pl.String,
    **dict.fromkeys(
        ("idle_ns", "n_gaps", "longest_ns", "example_ns"),
        pl.Int64,
    ),
}
_INTERVALS = {
    "rank": pl.Int32,
    "device_id": pl.Int32,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "cause": pl.Categorical,
    "what": pl.Categorical,
}


class Breakdown(Struct, frozen=True):
    """Holds the times of some ranks."""

    windows: pl.DataFrame
    """Columns of TIME_BREAKDOWN except the shares and collective_wait_ns."""
    idle: pl.DataFrame
    """The program's idle time, with the columns of `TimeModel.idle`."""


def merge(parts: Sequence[Breakdown]) -> Breakdown:
    """Join breakdowns of different ranks into one, sorted by rank."""
    windows = pl.concat(
        [
            TIME_BREAKDOWN.empty(),
            *(part.windows for part in parts),
        ]
    )
    idle = pl.concat(
        [
            pl.DataFrame(schema=_IDLE),
            *(part.idle for part in parts),
        ]
    )
    return Breakdown(windows.sort("rank", maintain_order=True), idle)


def break_down_devices(
    trace: Trace,
    devices: Mapping[Device, DeviceWork],
    times: DeviceTimes,
    steps: pl.DataFrame,
    phases: pl.DataFrame,
) -> Breakdown:
    """Turn the devices' sums into rows of steps and phases, with names instead of codes."""
    windows = _number_windows(devices, phases)
    whole_time = _whole(devices, steps, times.ends)
    rows = _busy_times(
        trace,
        pl.concat([whole_time, windows]),
        times.busy,
    )
    kinds = _idle_by_kind(times.idle, windows, rows)
    with_kinds = rows.join(
        kinds,
        on=_KEY,
        how="left",
        nulls_equal=True,
    )
    kernels_ns = pl.col("kernels_ns")
    all_ns = pl.col("all_ns")
    known_kinds = with_kinds.with_columns(pl.col(IDLE_KINDS).fill_null(0))
    host_with_profiler = pl.col("host") + pl.col(PROFILER_KIND)
    parts = known_kinds.with_columns(host_with_profiler).with_columns(
        *(pl.col(cause).alias(f"idle_{cause}_ns") for cause in CAUSES),
        profiler_ns=PROFILER_KIND,
        exposed_communication_ns=kernels_ns - pl.col("compute_ns"),
        exposed_copy_ns=all_ns - kernels_ns,
        idle_ns=pl.col("window_ns") - all_ns,
    )
    is_phase = pl.col("phase").is_not_null()
    order = ["rank", "device_id", "step", is_phase, "start_ns"]
    rows_in_order = TIME_BREAKDOWN.conform(parts.sort(order, nulls_last=False))
    return Breakdown(rows_in_order, _idle_by_place(devices, times.places))


def idle_intervals(trace: Trace, devices: Mapping[Device, DeviceWork]) -> pl.DataFrame:
    """List the program's idle time, device by device: one row per interval, sorted by start.

    Columns: rank, device_id, start_ns, end_ns, cause and what (call path). On a rank without a
    device, idle time is that of the process, and device_id is None.
    """
    parts = [pl.DataFrame(schema=_INTERVALS)]
    frames = idle_of_devices(trace, devices) if devices else ()
    for (rank, device_id), idle in frames:
        host = devices[rank, device_id].host
        places = pl.Series([*host.places, None], dtype=pl.Categorical)
        causes = _CAUSE.cast(pl.Categorical)
        intervals = idle.select(
            "start_ns",
            "end_ns",
            cause=causes.gather(idle["cause"]),
            what=places.gather(idle["place"]),
        )
        key = _device_key(rank, device_id)
        parts.append(intervals.select(*key, pl.all()))
    for rank in process_ranks(trace):
        intervals = process_idle(trace, rank).cast({pl.String: pl.Categorical})
        key = _device_key(rank, None)
        parts.append(intervals.select(*key, pl.all()))
    return pl.concat(parts)


def _device_key(rank: int, device_id: int | None) -> tuple[pl.Expr, pl.Expr]:
    rank_value = pl.lit(rank, pl.Int32).alias("rank")
    device_value = pl.lit(device_id, pl.Int32).alias("device_id")
    return rank_value, device_value


def _number_devices(devices: Mapping[Device, DeviceWork]) -> pl.DataFrame:
    """Return the devices, numbered from 0: device (the number), rank and device_id."""
    return pl.DataFrame(
        [(number, *key) for number, key in enumerate(devices)],
        schema={name: _WINDOWS[name] for name in ("device", "rank", "device_id")},
        orient="row",
    )


def _number_windows(devices: Mapping[Device, DeviceWork], phases: pl.DataFrame) -> pl.DataFrame:
    """Return one window per device and phase, numbered from 0 on each rank.

    A window of length 0 has the number None.
    """
    has_length = pl.col("end_ns") > pl.col("start_ns")
    count_so_far = has_length.cum_sum().over("rank").cast(pl.Int64)
    number = pl.when(has_length).then(count_so_far - 1)
    numbered = phases.with_columns(window=number)
    numbered_devices = _number_devices(devices)
    return numbered_devices.join(numbered, on="rank").select(*_WINDOWS)


def _whole(
    devices: Mapping[Device, DeviceWork],
    steps: pl.DataFrame,
    ends: Sequence[int],
) -> pl.DataFrame:
    """Return one window per device, from the device's first work to its last.

    Devices of ranks without steps are left out.
    """
    marked = {*steps["rank"].unique()}
    rows = []
    for number, ((key, device), end_ns) in enumerate(zip(devices.items(), ends, strict=True)):
        start_ns = min(part["start_ns"][0] for part in device.work if part.height)
        if key[0] in marked:
            rows.append((number, *key, None, None, start_ns, end_ns, device.windows.height))
    return pl.DataFrame(rows, schema=_WINDOWS, orient="row")


def _busy_times(trace: Trace, windows: pl.DataFrame, busy: pl.DataFrame) -> pl.DataFrame:
    """Return each window's window_ns, last_collective_ns and busy times (the columns UNIONS)."""
    with_busy = windows.join(busy, on=["device", "window"], how="left")
    columns = ("rank", "device_id", "start_ns", "duration_ns", "is_communication")
    communication = trace.select("kernels", *columns).filter("is_communication")
    collectives = communication.sort("start_ns", "duration_ns").select(
        *_KEY[:2],
        begun="start_ns",
        last_collective_ns="duration_ns",
    )
    # The last communication kernel that starts in each window.
    measures = with_busy.sort("end_ns").join_asof(
        collectives,
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


def _idle_by_kind(
    idle: pl.DataFrame,
    windows: pl.DataFrame,
    rows: pl.DataFrame,
) -> pl.DataFrame:
    """Sum idle time by kind: the columns of _KEY, and one column for each of IDLE_KINDS.

    `idle` is `DeviceTimes.idle`.
    """
    phases = windows.drop_nulls("window").select("device", "window", "step", "phase")
    devices = windows.select("device", "rank", "device_id").unique()
    with_phase = idle.join(phases, on=["device", "window"], how="left")
    sums = with_phase.join(devices, on="device")
    in_windows = sums.drop_nulls("phase")
    device = ["rank", "device_id"]
    is_whole = pl.col("phase").is_null()
    whole_rows = rows.filter(is_whole).select(device)
    # A row of phase None counts all idle time from a device's first to its last work.
    from_first_to_last = sums.filter("within").join(
        whole_rows,
        on=device,
        how="semi",
    )
    of_whole = from_first_to_last.with_columns(
        step=pl.lit(None, pl.Int64),
        phase=pl.lit(None, pl.String),
    )
    both = pl.concat([in_windows, of_whole.select(in_windows.columns)])
    ns = pl.col("idle_ns")
    by_kind = {}
    for code, kind in enumerate(IDLE_KINDS):
        is_of_kind = pl.col("cause") == code
        by_kind[kind] = ns.filter(is_of_kind).sum()
    return both.group_by(_KEY).agg(**by_kind)


def _idle_by_place(devices: Mapping[Device, DeviceWork], places: pl.DataFrame) -> pl.DataFrame:
    """Replace the codes of causes and call paths in `DeviceTimes.places` by their names."""
    names = [[*device.host.places, None] for device in devices.values()]
    n_names = accumulate(map(len, names))
    first_name = pl.Series("first", [0, *n_names]).head(len(names))
    numbers = _number_devices(devices).with_columns(first_name)
    number_of_place = pl.col("first") + pl.col("place")
    placed = places.join(numbers, on="device").with_columns(number_of_place)
    every_name = pl.Series(
        "what",
        [name for names_of_device in names for name in names_of_device],
        dtype=pl.String,
    )
    what = every_name.gather(placed["first"])
    cause = _CAUSE.gather(placed["cause"])
    return placed.select(
        cause,
        what,
        *PLACES[2:],
        *_KEY[:2],
    ).select(*_IDLE)
