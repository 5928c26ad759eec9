"""Render a study's page from a Jinja template, values of its captures, and verdicts."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from samples.kit.drawing import save
from samples.kit.significance import LEAST, NEAR, Verdict, spearman_limit

ROOT = Path(__file__).resolve().parents[2]
WIDEST_ROW = 200
"""Largest number of characters in a table's row."""

RULE = f"""\
A verdict compares a claim with our captures. None is of the source's hardware and versions (each \
page names both), so no verdict says that the claim is wrong where it was made. The first that \
fits is taken:

1. *{Verdict.UNTESTABLE}*: the captures are of another quantity, kind of program or device, or \
the source gives no limit to judge by.
2. *{Verdict.UNDECIDED}*: the difference lies within the spread, or the cases are divided.
3. *{Verdict.AGREES}*: it comes out as claimed; a claimed ratio within {100 * NEAR:.0f} %.
4. *{Verdict.DIRECTION}*: the effect is there, but not of the claimed size.
5. *{Verdict.DIFFERS}*: it comes out otherwise.

Two medians differ if each has at least {LEAST} values and their quartiles do not overlap. Counts, \
bytes and memory are compared as they stand. A rank correlation counts if chance alone gives one \
as large in less than 5 % of cases. A claim on several cases agrees if more than half of them \
agree and at most half as many differ. It differs if more than half differ and at most half as \
many agree.
"""
"""The rule that significance.py carries out, as readers of docs/studies.md see it."""


class PageError(ValueError):
    """An error for a page that would contradict its captures."""


class Made(NamedTuple):
    """A page as Markdown, with the files of its folder: charts, long tables as CSV, and details."""

    text: str
    details: str
    charts: Mapping[str, alt.TopLevelMixin]
    tables: Mapping[str, str] = {}

    def write(self, page: Path) -> None:
        """Write the page, and write details, charts and tables into a folder of the same name."""
        page.write_text(self.text)
        folder = page.with_suffix("")
        folder.mkdir(exist_ok=True)
        (folder / "details.md").write_text(self.details)
        if self.charts:
            save(self.charts, folder)
        for name, text in self.tables.items():
            (folder / f"{name}.csv").write_text(text)


def as_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue()


class Verdicts:
    """The verdicts of a page by key. The page must show each once."""

    def __init__(self, by_key: Mapping[str, Verdict]) -> None:
        self.by_key = dict(by_key)
        self.shown: Counter[str] = Counter()

    def claims(self, rows: Iterable[Sequence[Any]]) -> str:
        """Return a Markdown table of tested claims with their verdicts.

        A row has the claim's key, the claim, its section in the source, and our result.
        """
        return table(
            ("claim", "section", "here", "verdict"),
            [(*cells, self._take(key, is_tested=True)) for key, *cells in rows],
        )

    def untestable(self, rows: Iterable[Sequence[Any]]) -> str:
        """Return a Markdown table of claims that were not tested.

        A row has the claim's key, the claim, its section in the source, and the reason.
        """
        untested = []
        for key, *cells in rows:
            self._take(key, is_tested=False)
            untested.append(cells)
        return table(("claim", "section", "why"), untested)

    def _take(self, key: str, *, is_tested: bool) -> Verdict:
        """Return the verdict of a key, and note that the page shows it.

        Raises PageError for a key without a verdict or in the wrong table.
        """
        if key not in self.by_key:
            raise PageError(f"nobody judged {key!r}")
        if is_tested is (self.by_key[key] is Verdict.UNTESTABLE):
            raise PageError(f"{key!r} is {self.by_key[key]}: it is in the wrong table")
        self.shown[key] += 1
        return self.by_key[key]

    def counts(self) -> str:
        """Return a text with the number of verdicts of each kind."""
        numbers = Counter(self.by_key.values())
        return ", ".join(f"{numbers[kind]} × *{kind}*" for kind in Verdict if numbers[kind])

    def check(self) -> None:
        """Raise PageError if a verdict is shown twice or not at all."""
        wrong = [key for key in self.by_key if self.shown[key] != 1]
        if wrong:
            raise PageError(f"to be shown once each: {', '.join(wrong)}")


def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict; raise PageError if a key occurs twice."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise PageError(f"two values have the key {key!r}")
        values[key] = value
    return values


def render(
    folder: Path, values: Mapping[str, Any], verdicts: Mapping[str, Verdict]
) -> tuple[str, str]:
    """Return the page and its details, from page.md.j2 and details.md.j2 of the folder.

    Raises PageError for a missing value, for a verdict that is not shown exactly once, and for a
    table row longer than WIDEST_ROW.
    """
    shown = Verdicts(verdicts)
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown of our own
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"f": fixed, "listed": listed, "percent": percent, "spread": spread}
    environment.globals |= {
        "claims": shown.claims,
        "untestable": shown.untestable,
        "counts": shown.counts,
        "table": table,
        "limit": spearman_limit,
    }
    text, details = (
        environment.get_template(f"{name}.md.j2").render(values) for name in ("page", "details")
    )
    shown.check()
    lines = [*text.splitlines(), *details.splitlines()]
    wide = [line for line in lines if line.startswith("|") and len(line) > WIDEST_ROW]
    if wide:
        raise PageError(f"rows above {WIDEST_ROW} characters: {wide[0][:60]}…")
    return text, details


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table with numbers aligned right, and a dash for None."""
    kept = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    rights = [
        "---:" if any(_is_number(row[i]) for row in kept) else "---" for i in range(len(headings))
    ]
    lines = [list(headings), rights, *kept]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines
    )


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() and cell.replace(",", "").replace(".", "").isdigit()


def fixed(number: float | None, digits: int = 2) -> str:
    """Return the number with `digits` decimals, a dash for None."""
    return "-" if number is None else f"{number:,.{digits}f}"


def percent(share: float, digits: int = 0) -> str:
    """Return a share between 0 and 1 as a percentage such as `12 %`."""
    return f"{100 * share:.{digits}f} %"


def listed(words: Iterable[Any]) -> str:
    """Join words like `a, b and c`."""
    texts = [str(word) for word in words]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def spread(values: Iterable[float], digits: int = 2) -> str:
    """Return the least and largest value like `1.20 to 2.05`, a single value like `1.20`."""
    ends = sorted(values)
    texts = dict.fromkeys(fixed(value, digits) for value in (ends[0], ends[-1]))
    return " to ".join(texts)
