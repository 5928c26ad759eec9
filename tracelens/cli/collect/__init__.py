"""The command `collect`: read sources, or capture a program, and write a trace directory.

Every collector gets a command. Only a command with further options needs a module here, named in
_WITH_OPTIONS.
"""

from functools import cache
from importlib import import_module
from typing import Any

import typer

from tracelens.cli.collect.files import collect_one_kind
from tracelens.cli.panels import LoadedGroup, PanelledCommand
from tracelens.collectors import NAMES
from tracelens.errors import UsageError, near
from tracelens.trace.collector import COLLECTORS

_WITH_OPTIONS = ("torch", "nsys", "gdb")
"""Collectors whose command has options of its own.

The command of collector NAME is the function `collect_NAME` in a module of this package.
"""
_OTHERS = ("timings", "calls", "files")
"""Commands that belong to no collector, each in a module here."""
_SUMMARIES = {
    "torch": "Collect traces of torch.profiler, or profile a program.",
    "nsys": "Collect exports of Nsight Systems, or run it on a program.",
    "gdb": "Collect call stacks of gdb, or run a program under it.",
    "timings": "Measure how long a model's layers take, by several methods.",
}
"""Lines of `collect --help` for commands whose docstring has too long a first line."""
_NAMES = [
    *_WITH_OPTIONS,
    *(name for name in NAMES if name not in _WITH_OPTIONS),
    *_OTHERS,
]


@cache
def _load(name: str) -> Any:
    """Load a command from its module here, or make the command of a collector without a module."""
    application = typer.Typer(add_completion=False, rich_markup_mode=None)
    if name in (*_WITH_OPTIONS, *_OTHERS):
        module = import_module(f"tracelens.cli.collect.{name}")
        command = getattr(module, f"collect_{name}")
        summary = _SUMMARIES.get(name)
        application.command(name, cls=PanelledCommand, short_help=summary)(command)
    else:
        text = f"Collect {COLLECTORS[name].expects}."
        application.command(name, cls=PanelledCommand, help=text)(collect_one_kind)
    return typer.main.get_command(application)


class _Commands(LoadedGroup):
    """The group of the commands of collect. A command is imported when it is used."""

    names = _NAMES
    load = staticmethod(_load)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command. Raises UsageError for a word that names no command, such as a file."""
        if args and args[0] not in self.names and args[0][:1] != "-":
            raise UsageError(
                f"collect: {args[0]} is no kind of source; {near(args[0], self.names)}"
                f" (tracelens collect files {args[0]} finds out the kind)"
            )
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    name="collect",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def collect() -> None:
    """Read sources and write a trace, a directory of Parquet."""
