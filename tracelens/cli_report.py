"""What `tracelens report` does with its options: refuse what cannot be, and put the report where it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from tracelens.analyses import ANALYSES
from tracelens.cli_io import emit, screen, tell, warn
from tracelens.errors import UsageError
from tracelens.exports import FORMATS, write_parquet
from tracelens.report import Report
from tracelens.views.markdown import to_markdown
from tracelens.views.text import to_text


class Format(StrEnum):
    """What a report can be printed as."""

    text = "text"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    parquet = "parquet"


def check_sections(names: Sequence[str], against: Path | None) -> None:
    """Raise UsageError, before anything is read, for sections that no trace could fill."""
    unknown = [name for name in names if name not in ANALYSES]
    if unknown:
        raise UsageError(f"no section is called {', '.join(unknown)}; the sections are {', '.join(ANALYSES)}")
    needs_base = [name for name in names if ANALYSES[name].is_pair and against is None]
    if needs_base:
        raise UsageError(f"{', '.join(needs_base)} compares two traces; name the other one with --against")


def check_format(names: Sequence[str], form: Format | None, out: Path | None) -> None:
    """Raise UsageError for a format that cannot hold, or be put, what was asked for."""
    if form in {Format.csv, Format.parquet} and len(names) != 1:
        raise UsageError(f"{form} holds one table: give exactly one --section; the sections are {', '.join(ANALYSES)}")
    if form is Format.parquet and out is None:
        raise UsageError("parquet is not text: say where it goes with --out FILE")


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
