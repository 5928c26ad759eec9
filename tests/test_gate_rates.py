"""The rates of failed gates in samples/gate/README.md are those that the captures give."""

from pathlib import Path

import pytest

import tracelens as tl
from samples.gate.rates import RUNS, counted, pairs
from tracelens.trace import Trace

TABLE = RUNS.parent / "README.md"


def printed(file: Path) -> dict[tuple[str, ...], list[str]]:
    """By program, change and runs: comparisons, and in how many each gate failed or was unclear."""
    lines = [line.strip("| \n").split(" | ") for line in file.read_text().splitlines()]
    rows = [line for line in lines if line[0] in ("convolutions", "blocks")]
    return {tuple(row[:3]): row[3:] for row in rows}


def runs(program: str, change: str) -> list[Trace]:
    return [tl.collect(path) for path in sorted(RUNS.glob(f"{program}.{change}.*.gz"))]


def test_the_page_shows_the_whole_table() -> None:
    assert len(printed(TABLE)) == 2 * (2 + 3 + 3)


@pytest.mark.parametrize(
    ("program", "change", "sides"),
    [
        ("blocks", "same", "1 : 1"),
        pytest.param("convolutions", "device", "3 : 1", marks=pytest.mark.exhaustive),
    ],
)
def test_gates_fail_as_often_as_is_said(program: str, change: str, sides: str) -> None:
    same = runs(program, "same")
    compared = dict(pairs(same, same if change == "same" else runs(program, change)))[sides]
    assert [str(len(compared)), *counted(compared)] == printed(TABLE)[program, change, sides]
