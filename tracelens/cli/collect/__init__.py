"""`tracelens collect`: sources in, or a program to capture from, and a trace directory out.

Every collector gets a command; one with options of its own has a module here and an entry in _OWN.
"""

from collections.abc import Callable

import typer

from tracelens.cli.collect.calls import collect_calls
from tracelens.cli.collect.files import collect_files, collect_one_kind
from tracelens.cli.collect.gdb import collect_gdb
from tracelens.cli.collect.nsys import collect_nsys
from tracelens.cli.collect.timings import collect_timings
from tracelens.cli.collect.torch import collect_torch
from tracelens.cli.panels import PanelledCommand
from tracelens.trace.collector import COLLECTORS

app = typer.Typer(
    name="collect",
    help="Read sources and write a trace, a directory of Parquet.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_OWN: dict[str, Callable[..., None]] = {
    "torch": collect_torch,
    "nsys": collect_nsys,
    "gdb": collect_gdb,
}
for name, command in _OWN.items():
    app.command(name, cls=PanelledCommand)(command)
for name, collector in COLLECTORS.items():
    if name not in _OWN:
        app.command(name, cls=PanelledCommand, help=f"Collect {collector.expects}.")(
            collect_one_kind
        )
app.command("timings", cls=PanelledCommand)(collect_timings)
app.command("calls", cls=PanelledCommand)(collect_calls)
app.command("files", cls=PanelledCommand)(collect_files)
