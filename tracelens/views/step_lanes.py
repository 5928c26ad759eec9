"""Draw three bars: a step as recorded, without the profiler, and after the best change."""

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from tracelens.answers.answer import WORK, Answer
from tracelens.answers.words import after_text
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.report import Report

_WORKS, _WAITS, _AFTER, _RANGE = "lane-works", "lane-waits", "step-after", "range"
LOOKS = {
    _WORKS: "work",
    _WAITS: "waiting",
    _AFTER: "work or waiting",
    _RANGE: "from the least to the most that it may take",
}
"""Words for the classes of the parts."""


class LanePart(Struct, frozen=True):
    """A part of a lane: begin and width in percent of the longest lane; its class in style.css."""

    begin: float
    width: float
    look: str


class Lane(Struct, frozen=True):
    """A step as a bar: its label, how long it takes in words, and its parts."""

    label: str
    text: str
    parts: tuple[LanePart, ...]


def step_lanes(report: Report, answer: Answer, program_steps: pl.DataFrame) -> list[Lane]:
    """Draw a program's step as up to three bars; nothing if fewer than two bars are known.

    The profiler slows only the host: without it, the device works as long as recorded.
    `program_steps` are those of the time model; they tell whether the recorded step is the median
    step or the mean one.
    """
    row = _unprofiled(report)
    if row is None or len(answer.bars) != 1:
        return []
    recorded: int = row["recorded_ns"]
    working = recorded * sum(part.share for part in answer.bars[0].parts if part.kind == WORK)
    ends: list[tuple[str, str, float | None, float, float]] = [
        (_recorded_label(row, program_steps), duration(recorded), working, recorded, recorded)
    ]
    if row["low_ns"] is not None:
        low, high = row["low_ns"], row["high_ns"]
        text = f"about {span_text(low, high)}"
        ends.append(("without the profiler", text, min(working, low), low, high))
    best = answer.changes[0] if answer.changes else None
    if best is not None:
        least = best.low_ns if best.low_ns is not None else best.after_ns
        most = best.high_ns if best.high_ns is not None else least
        if least is not None and most is not None:
            ends.append(("after the first change", after_text(best), None, least, most))
    if len(ends) < 2:
        return []
    longest = max(high for *_, high in ends)
    return [_lane(label, text, edges, longest) for label, text, *edges in ends]


def _recorded_label(row: dict[str, int], program_steps: pl.DataFrame) -> str:
    median = program_steps.filter(pl.col("rank") == row["rank"])["duration_ns"].median()
    if not isinstance(median, float) or program_steps.height == 1:
        return "as recorded"
    return f"as recorded ({'median' if round(median) == row['recorded_ns'] else 'average'} step)"


def _unprofiled(report: Report) -> dict[str, int] | None:
    """Return the first rank's row of unprofiled_step, if the report has it."""
    if report.base is not None:
        return None
    frame = report.frames.get("unprofiled_step")
    rows = frame.sort("rank").iter_rows(named=True) if frame is not None else ()
    return next((row for row in rows if row["recorded_ns"] > 0), None)


def _lane(label: str, text: str, edges: Sequence[float | None], longest: float) -> Lane:
    """Draw one lane from three times: the end of its work, and its least and its longest duration.

    The end of its work is None if it is not known.
    """
    working, low, high = (
        None if edge is None else round(100 * edge / longest, 3) for edge in edges
    )
    assert low is not None
    assert high is not None
    begin = working or 0.0
    parts = [
        LanePart(0, begin, _WORKS),
        LanePart(begin, round(low - begin, 3), _AFTER if working is None else _WAITS),
        LanePart(low, round(high - low, 3), _RANGE),
    ]
    return Lane(label, text, tuple(part for part in parts if part.width > 0))
