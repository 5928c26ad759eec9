"""Why a device was idle: every nanosecond of it, by what the thread that launches the next work did."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import polars as pl

from tracelens.derive.columns.cutting import cut, overlay
from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.time.completing import activities_of
from tracelens.schemas.events import CAUSES
from tracelens.trace import Trace

LOADING_NS = 1_000_000
"""An op that launches takes microseconds; one that takes this long before the first use of a kernel loads it."""
_MUCH_LONGER = 3
LATENCY_NS = 10_000
"""Work may start this much after its launching call returned before it counts as waiting for other work."""

CAUSE = pl.Enum(CAUSES)
_WORKERS, _FEW = 2, 1 << 16
"""Threads that look at a device's gaps, and gaps that are done sooner by one of them."""
PIECES: dict[str, type[pl.DataType] | pl.DataType] = {
    "step": pl.Int64, "gap": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64, "cause": CAUSE, "activity": pl.Int64,
    "call": pl.Int64, "within": pl.Boolean, "is_alone": pl.Boolean,
}  # fmt: skip
_TIMELINE: dict[str, type[pl.DataType] | pl.DataType] = {
    "start_ns": pl.Int64, "end_ns": pl.Int64, "cause": CAUSE, "activity": pl.Int64,
}  # fmt: skip
_FOUND: dict[str, type[pl.DataType] | pl.DataType] = {
    "row": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "cause": CAUSE,
    "activity": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class HostTime:
    """What is known of a rank's host: its calls, the activities of each thread, and each process's main thread.

    `lanes` has a frame (start_ns, end_ns, cause, activity) a (process, thread).
    """

    trace: Trace
    rank: int
    calls: pl.DataFrame
    lanes: dict[tuple[int, int], pl.DataFrame]
    mains: dict[int, tuple[int, int]]
    _timelines: dict[tuple[int, int], pl.DataFrame] = field(default_factory=dict)

    @property
    def unrecorded(self) -> str:
        """The cause of time in which nothing is known of any thread."""
        return "host" if self.lanes else "unknown"

    def timeline(self, lane: tuple[int, int]) -> pl.DataFrame:
        """What a thread that launches did, or another one of its process: start_ns, end_ns, cause, activity; by start.

        A thread of which nothing is recorded, or which only runs Python, may wait for another that works: what that one
        did counts first, then its own Python, then that of the main thread.
        """
        if lane not in self._timelines:
            nothing = pl.DataFrame(schema=_TIMELINE)
            own, main = (self.lanes.get(one, nothing) for one in (lane, self.mains.get(lane[0], lane)))
            others = [part for other, part in self.lanes.items() if other != lane and other[0] == lane[0]]
            busy = [part.filter(pl.col("cause") != "host") for part in (own, *others)]
            layers = [*busy, own.filter(pl.col("cause") == "host"), main.filter(pl.col("cause") == "host")]
            self._timelines[lane] = _joined(overlay(layers))
        return self._timelines[lane]

    def uses(self) -> pl.DataFrame:
        """The rank's kernels by start: the row of the call that launched each, null for none, and its name's number."""
        kernels = self.trace.select("kernels", "rank", "name", "start_ns", "api_call_id")
        own = kernels.filter(pl.col("rank") == self.rank).sort("start_ns")
        call = rows_of(self.calls["rank"], self.calls["api_call_id"], own.select("rank", "api_call_id"))
        return own.select("name", call=call)


@dataclass(frozen=True, slots=True)
class DeviceIdle:
    """The idle time of a device in pieces of one cause and one step: the columns of PIECES, in no order.

    Of a process without a device device_id is null, and its time without an op counts as idle.

    `gap` numbers the times of nothing running that the pieces are of; `activity` is a row of `activities_of` the trace,
    `call` of its API calls: the one that launched what came next; `within` says that the piece lies between the
    device's first and last work, `is_alone` that it is its gap's only one of its cause.
    """

    rank: int
    device_id: int | None
    pieces: pl.DataFrame


def idle_time(trace: Trace, work: pl.DataFrame, windows: pl.DataFrame) -> list[DeviceIdle]:
    """The idle time of each device, by rank and device.

    `work` is all device work by start (rank, device_id, start_ns, duration_ns, api_call_id), `windows` the time that is
    looked at (rank, start_ns, end_ns, step), disjoint in a rank.
    """
    activities = activities_of(trace)
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns", "duration_ns", "process_id", "thread_id")
    found: list[DeviceIdle] = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        for rank, own in by_value(work, "rank"):
            host = _host_time(trace, rank, calls, activities)
            of_rank = windows.filter(pl.col("rank") == rank).sort("start_ns", "end_ns")
            of_rank = of_rank.filter(pl.col("end_ns") > pl.col("start_ns"))
            for device, device_work in by_value(own, "device_id"):
                gaps = _in_steps(_gaps(device_work, of_rank, host), of_rank)
                parts = [part for one in gaps for part in one.iter_slices(max(one.height // _WORKERS, _FEW) + 1)]
                pieces = pl.concat(pool.map(_caused, parts or gaps, [host] * max(len(parts), len(gaps))))
                found.append(DeviceIdle(rank, device, _settled(pieces, host).select(*PIECES)))
    return found


def by_value(frame: pl.DataFrame, column: str) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each value, by value; of one alone nothing is copied."""
    values = frame[column]
    if values.min() == values.max():
        if frame.height:
            yield int(values[0]), frame
        return
    for (value,), part in sorted(frame.partition_by(column, as_dict=True).items()):
        yield int(value), part


def _host_time(trace: Trace, rank: int, calls: pl.DataFrame, activities: pl.DataFrame) -> HostTime:
    """What is known of the rank's host."""
    mine = activities.with_row_index("activity").filter(pl.col("rank") == rank)
    mine = mine.select(
        "process_id", "thread_id", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"),
        cause=pl.col("cause").cast(CAUSE), activity=pl.col("activity").cast(pl.Int64),
    )  # fmt: skip
    lanes = {
        (process, thread): part.drop("process_id", "thread_id").sort("start_ns")
        for (process, thread), part in mine.partition_by("process_id", "thread_id", as_dict=True).items()
    }
    # The main thread is the one of which most time is known.
    known = {lane: int((part["end_ns"] - part["start_ns"]).sum()) for lane, part in lanes.items()}
    mains: dict[int, tuple[int, int]] = {}
    for lane in sorted(known, key=lambda lane: (-known[lane], lane)):
        mains.setdefault(lane[0], lane)
    return HostTime(trace, rank, calls, lanes, mains)


def _joined(segments: pl.DataFrame) -> pl.DataFrame:
    """Segments by start, those of one activity that touch as one."""
    is_new = (pl.col("activity") != pl.col("activity").shift(1)) | (pl.col("start_ns") != pl.col("end_ns").shift(1))
    firsts = segments.select(is_new.fill_null(value=True)).to_series().arg_true()
    ends = segments["end_ns"].gather(firsts.cast(pl.Int64).shift(-1, fill_value=segments.height) - 1)
    return segments[firsts].with_columns(ends).select(*_TIMELINE)


def _gaps(work: pl.DataFrame, windows: pl.DataFrame, host: HostTime) -> pl.DataFrame:
    """The times at which a device does nothing, from the first window's start to the last one's end, by start.

    start_ns, end_ns, the launching call's returned (when), process_id, thread_id, call (row of the table), within.
    """
    start, reached = work["start_ns"], (work["start_ns"] + work["duration_ns"]).cum_max()
    low, last = int(start[0]), int(reached[-1])
    high = max([last, *windows["end_ns"].tail(1)])
    low = min([low, *windows["start_ns"].head(1)])
    before = reached.shift(1, fill_value=low)
    rows = (start > before).arg_true()
    call = work["api_call_id"].gather(rows)
    at = rows_of(host.calls["rank"], host.calls["api_call_id"], pl.DataFrame([work["rank"].gather(rows), call]))
    returned = host.calls["start_ns"].gather(at) + host.calls["duration_ns"].gather(at)
    # A replayed graph's later kernels wait for its earlier ones, whether or not the call has returned.
    is_same = (call == work["api_call_id"].gather((rows.cast(pl.Int64) - 1).set(rows == 0, None))).arg_true()
    gaps = pl.DataFrame(
        {
            "start_ns": before.gather(rows), "end_ns": start.gather(rows),
            "returned": returned.scatter(is_same, low - LATENCY_NS), "call": at,
            "process_id": host.calls["process_id"].gather(at), "thread_id": host.calls["thread_id"].gather(at),
            "within": rows > 0,
        }
    )  # fmt: skip
    if high <= last:
        return gaps
    # What comes after all work is judged by a main thread.
    process, thread = _main_of(work, host)
    returns = high if host.mains else None
    end = pl.DataFrame([(last, high, returns, None, process, thread, False)], schema=gaps.schema, orient="row")
    return pl.concat([gaps, end])


def _main_of(work: pl.DataFrame, host: HostTime) -> tuple[int | None, int | None]:
    """The main thread of the process that launched a device's last work; if unknown, the one of most activity."""
    busiest = next(iter(host.mains.values()), (None, None))
    if len(host.mains) < 2:
        return busiest
    last = work.select("rank", "api_call_id").drop_nulls().tail(1)
    process = host.calls["process_id"].gather(rows_of(host.calls["rank"], host.calls["api_call_id"], last).drop_nulls())
    return host.mains.get(process[0], busiest) if len(process) else busiest


def _in_steps(gaps: pl.DataFrame, windows: pl.DataFrame) -> list[pl.DataFrame]:
    """The gaps in pieces of one step each: the first piece of every gap, and the few others, each by start.

    With `gap`, the row of each before, `step`, null outside of windows, and is_whole.
    """
    pieces = cut(gaps["start_ns"], gaps["end_ns"], windows)
    row = pl.int_range(gaps.height, dtype=pl.Int64, eager=True).alias("gap")
    is_whole = pl.repeat(True, gaps.height, dtype=pl.Boolean, eager=True).scatter(pieces.more["row"], False)
    first = gaps.with_columns(pieces.ends_ns, row, windows["step"].gather(pieces.at), is_whole=is_whole)
    if not pieces.more.height:
        return [first]
    rows = pieces.more["row"]
    step = windows["step"].gather(pieces.more["at"])
    others = first[rows].with_columns(*pieces.more.select("start_ns", "end_ns"), rows.alias("gap"), step)
    return [first, others]


def _caused(gaps: pl.DataFrame, host: HostTime) -> pl.DataFrame:
    """The gaps in pieces of one cause: the columns of PIECES but for rank and device."""
    returned, start, end = gaps["returned"], gaps["start_ns"], gaps["end_ns"]
    times = gaps.select(
        host_end=pl.col("returned").clip(pl.col("start_ns"), pl.col("end_ns")),
        launch_end=(pl.col("returned") + LATENCY_NS).clip(pl.col("start_ns"), pl.col("end_ns")),
    )
    host_end, launch_end = times.get_columns()
    on_host, several = _on_host(gaps, host_end, host)
    # Launching that lasts until the call returned goes on for as long as work takes to start.
    row = on_host["row"]
    goes_on = (on_host["cause"] == "launch") & (on_host["end_ns"] == host_end.gather(row))
    on_host = on_host.with_columns(on_host["end_ns"].zip_with(~goes_on, launch_end.gather(row)))
    is_told = pl.repeat(False, gaps.height, dtype=pl.Boolean, eager=True).scatter(row.filter(goes_on), True)
    late = ((launch_end > host_end) & ~is_told).fill_null(value=False).arg_true()
    pieces = pl.concat(
        [
            on_host,
            _part(late, host_end, launch_end, "launch"),
            _part((end > launch_end).fill_null(value=False).arg_true(), launch_end, end, "dependency"),
            _part(returned.is_null().arg_true(), start, end, "unknown"),
        ]
    )
    is_alone = gaps["is_whole"].scatter(several, False).scatter(late, False)
    facts = [gaps[name].gather(pieces["row"]) for name in ("gap", "step", "call", "within")]
    return pieces.drop("row").with_columns(*facts, is_alone.gather(pieces["row"]).alias("is_alone"))


def _part(rows: pl.Series, starts: pl.Series, ends: pl.Series, cause: str) -> pl.DataFrame:
    """Pieces of some gaps with one cause that no activity tells."""
    return pl.DataFrame(
        {"row": rows.cast(pl.Int64), "start_ns": starts.gather(rows), "end_ns": ends.gather(rows)}
    ).with_columns(cause=pl.lit(cause, CAUSE), activity=pl.lit(None, pl.Int64))


def _settled(pieces: pl.DataFrame, host: HostTime) -> pl.DataFrame:
    """The pieces; of gaps that a wait for the device or a first use explains, launching has that cause."""
    cause, gap = pieces["cause"], pieces["gap"]
    waits = gap.filter(cause == "sync").unique()
    rows = gap.is_in(waits.implode()).arg_true() if len(waits) else waits.clear()
    if len(rows):
        waiting = pieces.select("gap", "start_ns", "cause", "activity")[rows].with_columns(rows.alias("piece"))
        refilled = _refilled(waiting.sort("gap", "start_ns"))
        pieces = pieces.with_columns(
            pieces["activity"].scatter(refilled["piece"], refilled["activity"]),
            pieces["is_alone"].scatter(rows, False),
            cause.to_physical().scatter(refilled["piece"], refilled["cause"].to_physical()).alias("cause"),
        )
        pieces = pieces.with_columns(pl.Series("cause", CAUSES, dtype=CAUSE).gather(pieces["cause"]))
    length = pl.col("end_ns") - pl.col("start_ns")
    may_load = (pl.col("cause") == "launch") & ((length >= LOADING_NS) | ~pl.col("is_alone"))
    launching = pieces.filter(may_load).group_by("gap").agg(pl.col("call").first(), ns=length.sum())
    launching = launching.filter(pl.col("ns") >= LOADING_NS)
    loads = _first_uses(pieces, launching, host) if launching.height else launching["gap"]
    if len(loads):
        is_loading = (pl.col("cause") == "launch") & pl.col("gap").is_in(loads.implode())
        pieces = pieces.with_columns(cause=pl.when(is_loading).then(pl.lit("loading", CAUSE)).otherwise("cause"))
    return pieces


def _first_uses(pieces: pl.DataFrame, long: pl.DataFrame, host: HostTime) -> pl.Series:
    """Of gaps with long launching those whose next kernel is the first of its name and took by far the longest.

    Libraries and kernels are loaded when they are first used, inside op or launch, and no profiler tells of it.
    """
    uses = host.uses()
    uses = uses.filter(pl.col("name").is_in(uses.join(long, on="call", how="semi")["name"].unique().implode()))
    firsts = uses.filter(pl.col("name").is_first_distinct())
    length = pl.col("end_ns") - pl.col("start_ns")
    known = uses["call"].drop_nulls()
    launching = pieces.filter((pl.col("cause") == "launch") & pl.col("call").is_in(known.implode()))
    each = launching.group_by("gap", "call").agg(ns=length.sum()).join(uses, on="call")
    later = each.join(firsts, on="call", how="anti").group_by("name").agg(later_ns=pl.col("ns").max())
    found = each.join(firsts.select("call"), on="call").join(later, on="name", how="left")
    is_loaded = (pl.col("ns") >= LOADING_NS) & (pl.col("ns") >= _MUCH_LONGER * pl.col("later_ns").fill_null(0))
    return found.filter(is_loaded)["gap"].unique()


def _refilled(pieces: pl.DataFrame) -> pl.DataFrame:
    """The pieces, launching that follows a wait for the device in the same gap as part of what that wait costs."""
    is_new = pl.col("gap") != pl.col("gap").shift(1)
    wait = pl.when(pl.col("cause") == "sync").then("activity")
    waited = wait.when(is_new | (pl.col("cause") != "launch")).then(pl.lit(-1)).forward_fill()
    is_refill = (pl.col("cause") == "launch") & (waited >= 0)
    return pieces.with_columns(
        cause=pl.when(is_refill).then(pl.lit("sync", CAUSE)).otherwise("cause"),
        activity=pl.when(is_refill).then(waited).otherwise("activity"),
    )


def _on_host(gaps: pl.DataFrame, host_end: pl.Series, host: HostTime) -> tuple[pl.DataFrame, pl.Series]:
    """The time until calls returned, in pieces by what their thread did: row of the gap, times, cause, activity.

    And the rows of gaps that have several pieces.
    """
    has_host_time = (host_end > gaps["start_ns"]).fill_null(value=False)
    found: list[pl.DataFrame] = [pl.DataFrame(schema=_FOUND)]
    several = [pl.Series([], dtype=pl.Int64)]
    for lane, rows in _by_lane(gaps, has_host_time):
        timeline = host.timeline(lane)
        starts = gaps["start_ns"].gather(rows)
        pieces = cut(starts, host_end.gather(rows), timeline)
        row = rows.cast(pl.Int64).alias("row")
        for own, begins, ends, at in (
            (row, starts, pieces.ends_ns, pieces.at),
            (row.gather(pieces.more["row"]), *pieces.more.select("start_ns", "end_ns", "at")),
        ):
            told = [timeline["cause"].gather(at).fill_null(host.unrecorded), timeline["activity"].gather(at)]
            found.append(pl.DataFrame([own, begins, ends, *told]))
        several.append(found[-1]["row"])
    return pl.concat(found), pl.concat(several)


def _by_lane(gaps: pl.DataFrame, chosen: pl.Series) -> Iterator[tuple[tuple[int, int], pl.Series]]:
    """The rows of chosen gaps by the process and thread that launched what comes next."""
    process, thread = gaps["process_id"], gaps["thread_id"]
    lanes = gaps.select("process_id", "thread_id").filter(chosen).unique(maintain_order=True)
    for lane in lanes.iter_rows():
        rows = chosen if lanes.height == 1 else chosen & process.eq_missing(lane[0]) & thread.eq_missing(lane[1])
        yield lane, rows.arg_true()
