"""Small traces for case tests: a test writes down only the columns that its case is about."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import polars as pl

from tracelens.analyses import layer_attribution
from tracelens.schemas import TABLES
from tracelens.storage.table import Column
from tracelens.trace import Trace
from tracelens.trace.capture import Manifest

_NEUTRAL: dict[Any, Any] = {
    pl.String: "x",
    pl.Boolean: False,
    pl.Float64: 0.0,
    pl.Int32: 0,
    pl.Int64: 0,
}
WHOLE = pl.col("step").is_null() & (pl.col("phase").fill_null("program") == "program")
"""Selects the rows of time_breakdown for a whole trace; on ranks without steps, for the program."""
_DEFAULTS = {"link": "launched", "source_api": "runtime"}


def make_trace(**tables: list[dict[str, Any]]) -> Trace:
    """Make a trace in memory from rows without irrelevant columns.

    A column that is left out is None if the schema allows it. Otherwise an enum is `unknown` (a
    link is `launched`, an API `runtime`), a table's own id counts up from 0, and anything else is
    0, False or "x". Tables that are not given are empty.
    """
    unknown = set(tables) - set(TABLES)
    assert not unknown, f"no such tables: {unknown}"
    frames = {
        name: _frame(name, rows) if (rows := tables.get(name)) else _empty(name) for name in TABLES
    }
    ranks = sorted({row.get("rank", 0) for rows in tables.values() for row in rows} or {0})
    return Trace(Manifest(ranks=ranks), {name: frame.lazy() for name, frame in frames.items()})


def layers_with_kernels(trace: Trace, base: Trace | None = None) -> pl.DataFrame:
    """Return layer_attribution without the rows that hold no kernel."""
    return layer_attribution(trace, base=base).filter(pl.col("n_kernels") > 0)


def declared(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return a capture's tables as a trace gives them, checked, without the rank."""
    bare = {name: TABLES[name].without("rank") for name in tables}
    return {name: table.check(table.conform(tables[name])) for name, table in bare.items()}


@cache
def _empty(name: str) -> pl.DataFrame:
    """Make a table without rows, once."""
    return _frame(name, [])


def _frame(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Make a table's frame of rows, and check it."""
    table = TABLES[name]
    strange = {key for row in rows for key in row} - set(table.names)
    assert not strange, f"table {name} has no columns {strange}"
    own_id = name.removesuffix("s") + "_id"
    filled = [
        {
            column.name: row.get(column.name, at if column.name == own_id else _default(column))
            for column in table
        }
        for at, row in enumerate(rows)
    ]
    return table.check(pl.DataFrame(filled, schema=table.schema))


def _default(column: Column) -> Any:
    """Return the value for a column that a case leaves out."""
    if column.name in _DEFAULTS:
        return _DEFAULTS[column.name]
    if column.nullable:
        return None
    if column.values:
        return "unknown"
    return _NEUTRAL[column.dtype]
