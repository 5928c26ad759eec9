"""Check a trace's rows: types, ids, pointers, order and ranges of every table."""

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from tracelens.errors import MissingTableError, SchemaError, SourceError, UsageError
from tracelens.schemas import ROW_IDS, SPAN_POINTERS, TABLES
from tracelens.storage.addresses import shown
from tracelens.storage.table import Table
from tracelens.trace.trace import Trace

_TARGETS = {row_id: name for name, row_id in ROW_IDS.items()} | dict.fromkeys(
    SPAN_POINTERS, "spans"
)
_FROM_0 = ("duration_ns", "depth", "op_depth", "python_depth", "level", "count")
_TIMES = ("start_ns", "time_ns")
_LAST_NS = 2**63 - 1


def problems(trace: Trace) -> Iterator[str]:
    """Yield one sentence per kind of problem: how many rows of which table break which rule."""
    for name, table in TABLES.items():
        try:
            frame = _checked(trace, table)
        except SchemaError as error:
            yield str(error)
            continue
        counts: dict[str, int] = {}
        for part in frame.partition_by("rank", maintain_order=True):
            for what, count in (_wrong(name, part) | _lost(trace, name, part)).items():
                counts[what] = counts.get(what, 0) + count
        yield from (f"{count:,} rows of {name} {what}" for what, count in counts.items() if count)


@contextmanager
def blame_rows(*traces: Trace) -> Iterator[None]:
    """Raise SourceError if the `with` block fails and a trace on disk has invalid rows.

    If no trace on disk has invalid rows, raise the error of the block. MissingTableError and
    UsageError are raised as they are, without a check of rows.
    """
    try:
        yield
    except (MissingTableError, UsageError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        # Rows are checked only after an error.
        for trace in traces:
            wrong = next(problems(trace), None) if trace.path is not None else None
            if wrong is not None:
                raise SourceError(
                    f"{shown(trace.path or trace.name)}: {wrong}; the trace is damaged: collect it"
                    " again"
                ) from error
        raise


def _checked(trace: Trace, table: Table) -> pl.DataFrame:
    """Check a table's values, and return its columns that are not strings.

    Raises SchemaError if `Table.check` finds a fault in any column.
    """
    if trace.select(table.name, *table.names[:1]).height == 0:
        return table.empty()
    frame = trace.select(table.name, *table.names)
    for column in table:
        dtype = frame.schema[column.name]
        if column.dtype not in {pl.String, dtype}:
            raise SchemaError(
                f"table {table.name}.{column.name}: expected {column.dtype}, found {dtype}"
            )
        table.check_column(column, frame[column.name])
    return frame.select(pl.exclude(pl.Categorical))


def _wrong(name: str, rows: pl.DataFrame) -> dict[str, int]:
    """Count the rows of one rank that break a rule of their table.

    Each count is of one rule. Its key describes the fault, such as "have a duration_ns below 0".
    """
    # A layer's time may be the difference of two times, which noise can make negative.
    from_0 = [column for column in rows.columns if column in _FROM_0 and name != "timings"]
    rules = {f"have a {column} below 0": pl.col(column) < 0 for column in from_0}
    if {"start_ns", "duration_ns"} <= set(rows.columns):
        rules["end later than 64 bits can say"] = pl.col("start_ns") > _LAST_NS - pl.col(
            "duration_ns"
        ).clip(0)
    for column in set(TABLES[name].sort_by) & set(_TIMES):
        rules[f"stand after a row of a later {column}"] = pl.col(column) < pl.col(column).shift()
    if "parent_id" in rows.columns:
        rules["do not come after their parent"] = pl.col("parent_id") >= pl.col("span_id")
    counts = {what: int(rows.select(rule.sum()).item()) for what, rule in rules.items()}
    row_id = ROW_IDS.get(name)
    if row_id is not None and not _are_row_numbers(rows[row_id]):
        repeated = int(rows[row_id].is_duplicated().sum())
        counts[f"share their {row_id} with another row of their rank"] = repeated
        if name == "spans" and not repeated and rows["parent_id"].count():
            counts["have another span_id than their row number, which parents are"] = rows.height
    return counts


def _are_row_numbers(ids: pl.Series) -> bool:
    return bool((ids == pl.int_range(len(ids), eager=True)).all())


def _lost(trace: Trace, name: str, rows: pl.DataFrame) -> dict[str, int]:
    """Count the rows of one rank that point to a missing row.

    Each count is of one column. Its key describes the fault, such as "have a parent_id that no row
    of spans has".
    """
    counts = {}
    for column in rows.columns:
        target = _TARGETS.get(column)
        if target is None or column == ROW_IDS.get(name):
            continue
        ids = trace.select(target, "rank", ROW_IDS[target]).filter(
            pl.col("rank") == rows["rank"][0]
        )[ROW_IDS[target]]
        pointers = rows[column].drop_nulls()
        lost = (
            (pointers < 0) | (pointers >= len(ids))
            if _are_row_numbers(ids)
            else ~pointers.is_in(ids.implode())
        )
        counts[f"have a {column} that no row of {target} has"] = int(lost.sum())
    return counts
