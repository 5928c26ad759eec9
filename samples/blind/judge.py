"""Judge captures of this folder's scripts: one JSON row per prediction, beside the measured value.

python -m samples.blind.judge FOLDER ROWS.jsonl

FOLDER has pairs.json, live/ and traces/, and nodes.sqlite if nsys recorded. Times are in
milliseconds. README.md has the rules.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tracelens as tl
from samples.nsys.cut import cut
from tracelens.collectors.torch.live.settings import Settings
from tracelens.collectors.torch.recording import read_recording
from tracelens.derive.replay.predict import predict
from tracelens.derive.replay.unprofiled import unprofiled_steps
from tracelens.errors import TracelensError
from tracelens.trace.combine import combine

STEADY = 0.15
"""The turns of a steady program differ by at most this share."""
SAME_SPEED = 0.1
"""Two hosts have the same speed if their counting times differ by at most this share."""
_N_STEPS = {
    "policy_train": 6,
    "answers_infer": 5,
    "critic_train": 3,
    "clipped_train": 4,
    "fashions_train": 5,
}
"""Steps that a capture finds in one step of a program, where these are several."""


def judged(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield one row per capture and one per change."""
    pairs = json.loads((folder / "pairs.json").read_text())
    for row in pairs["live"]:
        turns = pairs["changes"].get(row["program"], {}).get("turns", [])
        yield _live(folder, row, [turn["-"] for turn in turns])
    for name, row in pairs["nsys"].items():
        if "recorded" in row:
            yield _nsys_beside(folder / "nodes.sqlite", name, row)
        for turn in range(min(len(row.get("nsys", ())), len(row["plain"]) - 1)):
            yield _nsys(folder / "nodes.sqlite", name, turn, row)
    for name, row in sorted(pairs["changes"].items()):
        for kept_as, counts in row.get("traced", {"-": []}).items():
            if kept_as != "-" and not kept_as.startswith("again"):
                continue
            trace = tl.collect(folder / "traces" / f"{name}.{kept_as}.pt.trace.json.gz")
            traced: dict[str, Any] = {} if kept_as == "-" else {"traced": kept_as}
            if counts:
                beside = [_middle(turn["-"], "count_ns") for turn in row["turns"]]
                traced["slower"] = round(statistics.mean(counts) / statistics.median(beside), 3)
            if kept_as == "-" and ("after" in row or "rounds" in row):
                alone = [live for live in pairs["live"] if live["program"] == name]
                of_trace = _trace(trace, name, row, alone) | traced
                of_trace["same"] &= abs(traced.get("slower", 1) - 1) <= SAME_SPEED
                yield of_trace
            for option in row["options"]:
                if any(option in turn for turn in row["turns"]):
                    path = folder / "traces" / f"{name}.other.pt.trace.json.gz"
                    other = tl.collect(path) if option == "batch" else None
                    judged_row = _change(trace, other, name, option, row) | traced
                    judged_row["same"] &= abs(traced.get("slower", 1) - 1) <= SAME_SPEED
                    yield judged_row


def _step(trace: tl.Trace) -> dict[str, Any]:
    """Return the row for the step without the profiler."""
    step = unprofiled_steps(trace)[0]
    times = {
        "recorded": step.recorded_ns,
        "said": step.unprofiled_ns,
        "low": step.low_ns,
        "high": step.high_ns,
    }
    return {name: ns and round(ns / 1e6, 4) for name, ns in times.items()}


def _live(folder: Path, row: dict[str, Any], long_turns: list[Any]) -> dict[str, Any]:
    """Return a live capture's row: the truth is of the process that never profiled.

    In the seventh judgement that is the process of the program's long turns.
    """
    n = _N_STEPS.get(row["program"], 1)
    captured, steady = row["captured"], {}
    if "before" in row:
        beside = [_mean_ms(row[when]) / n for when in ("before", "after")]
        counts = [statistics.median(row[when]["counts_ns"]) for when in ("before", "after")]
    else:
        beside = [_middle(turn) for turn in long_turns]
        counts = [_middle(turn, "count_ns") for turn in long_turns]
        steady = {"steady": _is_steady(beside)}
    if "turns" in row:
        turns = row["turns"]
        captured = turns[-1]["captured"]
        if "alone" in turns[0]:
            beside = [_mean_ms(turn["alone"]) / n for turn in turns]
            counts = [statistics.median(turn["alone"]["counts_ns"]) for turn in turns]
    ends = captured["ends_us"]
    last = min(40, len(ends) - 2)
    count = statistics.median(captured["counts_ns"][-last:]) / statistics.geometric_mean(counts)
    place = folder / "live" / f"{row['program']}.{row['number']}"
    captures, *_ = read_recording(place, Settings(str(place), light=True))
    return {
        "kind": "live",
        "name": row["program"],
        "way": str(row["number"]),
        "beside": [round(ms, 4) for ms in beside],
        "truth": round((statistics.median if steady else statistics.geometric_mean)(beside), 4),
        "last": round((ends[-2] - ends[-2 - last]) / last / 1000 / n, 4),
        "same": abs(count - 1) <= SAME_SPEED,
        **steady,
        **_step(combine(captures)),
    }


