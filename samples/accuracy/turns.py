"""Write the parts of docs/accuracy.md on programs timed alternately, and on batch sizes."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import tracelens as tl
from samples.accuracy.predictions import Predicted, summary
from tracelens.derive.replay.predict import Prediction, predict
from tracelens.errors import UsageError

WHATIF = Path(__file__).resolve().parents[1] / "whatif"
_EXPRESSIONS = {"dtype": "dtype=bf16"}
_OF_DOUBLE = {"dtype": "dtype=float64:bf16"}
_ENDING = ".plain.pt.trace.json.gz"

_TURNS = """\
## Changes timed in turns

The [host that nothing was fitted on](predictions.md#programs-and-a-host-that-nothing-was-fitted-on) changes its own
speed: the steps of one program take 1.8 ms, and a second later 2.8, with nothing changed. So twelve programs were
timed before and after a change in turns, three times in one process ([turns](../../samples/whatif/turns)): *factor*
is the step after over the step before, in the median of the three turns. The step before was recorded after the first
turn. Some processes stay slower once they have recorded. Without the profiler, steps then take {slower:.0%} longer in
the median of these programs, and {most:.0%} longer at most, if they wait for the host. Times in ms are those of the
first turn.

"""
_BATCHES = """\
## Another batch size

Seven programs were recorded with three batch sizes ([batches](../../samples/whatif/batches)): each size is predicted
from the other two (`batch=16,32:64`). Times are in ms.

"""


def _named(trace: tl.Trace, expression: str, other: tl.Trace | None = None) -> Prediction:
    (prediction,) = predict(trace, [expression], other=other)
    return prediction


def _rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((WHATIF / "turns" / "turns.json").read_text())[
        "programs"
    ]
    return rows


def _medians(row: dict[str, Any], option: str) -> list[float]:
    """Return the median step of each round."""
    return [statistics.median(turn[option]) for turn in row["rounds"]]


@cache
def turn_rows() -> list[tuple[Predicted, Predicted] | str]:
    """Return, for each change, the step after it and its factor, or a line that says why not."""
    listed: list[tuple[Predicted, Predicted] | str] = []
    for row in _rows():
        program = row["program"]
        trace = tl.collect(WHATIF / "turns" / f"{program}{_ENDING}")
        for option in row["rounds"][0]:
            if option == "-":
                continue
            known = _OF_DOUBLE if program == "copy_double" else _EXPRESSIONS
            expression = known.get(option, option)
            befores, afters = _medians(row, "-"), _medians(row, option)
            pairs = zip(befores, afters, strict=True)
            factor = statistics.median(after / before for before, after in pairs)
            try:
                prediction = _named(trace, expression)
            except UsageError as error:
                why = str(error).split(";")[0].split(": ", 1)[-1]
                listed.append(
                    f"| `{expression}` | {program} | {befores[0]:.3f} | none: {why} |"
                    f" {afters[0]:.3f} | | | {factor:.2f} | | |"
                )
                continue
            after, low, high = (
                ns / 1e6 for ns in (prediction.after_ns, prediction.low_ns, prediction.high_ns)
            )
            expected = prediction.after_ns / prediction.before_ns
            is_held = low <= afters[0] <= high
            line = (
                f"| `{expression}` | {program} | {befores[0]:.3f} | {after:.3f} ({low:.3f} to"
                f" {high:.3f}) | {afters[0]:.3f} | {after / afters[0] - 1:+.1%} | {expected:.2f} |"
                f" {factor:.2f} | {expected / factor - 1:+.1%} | {'' if is_held else 'outside'} |"
            )
            has_sign = abs(factor - 1) < _SMALL or (expected < 1) == (factor < 1)
            step = Predicted("the step after", after, afters[0], is_held, line, has_sign)
            of_factor = Predicted("its factor", expected, factor, is_held, "", has_sign)
            listed.append((step, of_factor))
    return listed


_HEAD = (
    "| Change | program | before | predicted | measured | error | factor, predicted | measured |"
    " error | |"
)
_SMALL = 0.05
"""If a step changes by less, the change may have either sign."""


def _slower() -> tuple[float, float]:
    """Return how much longer steps take once the process has recorded: the median and the most."""
    ratios = [_medians(row, "-") for row in _rows() if not row["program"].startswith("input_")]
    longer = [statistics.fmean(turns[1:]) / turns[0] - 1 for turns in ratios]
    return statistics.median(longer), max(longer)


def batch_rows() -> list[Predicted]:
    """Predict the step of each batch size of a program from its other two batch sizes."""
    steps = json.loads((WHATIF / "batches" / "batches.json").read_text())["steps_ms"]
    predicted = []
    for program, by_size in sorted(steps.items()):
        paths = {size: WHATIF / "batches" / f"{program}.b{size}{_ENDING}" for size in by_size}
        if len(by_size) < 3 or not all(path.exists() for path in paths.values()):
            continue
        traces = {size: tl.collect(path) for size, path in paths.items()}
        for first, second, wanted in permutations(sorted(by_size, key=int)):
            if int(first) > int(second):
                continue
            expression = f"batch={first},{second}:{wanted}"
            prediction = _named(traces[first], expression, traces[second])
            after, low, high = (
                ns / 1e6 for ns in (prediction.after_ns, prediction.low_ns, prediction.high_ns)
            )
            measured = by_size[wanted]
            is_held = low <= measured <= high
            line = (
                f"| {program} | `{expression}` | {by_size[first]:.3f}, {by_size[second]:.3f} |"
                f" {after:.3f} ({low:.3f} to {high:.3f}) | {measured:.3f} |"
                f" {after / measured - 1:+.1%} | {'' if is_held else 'outside'} |"
            )
            predicted.append(Predicted("batch", after, measured, is_held, line))
    return predicted


def _groups(rows: Iterable[Predicted]) -> list[str]:
    """Return the table of errors, without the row of all groups."""
    return [line for line in summary(rows) if not line.startswith("| all |")]


def section() -> str:
    """Return both sections."""
    turns = turn_rows()
    batches = batch_rows()
    slower, most = _slower()
    lines = [
        _TURNS.format(slower=slower, most=most),
        *_groups(part for pair in turns if not isinstance(pair, str) for part in pair),
        "",
        _HEAD,
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
        *(pair if isinstance(pair, str) else pair[0].line for pair in turns),
        "",
        _BATCHES,
        *_groups(batches),
        "",
        "| Program | | both | predicted | measured | error | |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
        *(row.line for row in batches),
        "",
    ]
    return "\n".join(lines).replace("\n\n\n", "\n\n")
