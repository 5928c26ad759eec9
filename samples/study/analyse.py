"""Write the study's page from its captures: `python samples/study/analyse.py`.

Reads samples/study/captures (what run.py wrote: traces, measurements.csv, versions.json) and writes
docs/abstraction_study.md with its charts. Every sentence with a number is made from the captures and from paper.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import copies
import depth
import paper
import polars as pl
import relu
import sweeps
from page import Finding, Section, table

import tracelens as tl

ROOT = Path(__file__).resolve().parents[2]
NOTICE = "<!-- Written by samples/study/analyse.py from samples/study/captures; edit those instead. -->"
TITLE = "# What abstraction costs today: ResNet-50 at five levels"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--captures", type=Path, default=ROOT / "samples/study/captures")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/abstraction_study.md")
    options = parser.parse_args()
    captures = {folder.stem: tl.open(folder) for folder in sorted(options.captures.glob("*.tracelens"))}
    about = json.loads((options.captures / "versions.json").read_text())
    made = sections(captures, read_measurements(options.captures / "measurements.csv"))
    folder = options.page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for figure in (figure for section in made for figure in section.figures):
        figure.chart.save(folder / f"{figure.name}.svg")
    options.page.write_text(page(made, about, folder.name))


def read_measurements(path: Path) -> pl.DataFrame | None:
    """measurements.csv; null where there is none."""
    return pl.read_csv(path, schema_overrides={"checksum": pl.Float64}) if path.is_file() else None


def sections(captures: Mapping[str, tl.Trace], measurements: pl.DataFrame | None) -> list[Section]:
    """The sections of the page."""
    return [depth.section(captures), copies.section(captures), relu.section(captures), sweeps.section(measurements)]


def page(made: Sequence[Section], about: Mapping[str, Any], folder: str) -> str:
    """The page as Markdown; `folder`: where its charts lie."""
    findings = [finding for section in made for finding in section.findings]
    parts = [TITLE, NOTICE, _introduction(about), "## What holds today, and what does not", verdicts(findings)]
    for section in made:
        parts += [f"## {section.title}", *section.blocks]
        parts += [f"![{f.caption}]({folder}/{f.name}.svg)\n\n*{f.caption}*" for f in section.figures]
    return "\n\n".join([*parts, "## Commands", _commands(about["commands"])]) + "\n"


def verdicts(findings: Sequence[Finding]) -> str:
    """The paper's findings beside today's."""
    words = {True: "holds", False: "**no longer**", None: "cannot be told"}
    return table(["finding", "there", "here", ""], [[f.claim, f.then, f.now, words[f.holds]] for f in findings])


def _introduction(about: Mapping[str, Any]) -> str:
    versions = about["versions"]
    return (
        f"{paper.CITATION}, compared PyTorch, LibTorch, TorchScript and a program on cuDNN. This page repeats its "
        "measurements with today's software, and with torch.compile, which came later. The programs and how they were "
        "captured are in [samples/study](../samples/study/README.md); the page is made from the captures there by "
        "`make study`. Its numbers are the captures'; the paper's are quoted.\n\n"
        f"Versions: {', '.join(f'{name} {version}' for name, version in versions.items())}."
    )


def _commands(commands: Sequence[Mapping[str, Any]]) -> str:
    """What took each capture, and what became of those that gave none."""
    failed = [f"- `{job['name']}`: {job['outcome']}" for job in commands if job["outcome"] != "exit 0"]
    lines = "\n".join(job["command"] for job in commands)
    missing = "\n\nWithout a result:\n\n" + "\n".join(failed) if failed else ""
    return f"Run from the repository's root, by `python samples/study/run.py`:\n\n```\n{lines}\n```{missing}"


if __name__ == "__main__":
    main()
