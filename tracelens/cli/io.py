"""What the commands share: finding and reading a trace, telling of progress, and where results go."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from tracelens.collectors import collect
from tracelens.derive.time.completing import mark_anew
from tracelens.errors import SourceError, UsageError
from tracelens.report import Report
from tracelens.storage.whole import replacing
from tracelens.trace import Trace
from tracelens.trace.checking import blame_rows
from tracelens.trace.same_run import APART
from tracelens.trace.sources import SKIPPED, STANDARD_INPUT
from tracelens.views.formats.format import WIDTH, Format, Screen
from tracelens.views.values import printable

SUFFIXES = (
    ".gz", ".zst", ".json", ".pt.trace", ".trace", ".sqlite", ".nsys-rep", ".txt", ".log", "_parquetdir", "_arrowdir",
)  # fmt: skip
"""Endings that say what a source is, not what it is of."""
MAIN_TABLES = ("spans", "api_calls", "kernels", "memcpys", "stacks", "timings")


Step = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        help="Regular expression for the names of spans that mark steps, where they are not ProfilerStep#N, step N or "
        "an inference server's; a group in it tells the number.",
    ),
]


Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRACE",
        help="A trace directory, or the sources of one run, collected in memory; - is a torch trace on standard input.",
    ),
]


def open_any(paths: Sequence[Path], step: str | None = None) -> Trace:
    """The trace in a directory, or the sources collected in memory; steps as `step` marks them, where it is given.

    Raises SourceError or UsageError.
    """
    trace = _opened(paths)
    if step is None:
        return trace
    with blame_rows(trace):
        return mark_anew(trace, step)


def _opened(paths: Sequence[Path]) -> Trace:
    traces = [path for path in paths if (path / "manifest.json").is_file()]
    if traces and len(paths) > 1:
        raise UsageError(f"{traces[0]} is a trace already; give one trace, or the sources of one, not both")
    if traces:
        return Trace.open(traces[0])
    with progress(f"reading {', '.join(path.name for path in paths)}"):
        trace = collect(paths)
    for text in trace.diagnostics.filter(pl.col("code").is_in([SKIPPED, APART]))["text"]:
        warn(text)
    return trace


def default_target(paths: Sequence[Path]) -> Path:
    """Where a trace goes unless --out says: the source's stem, or for several the folder that they share."""
    if paths[0] == STANDARD_INPUT:
        return Path("stdin.tracelens")
    folders = {path.parent for path in paths}
    shared = folders.pop().name if len(paths) > 1 and len(folders) == 1 else ""
    return Path(f"{shared or stem(paths[0])}.tracelens")


def stem(path: Path) -> str:
    """The file's name without the endings of its format."""
    name = path.name or path.resolve().name
    while True:
        shorter = next((name.removesuffix(s) for s in SUFFIXES if name.endswith(s) and name != s), name)
        if shorter == name:
            return name
        name = shorter


def summary_line(trace: Trace) -> str:
    """Rows of the main tables that have any."""
    counts = [f"{trace.height(name):,} {name.replace('_', ' ')}" for name in MAIN_TABLES if trace.has(name)]
    return ", ".join(counts) or "no events"


def losses(trace: Trace) -> list[str]:
    """What was lost or odd, a sentence each: diagnostics above info, and a capture that is not whole."""
    rows = trace.frame("diagnostics").filter(pl.col("severity").is_in(["warning", "loss", "error"]))
    said = [
        f"{text} ({count:,} times)" if count > 1 else text for text, count in rows.select("text", "count").iter_rows()
    ]
    if not trace.manifest.complete:
        said.append(f"the capture is incomplete ({len(trace.manifest.dropped):,} kinds of events dropped)")
    return said


def tell(text: str) -> None:
    """One line on standard error."""
    typer.echo(printable(text), err=True)


def warn(text: str) -> None:
    """One line of warning on standard error."""
    tell(f"warning: {text}")


def emit(result: str | bytes, out: Path | None = None) -> None:
    """The result, to standard output or, whole or not at all, to a file.

    Raises SourceError when either cannot be written. What is no regular file, such as a pipe, is written in place.
    """
    if out is None:
        if sys.stdout is None:
            raise SourceError("standard output: cannot be written: it is closed")
        try:
            sys.stdout.write(result if isinstance(result, str) else result.decode())
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            drop_output()
            raise SourceError(f"standard output: cannot be written: {error.strerror or error}") from error
    else:
        with replacing(out) as part:
            part.write_bytes(result.encode() if isinstance(result, str) else result)


def drop_output() -> None:
    """Have what standard output still holds go nowhere: it must not fail once more when Python exits."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def screen(rows: int | None = None, *, to_file: bool = False) -> Screen:
    """The terminal that standard output is; for a file or a pipe, a fixed width without colour."""
    if to_file or sys.stdout is None or not sys.stdout.isatty():
        return Screen(rows=rows)
    color = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(shutil.get_terminal_size((WIDTH, 24)).columns, rows, color)


def keep_sources(sources: Sequence[Path], targets: Sequence[Path | None]) -> None:
    """Raise UsageError when a result would replace what it is made from."""
    read = {path.resolve() for path in sources}
    for target in targets:
        if target is not None and target.resolve() in read:
            raise UsageError(f"{target}: is a source of this report and would be replaced by it")


def write_report(report: Report, form: Format, out: Path | None = None, rows: int | None = None) -> None:
    """The report in the format, to standard output or the file; a lone table that stays empty is warned of."""
    emit(form.write(report, screen(rows or form.rows, to_file=out is not None)), out)
    if form.holds_one_table and report.sections[0].missing is not None:
        warn(report.sections[0].missing)
    if out is not None:
        tell(f"wrote {out}")


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A spinner on standard error while the body runs; nothing where that is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(Text(printable(text))):
        yield
