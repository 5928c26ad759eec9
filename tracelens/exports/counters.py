"""Compute counters that no profiler recorded: work in queues, bandwidth of copies."""

from collections.abc import Iterator

import polars as pl

from tracelens.exports.export import Selection
from tracelens.schemas import DEVICE_WORK

_Series = tuple[tuple[object, str], pl.DataFrame]
"""A device and a counter's name, and its values: time_ns, value."""


def queue_lengths(selection: Selection, rank: int) -> Iterator[_Series]:
    """Yield, for each stream, how much work was launched and has not begun.

    The number grows where a call begins, and falls where its kernel, copy or fill begins, as in
    Holistic Trace Analysis.
    """
    columns = ("device_id", "stream_id", "start_ns", "api_call_id")
    work = pl.concat([selection.rows(table, rank, *columns) for table in DEVICE_WORK])
    if work["api_call_id"].count() == 0:
        return
    calls = selection.rows("api_calls", rank, "api_call_id", launched_at := "start_ns")
    calls = calls.rename({launched_at: "called_ns"})
    with_calls = work.join(calls, on="api_call_id", maintain_order="left")
    work = with_calls.drop("api_call_id")
    by_stream = work.partition_by("device_id", "stream_id", as_dict=True, include_key=False)
    for (device, stream), part in by_stream.items():
        launches = part.select(time_ns="called_ns", change=pl.lit(1.0))
        begins = part.select(time_ns="start_ns", change=pl.lit(-1.0))
        values = _running_sum(pl.concat([launches, begins]))
        yield (device, f"queue length of stream {stream}"), values


def bandwidths(selection: Selection, rank: int) -> Iterator[_Series]:
    """Yield, for each direction, the bytes per nanosecond that running copies move."""
    columns = ("device_id", "direction", "start_ns", "duration_ns", "size_bytes")
    duration_ns = pl.col("duration_ns")
    size_bytes = pl.col("size_bytes")
    every_copy = selection.rows("memcpys", rank, *columns)
    copies = every_copy.filter((duration_ns > 0) & size_bytes.is_not_null())
    rate = size_bytes / duration_ns
    end = pl.col("start_ns") + duration_ns
    by_direction = copies.partition_by("device_id", "direction", as_dict=True, include_key=False)
    for (device, direction), part in by_direction.items():
        begins = part.select(time_ns="start_ns", change=rate)
        ends = part.select(time_ns=end, change=-rate)
        values = _running_sum(pl.concat([begins, ends]))
        yield (device, f"{direction} bandwidth"), values


def _running_sum(changes: pl.DataFrame) -> pl.DataFrame:
    """Return the sum of all changes so far at each moment: time_ns, value."""
    change = pl.col("change")
    change_at_moment = changes.group_by("time_ns").agg(change.sum())
    by_time = change_at_moment.sort("time_ns")
    # Sums of floats leave a trace of what was added and taken away again.
    sum_so_far = change.cum_sum().round(9)
    return by_time.select("time_ns", value=sum_so_far + 0.0)
