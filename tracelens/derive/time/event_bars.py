"""Draw an interval of a rank's time as bars: device work, idle time, queues and threads."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.events.nesting import nest
from tracelens.derive.time.device_work import COMMUNICATION, COMPUTE, COPY, DeviceWork
from tracelens.derive.time.host_time import host_of_calls
from tracelens.derive.time.host_tracks import CAUSE_OF_KIND
from tracelens.derive.time.idle import counted_idle
from tracelens.derive.time.time_parts import TimeModel
from tracelens.trace import Trace

_HOST_KINDS = ("op", "module", "annotation", "nvtx")
"""Kinds of spans on a thread's lane. Python calls have a lane of their own."""
PYTHON_LANE = ", Python calls"
"""Suffix of the name of a lane with a thread's Python calls."""
IDS_OF_WORK = {"kernels": "kernel_id", "memcpys": "memcpy_id", "memsets": "memset_id"}
BARS: dict[str, Any] = {
    "lane": pl.String,
    "level": pl.Int64,
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
    "name": pl.String,
    "kind": pl.String,
    "api_call_id": pl.Int64,
    "n": pl.Int64,
    "rank": pl.Int32,
    "source": pl.String,
    "event_id": pl.Int64,
}
"""Columns of bars.

- `lane`: row of the timeline, such as a stream or a thread
- `level`: nesting depth in the lane
- `kind`: a kernel's primitive, a cause of idle time, or another kind
- `api_call_id`: the call, which is the same for a launch and its work
- `n`: number of bars that were merged into this bar
- `source`, `event_id`: table and id of the event that the bar shows, or None
"""
BAR = list(BARS)
QUEUES = (
    (0, "queue: empty"),
    (1, "queue: 1 to 9"),
    (10, "queue: 10 to 99"),
    (100, "queue: 100 or more"),
)
"""Kinds of bars for a device's queue: the least number of waiting launches, and the kind."""
CODED: dict[Any, Any] = {pl.String: pl.Categorical}
_TIMES = ("start_ns", "duration_ns")
_AROUND_NS = 10**9


def bars_between(model: TimeModel, rank: int, begin: int, length: int) -> pl.DataFrame:
    """List a rank's bars in the `length` ns after `begin`, lane by lane.

    The bars' times are relative to `begin`.
    """
    end = begin + length
    work = _work(model.trace, rank, begin, end)
    stream_id = pl.col("stream_id").fill_null(0)
    stream = pl.format("GPU {} stream {}", "device_id", stream_id)
    streams = _clipped(
        _as_bars(work, lane=stream, kind="drawn"),
        begin,
        length,
    )
    others = [
        _idle(model, rank, work, (begin, end)),
        _queues(model.trace, rank, begin, end),
        _host(model.trace, rank, begin, end),
    ]
    bars = pl.concat(
        [
            streams,
            _clipped(pl.concat(others), begin, length),
        ]
    )
    return bars.with_columns(rank=pl.lit(rank, pl.Int32))


def python_calls(trace: Trace, rank: int, begin: int, length: int) -> pl.DataFrame:
    """Draw one bar per Python call in the interval, nested by thread."""
    is_python = pl.col("kind") == "python"
    is_within = _within(begin, begin + length)
    columns = ("process_id", "thread_id", *_TIMES, "name", "kind", "span_id")
    calls = trace.select(
        "spans",
        *columns,
        where=is_within & is_python,
        rank=rank,
    )
    if calls.is_empty():
        return pl.DataFrame(schema=BARS).cast(CODED)
    named = calls.with_columns(
        event_id="span_id",
        source=pl.lit("spans", pl.Categorical),
        rank=pl.lit(rank, pl.Int32),
        api_call_id=pl.lit(None, pl.Int64),
    )
    bars = _nested(named, PYTHON_LANE)
    return _clipped(bars, begin, length)


def _work(trace: Trace, rank: int, begin: int, end: int) -> pl.DataFrame:
    """Return the kernels, copies and fills in an interval, with each device's neighbours.

    Neighbours are the last work before and the first work after the interval.
    """
    is_near = _within(begin - _AROUND_NS, end + _AROUND_NS)
    recorded = pl.concat(_recorded_work(trace, rank, is_near))
    work = recorded.sort("device_id", "start_ns")
    start_ns = pl.col("start_ns")
    has_ended = begin >= END
    is_later = start_ns >= end
    within = work.filter(~has_ended, ~is_later)
    ended = work.filter(has_ended).group_by("device_id", maintain_order=True)
    later = work.filter(is_later).group_by("device_id", maintain_order=True)
    # Neighbours bound the first and the last idle time.
    last_ended = ended.last().select(work.columns)
    first_later = later.first().select(work.columns)
    drawn = pl.concat([within, last_ended, first_later])
    return drawn.sort(
        "device_id",
        "stream_id",
        "start_ns",
        nulls_last=True,
    )


