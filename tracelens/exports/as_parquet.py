"""One section of a report as a Parquet file."""

from __future__ import annotations

from pathlib import Path

from tracelens.exports.single import only_section
from tracelens.report import Report
from tracelens.storage.whole import replacing


def write_parquet(report: Report, path: Path) -> None:
    """Write every row with each column's meaning and unit in the file's metadata.

    Raises UsageError unless the report has exactly one section, SourceError when the file cannot be written.
    """
    section = only_section(report, "Parquet")
    with replacing(path) as part:
        section.analysis.result.write(section.frame, part)
