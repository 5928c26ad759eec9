"""Write a report as one HTML page that needs no network, no other file and no server.

The template is page.html. Tables are embedded as data (embedding.py); tables.js draws them.
"""

import base64
import hashlib
import re
import sys
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from tracelens.answers.answer import WAIT, WORK
from tracelens.derive.rank_ranges import merge_rows
from tracelens.derive.replay.unprofiled_job import unprofiled_job
from tracelens.derive.stacks.frame_roles import ROLE_WORDS
from tracelens.derive.time.model import model_for_times, time_model
from tracelens.report import Report, Section
from tracelens.views.charts import Drawing, draw
from tracelens.views.columns import UNANSWERED, ordered
from tracelens.views.drawings import draw_events, list_stacks
from tracelens.views.embedding import clip, embed
from tracelens.views.first_screen import LOOKS, answer_block, card, step_lanes
from tracelens.views.palette import KIND_COLORS, PARTS, ROLES
from tracelens.views.values import quantity, show
from tracelens.views.vega import vega_script
from tracelens.views.verdicts import list_cards

_IN_CARDS = ("job", "verdict")
_FIRST = ("job", "verdict", "worst_ranks", "rank_quartiles")
"""Sections that come before the drawings."""
_OPEN = (
    "worst_ranks",
    "compare_time",
    "compare_layers",
    "compare_kernels",
    "compare_ops",
    "stack_alignment",
    "timing_methods",
    "idle_gaps",
    "top_kernels",
    "layer_host_time",
    "top_ops",
)
_MOST_OPEN = 3
"""Number of sections that are open when the page is loaded.

They are the first sections of `_OPEN` that the report has. A click opens any other section.
"""
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|ns|µs|ms|s|min|h)(?!\w))")
_SCRIPTS = ("page.js", "tables.js", "bars.js", "timeline.js", "icicle.js", "heat.js")


