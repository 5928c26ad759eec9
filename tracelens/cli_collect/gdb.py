"""`tracelens collect gdb`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli_collect.request import Force, Out, Rank, Request, words_of, write_files
from tracelens.errors import UsageError


def collect_gdb(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES", help="Logs of gdb or cuda-gdb with the output of bt at a breakpoint."),
    ] = None,
    out: Out = None,
    force: Force = False,
    rank: Rank = None,
) -> None:
    """Collect call stacks that gdb or cuda-gdb printed."""
    paths, command = words_of(context, files)
    if command:
        raise UsageError("live capture is not in this version; give FILES: tracelens collect gdb FILES...")
    write_files(paths, "gdb", Request(out, force, rank))
