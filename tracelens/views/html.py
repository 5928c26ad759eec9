"""A report as one HTML page that needs nothing else: no network, no other file, no server."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from tracelens.report import Report, Section
from tracelens.storage.whole import write_text
from tracelens.trace import Trace
from tracelens.views.charts import draw
from tracelens.views.columns import PROSE, UNANSWERED, ordered
from tracelens.views.format import Shown, informative, quantity, show
from tracelens.views.markup import Markup, content_hash, data_script, el, inline, join
from tracelens.views.page import SCRIPT, STYLE

ROWS = 50
_BOUND_WORDS = ("compute", "communication", "copy", "input", "allocation", "sync", "loading", "launch", "host")


def write_html(report: Report, path: Path, rows: int = ROWS) -> None:
    """Write the page: whole, or not at all. Raises SourceError when the file cannot be written."""
    write_text(to_html(report, rows), path)


def to_html(report: Report, rows: int = ROWS) -> str:
    """The page: the verdict, then every section with its notes, chart and first rows, what has no answer, sources."""
    sections = report.to_read()
    verdicts = [section for section in sections[:1] if section.analysis.name == "verdict"]
    others = sections[len(verdicts) :]
    names = [f"section-{i}" for i in range(len(others))]
    unanswered = report.unanswered()
    body = join(
        el("a", "Skip to the report", href="#report", class_="skip"),
        el(
            "div",
            _navigation(others, names, has_verdict=bool(verdicts), has_unanswered=bool(unanswered)),
            el(
                "main",
                _header(report),
                *(_verdict(section) for section in verdicts),
                *(_section(section, name, rows) for section, name in zip(others, names, strict=True)),
                _unanswered(unanswered) if unanswered else None,
                _sources(report),
                id="report",
            ),
            class_="frame",
        ),
    )
    bundle = _bundle()
    policy = (
        f"default-src 'none'; script-src {content_hash(bundle)} {content_hash(SCRIPT)}; "
        f"style-src {content_hash(STYLE)}; base-uri 'none'; form-action 'none'"
    )
    head = join(
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", f"{_title(report)} - tracelens"),
        inline("style", STYLE),
    )
    page = el("html", el("head", head), el("body", body, inline("script", bundle), inline("script", SCRIPT)), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def _title(report: Report) -> str:
    return report.trace.name if report.base is None else f"{report.trace.name} against {report.base.name}"


def _header(report: Report) -> Markup:
    manifest = report.trace.manifest
    about = ", ".join(f"{source.get('name')} ({source.get('kind')})" for source in manifest.sources)
    ranks = f"{len(manifest.ranks)} ranks; " if len(manifest.ranks) > 1 else ""
    incomplete = None
    if not manifest.complete:
        incomplete = el("p", "This capture is incomplete: see what was dropped, at the end.", class_="missing")
    return el("header", el("h1", _title(report)), el("p", f"{ranks}{about}", class_="about"), incomplete)


def _navigation(sections: list[Section], names: list[str], *, has_verdict: bool, has_unanswered: bool) -> Markup:
    entries = [
        el(
            "li",
            el("a", section.analysis.name.replace("_", " "), href=f"#{name}"),
            class_="off" if section.missing is not None or section.frame.is_empty() else None,
        )
        for section, name in zip(sections, names, strict=True)
    ]
    ends = [el("li", el("a", "unanswered", href="#unanswered"))] if has_unanswered else []
    ends.append(el("li", el("a", "sources", href="#sources")))
    start = [el("li", el("a", "verdict", href="#report"))] if has_verdict else []
    return el("nav", el("strong", "tracelens"), el("ul", *start, *entries, *ends), aria_label="Sections")


def _verdict(section: Section) -> Markup:
    """What bounds the run, as cards; rows of single steps stay for the table of the text and JSON reports."""
    frame = section.frame
    if "step" in frame.columns and frame["step"].null_count():
        frame = frame.filter(frame["step"].is_null())
    cards = [_card(row, several=frame.height > 1) for row in frame.head(16).iter_rows(named=True)]
    return el(
        "section",
        el("h2", section.analysis.question),
        _missing(section),
        el("div", *cards, class_="cards") if cards else None,
        _notes(section),
        class_="verdict",
    )


def _card(row: dict[str, Any], *, several: bool) -> Markup:
    bound = str(row.get("bound"))
    where = ", ".join(f"{key} {row[key]}" for key in ("rank", "step") if row.get(key) is not None)
    return el(
        "div",
        el("p", where, class_="where") if several and where else None,
        el("p", f"{bound}-bound" if bound in _BOUND_WORDS else bound, class_="bound"),
        el("p", quantity(row.get("value"), row.get("unit")), class_="value") if row.get("value") is not None else None,
        el("p", str(row["evidence"])) if row.get("evidence") else None,
        class_=f"card {bound}" if bound in _BOUND_WORDS else "card",
    )


def _section(section: Section, name: str, rows: int) -> Markup:
    analysis = section.analysis
    title = el("h2", analysis.question, el("span", analysis.name, class_="name mono"), id=f"{name}-title")
    empty = section.frame.is_empty()
    return el(
        "section",
        title,
        _missing(section),
        _notes(section),
        *_figures(section, name),
        None if empty else _table(section, rows),
        id=name,
        aria_labelledby=f"{name}-title",
    )


def _missing(section: Section) -> Markup | None:
    if section.missing is not None:
        return el("p", f"No answer: {section.missing}", class_="missing")
    return el("p", "Nothing in this trace.", class_="about") if section.frame.is_empty() else None


def _notes(section: Section) -> Markup | None:
    return el("ul", *(el("li", note) for note in section.notes), class_="notes") if section.notes else None


def _figures(section: Section, name: str) -> list[Markup]:
    waiting = el("noscript", "Charts need JavaScript; the table below has the numbers.")
    figures = []
    for i, drawing in enumerate(draw(section)):
        chart = f"{name}-chart-{i}"
        spec = drawing.chart.properties(description=drawing.title).to_dict()
        place = el("div", waiting, class_="chart", data_chart=chart)
        figures.append(el("figure", el("figcaption", drawing.title), place, data_script(chart, spec)))
    return figures


def _table(section: Section, rows: int) -> Markup:
    analysis, frame = section.analysis, section.frame
    shown = show(analysis.result, frame, ordered(analysis.name, informative(frame)), rows)
    head = [
        el(
            "th",
            column.label,
            el("span", f" {column.symbol}", class_="unit") if column.symbol else None,
            scope="col",
            title=column.doc or None,
            class_="n" if column.is_number else None,
        )
        for column in shown
    ]
    body = [
        [_cell(column, cell) for column, cell in zip(shown, row, strict=True)]
        for row in zip(*(c.cells for c in shown), strict=True)
    ]
    caption = analysis.result.doc
    if len(body) < frame.height:
        caption += f" The first {len(body):,} of {frame.height:,} rows; --format csv has all."
    return _grid(f"Table of {analysis.name}", caption, head, body)


def _grid(name: str, caption: str, head: list[Markup], body: list[list[Markup]]) -> Markup:
    """A table in a box that scrolls, which the keyboard reaches too."""
    rows = (el("tr", *cells) for cells in body)
    table = el("table", el("caption", caption), el("thead", el("tr", *head)), el("tbody", *rows))
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label=name)


def _cell(column: Shown, text: str) -> Markup:
    if column.name in PROSE:
        return el("td", text, class_="prose")
    if column.is_number:
        return el("td", text, class_="n")
    return el("td", text, class_="text", title=text if len(text) > 60 else None)


def _unanswered(lines: list[str]) -> Markup:
    """Sections without an answer, a line each."""
    rows = el("ul", *(el("li", line) for line in lines), class_="notes")
    return el("section", el("h2", UNANSWERED), rows, id="unanswered")


def _sources(report: Report) -> Markup:
    traces = [report.trace] if report.base is None else [report.trace, report.base]
    title = el("h2", "Where the numbers come from, and what was dropped")
    return el("section", title, *(_source(trace) for trace in traces), id="sources")


def _source(trace: Trace) -> Markup:
    manifest = trace.manifest
    facts = (
        f"{trace.name}: tracelens {manifest.tracelens_version or '(unknown version)'}, "
        f"schema {manifest.schema_version}; times since {manifest.time_base.replace('_', ' ')}, "
        f"to {quantity(manifest.time_precision_ns, 'ns')}; {'complete' if manifest.complete else 'incomplete'}."
    )
    files = [
        [
            el("td", str(source.get("name")), class_="text"),
            el("td", str(source.get("kind"))),
            el("td", quantity(source.get("size_bytes"), "bytes"), class_="n"),
            el("td", str(source.get("sha256")), class_="text"),
        ]
        for source in manifest.sources
    ]
    diagnostics = trace.frame("diagnostics")
    dropped = [
        [el("td", str(value), class_="prose" if isinstance(value, str) else "n") for value in row]
        for row in diagnostics.iter_rows()
    ]
    return join(
        el("p", facts),
        _grid("Sources", "Files that were read.", _heads("source", "kind", "size", "SHA-256"), files),
        _grid("Diagnostics", "What was lost, odd or worth knowing.", _heads(*diagnostics.columns), dropped)
        if dropped
        else el("p", "Nothing was dropped."),
    )


def _heads(*words: str) -> list[Markup]:
    return [el("th", word, scope="col") for word in words]
