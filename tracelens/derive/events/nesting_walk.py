"""The nesting loop that defines which span encloses which.

It walks each thread's spans and calls in time order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

TOLERANCE_NS = 1000
"""A child may outlast its parent by this much: profilers stop the two clocks one after the
other."""


@dataclass(frozen=True, slots=True)
class Nesting:
    """Parent row (-1: none), depth and self time of each span; enclosing span of each call.

    Counts of misfits. `n_overlaps` counts spans that start inside another and outlast it by
    more than the tolerance; they become its successors, not its children. `n_unreturned` counts
    calls that the profiler closed only at the trace's end though their recorded parent went on
    to call others.
    """

    parent: Sequence[int] | pl.Series
    depth: Sequence[int] | pl.Series
    self_ns: Sequence[int] | pl.Series
    call_span: Sequence[int] | pl.Series
    n_overlaps: int
    n_unreturned: int


def as_rows(numbers: Sequence[int] | pl.Series) -> pl.Series:
    """Row numbers of a Nesting as a column in Polars' index type, None for -1."""
    rows = pl.Series(numbers, dtype=pl.Int64)
    return rows.set(rows < 0, None).cast(pl.get_index_type())


def nest_in_python(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """As `nesting.nest`, in plain Python."""
    order = _in_time_order(spans, calls)
    walk = _Walk(spans)
    n_spans = spans.height
    call_span = [-1] * calls.height
    lane = -1
    for row, row_lane, start, end in order.iter_rows():
        if row_lane != lane:
            lane = row_lane
            walk.open.clear()
        if row < n_spans:
            walk.enter(row, start, end)
        else:
            call_span[row - n_spans] = walk.around(start, end)
    return Nesting(
        walk.parent, walk.depth, walk.self_ns, call_span, walk.n_overlaps, walk.n_unreturned
    )


def _in_time_order(spans: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return row, lane, start and end of spans and calls.

    Calls count after spans. A parent comes before its children.
    """
    columns = ["process_id", "thread_id", "start_ns", "duration_ns"]
    both = pl.concat(
        [spans.select(columns), calls.select(columns)], how="vertical_relaxed"
    ).with_row_index("row")
    return (
        both.with_columns(
            lane=pl.struct("process_id", "thread_id").rank("dense").cast(pl.Int64),
            end=pl.col("start_ns") + pl.col("duration_ns"),
        )
        .sort("lane", "start_ns", "end", "row", descending=[False, False, True, False])
        .select(pl.col("row").cast(pl.Int64), "lane", "start_ns", "end")
    )


class _Walk:
    """The spans open at the current moment of one thread."""

    def __init__(self, spans: pl.DataFrame) -> None:
        n = spans.height
        self.open: list[int] = []
        self.parent = [-1] * n
        self.depth = [0] * n
        self.self_ns = spans["duration_ns"].to_list()
        self.n_overlaps = 0
        self.n_unreturned = 0
        self._starts: list[int] = spans["start_ns"].to_list()
        self._ends: list[int] = (spans["start_ns"] + spans["duration_ns"]).to_list()
        self._covered = list(self._starts)
        hints = (
            spans["parent_hint"].fill_null(-1).to_list()
            if "parent_hint" in spans.columns
            else [-1] * n
        )
        self._hints = hints
        self._hinted = {row for row, hint in enumerate(hints) if hint >= 0}

    def enter(self, row: int, start: int, end: int) -> None:
        """Close what is over, record the parent, and open the span."""
        stack, ends = self.open, self._ends
        overlapped = False
        while stack and not self._holds(stack[-1], start, end):
            overlapped |= start < ends[stack.pop()]
        self.n_overlaps += overlapped
        if self._hints[row] >= 0:
            self._close_unreturned(self._hints[row], start)
        if stack:
            self._cover(stack[-1], start, end)
            self.parent[row] = stack[-1]
            self.depth[row] = len(stack)
        stack.append(row)

    def around(self, start: int, end: int) -> int:
        """Return the innermost open span that contains the interval, -1 if none does.

        Closes spans that ended before it.
        """
        stack, ends = self.open, self._ends
        while stack and ends[stack[-1]] < start:
            stack.pop()
        return next((row for row in reversed(stack) if self._holds(row, start, end)), -1)

    def _holds(self, row: int, start: int, end: int) -> bool:
        """Return whether an interval lies in the open span, within the tolerance.

        It starts no earlier than that span.
        """
        own_end = self._ends[row]
        if own_end == start:
            return start == end and self._starts[row] < own_end
        return own_end > start and end <= own_end + TOLERANCE_NS

    def _cover(self, parent: int, start: int, end: int) -> None:
        """Take the child's part of the parent's time off its self time.

        No moment counts twice.
        """
        begin = max(start, self._covered[parent])
        until = min(end, self._ends[parent])
        if until > begin:
            self.self_ns[parent] -= until - begin
            self._covered[parent] = until

    def _close_unreturned(self, caller: int, moment: int) -> None:
        """Drop open spans above the recorded caller.

        The first one to go is the first that has a recorded caller itself. They were over by that
        moment, so neither their own time nor the time that their caller loses to them goes on after
        it.
        """
        stack = self.open
        try:
            position = len(stack) - 1 - stack[::-1].index(caller)
        except ValueError:
            return
        for i in range(position + 1, len(stack)):
            if stack[i] in self._hinted:
                self.n_unreturned += sum(row in self._hinted for row in stack[i:])
                for row in stack[i:]:
                    self.self_ns[row] -= max(0, self._ends[row] - max(moment, self._covered[row]))
                above = stack[i - 1]
                self.self_ns[above] += max(0, self._covered[above] - moment)
                self._covered[above] = min(self._covered[above], moment)
                del stack[i:]
                return
