"""Find the idle time of a device, and a cause for each nanosecond of it.

The cause is the activity, in that time, of the thread that launches the next work. A gap is the
idle time between one kernel, copy or fill and the next.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import polars as pl

from tracelens.derive.columns.split_intervals import cut_rows
from tracelens.derive.time.device_work import DeviceWork
from tracelens.derive.time.host_time import HostTime
from tracelens.derive.time.host_tracks import IS_WORK, UNKNOWN, Axis, Tracks
from tracelens.schemas.host import CAUSES

LATENCY_NS = 10_000
"""Longest time from a launch's return to the start of its work, if that work need not wait."""

PLACES = ("cause", "place", "idle_ns", "n_gaps", "longest_ns", "example_ns")
_SYNC, LAUNCH, _DEPENDENCY = (CAUSES.index(name) for name in ("sync", "launch", "dependency"))
LENGTH = pl.col("end_ns") - pl.col("start_ns")
_CALL = ("returned", "thread", "place")
_GAPS = {
    "gap": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "within": pl.Boolean,
    "returned": pl.Int64,
    "thread": pl.Int32,
    "call_place": pl.Int32,
}
_WORK_AT_ONCE = 1 << 18
"""This many kernels, copies and fills are examined at a time, with 0.5 kB of memory for each."""


def counted_idle(device: DeviceWork, causes: pl.Series | None) -> Iterator[pl.DataFrame]:
    """Yield the idle intervals, sorted by start: start_ns, end_ns, cause and place.

    Only intervals in windows with the flag `counted` are yielded. `cause` is an index of
    IDLE_KINDS. `place` is an index of `HostTime.places`, or the length of this list if unknown.
    """
    place = known_place(len(device.host.places))
    for cut in cut_gaps(in_time_order(device), device):
        counted = with_true_causes(cut, causes).filter(is_counted(device))
        yield counted.select("start_ns", "end_ns", "cause", place)


def is_counted(device: DeviceWork) -> pl.Expr:
    """Return the condition that idle time lies in a window with the flag `counted`."""
    rows = device.windows["counted"].arg_true().cast(pl.Int64)
    return pl.col("window").is_in(rows.implode())


def in_time_order(device: DeviceWork) -> Iterator[pl.DataFrame]:
    """Yield a device's work sorted by start, some rows at a time, with end_ns and `gap`.

    `gap` is the work's row number among kernels, then all other work. It serves as the id of the
    gap before the work.
    """
    larger = max(device.work, key=len)
    starts = larger["start_ns"]
    bounds = starts.gather_every(_WORK_AT_ONCE).unique(maintain_order=True)
    # No part is empty: each begins with a row of the larger frame.
    later_bounds = bounds.filter(bounds > starts.min())
    end = pl.col("start_ns") + pl.col("duration_ns")
    numbered = []
    n_before = 0
    for part in device.work:
        rows = [0, *part["start_ns"].search_sorted(later_bounds), part.height]
        numbered.append([(n_before + row, part[row:after]) for row, after in pairwise(rows)])
        n_before += part.height
    for parts in zip(*numbered, strict=True):
        work = pl.concat([part.with_row_index("gap", offset=row) for row, part in parts])
        in_order = work.sort("start_ns", "duration_ns", "gap")
        yield in_order.with_columns(pl.col("gap").cast(pl.Int64), end_ns=end)


def cut_gaps(work: Iterable[pl.DataFrame], device: DeviceWork) -> Iterator[pl.DataFrame]:
    """Yield the idle time between work, cut where windows, causes or call paths change.

    `work` is the result of `in_time_order`. Intervals are sorted by start.
    """
    after_windows = device.windows.height
    for gaps in _gaps(work, device):
        cut = cut_rows(gaps, device.windows).rename({"at": "window"})
        in_windows = cut.with_columns(pl.col("window").fill_null(after_windows))
        yield _refilled(_split_by_cause(in_windows, device.host))


def with_true_causes(idle: pl.DataFrame, causes: pl.Series | None) -> pl.DataFrame:
    """Replace the cause `launch` of idle time by the cause that `causes` has for the next work.

    `causes` is a result of `causes_of_launching`. If it is None, the cause remains `launch`.
    """
    if causes is None:
        return idle
    gap = idle["gap"]
    work_after = gap.clip(upper_bound=causes.len() - 1)
    cause_of_work = causes.gather(work_after)
    has_work_after = pl.col("gap") < causes.len()
    is_launching = pl.col("cause") == LAUNCH
    cause = pl.when(is_launching & has_work_after).then(cause_of_work)
    return idle.with_columns(cause=cause.otherwise("cause"))


