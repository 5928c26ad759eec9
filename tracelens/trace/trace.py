"""A trace: its tables and its manifest.

Tables are in memory, as collectors made them, or in a directory of Parquet files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from html import escape
from pathlib import Path
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl

from tracelens.errors import SourceError, near
from tracelens.hooks import HOOKS
from tracelens.schemas import TABLES
from tracelens.storage.addresses import shown, url_of
from tracelens.storage.folders import locked
from tracelens.trace.capture import Manifest
from tracelens.trace.directory import (
    parts_of,
    read_manifest,
    refuse_expansion,
    scanned,
    version_of,
)
from tracelens.trace.listed_names import ListedNames, listed_names
from tracelens.trace.objects import manifest_at, scanned_objects
from tracelens.trace.sql import ask
from tracelens.trace.tables import Tables
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
_MOST_TURNS = 5
"""Number of attempts to open a trace that other processes keep replacing."""


class Trace(Tables):
    """The tables of one program's run.

    `trace.kernels` is a DataFrame, `trace.scan("kernels")` a LazyFrame. `Tables` has further ways
    to read a table. Every table of the schema exists. A table that the sources could not fill has
    columns but no rows, and `trace.manifest.empty_tables` says why.
    """

    def __init__(
        self,
        manifest: Manifest,
        tables: Mapping[str, pl.LazyFrame],
        path: Path | None = None,
    ) -> None:
        """Wrap tables that already have the declared columns; use `open` or `collect` instead."""
        super().__init__(manifest, tables, path)
        self._derived: dict[tuple[object, ...], Any] = {}
        self._derived_locks: dict[tuple[object, ...], RLock] = {}

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        rank: int | None = None,
    ) -> Trace:
        """Open a trace directory, or a trace in an object store by its URL.

        Tables stay in their files until they are read. With `rank`, the trace has only this rank.
        Raises SourceError if the path is no trace or has no such rank, and SchemaError if a newer
        version wrote the trace.
        """
        if url_of(path) is None:
            return _opened_whole(Path(path), lambda: cls._open(path, rank))
        return cls._open(path, rank)

    @classmethod
    def _open(
        cls,
        path: str | os.PathLike[str],
        rank: int | None,
    ) -> Trace:
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
        """Return the trace of a manifest's files; manifest.json need not exist yet."""
        folder, url = Path(path), url_of(path)
        if url is not None:
            remote = cls(manifest, scanned_objects(url, manifest), folder)
            remote._counts = manifest.n_rows
            return remote
        files = {name: parts_of(folder, table, manifest) for name, table in TABLES.items()}
        tables = {name: scanned(files[name], table) for name, table in TABLES.items()}
        all_parts = [part for table_parts in files.values() for part in table_parts]
        refuse_expansion(folder, all_parts)
        trace = cls(manifest, tables, folder)
        trace._files = files
        first = all_parts[0].file if all_parts else None
        trace._witness = None if first is None else (first, version_of(first))
        return trace

    @property
    def name(self) -> str:
        """The name to show: the directory's name without its ending.

        A trace in memory is named after its first source and the number of further sources.
        """
        if self.path is not None:
            return self.path.resolve().name.removesuffix(SUFFIX)
        names = [str(source.get("name", "unnamed")) for source in self.manifest.sources]
        if not names:
            return "trace"
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"

    def with_listed_names(self) -> Trace:
        """Return the trace with a limited number of different names.

        TRACELENS_MAX_NAMES limits the names of kernels, ops, ranges and Python functions. The names
        with the longest time are kept. All others are replaced by one name, such as `(2,900,000
        other ops)`. Steps and modules keep their names. Only `select`, `chunks` and `batches`
        replace names; `frame` and `scan` do not.
        """
        return self if self._listed else self.derived(_limited) or self

    def uncached(self, listed: dict[str, ListedNames] | None = None) -> Trace:
        """Return a new Trace of the same data, with caches of its own that are empty.

        A caller that drops the new Trace releases the memory of these caches. `listed` are the
        names that the new Trace keeps, in the form of `listed_names`. By default, the new Trace
        keeps the same names as this Trace.
        """
        fresh = Trace(self.manifest, self._tables, self.path)
        fresh._files, fresh._counts = self._files, self._counts
        fresh._in_memory = self._in_memory
        fresh._listed = self._listed if listed is None else listed
        fresh._witness = self._witness
        return fresh

    @property
    def shared_names(self) -> dict[str, str]:
        """By table, the name that replaces others, such as `(2,900,000 other ops)`.

        The dict is empty if no names are replaced: see `with_listed_names`.
        """
        return {name: listed.others for name, listed in self._listed.items()}

    def derived(
        self,
        function: Callable[Concatenate[Trace, _P], _T],
        *args: _P.args,
        **more: _P.kwargs,
    ) -> _T:
        """Return `function(self, …)`, computed once and cached.

        This is the only cache of derived data, and is released with the trace. Arguments must be
        hashable. Callers must not change the result.
        """
        key = (function, *args, *more.items())
        if key not in self._derived:
            # One lock per function and arguments: threads never compute the same result twice.
            with self._derived_locks.setdefault(key, RLock()):
                if key not in self._derived:
                    self._derived[key] = function(self, *args, **more)
        result: _T = self._derived[key]
        return result

    def has_derived(self, function: Callable[[Trace], Any]) -> bool:
        """Return whether the result of `derived(function)` is cached."""
        return (function,) in self._derived

    def set_derived(self, function: Callable[[Trace], _T], result: _T) -> None:
        """Cache a result of `derived(function)` that was computed elsewhere."""
        self._derived[function,] = result

    def kernels_with_context(self) -> pl.DataFrame:
        """Return the kernels, each with `op`, `phase` and `layer` of its launch."""
        where = self.frame("sites").select("rank", "site_id", "op", "phase", layer="module_path")
        return self.frame("kernels").join(
            where,
            on=["rank", "site_id"],
            how="left",
            maintain_order="left",
        )

    def sql(self, query: str) -> pl.DataFrame:
        """Return the rows that a query in Polars' SQL selects from the trace's tables.

        An example is `trace.sql("SELECT name FROM kernels LIMIT 5")`. Raises UsageError for a query
        that cannot be answered.
        """
        rows = ask(self._tables, query)
        self._refuse_another()
        return rows

    def report(self, *sections: str, against: Trace | None = None) -> Any:
        """Return the report, to display in a notebook or a terminal.

        The report has the named sections, by default all that apply. `report["job"]` is the
        DataFrame of a section, and `report.to_html(path)` writes a page. `against` is the base to
        compare this run with. Raises UsageError for unknown names.
        """
        return HOOKS.report_view(self, sections, against)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
    ) -> Trace:
        """Write the trace as a directory, and return the trace opened from it.

        The directory is complete or absent. Raises SourceError if the target exists. With `force`,
        an existing trace is replaced, but no other file or folder.
        """
        target = Path(path)
        write_trace(target, self.manifest, self._parts_of, force=force)
        if url_of(target) is not None:
            return Trace.open(target)
        with locked(target.parent):  # so that no other process moves it before it is open
            return Trace.open(target)

    def amend(self, manifest: Manifest, **tables: pl.DataFrame) -> None:
        """Replace the manifest and the named tables of a trace in memory."""
        self.manifest = manifest
        for name, frame in tables.items():
            self._tables[name], self._frames[name] = frame.lazy(), frame
            self._files.pop(name, None)
            self._in_memory.pop(name, None)
            self._columns.pop(name, None)

    def _parts_of(self, name: str) -> Iterable[RankPart]:
        """Yield each rank with its rows of a table, without the column `rank`."""
        for (rank,), frame in (
            self.frame(name).partition_by("rank", as_dict=True, include_key=False).items()
        ):
            yield rank, frame

    def __getattr__(self, name: str) -> pl.DataFrame:
        """Return the table with this name: `trace.kernels` is `trace.frame("kernels")`."""
        if name in TABLES:
            return self.frame(name)
        public = [
            *TABLES,
            *(known for known in vars(type(self)) if not known.startswith("_")),
        ]
        raise AttributeError(
            f"a Trace has no attribute {name!r}; {near(name, public)}"
            f" (its tables are {', '.join(TABLES)})"
        )

    def __dir__(self) -> Iterable[str]:
        """List the attributes and tables, so that a notebook completes the tables' names."""
        return [*super().__dir__(), *TABLES]

    def summary(self) -> pl.DataFrame:
        """Return one row per table: name, number of rows, meaning, and the reason if empty."""
        why = self.manifest.empty_tables
        rows = [
            (name, self.height(name), table.doc, why.get(name)) for name, table in TABLES.items()
        ]
        return pl.DataFrame(rows, _SUMMARY, orient="row")

    def __repr__(self) -> str:
        """Return the name, the ranks, and the number of rows of each filled table."""
        filled = ", ".join(
            f"{n} {c}" for n, c in self.summary().select("table", "n_rows").iter_rows() if c
        )
        return f"<Trace {self.name!r}: ranks {self.manifest.ranks}; {filled}>"

    def _repr_html_(self) -> str:
        """Return a list of the tables as HTML, for notebooks."""
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


def _limited(trace: Trace) -> Trace | None:
    """Return the trace with a limited number of names, None if no name has to be replaced."""
    listed = listed_names(trace)
    return trace.uncached(listed) if listed else None


def _opened_whole(folder: Path, opened: Callable[[], Trace]) -> Trace:
    """Return the trace that `opened` opens from the folder, never a mixture of two traces."""
    # Another process may replace the trace while it is opened. Then the manifest changes, and the
    # trace is opened again.
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
