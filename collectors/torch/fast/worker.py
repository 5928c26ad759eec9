"""One thread's parser: a block of text into frames, by the kernels, with the strings that all its blocks share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import polars as pl

from tracelens.collectors.torch.fast import fields, layout
from tracelens.collectors.torch.fast.collected import Piece
from tracelens.collectors.torch.fast.strings import StringTable
from tracelens.collectors.torch.values import integer
from tracelens.fast.memory import Words, bytes_at, lend

PAD = layout.PAD
# Rows a table takes before it is emptied. Columns are an odd number of cache lines apart, or the stores of one row
# would all fall into one set of the cache.
_ROWS = (1 << 14) + 8
_REFUSED = 1 << 10
_MOST_REFUSED = 1 << 14
_NARROW = 2**31 - 1
_NO_FIELD = 1 << 62
"""As a required field: one that no event has, so that all of a table are left to the slow path."""
_LEVELS: tuple[Mapping[str, int | str], ...] = (fields.EVENT_KEYS, fields.ARG_KEYS, fields.CATEGORIES)


@dataclass(slots=True)
class Refused:
    """An event for the slow path, and the rows that each table of its block has before it."""

    text: bytes
    rows: dict[str, int]


@dataclass(slots=True)
class Parsed:
    """What a text gave, in file order, up to where the list closes, something is no JSON, or much is strange."""

    n_events: int = 0
    pieces: dict[str, list[Piece]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    has_fractions: bool = False
    stopped_at: int = 0
    """Where an event starts that was not read; the text's size where all were."""

    def rows(self, table: str) -> int:
        """Rows that a table has so far."""
        return sum(piece.n_rows for piece in self.pieces.get(table, ()))


class Worker:
    """Parses blocks one after another; not for two threads at once."""

    def __init__(self, parse: Callable[[int], int], number: int = 0) -> None:
        """Lay out the tables that the kernel reads and writes; its strings are known by its number."""
        self._number = number
        self._parse = parse
        self._state: Words = lend(np.zeros(16, np.int64))
        strings = lend(np.zeros(2 * layout.TABLE_WORDS, np.int64))
        self.texts = StringTable(strings[: layout.TABLE_WORDS])
        self.shapes = StringTable(strings[layout.TABLE_WORDS :])
        self._fields = lend(np.zeros(128, np.int64))
        self._powers = lend(np.array([10**k for k in range(19)], np.int64))
        self._refused = lend(np.empty((_REFUSED, 2 + layout.MAX_TABLES), np.int64))
        n_columns = sum(map(len, fields.TABLES.values()))
        self._cells = lend(np.empty((n_columns, _ROWS), np.int64))
        self._slots, self._keys, self._key_text = map(lend, _key_table())
        self._tables, self._columns = map(lend, _plan(bytes_at(self._cells)))
        self._tracks: dict[int, int | None] = {}
        for word, array in (
            (layout.KEY_SLOTS, self._slots), (layout.KEY_TEXT, self._key_text), (layout.KEYS, self._keys),
            (layout.POWERS, self._powers), (layout.FIELDS, self._fields), (layout.TABLES, self._tables),
            (layout.COLUMNS, self._columns), (layout.STRINGS, strings), (layout.REFUSED, self._refused),
        ):  # fmt: skip
            self._state[word] = bytes_at(array)
        self._strings = strings
        self._state[layout.REFUSED_ROOM], self._state[layout.ROW_ROOM] = _REFUSED, _ROWS

    def parse(self, buffer: np.ndarray[Any, Any], size: int, begin: int = 0) -> Parsed:
        """Parse the first `size` bytes of the buffer, which has PAD bytes of 0xFF after them, from `begin` on."""
        lend(buffer)
        parsed, state, start = Parsed(), self._state, bytes_at(buffer)
        state[layout.AT], state[layout.END_OF_TEXT] = start + begin, start + size
        state[layout.HAS_FRACTION] = state[layout.N_EVENTS] = 0
        while True:
            state[layout.N_REFUSED] = self._tables[:, 3] = 0
            why = self._parse(bytes_at(state))
            self._take_refused(parsed, buffer, start)
            self._take_rows(parsed)
            if why == layout.GROW:
                self.texts.grow()
                self.shapes.grow()
            elif why != layout.FULL or len(parsed.refused) > _MOST_REFUSED:
                break
        parsed.n_events = int(state[layout.N_EVENTS])
        parsed.has_fractions = bool(state[layout.HAS_FRACTION])
        parsed.stopped_at = min(size, int(state[layout.AT]) - start)
        return parsed

    def release(self) -> None:
        """Let go of all memory but the strings; no block may follow."""
        self._cells = self._refused = self._fields = np.empty((0, 0), np.int64)

    def forget(self) -> None:
        """Let go of the strings too."""
        del self.texts, self.shapes

    def _take_refused(self, parsed: Parsed, buffer: np.ndarray[Any, Any], start: int) -> None:
        for begin, end, *rows in self._refused[: self._state[layout.N_REFUSED]].tolist():
            before = {name: parsed.rows(name) + n for name, n in zip(fields.NAMES, rows, strict=True)}
            parsed.refused.append(Refused(buffer[begin - start : end - start].tobytes(), before))

    def _take_rows(self, parsed: Parsed) -> None:
        for name, (first, last, _, n, *_) in zip(fields.NAMES, self._tables.tolist(), strict=True):
            if n:
                columns = zip(fields.TABLES[name], self._cells[first:last, :n], strict=True)
                series = [self._series(column, cells) for column, cells in columns]
                parsed.pieces.setdefault(name, []).append(Piece(n, series))

    def _series(self, column: fields.Column, cells: Words) -> pl.Series | None:
        """A copy of the cells, with nulls, as narrow as they are."""
        nulls = cells == layout.NULL
        n_nulls = int(np.count_nonzero(nulls))
        if n_nulls == len(cells):
            return None
        if column.how in fields.STRINGS:
            numbers = cells.astype(np.uint32)
            if self._number:
                numbers += np.uint32(self._number << layout.NUMBER_BITS)
            return _masked(numbers, nulls, n_nulls)
        values = cells.copy()  # Polars keeps the array itself
        if column.name in fields.FLOATS:
            return _masked(values.view(np.float64), nulls, n_nulls)
        if n_nulls:
            values[nulls] = 0
        highest = values.max()
        if highest >= layout.TRACK_BASE:
            values, nulls = self._with_tracks(values, nulls)
            n_nulls, highest = int(np.count_nonzero(nulls)), values.max()
        if highest <= _NARROW and values.min() >= -_NARROW:
            return _masked(values.astype(np.int32), nulls, n_nulls)
        return _masked(values, nulls, n_nulls)

    def _with_tracks(self, values: Words, nulls: np.ndarray[Any, Any]) -> tuple[Words, np.ndarray[Any, Any]]:
        """The values with the number that each track's name holds, and null where it holds none."""
        named = values >= layout.TRACK_BASE
        numbers, place = np.unique(values[named] - layout.TRACK_BASE, return_inverse=True)
        found = [self._track(number) for number in numbers.tolist()]
        values, nulls = values.copy(), nulls.copy()
        values[named] = np.array([0 if value is None else value for value in found], np.int64)[place]
        nulls[named] = np.array([value is None for value in found])[place]
        return values, nulls

    def _track(self, number: int) -> int | None:
        if number not in self._tracks:
            self._tracks[number] = integer(unescaped(self.texts.text(number)))
        return self._tracks[number]


