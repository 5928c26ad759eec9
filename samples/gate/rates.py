"""Print how often gates fail on the bundled captures: `python -m samples.gate.rates`.

Each row names a program, what changed, the number of runs on either side, and the number of
comparisons in which each gate failed or was unclear. If nothing changed, a failure is a false
alarm.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from pathlib import Path

from msgspec.structs import replace

import tracelens as tl
from tracelens.derive.comparing.expressions import parse
from tracelens.derive.comparing.gate import FAILED, UNCLEAR, evaluate
from tracelens.derive.comparing.significance import DEFAULT
from tracelens.trace import Trace

RUNS = Path(__file__).parent / "runs"
GATES = ("gpu_time > +3%", "step_time > +3%", "each kernel:* > +10%")
PROGRAMS, CHANGES = ("convolutions", "blocks"), ("same", "device", "host")
Runs = Sequence[Trace]
Pair = tuple[Runs, Runs]


def gates(base: Runs, new: Runs) -> list[str]:
    """Evaluate every gate on two sets of runs; returns one verdict per gate."""
    rules = replace(
        DEFAULT,
        base_runs=tuple(base[1:]),
        other_runs=tuple(new[1:]),
    )
    verdicts = evaluate(
        base[0],
        new[0],
        [parse(gate) for gate in GATES],
        rules=rules,
    )
    return [verdict.verdict for verdict in verdicts]


def counted(compared: Sequence[Pair]) -> list[str]:
    """Count, for each gate, the comparisons that failed or were unclear, such as "0, 3 unclear"."""
    by_pair = [gates(*pair) for pair in compared]
    cells = []
    for verdicts in zip(*by_pair, strict=True):
        n_failed, n_unclear = verdicts.count(FAILED), verdicts.count(UNCLEAR)
        cells.append(f"{n_failed}, {n_unclear} unclear" if n_unclear else str(n_failed))
    return cells


def pairs(same: Runs, changed: Runs) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the comparisons for each number of runs per side."""
    if changed is same:
        yield "1 : 1", [([base], [new]) for base, new in permutations(same, 2)]
        others = [[run for run in same if run is not new] for new in same]
        yield "2 : 1", [(base, [new]) for base, new in zip(others, same, strict=True)]
        return
    yield "1 : 1", [([base], [new]) for base, new in product(same, changed)]
    yield "3 : 1", [(same, [new]) for new in changed]
    yield "3 : 3", [(same, changed)]


def rates(program: str) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield the change, the runs per side, the number of comparisons, and each gate's counts."""
    runs = {change: _runs(program, change) for change in CHANGES}
    for change in CHANGES:
        for sides, compared in pairs(runs["same"], runs[change]):
            yield change, sides, len(compared), counted(compared)


def _runs(program: str, change: str) -> list[Trace]:
    """Collect the program's bundled captures with this change."""
    paths = RUNS.glob(f"{program}.{change}.*.gz")
    return [tl.collect(path) for path in sorted(paths)]


def table() -> str:
    """Return all rates as a table in Markdown."""
    headings = ["program", "change", "runs", "comparisons", *(f"`{gate}`" for gate in GATES)]
    lines = [headings, ["---"] * len(headings)]
    for program in PROGRAMS:
        for change, sides, n_compared, cells in rates(program):
            lines.append(
                [
                    program,
                    change,
                    sides,
                    str(n_compared),
                    *cells,
                ]
            )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table())
