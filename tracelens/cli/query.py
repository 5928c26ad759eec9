"""The command `query`: select rows of a trace's tables with SQL."""

import re
from pathlib import Path
from typing import Annotated

import typer

from tracelens.analyses import ANALYSES
from tracelens.cli.io import format_of, keep_sources, open_any, progress, write_report
from tracelens.cli.next_step import suggest
from tracelens.cli.options import OneFormat, OneTrace, OutFile
from tracelens.cli.output import warn
from tracelens.errors import UsageError
from tracelens.report import Report, build_query
from tracelens.schemas import TABLES
from tracelens.schemas.joins import RULE
from tracelens.trace import Trace
from tracelens.trace.sql import joins_without_rank


def query(
    trace: OneTrace,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT, in the SQL of Polars.")],
    *,
    form: OneFormat = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Rows to show, in formats for people; by default as in report."
        ),
    ] = None,
    out: OutFile = None,
) -> None:
    """Select rows of a trace's tables with SQL; tracelens schema lists tables and columns.

    One SELECT (or WITH, or VALUES), with joins, groups, windows and all functions of columns that
    Polars knows. It reads only the trace's tables and writes nothing. Functions that open files or
    addresses, such as read_csv, are refused before anything is opened. Ctrl-C ends it at once, and
    so does using more memory than TRACELENS_MAX_QUERY_MIB allows.

    tracelens query run.tracelens "SELECT name, SUM(duration_ns) AS sum_ns FROM kernels GROUP BY
    name LIMIT 9"
    """
    chosen = format_of(form, out)
    chosen.check(["query"], out)
    keep_sources([trace], [out])
    if not trace.exists() and Path(sql).exists():
        raise UsageError(f"{sql} stands where SQL is expected: give TRACE first, then SQL")
    opened = open_any([trace])
    with progress("asking"):
        built = _run_query(opened, sql)
    write_report(built, chosen, out, rows)
    if len(opened.manifest.ranks) > 1 and joins_without_rank(sql):
        warn(f"a join of this query does not mention rank. {RULE}")
    table = next((word for word in re.findall(r"\w+", sql) if word in TABLES), "kernels")
    suggest(
        f"tracelens schema {table}",
        *(["or", "--out rows.csv"] if out is None else []),
    )


def _run_query(trace: Trace, sql: str) -> Report:
    """Run the query, and return its rows as a report.

    Raises UsageError. If the query names a section instead of a table, the error names the command
    for it.
    """
    try:
        return build_query(trace, sql)
    except UsageError as error:
        for word in re.findall(r"\w+", sql):
            if word in ANALYSES and f"no table is called {word};" in str(error):
                raise UsageError(
                    f"query: {word} is no table but a section: tracelens report"
                    f" TRACE --section {word}"
                ) from error
        raise
