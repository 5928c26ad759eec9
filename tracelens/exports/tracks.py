"""Yield the tracks of a timeline: host threads, streams, steps and idle time.

A track is one line of the timeline with its slices, such as spans or kernels.
"""

from collections.abc import Iterator

import polars as pl
from msgspec import Struct

from tracelens.derive.kernels.grids import SHAPE
from tracelens.derive.time.step_table import steps_of
from tracelens.exports.arrows import Arrows
from tracelens.exports.export import ROWS_AT_ONCE, Selection

_TIMES = ("start_ns", "duration_ns")
_END = (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")
_STREAM = ("device_id", "stream_id")
_THREAD = ("process_id", "thread_id")
_KERNEL = (
    "name",
    "library",
    "primitive",
    *SHAPE,
    "registers_per_thread",
    "shared_bytes",
    "estimated_occupancy_frac",
)
_SPAN = ("name", "kind", "module_path", "phase", "input_shapes", "input_dtypes")


class Track(Struct, frozen=True):
    """Some slices of one track, in order of start and longest first; more slices may follow."""

    # Names of the parent tracks and the track, outermost first
    path: tuple[str, ...]
    # Columns: start_ns, end_ns, category, name and details. `n_flows` arrows, numbered from
    # `first_flow` on, begin at a slice, or end there if `ends_flow`.
    slices: pl.DataFrame
    # Process and number of a host thread. Its slices are nested.
    thread: tuple[int, int] | None = None


def tracks_of(selection: Selection, rank: int) -> Iterator[Track]:
    """Yield a rank's tracks with their slices, some slices at a time.

    A track can occur several times, with slices of later time. Tracks without slices are left out.
    """
    # Arrows are numbered first, because pairing ops takes most memory.
    arrows = Arrows.of(selection, rank)
    all_steps = steps_of(selection.trace)
    steps = selection.in_time(all_steps, rank).select("name", *_TIMES)
    yield from _track(
        ("steps",),
        steps.with_columns(category=pl.lit("step")),
    )
    yield from _idle_tracks(selection, rank)
    yield from _wait_tracks(selection, rank)
    for window in selection.windows_of_rows(rank):
        yield from _host_tracks(selection, rank, window, arrows)
        work = _device_work(selection, rank, window, arrows)
        for (device, stream), part in _by(work, *_STREAM):
            yield from _track((f"GPU {device}", f"stream {stream}"), part)


def _wait_tracks(selection: Selection, rank: int) -> Iterator[Track]:
    """Yield the waits on each device and stream."""
    synchronizations = selection.trace.frame("synchronizations")
    waits = selection.in_time(synchronizations, rank)
    slices = waits.select(
        *_STREAM,
        *_TIMES,
        name="kind",
        category=pl.lit("sync"),
    )
    for (device, stream), part in _by(slices, *_STREAM):
        gpu = "GPU" if device is None else f"GPU {device}"
        name = "waits" if stream is None else f"waits of stream {stream}"
        yield from _track((gpu, name), part)


def _idle_tracks(selection: Selection, rank: int) -> Iterator[Track]:
    """Yield the idle intervals of each device, or of the process, in parts."""
    length_ns = pl.col("end_ns") - pl.col("start_ns")
    for part in selection.idle.iter_slices(ROWS_AT_ONCE):
        idle = selection.in_time(part, rank).select(
            "device_id",
            "start_ns",
            "what",
            "cause",
            name="cause",
            duration_ns=length_ns,
            category=pl.lit("idle"),
        )
        for (device,), slices in _by(idle, "device_id"):
            yield from _track(("process" if device is None else f"GPU {device}", "idle"), slices)


def _host_tracks(
    selection: Selection,
    rank: int,
    window: pl.Expr,
    arrows: Arrows,
) -> Iterator[Track]:
    """Yield a track per thread with its spans and API calls in a window."""
    of_thread = (*_THREAD, *_TIMES)
    spans = arrows.of_spans(
        selection.rows("spans", rank, "span_id", *of_thread, *_SPAN, where=window)
    )
    columns = ("api_call_id", *of_thread, "api", "correlation_id")
    calls = arrows.of_calls(selection.rows("api_calls", rank, *columns, where=window))
    api_call = pl.lit("api call").cast(pl.Categorical)
    tracks = [
        spans.drop("span_id").rename({"kind": "category", "module_path": "layer"}),
        calls.drop("api_call_id")
        .rename({"api": "name", "correlation_id": "correlation"})
        .with_columns(category=api_call),
    ]
    both = pl.concat(tracks, how="diagonal")
    for (process, thread), part in _by(both, *_THREAD):
        path = (f"process {process}", f"thread {thread}")
        yield from _track(
            path,
            part,
            (int(str(process)), int(str(thread))),
        )


def _track(
    path: tuple[str, ...],
    slices: pl.DataFrame,
    thread: tuple[int, int] | None = None,
) -> Iterator[Track]:
    if slices.height:
        ordered = (
            slices.with_columns(_END)
            .drop("duration_ns")
            .sort(
                "start_ns",
                "end_ns",
                descending=[False, True],
                maintain_order=True,
            )
        )
        yield Track(path, ordered, thread)


def _by(frame: pl.DataFrame, *keys: str) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    """Return each combination of key values with its rows, without the key columns."""
    parts = frame.partition_by(*keys, as_dict=True, include_key=False)
    in_order = sorted(parts, key=_none_first)
    return [(values, parts[values]) for values in in_order]


def _none_first(values: tuple[object, ...]) -> tuple[object, ...]:
    """Return a key that sorts None before other values."""
    return tuple((value is not None, value) for value in values)


def _device_work(
    selection: Selection,
    rank: int,
    window: pl.Expr | None,
    arrows: Arrows,
) -> pl.DataFrame:
    """Return the rank's kernels, copies and fills in a window, with their recorded details."""

    def rows(table: str, *details: str) -> pl.DataFrame:
        columns = (*_STREAM, *_TIMES, "api_call_id", "correlation_id", "step", *details)
        events = selection.rows(table, rank, *columns, where=window)
        category = pl.lit(table.removesuffix("s"))
        return events.with_columns(category=category)

    kernels = rows("kernels", "kernel_id", *_KERNEL)
    layers = selection.layers_of(rank, kernels["kernel_id"])
    with_layers = kernels.join(layers, on="kernel_id", how="left", maintain_order="left")
    detailed = with_layers.drop("kernel_id").rename(
        {"registers_per_thread": "registers", "estimated_occupancy_frac": "occupancy"}
    )
    memory = ("direction", "source_memory", "destination_memory")
    copy_name = pl.format("{} copy, {} to {}", *memory)
    copies = rows("memcpys", *memory, "size_bytes")
    named_copies = copies.with_columns(name=copy_name).drop(memory)
    fills = rows("memsets", "size_bytes").with_columns(name=pl.lit("memset"))
    parts = (detailed, named_copies, fills)
    as_text = [part.cast({pl.Categorical: pl.String}) for part in parts]
    work = pl.concat(as_text, how="diagonal")
    return arrows.of_work(work).drop("api_call_id").rename({"correlation_id": "correlation"})
