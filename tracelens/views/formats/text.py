"""Write a report as text for a terminal."""

from tracelens.report import Report
from tracelens.views.formats.format import Format, Screen


def _write(report: Report, screen: Screen) -> str:
    from tracelens.views.formats.report_text import to_text  # noqa: PLC0415 - loads Rich, in 0.02 s

    return to_text(report, screen)


FORMAT = Format("text", (".txt",), _write, rows=12)
