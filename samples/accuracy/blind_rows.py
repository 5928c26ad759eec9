"""Rows of the blind judgements, as lines of tables and as errors."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from samples.accuracy.predictions import Predicted

ROWS = Path(__file__).resolve().parents[1] / "blind"
_BOTH = 2
"""Turns of a live capture's truth, before and after it; more alternate with it."""
SMALL_CHANGE = 0.05
"""If a step changes by less, the change has no sign."""
_LATER = ("after", "fresh")
"""Steps of a program after its recording, and in a process that never profiled."""
Rows = list[dict[str, Any]]


@cache
def rows(name: str) -> Rows:
    """Return the rows of a judgement."""
    return [json.loads(line) for line in (ROWS / f"{name}.jsonl").read_text().splitlines()]


def said(row: dict[str, Any], what: str) -> Predicted:
    """Return a row as a prediction of `what`: "truth" or "factor". Its group is not set yet."""
    of_factor = what == "factor"
    predicted = row["said"] / row["said_before"] if of_factor else row["said"] or row["recorded"]
    # "No clear gain" is no wrong sign.
    has_sign = True
    if (
        row["kind"] == "change"
        and row.get("clear", True)
        and abs(row["factor"] - 1) >= SMALL_CHANGE
    ):
        has_sign = (row["said"] < row["said_before"]) == (row["factor"] < 1)
    is_held = (row["low"] or 0) <= row["truth"] <= (row["high"] or math.inf)
    return Predicted("", predicted, row[what], is_held, line_of(row), has_sign)


def line_of(row: dict[str, Any]) -> str:
    """Return a row's line of its table."""
    if "said" not in row and row["kind"] != "change":
        before, after = ("", " | | |") if "first" in row else (f" {row['way']} |", " |")
        return f"| {row['name']} |{before} | none: {row['why']} | | |{after}"
    if "said" not in row:
        return (
            f"| `{row['way']}` | {row['name']} | {row['before']:.3f} | none: {row['why']} |"
            f" {row['truth']:.3f} | | | {row['factor']:.2f} | |"
        )
    is_held = row["low"] <= row["truth"] <= row["high"]
    notes = ["" if is_held else "outside", "" if row["same"] else "another speed"]
    notes += [] if row.get("clear", True) else ["no clear gain"]
    notes += [] if row.get("steady", True) else ["unsteady"]
    notes += [f"take {row['take'] + 1}"] if "first" in row else []
    notes += [f"{row['n_near']} of {len(row['blocks'])} blocks"] if "blocks" in row else []
    notes += [row["why"]] if "why" in row else []
    predicted = f"{row['said']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
    error = f"{row['said'] / row['truth'] - 1:+.1%}"
    note = ", ".join(note for note in notes if note)
    if row["kind"] == "change":
        expected = row["said"] / row["said_before"]
        return (
            f"| `{row['way']}` | {row['name']} | {row['before']:.3f} | {predicted} |"
            f" {row['truth']:.3f} | {error} | {expected:.2f} | {row['factor']:.2f} | {note} |"
        )
    if row["kind"] == "trace":
        times = row["turns"]
        after, fresh = ("" if row[when] is None else f"{row[when]:.3f}" for when in _LATER)
        return (
            f"| {row['name']} | {row['recorded']:.3f} | {predicted} | {min(times):.3f} to"
            f" {max(times):.3f} | {after} | {fresh} | {error} | {note} |"
        )
    if "own" in row or "of_all" in row:
        other = row.get("truth_own") or row.get("of_all") or statistics.median(row["own"])
        return (
            f"| {row['name']} | {row['recorded']:.3f} | {predicted} | {row['truth']:.3f} |"
            f" {error} | {other:.3f} | {row['said'] / other - 1:+.1%} | {note} |"
        )
    times = row["beside"]
    both = ", ".join(f"{ms:.3f}" for ms in times)
    beside = (
        both if len(times) == _BOTH else f"{len(times)} turns: {min(times):.3f} to {max(times):.3f}"
    )
    return (
        f"| {row['name']} | {row['way']} | {row['recorded']:.3f} | {predicted} | {beside} |"
        f" {error} | {note} |"
    )


def errors(predicted: Iterable[Predicted], *, has_range: bool = True) -> str:
    """Return number, median error, 90th percentile and how many ranges hold, as cells."""
    group = list(predicted)
    sizes = sorted(abs(row.error) for row in group)
    ninth = sizes[math.ceil(0.9 * len(sizes)) - 1]
    held = sum(row.is_held for row in group) / len(group)
    return (
        f"{len(group)} | {statistics.median(sizes):.1%} | {ninth:.1%} |"
        f" {f'{held:.0%}' if has_range else ''}"
    )