def _masked(values: np.ndarray[Any, Any], nulls: np.ndarray[Any, Any], n_nulls: int) -> pl.Series:
    """The values with null where the mask says so."""
    column = pl.Series(values)
    return column.set(pl.Series(nulls), None) if n_nulls else column


def unescaped(text: bytes) -> str:
    """The string that the content of a JSON string is."""
    if b"\\" not in text:
        return text.decode()
    return str(msgspec.json.decode(b'"' + text + b'"'))


def _key_table() -> tuple[Words, Words, np.ndarray[Any, Any]]:
    """Slots, keys (tagged length, place of the text, kind or table, field) and their text, as find_key reads them."""
    places = fields.fields()
    slots = np.full(layout.N_KEY_SLOTS, -1, np.int64)
    rows: list[tuple[int, int, int, int]] = []
    text = b""
    for level, entries in enumerate(_LEVELS):
        for key, kind in entries.items():
            tagged = len(key) + layout.LEVEL_SHIFT * level
            word = int.from_bytes(key[:8].encode(), "little")
            j = (word ^ tagged) * layout.KEY_MULTIPLIER >> 55 & layout.N_KEY_SLOTS - 1
            while slots[j] >= 0:
                j = (j + 1) % layout.N_KEY_SLOTS
            slots[j] = len(rows)
            what = fields.NAMES.index(kind) if isinstance(kind, str) else kind
            rows.append((tagged, len(text), what, places.get(key, 0)))
            text += key.encode()
    return slots, np.array(rows, np.int64), np.frombuffer(text + bytes(PAD), np.uint8).copy()


def _plan(cells: int) -> tuple[Words, Words]:
    """Tables (first and last column, required fields, rows, fields that matter) and columns (how, fields, cells)."""
    places = fields.fields()
    tables: list[tuple[int, ...]] = []
    columns: list[tuple[int, ...]] = []
    for name, table in fields.TABLES.items():
        first, matter = len(columns), 0
        for column in table:
            a = places[column.key] + column.axis
            b = places[column.second] if column.second else -1
            matter |= 1 << a | (1 << b if b >= 0 else 0)
            columns.append((column.how, a, b, cells + 8 * _ROWS * len(columns)))
        if name == "unplaced":
            matter |= 1 << places["name"]  # it might spell [memory]
        required = sum(1 << places[key] for key in fields.REQUIRED[name])
        if name == "counters":
            required |= _NO_FIELD  # any number of series, of any names, which only the slow path tells
        tables.append((first, len(columns), required, 0, matter, 0))
    return np.array(tables, np.int64), np.array(columns, np.int64)