def _recorded_work(trace: Trace, rank: int, condition: pl.Expr) -> Iterator[pl.DataFrame]:
    """Yield a rank's kernels, copies and fills that meet the condition, with equal columns."""
    shared = ("device_id", "stream_id", *_TIMES, "api_call_id")
    is_communication = pl.when("is_communication").then(COMMUNICATION).otherwise(COMPUTE)
    kernel_kind = is_communication.cast(pl.UInt8)
    copy_kind = pl.lit(COPY, pl.UInt8)
    copy_name = pl.format("{} copy", "direction")
    for table, columns, name, drawn, kind in (
        (
            "kernels",
            ("name", "primitive", "is_communication"),
            "name",
            "primitive",
            kernel_kind,
        ),
        (
            "memcpys",
            ("direction",),
            copy_name,
            pl.lit("copy"),
            copy_kind,
        ),
        (
            "memsets",
            (),
            pl.lit("memset"),
            pl.lit("copy"),
            copy_kind,
        ),
    ):
        event_id = IDS_OF_WORK[table]
        recorded = trace.select(
            table,
            *shared,
            event_id,
            *columns,
            where=condition,
            rank=rank,
        )
        work = recorded.select(
            *shared,
            name=name,
            drawn=drawn,
            kind=kind,
            source=pl.lit(table),
            event_id=event_id,
        )
        yield work.cast(CODED)


def _idle(
    model: TimeModel,
    rank: int,
    work: pl.DataFrame,
    window: tuple[int, int],
) -> pl.DataFrame:
    """Draw one bar per idle interval of each device with work.

    A bar's name is the cause of the idle time and its call path.
    """
    parts = [pl.DataFrame(schema=BARS).cast(CODED)]
    edges = {
        "start_ns": [window[0]],
        "end_ns": [window[1]],
        "counted": [True],
    }
    windows = pl.DataFrame(edges)
    host = host_of_calls(
        model.trace,
        model.host,
        rank,
        work["api_call_id"],
    )
    assert host.ids is not None
    calls = pl.DataFrame({"api_call_id": host.ids}).with_row_index("call")
    with_calls = work.join(
        calls,
        on="api_call_id",
        how="left",
        maintain_order="left",
    )
    call = pl.col("call").cast(pl.Int64).fill_null(-1)
    by_device = with_calls.partition_by("device_id", as_dict=True)
    for (device_id,), work_of_device in by_device.items():
        columns = work_of_device.select(*_TIMES, "kind", call).sort("start_ns")
        device = DeviceWork(host, (columns, columns.clear()), windows)
        # Loading of code at a kernel's first use is not told from launching here.
        idle = pl.concat(counted_idle(device, None))
        place_names = pl.Series([*host.places, None], dtype=pl.String)
        what = place_names.gather(idle["place"])
        cause = pl.Series(CAUSE_OF_KIND).gather(idle["cause"])
        parts.append(
            _as_bars(
                idle.with_columns(kind="idle: " + cause),
                lane=pl.lit(f"GPU {device_id} idle"),
                duration_ns=pl.col("end_ns") - pl.col("start_ns"),
                name=pl.concat_str(
                    cause.alias("cause"),
                    what.alias("what"),
                    separator=": ",
                    ignore_nulls=True,
                ),
                api_call_id=pl.lit(None, pl.Int64),
            )
        )
    return pl.concat(parts)


def _queues(trace: Trace, rank: int, begin: int, end: int) -> pl.DataFrame:
    """Draw each device's number of launches that wait for their work to begin.

    A bar is an interval in which this number stays within one of QUEUES.
    """
    lengths = _with_class(_queue_lengths(trace, rank, begin, end))
    device_number = pl.col("device_id").rle_id()
    class_number = pl.col("queue_class").rle_id()
    bar = class_number + device_number * (lengths.height + 1)
    by_bar = lengths.group_by("device_id", bar=bar, maintain_order=True)
    sums = by_bar.agg(
        pl.col("queue_class").first(),
        pl.col("length").max(),
        pl.col("time_ns").first(),
    )
    time_ns = pl.col("time_ns")
    next_ns = time_ns.shift(-1).over("device_id").fill_null(end)
    words = pl.Series([word for _, word in QUEUES])
    bars = sums.with_columns(
        until=next_ns,
        kind=words.gather(sums["queue_class"]),
    )
    waiting = pl.format("up to {} launches wait", "length")
    is_waiting = pl.col("length") > 0
    return _as_bars(
        bars,
        lane=pl.format("GPU {} queue", "device_id"),
        start_ns=time_ns,
        duration_ns=pl.col("until") - time_ns,
        name=pl.when(is_waiting).then(waiting).otherwise(pl.lit("no launch waits")),
        api_call_id=pl.lit(None, pl.Int64),
    )


def _with_class(lengths: pl.DataFrame) -> pl.DataFrame:
    """Add queue_class, the index of each queue's length in QUEUES."""
    least_of_classes = pl.Series([least for least, _ in QUEUES[1:]])
    queue_class = least_of_classes.search_sorted(lengths["length"], side="right")
    return lengths.with_columns(queue_class=pl.Series(queue_class, dtype=pl.Int64))


