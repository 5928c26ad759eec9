"""One export while it is read: its strings, its time zero, and its tables in chunks.

An id of a process or thread is packed as hardware (8 bits), virtual machine (8), process (24), thread (24).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import polars as pl

from tracelens.collectors.nsys.export import Export, wanted
from tracelens.derive.columns.distinct import distinct_rows
from tracelens.errors import SourceError
from tracelens.trace.capture import Diagnostics


@dataclass(frozen=True, slots=True)
class Session:
    """Everything needed to read any table of one export: its strings, its time zero, and where losses are counted."""

    export: Export
    names: pl.DataFrame
    base_ns: int
    diagnostics: Diagnostics

    def named(self, ids: pl.Series) -> pl.Series:
        """The strings that a column of ids refers to, as Categorical; only those that are used are kept."""
        rows, places = distinct_rows(ids)
        used = self.names.filter(pl.col("id").is_in(ids.gather(rows).drop_nulls().implode()))
        values = used["value"].cast(pl.Categorical)
        named = ids.gather(rows).replace_strict(used["id"], values, default=None, return_dtype=pl.Categorical)
        return named.gather(places)

    def chunks(
        self, table: str, needed: Sequence[str], integers: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """Columns of a table that may be absent, in chunks.

        Raises SourceError when the table exists without a needed column.
        """
        if self.export.has(table):
            missing = [name for name in needed if name not in self.export.columns[table]]
            if missing:
                found = ", ".join(sorted(self.export.columns[table]))
                raise SourceError(
                    f"{self.export.path}: expected the columns {', '.join(missing)} in {table}, found {found}; "
                    "upgrade with pip install -U tracelens-toolkit, or export with another version of nsys"
                )
        columns = wanted([*needed, *integers], texts)
        # A frame without rows first, so that an absent table has its columns.
        return chain([pl.DataFrame(schema=columns)], self.export.chunks(table, columns))

    def intervals(self, table: str, frame: pl.DataFrame, needed: Sequence[str] = ()) -> pl.DataFrame:
        """The frame with start_ns and duration_ns; rows without times, or ending before their start, are counted."""
        usable = frame
        # Mostly all rows are usable, which is checked sooner than filtered.
        if any(frame[c].null_count() for c in ("start", "end", *needed)) or (frame["end"] < frame["start"]).any():
            usable = frame.drop_nulls(["start", "end", *needed]).filter(pl.col("end") >= pl.col("start"))
        lost = frame.height - usable.height
        self.diagnostics.add(
            "loss", "broken_rows", f"rows of {table} had no usable times or ids and were left out", lost
        )
        return usable.with_columns(start_ns=pl.col("start") + self.base_ns, duration_ns=pl.col("end") - pl.col("start"))


def read_names(export: Export) -> pl.DataFrame:
    """The export's strings by id; the environment is among them, so only those that names refer to are kept."""
    return export.frame("StringIds", wanted(["id"], ["value"])).drop_nulls("id").unique("id", keep="first")


def process_of(column: str) -> pl.Expr:
    """The process in a packed id; 0 where the export has none."""
    return (pl.col(column) // 2**24 & 0xFFFFFF).fill_null(0).cast(pl.Int32)


def thread_of(column: str) -> pl.Expr:
    """The thread in a packed id; 0 where the export has none."""
    return (pl.col(column) & 0xFFFFFF).fill_null(0).cast(pl.Int32)


def narrow(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with each column of integers as narrow as its values allow."""
    return frame.with_columns(column.shrink_dtype() for column in frame.get_columns() if column.dtype == pl.Int64)


def together(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Chunks as one contiguous frame; each column is as wide as its widest chunk."""
    return pl.concat(parts, how="vertical_relaxed", rechunk=True)
