"""Pieces of tables from blocks and workers, and the rows the slow path read, into one raw frame a table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from tracelens.collectors.torch.columns import _KINDS as _KINDS_OF_CATEGORIES
from tracelens.collectors.torch.columns import _STEP, DRIVERS, _json_text
from tracelens.collectors.torch.fast import fields
from tracelens.collectors.torch.fast.collected import Collected, Piece, SlowRows, column, dtype_of
from tracelens.collectors.torch.fast.layout import NUMBER_BITS
from tracelens.collectors.torch.fast.worker import Worker, unescaped

_KINDS = ("op", "annotation", "overhead", "python", "module")
_APIS = ("runtime", "driver")
_CHUNK = 1 << 16


class Dictionary:
    """Distinct strings of several origins, and columns of their numbers."""

    def __init__(self) -> None:
        """Without any string."""
        self._parts: list[pl.Series] = []
        self._size = 0
        self._strings: pl.Series | None = None

    def add(self, strings: pl.Series) -> int:
        """Append strings; returns the number of the first."""
        begin = self._size
        self._parts.append(strings)
        self._size += len(strings)
        return begin

    def finish(self) -> None:
        """All strings have come."""
        self.strings = pl.concat(self._parts) if self._parts else pl.Series([], dtype=pl.String)
        self._parts.clear()
        self._categories = self.strings.cast(pl.Categorical)

    def column(self, numbers: pl.Series) -> pl.Series:
        """The categorical column that the numbers stand for."""
        return self._categories.gather(numbers)


class Assembly:
    """Builds the frames; each piece is let go as soon as its column is built."""

    def __init__(self, collected: Collected, workers: list[Worker]) -> None:
        """Put all strings into two dictionaries: texts, and shapes, which are JSON."""
        self._collected = collected
        self._texts, self._shapes = Dictionary(), Dictionary()
        texts = [self._texts.add(_texts(worker.texts.texts())) for worker in workers]
        shapes = [self._shapes.add(_json_text([_utf8(t) for t in worker.shapes.texts()])) for worker in workers]
        self._first_text, self._first_shape = np.array(texts, np.uint32), np.array(shapes, np.uint32)
        for worker in workers:
            worker.forget()
        self._slow_numbers: dict[tuple[str, str], pl.Series] = {}
        self._slow: dict[str, SlowRows] = {}
        for name, parts in collected.slow.items():
            rows = SlowRows(np.concatenate([p.places for p in parts]), pl.concat([p.frame for p in parts]))
            self._slow[name] = rows
            for of in fields.TABLES[name]:
                if of.how in fields.STRINGS and of.name in rows.frame.columns:
                    dictionary = self._shapes if of.how == fields.SHAPE else self._texts
                    strings = rows.frame[of.name]
                    begin = dictionary.add(strings.fill_null(""))
                    numbers = pl.Series(np.arange(begin, begin + len(strings), dtype=np.int64))
                    self._slow_numbers[name, of.name] = numbers.set(strings.is_null(), None)
        self._texts.finish()
        self._shapes.finish()

    def frames(self) -> dict[str, pl.DataFrame]:
        """One frame a table that any event belongs to, rows in file order."""
        names = [name for name in fields.NAMES if self._collected.height(name) or name in self._slow]
        return {name: self._frame(name) for name in names if name != "unplaced"}

    def unplaced(self) -> list[tuple[str | None, str | None, int]]:
        """Phases and categories of events that no table holds, and how many there are, most first."""
        pieces = self._collected.pieces("unplaced")
        if not pieces:
            return []
        phase, category = (self._texts.column(self._numbers(pieces, i, self._first_text)) for i in range(2))
        frame = pl.DataFrame({"phase": phase.cast(pl.String), "category": category.cast(pl.String)})
        counts = frame.group_by("phase", "category", maintain_order=True).len().sort("len", descending=True)
        return counts.rows()

    def _frame(self, name: str) -> pl.DataFrame:
        pieces = self._collected.pieces(name)
        slow = self._slow.get(name)
        order = None
        if slow is not None:
            n_fast = self._collected.height(name)
            order = pl.Series(np.insert(np.arange(n_fast), slow.places, n_fast + np.arange(slow.frame.height)))
        numbers: dict[str, pl.Series] = {}
        columns: dict[str, pl.Series] = {}
        for i, of in enumerate(fields.TABLES[name]):
            if of.how in fields.STRINGS:
                is_shape = of.how == fields.SHAPE
                fast = self._numbers(pieces, i, self._first_shape if is_shape else self._first_text)
                if of.name in {"name", "category"}:
                    numbers[of.name] = fast
                merged = _merged(fast, self._slow_numbers.get((name, of.name)), order)
                values = (self._shapes if is_shape else self._texts).column(merged)
            else:
                fast = column(
                    pieces,
                    i,
                    pl.Int64() if slow is not None and of.name not in fields.FLOATS else dtype_of(of, pieces, i),
                )
                values = _merged(fast, None if slow is None else slow.frame[of.name], order)
            columns[of.name] = values.alias(of.name)
            for piece in pieces:
                piece.columns[i] = None
        if name == "spans":
            self._insert(columns, "kind", _merged_words(self._kinds(numbers), slow, "kind", order))
        elif name == "api_calls":
            source = _merged_words(self._apis(numbers), slow, "source_api", order)
            self._insert(columns, "source_api", source)
            del columns["category"]
        return pl.DataFrame(columns)

    @staticmethod
    def _insert(columns: dict[str, pl.Series], name: str, values: pl.Series) -> None:
        """Put a derived column where the slow path has it: before the category."""
        category_on = [(key, columns.pop(key)) for key in list(columns)[list(columns).index("category") :]]
        columns[name] = values.alias(name)
        columns.update(category_on)

    @staticmethod
    def _numbers(pieces: list[Piece], i: int, first: npt.NDArray[np.uint32]) -> pl.Series:
        """The numbers of a column's strings in the dictionary."""
        own = column(pieces, i, pl.UInt32())
        written = own.fill_null(0).to_numpy()
        numbers = (written & ((1 << NUMBER_BITS) - 1)) + first[written >> NUMBER_BITS]
        return pl.Series(numbers, dtype=pl.UInt32).set(own.is_null(), None)

    def _kinds(self, numbers: dict[str, pl.Series]) -> tuple[npt.NDArray[np.int8], tuple[str, ...]]:
        """The kind of each span that kernels read, as the slow path tells it from category and name."""
        strings, names = self._texts.strings, numbers["name"].to_numpy()
        category = numbers["category"].to_numpy()
        of_category = _codes(strings, {c: _KINDS.index(kind) for c, kind in _KINDS_OF_CATEGORIES.items()})[category]
        known = _codes(strings, {"python_function": 1, "Operator": 2})[category]
        is_module = strings.str.starts_with("nn.Module: ").to_numpy()[names]
        is_step = strings.str.contains(f"^(?:{_STEP.pattern})$").to_numpy()[names]
        calls, steps = known == 1, (known == 2) & is_step
        of_category[calls] = _KINDS.index("python") + is_module[calls]
        of_category[steps] = _KINDS.index("annotation")
        return of_category, _KINDS

    def _apis(self, numbers: dict[str, pl.Series]) -> tuple[npt.NDArray[np.int8], tuple[str, ...]]:
        return _codes(self._texts.strings, dict.fromkeys(DRIVERS, 1))[numbers["category"].to_numpy()], _APIS


