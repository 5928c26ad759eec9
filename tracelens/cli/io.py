"""Provide what the commands share: reading a trace, showing progress, and writing results."""

import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path

import polars as pl

from tracelens.answers.answer import Answer
from tracelens.cli.output import OPENED, emit, tell, warn
from tracelens.derive.time.step_table import mark_steps_by
from tracelens.errors import UsageError
from tracelens.hooks import HOOKS
from tracelens.report import Report
from tracelens.storage.addresses import shown
from tracelens.trace import Trace
from tracelens.trace.capture import SOURCE_UNREAD
from tracelens.trace.collector import COLLECTORS
from tracelens.trace.directory import is_stored_trace
from tracelens.trace.objects import is_trace
from tracelens.trace.sources import SKIPPED, STANDARD_INPUT
from tracelens.views.answer_text import answer_text
from tracelens.views.formats import FORMATS
from tracelens.views.formats.format import WIDTH, Format, Screen

_CHECKERS = (
    "fqdn",
    "idna",
    "isoduration",
    "jsonpointer",
    "rfc3339_validator",
    "rfc3986_validator",
    "rfc3987",
    "rfc3987_syntax",
    "uri_template",
    "webcolors",
)
"""Packages with which jsonschema checks addresses, times and colours in JSON, if installed."""
MAIN_TABLES = ("spans", "api_calls", "kernels", "memcpys", "stacks", "timings")


def open_any(
    paths: Sequence[Path],
    step: str | None = None,
    ranks: Sequence[int] = (),
) -> Trace:
    """Open the trace in a directory, or collect the sources in memory.

    Spans that match the pattern `step` become the steps. `ranks` are the ranks of the sources, in
    order. Raises SourceError or UsageError.
    """
    trace = _open_sources(paths, ranks)
    OPENED.append(trace)
    if step is None:
        return trace
    with progress("marking steps"):
        return mark_steps_by(trace, step)


def open_base(path: Path, trace: Trace, step: str | None = None) -> Trace:
    """Open the trace to compare `trace` with.

    If `path` is a folder of graph captures, `captures_of` chooses the files to open. Spans that
    match the pattern `step` become the steps of the opened trace. Raises SourceError or UsageError.
    """
    from tracelens.jobs.graph_captures import captures_of  # noqa: PLC0415 - reads sources

    files = [path] if is_trace(path) else captures_of(path, trace)
    return open_any(
        files,
        step,
        range(len(files)) if len(files) > 1 else (),
    )


def _open_sources(paths: Sequence[Path], ranks: Sequence[int]) -> Trace:
    traces = [path for path in paths if is_trace(path)]
    if traces and len(paths) > 1:
        raise UsageError(
            f"{shown(traces[0])} is a trace already; give one trace, or the sources of one, not"
            " both"
        )
    if traces:
        return Trace.open(traces[0])
    if len(set(paths)) < len(paths):
        twice = next(path for i, path in enumerate(paths) if path in paths[:i])
        raise UsageError(f"{shown(twice)}: given twice; name each source once")
    # A stored trace needs no collector; importing them takes 0.06 s.
    from tracelens.collectors import collect  # noqa: PLC0415
    from tracelens.derive.ranks.validate_ranks import MISSING  # noqa: PLC0415
    from tracelens.trace.same_run import NOT_TOGETHER  # noqa: PLC0415

    with progress(f"reading {', '.join(path.name for path in paths)}"):
        trace = collect(paths, ranks=ranks)
    for text in trace.diagnostics.filter(
        pl.col("code").is_in([SKIPPED, SOURCE_UNREAD, NOT_TOGETHER, MISSING])
    )["text"]:
        warn(text)
    return trace


def default_target(paths: Sequence[Path]) -> Path:
    """Return the path of the trace to write if --out is not given.

    It is named like the source, or like the folder of several sources.
    """
    if paths[0] == STANDARD_INPUT:
        return Path("stdin.tracelens")
    folders = {path.parent for path in paths}
    shared = folders.pop().name if len(paths) > 1 and len(folders) == 1 else ""
    return Path(f"{shared or stem(paths[0])}.tracelens")


def stem(path: Path) -> str:
    """Return the file's name without any ending that belongs to a collector's sources."""
    HOOKS.list_collectors()
    endings = "|".join(
        re.escape(ending) for collector in COLLECTORS.values() for ending in collector.endings
    )
    return re.sub(rf"(?<=.)({endings})+$", "", path.name or _resolve(path).name)


def summary_line(trace: Trace) -> str:
    """Return a phrase with the number of rows of each main table that has rows."""
    counts = [
        f"{trace.height(name):,} {name.replace('_', ' ')}"
        for name in MAIN_TABLES
        if trace.has(name)
    ]
    return ", ".join(counts) or "no events"


def losses(trace: Trace) -> list[str]:
    """Describe what was lost: diagnostics above info, and an incomplete capture."""
    rows = trace.frame("diagnostics").filter(pl.col("severity").is_in(["warning", "loss", "error"]))
    counts = rows.group_by("text", maintain_order=True).agg(pl.col("count").sum())
    messages = [
        f"{text} ({count:,} times)" if count > 1 else text for text, count in counts.iter_rows()
    ]
    if not trace.manifest.complete:
        unread = [
            lost.get("source")
            for lost in trace.manifest.dropped
            if lost.get("code") == SOURCE_UNREAD
        ]
        if names := [*filter(None, unread)]:  # the other files are among the diagnostics
            messages.append(
                f"sources that could not be read, whose ranks are missing: {', '.join(names)}"
            )
        n_kinds = len(trace.manifest.dropped) - len(unread)
        if n_kinds or not unread:
            messages.append(f"the capture is incomplete ({n_kinds:,} kinds of events dropped)")
    return messages


