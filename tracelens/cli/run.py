"""The command `run`: capture a program, say what limits it, write trace and page."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from tracelens.answers import make_answer
from tracelens.cli.collect.request import capture_program, free_name, tell_of
from tracelens.cli.io import drawn, progress, write_report
from tracelens.cli.next_step import more_of, open_command, report_command, suggest
from tracelens.cli.output import emit, tell
from tracelens.collectors.torch.live.settings import Settings
from tracelens.errors import UsageError, near
from tracelens.report import build_report
from tracelens.running.program import script_name
from tracelens.storage.addresses import url_of
from tracelens.views.formats import FORMATS

_KIND = "torch"
_OPTIONS = ("--out", "--force", "--wait", "--warmup", "--active", "--no-stacks", "-m")
SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""Settings for parsing the command line: options after the program belong to the program."""


def run(  # noqa: PLR0913 - one parameter an option
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND...",
            help="The program as you would start it: python train.py, torchrun train.py, train.py.",
        ),
    ],
    *,
    module: Annotated[
        bool, typer.Option("-m", help="COMMAND is a Python module: run -m pkg.train --epochs 1.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Trace to write; the page of the same name is written beside it. By default the"
            " program's name.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace trace and page if they exist already.")
    ] = False,
    wait: Annotated[int, typer.Option(min=0, metavar="N", help="Steps to leave out first.")] = 2,
    warmup: Annotated[
        int, typer.Option(min=0, metavar="N", help="Steps under the profiler, not kept.")
    ] = 1,
    active: Annotated[int, typer.Option(min=1, metavar="N", help="Steps to record.")] = 3,
    no_stacks: Annotated[
        bool,
        typer.Option(
            "--no-stacks",
            help="Do not record Python calls. They show lines of code, but slow the host.",
        ),
    ] = False,
) -> None:
    """Capture a program, say what limits it, and leave a trace and a page.

    The program is not changed, and its exit code is passed on. First, some steps are recorded with
    the lines of code that ran, which slows them. Then, as many steps are recorded without lines of
    code, for their times. Options stand before the COMMAND. tracelens collect torch has more
    options.
    """
    words = as_command(command, is_module=module)
    trace_path = out or free_name(
        Path(f"{script_name(words)}.tracelens"), force=force, beside=".html"
    )
    local = trace_path if url_of(trace_path) is None else Path(trace_path.name)
    page_path = local.with_suffix(".html")
    if page_path == trace_path or (os.path.lexists(page_path) and not force):
        raise UsageError(f"{page_path}: the page would replace it; give another --out, or --force")
    settings = Settings("", wait, warmup, active, stacks=not no_stacks, light=True)
    trace, done = capture_program(_KIND, words, trace_path, force=force, settings=settings)
    with progress("answering"):
        answer = make_answer(trace)
    emit(drawn(answer))
    tell_of(trace, trace_path)
    for remark in done.remarks:
        tell(remark)
    with progress("answering"):
        built = build_report(trace)
    write_report(built, FORMATS["html"], page_path)
    more = report_command([trace_path], (), *more_of(answer.sections))
    suggest(open_command(page_path), "or", more)
    raise SystemExit(done.exit_code)


def as_command(command: list[str], *, is_module: bool) -> list[str]:
    """Return the command to start: a module or a plain script gets Python in front.

    Raises UsageError for an empty command or an option.
    """
    if not command:
        raise UsageError("nothing to run; give a command: tracelens run python train.py")
    if command[0].startswith("-"):
        raise UsageError(
            f"no option is called {command[0]}; {near(command[0], _OPTIONS)}"
            " (tracelens run --help lists all)"
        )
    python = shutil.which("python") or sys.executable
    if is_module:
        return [python, "-m", *command]
    script = Path(command[0])
    if script.suffix == ".py" and script.is_file() and not os.access(script, os.X_OK):
        return [python, *command]
    return [*command]
