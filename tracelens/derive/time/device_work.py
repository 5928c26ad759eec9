"""Read the work of each device of a trace, with the calls that launched it."""

from collections.abc import Mapping
from typing import TypeAlias

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.time.host_time import HostTime
from tracelens.derive.time.migrations import IS_MOVE
from tracelens.schemas.results.time import PROGRAM
from tracelens.trace import Trace

Device: TypeAlias = tuple[int, int]
"""A rank, and the number of one of its devices."""

COMPUTE, COMMUNICATION, COPY = range(3)
"""Kinds of work."""
UNIONS = {
    "compute_ns": (COMPUTE,),
    "communication_ns": (COMMUNICATION,),
    "copy_ns": (COPY,),
    "kernels_ns": (COMPUTE, COMMUNICATION),
    "all_ns": (COMPUTE, COMMUNICATION, COPY),
}
"""Columns of busy time, each with its kinds of work; simultaneous work counts once."""
TOUCH = "pages of managed memory that the host touches"
"""Call path of idle time before the host touches a page that lies on the device."""
_WORK = ("rank", "device_id", "start_ns", "duration_ns", "api_call_id")
_KERNEL_KIND = pl.col("is_communication").fill_null(value=False).cast(pl.UInt8)
"""Expression for a kernel's kind of work, from its column is_communication."""
_COLUMNS: dict[str, type[pl.DataType]] = {
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
    "call": pl.Int64,
    "kind": pl.UInt8,
}


class DeviceWork(Struct, frozen=True):
    """Holds a device's work, and the windows of time to break down."""

    host: HostTime
    work: tuple[pl.DataFrame, pl.DataFrame]
    """Two frames, kernels and all other work, sorted by start.

    Columns: start_ns, duration_ns, call and kind. `call` is a row of the host's calls; any other
    number means unknown.
    """
    windows: pl.DataFrame
    """Disjoint and sorted by start: start_ns, end_ns and `counted`.

    `counted` says whether the window counts in the sums by call path.
    """

    @property
    def from_ns(self) -> int:
        """The start of the first window, kernel, copy or fill."""
        return min(int(part["start_ns"][0]) for part in (self.windows, *self.work) if part.height)

    @property
    def calls(self) -> pl.Series:
        """The column `call` of kernels, then of all other work."""
        return pl.concat([part["call"] for part in self.work])

    @property
    def last_thread(self) -> int:
        """The thread to blame for idle time after all work, -1 if no thread is known.

        It is the main thread of the process that launched the last work.
        """
        host = self.host
        main = next(iter(host.mains.values()), None)
        if len(host.mains) > 1:
            launched = [
                part.filter(pl.col("call").is_between(0, host.calls.height - 1)).tail(1)
                for part in self.work
            ]
            last = pl.concat(part.select("start_ns", "call") for part in launched).sort(
                "start_ns", maintain_order=True
            )
            for thread in host.calls["thread"].gather(last["call"].tail(1)):
                main = host.mains.get(host.threads[thread][0], main)
        return -1 if main is None else host.threads.index(main)


def works_of_devices(
    trace: Trace,
    hosts: Mapping[int, HostTime],
    phases: pl.DataFrame,
) -> dict[Device, DeviceWork]:
    """Return each device's work and windows, by rank and device.

    `hosts` has each rank's host.
    """
    kernels = trace.select("kernels", *_WORK, "is_communication")
    copies = trace.select("memcpys", *_WORK, "source_memory", "destination_memory")
    fills = trace.select("memsets", *_WORK)
    others = pl.concat([copies, fills], how="diagonal")
    of_kernels = _with_calls(kernels.with_columns(kind=_KERNEL_KIND), hosts)
    of_others = _with_calls(
        others.with_columns(kind=pl.lit(COPY, pl.UInt8)),
        hosts,
    )
    hosts, of_others = _with_touches(hosts, of_others)
    columns = (*_WORK[:-1], "kind", "call")
    kernels_by_device = _by_device(of_kernels.select(columns))
    others_by_device = _by_device(of_others.select(columns))
    has_length = pl.col("end_ns") > pl.col("start_ns")
    is_counted = pl.col("phase") == PROGRAM
    windows = phases.filter(has_length).with_columns(counted=is_counted)
    windows_of_rank = dict(by_value(windows, "rank"))
    nothing = pl.DataFrame(schema=_COLUMNS)
    works = {}
    for device in sorted({*kernels_by_device, *others_by_device}):
        rank, _ = device
        work = (
            kernels_by_device.get(device, nothing),
            others_by_device.get(device, nothing),
        )
        works[device] = DeviceWork(
            hosts[rank],
            work,
            windows_of_rank.get(rank, windows.clear()),
        )
    return works


