"""Write a report as an HTML page."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tracelens.report import Report
from tracelens.views.formats.format import Format, Screen

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


def _write(report: Report, screen: Screen) -> str:
    # Altair imports jsonschema. A notebook server installs the packages, which take a tenth of the
    # time of a page, and 3 s for the grammars of rfc3987_syntax. No chart of a page is checked.
    with _hidden(_CHECKERS):
        from tracelens.views.page import to_html  # noqa: PLC0415 - loads Altair and jinja2, which only a page needs

    return to_html(report, screen.rows)


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


FORMAT = Format("html", (".html", ".htm"), _write, rows=12)
