"""What the commands of collect share: what was asked for, where the trace goes, and how a command ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.io import STANDARD_INPUT, default_target, losses, progress, summary_line, tell, warn
from tracelens.collectors import COLLECTORS, note_skipped, sources_of, torch
from tracelens.collectors.torch.apart import bytes_of, large_traces, plan, read_apart
from tracelens.derive.time.completing import mark_anew
from tracelens.errors import SourceError, UsageError
from tracelens.running.program import script_name
from tracelens.trace import Trace
from tracelens.trace.capture import Capture
from tracelens.trace.combine import combine
from tracelens.trace.directory import build_folder, check_target

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


MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory, such as 2GB, that reading several large traces may take: they are read in processes of their "
        "own, as many at a time as fit. By default half of the machine's.",
    ),
]


@dataclass(frozen=True, slots=True)
class Request:
    """Where the trace goes, and what the sources do not say themselves."""

    out: Path | None
    force: bool
    ranks: list[int] | None
    events: str = "torch"
    max_memory: str | None = None
    step: str | None = None


def words_of(context: typer.Context, files: list[Path] | None) -> tuple[list[Path], list[str]]:
    """The FILES to read or the words of the COMMAND to run, the other one empty.

    Raises UsageError where both were given, or neither.
    """
    name, command = context.info_name, context.obj or []
    if files and command:
        raise UsageError("FILES and a COMMAND were both given; give one of them")
    if not files and not command:
        raise UsageError(
            f"nothing to collect; give FILES: tracelens collect {name} FILES..., "
            f"or a program: tracelens collect {name} -- COMMAND..."
        )
    if files and STANDARD_INPUT in files and (name != "torch" or len(files) > 1):
        raise UsageError("standard input is read by tracelens collect torch only, and alone")
    return files or [], command


def refuse_options(context: typer.Context, names: Sequence[str], where: str) -> None:
    """Raise UsageError when one of the parameters was given, which belong `where` only."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"--{name.strip('_').replace('_', '-')} belongs to a capture of {where}; leave it out here"
            )


def write_files(paths: list[Path], kind: str | None, request: Request) -> None:
    """Collect the sources into a trace directory and say on standard error what is in it."""
    target = request.out or default_target(paths)
    check_target(target, force=request.force)
    limit = None if request.max_memory is None else bytes_of(request.max_memory)
    skipped: list[Path] = []
    sources = sources_of(paths, kind, skipped)
    with progress(f"reading {', '.join(path.name for path in paths)}"), build_folder(target) as folder:
        try:
            captures = _captures(sources, folder, limit)
        except OSError as error:
            raise SourceError(f"{target}: cannot be written: {error}") from error
        note_skipped(captures, skipped)
        trace = combine(captures, ranks=request.ranks or (), events=request.events)
        if request.step is not None:
            trace = mark_anew(trace, request.step)
        trace = trace.write(target, force=request.force)
    tell_of(trace, target)


def _captures(sources: Sequence[tuple[str, Path]], folder: Path, limit: int | None) -> list[Capture]:
    """What the sources hold; large tables of torch traces lie in the folder. Large traces are read apart."""
    large = large_traces(sources)
    read = iter(_apart(large, folder / "apart", limit) if large else ())
    captures: list[Capture] = []
    for i, (kind, path) in enumerate(sources):
        if path in large:
            captures += next(read)
        elif kind == torch.KIND:
            captures += torch.read(path, folder / str(i))
        else:
            captures += COLLECTORS[kind].read(path)
    return captures


def _apart(files: Sequence[Path], folder: Path, limit: int | None) -> list[list[Capture]]:
    """The captures of each file, read in processes of their own; says how many at a time."""
    chosen = plan(files, limit)
    each, allowed = (f"{size / 1e9:.1f} GB" for size in (chosen.bytes_each, chosen.limit_bytes))
    tell(f"reading {len(files)} traces, {chosen.n_workers} at a time: up to {each} each, {allowed} allowed")
    return read_apart(files, folder, chosen.n_workers)


def marked(trace: Trace, request: Request) -> Trace:
    """The trace of a run with steps marked as asked; as it is where nothing is so named, for the run is over."""
    if request.step is None:
        return trace
    try:
        return mark_anew(trace, request.step)
    except UsageError as error:
        warn(str(error))
        return trace


def tell_of(trace: Trace, target: Path) -> None:
    """Say on standard error what was written and what was lost."""
    tell(f"wrote {target}: {summary_line(trace)}")
    for loss in losses(trace):
        warn(loss)


def command_target(command: Sequence[str], request: Request) -> Path:
    """Where the trace of a program goes, checked before it runs: as asked, else named for the script it runs.

    `python train.py` gives train.tracelens, `python -m pkg.train` too, anything else the program's name.
    """
    target = request.out or Path(f"{script_name(command)}.tracelens")
    check_target(target, force=request.force)
    return target
