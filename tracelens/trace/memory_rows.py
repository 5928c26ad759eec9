"""Read tables that are in memory as collectors made them, without a query for each column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from tracelens.storage.table import DataType, Table


def memory_rows(
    table: Table,
    parts: Iterable[tuple[int, pl.DataFrame]],
    columns: Sequence[str],
    where: pl.Expr | None,
) -> pl.DataFrame:
    """Return the columns `columns` of the rows that meet the condition `where`.

    A part is a rank and its rows without the column `rank`, in a form that `Table.conform` accepts.
    Texts are String when the condition is evaluated, and Categorical in the result.
    """
    frames = [_rows(table, rank, part, columns, where) for rank, part in parts]
    if not frames:
        frames = [_rows(table, 0, table.empty(), columns, None)]
    return frames[0] if len(frames) == 1 else pl.concat(frames)


def _rows(
    table: Table,
    rank: int,
    part: pl.DataFrame,
    columns: Sequence[str],
    where: pl.Expr | None,
) -> pl.DataFrame:
    schema = table.schema
    rows = pl.DataFrame([_column(part, rank, name) for name in columns])
    if where is not None:
        of_condition = {"rank", *where.meta.root_names()}
        asked = [_column(part, rank, name).cast(schema[name]) for name in of_condition]
        rows = rows.filter(pl.DataFrame(asked).select(where).to_series())
    return pl.DataFrame([column.cast(_coded(schema[column.name])) for column in rows])


def _column(part: pl.DataFrame, rank: int, name: str) -> pl.Series:
    """Return a column of a part.

    The column `rank` is filled with the rank. A column that the part lacks is filled with None.
    """
    if name in part.columns:
        return part[name]
    value = rank if name == "rank" else None
    return pl.Series(name, [value]).new_from_index(0, part.height)


def _coded(dtype: DataType) -> DataType:
    """Return Categorical for String, and any other dtype as it is."""
    return pl.Categorical if dtype == pl.String else dtype
