"""The command `collect gdb`: read call stacks from logs, or take them from a program."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tracelens.cli.collect.request import Force, Out, Rank, Request, read_or_run
from tracelens.cli.panels import RUNNING
from tracelens.collectors.gdb.breakpoints import DEFAULT_SYMBOL, PRESETS
from tracelens.collectors.gdb.live import Limits
from tracelens.errors import UsageError

_OF_A_COMMAND = ("break_", "preset", "hits", "skip", "where_frame", "timeout", "gdb")
_DEFAULTS = Limits()
_PRESETS = "; ".join(f"{name}: {', '.join(symbols)}" for name, symbols in PRESETS.items())


def collect_gdb(  # noqa: PLR0913 - one parameter an option
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES",
            help="Logs of gdb or cuda-gdb with the output of bt at a breakpoint; or -- COMMAND.",
        ),
    ] = None,
    *,
    out: Out = None,
    force: Force = False,
    rank: Rank = None,
    break_: Annotated[
        list[str] | None,
        typer.Option(
            "--break",
            rich_help_panel=RUNNING,
            metavar="SYMBOL",
            help=f"Function to stop at; repeat for several. By default {DEFAULT_SYMBOL}.",
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=RUNNING,
            metavar="|".join(PRESETS),
            help=f"Functions by name ({_PRESETS}).",
        ),
    ] = None,
    hits: Annotated[
        int,
        typer.Option(
            rich_help_panel=RUNNING,
            min=1,
            metavar="N",
            help="Number of stacks to keep per function; after that, the program no longer stops"
            " there.",
        ),
    ] = _DEFAULTS.hits,
    skip: Annotated[
        int,
        typer.Option(
            rich_help_panel=RUNNING,
            min=0,
            metavar="N",
            help="Number of calls of each function to skip first, counted among those that"
            " --where-frame matches.",
        ),
    ] = 0,
    where_frame: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=RUNNING,
            metavar="PATTERN",
            help="Keep a stack only if this function (a name or a pattern) is in it.",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=RUNNING,
            metavar="S",
            help="Kill the program after this many seconds; stacks taken so far are kept.",
        ),
    ] = None,
    gdb: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=RUNNING,
            metavar="PATH",
            help="gdb or cuda-gdb to use; by default gdb, else "
            "cuda-gdb, on PATH or in /usr/local/cuda*.",
        ),
    ] = None,
) -> None:
    """Collect call stacks that gdb or cuda-gdb printed, or run a program under it to take them.

    tracelens collect gdb --preset cudnn -- python train.py
    """

    def options(_: Path) -> dict[str, Any]:
        limits = Limits(hits, skip, where_frame, timeout)
        return {"breaks": _symbols(break_, preset), "limits": limits, "gdb": gdb}

    read_or_run(
        context,
        files,
        Request(out, force, rank),
        _OF_A_COMMAND,
        options,
    )


def _symbols(breaks: list[str] | None, presets: list[str] | None) -> list[str]:
    """Return the functions to stop at. Raises UsageError for an unknown preset."""
    unknown = [name for name in presets or [] if name not in PRESETS]
    if unknown:
        raise UsageError(f"--preset {unknown[0]}: the presets are {', '.join(PRESETS)}")
    named = [
        *(breaks or []),
        *(symbol for name in presets or [] for symbol in PRESETS[name]),
    ]
    return named or [DEFAULT_SYMBOL]
