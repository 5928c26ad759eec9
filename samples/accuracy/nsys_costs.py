"""The part of docs/accuracy.md on what nsys adds to a step, from samples/nsys/costs."""

from __future__ import annotations

import json
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

*As recorded* is the error without any correction. The range of `pictures_copy` holds the truth because ranges for
copies from pageable memory were widened later, by captures of torch.profiler. For the three steps that are bundled it
does not, because one of them took twice as long. The programs with the largest errors (`bert_infer`,
`sync_loss_narrow`, `depthwise_infer_small`, `gan_train`: 48 to 58 %) have no calls or threads in common. The host has
two speeds. It had the lower one while these were recorded, and the higher one in the steps without nsys before and
after. One call shows this: the work of `cuKernelGetName` is always the same. Its median was 83 to 111 ns in 14 programs
that launch kernels, and 134 to 345 ns in 15. The first 14 have a median error of 4.9 % and a 90th percentile of 21.0 %,
the other 15 have 17.5 and 52.7 %. The ranges hold all of the first 14 and 14 of the others. Nothing in one trace shows
which speed is usual on its machine, so the prediction is for a host of the recorded speed. Below are the bundled
captures: first those taken in turns, with three steps each, then those of the table above. For the latter, *measured*
has times of the same process before and after, and of processes that never recorded.

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


def turn_cases(folder: Path = FOLDER, captures: Path = FOLDER / "turns") -> list[Case]:
    """Return the captures PROGRAM.sqlite of programs that took turns with an unrecorded process."""
    turns: dict[str, dict[str, list[list[float]]]] = json.loads(
        (folder / "turns.json").read_text()
    )["programs"]
    fitted = sorted(turns)[::2]
    listed = []
    for path in sorted(captures.glob("*.sqlite")):
        beside = statistics.median(ms for block in turns[path.stem]["beside"] for ms in block)
        listed.append(Case(path.stem, "-", "turns", path, (beside,), path.stem in fitted))
    return listed


@cache
def predicted() -> list[Predicted]:
    """Return each capture's predicted step; captures that were taken in turns come first."""
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


_OF_HOST = 1.2
"""A step waits for the host if it is longer than the device's work by more than this."""
