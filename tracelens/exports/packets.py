"""Write Perfetto's packets of one sequence into a stream.

A track is a line of Perfetto's timeline, such as a thread or stream. Field numbers are from
Perfetto's protos/perfetto/trace/perfetto_trace.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, field

from tracelens.errors import SourceError, printable
from tracelens.exports import wire
from tracelens.exports.event_encoding import INSTANT, EventEncoder
from tracelens.exports.identities import Identities
from tracelens.exports.lanes import Lanes
from tracelens.exports.tracks import Track

_SEQUENCE = 1
_STATE_CLEARED, _NEEDS_STATE = 1, 2
_EXPLICIT_ORDER = 3
_FLOW_BEGINS, _FLOW_ENDS = b"\xf9\x02", b"\x81\x03"
"""Tags of a TrackEvent's flow_ids and terminating_flow_ids."""
_VALUE = b"\xe1\x02"
"""Tag of a TrackEvent's field double_counter_value."""
_FLOWS_OF_A_RANK = 1 << 32
_END_OF_SLICE = b"\x48\x02"
_COUNTER = b"\x48\x04"
_EVENTS_AT_ONCE = 1 << 17


class PacketWriter(Struct):
    """Writes packets into a stream, and counts the written slices, flows and counter values."""

    stream: BinaryIO
    # Ids of interned texts, by field and text
    words: dict[tuple[int, str], int] = field(default_factory=dict)
    tracks: dict[tuple[str, ...], int] = field(default_factory=dict)
    # Tracks with their open slices, by rank and path
    open_tracks: dict[tuple[int, tuple[str, ...]], tuple[Track, Lanes]] = field(
        default_factory=dict
    )
    processes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    identities: Identities = field(default_factory=Identities)
    n_slices: int = 0
    n_flows: int = 0
    n_values: int = 0
    first_ns: int | None = None

    def packet(self, *fields: bytes) -> None:
        """Write a packet with these encoded fields."""
        has_state = bool(self.words or self.tracks)
        flags = _NEEDS_STATE if has_state else _STATE_CLEARED
        sequence = wire.integer(10, _SEQUENCE)
        flag_field = wire.integer(13, flags)
        packet = b"".join([sequence, flag_field, *fields])
        self.stream.write(wire.text(1, packet))

    def word(self, kind: int, text: str) -> int:
        """Return the interning id of a text; a new text is written first.

        `kind` is the field of InternedData.
        """
        key = (kind, text)
        if key not in self.words:
            number = len(self.words) + 1
            entry = wire.integer(1, number) + wire.text(2, printable(text))
            interned = wire.text(kind, entry)
            self.packet(wire.text(12, interned))
            self.words[key] = number
        return self.words[key]

    def rank(self, rank: int, processes: Sequence[int]) -> None:
        """Write descriptions of a rank's processes.

        The rank's devices, steps and counters belong to the first process.
        """
        self.processes = {}
        for process in processes:
            root = f"rank {rank}"
            path = (root, f"process {process}") if self.processes else (root,)
            pid = self.identities.process(rank, process)
            description = wire.integer(1, pid) + wire.text(6, " ".join(path))
            about = wire.text(3, description)
            self._describe(path, None, about, has_name=False)
            self.processes[process] = path

    def track(
        self,
        path: tuple[str, ...],
        about: bytes = b"",
        *,
        has_name: bool = True,
    ) -> int:
        """Return the number of a track; a new track and its parents are described first.

        `about` has the encoded field for the kind of track.
        """
        if path not in self.tracks:
            parent = self.track(path[:-1]) if len(path) > 1 else None
            self._describe(path, parent, about, has_name=has_name)
        return self.tracks[path]

    def _describe(
        self,
        path: tuple[str, ...],
        parent: int | None,
        about: bytes,
        *,
        has_name: bool,
    ) -> None:
        number = len(self.tracks) + 1
        descriptor = [
            wire.integer(1, number),
            wire.text(2, path[-1]) if has_name else b"",
            b"" if parent is None else wire.integer(5, parent),
            wire.integer(11, _EXPLICIT_ORDER),
            wire.integer(12, number),
            about,
        ]
        self.packet(wire.text(60, b"".join(descriptor)))
        self.tracks[path] = number

    def _lane(self, rank: int, track: Track, lane: int) -> int:
        """Return the track number for a lane of `track`."""
        name = track.path[-1]
        beside = f"{name}, lane {lane + 1}"
        if track.thread is None:
            return self.track(
                (
                    f"rank {rank}",
                    *track.path[:-1],
                    beside if lane else name,
                )
            )
        process = track.thread[0]
        path = (*self.processes[process], name)
        process_number = self.identities.process(rank, process)
        thread_number = self.identities.thread(rank, track.thread)
        about = [
            wire.integer(1, process_number),
            wire.integer(2, thread_number),
            wire.text(5, name),
        ]
        thread_description = wire.text(4, b"".join(about))
        number = self.track(path, thread_description, has_name=False)
        # The first lane is Perfetto's track for the thread.
        return self.track((*path, beside)) if lane else number

    def slices(self, rank: int, track: Track) -> None:
        """Write further slices of a track, lane by lane, in order of time."""
        frame = track.slices
        is_host = track.thread is not None
        self._seen(frame["start_ns"])
        flows = self._flows(frame, rank, is_host=is_host)
        begins = wire.joined([*EventEncoder(self.word).heads(frame), *flows])
        kept, lanes = self.open_tracks.setdefault(
            (rank, track.path),
            (track, Lanes(is_host)),
        )
        first = lanes.n_rows
        for lane, events, times in lanes.add(frame["start_ns"], frame["end_ns"]):
            number = self._lane(rank, kept, lane)
            for rows, moments in _parts(events, times):
                self._write(number, begins, rows - first, rows >= 0, moments)

    def close_slices(self) -> None:
        """Write the ends of all open slices."""
        no_head = wire.texts([b""])
        for (rank, _), (track, lanes) in self.open_tracks.items():
            for lane, events, times in lanes.close():
                number = self._lane(rank, track, lane)
                is_begin = events >= 0
                self._write(number, no_head, events * 0, is_begin, times)
        self.open_tracks.clear()

    def _write(
        self,
        track: int,
        begins: pa.Array,
        rows: pl.Series,
        is_begin: pl.Series,
        times: pl.Series,
    ) -> None:
        """Write packets that begin or end slices of a lane, one packet per row of `times`.

        If a slice begins, `rows` has the row of its encoded bytes in `begins`.
        """
        first_begin = rows.zip_with(is_begin, rows * 0)
        heads = begins.take(first_begin.to_arrow())
        end_head = wire.packet_head(_END_OF_SLICE, wire.TRACK_BYTES)
        end = wire.constant(end_head)
        heads = pc.if_else(is_begin.to_arrow(), heads, end)
        track_field = wire.constant(wire.track(track))
        pieces = [heads, track_field, *wire.moments(times)]
        packets = wire.joined(pieces)
        self.stream.write(wire.memory(packets))
        self.n_slices += int(is_begin.sum())

    def _flows(
        self,
        frame: pl.DataFrame,
        rank: int,
        *,
        is_host: bool,
    ) -> list[pa.Array]:
        """Return the encoded flow ids of each row; empty if no row has a flow."""
        if "n_flows" not in frame.columns:
            return []
        counts = frame["n_flows"].fill_null(0)
        if not counts.sum():
            return []
        firsts = frame["first_flow"].fill_null(0)
        ids_of_slice = pl.int_ranges(firsts, firsts + counts)
        does_end = pl.col("ends_flow").fill_null(False)
        by_slice = frame.select(id=ids_of_slice, does_end=does_end)
        flows = by_slice.explode("id").drop_nulls("id")
        if is_host:
            n_ends = int(flows["does_end"].sum())
            self.n_flows += flows.height - n_ends
        tag_numbers = flows["does_end"].cast(pl.Int64).to_arrow()
        tags = wire.texts([_FLOW_BEGINS, _FLOW_ENDS]).take(tag_numbers)
        ids = flows["id"].cast(pl.Int64) + rank * _FLOWS_OF_A_RANK
        records = wire.joined([tags, wire.eight_bytes(ids)])
        return [wire.cut(records, counts * wire.FLOW_BYTES)]

    def counter(
        self,
        rank: int,
        path: tuple[str, ...],
        unit: str,
        values: pl.DataFrame,
    ) -> None:
        """Write a counter's track and values (time_ns, value)."""
        if values.is_empty():
            return
        about = wire.text(8, wire.text(6, unit))
        number = self.track((f"rank {rank}", *path), about)
        n_value_bytes = len(_VALUE) + 8
        head = wire.packet_head(_COUNTER, n_value_bytes + wire.TRACK_BYTES)
        head_and_tag = wire.constant(head + _VALUE)
        track_field = wire.constant(wire.track(number))
        self._seen(values["time_ns"])
        for part in values.iter_slices(_EVENTS_AT_ONCE):
            bits = wire.eight_bytes(part["value"])
            moments = wire.moments(part["time_ns"])
            packets = wire.joined([head_and_tag, bits, track_field, *moments])
            self.stream.write(wire.memory(packets))
        self.n_values += values.height

    def instant(
        self,
        rank: int,
        path: tuple[str, ...],
        name: str,
        about: dict[str, Any],
    ) -> None:
        """Write an event without duration, at the earliest time written so far."""
        number = self.track((f"rank {rank}", *path))
        event = EventEncoder(self.word).event(INSTANT, {"name": name} | about)
        head = wire.packet_head(event, wire.TRACK_BYTES)
        earliest = pl.Series([self.first_ns or 0])
        moment = wire.moments(earliest)
        track_field = wire.constant(wire.track(number))
        pieces = [wire.texts([head]), track_field, *moment]
        packets = wire.joined(pieces)
        self.stream.write(wire.memory(packets))

    def _seen(self, times: pl.Series) -> None:
        """Note the earliest time; raise SourceError for a negative time.

        Perfetto cannot hold negative times.
        """
        earliest = times.min()
        assert isinstance(earliest, int)
        if earliest < 0:
            raise SourceError(
                f"an event starts at {earliest:,} ns, before its own clock began; see tracelens"
                " check"
            )
        if self.first_ns is None or earliest < self.first_ns:
            self.first_ns = earliest


def _parts(events: pl.Series, times: pl.Series) -> Iterator[tuple[pl.Series, pl.Series]]:
    """Yield events and their times in batches."""
    for first in range(0, len(events), _EVENTS_AT_ONCE):
        events_of_part = events.slice(first, _EVENTS_AT_ONCE)
        times_of_part = times.slice(first, _EVENTS_AT_ONCE)
        yield events_of_part, times_of_part
