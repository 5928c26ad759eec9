"""A trace: its tables, in memory or as a directory of Parquet, and its manifest."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TypeAlias

import polars as pl
import pyarrow as pa

from tracelens.errors import MissingTableError, SchemaError, SourceError
from tracelens.schemas import TABLES
from tracelens.storage.coding import coded, has_values, read_columns, read_groups, rows_of
from tracelens.storage.folders import locked
from tracelens.storage.table import MANY_CELLS, Stored
from tracelens.trace.capture import Manifest
from tracelens.trace.directory import (
    PART,
    build_folder,
    check_target,
    first_line,
    parts_of,
    read_manifest,
    refuse_expansion,
    scanned,
    swap_in,
)

Parts: TypeAlias = Sequence[tuple[int, pl.DataFrame | Stored]]
"""A rank each, and rows of it without the rank."""

SUFFIX = ".tracelens"
_UNREADABLE = (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)
_WRITERS = 2  # of tables at a time: each holds some rows of one in their full width
_COLLECTORS = {
    "stacks": "tracelens collect gdb",
    "frames": "tracelens collect gdb",
    "provenance": "tracelens collect torch --compile-provenance (or, weaker, of a log that TORCH_TRACE wrote)",
    "spans": "tracelens collect torch, or tracelens collect nsys with NVTX ranges",
    "layers": "tracelens collect torch, of a profile taken with with_stack=True, with_modules=True",
    "timings": "tracelens collect timings, or tl.measure",
    "devices": "tracelens collect torch or nsys",
}


class Trace:
    """Tables of one program's run. `trace.kernels` is a DataFrame, `trace.scan("kernels")` a LazyFrame.

    Every table of the schema is there; one that its sources could not fill is typed and empty, and
    `trace.manifest.empty_tables` says why.
    """

    def __init__(self, manifest: Manifest, tables: Mapping[str, pl.LazyFrame], path: Path | None = None) -> None:
        """Wrap tables that already have the declared columns; use `open` or `collect` instead."""
        self.manifest = manifest
        self.path = path
        self._lazy = dict(tables)
        self._frames: dict[str, pl.DataFrame] = {}
        self._columns: dict[str, dict[str, pl.Series]] = {}
        self._codes: dict[str, dict[str, tuple[pl.Series, pl.Series]]] = {}
        self._has_all: dict[str, bool] = {}
        self._files: dict[str, list[Path]] = {}
        self._stored: dict[str, set[str]] = {}
        self._parts: dict[str, Parts] = {}
        self._as_rank: dict[int, Trace] = {}

    @classmethod
    def of_parts(cls, manifest: Manifest, parts: Mapping[str, Parts]) -> Trace:
        """A trace in memory of what collectors gave: a table's frames by rank, in order, as `Table.conform` takes them.

        They stay as they are, which may be half as large, until a table is asked for.
        """
        lazy = {}
        for name, table in TABLES.items():
            bare = table.without("rank")
            frames = [
                bare.conform_lazily(frame).select(pl.lit(rank, pl.Int32).alias("rank"), pl.all())
                for rank, frame in parts.get(name, ())
            ]
            lazy[name] = pl.concat(frames) if frames else table.empty().lazy()
        trace = cls(manifest, lazy)
        trace._parts = dict(parts)
        return trace

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Trace:
        """Open a trace directory. Raises SourceError when it is none, SchemaError when a newer version wrote it."""
        folder = Path(path)
        manifest = read_manifest(folder)
        tables, files = {}, {}
        for name, table in TABLES.items():
            parts = parts_of(folder, table, manifest)
            tables[name] = pl.concat([scanned(p, table) for p in parts]) if parts else table.empty().lazy()
            if parts:
                files[name] = parts
        refuse_expansion(folder, [part for own in files.values() for part in own])
        trace = cls(manifest, tables, folder)
        trace._files = {name: [part.file for part in own] for name, own in files.items()}
        trace._stored = {name: set.intersection(*(set(p.columns) for p in own)) for name, own in files.items()}
        return trace

    @property
    def name(self) -> str:
        """Name to show: the directory's stem; of a trace in memory the first source's, and how many more there are."""
        if self.path is not None:
            return self.path.resolve().name.removesuffix(SUFFIX)
        names = [str(source.get("name", "unnamed")) for source in self.manifest.sources]
        if not names:
            return "trace"
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"

    def scan(self, name: str) -> pl.LazyFrame:
        """The table as a LazyFrame. Raises SchemaError when no table has that name."""
        if name not in TABLES:
            raise SchemaError(f"no table is called {name!r}; the tables are {', '.join(TABLES)}")
        return self._lazy[name]

    def frame(self, name: str) -> pl.DataFrame:
        """The table as a DataFrame, read once."""
        if name not in self._frames:
            if self._has_all_columns(name):
                frame = self.select(name, *TABLES[name].names)
            else:
                frame = TABLES[name].conform(self._read(name, self.scan(name)))
            self._frames[name] = frame
            self._columns.pop(name, None)
        return self._frames[name]

    def select(self, name: str, *columns: str) -> pl.DataFrame:
        """These columns of a table, each read once: of a large table on disk that takes a fraction of the whole."""
        if name in self._frames or not self._has_all_columns(name):
            return self.frame(name).select(columns)
        self._hold(name, (), [column for column in columns if TABLES[name].schema[column] != pl.String])
        held = self._columns[name]
        missing = [column for column in columns if column not in held]
        if missing:
            held.update(self._read(name, self.scan(name).select(missing)).to_dict())
        return pl.DataFrame([held[column] for column in columns])

    def coded(self, name: str, *columns: str) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
        """As `select`, but strings as codes, see `coding`; and the words of each such column."""
        schema = TABLES[name].schema
        strings = [column for column in columns if schema[column] == pl.String]
        others = [column for column in columns if column not in strings]
        if name not in self._frames and self._has_all_columns(name):
            self._hold(name, strings, others)
        held = self._codes.setdefault(name, {})
        held.update({c: coded(self.select(name, c)[c]) for c in strings if c not in held})
        numbers = self.select(name, *others)
        found = [held[column][0] if column in strings else numbers[column] for column in columns]
        return pl.DataFrame(found), {column: held[column][1] for column in strings}

    def groups(self, name: str, *columns: str) -> Iterator[pl.DataFrame]:
        """These columns some rows at a time, strings as Categorical; of a table on disk none is kept.

        Memory that was never touched before costs more than reading does, so what needs a column only once, or only
        until something is found, takes it like this.
        """
        is_held = {*columns} <= self._columns.get(name, {}).keys()
        if is_held or not self._lies_in_files(name, columns):
            yield self.select(name, *columns)
            return
        for rank, rows in self._read_groups(name, columns, use_threads=True):
            with self._reading(name):
                found = pl.from_arrow(rows, rechunk=False)
            assert isinstance(found, pl.DataFrame)
            ranks = pl.Series("rank", [rank], pl.Int32).new_from_index(0, found.height)
            yield pl.DataFrame([ranks if column == "rank" else found[column] for column in columns])

    def batches(self, name: str, *columns: str) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
        """As `groups`, of one rank each, as they lie in Arrow's memory; strings are dictionaries.

        For threads that read at the same time: of a table they get the same groups, whatever columns are held.
        """
        if self._lies_in_files(name, columns):
            groups = self._read_groups(name, columns, use_threads=False)
        else:
            rows = self.select(name, "rank", *columns).with_columns(pl.col(pl.String).cast(pl.Categorical))
            parts = rows.partition_by("rank", as_dict=True, include_key=False, maintain_order=True)
            groups = ((rank, part.to_arrow(compat_level=pl.CompatLevel.oldest())) for (rank,), part in parts.items())
        for rank, rows in groups:
            yield rank, rows.to_batches()

    def _lies_in_files(self, name: str, columns: Sequence[str]) -> bool:
        """Whether these columns of a table are on disk, and the table is not held as a whole."""
        is_stored = bool(self._files.get(name)) and {*columns} <= self._stored[name] | {"rank"}
        return is_stored and name not in self._frames and self.has(name)

    def _read_groups(self, name: str, columns: Sequence[str], *, use_threads: bool) -> Iterator[tuple[int, pa.Table]]:
        """These columns of each group of rows of the table's files, and its rank."""
        for file in self._files[name]:
            rank = int(file.parent.name.removeprefix("rank="))
            with self._reading(name):
                wanted = [column for column in columns if column != "rank"]
                for rows in read_groups(file, wanted, use_threads=use_threads):
                    yield rank, rows

    def _hold(self, name: str, strings: Sequence[str], others: Sequence[str]) -> None:
        """Read what is not held yet of these columns, strings as codes, in one go where the table lies in files."""
        columns, codes = self._columns.setdefault(name, {}), self._codes.setdefault(name, {})
        strings = [column for column in strings if column not in codes]
        others = [column for column in others if column not in columns]
        strings, others = ([c for c in of_kind if c in self._stored.get(name, ())] for of_kind in (strings, others))
        if strings or others:
            with self._reading(name):
                read = read_columns(self._files[name], strings, others)
            codes.update(read[0])
            columns.update(read[1])

    def _has_all_columns(self, name: str) -> bool:
        """Whether what the table is read from has its columns as declared: one made by hand may lack some."""
        if name not in self._has_all:
            self._has_all[name] = self._read(name, self.scan(name).head(0)).columns == TABLES[name].names
        return self._has_all[name]

    def _read(self, name: str, query: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on the table."""
        with self._reading(name):
            return query.collect()

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Raise SourceError when the table's files cannot be read."""
        try:
            yield
        except (*_UNREADABLE, pl.exceptions.PanicException) as error:
            where = f"{self.path}/{name}" if self.path else name
            raise SourceError(
                f"{where}: cannot be read as Parquet ({first_line(error)}); collect the trace again"
            ) from error

    def __getattr__(self, name: str) -> pl.DataFrame:
        """`trace.kernels` is `trace.frame("kernels")`."""
        if name in TABLES:
            return self.frame(name)
        raise AttributeError(f"a Trace has no attribute {name!r}; its tables are {', '.join(TABLES)}")

    def __dir__(self) -> Iterable[str]:
        """Tables complete in a notebook."""
        return [*super().__dir__(), *TABLES]

    def has(self, name: str) -> bool:
        """Whether the table has rows."""
        return self.height(name) > 0

    def height(self, name: str) -> int:
        """How many rows the table has; none of them is read for it."""
        if name in self._frames:
            return self._frames[name].height
        if self.path is not None and self.manifest.n_rows and name in TABLES:
            return sum(self.manifest.n_rows.get(name, {}).values())
        return int(self._read(name, self.scan(name).select(pl.len())).item())

    def heights(self, name: str) -> dict[int, int]:
        """How many rows the table has of each rank that has some."""
        files = self._files.get(name, ()) if name not in self._frames else ()
        if not files:
            return dict(self.select(name, "rank").group_by("rank", maintain_order=True).len().iter_rows())
        with self._reading(name):
            counted = [(int(file.parent.name.removeprefix("rank=")), rows_of(file)) for file in files]
        return {rank: sum(n for of, n in counted if of == rank) for rank, n in counted if n}

    def has_values(self, name: str, column: str, rank: int) -> bool:
        """Whether a column is not all null in a rank."""
        if name in self._files and name not in self._frames and self._has_all_columns(name):
            with self._reading(name):
                files = [file for file in self._files[name] if file.parent.name == f"rank={rank}"]
                return any(has_values(file, column) for file in files)
        return self.select(name, "rank", column).filter(pl.col("rank") == rank)[column].count() > 0

    def as_rank(self, rank: int) -> Trace:
        """The same trace, which has one rank, under another number."""
        if rank not in self._as_rank:
            tables = {name: lazy.with_columns(rank=pl.lit(rank, pl.Int32)) for name, lazy in self._lazy.items()}
            self._as_rank[rank] = Trace(replace(self.manifest, ranks=[rank]), tables, self.path)
        return self._as_rank[rank]

    def require(self, analysis: str, *names: str) -> None:
        """Raise MissingTableError, naming the collector that would help, when one of the tables is empty."""
        for name in names:
            if not self.has(name):
                why = self.manifest.empty_tables.get(name, "the capture holds none")
                command = _COLLECTORS.get(name, "tracelens collect torch or nsys, of a run that used the GPU")
                raise MissingTableError(
                    f"{analysis} needs the table {name}, empty here: {why} (it comes from {command})"
                )

    def summary(self) -> pl.DataFrame:
        """A row a table: n_rows, meaning, and for an empty one the reason."""
        reasons = self.manifest.empty_tables
        return pl.DataFrame(
            [
                {
                    "table": name,
                    "n_rows": self.height(name),
                    "a row is": table.doc,
                    "empty because": reasons.get(name),
                }
                for name, table in TABLES.items()
            ],
            schema={"table": pl.String, "n_rows": pl.Int64, "a row is": pl.String, "empty because": pl.String},
        )

    def __repr__(self) -> str:
        """Name, ranks and the number of rows of each filled table."""
        filled = ", ".join(f"{n} {c}" for n, c in self.summary().select("table", "n_rows").iter_rows() if c)
        return f"<Trace {self.name!r}: ranks {self.manifest.ranks}; {filled}>"

    def _repr_html_(self) -> str:
        """A table of the tables, for notebooks."""
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td style='text-align:right'>{n:,}</td>"
            f"<td>{escape(doc)}</td><td>{escape(why or '')}</td></tr>"
            for name, n, doc, why in self.summary().iter_rows()
        )
        ranks = ", ".join(map(str, self.manifest.ranks))
        return (
            f"<p><b>{escape(self.name)}</b> · ranks {ranks} · complete: {self.manifest.complete}</p>"
            f"<table><tr><th>table</th><th>rows</th><th>a row is</th><th>empty because</th></tr>{rows}</table>"
        )

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Trace:
        """Write the trace as a directory and open it: built beside the target, then renamed, so it is whole or absent.

        Raises SourceError when the target exists (with `force`, an existing trace is replaced, nothing else is).
        """
        target = Path(path)
        check_target(target, force=force)
        try:
            with build_folder(target) as build:
                self._fill(build)
                with locked(target.parent):
                    swap_in(build, target, force=force)
                    return Trace.open(target)
        except OSError as error:
            raise SourceError(f"{target}: cannot be written: {error}") from error

    def _fill(self, folder: Path) -> None:
        """Write every table and the manifest into an empty directory."""
        n_rows: dict[str, dict[str, int]] = {}
        with ThreadPoolExecutor(_WRITERS) as pool:
            done = []
            for name in TABLES:
                for rank, frame in self._by_rank(name):
                    file = folder / name / f"rank={rank}" / PART
                    file.parent.mkdir(parents=True)
                    if isinstance(frame, Stored):
                        frame.path.rename(file)
                    else:
                        done.append(pool.submit(TABLES[name].write, frame, file, MANY_CELLS))
                    n_rows.setdefault(name, {})[str(rank)] = frame.height
            try:
                for future in done:
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        manifest = replace(self.manifest, n_rows=n_rows)
        (folder / "manifest.json").write_text(json.dumps(manifest.as_dict(), indent=1) + "\n")
        folder.chmod(0o755)

    def _by_rank(self, name: str) -> Iterator[tuple[int, pl.DataFrame | Stored]]:
        """The table's rows, rank by rank, without the rank."""
        if name not in self._parts:
            for (rank,), frame in self.frame(name).partition_by("rank", as_dict=True, include_key=False).items():
                yield rank, frame
            return
        parts: dict[int, list[pl.DataFrame | Stored]] = {}
        for rank, part in self._parts[name]:
            parts.setdefault(rank, []).append(part)
        bare = TABLES[name].without("rank")
        for rank, of_rank in parts.items():
            several = len(of_rank) > 1
            yield rank, pl.concat(map(bare.conform_lazily, of_rank)).collect() if several else of_rank[0]
