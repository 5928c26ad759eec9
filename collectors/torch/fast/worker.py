"""One thread's parser: a block of text into frames, by the library in C, with the strings that all its blocks share."""

from __future__ import annotations

import mmap
import os
from array import array
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from tracelens.collectors.torch.fast import fields
from tracelens.native import LIBRARY

# Rows a table takes before it is emptied: an odd number of cache lines, or all cells of a row would be in one set.
_N_ROWS = (1 << 14) + 8
# A block with more events than these that have to be looked at is read on by the slow path.
_MOST_REFUSED = 1 << 14
_FULL = 2


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
    """Rows of each table as cells of 64 bits; strings are numbers."""
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
        n_columns = sum(map(len, fields.TABLES.values()))
        self._cells = memoryview(mmap.mmap(-1, 8 * n_columns * _N_ROWS))  # there only where it is written
        special = fields.ALLOCATIONS, fields.COUNTERS, fields.UNPLACED
        # The seed is a secret, so that nobody can prepare a trace whose strings all fall into one slot.
        seed, base = int.from_bytes(os.urandom(7), "little"), number << fields.NUMBER_BITS
        self._parser = LIBRARY.Parser(*fields.plan(), self._cells, *special, seed, base)

    def parse(self, text: bytes | memoryview, begin: int = 0) -> Parsed:
        """Parse the text from `begin` on."""
        parsed, why = Parsed(stopped_at=begin), _FULL
        while why == _FULL and len(parsed.refused) <= _MOST_REFUSED:
            why, parsed.stopped_at, n_events, has_fractions, n_rows, refused = self._parser.parse(
                text, parsed.stopped_at
            )
            parsed.n_events += n_events
            parsed.has_fractions |= bool(has_fractions)
            self._take_refused(parsed, text, array("q", refused))
            self._take_rows(parsed, array("q", n_rows))
        return parsed

    def strings(self, *, shapes: bool = False) -> pl.Series:
        """All strings that were met, by their numbers, as the bytes that they are written as."""
        ends, text = self._parser.strings(int(shapes))
        offsets = pa.py_buffer(bytes(8) + ends)
        array = pa.Array.from_buffers(pa.large_binary(), len(ends) // 8, [None, offsets, pa.py_buffer(text)])
        return pl.DataFrame(pl.from_arrow(pa.Table.from_arrays([array], ["text"]))).to_series()

    @staticmethod
    def _take_refused(parsed: Parsed, text: bytes | memoryview, words: array[int]) -> None:
        size = 2 + len(fields.NAMES)
        for at in range(0, len(words), size):
            begin, end, *rows = words[at : at + size]
            before = {name: parsed.rows(name) + n for name, n in zip(fields.NAMES, rows, strict=True)}
            parsed.refused.append(Refused(bytes(text[begin:end]), before))

    def _take_rows(self, parsed: Parsed, n_rows: array[int]) -> None:
        at = 0
        for (name, table), n in zip(fields.TABLES.items(), n_rows, strict=True):
            if n:
                arrays = []
                for place, of in enumerate(table, at):
                    cells = bytes(self._cells[8 * place * _N_ROWS :][: 8 * n])
                    dtype = pa.float64() if of.name in fields.FLOATS else pa.int64()
                    arrays.append(pa.Array.from_buffers(dtype, n, [None, pa.py_buffer(cells)]))
                found: Any = pl.from_arrow(pa.Table.from_arrays(arrays, [of.name for of in table]))
                parsed.pieces.setdefault(name, []).append(pl.DataFrame(found))
            at += len(table)


def unescaped(text: bytes) -> str:
    """The string that the content of a JSON string is."""
    return str(msgspec.json.decode(b'"' + text + b'"'))
