"""One thread's parser: a block of text into frames, by the library in C, with the strings that all its blocks share."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from tracelens.collectors.torch.fast import fields
from tracelens.native import LIBRARY

# A block with more events than these that have to be looked at is read on by the slow path.
_MOST_REFUSED = 1 << 14
_FULL = 2
_DTYPES = {"i": pa.int32(), "q": pa.int64(), "d": pa.float64(), "I": pa.uint32()}


@dataclass(slots=True)
class Refused:
    """An event for the slow path, and the rows that each table of its block has before it."""

    text: bytes
    rows: dict[str, int]


@dataclass(slots=True)
class Parsed:
    """What a text gave, in file order, up to where the list closes, something is no JSON, or much is strange."""

    n_events: int = 0
    pieces: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    """Rows of each table; strings are numbers, and columns without any value are left out, but for one."""
    refused: list[Refused] = field(default_factory=list)
    has_fractions: bool = False
    stopped_at: int = 0
    """Where an event starts that was not read; the text's size where all were."""

    def rows(self, table: str) -> int:
        """Rows that a table has so far."""
        return sum(piece.height for piece in self.pieces.get(table, ()))


class Worker:
    """Parses blocks one after another; not for two threads at once."""

    def __init__(self, number: int = 0) -> None:
        """A parser, whose strings are known by its number."""
        assert LIBRARY is not None
        # The seed is a secret, so that nobody can prepare a trace whose strings all fall into one slot.
        self._parser = LIBRARY.Parser(*fields.plan(), secrets.randbits(62), number << fields.NUMBER_BITS)

    def parse(self, text: bytes | memoryview, begin: int = 0) -> Parsed:
        """Parse the text from `begin` on."""
        parsed, why, at = Parsed(), _FULL, begin
        while why == _FULL and len(parsed.refused) <= _MOST_REFUSED:
            why, at = self._parser.parse(text, at)
            self._take(parsed, memoryview(text))
        parsed.stopped_at = at
        return parsed

    def strings(self, *, shapes: bool = False) -> pl.Series:
        """All strings that were met, by their numbers, as the bytes that they are written as."""
        ends, text = self._parser.strings(int(shapes))
        offsets = pa.py_buffer(bytes(8) + ends)
        array = pa.Array.from_buffers(pa.large_binary(), len(ends) // 8, [None, offsets, pa.py_buffer(text)])
        return pl.DataFrame(pl.from_arrow(pa.Table.from_arrays([array], ["text"]))).to_series()

    def _take(self, parsed: Parsed, text: memoryview) -> None:
        n_events, has_fractions, refused, tables = self._parser.take()
        parsed.n_events += n_events
        parsed.has_fractions |= bool(has_fractions)
        for begin, end, rows in refused:
            before = {name: parsed.rows(name) + n for name, n in zip(fields.NAMES, rows, strict=True)}
            parsed.refused.append(Refused(bytes(text[begin:end]), before))
        for name, (n_rows, columns) in zip(fields.NAMES, tables, strict=True):
            if n_rows:
                parsed.pieces.setdefault(name, []).append(_frame(name, n_rows, columns))


def _frame(table: str, n_rows: int, columns: list[tuple[str, bytes, bytes] | None]) -> pl.DataFrame:
    """The columns that have a value, without a copy; the first one where none has."""
    names, arrays = [], []
    for of, column in zip(fields.TABLES[table], columns, strict=True):
        if column is not None:
            letter, data, valid = column
            buffers = [pa.py_buffer(valid) if valid else None, pa.py_buffer(data)]
            names.append(of.name)
            arrays.append(pa.Array.from_buffers(_DTYPES[letter], n_rows, buffers))
    if not arrays:
        return pl.DataFrame({fields.TABLES[table][0].name: [None]}).select(pl.all().repeat_by(n_rows).explode())
    found: Any = pl.from_arrow(pa.Table.from_arrays(arrays, names))
    return pl.DataFrame(found)


def unescaped(text: bytes) -> str:
    """The string that the content of a JSON string is."""
    return str(msgspec.json.decode(b'"' + text + b'"'))
