"""Add the source lines of a live capture to the call paths of the host's activities."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeAlias

import polars as pl
from msgspec import Struct, field

from tracelens.derive.columns.intervals import END, covered_ns
from tracelens.derive.columns.split_intervals import cut_at
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.cpu_busy import outermost_ops
from tracelens.derive.time.frame_lines import FRAME

Stack: TypeAlias = list[tuple[str, str, int, bool]]
Function: TypeAlias = tuple[str, str] | None
"""A function's file and name. None means the innermost function of the program's own code."""
Line: TypeAlias = tuple[str, str, int]
Call: TypeAlias = tuple[int, int, tuple[str, str, int, bool]]
"""Start, end, and the frame that makes the call."""


class CallLines(Struct, frozen=True):
    """Holds the intervals in which a call is running, each with the line of the call.

    The intervals do not overlap and are in order.
    """

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    @classmethod
    def of(cls, calls: Iterable[tuple[int, int, Line]]) -> "CallLines":
        """Return the intervals of calls that may be nested.

        During a nested call, the interval has the line of the inner call.
        """
        intervals, open_calls, reached_ns = cls(), list[tuple[int, Line]](), 0
        for start, end, line in sorted(
            calls,
            key=lambda call: (call[0], -call[1]),
        ):
            intervals._add(open_calls, reached_ns, start)
            open_calls.append((end, line))
            reached_ns = start
        intervals._add(open_calls, reached_ns, 2**63)
        return intervals

    def _add(self, open_calls: list[tuple[int, Line]], start_ns: int, end_ns: int) -> None:
        """Add the intervals of open calls from `start_ns` to `end_ns`.

        Calls that end in this time are removed from `open_calls`.
        """
        while open_calls and start_ns < end_ns:
            call_end, line = open_calls[-1]
            if min(call_end, end_ns) > start_ns:
                self.starts.append(start_ns)
                self.ends.append(min(call_end, end_ns))
                self.lines.append(line)
                start_ns = self.ends[-1]
            if call_end <= end_ns:
                open_calls.pop()

    def within(self, start_ns: int, end_ns: int) -> Counter[Line]:
        """Return the nanoseconds spent in calls during an interval, by the line of the call."""
        times: Counter[Line] = Counter()
        for n in range(bisect_right(self.ends, start_ns), bisect_left(self.starts, end_ns)):
            times[self.lines[n]] += min(self.ends[n], end_ns) - max(self.starts[n], start_ns)
        return times

    def holds(self, moment_ns: int) -> bool:
        """Return whether a call is running at a moment."""
        n = bisect_right(self.ends, moment_ns)
        return n < len(self.ends) and self.starts[n] <= moment_ns


class RecordedLines(Struct, frozen=True):
    """Holds the source lines that ran: samples of a thread's stack, and lines of calls.

    A frame has its file, function and line, and whether it is in the program's code. The innermost
    frame of a sample comes first. `calls` holds the calls that each function makes.
    """

    times: list[int]
    frames: list[Stack]
    calls: dict[Function, CallLines] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "RecordedLines | None":
        """Return the lines in a sidecar's facts, None if they are absent or damaged."""
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
                    [
                        (
                            *names[number][:2],
                            int(line),
                            names[number][2],
                        )
                        for number, line in stack
                    ]
                )
            calls = [
                (
                    int(start),
                    int(end),
                    (
                        *names[number][:2],
                        int(line),
                        names[number][2],
                    ),
                )
                for start, end, number, line in recorded.get("calls", ())
            ]
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            return None
        return cls(times, frames, _by_function(calls)) if times or calls else None

    def within(self, start_ns: int, end_ns: int) -> list[tuple[int, int, Stack]]:
        """Return the samples in an interval: (nanoseconds represented, time of the sample, stack).

        A sample represents the time that is nearer to it than to any other sample.
        """
        first, last = bisect_left(self.times, start_ns), bisect_left(self.times, end_ns)
        inside = self.times[first:last]
        # A call that holds the interpreter's lock is sampled only once. This sample represents the
        # whole call.
        halves = [(before + after) // 2 for before, after in pairwise(inside)]
        edges = [start_ns, *halves, end_ns]
        weights = [max(after - before, 1) for before, after in pairwise(edges)]
        return [*zip(weights, inside, self.frames[first:last], strict=True)] if inside else []

    def lines_of(self, function: Function, start_ns: int, end_ns: int) -> Counter[Line]:
        """Return the nanoseconds that a function spent in each of its lines during an interval.

        The result is empty if less than half of the interval is known.
        """
        calls = self.calls.get(function, CallLines())
        times = calls.within(start_ns, end_ns)
        in_calls_ns = times.total()
        sampled: Counter[Line] = Counter()
        # During a call that the function makes, the line is known exactly. Samples represent the
        # rest.
        for weight, moment, stack in self.within(start_ns, end_ns):
            if (line := _line_in(stack, function)) is not None and not calls.holds(moment):
                sampled[line] += weight
        for line, weight in sampled.items():
            times[line] += (end_ns - start_ns - in_calls_ns) * weight // sampled.total()
        is_known = sampled or 2 * in_calls_ns >= end_ns - start_ns
        return times if is_known else Counter()


def _by_function(calls: list[Call]) -> dict[Function, CallLines]:
    by_function: dict[Function, list[tuple[int, int, Line]]] = {}
    for start, end, (file, function, line, _) in calls:
        by_function.setdefault((file, function), []).append((start, end, (file, function, line)))
    by_function[None] = _calls_out_of_program(calls)
    return {function: CallLines.of(lines) for function, lines in by_function.items()}


def _calls_out_of_program(calls: list[Call]) -> list[tuple[int, int, Line]]:
    """Return the innermost calls that the program's code makes: start, end and line."""
    program_calls = sorted(
        (call for call in calls if call[2][3]),
        key=lambda call: (call[0], -call[1]),
    )
    open_calls: list[int] = []
    within_program: set[int] = set()
    for number, (start, _, frame) in enumerate(program_calls):
        while open_calls and program_calls[open_calls[-1]][1] <= start:
            open_calls.pop()
        # Another function of the program makes a call, so the outer call is not innermost.
        if open_calls and program_calls[open_calls[-1]][2][:2] != frame[:2]:
            within_program.add(open_calls[-1])
        open_calls.append(number)
    return [
        (start, end, frame[:3])
        for number, (start, end, frame) in enumerate(program_calls)
        if number not in within_program
    ]


def _line_in(stack: Stack, function: Function) -> Line | None:
    """Return the line of a function's innermost frame in a stack, None if it has no frame."""
    for file, name, line, is_program in stack:
        if is_program if function is None else function == (file, name):
            return file, name, line
    return None


def with_sampled_lines(
    activities: pl.DataFrame,
    recorded: RecordedLines,
    spans: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Add to each frame of a call path the line in which it spent most time.

    - A path without a Python frame gets the innermost frame of the program's code.
    - An activity without recorded lines gets the lines of other activities with the same path.
    - If a process uses a device, its activities with the cause `launch` get no recorded lines.
    - If a process uses no device, its activities with the cause `launch` are split where the
      sampled line changes. This needs `spans`.
    """
    if spans is not None and "op_ns" in activities.columns:
        activities = _split_where_lines_change(activities, recorded, spans)
    of_process = pl.lit(value=False)
    if "op_ns" in activities.columns:
        of_process = pl.col("op_ns").is_not_null()
    keeps_path = (pl.col("cause") == "launch") & ~of_process
    paths = activities["what"].to_list()
    functions = {path: _functions(path) for path in paths}
    times_by_path: dict[tuple[str | None, Function], Counter[Line]] = {}
    lines_of_rows: list[dict[Function, Line]] = []
    rows = activities.select("start_ns", "duration_ns", "what", is_kept=keeps_path).rows()
    for start, length, path, is_kept in rows:
        lines: dict[Function, Line] = {}
        for function in () if is_kept else functions[path]:
            times = recorded.lines_of(function, start, start + length)
            if not times:
                continue
            lines[function] = _most(times)
            # The line of a call does not show what a function itself does. If the path ends in the
            # function, only intervals with a sample count.
            is_own_work = function is None or str(path).endswith(f": {function[1]}")
            if not is_own_work or recorded.within(start, start + length):
                times_by_path.setdefault((path, function), Counter()).update(times)
        lines_of_rows.append(lines)
    usual_lines = {key: _most(times) for key, times in times_by_path.items()}
    texts = []
    for path, lines in zip(paths, lines_of_rows, strict=True):
        known = {key: lines.get(key) or usual_lines.get((path, key)) for key in functions[path]}
        texts.append(_with_lines(path, known))
    named = pl.Series("what", texts, dtype=pl.String).cast(activities.schema["what"])
    return activities.with_columns(named)


def _most(times: Counter[Line]) -> Line:
    """Return the line with the most time."""
    return times.most_common(1)[0][0]


def _functions(what: str | None) -> list[Function]:
    """Return the functions in a call path, [None] for a path without frames."""
    if what == PROFILER:
        return []  # the profiler's time needs no line
    frames = [*FRAME.finditer(what or "")]
    return [_function(frame) for frame in frames] or [None]


def _function(frame: re.Match[str]) -> tuple[str, str]:
    return frame[1].rpartition("/")[2], frame[4]


def _split_where_lines_change(
    activities: pl.DataFrame, recorded: RecordedLines, spans: pl.DataFrame
) -> pl.DataFrame:
    """Split the launch activities of processes without a device where the sampled line changes.

    An activity is split halfway between two samples with different lines.
    """
    is_cut = (pl.col("cause") == "launch") & pl.col("op_ns").is_not_null()
    whole = activities.filter(is_cut).sort("start_ns")
    if whole.is_empty():
        return activities
    lines = [next((frame for frame in stack if frame[3]), None) for stack in recorded.frames]
    edges = [
        (before + after) // 2
        for before, after, line, next_line in zip(
            recorded.times,
            recorded.times[1:],
            lines,
            lines[1:],
            strict=False,
        )
        if line != next_line
    ]
    pieces = cut_at(
        whole.with_columns(end_ns=END),
        pl.Series("edges", edges, dtype=pl.Int64).unique().sort(),
    )
    timed_pieces = pieces.with_columns(duration_ns=pl.col("end_ns") - pl.col("start_ns"))
    op_ns = covered_ns(timed_pieces, outermost_ops(spans), ["process_id"])
    new_rows = timed_pieces.with_columns(op_ns=op_ns).select(activities.columns)
    rest = activities.filter(~is_cut.fill_null(value=False))
    return pl.concat([rest, new_rows]).sort("start_ns")


def _with_lines(what: str | None, lines: dict[Function, Line | None]) -> str | None:
    """Return the call path with the line of each frame in `lines`."""

    def line_of(frame: re.Match[str]) -> str:
        line = lines.get(_function(frame))
        return frame[0] if line is None else f"{frame[1]}({line[2]}): {frame[4]}"

    program_line = lines.get(None)
    if program_line is None:
        return FRAME.sub(line_of, what) if what is not None and any(lines.values()) else what
    file, function, number = program_line
    program_frame = f"{file}({number}): {function}"
    is_between_events = what is None or what.startswith(("between ", "before ", "after "))
    return program_frame if is_between_events else f"{program_frame} > {what}"
