"""Write the reference pages from the code: `python docs/generate.py`.

A test fails if they are old.
"""  # noqa: INP001 - a script, not a package

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from tracelens.analyses import ANALYSES
from tracelens.cli.commands import app
from tracelens.cli.panels import panel_of
from tracelens.schemas import TABLES
from tracelens.schemas.raw import RAW_TABLES
from tracelens.storage.limits import LIMITS
from tracelens.storage.table import Table
from tracelens.views.describe import describe

NOTICE = "<!-- Written by docs/generate.py; edit the code instead. -->"


def pages() -> dict[str, str]:
    """Every page by file name."""
    return {
        "cli.md": cli_page(),
        "tables.md": tables_page(),
        "raw_tables.md": raw_tables_page(),
        "analyses.md": analyses_page(),
    }


def cli_page() -> str:
    """Every command with its arguments and options."""
    parts = [
        "# Command line",
        NOTICE,
        (
            "Standard output holds results only; progress, warnings and errors go to standard"
            " error. Exit codes: 0 done; 1 bad input or a failed tool (`check`: losses or errors);"
            " 2 usage; 3 a gate failed (`report --fail-on`); 130 interrupted."
        ),
    ]
    for name, command in _commands(typer.main.get_command(app), "tracelens"):
        parts += [f"## {name}", command.help.strip()]
        panels: dict[str, list[list[str]]] = {}
        for parameter in command.params:
            if parameter.name != "help":
                panels.setdefault(panel_of(parameter), []).append(_parameter(parameter))
        if panels:
            rows = [
                row
                for title, own in panels.items()
                for row in ([] if title in {"Arguments", "Options"} else [[f"**{title}**", ""]])
                + own
            ]
            parts.append(_table(["parameter", "meaning"], rows))
    limits = [(f"`{limit.variable}`", f"{limit.doc} Default: {limit.default}.") for limit in LIMITS]
    parts += [
        "## Limits",
        (
            "What is larger than any tool writes is refused or counted as lost. These environment"
            " variables raise a limit."
        ),
        _table(["variable", "what it limits"], limits),
    ]
    return "\n\n".join(parts) + "\n"


def tables_page() -> str:
    """Every table of a trace with its columns."""
    parts = ["# Tables of a trace", NOTICE]
    for table in TABLES.values():
        parts += [f"## {table.name}", table.doc, _columns(table)]
    return "\n\n".join(parts) + "\n"


def raw_tables_page() -> str:
    """Write what a new collector hands on: every raw table with its columns."""
    parts = [
        "# Raw tables that a collector hands to `assemble`",
        NOTICE,
        "Rows may come in any order. A column that may be null may be left out.",
        "Any other column must be there; a word that the source lacks is `unknown`.",
    ]
    for table in RAW_TABLES.values():
        parts += [f"## {table.name}", table.doc, _columns(table)]
    return "\n\n".join(parts) + "\n"


def analyses_page() -> str:
    """Every analysis with its question and the columns of its result."""
    parts = [
        "# Analyses",
        NOTICE,
        "Each is a section of the report, and a function of `tracelens.analyses`.",
    ]
    for analysis in ANALYSES.values():
        call = f"`{analysis.name}({'base, other' if analysis.is_pair else 'trace'})`"
        parts += [
            f"## {analysis.name}",
            f"{analysis.question} {call}",
            analysis.result.doc,
            _columns(analysis.result),
        ]
    return "\n\n".join(parts) + "\n"


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The command and, in the order that its help lists them, those below it."""
    yield name, command
    for word, child in getattr(command, "commands", {}).items():
        yield from _commands(child, f"{name} {word}")


def _parameter(parameter: Any) -> list[str]:
    is_option = parameter.opts[0].startswith("-")
    if not is_option:
        return [f"`{parameter.metavar or parameter.name.upper()}`", parameter.help]
    value = "" if parameter.is_flag else f" {(parameter.metavar or parameter.name).upper()}"
    return [f"`{', '.join(parameter.opts)}{value}`", parameter.help]


def _columns(table: Table) -> str:
    rows = [
        [f"`{name}`", kind, unit or "", "yes" if null else "", meaning]
        for name, kind, unit, null, meaning in describe(table).iter_rows()
    ]
    return _table(["column", "type", "unit", "null", "meaning"], rows)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


if __name__ == "__main__":
    for file, text in pages().items():
        (Path(__file__).parent / file).write_text(text)
