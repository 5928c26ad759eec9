"""Read an nsys export in one SQLite file, without ever writing to it."""

import importlib
import os
import shutil
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pyarrow as pa

from tracelens.collectors.nsys.export import HOW_TO_EXPORT, Export, chunk_rows, decoded, read_ahead
from tracelens.errors import SourceError, first_line
from tracelens.storage.folders import OwnFolder
from tracelens.storage.table import DataType

_WAL = b"\x02"
"""The format number in the header of a SQLite file in WAL mode.

In this mode, SQLite writes changes to a log first.
"""
_ROWS = 100_000
_FAILURES = (sqlite3.Error, UnicodeError, ValueError, OverflowError, MemoryError)


class SqliteExport(Export):
    """Reads a SQLite export, through ADBC if that is installed."""

    def __init__(self, path: Path) -> None:
        try:
            self._uri, copy = _address(path)
            if copy is not None:
                weakref.finalize(self, copy.cleanup)
            with closing(_connect(self._uri)) as database:
                columns = _columns(database)
        except _FAILURES as error:
            raise SourceError(_why_not_opened(path, error)) from error
        super().__init__(path, columns)

    def n_rows(self, table: str) -> int:
        """Return the number of rows of an existing table."""
        try:
            with closing(_connect(self._uri)) as database:
                (count,) = database.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()  # noqa: S608
        except _FAILURES as error:
            raise self.broken(table, error) from error
        return int(count)

    def _chunks(self, table: str, columns: Mapping[str, DataType]) -> Iterator[pl.DataFrame]:
        n_read = 0
        try:
            for chunk in read_ahead(self._arrow_chunks(table, columns)):
                n_read += chunk.height
                yield chunk
        except (ImportError, OSError, pa.ArrowException):
            # ADBC is not installed, or it refuses a damaged file or a column of several types.
            # Python's own module can still read such rows.
            yield from self._row_chunks(table, columns, n_read)

    def _arrow_chunks(self, table: str, columns: Mapping[str, DataType]) -> Iterator[pl.DataFrame]:
        """Yield columns through ADBC, five times faster than Python rows.

        Raises OSError for a column with values of several types.
        """
        # ADBC takes a column's type from its first values. Columns that begin with None count as
        # integers.
        adbc = importlib.import_module("adbc_driver_sqlite.dbapi")
        rows = {"adbc.sqlite.query.batch_rows": str(chunk_rows(columns))}
        try:
            with (
                adbc.connect(self._uri) as database,
                database.cursor(adbc_stmt_kwargs=rows) as cursor,
            ):
                cursor.execute(_select(table, columns))
                for batch in cursor.fetch_record_batch():
                    kinds = [(field.type, columns[field.name]) for field in batch.schema]
                    if not all(
                        stored == pa.int64() or (stored, asked) == (pa.string(), pl.String)
                        for stored, asked in kinds
                    ):
                        raise OSError("a column has another type than is asked for")
                    yield decoded(pa.Table.from_batches([batch]))
        except adbc.Error as error:
            raise OSError(first_line(error)) from error

    def _row_chunks(
        self,
        table: str,
        columns: Mapping[str, DataType],
        n_skipped: int,
    ) -> Iterator[pl.DataFrame]:
        """Yield columns read as Python rows, in chunks that bound the memory.

        Python rows accept values of any type.
        """
        try:
            with closing(_connect(self._uri)) as database:
                cursor = database.execute(f"{_select(table, columns)} LIMIT -1 OFFSET {n_skipped}")
                while rows := cursor.fetchmany(_ROWS):
                    values = zip(columns.items(), zip(*rows, strict=True), strict=True)
                    yield pl.DataFrame(
                        [_series(name, list(column), dtype) for (name, dtype), column in values]
                    )
        except _FAILURES as error:
            raise self.broken(table, error) from error


def _address(path: Path) -> tuple[str, OwnFolder | None]:
    """Return a URI with which SQLite can read the file, and a temporary folder.

    If the file has to be copied, the URI names the copy in this folder. Otherwise the folder is
    None.

    Raises ValueError if the file is shorter than its header says.
    """
    with path.open("rb") as stream:
        head = stream.read(100)
    if head[18:19] != _WAL:  # otherwise pages may still be in the log
        page_bytes, n_pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
        expected, size = (65536 if page_bytes == 1 else page_bytes) * n_pages, path.stat().st_size
        if size < expected:
            # SQLite would accept half a last page.
            raise ValueError(f"it ends at byte {size} of {expected}")
        return f"file:{quote(os.fsencode(path))}?mode=ro", None
    # In WAL mode, SQLite would write two files beside the database, so the database is opened as
    # immutable. If the log still has pages, copies are opened.
    log = path.with_name(f"{path.name}-wal")
    if not (log.is_file() and log.stat().st_size):
        return f"file:{quote(os.fsencode(path))}?immutable=1", None
    folder = OwnFolder("tracelens-nsys-")
    for file in (path, log):
        shutil.copy(file, Path(folder.name) / file.name)
    return f"file:{quote(os.fsencode(Path(folder.name) / path.name))}", folder


def _connect(uri: str) -> sqlite3.Connection:
    """Return a connection that decodes any text and does not wait for a lock."""
    database = sqlite3.connect(uri, uri=True, timeout=0)
    database.text_factory = lambda raw: raw.decode(errors="replace")
    return database


def _columns(database: sqlite3.Connection) -> dict[str, frozenset[str]]:
    names = [
        name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    return {
        name: frozenset(row[1] for row in database.execute(f"PRAGMA table_info({_quoted(name)})"))
        for name in names
        if not name.startswith("sqlite_")
    }


def _why_not_opened(path: Path, error: BaseException) -> str:
    text = first_line(error)
    if "locked" in text or "busy" in text:
        return (
            f"{path}: the SQLite file is locked by another program; wait for nsys export to end, or"
            " copy the file"
        )
    return (
        f"{path}: expected a SQLite file written by nsys export, found one that cannot be read"
        f" ({text}); it is damaged or incomplete, make it again with {HOW_TO_EXPORT}"
    )


def _select(table: str, columns: Iterable[str]) -> str:
    """Return a statement that reads columns in the order of the stored rows."""
    return f"SELECT {', '.join(map(_quoted, columns))} FROM {_quoted(table)} ORDER BY rowid"  # noqa: S608


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _series(name: str, values: list[Any], dtype: DataType) -> pl.Series:
    """Return a column of Python values.

    A value of another type becomes None in an integer column, and text in a text column.
    """
    try:
        return pl.Series(name, values, dtype)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        if dtype == pl.String:
            return pl.Series(
                name,
                [_text(value) for value in values],
                pl.String,
            )
        return pl.Series(
            name,
            [value if isinstance(value, int) else None for value in values],
            pl.Int64,
        )


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return None if value is None else str(value)
