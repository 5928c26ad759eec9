"""Render a study's page from a Jinja template, values of its captures, and verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from samples.kit.significance import LEAST, NEAR, Verdict, spearman_limit

ROOT = Path(__file__).resolve().parents[2]
WIDEST_ROW = 200
"""Most characters in a table's row."""

MEANINGS = {
    Verdict.UNSEEN: "within the spread, absent today, or never tested there",
    Verdict.INCOMPARABLE: "another span, method or hardware",
    Verdict.OPEN: "cannot be told",
}
"""Explanations of the verdicts whose names do not explain themselves."""


class PageError(ValueError):
    """An error that stops a page which would contradict its captures."""


class Verdicts:
    """The verdicts of a page by key, each shown once.

    A verdict is one line with its evidence folded below.
    """

    def __init__(self, by_key: Mapping[str, Verdict]) -> None:
        self.by_key = dict(by_key)
        self.shown: Counter[str] = Counter()

    def __call__(  # noqa: PLR0913 - what a verdict consists of
        self, key: str, claim: str, where: str, *, there: str, here: str, caller: Callable[[], str]
    ) -> str:
        """Return one verdict; `caller` gives what it rests on.

        `where`: the source's section or figure, `there`: what the source says, `here`: the
        captures. Raises PageError for a key that nobody judged.
        """
        if key not in self.by_key:
            raise PageError(f"nobody judged {key!r}")
        self.shown[key] += 1
        line = f"<b>{self.by_key[key]}</b> · {claim}: {here}"
        behind = f"There ({where}): {there}.\n\n{caller().strip()}"
        return f"<details><summary>{line}</summary>\n\n{behind}\n\n</details>\n"

    def counts(self) -> str:
        """Say how many verdicts of each kind there are, and what the kinds mean."""
        numbers = Counter(self.by_key.values())
        counted = ", ".join(f"{numbers[kind]} × *{kind}*" for kind in Verdict if numbers[kind])
        meant = [f"*{kind}*: {words}" for kind, words in MEANINGS.items() if numbers[kind]]
        return f"{counted} ({'; '.join(meant)})" if meant else counted

    def check(self) -> None:
        """Raise PageError if a verdict is shown twice, or never."""
        wrong = [key for key in self.by_key if self.shown[key] != 1]
        if wrong:
            raise PageError(f"to be shown once each: {', '.join(wrong)}")


def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict. Raises PageError if a key occurs twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise PageError(f"two values have the key {key!r}")
        found[key] = value
    return found


def render(template: Path, values: Mapping[str, Any], verdicts: Mapping[str, Verdict]) -> str:
    """Render the page.

    Raises PageError for a missing value, and for a table's row longer than WIDEST_ROW.
    """
    shown = Verdicts(verdicts)
    environment = Environment(
        loader=FileSystemLoader([template.parent, ROOT / "samples/kit"]),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown of our own
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"f": fixed, "listed": listed, "percent": percent, "spread": spread}
    environment.globals |= {
        "finding": shown,
        "counts": shown.counts,
        "table": table,
        "least": LEAST,
        "near": NEAR,
        "limit": spearman_limit,
    }
    text = environment.get_template(template.name).render(values)
    shown.check()
    wide = [line for line in text.splitlines() if line.startswith("|") and len(line) > WIDEST_ROW]
    if wide:
        raise PageError(f"rows above {WIDEST_ROW} characters: {wide[0][:60]}…")
    return text


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; numbers are aligned right, and None is a dash."""
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
    """Write the number with `digits` decimals; a dash for None."""
    return "-" if number is None else f"{number:,.{digits}f}"


def percent(share: float, digits: int = 0) -> str:
    """Write a share between 0 and 1 as in `12 %`."""
    return f"{100 * share:.{digits}f} %"


def listed(words: Iterable[Any]) -> str:
    """Join words as in `a, b and c`."""
    texts = [str(word) for word in words]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def spread(values: Iterable[float], digits: int = 2) -> str:
    """Write the least and the most as in `1.20 to 2.05`; a single value stands alone."""
    ends = sorted(values)
    texts = dict.fromkeys(fixed(value, digits) for value in (ends[0], ends[-1]))
    return " to ".join(texts)
