"""The part of docs/accuracy.md on what nsys adds to a step, from samples/nsys/costs."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from samples.accuracy.predictions import step_row, summary
from samples.whatif.measured import Case

FOLDER = Path(__file__).resolve().parents[1] / "nsys" / "costs"
_NOT_JUDGED = ("marks",)
"""Its NVTX ranges are all that it does, and their cost is not taken off."""
Times = dict[str, dict[str, dict[str, float]]]
"""Steps in ms by process, program, and when: before, inside and after the recorded range."""
_UNDER = {"usual": "nsys", "osrt": "with `osrt`", "nodes": "graphs by node"}

_TEXT = """\
## What nsys adds

Nineteen programs ([samples/nsys/costs](../samples/nsys/costs/README.md)), timed in two processes that never recorded
and in three under nsys, one run beside a host of four cores whose own speed varies: the same program takes up to
{apart:.1f} times as long from one time without nsys to another. Times of a step are in ms.

| Program | never recorded | under nsys, before and after | recorded | with `osrt` | graphs by node |
| --- | ---: | ---: | ---: | ---: | ---: |
{measured}

A step that waits for the host takes {more:.0%} longer under nsys, in the median of programs; a step of device work
takes as long as without. nsys adds about 7 µs to each API call of a host that takes 7.2 µs for a recorded launch; most
of that lies before and after what it records of the call. Fitted on half of the programs: 2 µs in the call and 5
beside it, though 4 and 3 or 1 and 6 fit as well (mean errors of 11.8, 11.8 and 11.5 %): only the sum is known. An NVTX
range takes about 1 µs more (`marks`: 500 ranges); this is not taken off. Costs are multiplied by what a launch of the
trace takes, over 7.2 µs. No capture from a faster host was at hand to judge that.

| 54 captures, six steps each | of | median error | 90th percentile | the range holds |
| --- | ---: | ---: | ---: | ---: |
{fitted}

*As recorded* is the error without any correction. The largest errors are those of `conv_infer`, `sync_item` and
`sync_loss_narrow`, which differ as much from process to process. Ranges are wider than for torch.profiler, as were
needed to hold nine in ten of these captures. Below are those that are bundled; *measured* is of the same process
before and after, and of those that never recorded.

"""
_FITTED = """\
| fitted on, as recorded | 27 | 35.0% | 78.6% | |
| fitted on | 27 | 3.7% | 45.3% | 93% |
| judged, as recorded | 27 | 46.8% | 103.7% | |
| judged | 27 | 7.6% | 49.6% | 89% |
"""


def times(folder: Path = FOLDER) -> Times:
    """Steps as they were timed."""
    runs: Times = json.loads((folder / "times.json").read_text())["runs"]
    return runs


def _outside(run: dict[str, float]) -> list[float]:
    """The steps of a program under nsys, outside of the range that it records."""
    return [run[when] for when in ("before", "after") if when in run]


def never_ms(runs: Times, program: str) -> list[float]:
    """Steps of a program in processes that never record."""
    return [
        ms for name, run in runs.items() if name.startswith("bare") for ms in run[program].values()
    ]


def is_fitted(runs: Times, program: str) -> bool:
    """Whether costs were fitted on a program: every other one by name."""
    return program in sorted(set(runs["nsys_usual"]) - set(_NOT_JUDGED))[::2]


def cases(folder: Path = FOLDER) -> list[Case]:
    """Every capture KIND.PROGRAM.sqlite in the folder."""
    runs = times()
    found = []
    for path in sorted(folder.glob("*.sqlite")):
        kind, _, program = path.stem.partition(".")
        if program in _NOT_JUDGED:
            continue
        own = statistics.geometric_mean(_outside(runs[f"nsys_{kind}"][program]))
        never = statistics.geometric_mean(never_ms(runs, program))
        found.append(Case(program, "-", "nsys", path, (own, never), is_fitted(runs, program)))
    return found


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
    predicted = [row for row in map(step_row, cases()) if row is not None]
    text = _TEXT.format(
        apart=max(apart),
        measured="\n".join(rows),
        more=statistics.median(waiting) - 1,
        fitted=_FITTED.rstrip(),
    )
    lines = [
        *summary(predicted),
        "",
        "| Capture | recorded | predicted | measured | error | | |",
        "| --- | ---: | ---: | ---: | ---: | --- | --- |",
        *(row.line for row in predicted),
        "",
    ]
    return text + "\n".join(lines)


_OF_HOST = 1.2
"""A step that is longer by more than this waits for the host."""
