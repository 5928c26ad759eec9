"""SQL over a trace's tables: one query, which reads nothing but these tables and writes nothing."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import polars as pl

from tracelens.errors import UsageError, first_line, near

_BEGINNINGS = ("SELECT", "WITH", "VALUES")
"""First words of statements that are queries: all others of SQL change something, or show what
is no result."""
_SCAN = " SCAN ["
"""The mark of a line of a plan that reads files; Polars prints one for each file, or one for
several."""


def ask(tables: Mapping[str, pl.LazyFrame], sql: str) -> pl.DataFrame:
    """Return the rows that a query in Polars' SQL selects from the tables, of which only what it needs is read.

    Raises UsageError for what is no query or cannot be answered, with near names where one is
    unknown, and for a query whose plan reads any other file, as its functions read_csv and
    read_parquet would.
    """
    statement = sql.strip().rstrip(";").strip()
    first = statement.lstrip("( \n\t").split(None, 1)[0].upper() if statement else "nothing"
    if first not in _BEGINNINGS:
        raise UsageError(
            f"query: expected SELECT, found {first[:40]}; a trace is only read, see tracelens"
            " schema"
        )
    named = {name: frame for name, frame in tables.items() if name in statement.lower()}
    with _explaining(tables, named):
        query = pl.SQLContext(frames=named, register_globals=False, eager=False).execute(statement)
        plan = query.explain(optimized=False)
    own = (
        {line for frame in named.values() for line in _scans(frame.explain(optimized=False))}
        if _SCAN in plan
        else set()
    )
    foreign = [line for line in _scans(plan) if line not in own]
    if foreign:
        raise UsageError(
            f"query: reads other files than the trace's ({foreign[0][:200]}); ask its tables only"
        )
    with _explaining(tables, named):
        return query.collect()


def _scans(plan: str) -> Iterator[str]:
    return (line.strip() for line in plan.splitlines() if _SCAN in line)


@contextmanager
def _explaining(
    tables: Mapping[str, pl.LazyFrame], named: Mapping[str, pl.LazyFrame]
) -> Iterator[None]:
    """Turn errors of a query into UsageError: what Polars says of it, and names near to one that is unknown."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, ValueError, pl.exceptions.PanicException) as error:
        said = first_line(error)
        unknown = re.search(r"""(?:relation|column(?: named)?):? ["'`]([^"'`]*)["'`]""", said)
        if unknown is None:
            raise UsageError(f"query: {said[:300]}") from error
        name = unknown[1]
        if said.startswith("relation"):
            raise UsageError(f"query: no table is called {name}; {near(name, tables)}") from error
        columns = [column for frame in named.values() for column in frame.collect_schema()]
        raise UsageError(f"query: no column is called {name}; {near(name, columns)}") from error
