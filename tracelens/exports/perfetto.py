"""A trace for ui.perfetto.dev: protobuf packets of tracks, slices, flows and counters.

Perfetto drops a slice that overlaps another of its track without lying in it, and does not say
which: such slices get tracks of their own here. Format:
perfetto.dev/docs/reference/synthetic-track-event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa

from tracelens.derive.columns.lookup import numbered
from tracelens.errors import SourceError, ToolError, printable
from tracelens.exports import wire
from tracelens.exports.export import Export, Selection
from tracelens.exports.tracks import Track, in_lanes, tracks_of

_SEQUENCE = 1
_STATE_CLEARED, _NEEDS_STATE = 1, 2
_FLOW_BEGINS, _FLOW_ENDS = b"\xf9\x02", b"\x81\x03"
"""Tags of a TrackEvent's flow_ids and terminating_flow_ids."""
_VALUE = b"\xe1\x02"
"""Tag of a TrackEvent's double_counter_value."""
_FLOWS_OF_A_RANK = 1 << 32
_END_OF_SLICE, _COUNTER = b"\x48\x02", b"\x48\x04"
_MEMORY = {"allocated_bytes": "allocated", "reserved_bytes": "reserved"}


def write(selection: Selection, stream: BinaryIO) -> str:
    """Write the selection; returns how many slices, flows and counter values it has.

    Raises ToolError without the package perfetto, SourceError where there is nothing to draw.
    """
    writer = _Writer(stream)
    for rank in selection.ranks:
        for track in tracks_of(selection, rank):
            writer.slices(rank, track)
        _counters(writer, selection, rank)
        _losses(writer, selection, rank)
    if not writer.n_slices:
        raise SourceError(
            f"{selection.trace.name}: holds no events of these ranks and steps; see tracelens"
            " check, and export all without --steps and --ranks"
        )
    return (
        f"{writer.n_slices:,} slices, {writer.n_flows:,} flows, {writer.n_values:,} counter values"
    )


def _counters(writer: _Writer, selection: Selection, rank: int) -> None:
    """Write the allocator's state and what was sampled, each as a counter track."""
    changes = selection.in_time(selection.trace.frame("allocations"), rank, "time_ns")
    for (device,), part in changes.partition_by("device_id", as_dict=True).items():
        place = "host" if device is None else f"GPU {device}"
        for column, word in _MEMORY.items():
            values = part.select("time_ns", value=pl.col(column).cast(pl.Float64)).drop_nulls()
            writer.counter(rank, (place, f"memory {word}"), "bytes", values)
    sampled = selection.in_time(selection.trace.frame("counters"), rank, "time_ns")
    for (device, name, unit), part in sampled.partition_by(
        "device_id", "name", "unit", as_dict=True
    ).items():
        place = "host" if device is None else f"GPU {device}"
        writer.counter(
            rank, (place, printable(str(name))), str(unit or ""), part.select("time_ns", "value")
        )


def _losses(writer: _Writer, selection: Selection, rank: int) -> None:
    """Write the losses and damage on the way here, as an event at the beginning of the trace."""
    lost = selection.trace.frame("diagnostics").filter(
        (pl.col("rank") == rank) & pl.col("severity").is_in(["loss", "error"])
    )
    for row in lost.iter_rows(named=True):
        writer.instant(
            rank,
            ("losses",),
            row["code"],
            {name: row[name] for name in ("severity", "count", "text")},
        )


def _messages() -> Any:
    """Return Perfetto's messages. Raises ToolError without the package."""
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ToolError(
            "an export to perfetto needs the package perfetto: pip install perfetto"
        ) from error
    return perfetto_trace_pb2


