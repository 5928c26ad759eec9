"""`tracelens collect`: sources in, or a program to capture from, and a trace directory out. One module a command."""

from __future__ import annotations

import typer

from tracelens.cli.collect.files import collect_files
from tracelens.cli.collect.gdb import collect_gdb
from tracelens.cli.collect.nsys import collect_nsys
from tracelens.cli.collect.timings import collect_timings
from tracelens.cli.collect.torch import collect_torch

app = typer.Typer(
    name="collect",
    help="Read sources and write a trace, a directory of Parquet.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("torch")(collect_torch)
app.command("nsys")(collect_nsys)
app.command("gdb")(collect_gdb)
app.command("timings")(collect_timings)
app.command("files")(collect_files)
