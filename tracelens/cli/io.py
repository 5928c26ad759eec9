"""What the commands share: finding and reading a trace, telling of progress, and where results go."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from tracelens.collectors import SKIPPED, collect
from tracelens.derive.time.completing import mark_anew
from tracelens.errors import SourceError, UsageError
from tracelens.exports import FORMATS, write_parquet
from tracelens.report import Report
from tracelens.trace import Trace
from tracelens.trace.checking import blame_rows
from tracelens.trace.same_run import APART
from tracelens.views.format import printable
from tracelens.views.markdown import to_markdown
from tracelens.views.text import ROWS, WIDTH, Screen, to_text

SUFFIXES = (
    ".gz", ".zst", ".json", ".pt.trace", ".trace", ".sqlite", ".nsys-rep", ".txt", ".log", "_parquetdir", "_arrowdir",
)  # fmt: skip
"""Endings that say what a source is, not what it is of."""
MAIN_TABLES = ("spans", "api_calls", "kernels", "memcpys", "stacks", "timings")
STANDARD_INPUT = Path("-")


class Format(StrEnum):
    """What a report can be printed as."""

    text = "text"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    parquet = "parquet"


ENDINGS = {
    ".json": Format.json,
    ".csv": Format.csv,
    ".md": Format.markdown,
    ".parquet": Format.parquet,
    ".txt": Format.text,
}
"""What a file of this name is expected to hold."""
PAGES = {".html", ".htm"}
"""Endings of a page."""


Step = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        help="Regular expression for the names of spans that mark steps, where they are not ProfilerStep#N, step N or "
        "an inference server's; a group in it tells the number.",
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
        trace = collect(paths, kind="torch" if STANDARD_INPUT in paths else None)
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


def emit(text: str, out: Path | None = None) -> None:
    """The result, to standard output or to a file. Raises SourceError when the file cannot be written."""
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(f"{out}: cannot be written: {error.strerror or error}") from error


def screen(rows: int | None = None, *, to_file: bool = False) -> Screen:
    """The terminal that standard output is; for a file or a pipe, a fixed width without colour."""
    if to_file or not sys.stdout.isatty():
        return Screen(rows=rows or ROWS)
    color = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(shutil.get_terminal_size((WIDTH, 24)).columns, rows or ROWS, color)


def keep_sources(sources: Sequence[Path], targets: Sequence[Path | None]) -> None:
    """Raise UsageError when a result would replace what it is made from."""
    read = {path.resolve() for path in sources}
    for target in targets:
        if target is not None and target.resolve() in read:
            raise UsageError(f"{target}: is a source of this report and would be replaced by it")


def print_report(built: Report, form: Format, rows: int | None, out: Path | None) -> None:
    """The report in the format, to standard output or the file; a lone table that stays empty is warned of."""
    if form is Format.parquet:
        assert out is not None
        write_parquet(built, out)
    elif form is Format.text:
        emit(to_text(built, screen(rows, to_file=out is not None)), out)
    elif form is Format.markdown:
        emit(to_markdown(built, rows), out)
    else:
        emit(FORMATS[form](built), out)
    if form in {Format.parquet, Format.csv} and built.sections[0].missing is not None:
        warn(built.sections[0].missing)
    if out is not None:
        tell(f"wrote {out}")


def write_page(built: Report, path: Path, rows: int | None) -> None:
    """The report as an HTML page."""
    from tracelens.views.html import ROWS, write_html  # noqa: PLC0415 - loads Vega, which only a page needs

    write_html(built, path, rows or ROWS)
    tell(f"wrote {path}")


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A spinner on standard error while the body runs; nothing where that is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(Text(printable(text))):
        yield
