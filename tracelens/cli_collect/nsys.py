"""`tracelens collect nsys`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli_collect.request import Force, Out, Rank, Request, words_of, write_files
from tracelens.errors import UsageError


def collect_nsys(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES",
            help="Nsight Systems exports: .sqlite files, or directories of --type parquetdir or arrowdir.",
        ),
    ] = None,
    out: Out = None,
    force: Force = False,
    rank: Rank = None,
) -> None:
    """Collect exports of NVIDIA Nsight Systems."""
    paths, command = words_of(context, files)
    if command:
        raise UsageError("live capture is not in this version; give FILES: tracelens collect nsys FILES...")
    write_files(paths, "nsys", Request(out, force, rank))
