"""Write docs/accuracy.md, and docs/accuracy/ with all rows: tracelens' results beside the truth.

    make accuracy

Counts of raw events take longest and stay the same, so they are kept in counts.json.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tracelens as tl
from samples.accuracy import blind, coverage, jobs, nsys_costs, predictions, turns
from samples.accuracy.independent_count import count
from samples.accuracy.raw_events import read
from tracelens.analyses import ANALYSES
from tracelens.errors import TracelensError

SAMPLES = Path(__file__).resolve().parents[1]
PAGE = SAMPLES.parent / "docs" / "accuracy.md"
ROWS = SAMPLES.parent / "docs" / "accuracy"
COUNTS = Path(__file__).parent / "counts.json"
KNOWN_WRONG: dict[str, str] = json.loads((Path(__file__).parent / "known_wrong.json").read_text())
"""Reasons why a verdict is not right, by the row's name.

A row that turns right must leave this list.
"""
PLANTED = SAMPLES / "planted" / "captures"
CONSTRUCTED = SAMPLES / "planted" / "constructed"
_TIE = 0.02
"""Two counted parts are equally large if they differ by less."""
_SHARE = 0.03
"""A verdict's share may differ by this much from the construction's."""
BY_CONSTRUCTION = {
    "graphs/vit_capture.pt.trace.json.gz": ("too little to judge", "the capture of a graph"),
    "graphs/vit_capture_batch4.pt.trace.json.gz": (
        "too little to judge",
        "the capture of a graph",
    ),
    "ranks rank 0": ("input", "its data loader is slow"),
    "ranks rank 1": ("waiting", "rank 0's data loader is slow"),
}
"""Expected bound of the captures that no truth.json describes, and the reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: a capture's known bound, its verdict, and the grade of the verdict."""

    name: str
    known: str
    verdict: str
    grade: str

    @property
    def line(self) -> str:
        """The row as a line of Markdown."""
        why = (
            f": {KNOWN_WRONG[self.name]}"
            if self.grade != "right" and self.name in KNOWN_WRONG
            else ""
        )
        return f"| {self.name} | {self.known} | {self.verdict} | {self.grade}{why} |"


def share(part: str, value: float | None) -> str:
    """Write a part with its share in whole per cent."""
    return part if value is None else f"{part} {value:.0%}"


def said(verdict: dict[str, Any]) -> str:
    """Write the bound and the second part, each with its share."""
    words = share(verdict["bound"], verdict["value"])
    if verdict["second"]:
        words += f", then {share(verdict['second'], verdict['second_frac'])}"
    return words


# Traces that are worked out


def constructed_truths() -> dict[str, dict[str, Any]]:
    """Read the known truth of each trace of construct.py, by name."""
    truths: dict[str, dict[str, Any]] = json.loads((CONSTRUCTED / "truth.json").read_text())
    return truths


def constructed_row(name: str, truth: dict[str, Any], trace: tl.Trace) -> Row:
    """Return the row of one trace of construct.py."""
    known = share(
        truth["bound"].replace("|", " or "),
        truth.get("share"),
    )
    try:
        frame = tl.analyses.verdict(trace)
    except TracelensError as error:
        words, failed = f"none: {type(error).__name__}", ["bound"]
    else:
        verdict = frame.row(0, named=True)
        notes = ANALYSES["verdict"].notes(trace, frame)
        words = said(verdict)
        failed = failures(
            truth, verdict, " ".join([verdict["evidence"], verdict["caveat"] or "", *notes])
        )
    grade = "wrong" if "bound" in failed else "partly" if failed else "right"
    if failed and grade == "partly":
        words += f" (not: {', '.join(failed)})"
    return Row(name, f"{known}. {truth['why']}", words, grade)


