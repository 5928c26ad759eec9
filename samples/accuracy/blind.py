"""The part of docs/accuracy.md on programs judged by rules written before, from samples/blind."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any

from samples.accuracy import blind_texts as texts
from samples.accuracy.blind_rows import (
    SMALL_CHANGE,
    errors,
    goals,
    goals_at_speed,
    goals_near,
    goals_still,
    line_of,
    of_never_recorded,
    of_turns,
    rows,
    said,
)
from samples.accuracy.predictions import Predicted, summary

_KINDS = {
    "trace": "steps of a trace alone",
    "live": "steps captured live",
    "nsys": "steps under nsys",
    "change": "steps after a change",
}
_WAYS = {"late": "recorded late", "teardown": "with TEARDOWN_CUPTI=1"}
"""Ways of capturing that are not the usual one, which the second judgement tried."""
_JUDGED = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
)
_STEADY = ", steady programs"
_NOTES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "": lambda _: True,
    ", same speed": lambda row: row["same"],
    _STEADY: lambda row: row.get("steady", False),
}
"""Rows of a kind that have a line of their own."""

_TRACE_HEAD = (
    "| Trace | recorded | predicted | before it | later | never profiled | error | |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
)
_LIVE_HEAD = (
    "| Live capture | way | recorded | predicted | never profiled, before and after | error | |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | --- |"
)
_NSYS_HEAD = (
    "| Under nsys | turn | recorded | predicted | beside it, before and after | error | |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | --- |"
)
_OWN_HEAD = (
    "| Under nsys | recorded | predicted | without nsys | error | same process | error | |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
)
"""Steps of the recorded process outside of the recorded range stand beside those without nsys."""
_SPEED_HEAD = (
    "| Live capture | recorded | predicted | at its speed | error | all blocks | error | |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
)
_STILL_HEAD = (
    "| Program | recorded | predicted | never recorded | error | same process | error | |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
)
_CHANGE_HEAD = (
    "| Change | program | before | predicted | measured | error | factor, predicted | measured | |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
)
_HEADS = {"trace": _TRACE_HEAD, "live": _LIVE_HEAD, "nsys": _NSYS_HEAD, "change": _CHANGE_HEAD}


def _grouped(
    measured: Iterable[dict[str, Any]], what: str, *groups: Callable[..., str]
) -> list[str]:
    """Return the table of errors: each row once in each of its groups."""
    predicted = [
        Predicted(group(row), p.predicted_ms, p.measured_ms, p.is_held, "", p.has_sign)
        for row in measured
        for p in [said(row, what)]
        for group in groups
    ]
    return [line for line in summary(predicted) if not line.startswith("| all |")]


def _speed(row: dict[str, Any]) -> str:
    return f"{_KINDS[row['kind']]}, {'same' if row['same'] else 'another'} speed"


def _steadiness(row: dict[str, Any]) -> str:
    return f"{_KINDS[row['kind']]}, {'steady' if row['steady'] else 'unsteady'} programs"


def _is_usual(row: dict[str, Any]) -> bool:
    is_retaken = not row.get("first", True)
    return row["way"] not in _WAYS and not _is_again(row) and not is_retaken


def _is_again(row: dict[str, Any]) -> bool:
    """Return whether a change is predicted from a second trace of its program."""
    return str(row.get("traced", "")).startswith("again")


def _all(row: dict[str, Any]) -> str:
    way = "recorded once more" if _is_again(row) else _WAYS.get(row["way"], "all")
    return f"{_KINDS[row['kind']]}, {way}"


def tables(name: str) -> list[str]:
    """Return a judgement's tables of errors, then a table of rows for each kind."""
    known = [row for row in rows(name) if "said" in row]
    of_change = [row for row in known if row["kind"] == "change" and not _is_again(row)]
    others = (row for row in known if row["kind"] != "change" or _is_again(row))
    in_long_turns = [row for row in known if "steady" in row]
    lines = [
        *_grouped(others, "truth", _all),
        *_grouped(filter(_is_usual, known), "truth", _speed)[2:],
        *(_grouped(in_long_turns, "truth", _steadiness)[2:] if in_long_turns else []),
        "",
    ]
    if of_change:
        lines[-1:] = [
            *_grouped(of_change, "truth", lambda row: f"`{row['way']}`", _all)[2:],
            "",
            "Errors of the factor by which a change multiplies a step:",
            "",
            *_grouped(
                of_change,
                "factor",
                lambda row: f"`{row['way']}`",
                lambda _: "every change",
            ),
            "",
        ]
    for kind, head in _HEADS.items():
        shown = [row for row in rows(name) if row["kind"] == kind and not _is_again(row)]
        chosen = _OWN_HEAD if any("own" in row for row in shown) else head
        chosen = _SPEED_HEAD if any("of_all" in row for row in shown) else chosen
        if any("first" in row for row in shown):
            chosen = _STILL_HEAD.replace(
                "Program", "Live capture" if kind == "live" else "Under nsys"
            )
        lines += [chosen, *map(line_of, shown), ""] if shown else []
    return lines


