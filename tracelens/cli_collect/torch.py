"""`tracelens collect torch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli_collect.request import Force, Out, Rank, Request, words_of, write_files
from tracelens.errors import UsageError


def collect_torch(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES", help="Chrome traces exported by torch.profiler (.json, .json.gz); - is standard input."
        ),
    ] = None,
    out: Out = None,
    force: Force = False,
    rank: Rank = None,
) -> None:
    """Collect traces of torch.profiler."""
    paths, command = words_of(context, files)
    if command:
        raise UsageError("live capture is not in this version; give FILES: tracelens collect torch FILES...")
    write_files(paths, "torch", Request(out, force, rank))