def failures(truth: dict[str, Any], verdict: dict[str, Any], text: str) -> list[str]:
    """Name the checks that find a difference between verdict and truth.

    `text` is the evidence and the notes of the report.
    """
    checks = {
        "bound": verdict["bound"] in truth["bound"].split("|"),
        "share": "share" not in truth or abs((verdict["value"] or 0) - truth["share"]) <= _SHARE,
        "second": "second" not in truth or verdict["second"] == truth["second"],
        "step": "step_ms" not in truth
        or abs((verdict["step_ns"] or 0) / 1e6 - truth["step_ms"]) <= 0.01 * truth["step_ms"],
        "says": "says" not in truth or re.search(truth["says"], text) is not None,
        "advice": "says_not" not in truth or re.search(truth["says_not"], text) is None,
    }
    return [name for name, holds in checks.items() if not holds]


# Programs with one planted cause


def planted_truths() -> list[dict[str, Any]]:
    """Read the known truth of each capture of a planted program."""
    captures: list[dict[str, Any]] = json.loads((PLANTED / "truth.json").read_text())["captures"]
    return captures


def planted_row(truth: dict[str, Any], verdict: dict[str, Any]) -> Row:
    """Return the row of one rank of a capture: its bound, and the code named for it.

    If the truth has a second part, the code is named for this part.
    """
    bound = truth["bound"].replace("|", " or ")
    known = f"{bound}, then {truth['cause']}" if truth["cause"] else bound
    is_right = verdict["bound"] in truth["bound"].split("|")
    if truth["cause"] and verdict["bound"] == "compute":
        is_right = verdict["second"] == truth["cause"]
    is_placed = bool(truth["cause"] or re.search(truth["what"], verdict["what"] or ""))
    grade = "wrong" if not is_right else "right" if is_placed else "partly"
    place = f" in `{_short(verdict['what'])}`" if verdict["what"] else ""
    return Row(
        truth["file"].removesuffix(".pt.trace.json.gz"),
        known,
        said(verdict) + place,
        grade,
    )


def planted_rows() -> Iterator[Row]:
    """Return one row per rank of each capture; the ranks of one run are read together."""
    runs: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for truth in planted_truths():
        runs.setdefault((truth["program"], truth["stacks"]), []).append(truth)
    for truths in runs.values():
        trace = tl.collect([PLANTED / truth["file"] for truth in truths])
        verdicts = tl.analyses.verdict(trace).rows_by_key("rank", named=True, unique=True)
        for truth in truths:
            yield planted_row(truth, verdicts[truth["rank"]])


def _short(place: str) -> str:
    """Shorten the name of a piece of code to 60 characters that a table's cell may hold."""
    plain = place.replace("|", "/").replace("`", "'")
    return plain if len(plain) <= 60 else plain[:30] + "…" + plain[-29:]


# Captures of which raw events are counted


def captures_of(group: str) -> list[Path]:
    """List a group's files and folders that contain device work."""
    folder = SAMPLES / group
    candidates = [
        *folder.glob("captures/*.tracelens"),
        *folder.glob("*.pt.trace.json.gz"),
        *folder.glob("*.sqlite"),
    ]
    return sorted(
        path for path in candidates if path.suffix != ".tracelens" or (path / "kernels").exists()
    )


def groups() -> list[str]:
    """Return the folders of samples with captures of device work, without the planted programs."""
    folders = (folder.name for folder in SAMPLES.iterdir() if folder.is_dir())
    return sorted(name for name in folders if name != "planted" and captures_of(name))


def name_of(path: Path) -> str:
    """Return the capture's name in the table."""
    return path.relative_to(SAMPLES).as_posix().replace("/captures/", "/")


def counted_rows(group: str, counts: dict[str, dict[str, float]], nth: int = 1) -> Iterator[Row]:
    """Return one row per capture of a group; the ranks of samples/ranks are read together.

    With `nth`, only the first and each `nth` capture after it are read.
    """
    if group == "ranks":
        for verdict in tl.analyses.verdict(tl.collect(SAMPLES / group)).to_dicts():
            rank = verdict["rank"]
            yield counted_row(
                f"ranks rank {rank}", counts[f"ranks/rank{rank}.pt.trace.json.gz"], verdict
            )
        return
    for path in captures_of(group)[::nth]:
        trace = tl.open(path) if path.suffix == ".tracelens" else tl.collect(path)
        yield counted_row(
            name_of(path),
            counts[name_of(path)],
            tl.analyses.verdict(trace).row(0, named=True),
        )


