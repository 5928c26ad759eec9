"""Pieces of tables from blocks and workers, and the rows the slow path read, into one raw frame a table."""

from __future__ import annotations

import polars as pl

from tracelens.collectors.torch.columns import _KINDS as _KINDS_OF_CATEGORIES
from tracelens.collectors.torch.columns import _STEP, DRIVERS, _json_text
from tracelens.collectors.torch.fast import fields
from tracelens.collectors.torch.fast.collected import Collected, SlowRows
from tracelens.collectors.torch.fast.worker import Worker, unescaped
from tracelens.collectors.torch.values import integer

_KINDS = ("op", "annotation", "overhead", "python", "module")
_APIS = ("runtime", "driver")
_NUMBERS = 1 << fields.NUMBER_BITS


class Dictionary:
    """Distinct strings of several origins, and columns of their numbers."""

    def __init__(self, of_workers: list[pl.Series]) -> None:
        """The strings that each worker met."""
        self._parts: list[pl.Series] = []
        self._size = 0
        self._first = pl.Series([self.add(strings) for strings in of_workers], dtype=pl.UInt32)

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

    def numbers(self, written: pl.Series) -> pl.Series:
        """The numbers here of strings that are numbered as their workers have them."""
        return (written % _NUMBERS + self._first.gather(written // _NUMBERS)).cast(pl.UInt32)


class Assembly:
    """Builds the frames; each column is let go where it was read as soon as it is built."""

    def __init__(self, collected: Collected, workers: list[Worker]) -> None:
        """Put all strings into two dictionaries: texts, and shapes, which are JSON."""
        self._collected = collected
        self._texts = Dictionary([_texts(worker.strings()) for worker in workers])
        self._shapes = Dictionary([_json_text(worker.strings(shapes=True).to_list()) for worker in workers])
        workers.clear()
        self._slow_numbers: dict[tuple[str, str], pl.Series] = {}
        self._slow: dict[str, SlowRows] = {}
        for name, parts in collected.slow.items():
            rows = SlowRows(pl.concat([p.places for p in parts]), pl.concat([p.frame for p in parts]))
            self._slow[name] = rows
            for of in fields.TABLES[name]:
                if of.how in fields.STRINGS and of.name in rows.frame.columns:
                    strings = rows.frame[of.name]
                    begin = self._dictionary(of).add(strings.fill_null(""))
                    numbers = pl.int_range(begin, begin + len(strings), eager=True)
                    self._slow_numbers[name, of.name] = numbers.set(strings.is_null(), None)
        self._texts.finish()
        self._shapes.finish()

    def frames(self) -> dict[str, pl.DataFrame]:
        """One frame a table that any event belongs to, rows in file order."""
        names = [name for name in fields.NAMES if self._collected.height(name) or name in self._slow]
        return {name: self._frame(name) for name in names if name != "unplaced"}

    def unplaced(self) -> list[tuple[str | None, str | None, int]]:
        """Phases and categories of events that no table holds, and how many there are, most first."""
        if not self._collected.height("unplaced"):
            return []
        columns = [self._texts.strings.gather(self._numbers("unplaced", of)) for of in fields.TABLES["unplaced"]]
        frame = pl.DataFrame([column.alias(name) for column, name in zip(columns, ("phase", "category"), strict=True)])
        counts = frame.group_by("phase", "category", maintain_order=True).len().sort("len", descending=True)
        return counts.rows()

    def _frame(self, name: str) -> pl.DataFrame:
        slow = self._slow.get(name)
        order = None
        if slow is not None:
            # Slow rows first, so that they stand before the row at their place.
            places = pl.concat([slow.places, pl.int_range(self._collected.height(name), eager=True)])
            order = places.to_frame("place").select(pl.arg_sort_by("place", maintain_order=True)).to_series()
        numbers: dict[str, pl.Series] = {}
        columns: dict[str, pl.Series] = {}
        for of in fields.TABLES[name]:
            if of.how in fields.STRINGS:
                fast = self._numbers(name, of)
                if of.name in {"name", "category"}:
                    numbers[of.name] = fast
                values = self._dictionary(of).column(_merged(fast, self._slow_numbers.get((name, of.name)), order))
            else:
                fast = self._with_tracks(self._collected.take(name, of, wide=slow is not None))
                values = _merged(fast, None if slow is None else slow.frame[of.name], order)
            columns[of.name] = values.alias(of.name)
        if name == "spans":
            self._insert(columns, "kind", _merged_words(self._kinds(numbers), _KINDS, slow, order))
        elif name == "api_calls":
            driver = self._codes(dict.fromkeys(DRIVERS, 1)).gather(numbers["category"])
            self._insert(columns, "source_api", _merged_words(driver.alias("source_api"), _APIS, slow, order))
            del columns["category"]
        return pl.DataFrame(columns)

    @staticmethod
    def _insert(columns: dict[str, pl.Series], name: str, values: pl.Series) -> None:
        """Put a derived column where the slow path has it: before the category."""
        category_on = [(key, columns.pop(key)) for key in list(columns)[list(columns).index("category") :]]
        columns[name] = values.alias(name)
        columns.update(category_on)

    def _dictionary(self, of: fields.Column) -> Dictionary:
        return self._shapes if of.how == fields.SHAPE else self._texts

    def _numbers(self, name: str, of: fields.Column) -> pl.Series:
        """The numbers of a column's strings in the dictionary."""
        return self._dictionary(of).numbers(self._collected.take(name, of, wide=False))

    def _with_tracks(self, values: pl.Series) -> pl.Series:
        """The values with the number that each track's name holds, and null where it holds none."""
        highest = values.max()
        if values.dtype != pl.Int64 or not isinstance(highest, int) or highest < fields.TRACK_BASE:
            return values
        named = values.filter(values >= fields.TRACK_BASE).unique()
        names = self._texts.strings.gather(self._texts.numbers((named - fields.TRACK_BASE).cast(pl.UInt32)))
        found = pl.Series([integer(name) for name in names], dtype=pl.Int64)
        return values.replace(named, found)

    def _kinds(self, numbers: dict[str, pl.Series]) -> pl.Series:
        """The kind of each span that the parser read, as the slow path tells it from category and name."""
        strings, names, category = self._texts.strings, numbers["name"], numbers["category"]
        spans = pl.DataFrame({
            "kind": self._codes({c: _KINDS.index(kind) for c, kind in _KINDS_OF_CATEGORIES.items()}).gather(category),
            "known": self._codes({"python_function": 1, "Operator": 2}).gather(category),
            "is_module": strings.str.starts_with("nn.Module: ").gather(names),
            "is_step": strings.str.contains(f"^(?:{_STEP.pattern})$").gather(names),
        })  # fmt: skip
        python = _KINDS.index("python") + pl.col("is_module").cast(pl.Int8)
        is_step = (pl.col("known") == 2) & pl.col("is_step")
        return spans.select(
            pl.when(pl.col("known") == 1)
            .then(python)
            .when(is_step)
            .then(pl.lit(_KINDS.index("annotation")))
            .otherwise("kind")
            .alias("kind")
        ).to_series()

    def _codes(self, codes: dict[str, int]) -> pl.Series:
        """A code for each string, 0 for those without."""
        return self._texts.strings.replace_strict(codes, default=0, return_dtype=pl.Int8)


def _texts(written: pl.Series) -> pl.Series:
    """JSON strings' contents as text."""
    escaped = written.bin.contains(b"\\").arg_true()
    if len(escaped):
        texts = [unescaped(text).encode() for text in written.gather(escaped)]
        written = written.to_frame().with_row_index().with_columns(pl.col("index").cast(pl.UInt32)).join(
            pl.DataFrame({"index": escaped.cast(pl.UInt32), "plain": pl.Series(texts, dtype=pl.Binary)}),
            on="index", how="left", maintain_order="left",
        ).select(pl.coalesce("plain", "text")).to_series()  # fmt: skip
    return written.cast(pl.String)


def _merged(fast: pl.Series, slow: pl.Series | None, order: pl.Series | None) -> pl.Series:
    """The rows of both in file order."""
    if slow is None or order is None:
        return fast
    return pl.concat([slow.cast(fast.dtype), fast]).gather(order)


def _merged_words(
    codes: pl.Series, words: tuple[str, ...], slow: SlowRows | None, order: pl.Series | None
) -> pl.Series:
    """A categorical column of few words."""
    if slow is not None:
        own = slow.frame[codes.name].replace_strict({word: i for i, word in enumerate(words)}, return_dtype=pl.Int8)
        codes = _merged(codes.cast(pl.Int8), own, order)
    return pl.Series(words).cast(pl.Categorical).gather(codes.cast(pl.UInt32))
