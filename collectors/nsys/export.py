"""Read the tables that `nsys export` wrote, in any of its formats.

nsys omits empty tables, and columns differ between versions. So no table or column is required.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow as pa
from pyarrow import ipc

from tracelens.collectors.nsys.arrow_sizes import batch_bytes
from tracelens.collectors.nsys.sniffing import is_nsys_table
from tracelens.errors import SourceError, first_line
from tracelens.storage.limits import EXPANSION, may_become
from tracelens.storage.pages import page_bytes
from tracelens.storage.table import DataType

HOW_TO_EXPORT = "nsys export --type parquetdir --output NAME_pqtdir NAME.nsys-rep"
_ARROW_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_CHUNK_CELLS = 1 << 22
_CELL_BYTES = 8
_FLAT = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_null,
    pa.types.is_temporal,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
)


def wanted(integers: Iterable[str] = (), texts: Iterable[str] = ()) -> dict[str, DataType]:
    """Return a schema of columns to read from an export: integers as Int64, texts as String."""
    columns: dict[str, DataType] = dict.fromkeys(integers, pl.Int64)
    return columns | dict.fromkeys(texts, pl.String)


def chunk_rows(columns: Collection[str]) -> int:
    """Return how many rows of these columns are read at a time."""
    return max(1, _CHUNK_CELLS // max(1, len(columns)))


class Export(ABC):
    """Reads the tables of one export. All formats yield the same frames."""

    def __init__(self, path: Path, columns: Mapping[str, frozenset[str]]) -> None:
        self.path = path
        self.columns = columns

    def has(self, table: str) -> bool:
        """Return whether the export has the table."""
        return table in self.columns

    def frame(self, table: str, columns: Mapping[str, DataType]) -> pl.DataFrame:
        """Return the named columns of a table, in this order.

        An absent column is None. An absent table has no rows. Integers become Int64; larger values
        wrap around. Raises SourceError if the table is damaged.
        """
        return pl.concat(
            [
                pl.DataFrame(schema=dict(columns)),
                *self.chunks(table, columns),
            ]
        )

    def chunks(self, table: str, columns: Mapping[str, DataType]) -> Iterator[pl.DataFrame]:
        """Yield the rows that `frame` returns, in chunks of some million cells."""
        present = {
            name: dtype for name, dtype in columns.items() if name in self.columns.get(table, ())
        }
        if not self.has(table):
            return
        # A table without any of the columns still has rows.
        for chunk in self._chunks(table, present) if present else [self._rows_only(table)]:
            yield chunk.select(
                (
                    pl.col(name).cast(dtype, strict=False, wrap_numerical=dtype == pl.Int64)
                    if name in present
                    else pl.repeat(None, pl.len(), dtype=dtype).alias(name)
                )
                for name, dtype in columns.items()
            )

    def _rows_only(self, table: str) -> pl.DataFrame:
        """Return a frame with one unnamed column of None, and as many rows as the table."""
        return pl.DataFrame({"": pl.repeat(None, self.n_rows(table), dtype=pl.Int8, eager=True)})

    def broken(self, table: str, error: BaseException) -> SourceError:
        """Return the error for a table that cannot be read."""
        return SourceError(
            f"{self.path}: table {table} cannot be read to its end ({first_line(error)}); the"
            f" export is damaged or incomplete, make it again with {HOW_TO_EXPORT}"
        )

    @abstractmethod
    def n_rows(self, table: str) -> int:
        """Return the number of rows of an existing table."""

    @abstractmethod
    def _chunks(self, table: str, columns: Mapping[str, DataType]) -> Iterator[pl.DataFrame]:
        """Yield existing columns in chunks, in the order stored, integers as stored."""


class DirectoryExport(Export):
    """Reads a directory with one file per table.

    The directory is a parquetdir (TABLE.parquet) or an arrowdir (TABLE.arrow, an Arrow IPC stream).
    """

    def __init__(self, path: Path, suffix: str) -> None:
        self._suffix = suffix
        self.path = path
        try:
            files = sorted(path.glob(f"*{suffix}"))
        except OSError as error:
            raise SourceError(f"{path}: cannot be listed: {first_line(error)}") from error
        columns = {}
        for file in files:
            try:
                columns[file.stem] = frozenset(_schema_of(file).names)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise self.broken(file.stem, error) from error
        super().__init__(path, columns)

    def n_rows(self, table: str) -> int:
        """Return the number of rows of an existing table."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - takes 0.02 s, which others need not wait

        file = self._file(table)
        try:
            if self._suffix == ".parquet":
                n_rows = int(pq.read_metadata(file).num_rows)
            else:
                n_rows = sum(batch.num_rows for batch in _arrow_batches(file, None))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self.broken(table, error) from error
        _check_size(file, n_rows * _CELL_BYTES)
        return n_rows

    def _file(self, table: str) -> Path:
        return self.path / f"{table}{self._suffix}"

    def _chunks(self, table: str, columns: Mapping[str, DataType]) -> Iterator[pl.DataFrame]:
        yield from read_ahead(self._decoded(table, columns))

    def _decoded(self, table: str, columns: Mapping[str, DataType]) -> Iterator[pl.DataFrame]:
        read = _parquet_tables if self._suffix == ".parquet" else _arrow_batches
        try:
            for arrow in read(self._file(table), list(columns)):
                yield decoded(arrow.select(list(columns)))
        except (
            pa.ArrowException,
            pl.exceptions.PolarsError,
            OSError,
            ValueError,
            KeyError,
        ) as error:
            raise self.broken(table, error) from error


