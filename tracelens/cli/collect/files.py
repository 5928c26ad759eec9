"""The command `collect files`, and the commands of collectors without options of their own."""

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.collect import request as asked
from tracelens.cli.options import Address, Step
from tracelens.cli.panels import RANKS
from tracelens.errors import UsageError
from tracelens.trace.collector import COLLECTORS
from tracelens.trace.sources import STANDARD_INPUT, stdin_kind

_PROFILERS = [kind for kind, collector in COLLECTORS.items() if collector.is_profiler]


def collect_files(  # noqa: PLR0913 - one parameter an option
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATHS", help="Sources of one program's run, of any kind; detected by content."
        ),
    ],
    *,
    out: asked.Out = None,
    force: asked.Force = False,
    rank: asked.Rank = None,
    force_mix: asked.ForceMix = False,
    max_memory: asked.MaxMemory = None,
    step: Step = None,
    engine: asked.OnEngine = None,
    address: Address = None,
    min_ranks: asked.MinRanks = 0,
    events: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(_PROFILERS),
            rich_help_panel=RANKS,
            help="Profiler whose events are kept if several captured the same rank.",
        ),
    ] = None,
) -> None:
    """Collect several sources of one program into one trace."""
    if STANDARD_INPUT in paths:
        raise UsageError(f"standard input is read by tracelens collect {stdin_kind()} only")
    if events is not None and events not in _PROFILERS:
        raise UsageError(f"--events {events}: the profilers are {', '.join(_PROFILERS)}")
    asked.write_files(
        paths,
        None,
        asked.Request(
            out, force, rank, events, max_memory, step, force_mix, engine, address, min_ranks
        ),
    )


def collect_one_kind(
    context: typer.Context,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILES", help="What to read.")
    ] = None,
    *,
    out: asked.Out = None,
    force: asked.Force = False,
    rank: asked.Rank = None,
) -> None:
    """Collect sources of one kind, or run a program under their collector.

    Sources of many ranks, or of several kinds, are for `collect files`.
    """
    asked.read_or_run(context, files, asked.Request(out, force, rank))