def counted_row(name: str, count: dict[str, float], verdict: dict[str, Any]) -> Row:
    """Return the row of a capture with a known largest part, counted or by construction."""
    known = ", ".join(share(part, value) for part, value in list(count.items())[:2])
    if name in BY_CONSTRUCTION:
        bound, why = BY_CONSTRUCTION[name]
        grade = "right" if verdict["bound"] == bound else "wrong"
        return Row(
            name,
            f"{bound}: {why} (counted: {known})",
            said(verdict),
            grade,
        )
    largest = max(count.values())
    first = {part for part, value in count.items() if value >= largest - _TIE}
    rest = [part for part in count if part not in first]
    named = {verdict["bound"], "launch or host" if verdict["bound"] in {"launch", "host"} else ""}
    grade = "right" if named & first else "partly" if named & set(rest[:1]) else "wrong"
    return Row(name, known, said(verdict), grade)


def make_counts() -> dict[str, dict[str, float]]:
    """Count the share of time of each part in every capture's raw events, rounded."""
    counts = {}
    for group in groups():
        for path in captures_of(group):
            shares = count(read(path)) or {}
            counts[name_of(path)] = {part: round(value, 3) for part, value in shares.items()}
    return counts


# The page


_MADE = "<!-- Written by samples/accuracy/accuracy_page.py (`make accuracy`); a test fails when a row changes. -->"
_SUMMARY = """\
# How often verdicts and predictions are right

{made}

The tables compare what is known of captures and programs with what tracelens says of them. Wrong answers stay in them.

## What limits a step

{verdicts}

*Right*: the verdict names the largest part of the step. *Partly*: it names the largest part, but its share is off by
more than three points, or the place, the step's time or the advice is wrong; or, if parts were counted, it names the
second largest. *Wrong*: anything else. [All captures](accuracy/verdicts.md).

## How long a step takes without the profiler, and after a change

{predictions}

*Own* programs are this project's, and its constants were fitted on half of them. For a blind judgement, new programs
and the rules for judging them were written before any of the programs had run. Of several judgements, the last one
that has the row is shown. *A turn of the same programs* is predicted by the program's other turns. It shows how steady
the host was: on such a host, no prediction can be expected to come nearer. The twelfth and thirteenth judgements took
what they compare within seconds, from a process that never recorded and from the *same process* before and after its
recording. The host rarely kept its speed that long: by their rules there were too few rows under nsys, and live
captures missed the 90th percentile, by 3 points. [All blind
judgements](accuracy/blind.md). Rows of our own programs: [steps and changes](accuracy/predictions.md), [changes timed
in turns, batch sizes and jobs](accuracy/turns.md), [steps under nsys](accuracy/nsys.md).

## What the roofline knows

{coverage} Operations equal those that PyTorch counts.
[All captures and operations](accuracy/roofline.md).
"""
_VERDICTS = """\
# What is known of captures, and what the verdict says

{made}

The tables have every bundled capture with device work, and every planted program. A row that is not right is listed
with its reason in [known_wrong.json](../../samples/accuracy/known_wrong.json), and must leave that list when it turns
right.
"""
_TITLES = {
    "blind": "Programs judged blind",
    "predictions": "Steps and changes of our own programs",
    "turns": "Changes timed in turns, batch sizes and jobs",
    "nsys": "Steps under nsys",
    "roofline": "What the roofline knows",
}
"""Titles of the pages of rows beside that of verdicts, by file name."""

