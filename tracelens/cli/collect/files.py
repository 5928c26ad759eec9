"""`tracelens collect files`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.collect.request import Force, MaxMemory, Out, Rank, Request, write_files
from tracelens.cli.io import STANDARD_INPUT, Step
from tracelens.errors import UsageError


class Profiler(StrEnum):
    """Profilers whose events a trace can keep."""

    torch = "torch"
    nsys = "nsys"


def collect_files(  # noqa: PLR0913 - one parameter an option
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATHS", help="Sources of one program's run, of any kind; the content says which."),
    ],
    *,
    out: Out = None,
    force: Force = False,
    rank: Rank = None,
    max_memory: MaxMemory = None,
    step: Step = None,
    events: Annotated[
        Profiler, typer.Option(help="Whose events are kept where both profilers captured the same rank.")
    ] = Profiler.torch,
) -> None:
    """Collect several sources of one program into one trace."""
    if STANDARD_INPUT in paths:
        raise UsageError("standard input is read by tracelens collect torch only")
    write_files(paths, None, Request(out, force, rank, events.value, max_memory, step))
