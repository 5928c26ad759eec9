"""Compute counters from events: queue lengths of streams, and bandwidth of copies."""

from collections.abc import Iterator

import polars as pl

from tracelens.exports.export import Selection
from tracelens.schemas import DEVICE_WORK

_STREAM = ("device_id", "stream_id")
_Series = tuple[tuple[object, str], pl.DataFrame]
"""A device and a counter's name, and the counter's values: time_ns, value."""


def queue_lengths(selection: Selection, rank: int) -> Iterator[_Series]:
    """Yield the queue length of each stream, for one window of time after another.

    A launch is in the queue from the start of its call until its work starts, as Holistic Trace
    Analysis defines it. Work without a recorded call is left out.
    """
    columns = (*_STREAM, "api_call_id")
    work = pl.concat([selection.rows(table, rank, *columns) for table in DEVICE_WORK])
    launching_calls = work["api_call_id"]
    if launching_calls.count() == 0:
        return
    # A frame of all work is released as soon as the next one is made.
    has_call = _is_among(_recorded_calls(selection, rank), launching_calls)
    work = work.filter(has_call)
    launched = work.sort("api_call_id")
    del work, launching_calls, has_call
    lengths = dict[tuple[object, ...], float]()
    for window in selection.windows_of_rows(rank):
        for stream, changes in _changes(selection, rank, window, launched):
            device, number = stream
            before = lengths.get(stream, 0.0)
            within_window = _running_sum(changes)
            length = pl.col("value") + before
            values = within_window.with_columns(length)
            lengths[stream] = float(values["value"][-1])
            yield (device, f"queue length of stream {number}"), values


def _recorded_calls(selection: Selection, rank: int) -> pl.Series:
    """Return the ids of the selected API calls, sorted."""
    ids = selection.rows("api_calls", rank, "api_call_id")["api_call_id"]
    return ids if ids.is_sorted() else ids.sort()


def _changes(
    selection: Selection,
    rank: int,
    window: pl.Expr,
    launched: pl.DataFrame,
) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    """Return the changes of each stream's queue length in a window, by device and stream.

    A change has time_ns, and 1 for a launch or -1 for work that begins. `launched` has device,
    stream and call of all work, sorted by call.
    """
    launches = _launches(selection, rank, window, launched)
    begins = _begins(selection, rank, window, launched)
    grows = launches.select(
        *_STREAM,
        time_ns="start_ns",
        change=pl.lit(1.0),
    )
    falls = begins.select(
        *_STREAM,
        time_ns="start_ns",
        change=pl.lit(-1.0),
    )
    changes = pl.concat([grows, falls])
    by_stream = changes.partition_by(*_STREAM, as_dict=True, include_key=False)
    return [*by_stream.items()]


def _launches(
    selection: Selection,
    rank: int,
    window: pl.Expr,
    launched: pl.DataFrame,
) -> pl.DataFrame:
    """Return the launch calls in a window, with device and stream of the launched work."""
    calls = selection.rows("api_calls", rank, "api_call_id", "start_ns", where=window)
    ids = calls["api_call_id"]
    lowest = pl.lit(ids.min(), pl.Int64)
    highest = pl.lit(ids.max(), pl.Int64)
    is_near = pl.col("api_call_id").is_between(lowest, highest)
    launched_near = launched.filter(is_near)
    return calls.join(launched_near, on="api_call_id")


def _begins(
    selection: Selection,
    rank: int,
    window: pl.Expr,
    launched: pl.DataFrame,
) -> pl.DataFrame:
    """Return the work with a recorded launch call that begins in a window."""
    columns = (*_STREAM, "api_call_id", "start_ns")
    tables = [selection.rows(table, rank, *columns, where=window) for table in DEVICE_WORK]
    work = pl.concat(tables)
    was_launched = _is_among(launched["api_call_id"], work["api_call_id"])
    return work.filter(was_launched)


def _is_among(known: pl.Series, ids: pl.Series) -> pl.Series:
    """Return for each id whether the sorted series `known` contains it; False for None."""
    n_below = known.search_sorted(ids, side="left")
    n_up_to = known.search_sorted(ids, side="right")
    return n_below < n_up_to


def bandwidths(selection: Selection, rank: int) -> Iterator[_Series]:
    """Yield the bandwidth of the running copies in bytes per nanosecond, by copy direction."""
    columns = ("device_id", "direction", "start_ns", "duration_ns", "size_bytes")
    duration_ns = pl.col("duration_ns")
    size_bytes = pl.col("size_bytes")
    every_copy = selection.rows("memcpys", rank, *columns)
    takes_time = duration_ns > 0
    has_size = size_bytes.is_not_null()
    copies = every_copy.filter(takes_time & has_size)
    rate = size_bytes / duration_ns
    end = pl.col("start_ns") + duration_ns
    by_direction = copies.partition_by(
        "device_id",
        "direction",
        as_dict=True,
        include_key=False,
    )
    for (device, direction), part in by_direction.items():
        begins = part.select(time_ns="start_ns", change=rate)
        ends = part.select(time_ns=end, change=-rate)
        values = _running_sum(pl.concat([begins, ends]))
        yield (device, f"{direction} bandwidth"), values


def _running_sum(changes: pl.DataFrame) -> pl.DataFrame:
    """Return the cumulative sum of the changes, one row per time: time_ns, value."""
    change = pl.col("change")
    by_moment = changes.group_by("time_ns")
    change_at_moment = by_moment.agg(change.sum())
    by_time = change_at_moment.sort("time_ns")
    # Adding and subtracting floats leaves rounding errors.
    sum_so_far = change.cum_sum().round(9)
    return by_time.select("time_ns", value=sum_so_far + 0.0)
