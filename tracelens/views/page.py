"""A report as one HTML page that needs nothing else: no network, no other file, no server.

The page is page.html. Whatever it shows is escaped there by jinja2, after `printable`: names are hostile.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

import vl_convert
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from tracelens.report import Report, Section
from tracelens.views.charts import draw
from tracelens.views.columns import PROSE, UNANSWERED, ordered
from tracelens.views.values import printable, quantity, show

_BOUND_WORDS = ("compute", "communication", "copy", "input", "allocation", "sync", "loading", "launch", "host")
_MOST_CARDS = 16


def to_html(report: Report, rows: int | None = None) -> str:
    """The page: the verdict, every section with notes, charts and first rows, unanswered sections, and sources."""
    sections = report.to_read()
    verdict = sections.pop(0) if sections and sections[0].analysis.name == "verdict" else None
    style, script, vega = _file("style.css"), _file("script.js"), _vega()
    policy = (
        f"default-src 'none'; script-src {_hash(vega)} {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _environment().from_string(_file("page.html"))
    return template.render(
        policy=policy,
        style=_code("style", style),
        script=_code("script", script),
        vega=_code("script", vega),
        report=report,
        traces=[report.trace] if report.base is None else [report.trace, report.base],
        verdict=verdict,
        cards=_cards(verdict) if verdict else [],
        parts=[_part(section, f"section-{i}", rows) for i, section in enumerate(sections)],
        unanswered=report.unanswered(),
        unanswered_title=UNANSWERED,
        prose=PROSE,
        quantity=quantity,
    )


def _environment() -> Environment:
    """The template environment: an unknown name is an error, every value is cleaned and escaped."""
    environment = Environment(
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else printable(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # `tojson` writes <, > and & as \u003c and so on, so that no name can end its <script>.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment


def _file(name: str) -> str:
    return files("tracelens.views").joinpath(name).read_text(encoding="utf-8")


@cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def _code(element: str, code: str) -> Markup:
    """The content of a style or script, unescaped. Raises ValueError when it would end its own element."""
    if f"</{element}" in code.lower() or "<!--" in code:
        raise ValueError(f"code for <{element}> contains its end tag or a comment opening")
    return Markup(code)  # noqa: S704 - files of the package, and Vega


def _hash(code: str) -> str:
    """The Content-Security-Policy source that allows exactly this inline code."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _cards(verdict: Section) -> list[dict[str, Any]]:
    """A card for each rank with its bound; rows of single steps are left to the text and JSON reports."""
    frame = verdict.frame
    if "step" in frame.columns and frame["step"].null_count():
        frame = frame.filter(frame["step"].is_null())
    named = ("rank", "step") if frame.height > 1 else ()
    return [
        {
            "where": ", ".join(f"{name} {row[name]}" for name in named if row[name] is not None),
            "bound": row["bound"],
            "is_known": row["bound"] in _BOUND_WORDS,
            "value": "" if row["value"] is None else quantity(row["value"], row["unit"]),
            "evidence": row["evidence"],
        }
        for row in frame.head(_MOST_CARDS).iter_rows(named=True)
    ]


def _part(section: Section, place: str, rows: int | None) -> dict[str, Any]:
    """One section for the template: charts as titles with specifications, and rows of (column, cell)."""
    analysis, n_rows = section.analysis, section.frame.height
    columns = [] if section.frame.is_empty() else show(analysis.result, section.frame, ordered(section), rows)
    caption = analysis.result.doc
    if rows is not None and rows < n_rows:
        caption += f" The first {rows:,} of {n_rows:,} rows; --format csv has all."
    return {
        "id": place,
        "name": analysis.name,
        "section": section,
        "charts": [(one.title, one.chart.properties(description=one.title).to_dict()) for one in draw(section)],
        "columns": columns,
        "rows": [list(zip(columns, cells, strict=True)) for cells in zip(*(one.cells for one in columns), strict=True)],
        "caption": caption,
    }
