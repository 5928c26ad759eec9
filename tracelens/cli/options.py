"""Declare the arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.panels import RANKS, READING, SHOWING
from tracelens.views.formats import FORMATS

Step = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        rich_help_panel=READING,
        help=(
            "Regular expression for the names of spans that mark steps, if they are not"
            " ProfilerStep#N, step N or an inference server's. A group in it captures the"
            " number."
        ),
    ),
]
Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRACE",
        help=(
            "A trace directory, or the sources of one run, which are collected in memory."
            " Also their URLs (s3://, gs://, az://); - is a torch trace on standard input."
        ),
    ),
]
OneTrace = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="A trace directory, or a source.",
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write to this file, not to standard output.",
    ),
]
"""File for results that are text. None is standard output."""
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        rich_help_panel=RANKS,
        help=(
            "Address of a running Ray cluster's head, or auto for a cluster on this machine."
            " By default Ray is started here."
        ),
    ),
]
OneFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="|".join(FORMATS),
        rich_help_panel=SHOWING,
        help="Format to write; by default that of the ending of --out, else text.",
    ),
]
