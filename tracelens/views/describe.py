"""Tables and columns described as frames, for the schema command and the reference documentation."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from tracelens.storage.table import Column, Table

COLUMNS = Table(
    "columns",
    "A column of a table.",
    (
        Column("column", pl.String, "Its name."),
        Column("type", pl.String, "Its Polars type."),
        Column("unit", pl.String, "Its unit.", nullable=True),
        Column("null", pl.Boolean, "Whether it may be null."),
        Column("meaning", pl.String, "What it says, and the words that it may hold."),
    ),
)


def describe(table: Table) -> pl.DataFrame:
    """A row a column of the table, with the columns of COLUMNS."""
    rows = [
        {
            "column": column.name,
            "type": str(column.dtype),
            "unit": "0 to 1" if column.name.endswith("_frac") else column.unit,
            "null": column.nullable,
            "meaning": f"{column.doc} One of {', '.join(column.values)}." if column.values else column.doc,
        }
        for column in table
    ]
    return pl.DataFrame(rows, schema=COLUMNS.schema)


def listing(entries: Iterable[tuple[str, str]], name: str, meaning: str) -> pl.DataFrame:
    """Two columns, called `name` and `meaning`."""
    return pl.DataFrame(list(entries), schema={name: pl.String, meaning: pl.String}, orient="row")
