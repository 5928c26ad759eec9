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
`tracelens collect nsys` records them). The second run, on the host of an H100, and captures of two
[blind judgements](blind.md) gave these costs: 15 µs per kernel launch if a recorded launch takes 7.2, of which 3 are
within the recorded call; 5 per copy, fill or graph, 2.2 per other call, and 0.6 per NVTX range. A launch of 7.2 µs
takes 4.2 without nsys. What a launch takes above that is due to nsys, so all costs grow in proportion to it. In a
loop of one launch, nsys takes half of what it takes in a network, which displaces its code from the caches.

Such a host has two speeds, 1.8 times apart, and changes between them within a second. A step is predicted for the
speed that the host had while it recorded. Earlier, costs were lower (11 µs per launch), and the host's other work was
taken at the mean of the recorded speed and a fast host's. The 77 captures, of six steps or more, are compared with
steps timed

- *before and after*: where there are such times in the same process (26 captures), outside of the recorded range and up
  to a minute away; else right before and after, in a process that took turns with it; of the tenth judgement, which
  has neither, blocks of steps at the recorded speed
- *at the recorded speed*: blocks of steps in which counting to a thousand took as long as in the recorded steps
- *in processes that never recorded*, at whatever speed

| compared with steps | of | as recorded | earlier | now |
| --- | ---: | --- | --- | --- |
{judged}

Cells are the median error, the 90th percentile, and the share of truths in the range. The costs were chosen with all of
these captures in view. Compared with steps before and after, every second program by name had errors of 7.3 and
36.3 %, and now 5.3 and 26.3 %; the others had 6.4 and 47.7 %, and now 9.4 and 56.8 %. So the two rules are about as
good, and the simpler one stays, which also holds for hosts of one speed. Most of the large errors that remain are of
hosts that changed their speed (`gpt_decode`, `conv_infer`), and of programs whose own work on the host took another
time (`citations_train`, `guesses_infer`), which no launch shows. A loader's waits cannot be told from work, because
nsys records no Python (`captchas_load`, `meshes_load`).

The captures are not in the repository; the times of the first 37 are. They say how far a prediction can get: two
processes of one program differ by this much while neither records:

| run | programs | median | 90th percentile |
| --- | ---: | ---: | ---: |
{differs}

Below are the bundled captures: first those taken in turns, with three steps each, then those of the first table. For
the latter, *measured* has times of the same process before and after, and of processes that never recorded.

"""
_JUDGED = """\
| before and after | 77 | 18.0 %, 70.4 % | 6.7 %, 36.3 %, 90 % | 6.1 %, 26.8 %, 95 % |
| before and after, in the same process | 26 | 10.9 %, 61.2 % | 5.3 %, 30.0 %, 92 % | 5.4 %, 18.1 %, 96 % |
| at the recorded speed | 27 | 17.6 %, 56.8 % | 6.2 %, 36.3 %, 85 % | 3.5 %, 26.3 %, 89 % |
| in processes that never recorded | 77 | 31.3 %, 94.0 % | 9.2 %, 40.8 %, 94 % | 10.9 %, 39.6 %, 94 % |
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
        listed.append(Case(program, "-", "nsys", path, (recorded_ms, never), is_fitted=True))
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
    listed = []
    for path in sorted(captures.glob("*.sqlite")):
        beside = _median_ms(programs[path.stem]["beside"])
        listed.append(Case(path.stem, "-", "turns", path, (beside,), is_fitted=False))
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
        judged=_JUDGED.rstrip(),
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
