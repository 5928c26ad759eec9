"""Write the documentation site's sources: this repository's pages, printed answers, and reports.

    python -m tools.site [FOLDER]

The sources are written to build/site-source or FOLDER, from which mkdocs builds the site. A line
`<!-- answer: CAPTURE [against BASE] -->` of a page is replaced by the output of `tracelens` for
these captures. `<!-- gallery -->` is replaced by a table with a report for each cause.
"""

from __future__ import annotations

import re
import shutil
import sys
from functools import partial
from pathlib import Path

import tracelens as tl
from tracelens.answers import make_answer
from tracelens.report import build_report
from tracelens.trace import Trace
from tracelens.views.answer_text import answer_text
from tracelens.views.page import to_html

ROOT = Path(__file__).parents[1]
REPORTS = "docs/site/reports"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "docs/site/*.css")
CAPTURE = "samples/planted/captures/{}.pt.trace.json.gz"
GALLERY = {
    "computing": CAPTURE.format("compute_matmul"),
    "launches": CAPTURE.format("launch_tiny_kernels.stacks"),
    "input": CAPTURE.format("input_main_process.stacks"),
    "copies": CAPTURE.format("copy_pageable"),
    "waits for the device": CAPTURE.format("sync_item.stacks"),
    "allocation": CAPTURE.format("alloc_empty_cache.stacks"),
    "loading and compiling": CAPTURE.format("loading_recompiles"),
    "the program's other work": CAPTURE.format("host_sleep.stacks"),
    "two stages that take turns": CAPTURE.format("dependency_stages"),
    "another rank": "samples/ranks",
    "too little work": CAPTURE.format("little_work"),
}
"""Causes that can limit a program, each with a capture of a program with this cause."""
LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
"""Matches a link in Markdown: its text, its target, and the anchor in the target."""
ANSWER = re.compile(r"^<!-- answer: (\S+)(?: against (\S+))? -->$", re.MULTILINE)


def main(folder: Path) -> None:
    """Write the sources into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for file in files():
        target = folder / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            text = LINK.sub(
                partial(_to_page, file),
                file.read_text(encoding="utf-8"),
            )
            target.write_text(_filled(text, folder))
        else:
            shutil.copyfile(file, target)


def files() -> list[Path]:
    """Return the site's pages and all files that they link to, sorted by path."""
    waiting = [page for pattern in PAGES for page in ROOT.glob(pattern)]
    linked_files: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file not in linked_files and file.suffix == ".md":
            links = LINK.findall(file.read_text(encoding="utf-8"))
            waiting += filter(
                None,
                (linked(file, link) for _, link, _ in links),
            )
        linked_files.add(file)
    return sorted(linked_files)


def linked(page: Path, link: str) -> Path | None:
    """Return the file of this repository that a link leads to; None if it leads elsewhere.

    A link to a folder leads to the folder's README if there is one.
    """
    if "://" in link or link.startswith("mailto:"):
        return None
    file = (page.parent / link).resolve()
    file = file / "README.md" if file.is_dir() else file
    return file if file.is_file() and file.is_relative_to(ROOT) else None


def _to_page(page: Path, match: re.Match[str]) -> str:
    """Return a link to a folder as a link to the folder's page.

    If the folder has no page, return only the link's text. Other links stay unchanged.
    """
    text, link, place = match[1], match[2], match[3] or ""
    if "://" in link or not (page.parent / link).is_dir():
        return match[0]
    if linked(page, link) is None:
        return text
    return f"[{text}]({link.rstrip('/')}/README.md{place})"


def unfolded(text: str) -> str:
    """Return the text such that mkdocs, like GitHub, renders Markdown inside `<details>`."""
    return text.replace("<details>", '<details markdown="1">')


def _filled(text: str, folder: Path) -> str:
    """Replace the marks for answers and the gallery, and write the linked reports."""
    text = unfolded(text)
    text = ANSWER.sub(
        lambda match: _answer(match[1], match[2], folder),
        text,
    )
    return (
        text.replace("<!-- gallery -->", _gallery(folder)) if "<!-- gallery -->" in text else text
    )


def _answer(source: str, base: str | None, folder: Path) -> str:
    """Return a command, its output, and a link to the page of the same captures."""
    trace = tl.collect(ROOT / source)
    other = None if base is None else tl.collect(ROOT / base)
    command = (
        f"tracelens {source}" if base is None else f"tracelens report {source} --against {base}"
    )
    answer = answer_text(make_answer(trace, other))
    name = _report(trace, other, folder)
    return f"```console\n$ {command}\n{answer}```\n\n[The whole report]({name})\n"


def _report(trace: Trace, base: Trace | None, folder: Path) -> str:
    """Write the page of a trace or a comparison; return its path relative to the site's pages."""
    compared = [each for each in (trace, base) if each is not None]
    name = "-against-".join(each.name.partition(".")[0] for each in compared)
    file = folder / REPORTS / f"{name}.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(to_html(build_report(trace, base)), encoding="utf-8")
    return f"reports/{name}.html"


def _gallery(folder: Path) -> str:
    """Return a table of causes of slow steps. Each row links to the report of an example."""
    lines = ["| what limits the program | report |", "| --- | --- |"]
    for cause, source in GALLERY.items():
        trace = tl.collect(ROOT / source)
        sentence = make_answer(trace).sentence.replace("|", "\\|")
        lines.append(f"| {cause} | [{sentence}]({_report(trace, None, folder)}) |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site-source")