def _with_calls(work: pl.DataFrame, hosts: Mapping[int, HostTime]) -> pl.DataFrame:
    ids = work.select("rank", "api_call_id")
    return work.with_columns(call=call_rows(hosts, ids))


def _with_touches(
    hosts: Mapping[int, HostTime], copies: pl.DataFrame
) -> tuple[Mapping[int, HostTime], pl.DataFrame]:
    """Add a call to the host for each move of managed pages, as if the call had started the move.

    Also return the copies, with the rows of the added calls in `call`.
    """
    # No recorded call moves a page: it moves when the host or a kernel touches it. Between kernels,
    # the main thread is taken to touch it. So this thread explains the idle time before the move.
    with_main_thread = [rank for rank, host in hosts.items() if host.mains]
    is_of_host = pl.col("rank").is_in(with_main_thread)
    is_touch = IS_MOVE.fill_null(value=False) & is_of_host
    touches = copies.filter(is_touch)
    if touches.is_empty():
        return hosts, copies
    with_touches = {**hosts}
    for rank, touches_of_rank in by_value(touches, "rank"):
        with_touches[rank] = _with_touch_calls(hosts[rank], touches_of_rank)
    n_calls = {rank: host.calls.height for rank, host in hosts.items()}
    first_row = pl.col("rank").replace_strict(n_calls, return_dtype=pl.Int64)
    n_touches = is_touch.cum_sum().over("rank").cast(pl.Int64)
    row = first_row + n_touches - 1
    call = pl.when(is_touch).then(row).otherwise("call")
    return with_touches, copies.with_columns(call=call)


def _with_touch_calls(host: HostTime, touches: pl.DataFrame) -> HostTime:
    """Add a call of the main thread for each move of pages, after the recorded calls."""
    main_thread = next(iter(host.mains.values()))
    touch_calls = touches.select(
        returned="start_ns",
        thread=pl.lit(host.threads.index(main_thread)),
        place=pl.lit(len(host.places)),
    )
    as_calls = touch_calls.cast(host.calls.schema).select(host.calls.columns)
    calls = pl.concat([host.calls, as_calls])
    return replace(host, calls=calls, places=[*host.places, TOUCH])


def call_rows(hosts: Mapping[int, HostTime], wanted: pl.DataFrame) -> pl.Series:
    """Return the row of each wanted (rank, api_call_id) among its host's calls.

    An unknown call gets a number that is not a row, such as -1.
    """
    ids = wanted["api_call_id"]
    known = [
        pl.DataFrame({"api_call_id": host.ids}).select(
            pl.lit(rank, pl.Int32).alias("rank"),
            "api_call_id",
            row=pl.int_range(pl.len()),
        )
        for rank, host in hosts.items()
        if host.ids is not None
    ]
    if known:
        all_calls = pl.concat(known)
        ids = wanted.join(
            all_calls,
            on=["rank", "api_call_id"],
            how="left",
            maintain_order="left",
        )["row"]
    return ids.fill_null(-1) if ids.null_count() else ids


def _by_device(work: pl.DataFrame) -> dict[Device, pl.DataFrame]:
    """Group work by rank and device, each group sorted by start."""
    order = ["rank", "device_id", "start_ns"]
    same = pl.lit(value=True)
    grows = pl.lit(value=False)
    for name in order:
        before = pl.col(name).shift(1)
        same, grows = same & (pl.col(name) == before), grows | (same & (pl.col(name) > before))
    is_ordered = (same | grows).all()
    if not work.select(is_ordered).item():
        work = work.sort(order, maintain_order=True)
    by_device = {}
    first = 0
    columns = work.select(*_COLUMNS)
    sizes = work.group_by(order[:2], maintain_order=True).len()
    for rank, device, n in sizes.iter_rows():
        by_device[rank, device] = columns.slice(first, n)
        first += n
    return by_device
