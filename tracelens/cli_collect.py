"""`tracelens collect`: sources in, a trace directory out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli_io import STANDARD_INPUT, default_target, losses, progress, summary_line, tell, warn
from tracelens.collectors import collect
from tracelens.errors import UsageError
from tracelens.trace import check_target

app = typer.Typer(
    name="collect",
    help="Read sources and write a trace, a directory of Parquet.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Profiler(StrEnum):
    """Profilers whose events a trace can keep."""

    torch = "torch"
    nsys = "nsys"


Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Directory to write; by default, in the current one, the source's stem (of several sources, the name of "
        "the folder they share) with .tracelens.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the trace when it exists already.")]
Rank = Annotated[
    list[int] | None,
    typer.Option(
        min=0, metavar="N", help="Rank of the source, where it does not say; repeat for each source, in order."
    ),
]


@dataclass(frozen=True, slots=True)
class _Request:
    """Where the trace goes, and what the sources do not say themselves."""

    out: Path | None
    force: bool
    ranks: list[int] | None
    events: str = "torch"


@app.command("torch")
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
    _write(_files(context, files), "torch", _Request(out, force, rank))


@app.command("nsys")
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
    _write(_files(context, files), "nsys", _Request(out, force, rank))


@app.command("gdb")
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
    _write(_files(context, files), "gdb", _Request(out, force, rank))


@app.command("files")
def collect_files(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATHS", help="Sources of one program's run, of any kind; the content says which."),
    ],
    out: Out = None,
    force: Force = False,
    rank: Rank = None,
    events: Annotated[
        Profiler, typer.Option(help="Whose events are kept where both profilers captured the same rank.")
    ] = Profiler.torch,
) -> None:
    """Collect several sources of one program into one trace."""
    if STANDARD_INPUT in paths:
        raise UsageError("standard input is read by tracelens collect torch only")
    _write(paths, None, _Request(out, force, rank, events.value))


def _files(context: typer.Context, files: list[Path] | None) -> list[Path]:
    """The files to read. Raises UsageError for a command to run, files and a command together, or neither."""
    name, command = context.info_name, context.obj
    if files and command:
        raise UsageError("FILES and a COMMAND were both given; give one of them")
    if command:
        raise UsageError(f"live capture is not in this version; give FILES: tracelens collect {name} FILES...")
    if not files:
        raise UsageError(f"nothing to collect; give FILES: tracelens collect {name} FILES...")
    if STANDARD_INPUT in files and (name != "torch" or len(files) > 1):
        raise UsageError("standard input is read by tracelens collect torch only, and alone")
    return files


def _write(paths: list[Path], kind: str | None, request: _Request) -> None:
    """Collect the sources into a trace directory and say on standard error what is in it."""
    target = request.out or default_target(paths)
    check_target(target, force=request.force)
    with progress(f"reading {', '.join(path.name for path in paths)}"):
        trace = collect(paths, kind=kind, ranks=request.ranks or (), events=request.events)
        trace = trace.write(target, force=request.force)
    tell(f"wrote {target}: {summary_line(trace)}")
    for loss in losses(trace):
        warn(loss)