def read_ahead(chunks: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the chunks. The next chunk is read in another thread while the caller uses a chunk."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = pool.submit(next, chunks, None)
            yield chunk
    # Otherwise Arrow would keep its read buffers for the next time.
    pa.default_memory_pool().release_unused()


def decoded(table: pa.Table) -> pl.DataFrame:
    """Check the buffers of an Arrow table, and return the table as a frame.

    Raises ArrowInvalid for a damaged table.
    """
    columns = {name: pl.from_arrow(_checked(table.column(name))) for name in table.column_names}
    return pl.DataFrame(columns)


def open_directory(path: Path) -> DirectoryExport | None:
    """Return the directory as an export.

    Return None if no file in the directory has the name of a table of nsys.
    """
    for suffix in (".parquet", ".arrow"):
        if any(is_nsys_table(file.stem) for file in path.glob(f"*{suffix}")):
            return DirectoryExport(path, suffix)
    return None


def _schema_of(file: Path) -> pa.Schema:
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes 0.02 s, which others need not wait

    if file.suffix == ".parquet":
        return pq.read_schema(file)
    with ipc.open_stream(file) as stream:
        return stream.schema


def _parquet_tables(file: Path, columns: list[str]) -> Iterator[pa.Table]:
    """Yield the file in batches."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes 0.02 s, which others need not wait

    _check_types(pq.read_schema(file), columns)
    with pq.ParquetFile(file, read_dictionary=columns) as parquet:
        cells = parquet.metadata.num_rows * len(columns) * _CELL_BYTES
        _check_size(file, max(cells, page_bytes(file, columns)))
        # Other cores read other tables. If several cores decode a row group, freeing each other's
        # memory costs as much system time as the decoding.
        for batch in parquet.iter_batches(chunk_rows(columns), columns=columns, use_threads=False):
            yield _without_dictionaries(file, pa.Table.from_batches([batch]))


def _without_dictionaries(file: Path, table: pa.Table) -> pa.Table:
    """Return the table with its dictionary columns decoded to texts.

    Raises SourceError if the texts would be far larger than the file.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 0.04 s, which others need not wait

    for number, name in enumerate(table.column_names):
        column = table.column(number)
        if pa.types.is_dictionary(column.type):
            chunks = (
                pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks
            )
            _check_size(
                file,
                sum(pc.sum(lengths.cast(pa.int64())).as_py() or 0 for lengths in chunks),
            )
            is_text = pa.types.is_string(column.type.value_type) or pa.types.is_large_string(
                column.type.value_type
            )
            table = table.set_column(
                number,
                name,
                column.cast(pa.large_string() if is_text else pa.large_binary()),
            )
    return table


def _check_types(schema: pa.Schema, columns: list[str] | None) -> None:
    """Raise ValueError for a column that may take unlimited memory when decoded."""
    # Rows of such a column may share memory.
    for field in schema:
        if (columns is None or field.name in columns) and not any(
            is_one(field.type) for is_one in _FLAT
        ):
            raise ValueError(f"the column {field.name} is {field.type}, which nsys never writes")


def _check_size(file: Path, size_bytes: int) -> None:
    """Raise SourceError if the file's data would take far more memory than an export of its size.

    `size_bytes` is the size in memory that the file's header states.
    """
    given = file.stat().st_size
    if size_bytes > may_become(given):
        raise SourceError(
            f"{file}: expected a table of nsys export, found {given} bytes that say they are"
            f" {size_bytes}, more than {EXPANSION.value} times as much; {EXPANSION.how_to_raise}"
        )


def _arrow_batches(file: Path, columns: list[str] | None) -> Iterator[pa.Table]:
    """Yield the batches of an Arrow stream.

    Raises ValueError if the stream was cut.
    """
    with pa.memory_map(str(file)) as mapped:
        if (
            mapped.size() < len(_ARROW_END)
            or mapped.read_at(len(_ARROW_END), mapped.size() - 8) != _ARROW_END
        ):
            # Arrow's reader accepts a stream that was cut between two batches.
            raise ValueError("the Arrow stream has no end mark")
        _check_size(file, sum(batch_bytes(mapped)))
        mapped.seek(0)
        with ipc.open_stream(mapped) as stream:
            _check_types(stream.schema, columns)
            for batch in stream:
                table = pa.Table.from_batches([batch])
                yield table if columns is None else table.select(columns)


def _checked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Check the column's buffers, and return it with bytes that are not UTF-8 replaced.

    Raises ArrowInvalid for a damaged column.
    """
    # Arrow and Polars would read a damaged column out of bounds.
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        column.validate(full=True)  # a stream states its number of nulls, which may be wrong
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raw = column.cast(pa.binary() if pa.types.is_string(column.type) else pa.large_binary())
        raw.validate(full=True)
        texts = [
            None if value is None else value.decode(errors="replace") for value in raw.to_pylist()
        ]
        return pa.chunked_array([pa.array(texts, pa.large_string())])
    return column
