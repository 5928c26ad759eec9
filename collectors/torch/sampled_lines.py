"""Add the lines that a live capture sampled to the places of the host's activities."""

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import polars as pl

from tracelens.derive.columns.intervals import END, covered_ns
from tracelens.derive.columns.split_intervals import cut_at
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.cpu_busy import outermost_ops
from tracelens.derive.time.frame_lines import FRAME

Stack: TypeAlias = list[tuple[str, str, int, bool]]


@dataclass(frozen=True, slots=True)
class LineSamples:
    """Samples of a thread by time, each with its frames, innermost first.

    A frame has its file, function and line, and whether it is the program's own.
    """

    times: list[int]
    frames: list[Stack]

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "LineSamples | None":
        """Return the samples in a sidecar; None without any, or where they are damaged."""
        recorded: Any = facts.get("lines")
        try:
            names = [
                (str(file), str(name), bool(is_program))
                for file, name, is_program in recorded["names"]
            ]
            times, frames = [], []
            for time_ns, stack in recorded["samples"]:
                times.append(int(time_ns))
                frames.append(
                    [(*names[number][:2], int(line), names[number][2]) for number, line in stack]
                )
        except (TypeError, ValueError, KeyError, IndexError):
            return None
        return cls(times, frames) if times else None

    def within(self, start_ns: int, end_ns: int) -> list[tuple[int, Stack]]:
        """Return the stacks sampled in a stretch, and for each the part of it that it stands for.

        A sample stands for the time that is nearer to it than to any other sample: a call that
        holds the interpreter's lock is sampled once, however long it takes.
        """
        first, last = bisect_left(self.times, start_ns), bisect_left(self.times, end_ns)
        inside = self.times[first:last]
        halves = [(before + after) // 2 for before, after in pairwise(inside)]
        edges = [start_ns, *halves, end_ns]
        weights = [max(after - before, 1) for before, after in pairwise(edges)]
        return [*zip(weights, self.frames[first:last], strict=True)] if inside else []


def with_sampled_lines(
    activities: pl.DataFrame, samples: LineSamples, spans: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Add to each frame of a place the line in which it spent most time, by the samples.

    A place without a Python frame gets the innermost frame of the program's own code. A stretch
    that was not sampled gets the lines that the same place had elsewhere. Launching keeps its
    place, unless the process has no device: then it is cut where the sampled line changes, for
    which `spans` are needed.
    """
    if spans is not None and "op_ns" in activities.columns:
        activities = _cut_where_lines_change(activities, samples, spans)
    of_process = pl.lit(value=False)
    if "op_ns" in activities.columns:
        of_process = pl.col("op_ns").is_not_null()
    is_named = (pl.col("cause") != "launch") | of_process
    rows = activities.select("start_ns", "duration_ns", "what", is_named).rows()
    named: list[str | None] = []
    weights: dict[str, Counter[str]] = {}
    for start, length, what, is_named_here in rows:
        stacks = samples.within(start, start + length) if is_named_here else []
        text = _with_lines(what, stacks) if stacks else None
        named.append(text)
        if text is not None and what is not None and FRAME.search(what):
            weights.setdefault(what, Counter())[text] += length
    usual = {what: texts.most_common(1)[0][0] for what, texts in weights.items()}
    filled = [
        text if text is not None else usual.get(what, what) if what is not None else None
        for text, (_, _, what, _) in zip(named, rows, strict=True)
    ]
    return activities.with_columns(
        pl.Series("what", filled, dtype=pl.String).cast(activities.schema["what"])
    )


def _cut_where_lines_change(
    activities: pl.DataFrame, samples: LineSamples, spans: pl.DataFrame
) -> pl.DataFrame:
    """Cut launching of a process without a device halfway between samples of different lines."""
    is_cut = (pl.col("cause") == "launch") & pl.col("op_ns").is_not_null()
    whole = activities.filter(is_cut).sort("start_ns")
    if whole.is_empty():
        return activities
    lines = [next((frame for frame in stack if frame[3]), None) for stack in samples.frames]
    edges = [
        (before + after) // 2
        for before, after, line, next_line in zip(
            samples.times, samples.times[1:], lines, lines[1:], strict=False
        )
        if line != next_line
    ]
    pieces = cut_at(
        whole.with_columns(end_ns=END), pl.Series("edges", edges, dtype=pl.Int64).unique().sort()
    )
    pieces = pieces.with_columns(duration_ns=pl.col("end_ns") - pl.col("start_ns"))
    pieces = pieces.with_columns(op_ns=covered_ns(pieces, outermost_ops(spans), ["process_id"]))
    rest = activities.filter(~is_cut.fill_null(value=False))
    return pl.concat([rest, pieces.select(activities.columns)]).sort("start_ns")


def _with_lines(what: str | None, stacks: list[tuple[int, Stack]]) -> str | None:
    """Return the place; each of its frames has the line in which the stacks spent most time.

    Each stack has a weight: the time that it stands for.
    """
    lines: dict[tuple[str, str], Counter[int]] = {}
    program_lines: Counter[tuple[str, str, int]] = Counter()
    for weight, stack in stacks:
        seen: set[tuple[str, str]] = set()
        for file, function, line, _ in stack:
            if (file, function) not in seen:  # of a recursion the innermost call
                seen.add((file, function))
                lines.setdefault((file, function), Counter())[line] += weight
        innermost = next(((f, name, line) for f, name, line, is_own in stack if is_own), None)
        if innermost is not None:
            program_lines[innermost] += weight

    def line_of(match: re.Match[str]) -> str:
        counts = lines.get((match[1].rpartition("/")[2], match[4]))
        if counts is None:
            return match[0]
        return f"{match[1]}({counts.most_common(1)[0][0]}): {match[4]}"

    if what is not None and FRAME.search(what):
        return FRAME.sub(line_of, what)
    if not program_lines or what == PROFILER:
        return what
    file, function, line = program_lines.most_common(1)[0][0]
    place = f"{file}({line}): {function}"
    is_stretch = what is None or what.startswith(("between ", "before ", "after "))
    return place if is_stretch else f"{place} > {what}"
