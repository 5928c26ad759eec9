"""Declaring, checking, reading and writing one table: a column is written down once and everything derives from it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracelens.errors import SchemaError
from tracelens.storage.coding import coded

DataType: TypeAlias = "pl.DataType | type[pl.DataType]"

FEW_CELLS, MANY_CELLS = 3 << 20, 1 << 23
"""Of a group of rows: where memory is short, and where the whole table is held anyway."""
_FEW_WORDS, _LOOKED_AT = 1 << 10, 1 << 17
"""Words of a column that may lie in each group's dictionary, whether the group has them or not."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, Polars dtype, meaning, unit, whether it may be null, and for enums the words allowed."""

    name: str
    dtype: DataType
    doc: str
    unit: str | None = None
    nullable: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """Rows of a table, without the rank, in a file that `Table.write` made."""

    path: Path
    height: int


@dataclass(frozen=True, slots=True)
class Table:
    """A named set of columns; `doc` is one sentence on what a row means."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    sort_by: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    @property
    def schema(self) -> dict[str, DataType]:
        """Polars schema of the table."""
        return {column.name: column.dtype for column in self.columns}

    def empty(self) -> pl.DataFrame:
        """A typed frame without rows."""
        return pl.DataFrame(schema=self.schema)

    def without(self, *names: str) -> Table:
        """The table without some of its columns."""
        return replace(self, columns=tuple(column for column in self.columns if column.name not in names))

    def conform(self, frame: pl.DataFrame, *, keep_categories: bool = False) -> pl.DataFrame:
        """The frame with exactly this table's columns, in order, cast to their dtypes; absent nullable ones are null.

        With `keep_categories`, strings that are Categorical stay so. Raises SchemaError when a column that may not be
        null is absent, or a value does not fit its dtype.
        """
        if not frame.width:
            return self.empty()
        try:
            return frame.select(self._picked(frame.schema, keep_categories=keep_categories))
        except pl.exceptions.InvalidOperationError as error:
            raise SchemaError(f"table {self.name}: a value does not fit its column: {error}") from error

    def conform_lazily(self, frame: pl.DataFrame | Stored) -> pl.LazyFrame:
        """As `conform`, when the frame is collected; a value that does not fit is then Polars' own error."""
        if isinstance(frame, Stored):
            return pl.scan_parquet(frame.path, glob=False)
        return frame.lazy().select(self._picked(frame.schema)) if frame.width else self.empty().lazy()

    def _picked(self, schema: Mapping[str, DataType], *, keep_categories: bool = False) -> list[pl.Expr]:
        missing = [c.name for c in self.columns if c.name not in schema and not c.nullable]
        if missing:
            raise SchemaError(f"table {self.name}: columns {missing} are missing; found {list(schema)}")
        return [
            pl.lit(None, c.dtype).alias(c.name)
            if c.name not in schema
            else pl.col(c.name)
            if keep_categories and schema[c.name] == pl.Categorical
            else pl.col(c.name).cast(c.dtype)
            for c in self.columns
        ]

    def check(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The same frame, after making sure that columns, dtypes, nulls and enum words are as declared.

        Raises SchemaError naming the first column that is not.
        """
        if frame.columns != self.names:
            raise SchemaError(f"table {self.name}: expected columns {self.names}, found {frame.columns}")
        for column in self.columns:
            found = frame.schema[column.name]
            if found != column.dtype:
                raise SchemaError(f"table {self.name}.{column.name}: expected {column.dtype}, found {found}")
        self.check_values(frame)
        return frame

    def check_values(self, frame: pl.DataFrame) -> None:
        """Make sure that nulls and enum words are as declared. Raises SchemaError naming the first column not so."""
        for column in self.columns:
            self.check_column(column, frame[column.name])

    def check_column(self, column: Column, values: pl.Series, words: pl.Series | None = None) -> None:
        """`check_values` of one column, which may be codes of words."""
        if not column.nullable and values.null_count():
            raise SchemaError(f"table {self.name}.{column.name}: null where a value is required")
        if column.values:
            found = values.unique().drop_nulls().cast(pl.String) if words is None else words
            strange = set(found) - set(column.values)
            if strange:
                raise SchemaError(f"table {self.name}.{column.name}: {sorted(strange)} not in {column.values}")

    def write(self, frame: pl.DataFrame, path: Path | BinaryIO, n_cells: int = FEW_CELLS) -> None:
        """Write a frame as a zstd Parquet file that carries every column's meaning and unit.

        The frame is one that `conform` takes, or lacks the rank. It is made to conform, and checked, some rows at a
        time, of so many cells, so that a large table is never there in its full width. Raises SchemaError as they do.
        """
        table = self if "rank" in frame.columns else self.without("rank")
        described = _described(_arrow(table.empty()).schema, table)
        frame, words = _coded(table, frame)
        n_rows = max(1, n_cells // len(table.columns))
        groups = (frame[at : at + n_rows] for at in range(0, max(1, frame.height), n_rows))
        first = _group(table, next(groups), described, words)
        # Ids and sorted times differ little from row to row: as deltas they take half the room of a dictionary. Sizes
        # of grids and the like repeat as the program does, which compression finds in plain numbers only.
        deltas = [name for name, dtype in table.schema.items() if dtype == pl.Int64]
        with pq.ParquetWriter(
            path,
            first.schema,
            compression="zstd",
            compression_level=-1,
            use_dictionary=[name for name, dtype in table.schema.items() if dtype == pl.String],
            column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
            version="2.6",
            store_schema=False,
            # Rows lie in this order, so that only these tell a reader which group it may leave out.
            write_statistics=[name for name in table.sort_by if name in table.names],
        ) as writer:
            writer.write_table(first)
            for rows in groups:
                writer.write_table(_group(table, rows, described, words))
            # Categories are written as the dictionaries that they are; readers are told of strings.
            told = base64.b64encode(described.serialize().to_pybytes())
            writer.add_key_value_metadata({b"ARROW:schema": told, **described.metadata})


def _coded(table: Table, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, pa.Array]]:
    """The frame with categories of few words as checked codes, and the words: at once is less work than by group."""
    words = {}
    for column in table:
        is_coded = frame.schema.get(column.name) == pl.Categorical
        if is_coded and frame[column.name].head(_LOOKED_AT).n_unique() <= _FEW_WORDS:
            codes, own = coded(frame[column.name])
            if own.len() <= _FEW_WORDS:
                table.check_column(column, codes, own)
                frame, words[column.name] = frame.with_columns(codes), own.to_arrow()
    return frame, words


def _group(table: Table, rows: pl.DataFrame, described: pa.Schema, words: Mapping[str, pa.Array]) -> pa.Table:
    """Rows in Arrow as they are written: checked, categories as dictionaries; those with `words` are codes already."""
    others = table.without(*words)
    fitting = others.conform(rows, keep_categories=True)
    others.check_values(fitting)
    arrow = _arrow(fitting)
    columns = {
        name: pa.DictionaryArray.from_arrays(rows[name].to_arrow(), words[name]) if name in words else arrow[name]
        for name in table.names
    }
    fields = [described.field(name).with_type(column.type) for name, column in columns.items()]
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))


def _arrow(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _described(schema: pa.Schema, table: Table) -> pa.Schema:
    """The Arrow schema with each column's documentation and unit as field metadata, and the table's own as schema's."""
    by_name: Mapping[str, Column] = {column.name: column for column in table.columns}
    fields = []
    for field in schema:
        column = by_name.get(field.name)
        if column is None:
            fields.append(field)
            continue
        about = {"description": column.doc}
        if column.unit:
            about["unit"] = column.unit
        if column.values:
            about["values"] = json.dumps(column.values)
        fields.append(field.with_metadata(about).with_nullable(column.nullable))
    return pa.schema(fields, metadata={"table": table.name, "description": table.doc})
