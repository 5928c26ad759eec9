"""Fit what nsys adds to an API call on half of the programs; judge it on the other half.

`fit.py FOLDER [CAPTURES]` prints the costs that fit best, the width of the range that holds nine of
ten captures of the fitted half, and the errors of both halves. FOLDER holds turns.json. CAPTURES,
by default the same folder, holds a file PROGRAM.sqlite per program.
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
from samples.accuracy.nsys_costs import FOLDER, turn_cases
from samples.whatif.measured import Case
from tracelens.derive.replay.costs import (
    NO_COSTS,
    NSYS_COSTS,
    CallCost,
    Costs,
    CostsBeside,
    nsys_costs,
)
from tracelens.derive.replay.replay import Replay, replays, steady_step_ns
from tracelens.derive.replay.unprofiled import (
    uncertainty_ns,
    unprofiled_steps,
    weights_of_scenarios,
)

_MOST = 0.5
_NVTX_NS = 600
"""The cost of an NVTX range: the program `marks` takes 500 times as much longer under nsys."""
_LAUNCHES = [CallCost(inside, beside) for inside in (2e3, 3e3) for beside in (4e3, 6e3, 8e3, 1e4)]
_WORK = [CallCost(1e3, beside) for beside in (1e3, 2e3, 3e3)]
_OTHERS = [CallCost(200, beside) for beside in (500, 1e3, 1.5e3, 2e3)]


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
class Replayed:
    """A capture with its replay; `scale` is recorded over replayed time."""

    case: Case
    replay: Replay
    scale: float

    def missed(self, costs: Costs) -> tuple[float, float]:
        """Return the step's error, relative to the measurement and to the expected error."""
        of_host = nsys_costs(self.replay, costs) if isinstance(costs, CostsBeside) else costs
        steps = [steady_step_ns(self.replay, w) for w in weights_of_scenarios(self.replay, of_host)]
        apart = abs(steps[0] * self.scale - self.case.step_ns)
        return apart / self.case.step_ns, apart / (uncertainty_ns(*steps[:3]) * self.scale)


def replayed(cases: list[Case]) -> list[Replayed]:
    """Replay every capture."""
    rows = []
    for case in cases:
        trace = tl.collect(case.path)
        replay = replays(trace)[0]
        scale = unprofiled_steps(trace)[0].recorded_ns / steady_step_ns(replay)
        rows.append(Replayed(case, replay, scale))
    return rows


def _ninth(values: list[float]) -> float:
    """Return the value that nine in ten values do not exceed."""
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]


def said(rows: list[Replayed], costs: Costs, width: float) -> str:
    """Write the cells of a table's row."""
    errors, widths = zip(*(row.missed(costs) for row in rows), strict=True)
    held = sum(needed <= width for needed in widths) / len(rows)
    median = statistics.median(errors)
    return f"{len(rows)} | {median:.1%} | {_ninth(list(errors)):.1%} | {held:.0%} |"


def main() -> None:
    """Print the best costs, the width, and the rows of docs/accuracy.md."""
    folders = [Path(word) for word in sys.argv[1:]] or [FOLDER]
    rows = replayed(turn_cases(folders[0], folders[-1]))
    fitted = [row for row in rows if row.case.is_fitted]
    of_host = [row for row in fitted if not row.case.program.startswith("input_")]
    tried = []
    for launch, work, other in product(_LAUNCHES, _WORK, _OTHERS):
        costs = CostsBeside(0, _NVTX_NS, 0, 0, launch, work, other)
        loss = statistics.fmean(min(row.missed(costs)[0], _MOST) for row in of_host)
        tried.append((loss, costs))
    tried.sort(key=lambda pair: pair[0])
    lines = [f"{loss:.2%}: {costs}" for loss, costs in tried[:4]]
    width = _ninth([row.missed(NSYS_COSTS)[1] for row in fitted])
    lines.append(f"width {width:.2f}")
    halves = {"fitted on": fitted, "judged": [row for row in rows if not row.case.is_fitted]}
    for name, half in halves.items():
        lines += [f"| {name}, as recorded | {said(half, NO_COSTS, 0)}"]
        lines += [f"| {name} | {said(half, NSYS_COSTS, width)}"]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