def to_html(report: Report, rows: int | None = 12) -> str:
    """Return the report as an HTML page.

    Tables show `rows` rows at a time, all rows if None.
    """
    with ThreadPoolExecutor(1) as pool:  # the thread only waits for another process
        bundling = pool.submit(vega_script)
        sections, opened, unanswered = _split(report)
        heads = [
            (
                section,
                show(
                    section.analysis.result,
                    section.frame,
                    ordered(section),
                    0,
                    section.words,
                ),
            )
            for section in sections
            if section.frame.height > (section.analysis.name in _IN_CARDS)
        ]
        model = time_model(report.trace)
        stacks = list_stacks(report)
        drawings, tables = embed(draw_events(report, model), heads)
        traces = [report.trace] if report.base is None else [report.trace, report.base]
        block = answer_block(report)
        lanes = step_lanes(
            report,
            block.answer,
            model.program_steps,
            unprofiled_job(report.trace) if len(report.trace.manifest.ranks) > 1 else None,
        )
        facts = [card(model)]
        if report.base is not None:
            facts.append(card(model_for_times(report.base)))
        verdicts = {
            section.analysis.name: list_cards(section, model.processes)
            for section in sections
            if section.analysis.name in _IN_CARDS
        }
        diagnostics = [merge_rows(trace.frame("diagnostics")) for trace in traces]
        charts = {section.analysis.name: draw(section) for section in sections}
        vega = bundling.result()
    parts = _parts(sections, opened, tables, verdicts, charts)
    style, script = colour_rules() + _file("style.css"), "".join(map(_file, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_hash(vega)} {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    names = {section.analysis.name for section in sections}
    return (
        _environment(names)
        .from_string(_file("page.html"))
        .render(
            policy=policy,
            style=_code("style", style),
            script=_code("script", script),
            vega=_code("script", vega),
            report=report,
            traces=traces,
            facts=facts,
            block=block,
            lanes=lanes,
            looks=LOOKS,
            role_words=ROLE_WORDS,
            parts=parts,
            n_first=sum(drawing.analysis.name in _FIRST for drawing in sections),
            drawings=drawings,
            stacks=stacks,
            rows=rows or sys.maxsize,
            unanswered=unanswered,
            unanswered_title=UNANSWERED,
            quantity=quantity,
            diagnostics=diagnostics,
        )
    )


def _split(report: Report) -> tuple[list[Section], list[str], list[str]]:
    """Return the sections to draw, the names of open sections, and lines on the other sections.

    Sections without an answer or without rows are not drawn. But sections that the user named are
    always drawn and open.
    """
    unanswered, sections = report.unanswered(), report.to_read()
    silent = [section for section in sections if section.absent is not None and not report.is_asked]
    names = ", ".join(section.analysis.name for section in silent if not section.notes)
    sentences = [
        f"{section.analysis.name}: {' '.join(section.notes)}" for section in silent if section.notes
    ]
    drawn = [section for section in sections if section not in silent]
    present = [section.analysis.name for section in drawn]
    opened = [name for name in _OPEN if name in present][:_MOST_OPEN]
    if report.is_asked:
        opened = present
    order = [*_FIRST, *opened, *present]
    drawn.sort(key=lambda section: order.index(section.analysis.name))
    empty = [f"{names}: nothing in this trace"] if names else []
    return drawn, opened, [*unanswered, *sentences, *empty]


def _environment(names: Collection[str] = ()) -> Environment:
    """Return the template environment. It escapes values, and an undefined variable is an error.

    - Filter `linked` splits a text at the names of sections in `names`. It returns each part with
      the section to link to, or None.
    - Filter `unbroken` keeps a number and its unit on one line.
    - Filter `with_code` shows names in backticks as code.
    """
    environment = Environment(
        autoescape=True,
        # Names may be hostile, so each is clipped.
        finalize=lambda value: value if isinstance(value, Markup) else clip(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # `tojson` writes <, > and & as \u003c and so on, so that no name can end its <script>.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters["packed"] = Markup  # base64, which `packed` made
    words = re.compile(r"\b([a-z]+_[a-z_]+|(?<=see )[a-z]+)\b")
    environment.filters["linked"] = lambda text: [
        (piece, piece if at % 2 and piece in names else None)
        for at, piece in enumerate(words.split(text))
    ]
    environment.filters["unbroken"] = _unbroken
    environment.filters["with_code"] = _with_code
    return environment


def _unbroken(text: str) -> Markup:
    """Return a text escaped, with each number and its unit on one line."""
    return Markup(_BEFORE_UNIT.sub("&nbsp;", escape(clip(text))))  # noqa: S704 - escaped


def _with_code(text: str) -> Markup:
    """Return a text escaped, with names in backticks as code."""
    escaped = str(escape(clip(text)))
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", escaped))  # noqa: S704 - escaped


def colour_rules() -> str:
    """Return CSS rules with the colours of fills, and of the borders of cards and frames."""
    colors = sorted({*PARTS.values(), *KIND_COLORS.values()})
    fills = [f".fill-{color[1:]} {{ fill: {color}; }}" for color in colors]
    roles = [
        f".stack .{re.sub('[^a-z_]', '', role)} {{ border-color: {color}; }}"
        for role, color in ROLES.items()
    ]
    cards = [f".card.{part} {{ border-color: {color}; }}" for part, color in PARTS.items()]
    sides = f":root {{ --works: {KIND_COLORS[WORK]}; --waits: {KIND_COLORS[WAIT]}; }}"
    return "\n".join([sides, *fills, *roles, *cards, ""])


def _file(name: str) -> str:
    return files("tracelens.views").joinpath(name).read_text(encoding="utf-8")


def _code(element: str, code: str) -> Markup:
    """Return the content of a style or script, unescaped.

    Raises ValueError if the content contains the element's end tag.
    """
    if f"</{element}" in code.lower() or "<!--" in code:
        raise ValueError(f"code for <{element}> contains its end tag or a comment opening")
    return Markup(code)  # noqa: S704 - files of the package, and Vega


def _hash(code: str) -> str:
    """Return the Content-Security-Policy source that allows exactly this inline code."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def _parts(
    sections: list[Section],
    opened: Collection[str],
    tables: Mapping[str, tuple[str, int]],
    verdicts: Mapping[str, list[dict[str, Any]]],
    charts: Mapping[str, list[Drawing]],
) -> list[dict[str, Any]]:
    """Return each section for the template, with notes, cards of verdicts, charts and its table.

    A note in an earlier section is not repeated. `tables` is the result of `embed`.
    """
    first = {note: one.analysis.name for one in reversed(sections) for note in one.notes}
    return [
        {
            "name": one.analysis.name,
            "section": one,
            "is_open": one.analysis.name in opened,
            "notes": [note for note in one.notes if first[note] == one.analysis.name],
            "cards": verdicts.get(one.analysis.name, []),
            "charts": [
                (
                    made.title,
                    made.chart.properties(description=made.title).to_dict(validate=False),
                )
                for made in charts[one.analysis.name]
            ],
            "table": tables.get(one.analysis.name),
        }
        for one in sections
    ]
