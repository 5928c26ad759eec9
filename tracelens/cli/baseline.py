"""`tracelens baseline`: earlier runs under a name, for `report --against baseline:NAME`."""

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from tracelens.cli.io import open_any, plain, progress
from tracelens.cli.next_step import suggest
from tracelens.cli.output import emit, tell
from tracelens.storage.addresses import shown
from tracelens.trace.baselines import FOLDER, LATEST, PREFIX, add_run, names_in, runs_of

app = typer.Typer(
    name="baseline",
    help=f"Keep earlier runs under a name, for report --against {PREFIX}NAME.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help=f"The baseline: a folder in {FOLDER}, or FOLDER/NAME, or s3://BUCKET/NAME.",
    ),
]


@app.command("add")
def add(
    name: Name,
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE...", help="Traces or sources, each one run.")
    ],
) -> None:
    """Add runs to a baseline, which is made where there is none.

    A new run is judged by what three or more runs differ by, and by the latest ten at most.
    """
    runs = [open_any([path]) for path in traces]
    for run in runs:
        with progress(f"adding to {name}"):
            place = add_run(name, run)
        tell(f"wrote {shown(place)}")
    n_runs = len(runs_of(name))
    if n_runs < 3:
        tell(f"{name} has {n_runs} of the 3 runs that a new one is judged by; add more")
    suggest(f'tracelens report TRACE --against {PREFIX}{name} --fail-on "gpu_time > +5%"')


@app.command("list")
def list_baselines(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help=f"One baseline; by default all in {FOLDER}."),
    ] = None,
) -> None:
    """List baselines: how many runs each has, and when the first and the last were added."""
    rows = []
    for one in [name] if name is not None else names_in(FOLDER):
        runs = [place.name.partition("-")[0] for place in runs_of(one)]
        rows.append((one, len(runs), min(len(runs), LATEST), _time(runs[0]), _time(runs[-1])))
    columns = ("baseline", "n_runs", "n_judged_by", "first_added", "last_added")
    emit(plain(pl.DataFrame(rows, schema=columns, orient="row")))


def _time(added: str) -> str:
    """A run's time as people write it, to the second, in UTC."""
    date, _, time = added.partition("T")
    return f"{date[:4]}-{date[4:6]}-{date[6:8]} {time[:2]}:{time[2:4]}:{time[4:6]}"
