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
    found = evaluate(base[0], new[0], [parse(gate) for gate in GATES], rules=rules)
    return [verdict.verdict for verdict in found]


def counted(compared: Sequence[Pair]) -> list[str]:
    """Count, for each gate, the comparisons that failed or were unclear, as in "0, 3 unclear"."""
    verdicts = zip(*(gates(*pair) for pair in compared), strict=True)
    counts = [(gate.count(FAILED), gate.count(UNCLEAR)) for gate in verdicts]
    return [
        f"{failed}, {unclear} unclear" if unclear else str(failed) for failed, unclear in counts
    ]


def pairs(same: Runs, changed: Runs) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the comparisons for each number of runs per side."""
    if changed is same:
        yield "1 : 1", [([base], [new]) for base, new in permutations(same, 2)]
        yield "2 : 1", [([*same[:at], *same[at + 1 :]], [same[at]]) for at in range(len(same))]
        return
    yield "1 : 1", [([base], [new]) for base, new in product(same, changed)]
    yield "3 : 1", [(same, [new]) for new in changed]
    yield "3 : 3", [(same, changed)]


def rates(program: str) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield the change, the runs per side, the number of comparisons, and each gate's counts."""
    runs = {
        change: [tl.collect(path) for path in sorted(RUNS.glob(f"{program}.{change}.*.gz"))]
        for change in CHANGES
    }
    for change in CHANGES:
        for sides, compared in pairs(runs["same"], runs[change]):
            yield change, sides, len(compared), counted(compared)


def table() -> str:
    """Return all rates as a table in Markdown."""
    lines = [["program", "change", "runs", "comparisons", *(f"`{gate}`" for gate in GATES)]]
    lines += [["---"] * len(lines[0])]
    for program in PROGRAMS:
        for change, sides, n_compared, cells in rates(program):
            lines.append([program, change, sides, str(n_compared), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table())
