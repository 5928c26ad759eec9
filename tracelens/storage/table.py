"""Declare a table's columns, and check and write its rows by this declaration."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import polars as pl
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from tracelens.errors import SchemaError, first_line

if TYPE_CHECKING:
    import pyarrow as pa

DataType: TypeAlias = "pl.DataType | type[pl.DataType]"

_CELLS = 3 << 20
"""Number of cells in a row group."""

_UNITS = {"_ns": "ns", "_bytes": "bytes", "_bytes_per_s": "bytes/s", "_frac": "1"}
"""Units by the ending of a column's name."""


class Column(Struct, frozen=True):
    """The declaration of a column."""

    name: str
    dtype: DataType
    doc: str
    """The meaning of the column."""
    unit: str | None = None
    """The unit, if the name does not end in it."""
    nullable: bool = False
    values: tuple[str, ...] = ()
    """The words of an enum, empty for other columns."""

    def __post_init__(self) -> None:
        if self.unit is None:
            units = (unit for ending, unit in _UNITS.items() if self.name.endswith(ending))
            force_setattr(self, "unit", next(units, None))


class Stored(Struct, frozen=True):
    """Rows of a table in a file that `Table.write` wrote, without the column `rank`.

    `n_names` is the number of distinct values in the column `name`, None without such a column.
    """

    path: Path
    height: int
    n_names: int | None = None

    def lazy(self) -> pl.LazyFrame:
        """Return the rows as a LazyFrame."""
        return pl.scan_parquet(self.path, glob=False)


