"""Write a trace for ui.perfetto.dev: protobuf packets of tracks, slices, flows and counters.

Perfetto silently drops a slice that overlaps another slice of its track without nesting. Such
slices get further tracks. Format: perfetto.dev/docs/reference/synthetic-track-event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import polars as pl

from tracelens.errors import SourceError, printable
from tracelens.exports.counters import bandwidths, queue_lengths
from tracelens.exports.export import Export, Selection
from tracelens.exports.packets import PacketWriter
from tracelens.exports.tracks import tracks_of

_MEMORY = {"allocated_bytes": "allocated", "reserved_bytes": "reserved"}


class _Counter(NamedTuple):
    """A counter with its device, None for the host, and its values: time_ns, value."""

    device: object
    name: str
    unit: str
    values: pl.DataFrame


def write(selection: Selection, stream: BinaryIO) -> str:
    """Write the selection; return a text with the numbers of slices, flows and counter values.

    Raises SourceError if there is nothing to draw.
    """
    writer = PacketWriter(stream)
    for rank in selection.ranks:
        writer.rank(rank, _processes(selection, rank))
        for track in tracks_of(selection, rank):
            writer.slices(rank, track)
        writer.close_slices()
        for counter in _counters(selection, rank):
            writer.counter(
                rank,
                (_device_name(counter.device), counter.name),
                counter.unit,
                counter.values,
            )
        _losses(writer, selection, rank)
    if not writer.n_slices:
        raise SourceError(
            f"{selection.trace.name}: holds no events of these ranks and steps; see tracelens"
            " check, and export all without --steps and --ranks"
        )
    return (
        f"{writer.n_slices:,} slices, {writer.n_flows:,} flows, {writer.n_values:,} counter values"
    )


def _processes(selection: Selection, rank: int) -> list[int]:
    """Return the processes of a rank's host threads, sorted.

    Process 0 comes last, and stands for events without a process.
    """
    ids = [
        selection.rows(table, rank, "process_id")["process_id"].unique()
        for table in ("spans", "api_calls")
    ]
    processes = set(ids[0]) | set(ids[1])
    return sorted(
        processes,
        key=lambda process: (process <= 0, process),
    )


def _counters(selection: Selection, rank: int) -> Iterator[_Counter]:
    """Yield a rank's counters: allocated memory, queue lengths, bandwidths, sampled counters."""
    yield from _memory(selection, rank)
    for (device, name), values in queue_lengths(selection, rank):
        yield _Counter(device, name, "launched", values)
    for (device, name), values in bandwidths(selection, rank):
        yield _Counter(device, name, "GB/s", values)
    yield from _sampled(selection, rank)


def _memory(selection: Selection, rank: int) -> Iterator[_Counter]:
    """Yield the bytes that each device's allocator has allocated and reserved."""
    allocations = selection.trace.frame("allocations")
    changes = selection.in_time(allocations, rank, "time_ns")
    by_device = changes.partition_by("device_id", as_dict=True)
    for (device,), states in by_device.items():
        for column, word in _MEMORY.items():
            size = pl.col(column).cast(pl.Float64)
            values = states.select("time_ns", value=size).drop_nulls()
            yield _Counter(device, f"memory {word}", "bytes", values)


def _sampled(selection: Selection, rank: int) -> Iterator[_Counter]:
    """Yield counters that the profiler sampled, such as power."""
    counters = selection.trace.frame("counters")
    samples = selection.in_time(counters, rank, "time_ns")
    by_counter = samples.partition_by("device_id", "name", "unit", as_dict=True)
    for (device, name, unit), samples_of_one in by_counter.items():
        values = samples_of_one.select("time_ns", "value")
        yield _Counter(
            device,
            printable(str(name)),
            str(unit or ""),
            values,
        )


def _device_name(device: object) -> str:
    return "host" if device is None else f"GPU {device}"


def _losses(writer: PacketWriter, selection: Selection, rank: int) -> None:
    """Write the losses and errors of collecting as events at the beginning of the trace."""
    is_of_rank = pl.col("rank") == rank
    is_loss = pl.col("severity").is_in(["loss", "error"])
    lost = selection.trace.frame("diagnostics").filter(is_of_rank & is_loss)
    for row in lost.iter_rows(named=True):
        writer.instant(
            rank,
            ("losses",),
            row["code"],
            {name: row[name] for name in ("severity", "count", "text")},
        )


EXPORT = Export("perfetto", ".pftrace", "https://ui.perfetto.dev", write)
