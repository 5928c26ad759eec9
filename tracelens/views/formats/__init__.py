"""The formats of a report.

To add a format, write a module in this folder, a test, and one line below.
"""
# ruff: noqa: F401 - importing registers

from tracelens.views.formats.csv import FORMAT as CSV
from tracelens.views.formats.format import Format
from tracelens.views.formats.html import FORMAT as HTML
from tracelens.views.formats.json import FORMAT as JSON
from tracelens.views.formats.markdown import FORMAT as MARKDOWN
from tracelens.views.formats.parquet import FORMAT as PARQUET
from tracelens.views.formats.text import FORMAT as TEXT

FORMATS: dict[str, Format] = {
    one.name: one for one in tuple(globals().values()) if isinstance(one, Format)
}
"""Formats by name."""
