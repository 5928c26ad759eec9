"""Encode Perfetto's TrackEvents: their kind, name, category and arguments.

Field numbers are from Perfetto's protos/perfetto/trace/perfetto_trace.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from tracelens.derive.columns.lookup import numbered
from tracelens.exports import wire

_BEGIN, INSTANT = 1, 3
"""Types of a TrackEvent."""
_EVENT_NAMES, _CATEGORIES, _ARGUMENT_NAMES, _TEXTS = 2, 1, 3, 29
"""Field numbers of InternedData."""
_OF_EACH = ("step", "correlation")
"""Arguments whose values usually differ between slices."""
_NOT_SHARED = {"start_ns", "end_ns", "first_flow", "n_flows", "ends_flow", *_OF_EACH}
_INTEGER_VALUE = b"\x20"
_DOUBLE_VALUE = b"\x29"
"""Tags of the fields int_value and double_value of a DebugAnnotation."""
_SHAPES = {word: tuple(f"{word}_{axis}" for axis in "xyz") for word in ("grid", "block")}


class EventEncoder(Struct, frozen=True):
    """Encodes events whose names, categories and texts are interned."""

    # Interns a text: takes a field of InternedData and the text, returns its id.
    word: Callable[[int, str], int]

    def heads(self, frame: pl.DataFrame) -> list[pa.Array]:
        """Encode each slice up to its flow ids, as arrays of bytes that are to be joined.

        The first array is the result of `_shared_heads`. Each further array encodes one argument
        named in `_OF_EACH`.
        """
        arguments = [name for name in _OF_EACH if name in frame.columns and frame[name].count()]
        pieces = [self._shared_heads(frame, arguments)]
        no_argument = wire.constant(b"")
        for name in arguments:
            column = frame[name]
            values = column.fill_null(0)
            name_and_tag = wire.constant(self._argument(name))
            argument = wire.joined([name_and_tag, *wire.wide_varints(values)])
            has_argument = column.is_not_null().to_arrow()
            argument_if_any = pc.if_else(has_argument, argument, no_argument)
            pieces.append(argument_if_any)
        return pieces

    def _shared_heads(self, frame: pl.DataFrame, arguments: Sequence[str]) -> pa.Array:
        """Encode each slice up to its `arguments`.

        Slices that differ only in the values of `arguments` have the same bytes, encoded once.
        """
        shared = [name for name in frame.columns if name not in _NOT_SHARED]
        no_flows = pl.lit(None).alias("n_flows")
        n_flows = pl.col("n_flows") if "n_flows" in frame.columns else no_flows
        has_argument = []
        for name in arguments:
            is_given = pl.col(name).is_not_null()
            has_argument.append(is_given.alias(f"has {name}"))
        # The bytes contain the packet's length, so equal slices have as many flows and arguments.
        keyed = frame.select(*shared, n_flows, *has_argument)
        numbers, distinct = numbered(keyed, keyed.columns)
        rows = distinct.iter_rows(named=True)
        heads = [self._shared_head(row, shared, arguments) for row in rows]
        return wire.texts(heads).take(numbers.to_arrow())

    def _shared_head(
        self,
        row: Mapping[str, Any],
        shared: Sequence[str],
        arguments: Sequence[str],
    ) -> bytes:
        """Encode one slice up to its `arguments`.

        `row` has the value of each column in `shared`, the number of flows as `n_flows`, and for
        each of `arguments` a key such as `has step`: whether the slice has this argument.
        """
        present = [name for name in arguments if row[f"has {name}"]]
        n_argument_bytes = sum(map(self._argument_bytes, present))
        n_flow_bytes = wire.FLOW_BYTES * (row["n_flows"] or 0)
        n_more_bytes = n_flow_bytes + wire.TRACK_BYTES + n_argument_bytes
        event = self.event(
            _BEGIN,
            {name: row[name] for name in shared},
        )
        return wire.packet_head(event, n_more_bytes)

    def _argument_bytes(self, name: str) -> int:
        """Return the number of bytes of an integer argument with its value."""
        return len(self._argument(name)) + wire.WIDE_BYTES

    def _argument(self, name: str) -> bytes:
        """Encode an integer argument up to its value.

        The value is a varint of `wide_varints`.
        """
        number = self.word(_ARGUMENT_NAMES, name)
        about = wire.integer(1, number) + _INTEGER_VALUE
        n_bytes = len(about) + wire.WIDE_BYTES
        tag = wire.varint(4 << 3 | 2)
        return tag + wire.varint(n_bytes) + about

    def event(self, kind: int, row: Mapping[str, Any]) -> bytes:
        """Return an encoded TrackEvent: kind, name, category, and other columns as arguments."""
        fields = [wire.integer(9, kind)]
        name_number = self.word(_EVENT_NAMES, str(row["name"]))
        fields.append(wire.integer(10, name_number))
        category = row.get("category")
        if category is not None:
            category_number = self.word(_CATEGORIES, str(category))
            fields.append(wire.integer(3, category_number))
        for name, value in _arguments(row):
            argument_number = self.word(_ARGUMENT_NAMES, name)
            argument = wire.integer(1, argument_number)
            annotation = argument + self._argument_value(value)
            fields.append(wire.text(4, annotation))
        return b"".join(fields)

    def _argument_value(self, value: object) -> bytes:
        """Return the encoded value of a DebugAnnotation; texts are interned."""
        if isinstance(value, int):
            return wire.integer(4, value)
        if isinstance(value, float):
            return _DOUBLE_VALUE + struct.pack("<d", value)
        text_number = self.word(_TEXTS, str(value))
        return wire.integer(17, text_number)


def _arguments(row: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield a slice's arguments that are not None; a grid's or block's sizes are one argument."""
    no_arguments = {"name", "category"}
    no_arguments.update(*_SHAPES.values())
    for name, value in row.items():
        if value is not None and name not in no_arguments:
            yield name, value
    for word, names in _SHAPES.items():
        if row.get(names[0]) is not None:
            sizes = [str(row[name]) for name in names]
            yield word, " x ".join(sizes)