def known_place(n_places: int) -> pl.Expr:
    """Return the index of the call path of idle time.

    Idle time without a call path gets that of the call that launches the next work. If this is
    unknown too, the index is `n_places`.
    """
    place = pl.col("place")
    place_or_call = pl.when(place < 0).then("call_place").otherwise(place)
    known = pl.when(place_or_call < 0).then(n_places).otherwise(place_or_call)
    return known.alias("place")


def _gaps(work: Iterable[pl.DataFrame], device: DeviceWork) -> Iterator[pl.DataFrame]:
    """Yield the idle times (gaps) between device work, sorted by start, in several frames.

    The first gap begins with the first window, and the last gap ends with the last window.

    - `gap`: index of the work that ends the gap
    - `start_ns`, `end_ns`
    - `within`: False before the first work and after the last
    - `returned`, `thread`, `call_place`: end, thread and call path of the work's launching call
    """
    reached = low = device.from_ns
    call_before: int | None = None
    n_work = 0
    for part in work:
        ends = pl.col("end_ns").cum_max().shift(1).fill_null(low).clip(reached)
        gaps = part.select(
            "gap",
            start_ns=ends,
            end_ns="start_ns",
            within=pl.int_range(pl.len()) + n_work > 0,
            call="call",
            before=pl.col("call").shift(1, fill_value=call_before),
        )
        yield _with_calls(gaps.filter(LENGTH > 0), device)
        reached = max(
            reached,
            *part.select(pl.col("end_ns").max()).row(0),
        )
        call_before = part["call"][-1]
        n_work += part.height
    yield _gap_after_all(device, n_work, reached)


def _gap_after_all(device: DeviceWork, n_work: int, reached: int) -> pl.DataFrame:
    """Return the idle time between the last work and the last window's end, if there is any.

    The `n_work` rows of work end at the moment `reached`.
    """
    high = max([reached, *device.windows["end_ns"].top_k(1)])
    # A main thread explains the time after all work.
    thread = device.last_thread
    end = {
        "gap": n_work,
        "start_ns": reached,
        "end_ns": high,
        "within": False,
        "returned": high if thread >= 0 else None,
        "thread": thread,
        "call_place": -1,
    }
    return pl.DataFrame([end] if high > reached else [], schema=_GAPS)


def _with_calls(gaps: pl.DataFrame, device: DeviceWork) -> pl.DataFrame:
    """Add end, thread and call path of the call that launched the work after each idle time."""
    calls = device.host.calls
    call = gaps["call"]
    is_row = call.is_between(0, calls.height - 1)
    rows = call.set(~is_row, None)
    known = gaps.with_columns(
        returned=calls["returned"].gather(rows),
        thread=calls["thread"].gather(rows),
        call_place=calls["place"].gather(rows).fill_null(-1),
    )
    # Later kernels of a replayed graph wait for its earlier kernels, even before the call has
    # returned.
    is_same_call = pl.col("call") == pl.col("before")
    is_known = pl.col("returned").is_not_null()
    is_later_kernel = (is_same_call & is_known).fill_null(value=False)
    before_all = device.from_ns - LATENCY_NS
    returned = pl.when(is_later_kernel).then(before_all).otherwise("returned")
    return known.with_columns(returned=returned).select(*_GAPS)


def _split_by_cause(gaps: pl.DataFrame, host: HostTime) -> pl.DataFrame:
    """Cut idle time into intervals of one cause and call path.

    A call path of -1 means the path of the launching call.
    """
    returned = pl.col("returned")
    start_ns = pl.col("start_ns")
    end_ns = pl.col("end_ns")
    host_end = pl.col("host_end")
    launch_end = pl.col("launch_end")
    reaches_device_ns = returned + LATENCY_NS
    numbered = gaps.with_row_index("row").with_columns(
        host_end=returned.clip(start_ns, end_ns),
        launch_end=reaches_device_ns.clip(start_ns, end_ns),
    )
    cut = _on_host(numbered, host)
    # If launching lasts until the call returns, it also covers the latency until the work starts.
    is_launching = pl.col("cause") == LAUNCH
    goes_on = is_launching & (end_ns == host_end)
    extended = cut.filter(goes_on)["row"]
    on_host = cut.with_columns(end_ns=pl.when(goes_on).then(launch_end).otherwise(end_ns))
    is_extended = pl.col("row").is_in(extended.implode())
    late = numbered.filter((launch_end > host_end) & ~is_extended)
    waiting = numbered.filter(end_ns > launch_end)
    without_call = numbered.filter(returned.is_null())
    parts = [
        on_host,
        late.with_columns(
            *_cause(LAUNCH),
            start_ns=host_end,
            end_ns=launch_end,
        ),
        waiting.with_columns(*_cause(_DEPENDENCY), start_ns=launch_end),
        without_call.with_columns(_cause(UNKNOWN)),
    ]
    return pl.concat(parts).sort("start_ns")


