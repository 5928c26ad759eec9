"""A trace: its tables and its manifest.

Tables are in memory, as collectors made them, or in a directory of Parquet.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl
import pyarrow as pa

from tracelens.errors import (
    MissingTableError,
    ReplacedError,
    SchemaError,
    SourceError,
    first_line,
    near,
)
from tracelens.hooks import HOOKS
from tracelens.schemas import TABLES
from tracelens.storage.addresses import shown, url_of
from tracelens.storage.folders import locked
from tracelens.storage.objects import is_of_store, reason
from tracelens.storage.reading import check_texts, long_bytes, read_groups
from tracelens.trace.capture import Manifest
from tracelens.trace.collector import how_to_fill
from tracelens.trace.directory import (
    Part,
    gathered,
    parts_of,
    read_manifest,
    read_parts,
    refuse_expansion,
    scanned,
    version_of,
)
from tracelens.trace.listed_names import ListedNames, listed_names
from tracelens.trace.objects import manifest_at, scanned_objects
from tracelens.trace.sql import ask
from tracelens.trace.writing import RankPart, write_trace

SUFFIX = ".tracelens"
_P = ParamSpec("_P")
_T = TypeVar("_T")
_SUMMARY = {
    "table": pl.String,
    "n_rows": pl.Int64,
    "a row is": pl.String,
    "empty because": pl.String,
}
_CATEGORIES = pl.col(pl.String).cast(pl.Categorical)
_MOST_TURNS = 5
"""How often a trace is opened anew that is replaced meanwhile."""
_READING = RLock()
"""Held while columns are read, so that two threads never read the same."""
_UNREADABLE = (
    pl.exceptions.PolarsError,
    pa.ArrowException,
    OSError,
    ValueError,
    OverflowError,
    MemoryError,
)


class Trace:
    """Tables of one program's run.

    `trace.kernels` is a DataFrame, `trace.scan("kernels")` a LazyFrame.

    Every table of the schema is there; one that its sources could not fill is typed and empty, and
    `trace.manifest.empty_tables` says why.
    """

    def __init__(
        self, manifest: Manifest, tables: Mapping[str, pl.LazyFrame], path: Path | None = None
    ) -> None:
        """Wrap tables that already have the declared columns; use `open` or `collect` instead."""
        self.manifest = manifest
        self.path = path
        self._tables = dict(tables)
        self._files: dict[str, list[Part]] = {}
        self._counts: dict[str, dict[str, int]] | None = (
            None  # rows by table and rank, of a trace in an object store
        )
        self._frames: dict[str, pl.DataFrame] = {}
        self._columns: dict[str, dict[str, pl.Series]] = {}
        self._witness: tuple[Path, tuple[int, ...]] | None = None
        self._listed: dict[str, ListedNames] = {}
        self._of_listed: Trace | None = None
        self._derived: dict[tuple[object, ...], Any] = {}
        self._derived_locks: dict[tuple[object, ...], RLock] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str], rank: int | None = None) -> Trace:
        """Open a trace directory, or a trace in an object store by its URL.

        Its tables are scanned where they are. With `rank`, the trace has that rank only, and
        nothing is read of the others. Raises SourceError when it is no trace or has no such rank,
        SchemaError when a newer version wrote it.
        """
        if url_of(path) is None:
            return _opened_whole(Path(path), lambda: cls._open(path, rank))
        return cls._open(path, rank)

    @classmethod
    def _open(cls, path: str | os.PathLike[str], rank: int | None) -> Trace:
        url = url_of(path)
        manifest = read_manifest(Path(path)) if url is None else manifest_at(url)
        if rank is not None and rank not in manifest.ranks:
            raise SourceError(
                f"{shown(path)}: has no rank {rank}, only"
                f" {', '.join(map(str, manifest.ranks[:9]))}, …"
            )
        return cls.of_manifest(path, manifest if rank is None else manifest.of_rank(rank))

    @classmethod
    def of_manifest(cls, path: str | os.PathLike[str], manifest: Manifest) -> Trace:
        """Return the trace of a manifest's files; the manifest itself may not be written yet."""
        folder, url = Path(path), url_of(path)
        if url is not None:
            found = cls(manifest, scanned_objects(url, manifest), folder)
            found._counts = manifest.n_rows
            return found
        files = {name: parts_of(folder, table, manifest) for name, table in TABLES.items()}
        tables = {name: scanned(files[name], table) for name, table in TABLES.items()}
        refuse_expansion(folder, [part for table_parts in files.values() for part in table_parts])
        trace = cls(manifest, tables, folder)
        trace._files = files
        first = next((part.file for table_parts in files.values() for part in table_parts), None)
        trace._witness = None if first is None else (first, version_of(first))
        return trace

    @property
    def name(self) -> str:
        """Name to show: the directory's stem.

        For a trace in memory it is the first source's name, and how many more there are.
        """
        if self.path is not None:
            return self.path.resolve().name.removesuffix(SUFFIX)
        names = [str(source.get("name", "unnamed")) for source in self.manifest.sources]
        if not names:
            return "trace"
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"

    def scan(self, name: str) -> pl.LazyFrame:
        """Return the table as a LazyFrame. Raises SchemaError when no table has that name."""
        if name not in TABLES:
            raise SchemaError(
                f"no table is called {name!r}; {near(name, TABLES)} (tracelens schema lists all)"
            )
        return self._tables[name]

    def frame(self, name: str) -> pl.DataFrame:
        """Return the table as a DataFrame, read once."""
        if name not in self._frames:
            frame = TABLES[name].conform(self._collect(name, self.scan(name)))
            if self._files.get(name):
                with self._reading(name):
                    size = sum(part.file.stat().st_size for part in self._files[name])
                    check_texts(sum(map(long_bytes, frame.select(pl.selectors.string()))), size)
            self._frames[name] = frame
        return self._frames[name]

    def select(
        self, name: str, *columns: str, where: pl.Expr | None = None, rank: int | None = None
    ) -> pl.DataFrame:
        """Return these columns of a table, each read once.

        Strings are Categorical, which compare and group like numbers. For a large table that takes
        a fraction of the time and memory of `frame`. With `where`, only rows that meet the
        expression are read, and they are not cached: this is the fastest way to few rows among
        many. With `rank`, only that rank's rows are read, likewise, from its own files.
        """
        rank = None if self.manifest.ranks == [rank] else rank
        if rank is not None or where is not None:
            files = self._files.get(name, [])
            rank_parts = [part for part in files if part.rank == rank]
            if where is None and _have(rank_parts, columns):
                return self._read_parts(name, rank_parts, columns)
            rows = (
                scanned(rank_parts, TABLES[name]) if files and rank is not None else self.scan(name)
            )
            rows = rows.filter(
                True if where is None else where, True if rank is None else pl.col("rank") == rank
            )
            return self._collect(name, self._as_codes(name, rows.select(columns)))
        cached = self._columns.setdefault(name, {})
        with _READING:
            missing = [column for column in columns if column not in cached]
            if missing:
                cached.update(self._read(name, missing).to_dict())
        return pl.DataFrame([cached[column] for column in columns])

    def with_listed_names(self) -> Trace:
        """Return the trace as analyses of a report read it: the trace itself where names are few.

        A table of kernels, ops, ranges or Python functions may have more names than
        TRACELENS_MAX_NAMES. Then `select`, `chunks` and `batches` return the names with the most
        time, and one name for all others, such as `(2,900,000 other ops)`, so that no result has a
        row for each. Steps and modules keep their names. The trace's own tables keep all names.
        """
        if self._listed:
            return self
        listed = self.derived(listed_names)
        if not listed:
            return self
        with _READING:
            if self._of_listed is None:
                self._of_listed = self.uncached(listed)
            return self._of_listed

    def uncached(self, listed: dict[str, ListedNames] | None = None) -> Trace:
        """Return the same trace without what was read so far, so that its memory can be released.

        `listed` are the names that the new trace keeps, if they differ.
        """
        fresh = Trace(self.manifest, self._tables, self.path)
        fresh._files, fresh._counts = self._files, self._counts
        fresh._listed = self._listed if listed is None else listed
        fresh._witness = self._witness
        return fresh

    @property
    def shared_names(self) -> dict[str, str]:
        """The name that stands for unlisted names, by table; empty for a trace that lists all."""
        return {name: listed.others for name, listed in self._listed.items()}

    def derived(
        self, function: Callable[Concatenate[Trace, _P], _T], *args: _P.args, **more: _P.kwargs
    ) -> _T:
        """Return `function(self, …)`, computed once: what several analyses need of a trace.

        This is the only cache of derived data. It has one lock for each function and its arguments,
        so that threads never compute the same twice. It is released with the trace. Arguments must
        be hashable, and nobody may change the result.
        """
        key = (function, *args, *more.items())
        if key not in self._derived:
            with self._derived_locks.setdefault(key, RLock()):
                if key not in self._derived:
                    self._derived[key] = function(self, *args, **more)
        result: _T = self._derived[key]
        return result

    def set_derived(self, function: Callable[[Trace], _T], result: _T) -> None:
        """Store a result of `derived(function)` that was merged from parts."""
        self._derived[function,] = result

    def sql(self, query: str) -> pl.DataFrame:
        """Return the rows that a query in Polars' SQL selects.

        Write `trace.sql("SELECT name FROM kernels LIMIT 5")`. Only the columns and rows that it
        needs are read. Raises UsageError.
        """
        rows = ask(self._tables, query)
        self._refuse_another()
        return rows

    def report(self, *sections: str, against: Trace | None = None) -> Any:
        """Build the report, which shows itself in a notebook and as text.

        It has `to_html(path)`, and its frames by section. It holds all sections that apply, or the
        named ones. `against` is the base that this run is compared with. Raises UsageError for
        unknown names.
        """
        return HOOKS.report_view(self, sections, against)

    def batches(
        self, name: str, *columns: str, use_threads: bool = True
    ) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
        """Yield rows of these columns in batches, rank by rank, as Arrow record batches.

        Strings are dictionaries. Nothing is cached. This is for a single pass over millions of
        spans or calls, as fresh memory costs more than what is read into it. Reading whole columns
        of 5 million spans takes 0.25 s of CPU time, as long as all of `top_ops` takes with batches.
        `use_threads` decodes columns in parallel, which does not help callers that read several
        tables at the same time.
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

    def chunks(self, name: str, *columns: str) -> Iterator[pl.DataFrame]:
        """Yield these columns in batches of rows, rank by rank, in the form of `select`.

        Nothing is cached. Small files of several ranks make one frame; a large file makes one for
        each group of rows.
        """
        files = self._files.get(name, [])
        if not _have(files, columns):
            yield self.select(name, *columns)
            return
        for parts in gathered(files):
            if len(parts) > 1:
                yield self._read_parts(name, parts, columns)
                continue
            with self._reading(name):
                for rows in read_groups(
                    parts[0].file, [one for one in columns if one != "rank"], use_threads=True
                ):
                    chunk = pl.DataFrame(pl.from_arrow(self._shared(name, rows), rechunk=False))
                    yield chunk.select(
                        pl.lit(parts[0].rank, pl.Int32).alias("rank"), pl.all()
                    ).select(columns)

    def _read(self, name: str, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of a table, strings as Categorical.

        They are read from the table's files if all files have them.
        """
        files = self._files.get(name, [])
        if _have(files, columns):
            return self._read_parts(name, files, columns)
        return self._collect(name, self._as_codes(name, self.scan(name).select(columns)))

    def _read_parts(self, name: str, parts: Sequence[Part], columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of files that all have them."""
        listed = self._listed.get(name)
        share = listed.share if listed and listed.column in columns else None
        with self._reading(name):
            return read_parts(parts, TABLES[name], columns, share)

    def _as_codes(self, name: str, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return rows with one name in place of all unlisted ones; strings are Categorical."""
        listed = self._listed.get(name)
        if listed and listed.column in rows.collect_schema():
            rows = rows.with_columns(listed.shared())
        return rows.with_columns(_CATEGORIES)

    def _shared(self, name: str, rows: pa.Table) -> pa.Table:
        """Return Arrow rows of a table with one name in place of all unlisted ones."""
        listed = self._listed.get(name)
        return listed.share(rows) if listed else rows

    def _collect(self, name: str, query: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on the table."""
        with self._reading(name):
            return query.collect()

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Turn an error of reading the table's files into SourceError.

        It is also an error if another trace took the place of this one, as its tables would not
        belong together.
        """
        try:
            yield
            self._refuse_another()
        except (*_UNREADABLE, pl.exceptions.PanicException) as error:
            self._refuse_another()
            where = f"{shown(self.path)}/{name}" if self.path else name
            if self._counts is not None and is_of_store(error):
                raise SourceError(f"{where}: cannot be read: {reason(error)}") from None
            raise SourceError(
                f"{where}: cannot be read as Parquet ({first_line(error)}); collect the trace again"
            ) from error

    def _refuse_another(self) -> None:
        """Raise ReplacedError where the files that were opened have been replaced."""
        if self._witness is not None and version_of(self._witness[0]) != self._witness[1]:
            raise ReplacedError(
                f"{shown(self.path or '')}: another trace took its place while it was read; open"
                " it again"
            )

    def __getattr__(self, name: str) -> pl.DataFrame:
        """Return the table of that name: `trace.kernels` is `trace.frame("kernels")`."""
        if name in TABLES:
            return self.frame(name)
        raise AttributeError(
            f"a Trace has no attribute {name!r}; its tables are {', '.join(TABLES)}"
        )

    def __dir__(self) -> Iterable[str]:
        """Return tables complete in a notebook."""
        return [*super().__dir__(), *TABLES]

    def has(self, name: str) -> bool:
        """Return whether the table has rows."""
        return self.height(name) > 0

    def height(self, name: str) -> int:
        """Return the number of rows, without reading any."""
        if self._files.get(name):
            return sum(part.n_rows for part in self._files[name])
        if self._counts is not None:
            return sum(self._counts.get(name, {}).values())
        return int(self._collect(name, self.scan(name).select(pl.len())).item())

    def heights(self, name: str) -> dict[int, int]:
        """Return the number of rows by rank, for ranks that have any."""
        files = self._files.get(name)
        if self._counts is not None:
            return {int(rank): n for rank, n in self._counts.get(name, {}).items() if n}
        if not files:
            return dict(
                self.select(name, "rank").group_by("rank", maintain_order=True).len().iter_rows()
            )
        return {
            part.rank: sum(p.n_rows for p in files if p.rank == part.rank)
            for part in files
            if part.n_rows
        }

    def n_names(self, name: str) -> int | None:
        """Return an upper bound of a table's number of names: the sum over its ranks' files.

        Nothing is read. It is None where the manifest does not say it.
        """
        counts = self.manifest.n_names.get(name, {})
        is_known = counts.keys() == self.manifest.n_rows.get(name, {}).keys()
        in_files = bool(self._files.get(name)) or self._counts is not None
        return sum(counts.values()) if in_files and is_known else None

    def kernels_with_context(self) -> pl.DataFrame:
        """Return the kernels with op, layer and phase of the site that launched them."""
        where = self.frame("sites").select("rank", "site_id", "op", "phase", layer="module_path")
        return self.frame("kernels").join(
            where,
            on=["rank", "site_id"],
            how="left",
            maintain_order="left",
        )

    def require(self, analysis: str, *names: str) -> None:
        """Raise MissingTableError when one of the tables is empty.

        The message names the collector that would fill it.
        """
        for name in names:
            if not self.has(name):
                why = self.manifest.empty_tables.get(name, "the capture holds none")
                raise MissingTableError(
                    f"{analysis} needs the table {name}, empty here: {why}; it comes from"
                    f" {how_to_fill(name)}"
                )

    def summary(self) -> pl.DataFrame:
        """Return one row per table: n_rows, meaning, and for an empty one the reason."""
        why = self.manifest.empty_tables
        rows = [
            (name, self.height(name), table.doc, why.get(name)) for name, table in TABLES.items()
        ]
        return pl.DataFrame(rows, _SUMMARY, orient="row")

    def __repr__(self) -> str:
        """Name, ranks and the number of rows of each filled table."""
        filled = ", ".join(
            f"{n} {c}" for n, c in self.summary().select("table", "n_rows").iter_rows() if c
        )
        return f"<Trace {self.name!r}: ranks {self.manifest.ranks}; {filled}>"

    def _repr_html_(self) -> str:
        """Return a table of the tables, for notebooks."""
        rows = "".join(
            f"<tr><td><code>{escape(table)}</code></td><td style='text-align:right'>{n:,}</td>"
            f"<td>{escape(doc)}</td><td>{escape(why or '')}</td></tr>"
            for table, n, doc, why in self.summary().iter_rows()
        )
        ranks = ", ".join(map(str, self.manifest.ranks))
        return (
            f"<p><b>{escape(self.name)}</b> · ranks {ranks} · complete:"
            f" {self.manifest.complete}</p><table><tr><th>table</th><th>rows</th><th>a row"
            f" is</th><th>empty because</th></tr>{rows}</table>"
        )

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Trace:
        """Write the trace as a directory and open it.

        It is built beside the target, then renamed, so it is whole or absent. Raises SourceError
        when the target exists (with `force`, an existing trace is replaced, nothing else is).
        """
        target = Path(path)
        write_trace(target, self.manifest, self._parts_of, force=force)
        if url_of(target) is not None:
            return Trace.open(target)
        with locked(target.parent):  # no other process moves it meanwhile
            return Trace.open(target)

    def amend(self, manifest: Manifest, **tables: pl.DataFrame) -> None:
        """Give a trace that was just made another manifest and other tables.

        These frames replace its tables of these names.
        """
        self.manifest = manifest
        for name, frame in tables.items():
            self._tables[name], self._frames[name] = frame.lazy(), frame
            self._files.pop(name, None)
            self._columns.pop(name, None)

    def _parts_of(self, name: str) -> Iterable[RankPart]:
        """Return the table's rows, rank by rank, without the rank."""
        for (rank,), frame in (
            self.frame(name).partition_by("rank", as_dict=True, include_key=False).items()
        ):
            yield rank, frame


def _have(parts: Sequence[Part], columns: Sequence[str]) -> bool:
    """Return whether there are files, and all of them have these columns.

    A column may be newer than the files.
    """
    wanted = {*columns} - {"rank"}
    return bool(parts) and all(wanted.issubset(part.columns) for part in parts)


def _opened_whole(folder: Path, opened: Callable[[], Trace]) -> Trace:
    """Return an opened trace whose manifest and files belong together.

    Another trace may replace it meanwhile. Where the manifest changed, it is opened again, so a
    reader sees one of the two.
    """
    for _ in range(_MOST_TURNS):
        before = version_of(folder / "manifest.json")
        try:
            trace = opened()
        except SourceError:
            if version_of(folder / "manifest.json") == before:
                raise
            continue
        if version_of(folder / "manifest.json") == before:
            return trace
    return opened()
