"""The breakdown of `idle.by_columns` in C: one pass over sorted columns. See `struct idle` in native.h."""

from array import array
from collections.abc import Mapping
from itertools import accumulate

import polars as pl
import pyarrow as pa

from tracelens.derive.time.host_time import SEGMENTS
from tracelens.derive.time.idle import (
    LATENCY_NS,
    PLACES,
    UNIONS,
    DeviceTime,
    DeviceWork,
    by_columns,
    first_uses,
    idle_pieces,
)
from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series
from tracelens.schemas.events import CAUSES

_U8, _I32, _I64 = pl.UInt8(), pl.Int32(), pl.Int64()
_WORK = {"start_ns": _I64, "duration_ns": _I64, "call": _I64, "kind": _U8}
_SEGMENTS = {"start_ns": _I64, "end_ns": _I64, "cause": _U8, "place": _I32}
_MEASURES = 7


def time_of_device(device: DeviceWork) -> DeviceTime:
    """The device's breakdown, with launching before a kernel's first use counted as loading."""
    of_device = by_columns if LIBRARY is None else by_pass
    found = of_device(device, None)
    loaded = first_uses(device, found.launching)
    return of_device(device, loaded) if loaded.any() else found


def idle_of_device(device: DeviceWork) -> pl.DataFrame:
    """The idle time that `time_of_device` adds up, as `idle_pieces`."""
    launching = (by_columns if LIBRARY is None else by_pass)(device, None).launching
    return idle_pieces(device, first_uses(device, launching))


def by_pass(device: DeviceWork, loaded: pl.Series | None) -> DeviceTime:
    """As `by_columns`."""
    assert LIBRARY is not None
    host, windows = device.host, device.windows
    timelines = [host.timeline(thread) for thread in host.threads]
    firsts = array("q", accumulate((part.height for part in timelines), initial=0))
    lasts = firsts[1:]
    firsts.pop()
    n_windows, n_work = windows.height + 1, sum(part.height for part in device.work)
    n_causes, n_places = len(CAUSES), len(host.places) + 1
    lengths = len(UNIONS) * n_windows, 2 * n_causes * n_windows, _MEASURES * n_causes * n_places
    busy, sums, cells = (bytearray(8 * length) for length in lengths)
    launching = bytearray(8 * n_work)
    end_ns = LIBRARY.idle_time(
        *(column for part in device.work for column in _memory(part, _WORK)),
        None if loaded is None else memory(loaded, pl.UInt8()),
        *_memory(host.calls, {"returned": _I64, "place": _I32}),
        *(_memory(host.calls, {"thread": _I32}) if len(host.threads) > 1 else [None]),
        firsts,
        lasts,
        *_memory(pl.concat([pl.DataFrame(schema=SEGMENTS), *timelines]), _SEGMENTS),
        *_memory(windows, {"start_ns": _I64, "end_ns": _I64}),
        device.from_ns,
        max(windows["end_ns"].tail(1).to_list(), default=device.from_ns),
        LATENCY_NS,
        host.last_thread(device.work),
        host.unrecorded,
        device.only_windows,
        busy,
        sums,
        cells,
        launching,
    )
    unions = {name: series(busy, _I64).slice(at * n_windows, n_windows) for at, name in enumerate(UNIONS)}
    idle = pl.DataFrame({"idle_ns": series(sums, _I64)}).with_row_index("at").filter(pl.col("idle_ns") > 0)
    measures = {name: series(cells, _I64).gather_every(_MEASURES, at) for at, name in enumerate(PLACES[2:])}
    places = pl.DataFrame(measures).with_row_index("at").filter(pl.col("n_gaps") > 0)
    at, cause = pl.col("at").cast(pl.Int64), pl.col("at") // n_places
    return DeviceTime(
        pl.DataFrame(unions),
        idle.select("idle_ns", window=at // (2 * n_causes), within=at // n_causes % 2 == 1, cause=at % n_causes),
        places.select(*PLACES[2:], cause=cause, place=at % n_places),
        series(launching, _I64),
        end_ns,
    )


def _memory(frame: pl.DataFrame, columns: Mapping[str, pl.DataType]) -> list[pa.Buffer]:
    """The columns as memory."""
    return [memory(frame[name], dtype) for name, dtype in columns.items()]
