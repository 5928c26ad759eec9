"""One section of a report as CSV."""

from tracelens.exports.single import only_section
from tracelens.report import Report


def to_csv(report: Report) -> str:
    """A header of the result's column names and every row, as stored: integer nanoseconds, empty where null.

    Raises UsageError unless the report has exactly one section.
    """
    return only_section(report, "CSV").frame.write_csv()