class Table(Struct, frozen=True):
    """The declaration of a table; `doc` is one sentence on the meaning of a row."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    sort_by: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def names(self) -> list[str]:
        """The column names in order."""
        return [column.name for column in self.columns]

    @property
    def schema(self) -> dict[str, DataType]:
        """The Polars schema of the table."""
        return {column.name: column.dtype for column in self.columns}

    def empty(self) -> pl.DataFrame:
        """Return a DataFrame with the table's columns and without rows."""
        return pl.DataFrame(schema=self.schema)

    def without(self, *names: str) -> Table:
        """Return the table without some of its columns."""
        return replace(
            self,
            columns=tuple(column for column in self.columns if column.name not in names),
        )

    def conform(self, frame: pl.DataFrame, *, keep_categories: bool = False) -> pl.DataFrame:
        """Return the frame with exactly this table's columns, in order, cast to their dtypes.

        A missing column is None if the declaration allows None. With `keep_categories`, Categorical
        columns stay Categorical. Raises SchemaError if another column is missing, or if a value
        does not fit its dtype.
        """
        if not frame.width:
            return self.empty()
        try:
            return frame.select(self._picked(frame.schema, keep_categories=keep_categories))
        except pl.exceptions.InvalidOperationError as error:
            raise SchemaError(
                f"table {self.name}: a value does not fit its column: {first_line(error)}"
            ) from error

    def conform_lazily(self, frame: pl.DataFrame | Stored) -> pl.LazyFrame:
        """Return the rows of a frame or file as a LazyFrame with this table's columns and dtypes.

        A value that does not fit raises Polars' error when the LazyFrame is collected.
        """
        if isinstance(frame, Stored):
            return frame.lazy()
        return (
            frame.lazy().select(self._picked(frame.schema)) if frame.width else self.empty().lazy()
        )

    def _picked(
        self,
        schema: Mapping[str, DataType],
        *,
        keep_categories: bool = False,
    ) -> list[pl.Expr]:
        missing = [c.name for c in self.columns if c.name not in schema and not c.nullable]
        if missing:
            raise SchemaError(
                f"table {self.name}: columns {missing} are missing; found {list(schema)}"
            )
        return [
            (
                pl.lit(None, c.dtype).alias(c.name)
                if c.name not in schema
                else (
                    pl.col(c.name)
                    if keep_categories and schema[c.name] == pl.Categorical
                    else pl.col(c.name).cast(c.dtype)
                )
            )
            for c in self.columns
        ]

    def check(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the same frame, after a check of columns, dtypes, None values and enum words.

        Raises SchemaError for the first column that differs from its declaration.
        """
        if frame.columns != self.names:
            raise SchemaError(
                f"table {self.name}: expected columns {self.names}, found {frame.columns}"
            )
        for column in self.columns:
            dtype = frame.schema[column.name]
            if dtype != column.dtype:
                raise SchemaError(
                    f"table {self.name}.{column.name}: expected {column.dtype}, found {dtype}"
                )
        self.check_values(frame)
        return frame

    def check_values(self, frame: pl.DataFrame) -> None:
        """Raise SchemaError for the first column with an undeclared None or enum word."""
        for column in self.columns:
            self.check_column(column, frame[column.name])

    def check_column(self, column: Column, values: pl.Series) -> None:
        """Raise SchemaError if a column has a None or an enum word that is not declared."""
        if not column.nullable and values.null_count():
            raise SchemaError(f"table {self.name}.{column.name}: null where a value is required")
        if column.values and not values.is_empty():
            strange = set(values.unique().drop_nulls().cast(pl.String)) - set(column.values)
            if strange:
                raise SchemaError(
                    f"table {self.name}.{column.name}: {sorted(strange)} not in {column.values}"
                )

    def write(
        self,
        frame: pl.DataFrame,
        path: Path | BinaryIO,
        n_cells: int = _CELLS,
    ) -> None:
        """Write a frame as a zstd Parquet file, with every column's meaning and unit as metadata.

        The frame may lack the column `rank`, and may have any form that `conform` accepts. A row
        group has about `n_cells` cells. Raises SchemaError as `conform` and `check` do.
        """
        import pyarrow.parquet as pq  # noqa: PLC0415 - takes 0.02 s, which only files need

        table = self if "rank" in frame.columns else self.without("rank")
        described = _described(table)
        n_rows = max(1, n_cells // len(table.columns))
        # Row groups are converted one after another, so that a large table is never in memory at
        # its full width.
        groups = (
            frame[first_row : first_row + n_rows]
            for first_row in range(0, max(1, frame.height), n_rows)
        )
        first = _group(table, next(groups), described)
        # Ids and sorted times differ little from row to row: as deltas they take half the room of a
        # dictionary. Sizes of grids and the like repeat in long patterns, which compression finds
        # in plain numbers only.
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
            # Rows are sorted by these columns, so only their statistics let a reader skip a group
            # of rows.
            write_statistics=[name for name in table.sort_by if name in table.names],
        ) as writer:
            writer.write_table(first)
            for rows in groups:
                writer.write_table(_group(table, rows, described))
            # Categorical columns are written as dictionaries but declared as strings, which readers
            # expect.
            schema = base64.b64encode(described.serialize().to_pybytes())
            writer.add_key_value_metadata({b"ARROW:schema": schema, **described.metadata})


def n_names(rows: pl.DataFrame | Stored) -> int | None:
    """Return the number of distinct values in the column `name`, None without such a column."""
    if isinstance(rows, Stored):
        return rows.n_names
    return rows["name"].n_unique() if "name" in rows.columns else None


def _group(table: Table, rows: pl.DataFrame, described: pa.Schema) -> pa.Table:
    """Return a row group as an Arrow table, checked, with dictionaries for Categorical columns."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which only files need

    fitting = table.conform(rows, keep_categories=True)
    table.check_values(fitting)
    arrow = _arrow(fitting)
    fields = [described.field(field.name).with_type(field.type) for field in arrow.schema]
    return pa.Table.from_arrays(arrow.columns, schema=pa.schema(fields))


def _arrow(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _described(table: Table) -> pa.Schema:
    """Return the table's Arrow schema, with each column's meaning and unit as field metadata."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which only files need

    fields = []
    for field, column in zip(_arrow(table.empty()).schema, table, strict=True):
        about = {"description": column.doc}
        if column.unit:
            about["unit"] = column.unit
        if column.values:
            about["values"] = json.dumps(column.values)
        fields.append(field.with_metadata(about).with_nullable(column.nullable))
    return pa.schema(fields, metadata={"table": table.name, "description": table.doc})
