"""Limit the number of kernel and span names in results: keep the names with the longest time.

Some programs name each kernel differently. Results with one row per name would then be as large as
the trace. So all other names are replaced by one, such as `(2,900,000 other ops)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import polars as pl
from msgspec import Struct

from tracelens.storage.limits import NAMES

if TYPE_CHECKING:
    import pyarrow as pa

_NAMED = {
    "kernels": ("kernels", "name"),
    "spans": ("spans", "name"),
    "sites": ("spans", "op"),
}
"""Tables with a limited number of names.

The first item is the table from which the time of each name is taken. The second item is the
column of the limited table that has the names.
"""
_KERNELS, _OPS, _FUNCTIONS, _RANGES, _MODULES = "kernels", "ops", "Python functions", "ranges", ""
_WHAT = pl.Enum([_KERNELS, _OPS, _RANGES, _FUNCTIONS, _MODULES])
"""Groups of names. Each has the limit NAMES, except modules, which are all listed."""
_OF_KIND = {"op": _OPS, "python": _FUNCTIONS, "module": _MODULES}
"""The group of names by kind of span. Spans of other kinds are ranges."""
_KEY = ("hash", "what")
_PARTS = 16


class Source(Protocol):
    """The part of a trace's interface that this module uses."""

    def height(self, name: str) -> int:
        """Return the number of rows of a table."""

    def n_names(self, name: str) -> int | None:
        """Return an upper bound of a table's number of names.

        Return None if only reading all names could tell.
        """

    def batches(self, name: str, *columns: str) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
        """Yield the rows of some columns in batches, each with its rank."""


class ListedNames(Struct, frozen=True):
    """The names of a column that results keep: the listed names.

    `hashes` are the hashes of the listed names. `others` replaces all other names.
    """

    column: str
    # An unlisted name may have the hash of a listed name, and is then listed. This happens to a few
    # of a million names.
    hashes: pl.Series
    others: str

    def shared(self) -> pl.Expr:
        """Return the column of strings, with `others` in place of each unlisted name."""
        name = pl.col(self.column)
        is_listed = name.is_null() | name.hash().is_in(self.hashes.implode())
        return pl.when(is_listed).then(name).otherwise(pl.lit(self.others)).alias(self.column)

    def share(self, rows: pa.Table) -> pa.Table:
        """Return Arrow rows, with `others` in place of each unlisted name.

        The column of names must be dictionary-encoded.
        """
        import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which only files need

        position = rows.schema.get_field_index(self.column)
        if position < 0:
            return rows
        chunks = [
            pa.DictionaryArray.from_arrays(
                chunk.indices,
                pl.DataFrame({self.column: pl.Series(chunk.dictionary)})
                .select(self.shared())
                .to_series()
                .to_arrow()
                .cast(chunk.dictionary.type),
            )
            for chunk in rows.column(position).chunks
        ]
        column = pa.chunked_array(chunks, type=rows.column(position).type)
        return rows.set_column(position, self.column, column)


def listed_names(trace: Source) -> dict[str, ListedNames]:
    """Return the names that results keep, by table.

    A table has no entry if its results keep all names. Per group of names, the `NAMES` names with
    the longest time are kept. Names of modules are always kept. Names of steps are also kept,
    because results have one row per step.
    """
    listed: dict[str, tuple[pl.Series, str]] = {}
    for table in ("kernels", "spans"):
        if trace.height(table) > NAMES.value and _most_names(trace, table) > NAMES.value:
            times = _time_by_name(trace, table)
            longest = [
                names["hash"]
                if names["what"][0] == _MODULES
                else names.top_k(NAMES.value, by=["ns", "hash"])["hash"]
                for names in times.partition_by("what")
            ]
            hashes = pl.concat([*longest, *_hashes_of_steps(trace)]).unique()
            others = times.filter(~pl.col("hash").is_in(hashes.implode()))
            if others.height:
                what = " and ".join(others["what"].unique().sort().cast(pl.String))
                listed[table] = hashes, f"({others['hash'].n_unique():,} other {what})"
    return {
        table: ListedNames(column, *listed[source])
        for table, (source, column) in _NAMED.items()
        if source in listed
    }


def _most_names(trace: Source, table: str) -> int:
    """Return an upper bound of the table's number of names."""
    known = trace.n_names(table)
    if known is not None:
        return known
    # A name in several batches is counted several times.
    return sum(
        len(batch.column("name").dictionary)
        for _, batches in trace.batches(table, "name")
        for batch in batches
    )


def _hashes_of_steps(trace: Source) -> Iterator[pl.Series]:
    """Yield the hashes of step names."""
    for _, batches in trace.batches("steps", "name"):
        for batch in batches:
            yield pl.Series(batch.column("name").dictionary).cast(pl.String).hash()


def _time_by_name(trace: Source, table: str) -> pl.DataFrame:
    """Return the total time of each name: `hash` of the name, `what` (its group), `ns`."""
    parts: list[pl.DataFrame] = []
    for part in _hashed_rows(trace, table):
        parts.append(part.group_by(_KEY).agg(pl.col("ns").sum()))
        if len(parts) == _PARTS:
            parts = [pl.concat(parts).group_by(_KEY).agg(pl.col("ns").sum())]
    return pl.concat(parts).group_by(_KEY).agg(pl.col("ns").sum())


def _hashed_rows(trace: Source, table: str) -> Iterator[pl.DataFrame]:
    """Yield the table's rows in batches: `hash` of the name, `what` (its group), `ns`."""
    columns = ("name", "duration_ns", *(["kind"] if table == "spans" else []))
    for _, batches in trace.batches(table, *columns):
        for batch in batches:
            names, what = batch.column("name"), pl.lit(_KERNELS, _WHAT)
            if table == "spans":
                kinds = batch.column("kind")
                groups = pl.Series(kinds.dictionary).cast(pl.String)
                groups = groups.replace_strict(_OF_KIND, default=_RANGES, return_dtype=_WHAT)
                what = pl.lit(groups.gather(pl.Series(kinds.indices)))
            hashes = pl.Series(names.dictionary).cast(pl.String).hash()
            yield pl.DataFrame(
                {
                    "hash": hashes.gather(pl.Series(names.indices)),
                    "ns": pl.Series(batch.column("duration_ns")),
                }
            ).with_columns(what=what)
