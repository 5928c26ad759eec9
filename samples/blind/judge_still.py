"""Judge captures of take_still.py: one JSON row per program, or two if its first take moved.

python -m samples.blind.judge_still [--at-speed] FOLDER… ROWS.jsonl

Each FOLDER is of one run, and has pairs.json and its captures. The first take of a program has a
row, and so has its first take that held still. With `--at-speed`, only first takes have rows, which
are compared with blocks at the captured speed of the host. README.md has the rules.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tracelens as tl
from samples.blind.judge import _step
from tracelens.collectors.torch.live.settings import Settings
from tracelens.collectors.torch.recording import read_recording
from tracelens.errors import TracelensError
from tracelens.trace.combine import combine

_BLOCKS = {"beside": ("never_before", "never_after"), "own": ("before", "after")}
"""Blocks of the process that never records, and those of the captured one."""
_TRUTHS = {"beside": "truth", "own": "truth_own"}
_NEAR = 0.15
"""Blocks are at the captured speed if their count differs by at most this share."""
Row = dict[str, Any]


def judged(folder: Path) -> Iterator[Row]:
    """Yield the rows of a run."""
    run = json.loads((folder / "pairs.json").read_text())
    for name, takes in run["takes"].items():
        row: Row = {"kind": run["kind"], "name": name, "way": "usual", "n_takes": len(takes)}
        if not takes:
            yield row | {"first": True, "same": False, "why": "no time"}
            continue
        still = [taken for taken in takes if taken.get("still")]
        chosen = {taken["number"]: taken for taken in (takes[0], *still[:1])}
        for number, taken in chosen.items():
            is_first = number == takes[0]["number"]
            place = folder / run["kind"] / f"{name}.{number}"
            yield row | {"take": number, "first": is_first} | row_of(run["kind"], place, taken)


def row_of(kind: str, place: Path, taken: dict[str, Any]) -> Row:
    """Return a take's measured times and what is predicted of its capture.

    A capture without a number counts as a prediction of the recorded step. If there is no such step
    either, it counts as a prediction of nothing, which is 100 % too short.
    """
    if "failed" in taken:
        return {"same": False, "why": taken["failed"]}
    row: Row = {"same": taken["still"]}
    for word, names in _BLOCKS.items():
        times = [statistics.median(taken[name]["ms"]) for name in names if name in taken]
        row |= {word: times, _TRUTHS[word]: round(statistics.geometric_mean(times), 4)}
    blocks = ("never_before", "before", "recorded", "after", "never_after")
    row["counts_ns"] = [statistics.median(taken[b]["counts_ns"]) for b in blocks if b in taken]
    try:
        row |= _step(trace_of(kind, place))
    except (TracelensError, OSError, IndexError, KeyError) as error:
        row |= {"recorded": 0.0, "said": None, "why": f"no step: {error}"[:200]}
    if row["said"] is None:
        recorded = row["recorded"] or 0.0
        row |= {"said": recorded, "low": recorded, "high": recorded}
    return row


def trace_of(kind: str, place: Path) -> tl.Trace:
    """Read a capture."""
    if kind == "nsys":
        return tl.collect(place.with_name(f"{place.name}.sqlite"))
    captures, *_ = read_recording(place, Settings(str(place), light=True))
    return combine(captures)


def at_speed(row: Row) -> Row:
    """Compare a first take with the blocks at the captured speed; `of_all` keeps the other truth.

    The captured speed is the count of the recorded steps. Of a live capture, it is that of the
    captured process's block, because the capture times such steps.
    """
    if "said" not in row:
        return row
    counts = row["counts_ns"]
    captured = len(counts) // 2
    found: Row = {"of_all": row["truth"], "blocks": row["beside"]}
    near = _near(row["beside"], (counts[0], counts[-1]), counts[captured])
    found |= {"n_near": len(near), "same": bool(near)}
    found["truth"] = round(statistics.geometric_mean(near or row["beside"]), 4)
    if row["kind"] == "nsys":
        near = _near(row["own"], (counts[captured - 1], counts[captured + 1]), counts[captured])
        found["own_same"] = bool(near)
        found["truth_own"] = round(statistics.geometric_mean(near or row["own"]), 4)
    return row | found


def _near(times: list[float], counts: tuple[float, float], count: float) -> list[float]:
    """Return the times of the blocks whose count is near that of the captured steps."""
    return [ms for ms, of in zip(times, counts, strict=True) if abs(of / count - 1) <= _NEAR]


def main() -> None:
    """Write the rows."""
    is_at_speed = sys.argv[1] == "--at-speed"
    *folders, rows = map(Path, sys.argv[1 + is_at_speed :])
    found = (row for folder in folders for row in judged(folder))
    if is_at_speed:
        found = (at_speed(row) for row in found if row["first"])
    rows.write_text("".join(json.dumps(row) + "\n" for row in found))


if __name__ == "__main__":
    main()