def _codes(strings: pl.Series, codes: dict[str, int]) -> npt.NDArray[np.int8]:
    """A code for each string, 0 for those without."""
    return strings.replace_strict(codes, default=0, return_dtype=pl.Int8).to_numpy()


def _texts(written: list[bytes]) -> pl.Series:
    """JSON strings' contents as text."""
    parts = [pl.Series([unescaped(t) for t in written[i : i + _CHUNK]]) for i in range(0, len(written), _CHUNK)]
    return pl.concat(parts) if parts else pl.Series([], dtype=pl.String)


def _utf8(text: bytes) -> bytes:
    """The text, or nothing where it is not UTF-8, which Polars' cast does not take."""
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            return b""
    return text


def _merged(fast: pl.Series, slow: pl.Series | None, order: pl.Series | None) -> pl.Series:
    if slow is None or order is None:
        return fast
    return pl.concat([fast, slow.cast(fast.dtype)]).gather(order)


def _merged_words(
    fast: tuple[npt.NDArray[np.int8], tuple[str, ...]], slow: SlowRows | None, name: str, order: pl.Series | None
) -> pl.Series:
    """A categorical column of few words."""
    codes, words = pl.Series(fast[0], dtype=pl.Int8), fast[1]
    if slow is not None:
        own = slow.frame[name].replace_strict({word: i for i, word in enumerate(words)}, return_dtype=pl.Int8)
        codes = _merged(codes, own, order)
    return pl.Series(words).cast(pl.Categorical).gather(codes.cast(pl.UInt32))