def _cause(cause: int) -> list[pl.Expr]:
    """Return the columns cause and place for idle time that no activity explains."""
    return [
        pl.lit(cause, pl.UInt8).alias("cause"),
        pl.lit(-1, pl.Int32).alias("place"),
    ]


def _on_host(gaps: pl.DataFrame, host: HostTime) -> pl.DataFrame:
    """Return each idle time up to the return of the launching call, cut by activity.

    The activities are those that delay the thread of the launching call.
    """
    goes_past = pl.col("host_end") > pl.col("start_ns")
    before_return = gaps.filter(goes_past).with_columns(end_ns="host_end")
    cut = _cut_by_tracks(before_return, host.tracks)
    return cut.with_columns(
        pl.col("cause").fill_null(host.unrecorded),
        pl.col("place").fill_null(-1),
    )


def _cut_by_tracks(intervals: pl.DataFrame, tracks: Tracks) -> pl.DataFrame:
    """Cut disjoint intervals of threads by the activities that delay the threads.

    `intervals` needs start_ns, end_ns and `thread`. Add `cause` and `place` of each activity, both
    None where no activity is known.
    """
    no_cause = pl.lit(None, pl.UInt8)
    no_place = pl.lit(None, pl.Int32)
    if not intervals.height:
        return intervals.with_columns(cause=no_cause, place=no_place)
    axis = Axis.of(intervals, tracks.segments)
    segments = axis.laid_out(_numbered_segments(tracks), "track")
    work = segments.filter(IS_WORK)
    thread_rows = intervals["thread"].cast(pl.Int64)
    rest = intervals.hstack(tracks.of_threads[thread_rows])
    columns = [*intervals.columns, "cause", "place"]
    parts = []
    in_turn = ("own", work), ("shared", segments), ("own", segments), ("main", segments)
    for track, segments_of_track in in_turn:
        if rest.is_empty():
            break
        cut = cut_rows(axis.laid_out(rest, track), segments_of_track)
        rows = cut["at"]
        rest = axis.read_back(cut)
        named = rest.with_columns(
            cause=segments_of_track["cause"].gather(rows),
            place=segments_of_track["place"].gather(rows),
        )
        known = named.drop_nulls("cause")
        parts.append(known.select(columns))
        rest = rest.filter(rows.is_null())
    unknown = rest.with_columns(cause=no_cause, place=no_place)
    return pl.concat([*parts, unknown.select(columns)])


def _numbered_segments(tracks: Tracks) -> pl.DataFrame:
    """Return the segments of all tracks, with the number of each segment's track in `track`."""
    bounds = pl.DataFrame(
        tracks.bounds,
        schema=["first", "after"],
        orient="row",
    )
    track_number = pl.col("track").cast(pl.Int32)
    rows = bounds.with_row_index("track").select(track_number, row=pl.int_ranges("first", "after"))
    has_rows = pl.col("row").list.len() > 0
    row_of_segment = rows.filter(has_rows).explode("row")
    return tracks.segments[row_of_segment["row"]].with_columns(row_of_segment["track"])


def _refilled(idle: pl.DataFrame) -> pl.DataFrame:
    """Give launching the cause and place of the wait that it directly follows in the same gap."""
    gap = pl.col("gap")
    cause = pl.col("cause")
    is_new = (gap != gap.shift(1)).fill_null(value=True)
    is_launch = cause == LAUNCH
    is_wait = cause == _SYNC
    # For each interval, whether it follows a wait, and the place of that wait.
    run = (is_new | ~is_launch).cum_sum()
    first_is_wait = is_wait.first().over(run)
    with_waits = idle.with_columns(
        waits=first_is_wait,
        waited=pl.col("place").first().over(run),
    )
    is_refill = is_launch & pl.col("waits")
    sync_code = pl.lit(_SYNC, pl.UInt8)
    return with_waits.with_columns(
        cause=pl.when(is_refill).then(sync_code).otherwise("cause"),
        place=pl.when(is_refill).then("waited").otherwise("place"),
    )
