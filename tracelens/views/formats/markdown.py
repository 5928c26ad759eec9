"""Write a report as Markdown, to paste into an issue or a merge request."""

import re

from tracelens.report import Report, Section
from tracelens.views.columns import useful
from tracelens.views.digest import digest, endings, title
from tracelens.views.formats.format import Format
from tracelens.views.values import printable, show

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$])")


def to_markdown(report: Report, rows: int | None = None) -> str:
    """Return the report as Markdown: each section's heading, table and notes, the verdict first.

    Tables have at most `rows` rows. Sections without an answer have one line each at the end.
    """
    parts = [
        f"# {escape(title(report))}",
        *(_section(section, shown) for section, shown in digest(report, rows)),
    ]
    parts += [f"## {head}\n\n{bullets(lines)}" for head, lines in endings(report)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section, rows: int | None) -> str:
    parts = [f"## {escape(section.analysis.question)}"]
    if section.absent is not None:
        parts.append(escape(section.absent))
    elif rows != 0:
        parts.append(table(section, rows))
        if rows is not None and section.frame.height > rows:
            parts.append(f"{rows:,} of {section.frame.height:,} rows.")
    if section.notes:
        parts.append(bullets(section.notes))
    return "\n\n".join(parts)


def bullets(lines: list[str]) -> str:
    """Return a Markdown list with one item per line."""
    return "\n".join(f"- {escape(line)}" for line in lines)


def table(section: Section, rows: int | None) -> str:
    """Return a section's first rows as a Markdown table, all rows if `rows` is None.

    Only the section's `useful` columns are included.
    """
    names, words = useful(section), section.words
    shown = show(section.analysis.result, section.frame, names, rows, words)
    lines = [
        [escape(column.heading) for column in shown],
        ["---:" if column.is_number else "---" for column in shown],
        *(
            [escape(cell) for cell in row]
            for row in zip(*(column.cells for column in shown), strict=True)
        ),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape(text: str) -> str:
    """Escape the text, so that nothing in it acts as Markdown, HTML, a mention or a link."""
    plain = (
        _SPECIAL.sub(r"\\\1", printable(text))
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )
    return plain.replace("@", "&#64;").replace("://", "&#58;//")


FORMAT = Format(
    "markdown",
    (".md",),
    lambda report, screen: to_markdown(report, screen.rows),
)