def goals(name: str) -> str:
    """Return the table of errors by kind, of steady programs beside all, and of their turns."""
    lines = [
        "| | programs | number | median error | 90th percentile | the range holds |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for which, chosen in (("steady", _steady(name)), ("all", rows(name))):
        for kind, words in (("live", "captured live"), ("nsys", "under nsys")):
            known = [row for row in chosen if row["kind"] == kind and "said" in row]
            if known:
                cells = errors(said(row, "truth") for row in known)
                lines.append(f"| {words} | {which} | {cells} |")
        turns = list(of_turns([row["beside"] for row in chosen]))
        if turns:
            cells = errors(turns, has_range=False)
            lines.append(f"| a turn, by the others | {which} | {cells} |")
    return "\n".join(lines)


def goals_at_speed(name: str) -> str:
    """Return the table of errors against blocks at the captured speed, and against all blocks."""
    known = [row for row in rows(name) if "said" in row]
    same = [row for row in known if row["same"]]
    groups = {
        "blocks at the captured speed | with a truth": [said(row, "truth") for row in same],
        "all blocks | the same": [said(row | {"truth": row["of_all"]}, "truth") for row in same],
        "all blocks | all": [said(row | {"truth": row["of_all"]}, "truth") for row in known],
    }
    lines = [
        "| compared with | programs | number | median error | 90th percentile | the range holds |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [f"| {words} | {errors(group)} |" for words, group in groups.items() if group]
    turns = list(of_turns(row["beside"] for row in rows(name)))
    return "\n".join(
        [*lines, f"| a turn, by the others | all | {errors(turns, has_range=False)} |"]
    )


def goals_still(name: str) -> str:
    """Return the table of errors by kind and truth, of takes that held still and of first ones."""
    lines = [
        "| | compared with | takes | number | median error | 90th percentile | the range holds |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    known = [row for row in rows(name) if "said" in row]
    groups: dict[str, Callable[[dict[str, Any]], bool]] = {
        "held still": lambda row: row["same"],
        "first": lambda row: row["first"],
    }
    for kind, words in (("nsys", "under nsys"), ("live", "captured live")):
        for which, is_of in groups.items():
            chosen = [row for row in known if row["kind"] == kind and is_of(row)]
            if not chosen:
                continue
            own = [said(row | {"truth": row["truth_own"]}, "truth") for row in chosen]
            never = [said(row, "truth") for row in chosen]
            lines.append(f"| {words} | never recorded | {which} | {errors(never)} |")
            if kind == "nsys":
                lines.append(f"| {words} | same process | {which} | {errors(own)} |")
            cells = errors(of_never_recorded(chosen), has_range=False)
            lines.append(
                f"| never recorded, as a prediction, {words} | same process | {which} | {cells} |"
            )
    return "\n".join(lines)


def goals_near(name: str) -> str:
    """Return the table of errors by kind and truth, at the captured speed and by all blocks."""
    lines = [
        "| | compared with | blocks | number | median error | 90th percentile | the range holds |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for kind, words in (("nsys", "under nsys"), ("live", "captured live")):
        known = [row for row in rows(name) if row["kind"] == kind and "said" in row]
        truths = {
            "never recorded | at the captured speed": [
                row["truth"] if row["same"] else None for row in known
            ],
            "never recorded | all": [row["of_all"] for row in known],
            "same process | at the captured speed": [
                row["truth_own"] if row.get("own_same") else None for row in known
            ],
            "same process | all": [statistics.geometric_mean(row["own"]) for row in known],
        }
        for group, times in truths.items():
            judged = [
                said(row | {"truth": ms}, "truth")
                for row, ms in zip(known, times, strict=True)
                if ms is not None
            ]
            lines += [f"| {words} | {group} | {errors(judged)} |"] if judged else []
        turns = of_turns(row["beside"] for row in known)
        cells = errors(turns, has_range=False)
        lines.append(f"| never recorded, once more | never recorded | all | {cells} |")
    return "\n".join(lines)


def of_never_recorded(chosen: Iterable[dict[str, Any]]) -> Iterator[Predicted]:
    """Yield the captured process's own steps, predicted by the process that never recorded."""
    for row in chosen:
        if "said" in row:
            yield Predicted("", row["truth"], row["truth_own"], is_held=True, line="")


def _steady(name: str) -> Rows:
    return [row for row in rows(name) if row["steady"]]


def of_turns(times_of_programs: Iterable[list[float]]) -> Iterator[Predicted]:
    """Yield each turn, predicted by the median of the others; equal lists count once."""
    for times in dict.fromkeys(map(tuple, times_of_programs)):
        for n, ms in enumerate(times):
            others = [*times[:n], *times[n + 1 :]]
            if others:
                median = statistics.median(others)
                yield Predicted("", median, ms, is_held=True, line="")
