"""Run the commands of `collect`: read files or capture a program, write a trace, and report it."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct

from tracelens.cli.io import default_target, losses, progress, summary_line
from tracelens.cli.next_step import suggest_report
from tracelens.cli.output import tell, warn
from tracelens.cli.panels import RANKS, WRITING
from tracelens.collectors import run_program
from tracelens.derive.time.step_table import mark_steps_by
from tracelens.errors import ReplacedError, UsageError
from tracelens.jobs.job import Engine, Job, collect_job, in_turn
from tracelens.jobs.ranks import Options
from tracelens.running.program import script_name
from tracelens.storage.addresses import shown, url_of
from tracelens.trace import Trace
from tracelens.trace.collector import COLLECTORS, Run
from tracelens.trace.sources import STANDARD_INPUT, stdin_kind
from tracelens.trace.target_folder import check_target

_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *((?:[KMGT]I?)?)B?", re.IGNORECASE)

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        rich_help_panel=WRITING,
        help=(
            "Directory or URL (s3://, gs://, az://) to write. By default, NAME.tracelens in"
            " the current directory, where NAME is the source's name without its ending, or"
            " for several sources the name of their common folder."
        ),
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", rich_help_panel=WRITING, help="Replace the trace if it exists already."
    ),
]
Rank = Annotated[
    list[int] | None,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=RANKS,
        help="Rank of the source, if the source does not state it; repeat for each source, in"
        " order.",
    ),
]
ForceMix = Annotated[
    bool,
    typer.Option(
        "--force-mix",
        rich_help_panel=RANKS,
        help="Combine ranks although they contradict each other; the trace records that.",
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        rich_help_panel=RANKS,
        help=(
            "Memory, such as 2GB, for reading several large traces. They are read in"
            " separate processes, as many at a time as fit. By default half of the machine's"
            " memory."
        ),
    ),
]
OnEngine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="local|ray",
        rich_help_panel=RANKS,
        help=(
            "Collect each rank as a task, in processes of this machine or on a Ray cluster,"
            " and keep finished ranks. A trace in an object store is always collected this way,"
            " by default one rank after another."
        ),
    ),
]
MinRanks = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=RANKS,
        help="Fail, and write no trace, if fewer ranks than this can be read.",
    ),
]


class Request(Struct, frozen=True):
    """A request to collect: the target, options for writing it, and facts that sources may lack."""

    out: Path | None
    force: bool
    ranks: list[int] | None
    events: str | None = None
    max_memory: str | None = None
    step: str | None = None
    force_mix: bool = False
    engine: str | None = None
    address: str | None = None
    min_ranks: int = 0


def read_or_run(
    context: typer.Context,
    files: list[Path] | None,
    request: Request,
    only_for_command: Sequence[str] = (),
    options: Callable[[Path], Mapping[str, Any]] = lambda _: {},
) -> None:
    """Collect the FILES, or run the COMMAND under the collector, and write the trace.

    - `only_for_command`: names of parameters that are refused with FILES
    - `options`: maps the path of the trace to further arguments of `capture_program`

    Raises UsageError if both FILES and a COMMAND were given, or neither. Raises UsageError if a
    refused parameter was given.
    """
    collector, command = COLLECTORS[str(context.info_name)], context.obj or []
    name = collector.kind
    if files and command:
        raise UsageError("FILES and a COMMAND were both given; give one of them")
    if not files and not command:
        program = f", or a program: tracelens collect {name} -- COMMAND..." if collector.run else ""
        raise UsageError(
            f"nothing to collect; give FILES: tracelens collect {name} FILES...{program}"
        )
    if files and STANDARD_INPUT in files and (not collector.reads_stdin or len(files) > 1):
        raise UsageError(
            f"standard input is read by tracelens collect {stdin_kind()} only, and alone"
        )
    if files:
        refuse_options(context, only_for_command, "a COMMAND")
        write_files(files, name, request)
        return
    refuse_options(context, ("engine", "address", "min_ranks"), "FILES")
    target = request.out or free_name(
        Path(f"{script_name(command)}.tracelens"), force=request.force
    )
    more = options(target if url_of(target) is None else Path(target.name))
    trace, done = capture_program(
        name,
        command,
        target,
        force=request.force,
        step=request.step,
        ranks=request.ranks or (),
        **more,
    )
    tell_of(trace, target)
    for remark in filter(None, (*done.remarks, done.cost)):
        tell(remark)
    suggest_report([target])
    raise SystemExit(done.exit_code)


def capture_program(
    kind: str,
    command: Sequence[str],
    target: Path,
    *,
    force: bool,
    step: str | None = None,
    **options: Any,
) -> tuple[Trace, Run]:
    """Run the command under a collector and write the trace.

    Spans that match the pattern `step` become the steps. Raises SourceError, before the program
    starts, if the trace cannot be written. Raises ToolError, and writes nothing, if nothing was
    captured.
    """
    check_target(target, force=force)
    with progress(f"reading what {kind} recorded", late=True):
        trace, done = run_program(kind, command, **options)
        if any((s.get("settings") or {}).get("light_window") for s in trace.manifest.sources):
            from tracelens.derive.replay.window_costs import (  # noqa: PLC0415 - takes 0.1 s
                keep_window_costs,
            )

            keep_window_costs(trace)
    with progress(f"writing {shown(target)}"):
        written = _with_steps(trace, step).write(target, force=force)
    return written, done


def _with_steps(trace: Trace, pattern: str | None) -> Trace:
    """Return the trace with the spans that match the pattern as steps.

    Without a pattern, or if none matches, the trace keeps its own steps.
    """
    if pattern is None:
        return trace
    try:
        return mark_steps_by(trace, pattern)
    except UsageError as error:
        warn(str(error))
        return trace


def free_name(target: Path, *, force: bool, beside: str = ".tracelens") -> Path:
    """Return the target if it is free, else the first free name like `train-2.tracelens`.

    A name such as `train.tracelens` is free if no file has this name, and no file has the name with
    the ending `beside` instead. With `force`, the target is returned in any case. A name other than
    the target is printed.
    """

    def is_taken(name: Path) -> bool:
        return any(os.path.lexists(path) for path in (name, name.with_suffix(beside)))

    if force or not is_taken(target):
        return target
    names = (target.with_stem(f"{target.stem}-{number}") for number in count(2))
    free = next(name for name in names if not is_taken(name))
    tell(f"{target} exists: writing {free} (--force replaces it)")
    return free


def refuse_options(context: typer.Context, names: Sequence[str], where: str) -> None:
    """Raise UsageError if one of these parameters was given.

    `where` names the case that allows them.
    """
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"--{name.strip('_').replace('_', '-')} belongs to a capture of {where}; leave it"
                " out here"
            )


def write_files(paths: list[Path], kind: str | None, request: Request) -> None:
    """Collect the sources into a trace directory, and report its content on standard error."""
    target = request.out or default_target(paths)
    limit = None if request.max_memory is None else bytes_of(request.max_memory)
    options = Options(request.events, request.step)
    enough = request.force, request.min_ranks, request.force_mix
    job = Job(
        paths,
        shown(target),
        kind,
        request.ranks or (),
        options,
        *enough,
        limit,
    )
    engine = _engine(target, request, limit)
    with progress(f"reading {', '.join(path.name for path in paths)}"):
        trace, failed = collect_job(job, engine, tell)
    tell_of(trace, target)
    suggest_report([target])
    for text in failed.values():
        tell(f"error: {text}")
    if failed:
        raise SystemExit(1)


def _engine(target: Path, request: Request, limit_bytes: int | None) -> Engine | None:
    """Return the engine that collects rank by rank; None if all is collected at once.

    Raises UsageError for an unknown engine, ToolError if the engine is not available.
    """
    if request.engine is None and request.address is None:
        is_by_rank = url_of(target) is not None or request.min_ranks
        return in_turn if is_by_rank else None
    from tracelens.jobs.engines import engine_of  # noqa: PLC0415

    return engine_of(request.engine, request.address, limit_bytes)


def bytes_of(text: str) -> int:
    """Read a size such as 2GB, 1.5 GiB or 800M in bytes. Raises UsageError for other text."""
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if not size:
        raise UsageError(f"{text!r} is not a size of memory; give one such as 2GB, 1.5GiB or 800MB")
    return size


def tell_of(trace: Trace, target: Path) -> None:
    """Report the rows written and the losses on standard error."""
    try:
        counts, lost = summary_line(trace), losses(trace)
    except ReplacedError:
        tell(f"wrote {shown(target)}; another trace replaced it at once")
        return
    tell(f"wrote {shown(target)}: {counts}")
    for loss in lost:
        warn(loss)
