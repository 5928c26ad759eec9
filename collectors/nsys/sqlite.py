"""An nsys export as one SQLite file, read without ever writing to it."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from tracelens.collectors.nsys.export import HOW_TO_EXPORT, Export, first_line
from tracelens.errors import SourceError
from tracelens.table import DataType

MAGIC = b"SQLite format 3\x00"
_FAILURES = (sqlite3.Error, UnicodeError, ValueError, OverflowError, MemoryError)


class SqliteExport(Export):
    """A SQLite export. With `fast`, integer columns go through connectorx where it is installed and safe to use."""

    def __init__(self, path: Path, *, fast: bool = True) -> None:
        try:
            with closing(_connect(path)) as database:
                columns = _columns(database)
                self._fast = fast and _is_quiet(path, database)
        except _FAILURES as error:
            raise SourceError(_why_not_opened(path, error)) from error
        super().__init__(path, columns)

    def n_rows(self, table: str) -> int:
        """Number of rows of a table that is there."""
        return int(self._query(table, f"SELECT count(*) FROM {_quoted(table)}")[0][0])  # noqa: S608

    def _read(self, table: str, columns: Mapping[str, DataType]) -> pl.DataFrame:
        integers = [name for name, dtype in columns.items() if dtype != pl.String]
        texts = [name for name in columns if name not in integers]
        numbers = self._fast_read(_select(table, integers)) if self._fast and integers else None
        if numbers is None:
            rows = self._query(table, _select(table, columns))
            values = zip(*rows, strict=True) if rows else ([] for _ in columns)
            return pl.DataFrame(
                [_series(name, list(value), columns[name]) for name, value in zip(columns, values, strict=True)]
            )
        numbers.columns = integers
        if not texts:
            return numbers
        rows = self._query(table, _select(table, texts))
        values = zip(*rows, strict=True) if rows else ([] for _ in texts)
        series = [_series(name, list(value), pl.String) for name, value in zip(texts, values, strict=True)]
        return numbers.hstack(series)

    def _query(self, table: str, statement: str) -> list[tuple[Any, ...]]:
        try:
            with closing(_connect(self.path)) as database:
                return database.execute(statement).fetchall()
        except _FAILURES as error:
            raise self.broken(table, error) from error

    def _fast_read(self, statement: str) -> pl.DataFrame | None:
        """Rows by way of connectorx, five times faster than Python rows; None whenever it is absent or balks.

        It refuses columns of mixed types, which sqlite3 then reads.
        """
        try:
            connectorx = importlib.import_module("connectorx")
            uri = f"sqlite://{quote(str(self.path.resolve()))}"
            frame = pl.from_arrow(connectorx.read_sql(uri, statement, return_type="arrow"))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001  # a panic in connectorx's Rust is no Exception
            return None
        if not isinstance(frame, pl.DataFrame) or not all(d.is_integer() or d == pl.Boolean for d in frame.dtypes):
            return None
        return frame


def _connect(path: Path) -> sqlite3.Connection:
    """A read-only connection that decodes any text and does not wait for a lock."""
    database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=0)
    database.text_factory = lambda raw: raw.decode(errors="replace")
    return database


def _columns(database: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """Columns of every table, by name."""
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: frozenset(row[1] for row in database.execute(f"PRAGMA table_info({_quoted(name)})"))
        for name in names
        if not name.startswith("sqlite_")
    }


def _is_quiet(path: Path, database: sqlite3.Connection) -> bool:
    """Whether a reader that cannot open read-only, as connectorx 0.4, would leave the file and its folder alone.

    With a journal beside the file, or in WAL mode, merely opening it may write.
    """
    (mode,) = database.execute("PRAGMA journal_mode").fetchone()
    return mode == "delete" and not any(Path(f"{path}{suffix}").exists() for suffix in ("-journal", "-wal", "-shm"))


def _why_not_opened(path: Path, error: BaseException) -> str:
    text = first_line(error)
    if "locked" in text or "busy" in text:
        return f"{path}: the SQLite file is locked by another program; wait for nsys export to end, or copy the file"
    return (
        f"{path}: expected a SQLite file written by nsys export, found one that cannot be read ({text}); "
        f"it is damaged or incomplete, make it again with {HOW_TO_EXPORT}"
    )


def _select(table: str, columns: Iterable[str]) -> str:
    """A statement whose rows come in the order stored, so that two of them can be set side by side."""
    return f"SELECT {', '.join(map(_quoted, columns))} FROM {_quoted(table)} ORDER BY rowid"  # noqa: S608


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _series(name: str, values: list[Any], dtype: DataType) -> pl.Series:
    """A column from Python values; in an integer one, anything else is null."""
    if dtype == pl.String:
        return pl.Series(name, [_text(value) for value in values], pl.String)
    return pl.Series(name, [value if isinstance(value, int) else None for value in values], pl.Int64)


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return None if value is None else str(value)
