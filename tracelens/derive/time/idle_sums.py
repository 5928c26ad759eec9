"""Sum idle time of devices by window, cause and call path, in C or in Polars.

`by_columns` defines the result. `by_pass` computes it in C (`struct idle` in native.h).
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.columns.intervals import covered_by, union
from tracelens.derive.columns.lookup import last_before
from tracelens.derive.time.busy_ops import LOADING_NS
from tracelens.derive.time.device_work import UNIONS, Device, DeviceWork
from tracelens.derive.time.host_tracks import IDLE_KINDS, TRACKS_OF_THREAD
from tracelens.derive.time.idle import (
    LATENCY_NS,
    LAUNCH,
    LENGTH,
    PLACES,
    counted_idle,
    cut_gaps,
    in_time_order,
    is_counted,
    known_place,
    with_true_causes,
)
from tracelens.derive.time.launch_causes import causes_of_launching
from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series
from tracelens.trace import Trace

_U8, _I32, _I64 = pl.UInt8(), pl.Int32(), pl.Int64()
_WORK = {"start_ns": _I64, "duration_ns": _I64, "call": _I64, "kind": _U8}
_SEGMENTS = {"start_ns": _I64, "end_ns": _I64, "cause": _U8, "place": _I32}
_MEASURES = 7
_AT_ONCE = 64
"""Number of devices whose sums by call path and cause are in memory at the same time."""


class DeviceTimes(Struct, frozen=True):
    """Holds sums of time for several devices, by the device's number.

    Windows, causes and call paths (`place`) are indices. An index one past the end means none.
    """

    busy: pl.DataFrame
    """Busy times (columns UNIONS), one row per device and window.

    A device's last row is for all its work.
    """
    idle: pl.DataFrame
    """idle_ns by device, window, cause and `within` (between the first and the last work)."""
    places: pl.DataFrame
    """One row per device, cause and place, with the columns PLACES.

    longest_ns is the longest time in one idle interval, and example_ns that interval's start.
    """
    launching: pl.Series
    """Launching time in ns before each kernel, then before each other work, device by device."""
    ends: list[int]
    """End of each device's last work."""


def times_of_devices(trace: Trace, devices: Mapping[Device, DeviceWork]) -> DeviceTimes:
    """Sum the time of the devices, which are numbered from 0.

    `causes_of_launching` finds the causes of long launching.
    """
    as_recorded, causes = _times_and_causes(trace, devices)
    if not causes:
        return as_recorded
    anew = {number: device for number, device in enumerate(devices.values()) if number in causes}
    others = ~pl.col("device").is_in([*anew])
    busy, idle, places = (
        part.filter(others) for part in (as_recorded.busy, as_recorded.idle, as_recorded.places)
    )
    both = joined(
        [
            replace(
                as_recorded,
                busy=busy,
                idle=idle,
                places=places,
            ),
            _times(anew, causes),
        ]
    )
    return replace(
        both,
        launching=as_recorded.launching,
        ends=as_recorded.ends,
    )


def idle_of_devices(
    trace: Trace, devices: Mapping[Device, DeviceWork]
) -> Iterator[tuple[Device, pl.DataFrame]]:
    """Yield each device's idle intervals with the columns of `counted_idle`.

    A device may have several frames. Causes are those of `times_of_devices`.
    """
    causes = _times_and_causes(trace, devices)[1]
    for number, (key, device) in enumerate(devices.items()):
        for idle in counted_idle(device, causes.get(number)):
            yield key, idle


def _times_and_causes(
    trace: Trace, devices: Mapping[Device, DeviceWork]
) -> tuple[DeviceTimes, dict[int, pl.Series]]:
    """Sum the devices' times with "launch" as cause of all launching, and find the true causes.

    Return the sums, and by device number the cause that `causes_of_launching` finds for each
    kernel, copy and fill. A device is left out if all these causes are "launch".
    """
    times = _times(
        dict(enumerate(devices.values())),
        {},
    )
    if not (times.launching >= LOADING_NS).any():
        return times, {}
    causes = causes_of_launching(trace, devices, times.launching)
    by_device = {}
    first = 0
    for number, device in enumerate(devices.values()):
        of_device = causes.slice(first, len(device.calls))
        if (of_device != LAUNCH).any():
            by_device[number] = of_device
        first += len(device.calls)
    return times, by_device


def _times(
    devices: Mapping[int, DeviceWork],
    causes: Mapping[int, pl.Series],
) -> DeviceTimes:
    return (by_columns if LIBRARY is None else by_pass)(devices, causes)


def joined(parts: Sequence[DeviceTimes]) -> DeviceTimes:
    """Join the sums of several groups of devices into one."""
    return DeviceTimes(
        pl.concat([part.busy for part in parts]),
        pl.concat([part.idle for part in parts]),
        pl.concat([part.places for part in parts]),
        pl.concat([part.launching for part in parts]),
        [end for part in parts for end in part.ends],
    )


