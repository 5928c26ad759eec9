"""The one section of a report that goes where only one table fits."""

from tracelens.errors import UsageError
from tracelens.report import Report, Section


def only_section(report: Report, form: str) -> Section:
    """The report's section. Raises UsageError when it has several, or none."""
    if len(report.sections) != 1:
        names = ", ".join(section.analysis.name for section in report.sections) or "none"
        raise UsageError(f"{form} holds one table: choose one with --section; the sections here are {names}")
    return report.sections[0]
