"""An nsys export as one SQLite file, read without ever writing to it."""

from __future__ import annotations

import importlib
import os
import sqlite3
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from tracelens.collectors.nsys.export import HOW_TO_EXPORT, Export, chunk_rows, first_line
from tracelens.errors import SourceError
from tracelens.storage.table import DataType

MAGIC = b"SQLite format 3\x00"
_SLOW_ROWS = 100_000
_READERS = min(4, os.cpu_count() or 1)
_FAILURES = (sqlite3.Error, UnicodeError, ValueError, OverflowError, MemoryError)


class SqliteExport(Export):
    """A SQLite export. With `fast`, integer columns go through connectorx where it is installed and safe to use."""

    def __init__(self, path: Path, *, fast: bool = True) -> None:
        try:
            _check_length(path)
            with closing(_connect(path)) as database:
                declared = _declared(database)
                self._fast = fast and _is_quiet(path, database)
        except _FAILURES as error:
            raise SourceError(_why_not_opened(path, error)) from error
        self._declared = declared
        super().__init__(path, {table: frozenset(columns) for table, columns in declared.items()})

    def n_rows(self, table: str) -> int:
        """Number of rows of a table that is there."""
        try:
            with closing(_connect(self.path)) as database:
                (count,) = database.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()  # noqa: S608
        except _FAILURES as error:
            raise self.broken(table, error) from error
        return int(count)

    def _chunks(self, table: str, columns: Mapping[str, DataType]) -> Iterator[pl.DataFrame]:
        ranges = self._ranges(table, columns)
        numbers = [name for name, dtype in columns.items() if dtype != pl.String]
        if not (ranges and self._is_fast(table, numbers)):
            yield from self._slow_chunks(table, columns)
            return
        # connectorx lets go of the interpreter: while one range is used, as many more are read as there are cores.
        with ThreadPoolExecutor(_READERS) as pool:
            ahead: deque[Future[pl.DataFrame]] = deque()
            try:
                for rows in ranges:
                    ahead.append(pool.submit(self._read, table, columns, rows))
                    if len(ahead) > _READERS:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _ranges(self, table: str, columns: Collection[str]) -> list[tuple[int, int]]:
        """First and last rowid of each chunk; none where rowids are so sparse that most ranges would be empty."""
        try:
            with closing(_connect(self.path)) as database:
                ends = database.execute(f"SELECT min(rowid), max(rowid) FROM {_quoted(table)}").fetchone()  # noqa: S608
            first, last = map(int, ends) if None not in ends else (1, 0)
        except _FAILURES as error:
            raise self.broken(table, error) from error
        # A row takes two bytes at the very least.
        if last - first > self.path.stat().st_size:
            return []
        step = chunk_rows(columns)
        return [(at, min(at + step - 1, last)) for at in range(first, last + 1, step)]

    def _read(self, table: str, columns: Mapping[str, DataType], rows: tuple[int, int]) -> pl.DataFrame:
        """Some rows: numbers the fast way and texts the slow one, or all the slow way where the fast one balks."""
        numbers = self._fast_read(table, [name for name, dtype in columns.items() if dtype != pl.String], rows)
        if numbers is None:
            return self._slow_read(table, columns, rows)
        rest = {name: dtype for name, dtype in columns.items() if name not in numbers.columns}
        if not rest:
            return numbers
        texts = self._slow_read(table, rest, rows)
        return numbers.hstack(texts) if texts.height == numbers.height else self._slow_read(table, columns, rows)

    def _slow_read(self, table: str, columns: Mapping[str, DataType], rows: tuple[int, int]) -> pl.DataFrame:
        return pl.concat([pl.DataFrame(schema=dict(columns)), *self._slow_chunks(table, columns, rows)])

    def _slow_chunks(
        self, table: str, columns: Mapping[str, DataType], rows: tuple[int, int] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Columns by way of Python rows, so many at a time that memory stays bounded."""
        try:
            with closing(_connect(self.path)) as database:
                cursor = database.execute(_select(table, columns, rows))
                while found := cursor.fetchmany(_SLOW_ROWS):
                    values = zip(columns.items(), zip(*found, strict=True), strict=True)
                    yield pl.DataFrame([_series(name, list(column), dtype) for (name, dtype), column in values])
        except _FAILURES as error:
            raise self.broken(table, error) from error

    def _is_fast(self, table: str, numbers: Collection[str]) -> bool:
        """Whether connectorx may read these columns: it takes a column's word for its type."""
        kinds = {self._declared[table][name] for name in numbers}
        return bool(self._fast and numbers) and kinds <= {"INTEGER", "INT", "BIGINT"} and _connectorx() is not None

    def _fast_read(self, table: str, columns: list[str], rows: tuple[int, int]) -> pl.DataFrame | None:
        """Integers by way of connectorx, five times faster than Python rows; None whenever it balks.

        It refuses a column that holds other things than it was declared to, which sqlite3 then reads.
        """
        connectorx = _connectorx()
        try:
            uri = f"sqlite://{quote(str(self.path.resolve()))}"
            frame = pl.from_arrow(connectorx.read_sql(uri, _select(table, columns, rows), return_type="arrow"))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001  # a panic in connectorx's Rust is no Exception
            return None
        if not isinstance(frame, pl.DataFrame) or not all(dtype.is_integer() for dtype in frame.dtypes):
            return None
        frame.columns = columns
        return frame


@cache
def _connectorx() -> Any:
    """The package, or None where it is not installed or cannot be loaded."""
    try:
        return importlib.import_module("connectorx")
    except ImportError:
        return None


def _check_length(path: Path) -> None:
    """Raise ValueError when the file is shorter than its header says; SQLite takes half a last page for a whole one."""
    with path.open("rb") as stream:
        head = stream.read(100)
    page_bytes, n_pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    expected = (65536 if page_bytes == 1 else page_bytes) * n_pages
    size = path.stat().st_size
    # In WAL mode (2), pages may still lie in the file beside.
    if head[18:19] != b"\x02" and size < expected:
        raise ValueError(f"it ends at byte {size} of {expected}")


def _connect(path: Path) -> sqlite3.Connection:
    """A read-only connection that decodes any text and does not wait for a lock."""
    database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=0)
    database.text_factory = lambda raw: raw.decode(errors="replace")
    return database


def _declared(database: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Columns of every table, with the type each was declared with."""
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: {row[1]: str(row[2]).upper() for row in database.execute(f"PRAGMA table_info({_quoted(name)})")}
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


def _select(table: str, columns: Iterable[str], rows: tuple[int, int] | None) -> str:
    """A statement whose rows come in the order stored, so that two of them can be set side by side."""
    where = "" if rows is None else f" WHERE rowid BETWEEN {rows[0]} AND {rows[1]}"
    return f"SELECT {', '.join(map(_quoted, columns))} FROM {_quoted(table)}{where} ORDER BY rowid"  # noqa: S608


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _series(name: str, values: list[Any], dtype: DataType) -> pl.Series:
    """A column from Python values; in an integer one anything else is null, in a text one all is text."""
    try:
        return pl.Series(name, values, dtype)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        if dtype == pl.String:
            return pl.Series(name, [_text(value) for value in values], pl.String)
        return pl.Series(name, [value if isinstance(value, int) else None for value in values], pl.Int64)


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return None if value is None else str(value)
