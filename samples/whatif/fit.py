"""Fit what the profiler adds to each event on half of the programs; judge on the other half.

`fit.py [FOLDER]` prints the costs of each kind of profile with the errors of both halves. It also
prints how wide a range must be to hold nine of ten captures of other programs. The costs are kept
in `tracelens/derive/replay/costs.py`.
"""

from __future__ import annotations

import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from measured import CAPTURES, Case, cases

import tracelens as tl
from tracelens.derive.replay.costs import TORCH_COSTS, Costs
from tracelens.derive.replay.replay import Replay, replays, steady_step_ns
from tracelens.derive.replay.unprofiled import (
    uncertainty_ns,
    unprofiled_steps,
    weights_of_scenarios,
    weights_without,
)

_FACTORS = (2.0, 1.5, 1.2, 1.1)
_MOST = 0.5
_WAITS_FOR_INPUT = "input_"
"""The step of programs with this prefix depends on their loader, so nothing is fitted on it."""


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
class Replayed:
    """A case with its replay."""

    case: Case
    replay: Replay
    scale: float

    def error(self, costs: Costs) -> float:
        """Return the logarithm of the predicted step over the measured one."""
        weights = weights_without(self.replay, costs)
        predicted_ns = steady_step_ns(self.replay, weights) * self.scale
        return math.log(predicted_ns / self.case.step_ns)

    def score(self, costs: Costs) -> float:
        """Return the error relative to the expected error."""
        scenarios = weights_of_scenarios(self.replay, costs)
        steps = [steady_step_ns(self.replay, weights) for weights in scenarios]
        missed = abs(steps[0] * self.scale - self.case.step_ns)
        return missed / (uncertainty_ns(*steps[:3]) * self.scale)


def replayed(folder: Path) -> list[Replayed]:
    """Replay every case with a trace that can be replayed."""
    rows = []
    for case in cases(folder):
        trace = tl.collect(case.path)
        step = unprofiled_steps(trace).get(0)
        if step is not None:
            replay = replays(trace)[0]
            rows.append(Replayed(case, replay, step.recorded_ns / steady_step_ns(replay)))
    return rows


def loss(rows: list[Replayed], costs: Costs) -> float:
    """Return the mean error, with each error limited to one half."""
    return statistics.fmean(min(abs(row.error(costs)), _MOST) for row in rows)


def fit(rows: list[Replayed], *, kind: str) -> Costs:
    """Find the costs of the least loss by changing one cost at a time."""
    start = TORCH_COSTS[kind]
    best = [start.op_ns, start.python_ns, start.call_ns, start.generated_ns]
    least = loss(rows, Costs(*best))
    for factor in _FACTORS:
        is_better = True
        while is_better:
            is_better = False
            for place in range(len(best)):
                for step in (factor, 1 / factor):
                    tried = list(best)
                    tried[place] *= step
                    tried_loss = loss(rows, Costs(*tried))
                    if tried_loss < least - 1e-4:
                        best, least = tried, tried_loss
                        is_better = True
    return Costs(*(round(ns, -1) for ns in best))


def summary(rows: list[Replayed], costs: Costs) -> str:
    """Write median and 90th percentile of the errors."""
    errors = sorted(abs(math.expm1(row.error(costs))) for row in rows)
    ninth = errors[math.ceil(0.9 * len(errors)) - 1]
    return f"median {statistics.median(errors):.1%}, 90th {ninth:.1%} of {len(errors)}"


def width(scores: list[float]) -> float:
    """Return the score that nine of ten new cases do not exceed (split conformal prediction)."""
    rank = math.ceil((len(scores) + 1) * 0.9)
    place = min(rank, len(scores))
    return sorted(scores)[place - 1]


def main() -> None:
    """Print the fit of each kind, and the width of ranges."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else CAPTURES
    rows = replayed(folder)
    for kind in TORCH_COSTS:
        of_kind = [
            row
            for row in rows
            if row.case.kind == kind and not row.case.program.startswith(_WAITS_FOR_INPUT)
        ]
        fitted = [row for row in of_kind if row.case.is_fitted]
        judged = [row for row in of_kind if not row.case.is_fitted]
        costs = fit(fitted, kind=kind)
        lines = [f"{kind}: {costs}", *(f"  {summary(half, costs)}" for half in (fitted, judged))]
        sys.stdout.write("\n".join(lines) + "\n")
    scores = {row: row.score(TORCH_COSTS[row.case.kind]) for row in rows}
    held = 0
    for program in {row.case.program for row in rows}:
        inside = [score for row, score in scores.items() if row.case.program == program]
        outside = [score for row, score in scores.items() if row.case.program != program]
        limit = width(outside)
        held += sum(score <= limit for score in inside)
    sys.stdout.write(
        f"width {width(list(scores.values())):.2f}; each program left out, {held} of {len(rows)} held\n"
    )


if __name__ == "__main__":
    main()