# Whole columns in Polars.


def by_columns(
    devices: Mapping[int, DeviceWork],
    causes: Mapping[int, pl.Series],
) -> DeviceTimes:
    """Sum the devices' times in Polars. This defines the result of the C code.

    `causes` has, by device number, the cause of the launching before each kernel, copy and fill. A
    device without an entry has only the cause "launch".
    """
    return joined(
        [_by_columns(number, device, causes.get(number)) for number, device in devices.items()]
    )


def _by_columns(number: int, device: DeviceWork, causes: pl.Series | None) -> DeviceTimes:
    parts = [*in_time_order(device)]
    as_recorded = pl.concat(cut_gaps(parts, device))
    work = pl.concat(parts)
    launching = _launching_before(as_recorded, work.height)
    intervals = with_true_causes(as_recorded, causes)
    counted = intervals.filter(is_counted(device))
    by_cause = intervals.group_by("window", "within", "cause")
    idle = by_cause.agg(idle_ns=LENGTH.sum())
    places = _summed_places(counted, len(device.host.places))
    busy = _busy(work, device.windows).with_row_index("window")
    end = work["end_ns"].max()
    assert isinstance(end, int)
    of_device = pl.lit(number, pl.Int64).alias("device")
    return DeviceTimes(
        busy.with_columns(of_device),
        idle.with_columns(of_device),
        places.with_columns(of_device),
        launching,
        [end],
    )


def _launching_before(idle: pl.DataFrame, n_work: int) -> pl.Series:
    """Return the idle time in ns with the cause `launch` before each kernel, copy and fill."""
    is_launch = pl.col("cause") == LAUNCH
    is_before_work = pl.col("gap") < n_work
    launches = idle.filter(is_launch & is_before_work)
    sums = launches.group_by("gap").agg(ns=LENGTH.sum())
    no_time = pl.repeat(
        0,
        n_work,
        dtype=pl.Int64,
        eager=True,
    )
    return no_time.scatter(sums["gap"], sums["ns"])


def _summed_places(idle: pl.DataFrame, n_places: int) -> pl.DataFrame:
    """Sum idle intervals by cause and call path, with the columns PLACES.

    The intervals are sorted by start.
    """
    place = known_place(n_places)
    # Intervals of one cause and call path between the same two kernels or copies are one.
    by_gap = idle.group_by(
        "gap",
        "cause",
        place,
        maintain_order=True,
    )
    ns = pl.col("ns")
    start_ns = pl.col("start_ns")
    gaps = by_gap.agg(start_ns.first(), ns=LENGTH.sum())
    by_place = gaps.group_by("cause", "place", maintain_order=True)
    return by_place.agg(
        idle_ns=ns.sum(),
        n_gaps=pl.len().cast(pl.Int64),
        longest_ns=ns.max(),
        example_ns=start_ns.get(ns.arg_max()),
    )


