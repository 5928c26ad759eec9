"""What the sections of the study's page are made of: Markdown, findings and charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

NAMES = {
    "eager": "PyTorch eager",
    "compile": "torch.compile",
    "torchscript": "TorchScript",
    "libtorch": "LibTorch",
    "cudnn": "cuDNN",
}
COLORS = ("#4c78a8", "#d6a90e", "#f58518", "#54a24b", "#e45756")


@dataclass(frozen=True)
class Finding:
    """A statement of the paper, what it rests on there and here, and whether it still holds; null: not to be told.

    `where`: the paper's section or figure. `why`: what the verdict rests on, or the cause of a
    difference, with the capture that shows it.
    """

    claim: str
    where: str
    then: str
    now: str
    holds: bool | None
    why: str = ""

    def __post_init__(self) -> None:
        """Refuse a difference that nothing explains."""
        if self.holds is False and not self.why:
            raise ValueError(f"no reason is given why this holds no longer: {self.claim}")


@dataclass(frozen=True)
class Figure:
    """A chart under the name of its file, with the sentence below it."""

    name: str
    chart: alt.TopLevelMixin
    caption: str


@dataclass
class Section:
    """One section of the page: paragraphs and tables in Markdown, charts after them."""

    title: str
    blocks: list[str] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; numbers stand on the right, and what is null is a dash."""
    kept = [["-" if cell is None else cell for cell in row] for row in rows]
    is_number = [
        any(isinstance(row[i], int | float) or _numeric(row[i]) for row in kept)
        for i in range(len(headings))
    ]
    lines = [headings, ["---:" if right else "---" for right in is_number], *kept]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _numeric(cell: Any) -> bool:
    return (
        isinstance(cell, str)
        and cell[:1].isdigit()
        and cell.replace(",", "").replace(".", "").isdigit()
    )


def _cell(cell: Any) -> str:
    return str(cell).replace("|", "\\|")


def count(number: float, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number:g} {noun}" if number == 1 else f"{number:g} {noun}s"


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def level_color(levels: Iterable[str]) -> alt.Color:
    """The same colour for a level in every chart, in the order of the levels."""
    names = [name for level, name in NAMES.items() if level in set(levels)]
    colors = [color for name, color in zip(NAMES.values(), COLORS, strict=True) if name in names]
    legend = alt.Legend(orient="top", symbolType="circle")
    return alt.Color(
        "level:N", title=None, scale=alt.Scale(domain=names, range=colors), legend=legend
    )
