"""Read the measurements of samples/whatif.

There are each trace's step without the profiler, and programs before and after a change.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CAPTURES = Path(__file__).resolve().parent / "captures"
_WORKERS = {"input_three": 3}
"""Programs that wait for this number of workers, and whose blocks are no multiple of it."""
UNSEEN = CAPTURES.with_name("unseen")
"""Captures of programs and of a host on which nothing was fitted."""


@dataclass(frozen=True, slots=True)
class Case:
    """A capture, and its step without the profiler, measured in several processes."""

    program: str
    option: str
    kind: str
    path: Path
    # First from the capture's own process, before it recorded. Others never record.
    steps_ms: tuple[float, ...]
    is_fitted: bool
    """True if constants were fitted on captures of this program."""

    @property
    def step_ns(self) -> float:
        """The geometric mean of the measured steps."""
        return statistics.geometric_mean(self.steps_ms) * 1e6

    @property
    def name(self) -> str:
        """The capture's name in a table."""
        return self.path.name.removesuffix(".pt.trace.json.gz")


@dataclass(frozen=True, slots=True)
class Change:
    """A program before and after a change, in ms, and the capture of it before."""

    program: str
    option: str
    expression: str
    before_ms: float
    after_ms: float
    apart_ms: float
    """Difference between processes of the program before the change."""
    path: Path


def _runs(folder: Path) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((folder / "pairs.json").read_text())["runs"]
    return runs


def _times(runs: list[dict[str, Any]]) -> dict[tuple[str, str, str], list[float]]:
    """Return the medians of each program, option and batch, one per process."""
    times: dict[tuple[str, str, str], list[float]] = {}
    for run in runs:
        key = (run["program"], run["option"], run["batch"])
        n_workers = _WORKERS.get(run["program"], 1) if run["option"] == "-" else 1
        times.setdefault(key, []).append(_step_ms(run["before"], n_workers))
    return times


def _step_ms(timed: dict[str, Any], n_workers: int) -> float:
    """Return a step's time: the median of the blocks, or their mean if few steps wait."""
    # If only one in several steps waits for workers, blocks hold different numbers of waits: a
    # block of 4 steps holds 1 wait for 3 workers, or 2 in every third block.
    more = timed["n_steps"] / n_workers % 1
    if not more or "blocks_ms" in timed:
        return float(timed["median_ms"])
    return float(timed["least_ms"] + more * (timed["most_ms"] - timed["least_ms"]))


def cases(folder: Path = CAPTURES) -> list[Case]:
    """Return every capture in the folder; constants were fitted on every second program by name."""
    runs = _runs(folder)
    times = _times(runs)
    fitted = set(sorted({run["program"] for run in runs})[::2])
    return [
        Case(
            run["program"],
            run["option"],
            kind,
            folder / file,
            tuple(times[run["program"], run["option"], run["batch"]]),
            run["program"] in fitted,
        )
        for run in runs
        for kind, file in run.get("files", {}).items()
        if (folder / file).exists()
    ]


def changes(folder: Path = CAPTURES) -> list[Change]:
    """Return every changed program with a capture in the folder, by change."""
    runs = _runs(folder)
    times = _times(runs)
    expressions = {(run["program"], run["option"]): run.get("expression") for run in runs}
    rows = []
    for (program, option, batch), after in times.items():
        path = folder / f"{program}.plain.pt.trace.json.gz"
        if option == "-" or batch != "-" or not path.exists():
            continue
        befores = times[program, "-", "-"]
        before = statistics.geometric_mean(befores)
        apart = max(befores) - min(befores)
        expression = expressions[program, option]
        mean = statistics.geometric_mean(after)
        rows.append(Change(program, option, expression, before, mean, apart, path))
    return sorted(rows, key=lambda row: (row.option, row.program))
