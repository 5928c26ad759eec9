"""Write the cross-layer page from the bundled captures: `python samples/cross_layer/analyse.py`.

Reads the captures in samples/ and writes docs/cross_layer.md with its charts. Every number is made
from the captures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# The pieces of a page are the abstraction study's.
sys.path.append(str(ROOT / "samples/study"))

import gains  # noqa: E402
import review  # noqa: E402
import shared  # noqa: E402
import spread  # noqa: E402
from page import Finding, Section, table  # noqa: E402
from runs import Run, by_key, read  # noqa: E402

NOTICE = (
    "<!-- Written by samples/cross_layer/analyse.py from the captures in samples/; edit those"
    " instead. -->"
)
TITLE = "# Which operations and libraries carry deep learning"
WORDS = {True: "yes", False: "**no**", None: "in part"}


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--samples", type=Path, default=ROOT / "samples")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/cross_layer.md")
    options = parser.parse_args()
    made = make(read(options.samples))
    about = json.loads((options.samples / "cross_layer/captures/versions.json").read_text())
    folder = options.page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for figure in (figure for section in made for figure in section.figures):
        figure.chart.save(folder / f"{figure.name}.svg")
    options.page.write_text(page(made, about, folder.name))


def make(runs: Sequence[Run]) -> list[Section]:
    """The sections of the page."""
    known = by_key(runs)
    return [
        spread.families(runs),
        spread.few(runs),
        spread.ops(known),
        shared.shared(runs),
        gains.what_if(runs),
        gains.sources(known),
        gains.not_measured(),
    ]


def page(made: Sequence[Section], about: Mapping[str, Any], folder: str) -> str:
    """The page as Markdown; `folder`: where its charts lie."""
    findings = [finding for section in made for finding in section.findings]
    parts = [
        TITLE,
        NOTICE,
        answer(findings),
        introduction(about),
        "## The claims",
        verdicts(findings),
    ]
    for section in made:
        parts += [f"## {section.title}", *section.blocks]
        parts += [
            f"![{f.caption}]({folder}/{f.name}.svg)\n\n*{f.caption}.*" for f in section.figures
        ]
    commands = "\n".join(job["command"] for job in about["commands"])
    taken = (
        "Those of BERT and Llama were taken by `python samples/cross_layer/language.py --out OUT`,"
        " which runs"
    )
    others = (
        "The others are those of [the abstraction study](abstraction_study.md), [the"
        " thesis](thesis.md), [samples/torch](../samples/torch/README.md) and"
        " [samples/nsys](../samples/nsys/README.md), each with its commands."
    )
    return "\n\n".join([*parts, "## Commands", taken, f"```\n{commands}\n```", others]) + "\n"


def answer(findings: Sequence[Finding]) -> str:
    """The claims in a list, each with what it is taken apart into, a verdict on each part, and what says so."""
    lines = []
    for number, (claim, parts) in enumerate(review.CLAIMS.items(), 1):
        lines.append(f"{number}. *{claim}.*")
        told = [finding for finding in findings if finding.claim in parts]
        lines += [f"   - {_capital(f.claim)}: {WORDS[f.holds]}. {_capital(f.now)}." for f in told]
    return "\n".join(lines)


def _capital(text: str) -> str:
    return text if text.startswith("torch") else text[0].upper() + text[1:]


def verdicts(findings: Sequence[Finding]) -> str:
    """Where the review claims what, and what each verdict rests on."""
    claims = {part: claim for claim, parts in review.CLAIMS.items() for part in parts}
    rows = [[claims[f.claim], f.claim, f.where, f.then, WORDS[f.holds], f.why] for f in findings]
    return table(["claim", "of it", "in the review", "there", "here", "why"], rows)


def introduction(about: Mapping[str, Any]) -> str:
    """The pairs of captures that are compared."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"{review.CITATION}, holds that deep learning rests on few linear algebra operations in"
        f" libraries that frameworks share. There: {review.HARDWARE}. This page gives the claims"
        " numbers, from captures of one NVIDIA H200 in October and November 2026 (of those of BERT"
        f" and Llama: {versions}; of the others, on their own pages, the same torch). They are made"
        " by the analyses [cross_layer and compare_cross_layer](analyses.md#cross_layer), and the"
        " page by `make cross-layer`."
    )


if __name__ == "__main__":
    main()
