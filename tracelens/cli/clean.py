"""The command `clean`: remove files of a stored trace that nothing refers to."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.io import progress
from tracelens.cli.next_step import suggest
from tracelens.cli.output import tell
from tracelens.jobs.target import clean as clean_target
from tracelens.storage.addresses import shown


def clean(
    target: Annotated[
        Path,
        typer.Argument(metavar="URL", help="A trace, or the target of an unfinished collection."),
    ],
    *,
    hours: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="H",
            help="Keep files written in the last H hours, because they may be in use.",
        ),
    ] = 1,
) -> None:
    """Remove leftover files from the storage of a trace.

    Files of the trace stay. Files of ranks that are already collected stay, too.
    """
    with progress("cleaning"):
        n_removed = clean_target(shown(target), hours)
    tell(f"removed {n_removed:,} files from {shown(target)}")
    suggest(f"tracelens check {shlex.quote(shown(target))}")