def compiled() -> list[str]:
    """Return the tables of `compile` as fitted on half of the first judgement's programs."""
    compile_rows = rows("compile")
    lines = [line_of(row).removesuffix("|") + f"{row['half']} |" for row in compile_rows]
    known = (row for row in compile_rows if "said" in row)
    table = _grouped(known, "truth", lambda row: row["half"])
    return [*table, "", _CHANGE_HEAD, *lines, ""]


def _of(name: str, kind: str, note: str) -> Iterable[Predicted]:
    for row in rows(name):
        if row["kind"] == kind and "said" in row and _is_usual(row) and _NOTES[note](row):
            yield said(row, "truth")


def _of_traces(name: str) -> Iterable[Predicted]:
    """Yield the steps before a change, as predicted from their traces alone.

    Rows before the fourth judgement do not have the range.
    """
    yield from (said(row, "truth") for row in rows(name) if row["kind"] == "trace")
    if any(row["kind"] == "trace" for row in rows(name)):
        return
    known = {row["name"]: row for row in rows(name) if "said_before" in row and _is_usual(row)}
    for row in known.values():
        yield Predicted("", row["said_before"], row["before"], is_held=True, line="")


_TURN = "a turn of the same programs"


def beside(own_predictions: dict[str, Iterable[Predicted]]) -> str:
    """Return a table of predictions by kind: of the project's own programs, and of blind ones."""
    lines = [
        "| | | number | median error | 90th percentile | the range holds |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    words = "steps, from a trace alone"
    lines += (
        [f"| {words} | own | {errors(own_predictions['trace'])} |"]
        if "trace" in own_predictions
        else []
    )
    for name in _JUDGED:
        of_name = list(_of_traces(name))
        if not of_name:
            continue
        has_range = any(row["kind"] == "trace" for row in rows(name))
        lines.append(f"| {words} | {name} | {errors(of_name, has_range=has_range)} |")
        steady = list(_of(name, "trace", _STEADY))
        lines += [f"| {words} | {name}{_STEADY} | {errors(steady)} |"] if steady else []
    for name in _JUDGED:
        own_turns = list(_own_turns(name))
        lines.append(f"| {_TURN} | {name} | {errors(own_turns, has_range=False)} |")
    for kind, words in list(_KINDS.items())[1:]:
        lines += (
            [f"| {words} | own | {errors(own_predictions[kind])} |"]
            if kind in own_predictions
            else []
        )
        for name in _JUDGED:
            for note in _NOTES:
                judged = list(_of(name, kind, note))
                lines += [f"| {words} | {name}{note} | {errors(judged)} |"] if judged else []
            own = [
                said(row | {"truth": statistics.geometric_mean(row["own"])}, "truth")
                for row in rows(name)
                if row["kind"] == kind and row.get("first") and "said" in row
            ]
            lines += [f"| {words}, same process | {name} | {errors(own)} |"] if own else []
    return "\n".join(lines)


def latest(own_predictions: dict[str, Iterable[Predicted]]) -> str:
    """Return the table of the project's own programs and of each kind's last blind judgement.

    Repeated timings of the same programs come last.
    """
    lines = beside(own_predictions).splitlines()
    turns = {}
    chosen = {}
    for line in lines[2:]:
        words, who = line.removeprefix("| ").split(" | ")[:2]
        if words == _TURN:
            turns[who] = line
        elif who == "own" or who in _JUDGED:
            chosen[words, who == "own"] = (who, line)
    shown = {who for who, _ in chosen.values()}
    return "\n".join(
        [
            *lines[:2],
            *(line for _, line in chosen.values()),
            *(line for who, line in turns.items() if who in shown),
        ]
    )


def _apart(name: str) -> tuple[float, float]:
    """Return how far two timings that never profiled are apart: the median, and the most."""
    live = [row["beside"] for row in rows(name) if row["kind"] == "live" and _is_usual(row)]
    distances = [abs(times[0] / times[1] - 1) for times in live]
    return statistics.median(distances), max(distances)


def _signs(name: str) -> dict[str, int]:
    """Count the changes of 5 % or more with the right sign, the wrong one, and no clear gain."""
    changes = [row for row in rows(name) if row["kind"] == "change" and "said" in row]
    changes = [row for row in changes if _is_usual(row) and abs(row["factor"] - 1) >= SMALL_CHANGE]
    clear = [row for row in changes if row.get("clear", True)]
    right = sum(said(row, "truth").has_sign for row in clear)
    wrong, none = len(clear) - right, len(changes) - len(clear)
    return {"right": right, "wrong": wrong, "none": none}


def _own_turns(name: str) -> Iterable[Predicted]:
    """Yield each unprofiled timing of a program, predicted by its process's other timings."""
    yield from of_never_recorded(row for row in rows(name) if row.get("first"))
    of_traces = {row["name"]: row["turns"] for row in rows(name) if "turns" in row}
    beside_captures = [
        row["beside"] for row in rows(name) if "blocks" in row or {"beside", "steady"} <= row.keys()
    ]
    yield from of_turns(of_traces.values() or beside_captures)


def _fourth() -> str:
    """Return the text on the fourth judgement, with its numbers."""
    of_traces = [row for row in rows("fourth") if row["kind"] == "trace"]
    fresh = (abs(row["fresh"] / row["truth"] - 1) for row in of_traces if row["fresh"])
    later = (1 - row["truth"] / row["after"] for row in of_traces)
    return texts.FOURTH.format(
        **_signs("fourth"),
        fresh=statistics.median(fresh),
        later=statistics.median(later),
    )


def _sixth() -> str:
    """Return the text on the sixth judgement, with its numbers."""
    numbers = [row for row in rows("sixth") if row.get("said")]
    changes = [row for row in numbers if row["kind"] == "change"]
    factors = (row["said"] / row["said_before"] / row["factor"] - 1 for row in changes)
    alone = [row for row in numbers if row["kind"] == "trace" and row["fresh"]]
    return texts.SIXTH.format(
        **_signs("sixth"),
        factor=statistics.median(abs(factor) for factor in factors),
        turn=statistics.median(abs(turn.error) for turn in _own_turns("sixth")),
        fresh=statistics.median(abs(row["said"] / row["fresh"] - 1) for row in alone),
    )


def _is_false_hope(row: dict[str, Any]) -> bool:
    """Return whether an answer names a clear gain of 5 % or more that is not there."""
    is_small = abs(row["factor"] - 1) < SMALL_CHANGE
    return is_small and row["clear"] and row["said"] <= (1 - SMALL_CHANGE) * row["said_before"]


def _of_changes(name: str, name_before: str) -> dict[str, float]:
    """Return numbers on a judgement's changes and timings, and on the timings of `name_before`."""
    changes = [row for row in rows(name) if row["kind"] == "change" and row.get("said")]
    factors = (row["said"] / row["said_before"] / row["factor"] - 1 for row in changes)
    return {
        **_signs(name),
        "hopes": sum(_is_false_hope(row) for row in changes),
        "factor": statistics.median(abs(factor) for factor in factors),
        "turn": statistics.median(abs(turn.error) for turn in _own_turns(name)),
        "before": statistics.median(abs(turn.error) for turn in _own_turns(name_before)),
    }


def _against_own(name: str) -> Iterable[Predicted]:
    """Yield captures under nsys, judged by the recorded process outside of its recorded range."""
    for row in rows(name):
        if "own" in row:
            yield said(row | {"truth": statistics.median(row["own"])}, "truth")


def section(own_predictions: dict[str, Iterable[Predicted]]) -> str:
    """Return the section; `own_predictions` has the project's own predictions by kind."""
    apart, most = _apart("second")
    parts = [
        texts.TEXT.format(beside=beside(own_predictions)),
        texts.FIRST,
        *tables("first"),
        texts.COMPILE,
        *compiled(),
    ]
    parts += [
        texts.SECOND.format(apart=apart, most=most),
        *tables("second"),
        texts.THIRD,
        *tables("third"),
    ]
    parts += [_fourth(), *tables("fourth")]
    parts += [texts.FIFTH.format(**_signs("fifth")), *tables("fifth")]
    parts += [_sixth(), *tables("sixth")]
    parts += [texts.SEVENTH.format(**_of_changes("seventh", "sixth")), *tables("seventh")]
    parts += [texts.EIGHTH.format(**_of_changes("eighth", "seventh")), *tables("eighth")]
    parts += [texts.NINTH.format(own=errors(_against_own("ninth"))), *tables("ninth")]
    parts += [texts.TENTH.format(goals=goals("tenth")), *tables("tenth")]
    parts += [texts.ELEVENTH.format(goals=goals_at_speed("eleventh")), *tables("eleventh")]
    parts += [texts.TWELFTH.format(goals=goals_still("twelfth")), *tables("twelfth")]
    parts += [texts.THIRTEENTH.format(goals=goals_near("thirteenth")), *tables("thirteenth")]
    return "\n".join(parts)
