"""Nest spans: find the span that encloses each span and each API call.

`nest_in_python` defines the result. `nest_fast` computes the same result in C.
"""

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.filling import gathered
from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series

TOLERANCE_NS = 1000
"""A child may outlast its parent by this much.

A profiler does not read the ends of child and parent at the same moment.
"""
_MANY = 1 << 10
"""Below this number of spans and calls the Python loop is faster than preparing columns for C."""
_I32, _I64 = pl.Int32(), pl.Int64()


class Nesting(Struct, frozen=True):
    """Holds each span's parent row, depth and self time, and the row of each call's span.

    A row of -1 means none.
    """

    parent: Sequence[int] | pl.Series
    depth: Sequence[int] | pl.Series
    self_ns: Sequence[int] | pl.Series
    call_span: Sequence[int] | pl.Series
    n_overlaps: int
    """Spans that start inside another span and outlast it by more than the tolerance.

    They become its siblings.
    """
    n_unreturned: int
    """Spans without a recorded return, which seem to last until the trace ends.

    Such a span is closed when its caller makes the next call.
    """


def nest(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Return each span's parent, depth and self time, and the span that encloses each call.

    The parent of a span, and the span of a call, is the innermost open span that contains its end,
    within TOLERANCE_NS. `self_ns` is a span's duration minus the union of its children's time.

    - `spans`: process_id, thread_id, start_ns, duration_ns and parent_hint
    - `calls`: process_id, thread_id, start_ns and duration_ns

    `parent_hint` is the row of the caller, the span that made the call. It is None if the caller
    was not recorded. A caller makes one call at a time, so a span with a parent_hint ends at the
    latest when its caller's next call starts.
    """
    is_fast = LIBRARY is not None and spans.height + calls.height >= _MANY
    return nest_fast(spans, calls) if is_fast else nest_in_python(spans, calls)


def as_rows(numbers: Sequence[int] | pl.Series) -> pl.Series:
    """Return row numbers of a Nesting as a column in Polars' index type, None for -1."""
    rows = pl.Series(numbers, dtype=pl.Int64)
    return rows.set(rows < 0, None).cast(pl.get_index_type())


def nest_in_python(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Nest spans and calls in plain Python, which defines the result of `nest`."""
    order = _in_time_order(spans, calls)
    walk = _Walk(spans)
    n_spans = spans.height
    call_span = [-1] * calls.height
    thread = -1
    for row, row_thread, start, end in order.iter_rows():
        if row_thread != thread:
            thread = row_thread
            walk.open.clear()
        if row < n_spans:
            walk.enter(row, start, end)
        else:
            call = row - n_spans
            call_span[call] = walk.around(start, end)
    return Nesting(
        walk.parent,
        walk.depth,
        walk.self_ns,
        call_span,
        walk.n_overlaps,
        walk.n_unreturned,
    )


def _in_time_order(spans: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return row, thread, start and end of spans and calls, in time order, parents before children.

    Calls are numbered after the spans.
    """
    columns = ["process_id", "thread_id", "start_ns", "duration_ns"]
    events = [spans.select(columns), calls.select(columns)]
    both = pl.concat(events, how="vertical_relaxed")
    thread_key = pl.struct("process_id", "thread_id")
    thread = thread_key.rank("dense").cast(pl.Int64)
    times = both.select(
        "start_ns",
        row=pl.int_range(pl.len()),
        thread=thread,
        end=pl.col("start_ns") + pl.col("duration_ns"),
    )
    in_order = times.sort(
        "thread",
        "start_ns",
        "end",
        "row",
        descending=[False, False, True, False],
    )
    return in_order.select("row", "thread", "start_ns", "end")


class _Walk:
    """Holds one thread's open spans while its events are visited in time order."""

    def __init__(self, spans: pl.DataFrame) -> None:
        n = spans.height
        self.open: list[int] = []
        self.parent = [-1] * n
        self.depth = [0] * n
        self.self_ns = spans["duration_ns"].to_list()
        self.n_overlaps = 0
        self.n_unreturned = 0
        ends = spans["start_ns"] + spans["duration_ns"]
        self._starts: list[int] = spans["start_ns"].to_list()
        self._ends: list[int] = ends.to_list()
        self._covered = list(self._starts)
        self._hints = [-1] * n
        if "parent_hint" in spans.columns:
            hints = spans["parent_hint"].fill_null(-1)
            self._hints = hints.to_list()
        self._hinted = {row for row, hint in enumerate(self._hints) if hint >= 0}

    def enter(self, row: int, start: int, end: int) -> None:
        """Close spans that have ended, record the new span's parent, and open it."""
        stack = self.open
        ends = self._ends
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
        """Return the innermost open span that contains the interval, -1 without one.

        Close the spans that ended before the interval.
        """
        stack = self.open
        ends = self._ends
        while stack and ends[stack[-1]] < start:
            stack.pop()
        for row in reversed(stack):
            if self._holds(row, start, end):
                return row
        return -1

    def _holds(self, row: int, start: int, end: int) -> bool:
        """Return whether the open span contains an interval, within the tolerance.

        The interval starts no earlier than the span.
        """
        span_end = self._ends[row]
        # A span without length contains nothing.
        if span_end == start:
            return start == end and self._starts[row] < span_end
        return span_end > start and end <= span_end + TOLERANCE_NS

    def _cover(self, parent: int, start: int, end: int) -> None:
        """Subtract a child's time from its parent's self time."""
        # Time that an earlier child covers was subtracted already.
        begin = max(start, self._covered[parent])
        until = min(end, self._ends[parent])
        if until > begin:
            self.self_ns[parent] -= until - begin
            self._covered[parent] = until

    def _close_unreturned(self, caller: int, moment: int) -> None:
        """Close the open spans inside `caller`, because they had returned by `moment`."""
        stack = self.open
        if caller not in stack:
            return
        position = stack.index(caller)
        for i in range(position + 1, len(stack)):
            # Spans between `caller` and the first span with a recorded caller stay open.
            if stack[i] not in self._hinted:
                continue
            for row in stack[i:]:
                self.n_unreturned += row in self._hinted
                self._end_self_time(row, moment)
            # Time after `moment` is self time of the span around the closed spans.
            self._uncover(stack[i - 1], moment)
            del stack[i:]
            return

    def _end_self_time(self, row: int, moment: int) -> None:
        """Remove the time after `moment` from a span's self time."""
        begin = max(moment, self._covered[row])
        counted_after = self._ends[row] - begin
        self.self_ns[row] -= max(0, counted_after)

    def _uncover(self, row: int, moment: int) -> None:
        """Undo `_cover` for the time after `moment`: it is self time of this span again."""
        covered = self._covered[row]
        taken_after = covered - moment
        self.self_ns[row] += max(0, taken_after)
        self._covered[row] = min(covered, moment)


# Nesting in C, with the same result.


def nest_fast(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Nest spans and calls in C, with the values of `nest_in_python` as Series."""
    assert LIBRARY is not None
    # Rows that are in time order already are not sorted, which saves a third of the memory.
    order = _time_order(spans)
    call_order = _time_order(calls)
    spans_at = _positions(order)
    calls_at = _positions(call_order)
    threads, n_threads = _thread_numbers(spans, calls)
    n = spans.height
    parents = bytearray(4 * n)
    depths = bytearray(4 * n)
    self_ns = bytearray(8 * n)
    covered = bytearray(8 * n)
    around = bytearray(4 * calls.height)
    tops = bytearray(4 * n_threads)
    n_overlaps, n_unreturned = LIBRARY.nest(
        *_times(spans, order),
        _thread_memory(threads, 0, order),
        _hints(spans, order, spans_at),
        parents,
        depths,
        self_ns,
        covered,
        *_times(calls, call_order),
        _thread_memory(threads, 1, call_order),
        around,
        n_threads,
        TOLERANCE_NS,
        tops,
    )
    parent_rows = _rows_of(series(parents, _I32), order)
    rows_around = _rows_of(series(around, _I32), order)
    return Nesting(
        _at(parent_rows, spans_at),
        _at(series(depths, _I32), spans_at),
        _at(series(self_ns, _I64), spans_at),
        _at(rows_around, calls_at),
        n_overlaps,
        n_unreturned,
    )


def _time_order(frame: pl.DataFrame) -> pl.Series | None:
    """Return the order of the rows by start, longest first; None if the rows are in this order."""
    later_ns = pl.col("start_ns").diff()
    longer_ns = pl.col("duration_ns").diff()
    is_later = later_ns > 0
    is_shorter = (later_ns == 0) & (longer_ns <= 0)
    is_in_order = (is_later | is_shorter).fill_null(value=True)
    if frame.select(is_in_order.all()).item():
        return None
    order = pl.arg_sort_by(
        "start_ns",
        "duration_ns",
        descending=[False, True],
        maintain_order=True,
    )
    return frame.select(order).to_series()


def _positions(order: pl.Series | None) -> pl.Series | None:
    """Return each row's position in the order, None if `order` is None."""
    if order is None:
        return None
    return order.arg_sort()


def _at(values: pl.Series, rows: pl.Series | None) -> pl.Series:
    if rows is None:
        return values
    return gathered(values, rows)


def _rows_of(positions: pl.Series, order: pl.Series | None) -> pl.Series:
    """Return the rows at these positions of the time order; -1 remains -1."""
    if order is None:
        return positions
    is_missing = positions < 0
    known_positions = positions.set(is_missing, None)
    rows = order.cast(pl.Int32).gather(known_positions)
    return rows.fill_null(-1)


def _times(frame: pl.DataFrame, order: pl.Series | None) -> tuple[memoryview, memoryview]:
    """Return starts and ends in time order."""
    starts = frame["start_ns"].cast(pl.Int64)
    ends = starts + frame["duration_ns"]
    starts_in_order = _at(starts, order)
    ends_in_order = _at(ends, order)
    return memory(starts_in_order, _I64), memory(ends_in_order, _I64)


def _hints(
    spans: pl.DataFrame,
    order: pl.Series | None,
    positions: pl.Series | None,
) -> memoryview | None:
    """Return recorded callers as positions in time order, -1 for a span without one.

    Return None if no span has a recorded caller.
    """
    if "parent_hint" not in spans.columns or not spans["parent_hint"].count():
        return None
    hints = spans["parent_hint"].cast(pl.Int64)
    is_row = hints.is_between(0, spans.height - 1)
    rows = hints.set(~is_row, None)
    callers = _at(rows, order)
    if positions is not None:
        callers = positions.cast(pl.Int64).gather(callers)
    return memory(callers.fill_null(-1), _I32)


def _thread_numbers(spans: pl.DataFrame, calls: pl.DataFrame) -> tuple[list[pl.Series] | None, int]:
    """Return the thread numbers of spans and of calls, and the largest possible number of threads.

    Return None instead of thread numbers if there is only one thread.
    """
    threads = [pl.zeros(frame.height, pl.Int64, eager=True) for frame in (spans, calls)]
    n_threads = 1
    for name in ("process_id", "thread_id"):
        columns = [frame[name].cast(pl.Int64) for frame in (spans, calls)]
        # Usually there is one thread of one process, and checking for that is faster than finding
        # distinct values.
        if _are_all_equal(columns):
            continue
        values = pl.concat([column.unique() for column in columns]).unique()
        n_values = len(values)
        codes = pl.int_range(n_values, eager=True)
        for i, column in enumerate(columns):
            code = column.replace_strict(values, codes, return_dtype=pl.Int64)
            threads[i] = threads[i] * n_values + code
        n_threads *= n_values
    if n_threads == 1:
        return None, 1
    n_rows = spans.height + calls.height
    if n_threads > n_rows + _MANY:
        dense_rank = pl.concat(threads).rank("dense")
        dense = dense_rank.cast(pl.Int64) - 1
        return [dense[: spans.height], dense[spans.height :]], n_rows
    return threads, n_threads


def _are_all_equal(columns: list[pl.Series]) -> bool:
    """Return whether all values of the columns are the same number."""
    edges = set()
    for column in columns:
        if column.has_nulls():
            return False
        edges |= {column.min(), column.max()}
    return len(edges - {None}) <= 1


def _thread_memory(
    threads: list[pl.Series] | None,
    which: int,
    order: pl.Series | None,
) -> memoryview | None:
    if threads is None:
        return None
    in_order = _at(threads[which], order)
    return memory(in_order, _I32)
