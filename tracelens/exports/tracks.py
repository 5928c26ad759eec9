"""The tracks of a timeline: host threads, streams, steps and idle time.

Each is a frame of slices, and their lanes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from tracelens.derive.time.step_table import steps_of
from tracelens.errors import SourceError
from tracelens.exports.export import Selection

_TIMES = ("start_ns", "duration_ns")
_END = (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")
_STREAM = ("device_id", "stream_id")
_AT_ONCE = 1 << 17
_MOST_LANES = 1000


@dataclass(frozen=True, slots=True)
class Track:
    """Slices of one place, by start and longest first.

    Columns: start_ns, end_ns, category, name, and others that tell more. `path` names the track and
    what it lies in, outermost first. `first_flow` and `n_flows` are, for a call, the numbers of the
    device work that it launched; for device work its own number. Slices of the host lie in each
    other.
    """

    path: tuple[str, ...]
    slices: pl.DataFrame
    is_host: bool = False


def tracks_of(selection: Selection, rank: int) -> Iterator[Track]:
    """Yield the tracks of a rank with any slices.

    They are steps, host threads, and each device's idle time and streams.
    """
    steps = selection.in_time(steps_of(selection.trace), rank).select("name", *_TIMES)
    work = _device_work(selection, rank)
    flow = pl.col("first_flow")
    launched = (
        work.drop_nulls("first_flow")
        .group_by("api_call_id")
        .agg(flow.min(), n_flows=pl.len().cast(pl.Int64))
    )
    yield from _track(("steps",), steps.with_columns(category=pl.lit("step")))
    yield from host_tracks(selection, rank, launched)
    idle = selection.in_time(selection.idle, rank).select(
        "device_id",
        "start_ns",
        "what",
        name="cause",
        duration_ns=pl.col("end_ns") - pl.col("start_ns"),
    )
    for (device,), part in _by(idle.with_columns(category=pl.lit("idle")), "device_id"):
        yield from _track(("process" if device is None else f"GPU {device}", "idle"), part)
    for (device, stream), part in _by(work.drop("api_call_id"), *_STREAM):
        yield from _track((f"GPU {device}", f"stream {stream}"), part)
    waits = selection.in_time(selection.trace.frame("synchronizations"), rank)
    for (device, stream), part in _by(
        waits.select(*_STREAM, *_TIMES, name="kind", category=pl.lit("sync")), *_STREAM
    ):
        place = "waits" if stream is None else f"waits of stream {stream}"
        yield from _track((f"GPU {'' if device is None else device}".strip(), place), part)


def host_tracks(
    selection: Selection, rank: int, launched: pl.DataFrame | None = None
) -> Iterator[Track]:
    """Yield a track for each thread with the rank's spans and API calls.

    `launched` has first_flow and n_flows of calls.
    """
    place = ("process_id", "thread_id", *_TIMES)
    spans = selection.rows("spans", rank, *place, "name", "kind").rename({"kind": "category"})
    calls = selection.rows("api_calls", rank, *place, "api_call_id", "api").rename({"api": "name"})
    calls = calls.with_columns(category=pl.lit("api call").cast(pl.Categorical))
    if launched is not None:
        calls = calls.join(launched, on="api_call_id", how="left", maintain_order="left")
    both = pl.concat([spans, calls.drop("api_call_id")], how="diagonal")
    for (process, thread), part in _by(both, "process_id", "thread_id"):
        yield from _track((f"process {process}", f"thread {thread}"), part, is_host=True)


def _track(
    path: tuple[str, ...], slices: pl.DataFrame, *, is_host: bool = False
) -> Iterator[Track]:
    if slices.height:
        ordered = (
            slices.with_columns(_END)
            .drop("duration_ns")
            .sort("start_ns", "end_ns", descending=[False, True], maintain_order=True)
        )
        yield Track(path, ordered, is_host)


def _by(frame: pl.DataFrame, *keys: str) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    """Return the rows of each combination of keys, without these."""
    parts = frame.partition_by(*keys, as_dict=True, include_key=False)
    return sorted(parts.items(), key=lambda item: tuple((key is not None, key) for key in item[0]))


def _device_work(selection: Selection, rank: int) -> pl.DataFrame:
    """Return the rank's kernels, copies and fills.

    Those of known calls are numbered from 1 in the order of the calls.
    """
    kernels = _slices(selection, rank, "kernels", "kernel_id", "name", "library", "primitive")
    layers = selection.layers.filter(pl.col("rank") == rank).drop("rank")
    kernels = kernels.join(layers, on="kernel_id", how="left", maintain_order="left").drop(
        "kernel_id"
    )
    copies = _slices(
        selection, rank, "memcpys", "direction", "source_memory", "destination_memory", "size_bytes"
    )
    copy = pl.format("{} copy, {} to {}", "direction", "source_memory", "destination_memory")
    copies = copies.with_columns(name=copy).drop("direction", "source_memory", "destination_memory")
    fills = _slices(selection, rank, "memsets", "size_bytes").with_columns(name=pl.lit("memset"))
    parts = (part.cast({pl.Categorical: pl.String}) for part in (kernels, copies, fills))
    work = pl.concat(parts, how="diagonal").sort(
        "api_call_id", nulls_last=True, maintain_order=True
    )
    number = pl.when(pl.col("api_call_id").is_not_null()).then(pl.int_range(1, pl.len() + 1))
    return work.with_columns(first_flow=number, n_flows=number.is_not_null().cast(pl.Int64))


def _slices(selection: Selection, rank: int, table: str, *more: str) -> pl.DataFrame:
    """Return the rank's rows of a table of device work.

    One whose call is not among the chosen rows has no call.
    """
    columns = ("device_id", "stream_id", *_TIMES, "api_call_id", "step", *more)
    return selection.rows(table, rank, *columns).with_columns(
        category=pl.lit(table.removesuffix("s"))
    )


def in_lanes(
    starts: pl.Series, ends: pl.Series, *, nested: bool
) -> Iterator[tuple[int, pl.Series]]:
    """Yield lane by lane, some events at a time: a slice's row where it begins, ~row where it ends.

    Slices are sorted by start, the longest first. One goes to the first lane where it overlaps
    none, or where `nested` lies wholly within what is open. Events of a lane are in an order in
    which slices open and close like brackets, also those without a duration.
    """
    rows = pl.int_range(len(starts), eager=True)
    for lane in range(_MOST_LANES):
        left: list[int] = []
        open_now: list[tuple[int, int]] = []
        for part in rows.to_frame().iter_slices(_AT_ONCE):
            own = part.to_series()
            yield lane, _events(own, starts.gather(own), ends.gather(own), (open_now, left, nested))
        if open_now:
            yield lane, pl.Series([~row for _, row in reversed(open_now)], dtype=pl.Int64)
        rows = pl.Series(left, dtype=pl.Int64)
        if not left:
            return
    raise SourceError(
        f"more than {_MOST_LANES:,} events overlap each other on one thread or stream, which no"
        " program does; see tracelens check"
    )


def _events(
    rows: pl.Series,
    starts: pl.Series,
    ends: pl.Series,
    state: tuple[list[tuple[int, int]], list[int], bool],
) -> pl.Series:
    """Return the events of some more rows of a lane.

    `state` has what is open, what another lane gets, and if slices nest.
    """
    open_now, left, nested = state
    events = []
    for row, start, end in zip(rows.to_list(), starts.to_list(), ends.to_list(), strict=True):
        while open_now and open_now[-1][0] <= start:
            events.append(~open_now.pop()[1])
        if open_now and (not nested or open_now[-1][0] < end):
            left.append(row)
        else:
            events.append(row)
            open_now.append((end, row))
    return pl.Series(events, dtype=pl.Int64)
