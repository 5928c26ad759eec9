"""Fit what nsys adds to an API call on half of the programs; judge it on the other half.

`fit.py [FOLDER]` prints the costs inside and beside a call that fit best, the errors of both
halves with none and with them, and how many steps lie in their ranges.
"""

from __future__ import annotations

import math
import statistics
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))

import tracelens as tl
from samples.accuracy.nsys_costs import FOLDER, cases
from samples.whatif.measured import Case
from tracelens.derive.replay.costs import (
    NO_COSTS,
    NSYS_COSTS,
    NSYS_STEP_WIDTH,
    Costs,
    CostsBeside,
    slowness_under_nsys,
    uncertainty_ns,
    weights_of_scenarios,
)
from tracelens.derive.replay.replay import Replay, replays, steady_step_ns
from tracelens.derive.replay.unprofiled import unprofiled_steps

_MOST = 0.5
_INSIDE, _BESIDE = range(0, 5_000, 1_000), range(0, 8_000, 1_000)


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """A capture with its replay; `scale` is from replayed to recorded time."""

    case: Case
    replay: Replay
    scale: float
    slowness: float

    def missed(self, costs: CostsBeside) -> tuple[float, bool]:
        """The error of the step, and whether its range holds the measured one."""
        of_host: Costs = (
            costs.times(self.slowness) if costs.beside_ns or costs.call_ns else NO_COSTS
        )
        steps = [steady_step_ns(self.replay, w) for w in weights_of_scenarios(self.replay, of_host)]
        apart = steps[0] * self.scale - self.case.step_ns
        margin = NSYS_STEP_WIDTH * uncertainty_ns(*steps) * self.scale
        return abs(apart) / self.case.step_ns, abs(apart) <= margin


def replayed(folder: Path) -> list[Replayed]:
    """Every capture of the folder."""
    rows = []
    for case in cases(folder):
        trace = tl.collect(case.path)
        replay = replays(trace)[0]
        scale = unprofiled_steps(trace)[0].recorded_ns / steady_step_ns(replay)
        rows.append(Replayed(case, replay, scale, slowness_under_nsys(replay)))
    return rows


def said(rows: list[Replayed], costs: CostsBeside) -> str:
    """The cells of a table's row."""
    missed = [row.missed(costs) for row in rows]
    errors = sorted(error for error, _ in missed)
    ninth = errors[math.ceil(0.9 * len(errors)) - 1]
    held = sum(is_held for _, is_held in missed) / len(missed)
    return f"{len(rows)} | {statistics.median(errors):.1%} | {ninth:.1%} | {held:.0%} |"


def main() -> None:
    """Print the best costs, and the rows of docs/accuracy.md."""
    rows = replayed(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
    fitted = [row for row in rows if row.case.is_fitted]
    of_host = [row for row in fitted if not row.case.program.startswith("input_")]
    tried = []
    for inside, beside in product(_INSIDE, _BESIDE):
        costs = CostsBeside(0, 0, inside, 0, beside)
        loss = statistics.fmean(min(row.missed(costs)[0], _MOST) for row in of_host)
        tried.append((loss, inside, beside))
    lines = [
        f"{loss:.2%}: {inside} inside, {beside} beside"
        for loss, inside, beside in sorted(tried)[:6]
    ]
    halves = {"fitted on": fitted, "judged": [row for row in rows if not row.case.is_fitted]}
    for name, half in halves.items():
        lines += [f"| {name}, as recorded | {said(half, CostsBeside(0, 0, 0))}"]
        lines += [f"| {name} | {said(half, NSYS_COSTS)}"]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
