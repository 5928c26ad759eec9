"""Describe tables and columns as frames, for the schema command and the reference."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from tracelens.analyses import ANALYSES
from tracelens.schemas import TABLES
from tracelens.schemas.joins import RULE, joins_of, key_of
from tracelens.storage.table import Table

_COLUMNS = {
    "column": pl.String,
    "type": pl.String,
    "unit": pl.String,
    "null": pl.Boolean,
    "meaning": pl.String,
}


def describe(table: Table) -> pl.DataFrame:
    """Return one row per column of a table: name, Polars type, unit, nullability and meaning."""
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


def listing(
    entries: Iterable[tuple[str, str]],
    name: str,
    meaning: str,
) -> pl.DataFrame:
    """Return the entries as a DataFrame, with `name` and `meaning` as names of its two columns."""
    return pl.DataFrame(
        list(entries),
        schema={name: pl.String, meaning: pl.String},
        orient="row",
    )


def schema_document(name: str | None = None) -> dict[str, Any]:
    """Return the description of a table or analysis; without a name, list all of them."""
    if name is None:
        return {
            "rule": RULE,
            "tables": {one: _table(table) for one, table in TABLES.items()},
            "analyses": {one: analysis.question for one, analysis in ANALYSES.items()},
        }
    if name in TABLES:
        table = TABLES[name]
        return {
            "rule": RULE,
            name: _table(table) | {"columns": describe(table).to_dicts()},
        }
    analysis = ANALYSES[name]
    return {
        name: {
            "question": analysis.question,
            "row": analysis.result.doc,
            "compares_two": analysis.is_pair,
            "columns": describe(analysis.result).to_dicts(),
        }
    }


def _table(table: Table) -> dict[str, Any]:
    joins = [
        {
            "table": join.table,
            "on": {"rank": "rank", join.column: join.key},
        }
        for join in joins_of(table.name)
    ]
    return {
        "row": table.doc,
        "key": key_of(table.name),
        "joins": joins,
        "columns": {column.name: column.unit or str(column.dtype) for column in table},
    }
