"""The command `baseline`: keep runs under a name, for `report --against baseline:NAME`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from tracelens.cli.io import open_any, plain, progress
from tracelens.cli.next_step import suggest
from tracelens.cli.output import emit, tell
from tracelens.derive.comparing.comparability import unrelated
from tracelens.errors import UsageError
from tracelens.storage.addresses import shown
from tracelens.trace import Trace
from tracelens.trace.baselines import (
    FOLDER,
    LATEST,
    PREFIX,
    add_run,
    added_at,
    folder_of,
    names_in,
    run_names,
    runs_of,
)

app = typer.Typer(
    name="baseline",
    help=f"Keep earlier runs under a name, for report --against {PREFIX}NAME.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_COLUMNS = {
    "baseline": pl.String,
    "n_runs": pl.Int64,
    "n_judged_by": pl.Int64,
    "first_added": pl.String,
    "last_added": pl.String,
}
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
    """Add runs to a baseline, and make the baseline if there is none.

    A baseline needs three runs to judge a new run. It uses the spread of its latest ten runs. If
    one of the given runs is of another program, no run is added.
    """
    runs = [open_any([path]) for path in traces]
    _check_one_program(name, runs)
    for run in runs:
        with progress(f"adding to {name}"):
            folder = add_run(name, run)
        tell(f"wrote {shown(folder)}")
    n_runs = len(runs_of(name))
    if n_runs < 3:
        tell(f"{name} has {n_runs} of the 3 runs needed to judge a new one; add more")
    suggest(_gate_command(name))


def _check_one_program(name: str, runs: Sequence[Trace]) -> None:
    """Raise UsageError unless the runs and the baseline's latest run are of one program."""
    kept = runs_of(name)[-1:] if run_names(folder_of(name)) else []
    first, *others = [*map(Trace.open, kept), *runs]
    for run in others:
        reason = unrelated(first, run)
        if reason is not None:
            raise UsageError(
                f"{name}: a baseline has the runs of one program;"
                f" {reason.partition(';')[0]}; add it under another name"
            )


@app.command("list")
def list_baselines(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help=f"One baseline; by default all in {FOLDER}."),
    ] = None,
) -> None:
    """List baselines: how many runs each has, and when the first and the last were added."""
    rows = []
    for baseline in [name] if name is not None else names_in(FOLDER):
        runs = run_names(folder_of(baseline)) if name is None else [p.name for p in runs_of(name)]
        times = sorted(time for time in map(added_at, runs) if time is not None)
        first, last = (f"{times[i]:%Y-%m-%d %H:%M:%S}" if times else None for i in (0, -1))
        rows.append(
            (
                baseline,
                len(runs),
                min(len(runs), LATEST),
                first,
                last,
            )
        )
    if rows:
        emit(plain(pl.DataFrame(rows, schema=_COLUMNS, orient="row")))
        suggest(_gate_command(rows[0][0]))
    else:
        tell(f"there is no baseline in {FOLDER}")
        suggest("tracelens baseline add NAME TRACE")


def _gate_command(name: str) -> str:
    return f'tracelens report TRACE --against {PREFIX}{name} --fail-on "gpu_time > +5%"'
