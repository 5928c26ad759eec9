"""Judge captures of take_turns.py: one JSON row per program and kind of capture.

python -m samples.blind.judge_turns LIVE NSYS ROWS.jsonl
python -m samples.blind.judge_turns LIVE ROWS.jsonl

LIVE and NSYS are the folders of its two runs. The truth of each row is the median of the program's
turns in both. If there was only a live run, the truth is the median of the blocks of steps that the
host ran at the captured process's speed. README.md has the rules.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from samples.blind.judge import _N_STEPS, _live, _middle, _nsys_beside
from tracelens.errors import TracelensError

STEADY = 0.05
"""A steady program's turns are at most so far from the median of its others, in the median."""
FEWEST = 5
"""A steady program has at least so many turns, and a truth at one speed so many blocks."""
NEAR = 0.15
"""A block is near the captured process's speed if their counts differ by at most this share."""
Row = dict[str, Any]


def is_steady(times: list[float]) -> bool:
    """Return whether a program's turns predict each other."""
    if len(times) < FEWEST:
        return False
    distances = [
        abs(statistics.median([*times[:n], *times[n + 1 :]]) / ms - 1) for n, ms in enumerate(times)
    ]
    return statistics.median(distances) <= STEADY


def judged(live: Path, nsys: Path) -> list[Row]:
    """Return a row of each kind for each program."""
    of_live, of_nsys = (json.loads((folder / "pairs.json").read_text()) for folder in (live, nsys))
    captured = {row["program"]: row for row in of_live["live"]}
    rows: list[Row] = []
    for name in of_live["changes"]:
        turns = [turn["-"] for run in (of_live, of_nsys) for turn in run["changes"][name]["turns"]]
        recorded = of_nsys["nsys"].get(name, {}) | {"plain": turns}
        predictions: dict[str, Callable[[], Row]] = {}
        if name in captured:
            predictions["live"] = lambda: _live(live, captured[name], turns)  # noqa: B023 - called at once
        if "recorded" in recorded:
            predictions["nsys"] = lambda: _nsys_beside(nsys / "nodes.sqlite", name, recorded)  # noqa: B023 - called at once
        for kind, run in (("live", of_live), ("nsys", of_nsys)):
            errors = [error for error in run["errors"] if name in error]
            rows.append(
                row_of(kind, name, turns, predictions.get(kind), errors[0] if errors else "")
            )
    return rows


def row_of(
    kind: str, name: str, turns: list[Any], predict: Callable[[], Row] | None, errors: str
) -> Row:
    """Return a prediction's row. Without a capture, the row says why.

    A capture without a number counts as a prediction of the recorded step. If there is no such step
    either, it counts as a prediction of nothing, which is 100 % too short.
    """
    times = [_middle(turn) for turn in turns]
    row: Row = {"kind": kind, "name": name, "way": "usual", "beside": times}
    if times:
        row["truth"] = round(statistics.median(times), 4)
    if predict is None or not times:
        return row | {"steady": False, "why": errors or "not captured"}
    try:
        row |= predict()
    except (TracelensError, IndexError, KeyError) as error:
        row |= {"same": False, "recorded": 0.0, "said": None, "why": f"no step: {error}"[:200]}
    if row["said"] is None:
        recorded = row["recorded"] or 0.0
        row |= {"recorded": recorded, "said": recorded, "low": recorded, "high": recorded}
    return row | {"steady": is_steady(times)}


def judged_at_speed(folder: Path) -> list[Row]:
    """Return a row of each live capture, compared with blocks of steps at its speed."""
    run = json.loads((folder / "pairs.json").read_text())
    captured = {row["program"]: row for row in run["live"]}
    rows: list[Row] = []
    for name, of_program in run["changes"].items():
        n = _N_STEPS.get(name, 1)
        turns = [
            [block | {"ms": round(block["ms"] / n, 4)} for block in turn["-"]]
            for turn in of_program["turns"]
        ]
        predict: Callable[[], Row] | None = None
        if name in captured:
            predict = lambda: _live(folder, captured[name], turns)  # noqa: B023, E731 - called at once
        errors = "; ".join(error for error in run["errors"] if name in error)
        row = row_of("live", name, turns, predict, errors)
        del row["steady"]
        blocks = [block for turn in turns for block in turn]
        rows.append(row | near_blocks(blocks, captured.get(name)))
    return rows


def near_blocks(blocks: list[dict[str, float]], captured: Row | None) -> Row:
    """Return the median of blocks at the speed after the capture, and of all blocks.

    If too few are at this speed, the row is of another speed, and its truth is that of all blocks.
    """
    found: Row = {"blocks": [[block["ms"], block["count_ns"]] for block in blocks]}
    if not blocks or captured is None:
        return found
    of_all = round(statistics.median(block["ms"] for block in blocks), 4)
    counts = captured["captured"]["counts_ns"]
    count = statistics.median(counts[len(counts) // 2 :])
    near = [block["ms"] for block in blocks if abs(block["count_ns"] / count - 1) <= NEAR]
    is_same = len(near) >= FEWEST
    truth = round(statistics.median(near), 4) if is_same else of_all
    found |= {"count_ns": count, "n_near": len(near), "same": is_same}
    return found | {"truth": truth, "of_all": of_all}


def main() -> None:
    """Write the rows."""
    *folders, rows = map(Path, sys.argv[1:])
    found = judged(*folders) if len(folders) > 1 else judged_at_speed(*folders)
    rows.write_text("".join(json.dumps(row) + "\n" for row in found))


if __name__ == "__main__":
    main()
