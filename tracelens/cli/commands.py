"""The commands as a Typer application."""

from functools import cache
from typing import Annotated, Any

import typer

from tracelens.cli.ending import ended_by_errors
from tracelens.cli.loading import COMMANDS, let_interrupts_raise, load_module
from tracelens.cli.output import emit
from tracelens.cli.panels import LoadedGroup, PanelledCommand
from tracelens.errors import UsageError, near, printable

_WRONG_WORDS: Any = typer.BadParameter.__mro__[1]
"""Typer's exception for words that it cannot parse.

Old versions of Typer (0.15) use click's UsageError. New ones (0.29) contain a copy of click, and
use the UsageError of this copy.
"""


@cache
def _load(name: str) -> Any:
    """Return a module's command: the function of its name, or the Typer application `app`."""
    module = load_module(name)
    application = getattr(module, "app", None)
    if application is None:
        application = typer.Typer(add_completion=False, rich_markup_mode=None)
        function = getattr(module, name.replace("-", "_"))
        settings = getattr(module, "SETTINGS", None)
        application.command(name, cls=PanelledCommand, context_settings=settings)(function)
    return typer.main.get_command(application)


class _Commands(LoadedGroup):
    """The group of all commands.

    If a command fails, the group prints the error on one line and sets the exit code.
    """

    names = (*COMMANDS,)
    load = staticmethod(_load)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as the base class has it
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find and import a command. From then on Ctrl-C raises KeyboardInterrupt.

        Raises UsageError for a word that is no command and no file.
        """
        if args and args[0] not in COMMANDS:
            raise UsageError(
                f"{args[0]}: there is no such command, and no such file here;"
                f" {near(args[0], COMMANDS)} (tracelens --help lists all)"
            )
        resolved = super().resolve_command(ctx, args)
        let_interrupts_raise()
        return resolved

    def invoke(self, ctx: Any) -> Any:
        """Run the named command."""
        debug = bool(ctx.params.get("debug"))
        with ended_by_errors(debug=debug, passed=(typer.Exit, typer.Abort, _WRONG_WORDS)):
            try:
                return super().invoke(ctx)
            except _WRONG_WORDS as error:
                # A group of commands without a command shows its help
                lines = error.message.split("\n")
                error.message = "\n".join(map(printable, lines))
                raise


app = typer.Typer(
    cls=_Commands,
    name="tracelens",
    help=(
        "Trace analysis for PyTorch performance work: read profiler traces and call stacks, ask"
        " what layers cost."
    ),
    epilog=(
        "Exit codes: 0 done; 1 bad input or a failed tool (check: losses or errors); 2 usage; 3 a"
        " gate failed."
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from tracelens.trace.combine import installed_version  # noqa: PLC0415 - takes a second

        emit(f"tracelens {installed_version()}\n")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Accept the options that come before the command."""
