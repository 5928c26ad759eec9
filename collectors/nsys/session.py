"""Read an export's tables in chunks.

Ids of strings are replaced by the strings. Times are converted to the trace's clock.

A globalPid or globalTid packs hardware (8 bits), virtual machine (8), process (24), thread (24).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import polars as pl
from msgspec import Struct

from tracelens.collectors.nsys.export import Export, wanted
from tracelens.derive.columns.per_unique import distinct_rows
from tracelens.errors import SourceError
from tracelens.storage.table import Table
from tracelens.trace.capture import Diagnostics

TIME_LIMIT_NS = 2**61
"""The largest valid time in nanoseconds, 73 years.

A time counts from the beginning of the session, or from 1970.
"""

_LONGEST_NAME = 1 << 13


class Session(Struct, frozen=True):
    """Holds the state needed to read any table of one export."""

    export: Export
    names: pl.DataFrame
    """The export's strings."""
    base_ns: int
    """The nanoseconds to add to the export's times."""
    diagnostics: Diagnostics
    """Counts losses."""

    def named(self, ids: pl.Series) -> pl.Series:
        """Return the strings for a column of string ids, as Categorical.

        The categories hold only strings that are used.
        """
        rows, places = distinct_rows(ids)
        used = self.names.filter(pl.col("id").is_in(ids.gather(rows).drop_nulls().implode()))
        values = used["value"].cast(pl.Categorical)
        named = ids.gather(rows).replace_strict(
            used["id"],
            values,
            default=None,
            return_dtype=pl.Categorical,
        )
        return named.gather(places)

    def chunks(
        self,
        table: str,
        needed: Sequence[str],
        integers: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> Iterator[pl.DataFrame]:
        """Return the columns of a table in chunks.

        The first chunk has no rows, so even an absent table has columns. Raises SourceError if the
        table exists without a needed column.
        """
        if self.export.has(table):
            missing = [name for name in needed if name not in self.export.columns[table]]
            if missing:
                present = ", ".join(sorted(self.export.columns[table]))
                raise SourceError(
                    f"{self.export.path}: expected the columns {', '.join(missing)} in {table},"
                    f" found {present}; install a newer tracelens, or export with"
                    " another version of nsys"
                )
        columns = wanted([*needed, *integers], texts)
        return chain([pl.DataFrame(schema=columns)], self.export.chunks(table, columns))

    def intervals(
        self,
        table: str,
        frame: pl.DataFrame,
        needed: Sequence[str] = (),
    ) -> pl.DataFrame:
        """Return the frame with start_ns and duration_ns.

        Rows that lack a time or a needed value, or end before they start, are left out and counted.
        """
        ends = pl.col("end").is_between("start", TIME_LIMIT_NS)
        usable = frame.drop_nulls(["start", "end", *needed]).filter(
            ends, pl.col("start") >= -TIME_LIMIT_NS
        )
        self._count_broken(table, frame.height - usable.height)
        return usable.with_columns(
            start_ns=pl.col("start") + self.base_ns,
            duration_ns=pl.col("end") - pl.col("start"),
        )

    def moments(self, table: str, frame: pl.DataFrame, column: str) -> pl.DataFrame:
        """Return the rows with a valid time or None in the column. Other rows count as lost."""
        usable = frame.filter(
            pl.col(column).is_between(-TIME_LIMIT_NS, TIME_LIMIT_NS) | pl.col(column).is_null()
        )
        self._count_broken(table, frame.height - usable.height)
        return usable

    def _count_broken(self, table: str, count: int) -> None:
        text = f"rows of {table} had no usable times or ids and were left out"
        self.diagnostics.add("loss", "broken_rows", text, count)


def read_names(export: Export, diagnostics: Diagnostics) -> pl.DataFrame:
    """Return the export's strings, with the columns `id` and `value`.

    They may be secret, so callers keep only the strings that events use. Very long strings are cut.
    """
    names = (
        export.frame("StringIds", wanted(["id"], ["value"]))
        .drop_nulls("id")
        .unique("id", keep="first")
    )
    # Results repeat a string in every row that refers to it.
    is_long = names["value"].str.len_chars() > _LONGEST_NAME
    text = f"strings whose end after {_LONGEST_NAME} characters was left out"
    diagnostics.add("loss", "name_cut", text, int(is_long.sum()))
    cut = pl.format("{}…", pl.col("value").str.head(_LONGEST_NAME))
    return (
        names.with_columns(value=pl.when(is_long).then(cut).otherwise("value"))
        if is_long.any()
        else names
    )


def process_of(column: str) -> pl.Expr:
    """Return the process id in a column of packed ids, 0 where the packed id is None."""
    return (pl.col(column) // 2**24 & 0xFFFFFF).fill_null(0).cast(pl.Int32)


def thread_of(column: str) -> pl.Expr:
    """Return the thread id in a column of packed ids, 0 where the packed id is None."""
    return (pl.col(column) & 0xFFFFFF).fill_null(0).cast(pl.Int32)


def narrow(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the narrowest integer types that hold its values."""
    return frame.with_columns(
        column.shrink_dtype() for column in frame.get_columns() if column.dtype == pl.Int64
    )


def together(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the chunks as one contiguous frame. Each column gets the type of its widest chunk."""
    return pl.concat(parts, how="vertical_relaxed", rechunk=True)


def fitting(table: Table, frame: pl.DataFrame, diagnostics: Diagnostics) -> pl.DataFrame:
    """Return the frame with None for numbers that do not fit the table's 32-bit columns.

    If such a number is in a column that does not allow None, its row is left out instead.
    """
    text = f"impossible numbers of {table.name}; left out, or the whole row if it needs the number"
    for column in table:
        if column.dtype != pl.Int32 or frame.schema.get(column.name) != pl.Int64:
            continue
        fits = pl.col(column.name).is_between(-(2**31), 2**31 - 1) | pl.col(column.name).is_null()
        diagnostics.add(
            "loss",
            "number_out_of_range",
            text,
            int(frame.select((~fits).sum()).item()),
        )
        frame = (
            frame.with_columns(pl.when(fits).then(column.name))
            if column.nullable
            else frame.filter(fits)
        )
    return frame
