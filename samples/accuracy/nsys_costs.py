"""The part of docs/accuracy.md on what nsys adds to a step, from samples/nsys/costs."""

from __future__ import annotations

import json
import math
import statistics
from functools import cache
from pathlib import Path

from samples.accuracy.predictions import Predicted, step_row, summary
from samples.whatif.measured import Case

FOLDER = Path(__file__).resolve().parents[1] / "nsys" / "costs"
_NOT_JUDGED = ("marks",)
"""The NVTX ranges of these programs are all that they do, and the ranges' cost is not subtracted.
"""
Times = dict[str, dict[str, dict[str, float]]]
"""Step times in ms by process, program, and moment: before, inside and after the recorded range."""
_RUNS = {"H200": "turns", "H100": "turns_h100"}
_UNDER = {"usual": "nsys", "osrt": "with `osrt`", "nodes": "graphs by node"}

_TEXT = """\
## What nsys adds

Nineteen programs ([samples/nsys/costs](../../samples/nsys/costs/README.md)) were timed in two processes that never
recorded and in three under nsys, in one run beside a host of four cores. The speed of this host varies: the same
program takes up to {apart:.1f} times as long at one time as at another, without nsys recording. Times of a step are
in ms.

| Program | never recorded | under nsys, before and after | recorded | with `osrt` | graphs by node |
| --- | ---: | ---: | ---: | ---: | ---: |
{measured}

A step that waits for the host takes {more:.0%} longer under nsys, in the median of programs. A step of device work
takes as long as without nsys.

The times above are minutes apart. So 37 programs were taken again on such a host, in turns: a process that never
records, eight recorded steps of another process, and the first process once more (`turns.json`; graphs by node, as
`tracelens collect nsys` records them). nsys takes about 11 µs per kernel launch if a recorded launch takes 7.2; 3 of
the 11 µs are within the recorded call. It takes 3 µs per copy, fill or graph, 1.7 per other call, and 0.6 per NVTX
range. These costs are fitted on half of the programs; 13 µs per launch fit as well (mean errors of 10.7 and 11.1 %).
For a trace they are multiplied by the time of its launches over 7.2 µs. The range is so wide that it held nine in ten
of that half; the other half judges it:

| 37 captures, six steps each | of | median error | 90th percentile | the range holds |
| --- | ---: | ---: | ---: | ---: |
{fitted}

*As recorded* is the error without any correction; these errors are of the costs alone. The programs with the largest
errors (`bert_infer`, `sync_loss_narrow`, `depthwise_infer_small`, `gan_train`: 48 to 58 %) have no calls or threads in
common. Their host has two speeds: it had the lower one while they were recorded, and the higher one before and after.
Nothing in one trace shows which speed is usual. At the higher speed a recorded launch takes 5.1 µs in the median. If it
takes longer, the host's other work is now taken at the geometric mean of both speeds, and the range reaches from one to
the other. Copies from pageable memory are not scaled, because they took as long at both speeds.

This rule was chosen on a second run of the same programs, on the host of an H100. With costs alone these had a median
error of 17.4 % and a 90th percentile of 67.1 %, and the range held 84 %. With the rule the numbers are 11.0 %, 53.3 %
and 92 %. The captures of six steps of both runs are not in the repository; the times are. They say how far a prediction
can get: two processes of one program differ by this much while neither records:

| run | programs | median | 90th percentile |
| --- | ---: | ---: | ---: |
{differs}

Below are the bundled captures: first those taken in turns, with three steps each, then those of the first table. For
the latter, *measured* has times of the same process before and after, and of processes that never recorded.

"""
_FITTED = """\
| fitted on, as recorded | 19 | 41.7% | 97.5% | |
| fitted on | 19 | 5.0% | 52.7% | 95% |
| judged, as recorded | 18 | 49.8% | 108.6% | |
| judged | 18 | 8.6% | 47.7% | 100% |
"""


def times(folder: Path = FOLDER) -> Times:
    """Read the measured step times."""
    runs: Times = json.loads((folder / "times.json").read_text())["runs"]
    return runs


def _outside(run: dict[str, float]) -> list[float]:
    """Return the steps of a program under nsys, outside of the range that it records."""
    return [run[when] for when in ("before", "after") if when in run]


