"""Declaring, checking, reading and writing one table: a column is written down once and everything derives from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracelens.errors import SchemaError

DataType: TypeAlias = "pl.DataType | type[pl.DataType]"


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

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with exactly this table's columns, in order, cast to their dtypes; absent nullable ones are null.

        Raises SchemaError when a column that may not be null is absent, or a value does not fit its dtype.
        """
        if not frame.width:
            return self.empty()
        missing = [c.name for c in self.columns if c.name not in frame.columns and not c.nullable]
        if missing:
            raise SchemaError(f"table {self.name}: columns {missing} are missing; found {frame.columns}")
        picked = [
            pl.col(c.name).cast(c.dtype) if c.name in frame.columns else pl.lit(None, c.dtype).alias(c.name)
            for c in self.columns
        ]
        try:
            return frame.select(picked)
        except pl.exceptions.InvalidOperationError as error:
            raise SchemaError(f"table {self.name}: a value does not fit its column: {error}") from error

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
            if not column.nullable and frame[column.name].null_count():
                raise SchemaError(f"table {self.name}.{column.name}: null where a value is required")
            if column.values:
                strange = set(frame[column.name].drop_nulls().unique()) - set(column.values)
                if strange:
                    raise SchemaError(f"table {self.name}.{column.name}: {sorted(strange)} not in {column.values}")
        return frame

    def write(self, frame: pl.DataFrame, path: Path) -> None:
        """Write one checked frame as a zstd Parquet file that carries every column's meaning and unit."""
        arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        # Ids and sorted times differ little from row to row: as deltas they take half the room of a dictionary.
        integers = [name for name, dtype in frame.schema.items() if dtype.is_integer()]
        pq.write_table(
            arrow.cast(_described(arrow.schema, self)),
            path,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name, dtype in frame.schema.items() if dtype == pl.String],
            column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
            version="2.6",
        )


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
