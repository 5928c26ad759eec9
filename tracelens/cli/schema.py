"""`tracelens schema`."""

from typing import Annotated

import typer

from tracelens.analyses import ANALYSES
from tracelens.cli.io import plain
from tracelens.cli.output import emit
from tracelens.errors import UsageError, near
from tracelens.schemas import TABLES
from tracelens.views.describe import describe, listing


def schema(
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE|ANALYSIS", help="Table or analysis; all when absent."),
    ] = None,
) -> None:
    """List the tables and analyses, or describe the columns of one."""
    if name is None:
        tables = listing(
            ((table.name, table.doc) for table in TABLES.values()), "table", "a row is"
        )
        analyses = listing(((a.name, a.question) for a in ANALYSES.values()), "analysis", "answers")
        emit(f"{plain(tables)}\n{plain(analyses)}")
        return
    table = TABLES.get(name) or (ANALYSES[name].result if name in ANALYSES else None)
    if table is None:
        known = [*TABLES, *ANALYSES]
        raise UsageError(
            f"no table or analysis is called {name}; {near(name, known)} (tracelens schema lists"
            " all)"
        )
    emit(f"{name}: {table.doc}\n\n{plain(describe(table))}")