def screen(rows: int | None = None, *, to_file: bool = False) -> Screen:
    """Return the width and the colours for output, with `rows` as the number of rows per table.

    - to a terminal: the terminal's width, and colours unless NO_COLOR or TERM=dumb is set
    - to a pipe: the number in COLUMNS or else the width of standard error's terminal, no colours
    - to a file: a fixed width, no colours
    """
    if to_file or sys.stdout is None:
        return Screen(rows=rows)
    if sys.stdout.isatty():
        color = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return Screen(shutil.get_terminal_size((WIDTH, 24)).columns, rows, color)
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return Screen(int(named), rows)
    try:
        return Screen(os.get_terminal_size(2).columns or WIDTH, rows)
    except OSError:
        return Screen(rows=rows)


def drawn(answer: Answer) -> str:
    """Draw the answer in the width and colours of standard output."""
    shown_on = screen()
    return answer_text(answer, color=shown_on.color, width=shown_on.width)


def plain(frame: pl.DataFrame) -> str:
    """Write all rows of a small frame as text, with long sentences wrapped."""
    from tracelens.views.formats.report_text import frame_to_text  # noqa: PLC0415 - loads Rich

    return frame_to_text(frame, screen())


def format_of(name: str | None, out: Path | None) -> Format:
    """Return the named format, else the format of the file's ending, else text.

    Raises UsageError for an unknown name or ending.
    """
    if name is not None:
        if name not in FORMATS:
            raise UsageError(f"no format is called {name}; the formats are {', '.join(FORMATS)}")
        return FORMATS[name]
    if out is None or not out.suffix:
        return FORMATS["text"]
    by_ending = {ending: form for form in FORMATS.values() for ending in form.endings}
    if out.suffix.lower() not in by_ending:
        known = ", ".join(sorted(by_ending))
        raise UsageError(
            f"{out}: no format ends in {out.suffix}; the endings are {known} (or say --format)"
        )
    return by_ending[out.suffix.lower()]


def keep_sources(sources: Sequence[Path], targets: Sequence[Path | None]) -> None:
    """Raise UsageError if a target must not be written.

    A target must not replace a source, a file of a source, or another target. It must not be in a
    stored trace's folder.
    """
    read = {_resolve(path) for path in sources}
    written: set[Path] = set()
    for target in targets:
        if target is None or (target.exists() and not (target.is_file() or target.is_dir())):
            continue
        written_path = _resolve(target)
        if written_path in read:
            raise UsageError(
                f"{target}: is a source of this report and would be replaced by it; name another"
                " file"
            )
        within = next((folder for folder in written_path.parents if is_stored_trace(folder)), None)
        if within is not None:
            raise UsageError(f"{target}: lies in the trace {within.name}; name another place")
        source = next((folder for folder in written_path.parents if folder in read), None)
        if source is not None and written_path.exists():
            raise UsageError(f"{target}: lies in {source.name}, which is read; name another place")
        if written_path in written:
            raise UsageError(f"{target}: is named for two results; name another file for one")
        written.add(written_path)


def _resolve(path: Path) -> Path:
    """Resolve the path's symbolic links.

    A circle of links raises no error here, only when it is opened.
    """
    return Path(os.path.realpath(path))


def write_report(
    report: Report,
    form: Format,
    out: Path | None = None,
    rows: int | None = None,
) -> None:
    """Write the report in the format, to standard output or the file.

    If the format holds a single table and that table has no rows, warn of it.
    """
    with progress(f"writing {form.name}"):
        if form.name == "html":
            # Altair imports jsonschema, and jsonschema the packages that a notebook server
            # installs. They take a tenth of a page's time, and 3 s for rfc3987_syntax's grammars.
            # No chart is checked. Only commands hide them, as a notebook may need them later.
            with _hidden(_CHECKERS):
                import_module("tracelens.views.page")
        n_rows = rows or form.default_rows(is_asked=report.is_asked)
        written = form.write(report, screen(n_rows, to_file=out is not None))
    emit(written, out)
    if form.holds_one_table and report.sections[0].missing is not None:
        warn(report.sections[0].missing)
    if out is not None:
        tell(f"wrote {out}")


@contextmanager
def _hidden(names: tuple[str, ...]) -> Iterator[None]:
    """Let packages that are not imported yet seem absent within this context."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


class _Handler(logging.Handler):
    def __init__(self, show: Callable[[logging.LogRecord], object], level: int) -> None:
        super().__init__(level)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show a log record."""
        self._show(record)


@contextmanager
def progress(text: str, *, late: bool = False) -> Iterator[None]:
    """Show progress on standard error while the body runs.

    With `late`, the bar appears only at the first log record. Until then, the terminal is left to
    the program that is being captured. If standard error is not a terminal, no bar is shown, and
    each log record is printed as a line.
    """
    log = logging.getLogger("tracelens")
    with ExitStack() as ends:
        handler = _Handler(lambda record: tell(record.getMessage()), logging.INFO)
        if os.environ.get("FORCE_COLOR") or (sys.stderr is not None and sys.stderr.isatty()):
            from tracelens.cli.progress_bar import ProgressBar  # noqa: PLC0415 - of a terminal only

            bar = ProgressBar(text)
            ends.callback(bar.stop)
            if not late:
                bar.start()
            handler = _Handler(bar.show, logging.DEBUG)
        log.addHandler(handler)
        ends.callback(log.removeHandler, handler)
        ends.callback(log.setLevel, log.level)
        log.setLevel(handler.level)
        yield
