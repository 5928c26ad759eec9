"""Read the tables of a trace: whole, some columns, or some rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import polars as pl

from tracelens.errors import (
    MissingTableError,
    ReplacedError,
    SchemaError,
    SourceError,
    first_line,
    near,
)
from tracelens.schemas import TABLES
from tracelens.storage.addresses import shown
from tracelens.storage.objects import is_of_store, reason
from tracelens.storage.reading import check_texts, long_bytes, read_groups
from tracelens.trace.capture import Manifest
from tracelens.trace.collector import how_to_fill
from tracelens.trace.directory import Part, gathered, read_parts, scanned, version_of
from tracelens.trace.listed_names import ListedNames
from tracelens.trace.memory_rows import memory_rows

if TYPE_CHECKING:
    import pyarrow as pa

_CATEGORIES = pl.col(pl.String).cast(pl.Categorical)
_READING = RLock()
"""The lock held while columns are read, so that two threads never read the same column."""


class Tables:
    """The tables of a trace, in memory or in Parquet files that are read on demand."""

    def __init__(
        self,
        manifest: Manifest,
        tables: Mapping[str, pl.LazyFrame],
        path: Path | None = None,
    ) -> None:
        """Wrap tables that already have the declared columns."""
        self.manifest = manifest
        self.path = path
        self._tables = dict(tables)
        self._files: dict[str, list[Part]] = {}
        self._in_memory: dict[str, list[tuple[int, pl.DataFrame]]] = {}
        self._counts: dict[str, dict[str, int]] | None = (
            None  # for a trace in an object store: rows by table and rank
        )
        self._frames: dict[str, pl.DataFrame] = {}
        self._columns: dict[str, dict[str, pl.Series]] = {}
        self._witness: tuple[Path, tuple[int, ...]] | None = None
        self._listed: dict[str, ListedNames] = {}

    def scan(self, name: str) -> pl.LazyFrame:
        """Return the table as a LazyFrame; raise SchemaError if no table has this name."""
        if name not in TABLES:
            raise SchemaError(
                f"no table is called {name!r}; {near(name, TABLES)} (tracelens schema lists all)"
            )
        return self._tables[name]

    def frame(self, name: str) -> pl.DataFrame:
        """Return the table as a DataFrame, and cache it."""
        if name not in self._frames:
            frame = TABLES[name].conform(self._collect(name, self.scan(name)))
            if self._files.get(name):
                with self._reading(name):
                    size = sum(part.file.stat().st_size for part in self._files[name])
                    check_texts(sum(map(long_bytes, frame.select(pl.selectors.string()))), size)
            self._frames[name] = frame
        return self._frames[name]

    def select(
        self,
        name: str,
        *columns: str,
        where: pl.Expr | None = None,
        rank: int | Collection[int] | None = None,
    ) -> pl.DataFrame:
        """Return some columns of a table, strings as Categorical.

        - `where`: return only rows that meet the condition, the fastest way to a few rows.
        - `rank`: return only rows of these ranks. Other ranks' files are not read.

        Columns are cached, except with `where` or `rank`. For a large table, `select` takes a
        fraction of the time and memory of `frame`.
        """
        ranks = {rank} if isinstance(rank, int) else None if rank is None else {*rank}
        if ranks == {*self.manifest.ranks}:
            ranks = None
        if ranks is not None or where is not None:
            if self._are_in_memory(name):
                return self._read_memory(name, columns, where, ranks)
            files = self._files.get(name, [])
            rank_parts = [part for part in files if ranks is not None and part.rank in ranks]
            if where is None and _have(rank_parts, columns):
                return self._read_parts(name, rank_parts, columns)
            rows = (
                scanned(rank_parts, TABLES[name])
                if files and ranks is not None
                else self.scan(name)
            )
            rows = rows.filter(
                True if where is None else where,
                True if ranks is None else pl.col("rank").is_in([*ranks]),
            )
            return self._collect(name, self._as_codes(name, rows.select(columns)))
        cached = self._columns.setdefault(name, {})
        with _READING:
            missing = [column for column in columns if column not in cached]
            if missing:
                cached.update(self._read(name, missing).to_dict())
        return pl.DataFrame([cached[column] for column in columns])

    def batches(
        self, name: str, *columns: str, use_threads: bool = True
    ) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
        """Yield rows of these columns as lists of Arrow record batches, each list with its rank.

        Strings are dictionary-encoded. Nothing is cached. This is the fastest single pass over
        millions of rows. With `use_threads`, columns are decoded in parallel.
        """
        files = self._files.get(name, [])
        if _have(files, columns):
            for part in files:
                with self._reading(name):
                    yield from (
                        (part.rank, self._shared(name, rows).to_batches())
                        for rows in read_groups(part.file, columns, use_threads=use_threads)
                    )
            return
        parts = self.select(name, "rank", *columns).partition_by(
            "rank", as_dict=True, include_key=False
        )
        for (rank,), frame in parts.items():
            yield rank, frame.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()

    def chunks(
        self,
        name: str,
        *columns: str,
        rank: int | None = None,
    ) -> Iterator[pl.DataFrame]:
        """Yield these columns in frames like the result of `select`, in order of ranks.

        Nothing is cached. A frame has several small files, or one row group of a large file. With
        `rank`, only rows of this rank are read.
        """
        files = self._files.get(name, [])
        if rank is not None:
            files = [part for part in files if part.rank == rank]
        if not _have(files, columns):
            yield self.select(name, *columns, rank=rank)
            return
        for parts in gathered(files):
            if len(parts) > 1:
                yield self._read_parts(name, parts, columns)
                continue
            with self._reading(name):
                columns_of_file = [column for column in columns if column != "rank"]
                for rows in read_groups(parts[0].file, columns_of_file, use_threads=True):
                    chunk = pl.DataFrame(pl.from_arrow(self._shared(name, rows), rechunk=False))
                    yield chunk.select(
                        pl.lit(parts[0].rank, pl.Int32).alias("rank"),
                        pl.all(),
                    ).select(columns)

    def has(self, name: str) -> bool:
        """Return whether the table has rows."""
        return self.height(name) > 0

    def height(self, name: str) -> int:
        """Return the number of rows of a table; rows in files are counted without reading them."""
        if self._files.get(name):
            return sum(part.n_rows for part in self._files[name])
        if self._counts is not None:
            return sum(self._counts.get(name, {}).values())
        if name in self._in_memory:
            return sum(part.height for _, part in self._in_memory[name])
        return self.select(name, "rank").height

    def heights(self, name: str) -> dict[int, int]:
        """Return the number of a table's rows by rank; ranks without rows are left out."""
        files = self._files.get(name)
        if self._counts is not None:
            return {int(rank): n for rank, n in self._counts.get(name, {}).items() if n}
        if name in self._in_memory:
            counted = [(rank, part.height) for rank, part in self._in_memory[name]]
        elif files:
            counted = [(part.rank, part.n_rows) for part in files]
        else:
            return dict(
                self.select(name, "rank").group_by("rank", maintain_order=True).len().iter_rows()
            )
        n_rows: dict[int, int] = {}
        for rank, n in counted:
            if n:
                n_rows[rank] = n_rows.get(rank, 0) + n
        return n_rows

    def n_names(self, name: str) -> int | None:
        """Return an upper bound of the number of different names in a table.

        Return None unless the manifest of a stored trace counts the names of each rank.
        """
        counts = self.manifest.n_names.get(name, {})
        is_known = counts.keys() == self.manifest.n_rows.get(name, {}).keys()
        in_files = bool(self._files.get(name)) or self._counts is not None
        # Ranks may have the same names.
        return sum(counts.values()) if in_files and is_known else None

    def require(self, analysis: str, *names: str) -> None:
        """Raise MissingTableError if a table is empty; the message says how to fill the table."""
        for name in names:
            if not self.has(name):
                why = self.manifest.empty_tables.get(name, "the capture holds none")
                raise MissingTableError(
                    f"{analysis} needs the table {name}, empty here: {why}; it comes from"
                    f" {how_to_fill(name)}"
                )

    def _read(self, name: str, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of a table, strings as Categorical.

        If all files have these columns, Arrow reads them, otherwise Polars.
        """
        if self._are_in_memory(name):
            return self._read_memory(name, columns)
        files = self._files.get(name, [])
        if _have(files, columns):
            return self._read_parts(name, files, columns)
        return self._collect(name, self._as_codes(name, self.scan(name).select(columns)))

    def _read_parts(
        self,
        name: str,
        parts: Sequence[Part],
        columns: Sequence[str],
    ) -> pl.DataFrame:
        """Return columns of the files; each file must have them."""
        listed = self._listed.get(name)
        share = listed.share if listed and listed.column in columns else None
        with self._reading(name):
            return read_parts(parts, TABLES[name], columns, share)

    def _are_in_memory(self, name: str) -> bool:
        """Return whether a table is in memory, and none of its names is replaced in results."""
        return name in self._in_memory and name not in self._listed

    def _read_memory(
        self,
        name: str,
        columns: Sequence[str],
        where: pl.Expr | None = None,
        ranks: Collection[int] | None = None,
    ) -> pl.DataFrame:
        """Return columns of a table in memory, strings as Categorical."""
        of_ranks = [
            (rank, part) for rank, part in self._in_memory[name] if ranks is None or rank in ranks
        ]
        with self._reading(name):
            return memory_rows(TABLES[name], of_ranks, columns, where)

    def _as_codes(self, name: str, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return rows with unlisted names replaced and strings as Categorical."""
        listed = self._listed.get(name)
        if listed and listed.column in rows.collect_schema():
            rows = rows.with_columns(listed.shared())
        return rows.with_columns(_CATEGORIES)

    def _shared(self, name: str, rows: pa.Table) -> pa.Table:
        """Return Arrow rows of a table with unlisted names replaced."""
        listed = self._listed.get(name)
        return listed.share(rows) if listed else rows

    def _collect(self, name: str, query: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on the table."""
        with self._reading(name):
            return query.collect()

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Raise SourceError for any error of a `with` block that reads a table.

        Raises ReplacedError if the trace on disk has been replaced.
        """
        try:
            yield
            # Tables of two traces would not belong together.
            self._refuse_another()
        except _unreadable() as error:
            self._refuse_another()
            where = f"{shown(self.path)}/{name}" if self.path else name
            if self._counts is not None and is_of_store(error):
                raise SourceError(f"{where}: cannot be read: {reason(error)}") from None
            raise SourceError(
                f"{where}: cannot be read as Parquet ({first_line(error)}); collect the trace again"
            ) from error

    def _refuse_another(self) -> None:
        """Raise ReplacedError if the trace on disk was replaced after it was opened."""
        if self._witness is not None and version_of(self._witness[0]) != self._witness[1]:
            raise ReplacedError(
                f"{shown(self.path or '')}: another trace took its place while it was read; open"
                " it again"
            )


def _unreadable() -> tuple[type[BaseException], ...]:
    """Return the errors of a table that cannot be read."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which only files need

    return (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        pa.ArrowException,
        OSError,
        ValueError,
        OverflowError,
        MemoryError,
    )


def _have(parts: Sequence[Part], columns: Sequence[str]) -> bool:
    """Return whether there are files and every file has these columns; old files may lack some."""
    wanted = {*columns} - {"rank"}
    return bool(parts) and all(wanted.issubset(part.columns) for part in parts)
