"""The part of docs/accuracy.md on changes of jobs, each timed with the change made."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

JOBS = Path(__file__).resolve().parents[1] / "whatif" / "jobs.json"
_JOBS = """\
## Changes of a job

Jobs of two and four NVIDIA H200 were recorded for four steps with one planted cause each, and timed without the
profiler with and without the cause, in one process ([numbers](../../samples/whatif/jobs.json); the captures are too
large to be kept here). These predictions are about the recorded step, which contains the profiler's cost. So each is
compared with the same job *recorded* without the cause. Its factor, the step after over the step before, is compared
with the factor of steps *timed* without the profiler. The rules were made while looking at these jobs. Since then hosts
of all ranks are replayed together, without the profiler; that was not compared with these jobs. Times are in ms.

| | number | median error | largest error |
| --- | ---: | ---: | ---: |
| the recorded step after | {n_steps} | {step:.1%} | {step_most:.1%} |
| its factor, without the profiler | {n_factors} | {factor:.1%} | {factor_most:.1%} |

| Job | change | before | predicted | recorded | error | factor, predicted | timed | error |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def section() -> str:
    """Return the section."""
    rows: list[dict[str, Any]] = json.loads(JOBS.read_text())
    steps = [abs(_step_error(row)) for row in rows]
    factors = [abs(error) for error in map(_factor_error, rows) if error is not None]
    head = _JOBS.format(
        n_steps=len(steps),
        step=median(steps),
        step_most=max(steps),
        n_factors=len(factors),
        factor=median(factors),
        factor_most=max(factors),
    )
    return head + "\n".join(map(_line, rows)) + "\n"


def _step_error(row: dict[str, Any]) -> float:
    """Return the error of the step after the change, as a share of the recorded one."""
    return float(row["predicted"] / row["after"] - 1)


def _factor_error(row: dict[str, Any]) -> float | None:
    """Return the error of the factor; None if the step before was not timed."""
    if row["before_measured"] is None:
        return None
    factor = row["after_measured"] / row["before_measured"]
    return float(row["predicted"] / row["before"] / factor - 1)


def _line(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    predicted = f"{row['predicted']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
    factor = f"{row['predicted'] / row['before']:.2f}"
    error = _factor_error(row)
    timed = ["", ""]
    if error is not None:
        timed = [f"{row['after_measured'] / row['before_measured']:.2f}", f"{error:+.1%}"]
    cells = [
        row["program"],
        f"`{row['change']}`",
        f"{row['before']:.2f}",
        predicted,
        f"{row['after']:.2f}",
        f"{_step_error(row):+.1%}",
        factor,
        *timed,
    ]
    return f"| {' | '.join(cells)} |"