def _mean_ms(turn: dict[str, Any]) -> float:
    """Return the mean step. The first judgement timed from the end of the first step."""
    n = len(turn["counts_ns"])
    if "whole_us" in turn:
        return float(turn["whole_us"]) / n / 1000
    return float(turn["ends_us"][-1]) / (n - 1) / 1000


def _middle(blocks: list[dict[str, float]], what: str = "ms") -> float:
    """Return the median of blocks; of long turns, the mean without the fastest and slowest."""
    values = sorted(block[what] for block in blocks)
    if "n" in blocks[0]:
        return round(statistics.mean(values[1:-1] or values), 4)
    return statistics.median(values)


def _is_steady(times: list[float]) -> bool:
    return max(times) <= (1 + STEADY) * min(times)


def _trace(
    trace: tl.Trace, name: str, row: dict[str, Any], alone: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the row of a trace: the truth is of the same process before it was profiled.

    `after` is the step in that process later, and `fresh` in one that never profiled.
    """
    before = [_middle(turn["-"]) for turn in row["turns"]]
    fresh = [
        _mean_ms(turn["alone"])
        for live in alone
        for turn in live.get("turns", [])
        if "alone" in turn
    ] or [_mean_ms(live[when]) for live in alone for when in ("before", "after") if when in live]
    return {
        "kind": "trace",
        "name": name,
        "way": "-",
        "turns": before,
        "truth": round(statistics.median(before), 4),
        "after": _middle(row["after"]) if "after" in row else None,
        "fresh": round(statistics.geometric_mean(fresh), 4) if fresh else None,
        "same": True,
        **({"steady": _is_steady(before)} if "rounds" in row else {}),
        **_step(trace),
    }


def _nsys(path: Path, name: str, turn: int, row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of one recorded turn: the truth is of the two turns beside it."""
    beside = row["plain"][turn : turn + 2]
    count = math.prod(_middle(blocks, "count_ns") for blocks in beside) ** 0.5
    recorded = row["nsys"][turn][0]
    ratios = recorded["count_ns"] / count, recorded["first_ns"] / recorded["last_ns"]
    last = "23" if name.startswith("rows") else "7"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "cut.sqlite"
        cut(path, target, "0", last, f"program {name} turn {turn}")
        said = _step(tl.collect(target))
    times = [_middle(blocks) for blocks in beside]
    return {
        "kind": "nsys",
        "name": name,
        "way": str(turn),
        "beside": times,
        "truth": round(statistics.geometric_mean(times), 4),
        "same": all(abs(ratio - 1) <= SAME_SPEED for ratio in ratios),
        **said,
    }


def _nsys_beside(path: Path, name: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of one capture: the truth is of the turns in the process without nsys.

    `own` has the turns in the recorded process, outside of the recorded range, if it took any.
    """
    beside = [_middle(turn) for turn in row["plain"]]
    own = {"own": [_middle(turn) for turn in row["outside"]]} if "outside" in row else {}
    counts = row["recorded"]["counts_ns"]
    half = len(counts) // 2
    usual = statistics.median(_middle(turn, "count_ns") for turn in row["plain"])
    first, last = statistics.median(counts[:half]), statistics.median(counts[half:])
    ratios = statistics.median(counts) / usual, first / last
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "cut.sqlite"
        cut(path, target, "0", str(len(counts) - 1), f"program {name}")
        said = _step(tl.collect(target))
    return {
        "kind": "nsys",
        "name": name,
        "way": "-",
        "beside": beside,
        **own,
        "truth": round(statistics.median(beside), 4),
        "same": all(abs(ratio - 1) <= SAME_SPEED for ratio in ratios),
        "steady": _is_steady(beside),
        **said,
    }


def _change(
    trace: tl.Trace, other: tl.Trace | None, name: str, option: str, row: dict[str, Any]
) -> dict[str, Any]:
    """Return the row of a change: the truth is the median of its turns.

    `other` is the trace of the second batch size, for `batch`.
    """
    expression = row["options"][option]
    turns = [turn for turn in row["turns"] if option in turn]
    before, after, old, new = (
        [_middle(turn[which], what) for turn in turns]
        for what in ("ms", "count_ns")
        for which in ("-", option)
    )
    counts = statistics.median(new) / statistics.median(old)
    factors = (b / a for a, b in zip(before, after, strict=True))
    found = {
        "kind": "change",
        "name": name,
        "way": expression,
        "before": round(statistics.median(before), 4),
        "truth": round(statistics.median(after), 4),
        "factor": round(statistics.median(factors), 4),
        "same": max(counts, 1 / counts) <= 1 + SAME_SPEED,
    }
    if "rounds" in row:
        of_program = [_middle(turn["-"]) for turn in row["turns"] if "-" in turn]
        found["steady"] = _is_steady(of_program) and _is_steady(after)
    try:
        (said,) = predict(trace, [expression], other=other)
    except TracelensError as error:
        return found | {"why": str(error).split(";")[0].split(": ", 1)[-1]}
    times = {
        "said": said.after_ns,
        "low": said.low_ns,
        "high": said.high_ns,
        "said_before": said.before_ns,
    }
    known = {name: round(ns / 1e6, 4) for name, ns in times.items()}
    return found | known | {"clear": said.has_gain}


def main() -> None:
    """Write the rows."""
    with Path(sys.argv[2]).open("w") as file:
        for row in judged(Path(sys.argv[1])):
            file.write(json.dumps(row) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
