"""Tables and columns described as frames, for the schema command and the reference."""

from collections.abc import Iterable

import polars as pl

from tracelens.storage.table import Table

_COLUMNS = {
    "column": pl.String,
    "type": pl.String,
    "unit": pl.String,
    "null": pl.Boolean,
    "meaning": pl.String,
}


def describe(table: Table) -> pl.DataFrame:
    """Describe the table, one row per column: name, Polars type, unit, nullability and meaning."""
    rows = [
        {
            "column": column.name,
            "type": str(column.dtype),
            "unit": "0 to 1" if column.name.endswith("_frac") else column.unit,
            "null": column.nullable,
            "meaning": (
                f"{column.doc} One of {', '.join(column.values)}." if column.values else column.doc
            ),
        }
        for column in table
    ]
    return pl.DataFrame(rows, schema=_COLUMNS)


def listing(entries: Iterable[tuple[str, str]], name: str, meaning: str) -> pl.DataFrame:
    """Make two columns, called `name` and `meaning`."""
    return pl.DataFrame(list(entries), schema={name: pl.String, meaning: pl.String}, orient="row")
