"""The command `schema`: list the tables and analyses, or the columns of one."""

import json
from enum import StrEnum, auto
from pathlib import Path
from typing import Annotated

import typer

from tracelens.analyses import ANALYSES
from tracelens.cli.io import plain
from tracelens.cli.next_step import report_command, suggest
from tracelens.cli.output import emit
from tracelens.errors import UsageError, near
from tracelens.schemas import TABLES
from tracelens.views.describe import describe, listing, schema_document


class Form(StrEnum):
    """Forms of the output: tables to read, or JSON for a program."""

    TEXT = auto()
    JSON = auto()


def schema(
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE|ANALYSIS", help="Table or analysis; all when absent."),
    ] = None,
    *,
    form: Annotated[Form, typer.Option("--format", help="What to write.")] = Form.TEXT,
) -> None:
    """List the tables and analyses, or describe the columns of one.

    JSON says which columns join the tables, too.
    """
    if name is not None and name not in TABLES and name not in ANALYSES:
        known = [*TABLES, *ANALYSES]
        raise UsageError(
            f"no table or analysis is called {name}; {near(name, known)} (tracelens schema lists"
            " all)"
        )
    if form is Form.JSON:
        emit(json.dumps(schema_document(name)) + "\n")
    else:
        _describe(name)
    if name is None:
        suggest("tracelens schema kernels", "or", "tracelens schema verdict")
    elif name in TABLES:
        suggest(f'tracelens query TRACE "SELECT * FROM {name} LIMIT 9"')  # noqa: S608 - to be read
    else:
        against = (Path("BASE"),) if ANALYSES[name].is_pair else ()
        suggest(report_command([Path("TRACE")], against, "--section", name))


def _describe(name: str | None) -> None:
    """Write the columns of a table or analysis as text, or the list of all tables and analyses."""
    if name is None:
        tables = listing(
            ((table.name, table.doc) for table in TABLES.values()),
            "table",
            "a row is",
        )
        analyses = listing(
            ((a.name, a.question) for a in ANALYSES.values()),
            "analysis",
            "answers",
        )
        emit(f"{plain(tables)}\n{plain(analyses)}")
        return
    table = TABLES[name] if name in TABLES else ANALYSES[name].result
    emit(f"{name}: {table.doc}\n\n{plain(describe(table))}")