@dataclass(slots=True)
class _Writer:
    """A stream of packets of one sequence.

    It knows what was interned, which tracks are there, and what was written.
    """

    stream: BinaryIO
    protos: Any = field(default_factory=_messages)
    words: dict[tuple[str, str], int] = field(default_factory=dict)
    tracks: dict[tuple[str, ...], int] = field(default_factory=dict)
    n_slices: int = 0
    n_flows: int = 0
    n_values: int = 0
    first_ns: int | None = None

    def packet(self, **fields: Any) -> None:
        """Write a packet of a message."""
        flags = _NEEDS_STATE if self.words or self.tracks else _STATE_CLEARED
        packet = self.protos.TracePacket(
            trusted_packet_sequence_id=_SEQUENCE, sequence_flags=flags, **fields
        )
        data = packet.SerializeToString()
        self.stream.write(b"\x0a" + wire.varint(len(data)) + data)

    def word(self, kind: str, text: str) -> int:
        """Return the number of a text, which is written where it is new.

        `kind` is a field of InternedData.
        """
        if (kind, text) not in self.words:
            interned = self.protos.InternedData()
            number = len(self.words) + 1
            shown = printable(text)
            value = (
                {"str": shown.encode()}
                if kind == "debug_annotation_string_values"
                else {"name": shown}
            )
            getattr(interned, kind).add(iid=number, **value)
            self.packet(interned_data=interned)
            self.words[kind, text] = number
        return self.words[kind, text]

    def track(self, path: tuple[str, ...], counter: str | None = None) -> int:
        """Return the number of a track.

        A new one is described, with those it lies in.
        """
        if path not in self.tracks:
            parent = self.track(path[:-1]) if len(path) > 1 else None
            number = len(self.tracks) + 1
            about = self.protos.TrackDescriptor(
                uuid=number, name=path[-1], sibling_order_rank=number
            )
            about.child_ordering = self.protos.TrackDescriptor.EXPLICIT
            if parent is not None:
                about.parent_uuid = parent
            if counter is not None:
                about.counter.unit_name = counter
            self.packet(track_descriptor=about)
            self.tracks[path] = number
        return self.tracks[path]

    def event(self, kind: int, row: dict[str, Any]) -> bytes:
        """Return an event's own bytes.

        They are its kind, name, category, and everything else as annotations.
        """
        event = self.protos.TrackEvent(
            type=kind, name_iid=self.word("event_names", str(row["name"]))
        )
        if row.get("category") is not None:
            event.category_iids.append(self.word("event_categories", str(row["category"])))
        for name, value in row.items():
            if name in ("name", "category", "n_flows") or value is None:
                continue
            note = event.debug_annotations.add(name_iid=self.word("debug_annotation_names", name))
            if isinstance(value, int):
                note.int_value = value
            else:
                note.string_value_iid = self.word("debug_annotation_string_values", str(value))
        return bytes(event.SerializeToString())

    def slices(self, rank: int, track: Track) -> None:
        """Write a track's slices, lane by lane, as they begin and end."""
        frame = track.slices
        columns = [
            name for name in frame.columns if name not in ("start_ns", "end_ns", "first_flow")
        ]
        kinds, rows = numbered(frame, columns)
        heads = [wire.packet_head(_END_OF_SLICE, wire.TRACK_BYTES)]
        for row in rows.iter_rows(named=True):
            more = wire.FLOW_BYTES * (row.get("n_flows") or 0) + wire.TRACK_BYTES
            heads.append(wire.packet_head(self.event(1, row), more))
        self._seen(frame["start_ns"])
        flows = self._flows(frame, rank, launches=track.is_host)
        for lane, events in in_lanes(frame["start_ns"], frame["end_ns"], nested=track.is_host):
            path = (
                f"rank {rank}",
                *track.path[:-1],
                track.path[-1] + (f", lane {lane + 1}" if lane else ""),
            )
            number = wire.constant(wire.track(self.track(path)))
            is_begin = events >= 0
            at = (
                is_begin.to_frame("is")
                .select(pl.when("is").then(events).otherwise(-1 - events))
                .to_series()
            )
            kind = (kinds.gather(at).cast(pl.Int64) + 1).zip_with(
                is_begin, pl.zeros(len(at), pl.Int64, eager=True)
            )
            times = frame["start_ns"].gather(at).zip_with(is_begin, frame["end_ns"].gather(at))
            pieces = [wire.texts(heads).take(kind.to_arrow())]
            if flows is not None:
                none = pl.repeat(len(flows) - 1, len(at), dtype=pl.Int64, eager=True)
                pieces.append(flows.take(at.zip_with(is_begin, none).to_arrow()))
            self.stream.write(wire.memory(wire.joined([*pieces, number, *wire.moments(times)])))
            self.n_slices += int(is_begin.sum())

    def _flows(self, frame: pl.DataFrame, rank: int, *, launches: bool) -> pa.Array | None:
        """Return each row's flow ids as bytes, and nothing as a last one.

        Return None where no row has any.
        """
        if "n_flows" not in frame.columns or not frame["n_flows"].fill_null(0).sum():
            return None
        counts = frame["n_flows"].fill_null(0)
        firsts = frame["first_flow"].fill_null(0)
        ids = pl.select(pl.int_ranges(firsts, firsts + counts)).to_series().explode().drop_nulls()
        self.n_flows += len(ids) if launches else 0
        tag = wire.constant(_FLOW_BEGINS if launches else _FLOW_ENDS)
        records = wire.joined([tag, wire.eight_bytes(ids.cast(pl.Int64) + rank * _FLOWS_OF_A_RANK)])
        return wire.cut(records, counts * wire.FLOW_BYTES)

    def counter(self, rank: int, path: tuple[str, ...], unit: str, values: pl.DataFrame) -> None:
        """Write a counter's values (time_ns, value)."""
        if values.is_empty():
            return
        number = self.track((f"rank {rank}", *path), unit)
        head = wire.packet_head(_COUNTER, len(_VALUE) + 8 + wire.TRACK_BYTES)
        self._seen(values["time_ns"])
        for part in values.iter_slices(1 << 17):
            bits = wire.eight_bytes(part["value"])
            fixed = wire.constant(head + _VALUE), bits, wire.constant(wire.track(number))
            self.stream.write(wire.memory(wire.joined([*fixed, *wire.moments(part["time_ns"])])))
        self.n_values += values.height

    def instant(self, rank: int, path: tuple[str, ...], name: str, about: dict[str, Any]) -> None:
        """Write a moment without a length, at the earliest time written so far."""
        number = self.track((f"rank {rank}", *path))
        head = wire.packet_head(self.event(3, {"name": name} | about), wire.TRACK_BYTES)
        moment = wire.moments(pl.Series([self.first_ns or 0]))
        pieces = [wire.texts([head]), wire.constant(wire.track(number)), *moment]
        self.stream.write(wire.memory(wire.joined(pieces)))

    def _seen(self, times: pl.Series) -> None:
        """Note the earliest time.

        Raises SourceError for one before the clock began, which Perfetto cannot hold.
        """
        earliest = times.min()
        assert isinstance(earliest, int)
        if earliest < 0:
            raise SourceError(
                f"an event starts at {earliest:,} ns, before its own clock began; see tracelens"
                " check"
            )
        self.first_ns = earliest if self.first_ns is None else min(self.first_ns, earliest)


EXPORT = Export("perfetto", ".pftrace", "https://ui.perfetto.dev", write)
