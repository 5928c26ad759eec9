"""One section of a report as a Parquet file."""

from __future__ import annotations

from pathlib import Path

from tracelens.errors import SourceError
from tracelens.exports.single import only_section
from tracelens.report import Report


def write_parquet(report: Report, path: Path) -> None:
    """Write every row with each column's meaning and unit in the file's metadata.

    Raises UsageError unless the report has exactly one section, SourceError when the file cannot be written.
    """
    section = only_section(report, "Parquet")
    part = path.with_name(f".{path.name}.part")
    try:
        section.analysis.result.write(section.frame, part)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SourceError(f"{path}: cannot be written: {error.strerror or error}") from error