_SECTIONS = {
    "Constructed traces": (
        "These traces are of kinds that public traces have. [construct.py](../../samples/planted/construct.py)"
        " works them out event by event, so the cause and its share follow from the construction."
    ),
    "Planted programs": (
        "Captures of programs with one planted cause each; see [samples/planted](../../samples/planted/README.md)."
        " The place that the verdict names is right if it is in the planted code."
    ),
    "Other captures": (
        "Their cause is not known by construction, unless the row says so. It is counted from the raw events by"
        " [independent_count.py](../../samples/accuracy/independent_count.py), which shares no code with the"
        " analyses. Time counts as computing if kernels run, else as communication, else as copies. In a gap,"
        " it counts as what the launching thread did until the call that ended the gap. Shares are of recorded"
        " time, or of the step's time without the profiler if the capture has it. If a capture has no steps,"
        " start-up counts, too."
    ),
}


def pages(counts: dict[str, dict[str, float]]) -> dict[Path, str]:
    """Return all pages by file: the summary, and the rows."""
    sections = {
        "Constructed traces": [
            constructed_row(name, truth, tl.collect(CONSTRUCTED / f"{name}.pt.trace.json.gz"))
            for name, truth in constructed_truths().items()
        ],
        "Planted programs": list(planted_rows()),
        "Other captures": [row for group in groups() for row in counted_rows(group, counts)],
    }
    head = "| Capture | Known | The verdict | |\n| --- | --- | --- | --- |"
    verdicts = [
        "\n".join([f"## {title}\n\n{_SECTIONS[title]}\n", head, *(row.line for row in rows)])
        for title, rows in sections.items()
    ]
    predicted = own()
    covered = list(coverage.rows())
    short = _SUMMARY.format(
        made=_MADE,
        verdicts=summary(sections),
        predictions=blind.latest(predicted),
        coverage=coverage.sentence(covered),
    )
    parts = {
        "blind": [blind.section(predicted)],
        "predictions": [predictions.page()],
        "turns": [turns.section(), jobs.section()],
        "nsys": [nsys_costs.section()],
        "roofline": [coverage.section(covered), operations()],
    }
    pages = {
        ROWS / f"{name}.md": _joined([f"# {_TITLES[name]}", _MADE, *parts[name]]) for name in parts
    }
    of_verdicts = _joined([_VERDICTS.format(made=_MADE), *verdicts])
    return {PAGE: short, ROWS / "verdicts.md": of_verdicts} | pages


def _joined(parts: list[str]) -> str:
    """Join parts of a page by empty lines."""
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def own() -> dict[str, list[predictions.Predicted]]:
    """Return predictions of the project's own programs by kind."""
    changed = [row for row in predictions.change_rows() if not isinstance(row, str)]
    in_turns = [pair[0] for pair in turns.turn_rows() if not isinstance(pair, str)]
    return {
        "trace": predictions.step_rows(),
        "nsys": nsys_costs.predicted(),
        "change": [*changed, *in_turns],
    }


def operations() -> str:
    """Return the section on operations that PyTorch counts."""
    from samples.accuracy.operations import section  # noqa: PLC0415 - the other ones need no torch

    return section()


def summary(sections: dict[str, list[Row]]) -> str:
    """Count right, partly right and wrong verdicts by section."""
    lines = ["| | right | partly | wrong |", "| --- | ---: | ---: | ---: |"]
    for title, rows in sections.items():
        n = Counter(row.grade for row in rows)
        lines.append(f"| {title} | {n['right']} | {n['partly']} | {n['wrong']} |")
    return "\n".join(lines)


def main() -> None:
    """Count raw events where a capture is new, or all with --count, and write the page."""
    counts = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    names = {name_of(path) for group in groups() for path in captures_of(group)}
    if counts.keys() != names or "--count" in sys.argv:
        counts = make_counts()
        COUNTS.write_text(json.dumps(counts, indent=1) + "\n")
    ROWS.mkdir(exist_ok=True)
    for file, text in pages(counts).items():
        file.write_text(text)


if __name__ == "__main__":
    main()