def _queue_lengths(trace: Trace, rank: int, begin: int, end: int) -> pl.DataFrame:
    """Return each device's queue length after each change: device_id, time_ns, change, length."""
    start_ns = pl.col("start_ns")
    is_begun = start_ns.is_between(begin, end + _AROUND_NS)
    is_called = start_ns.is_between(begin - _AROUND_NS, end)
    columns = ("device_id", "start_ns", "api_call_id")
    work = pl.concat(
        trace.select(
            table,
            *columns,
            where=is_begun,
            rank=rank,
        )
        for table in IDS_OF_WORK
    )
    calls = trace.select(
        "api_calls",
        "api_call_id",
        "start_ns",
        where=is_called,
        rank=rank,
    )
    called = calls.rename({"start_ns": "called_ns"})
    waiting = work.drop_nulls("api_call_id").join(called, on="api_call_id")
    one = pl.lit(1, pl.Int64)
    launched = waiting.select("device_id", time_ns="called_ns", change=one)
    begun = waiting.select("device_id", time_ns="start_ns", change=-one)
    changes = pl.concat([launched, begun]).group_by("device_id", "time_ns")
    change = pl.col("change")
    sums = changes.agg(change.sum()).sort("device_id", "time_ns")
    return sums.with_columns(length=change.cum_sum().over("device_id"))


def _host(trace: Trace, rank: int, begin: int, end: int) -> pl.DataFrame:
    """Draw one bar per op, module call, annotation and API call, nested by thread.

    Threads with most time come first.
    """
    shared = ("process_id", "thread_id", *_TIMES)
    is_within = _within(begin, end)
    is_drawn = is_within & pl.col("kind").is_in(_HOST_KINDS)
    spans = trace.select(
        "spans",
        *shared,
        "name",
        "kind",
        "span_id",
        where=is_drawn,
        rank=rank,
    )
    calls = trace.select(
        "api_calls",
        *shared,
        "api",
        "api_call_id",
        where=is_within,
        rank=rank,
    )
    bars_of_spans = spans.select(
        *shared,
        "name",
        "kind",
        event_id="span_id",
        api_call_id=pl.lit(None, pl.Int64),
        source=pl.lit("spans", pl.Categorical),
    )
    bars_of_calls = calls.select(
        *shared,
        name="api",
        kind=pl.lit("api call"),
        event_id="api_call_id",
        api_call_id="api_call_id",
        source=pl.lit("api_calls"),
    )
    both = pl.concat([bars_of_spans, bars_of_calls.cast(CODED)])
    return _nested(both, "")


def _nested(rows: pl.DataFrame, lane: str) -> pl.DataFrame:
    """Return the rows of host threads as nested bars, the threads with most time first."""
    thread = ["process_id", "thread_id"]
    in_order = rows.sort(
        "start_ns",
        "duration_ns",
        descending=[False, True],
        maintain_order=True,
    )
    no_hint = pl.lit(None, pl.Int64)
    times = in_order.select(*thread, *_TIMES, parent_hint=no_hint)
    no_calls = times.clear().drop("parent_hint")
    nesting = nest(times, no_calls)
    busy_ns = pl.col("duration_ns").sum().over(thread)
    levelled = in_order.with_columns(
        level=pl.Series(nesting.depth, dtype=pl.Int64),
        busy=busy_ns,
    )
    bars = levelled.sort(
        "busy",
        *thread,
        descending=[True, False, False],
        maintain_order=True,
    )
    thread_id = pl.col("thread_id").fill_null(0)
    return _as_bars(bars, lane=pl.format(f"thread {{}}{lane}", thread_id))


def _as_bars(rows: pl.DataFrame, **columns: pl.Expr | str) -> pl.DataFrame:
    """Turn rows into bars with the columns BARS.

    `columns` replace columns of `rows`.
    """
    defaults = {
        "level": pl.lit(0, pl.Int64),
        "n": pl.lit(1, pl.Int64),
    }
    for name in ("rank", "source", "event_id"):
        defaults[name] = pl.lit(None, BARS[name])
    recorded = {name: pl.col(name) for name in rows.columns if name in BARS}
    by_name = defaults | recorded | columns
    bars = rows.select(**by_name)
    return bars.select(BAR).cast(CODED)


def _clipped(bars: pl.DataFrame, begin: int, length: int) -> pl.DataFrame:
    """Cut bars to an interval of time, and make their times relative to `begin`."""
    last_ns = begin + length
    start_ns = pl.col("start_ns")
    overlapping = bars.filter(begin < END, start_ns < last_ns)
    clipped_start = start_ns.clip(begin)
    clipped_end = END.clip(upper_bound=last_ns)
    return overlapping.with_columns(
        start_ns=clipped_start - begin,
        duration_ns=clipped_end - clipped_start,
    )


def _within(begin: int, end: int) -> pl.Expr:
    """Return a condition for events that overlap an interval of time."""
    return (pl.col("start_ns") < end) & (begin < END)