def never_ms(runs: Times, program: str) -> list[float]:
    """Return the steps of a program in processes that never record."""
    return [
        ms for name, run in runs.items() if name.startswith("bare") for ms in run[program].values()
    ]


def is_fitted(runs: Times, program: str) -> bool:
    """Return whether the costs were fitted on this program: on every second one by name."""
    return program in sorted(set(runs["nsys_usual"]) - set(_NOT_JUDGED))[::2]


def cases(folder: Path = FOLDER) -> list[Case]:
    """Return one case per capture KIND.PROGRAM.sqlite in the folder."""
    runs = times()
    listed = []
    for path in sorted(folder.glob("*.sqlite")):
        kind, _, program = path.stem.partition(".")
        if program in _NOT_JUDGED:
            continue
        recorded_ms = statistics.geometric_mean(_outside(runs[f"nsys_{kind}"][program]))
        never = statistics.geometric_mean(never_ms(runs, program))
        listed.append(
            Case(program, "-", "nsys", path, (recorded_ms, never), is_fitted(runs, program))
        )
    return listed


def turns(name: str = "turns", folder: Path = FOLDER) -> dict[str, dict[str, list[list[float]]]]:
    """Read the steps in ms of programs timed under nsys and alternately without it.

    They are listed by program, moment, and block of steps.
    """
    programs: dict[str, dict[str, list[list[float]]]] = json.loads(
        (folder / f"{name}.json").read_text()
    )["programs"]
    return programs


def turn_cases(folder: Path = FOLDER, captures: Path = FOLDER / "turns") -> list[Case]:
    """Return the captures PROGRAM.sqlite of programs that an unrecorded process ran alternately."""
    programs = turns(folder=folder)
    fitted = sorted(programs)[::2]
    listed = []
    for path in sorted(captures.glob("*.sqlite")):
        beside = _median_ms(programs[path.stem]["beside"])
        listed.append(Case(path.stem, "-", "turns", path, (beside,), path.stem in fitted))
    return listed


@cache
def predicted() -> list[Predicted]:
    """Return each capture's predicted step, captures with alternate unrecorded steps first."""
    shown = [*turn_cases(), *cases()]
    return [row for row in map(step_row, shown) if row is not None]


def section() -> str:
    """Return the section: the measured times, then each capture beside its prediction."""
    runs = times()
    rows, ratios, apart = [], [], []
    for program, usual in runs["nsys_usual"].items():
        never = never_ms(runs, program)
        under = [runs[f"nsys_{kind}"][program]["inside"] for kind in _UNDER]
        outside = [ms for kind in _UNDER for ms in _outside(runs[f"nsys_{kind}"][program])]
        ratios.append(usual["inside"] / statistics.geometric_mean(never))
        apart.append(max(never + outside) / min(never + outside))
        spans = (f"{min(values):.3f} to {max(values):.3f}" for values in (never, outside))
        rows.append(
            f"| {program} | {' | '.join(spans)} | {' | '.join(f'{x:.3f}' for x in under)} |"
        )
    waiting = [ratio for ratio in ratios if ratio > _OF_HOST]
    predictions = predicted()
    text = _TEXT.format(
        apart=max(apart),
        measured="\n".join(rows),
        more=statistics.median(waiting) - 1,
        fitted=_FITTED.rstrip(),
        differs="\n".join(_differing(device, name) for device, name in _RUNS.items()),
    )
    lines = [
        *summary(predictions),
        "",
        "| Capture | recorded | predicted | measured | error | | |",
        "| --- | ---: | ---: | ---: | ---: | --- | --- |",
        *(row.line for row in predictions),
        "",
    ]
    return text + "\n".join(lines)


def _differing(device: str, name: str) -> str:
    """Return a row: how much nsys slows steps that it does not record.

    Another process never records. Medians of blocks of steps are compared.
    """
    programs = turns(name)
    differences = sorted(
        abs(_median_ms(times["outside"]) / _median_ms(times["bare"]) - 1)
        for times in programs.values()
    )
    ninth = differences[math.ceil(0.9 * len(differences)) - 1]
    return f"| {device} | {len(differences)} | {statistics.median(differences):.1%} | {ninth:.1%} |"


def _median_ms(blocks: list[list[float]]) -> float:
    return statistics.median(ms for block in blocks for ms in block)


_OF_HOST = 1.2
"""A step waits for the host if it is longer than the device's work by more than this."""