def _busy(work: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Return the busy times (columns UNIONS) per window. The last row is for all time."""
    whole = work.select(
        start_ns=pl.col("start_ns").min(),
        end_ns=pl.col("end_ns").max(),
    )
    every = pl.concat([windows.select("start_ns", "end_ns"), whole])
    sums = {}
    for name, kinds in UNIONS.items():
        is_of_kinds = pl.col("kind").is_in(kinds)
        busy = union(work.filter(is_of_kinds).select("start_ns", "end_ns"))
        sums[name] = covered_by(busy, every)
    return pl.DataFrame(sums)


# In C.


def by_pass(
    devices: Mapping[int, DeviceWork],
    causes: Mapping[int, pl.Series],
) -> DeviceTimes:
    """Sum the devices' times in one pass in C, with the same result as `by_columns`."""
    numbers = [*devices]
    parts = []
    for first in range(0, len(numbers), _AT_ONCE):
        numbers_at_once = numbers[first : first + _AT_ONCE]
        some = {number: devices[number] for number in numbers_at_once}
        parts.append(
            _decoded(
                some,
                [_pass(device, causes.get(number)) for number, device in some.items()],
            )
        )
    return joined(parts)


_Passed = tuple[bytearray, bytearray, bytearray, bytearray, int]


def _pass(device: DeviceWork, causes: pl.Series | None) -> _Passed:
    """Return the C library's sums for a device, and the end of its last work.

    The sums are busy, idle, idle by call path, and launching.
    """
    assert LIBRARY is not None
    host = device.host
    windows = device.windows
    n_windows = windows.height + 1
    n_places = len(host.places) + 1
    n_work = sum(part.height for part in device.work)
    busy, idle, by_place, launching = (
        bytearray(8 * n_sums)
        for n_sums in (
            len(UNIONS) * n_windows,
            2 * len(IDLE_KINDS) * n_windows,
            _MEASURES * len(IDLE_KINDS) * n_places,
            n_work,
        )
    )
    last_ends = windows["end_ns"].tail(1).to_list()
    has_threads = len(host.threads) > 1
    end_ns = LIBRARY.idle_time(
        *(column for part in device.work for column in _memory(part, _WORK)),
        None if causes is None else memory(causes, _U8),
        *_memory(
            host.calls,
            {"returned": _I64, "place": _I32},
        ),
        memory(host.calls["thread"], _I32) if has_threads else None,
        *_memory(
            host.tracks.of_threads,
            dict.fromkeys(TRACKS_OF_THREAD, _I32),
        ),
        array(
            "q",
            [first for first, _ in host.tracks.bounds],
        ),
        array(
            "q",
            [after for _, after in host.tracks.bounds],
        ),
        *_memory(host.tracks.segments, _SEGMENTS),
        *_memory(windows, {"start_ns": _I64, "end_ns": _I64}),
        memory(windows["counted"].cast(pl.UInt8), _U8),
        device.from_ns,
        max(last_ends, default=device.from_ns),
        LATENCY_NS,
        device.last_thread,
        host.unrecorded,
        busy,
        idle,
        by_place,
        launching,
    )
    return busy, idle, by_place, launching, end_ns


def _decoded(devices: Mapping[int, DeviceWork], passed: Sequence[_Passed]) -> DeviceTimes:
    """Return the library's sums as frames."""
    counts = [
        (
            number,
            device.windows.height + 1,
            len(device.host.places) + 1,
        )
        for number, device in devices.items()
    ]
    sizes = pl.DataFrame(
        counts,
        schema=dict.fromkeys(("device", "n_windows", "n_places"), _I64),
        orient="row",
    )
    n_windows = pl.col("n_windows")
    n_places = pl.col("n_places")
    # Where the sums of a device begin: its first window of all, and its first sum by place.
    sizes = sizes.with_columns(
        first_window=n_windows.cum_sum() - n_windows,
        first_by_place=len(IDLE_KINDS) * (n_places.cum_sum() - n_places),
    )
    *sums, ends = zip(*passed, strict=True)
    busy, idle, by_place, launching = (series(b"".join(parts), _I64) for parts in sums)
    return DeviceTimes(
        _busy_of_windows(sizes, busy),
        _idle(sizes, idle),
        _places(sizes, by_place),
        launching,
        [*ends],
    )


def _busy_of_windows(sizes: pl.DataFrame, sums: pl.Series) -> pl.DataFrame:
    """Return the busy times (columns UNIONS), one row per device and window.

    `sums` are from C, device by device, union by union, window by window.
    """
    windows = sizes.with_columns(window=pl.int_ranges("n_windows")).explode("window")
    first = len(UNIONS) * pl.col("first_window") + pl.col("window")
    lengths = {
        name: sums.gather(windows.select(first + number * pl.col("n_windows")).to_series())
        for number, name in enumerate(UNIONS)
    }
    return windows.select("device", "window").with_columns(**lengths)


def _idle(sizes: pl.DataFrame, sums: pl.Series) -> pl.DataFrame:
    """Return the sums of idle time from C as a frame, the field `idle` of DeviceTimes.

    `sums` has two groups per window, with one sum per cause in each. The first group is for the
    time before the first and after the last work, the second for the time in between (`within`).
    """
    row = (sums > 0).arg_true().cast(pl.Int64)
    n_causes = len(IDLE_KINDS)
    n_in_window = 2 * n_causes
    of_device = sizes[last_before(sizes["first_window"] * n_in_window, row)]
    row_in_device = pl.col("row") - n_in_window * pl.col("first_window")
    return of_device.with_columns(
        row.alias("row"),
        idle_ns=sums.gather(row),
    ).select(
        "device",
        "idle_ns",
        window=row_in_device // n_in_window,
        within=row_in_device // n_causes % 2 == 1,
        cause=row_in_device % n_causes,
    )


def _places(sizes: pl.DataFrame, sums: pl.Series) -> pl.DataFrame:
    """Return the sums by cause and call path from C as the field `places` of DeviceTimes.

    `sums` has _MEASURES values for each device, cause and call path.
    """
    # The first of the values are the columns of PLACES after cause and place.
    measures = pl.DataFrame(
        {name: sums.gather_every(_MEASURES, number) for number, name in enumerate(PLACES[2:])}
    )
    row = (measures["n_gaps"] > 0).arg_true().cast(pl.Int64)
    of_device = sizes[last_before(sizes["first_by_place"], row)]
    row_in_device = pl.col("row") - pl.col("first_by_place")
    return (
        of_device.with_columns(row.alias("row"))
        .hstack(measures[row])
        .select(
            "device",
            *PLACES[2:],
            cause=row_in_device // pl.col("n_places"),
            place=row_in_device % pl.col("n_places"),
        )
    )


def _memory(frame: pl.DataFrame, columns: Mapping[str, pl.DataType]) -> list[memoryview]:
    """Return the columns in the memory layout of the C library."""
    return [memory(frame[name], dtype) for name, dtype in columns.items()]
