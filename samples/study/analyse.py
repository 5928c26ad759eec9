"""Write the study's page from its captures: `python samples/study/analyse.py`.

Reads samples/study/captures (what run.py wrote: traces, measurements.csv, versions.json) and writes
docs/abstraction_study.md with its charts. Every sentence with a number is made from the captures
and from paper.py.
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
import points
import polars as pl
import relu
import sweeps
from page import Finding, Section, table

import tracelens as tl

ROOT = Path(__file__).resolve().parents[2]
NOTICE = (
    "<!-- Written by samples/study/analyse.py from samples/study/captures; edit those instead. -->"
)
TITLE = "# What abstraction costs today: ResNet-50 at five levels"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--captures", type=Path, default=ROOT / "samples/study/captures")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/abstraction_study.md")
    options = parser.parse_args()
    captures = {
        folder.stem: tl.open(folder) for folder in sorted(options.captures.glob("*.tracelens"))
    }
    about = json.loads((options.captures / "versions.json").read_text())
    measurements = read_measurements(options.captures / "measurements.csv")
    made = sections(captures, measurements, read_measurements(options.captures / "ncu_relu.csv"))
    folder = options.page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for figure in (figure for section in made for figure in section.figures):
        figure.chart.save(folder / f"{figure.name}.svg")
    options.page.write_text(page(made, about, folder.name, measurements))


def read_measurements(path: Path) -> pl.DataFrame | None:
    """The measurements in the file, a row for each point or kernel; null where there is no such file."""
    return pl.read_csv(path, schema_overrides={"checksum": pl.Float64}) if path.is_file() else None


def sections(
    captures: Mapping[str, tl.Trace],
    measurements: pl.DataFrame | None,
    counters: pl.DataFrame | None,
) -> list[Section]:
    """The sections of the page."""
    return [
        depth.section(captures),
        copies.section(captures),
        relu.section(captures, counters),
        sweeps.section(measurements),
    ]


def page(
    made: Sequence[Section],
    about: Mapping[str, Any],
    folder: str,
    measurements: pl.DataFrame | None = None,
) -> str:
    """The page as Markdown; `folder`: where its charts lie."""
    findings = [finding for section in made for finding in section.findings]
    parts = [TITLE, NOTICE, _introduction(about), *summary(findings, measurements)]
    parts += ["## What holds today, and what does not", verdicts(findings)]
    for section in made:
        parts += [f"## {section.title}", *section.blocks]
        parts += [
            f"![{f.caption}]({folder}/{f.name}.svg)\n\n*{f.caption}*" for f in section.figures
        ]
    return "\n\n".join([*parts, NOT_MEASURED, "## Commands", _commands(about["commands"])]) + "\n"


def verdicts(findings: Sequence[Finding]) -> str:
    """The paper's findings beside today's."""
    words = {True: "holds", False: "**no longer**", None: "cannot be told"}
    rows = [[f.claim, f"{f.then} ({f.where})", f.now, words[f.holds], f.why] for f in findings]
    return table(["finding", "there (torch 1.7)", "here (H200, torch 2.11)", "", "why"], rows)


def summary(findings: Sequence[Finding], measurements: pl.DataFrame | None) -> list[str]:
    """The answer in a few sentences, from the captures; nothing without measurements."""
    measured = None if measurements is None else points.per_image(measurements)
    gap, large = (
        measured is not None and points.ratio(measured, at) for at in (points.HERE, (512, 64))
    )
    if not gap or not large:
        return []
    n = {held: sum(f.holds is held for f in findings) for held in (True, False, None)}
    said = (
        f"In short: PyTorch takes {gap} times as long as LibTorch for a batch of 32 images of 64×64"
        f" and {large} times for 512. What Python adds is time to launch kernels, which shows where"
        " kernels are short. The paper's larger gap is in part training time that its program adds"
        " to the evaluation; its doubled copy and grid are likely a doubled batch. Of its findings"
        f" below {n[True]} hold today, {n[False]} no longer do, and of {n[None]} it cannot be told:"
        " their spreads overlap, or what was compared is not alike."
    )
    return [said]


NOT_MEASURED = """## What was not measured

- Accuracy over 100 epochs on MNIST, CIFAR10, STL10 and PASCAL (the paper's Figures 6 and 14): our batches are made by a
  hash, and nothing is learnt from them.
- That PyTorch's initialisation is "not documented and not configurable" (section 4): a question of documents, and
  with it why the paper's cuDNN program learnt less.
- Training on bare cuDNN: our program has no backward pass. The paper's cuDNN values of training are in the table.
- Data loaders. The published PyTorch program decodes JPEG files in one worker, the published LibTorch program loads
  them beforehand; ours hold one batch in memory, at every level.
- The paper's hardware and versions: nothing here says what torch 1.7 does on an H200, or torch 2.11 on a V100.
- The spread of the paper's numbers, which are means of 10 runs. A verdict here rests on the quartiles of ours alone.
- The spread of memory and utilisation: each is one reading a point, so a verdict on memory rests on how many points
  agree, and is given only where all do.
- Batch 8 to 1024 at every resolution: the table says at which points we measured."""


def _introduction(about: Mapping[str, Any]) -> str:
    versions = about["versions"]
    return (
        f"{paper.CITATION}, compared PyTorch, LibTorch, TorchScript and a program on cuDNN. This"
        " page repeats its measurements with today's software, and with torch.compile, which came"
        " later. The programs and how they were captured are in"
        " [samples/study](../samples/study/README.md); the page is made from the captures there by"
        " `make study`. Its numbers are the captures', each named beside its table; the paper's"
        " are quoted, with the section or figure they stand in, and the values behind its Figures"
        f" 7 to 13 are those of {paper.PROGRAMS}.\n\nThere: {paper.HARDWARE}. Here: one NVIDIA H200"
        " with 16 cores of an Intel Xeon, in November 2026;"
        f" {', '.join(f'{name} {version}' for name, version in versions.items())}. Heights do not"
        " compare across such machines; ratios and orders within one may."
    )


def _commands(commands: Sequence[Mapping[str, Any]]) -> str:
    """What took each capture, and what became of those that gave none."""
    failed = [
        f"- `{job['name']}`: {job['outcome']}" for job in commands if job["outcome"] != "exit 0"
    ]
    lines = "\n".join(job["command"] for job in commands)
    missing = "\n\nWithout a result:\n\n" + "\n".join(failed) if failed else ""
    return (
        "Run from the repository's root, by `python"
        f" samples/study/run.py`:\n\n```\n{lines}\n```{missing}"
    )


if __name__ == "__main__":
    main()
