"""Write a report as an HTML page."""

from tracelens.report import Report
from tracelens.views.formats.format import Format, Screen


def _write(report: Report, screen: Screen) -> str:
    from tracelens.views.page import to_html  # noqa: PLC0415 - loads Altair and jinja2, which only a page needs

    return to_html(report, screen.rows)


FORMAT = Format("html", (".html", ".htm"), _write, rows=12)
