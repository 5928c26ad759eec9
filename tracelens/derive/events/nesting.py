"""Nest spans: find the span that encloses each span and each API call.

`nest_in_python` walks each thread's spans and calls in time order, and defines which span encloses
which. `nest_fast` returns the same from C, and is used if there are many.
"""

from collections.abc import Sequence

import polars as pl
import pyarrow as pa
from msgspec import Struct

from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series

TOLERANCE_NS = 1000
"""A child may outlast its parent by this much.

Profilers stop the two clocks one after the other.
"""
_MANY = 1 << 10
"""Below this number of spans and calls the Python loop is faster than preparing columns for C."""
_I32, _I64 = pl.Int32(), pl.Int64()


class Nesting(Struct, frozen=True):
    """Parent row (-1: none), depth and self time of each span; enclosing span of each call.

    Two counts describe what did not nest. `n_overlaps` counts spans that start inside another and
    outlast it by more than the tolerance; they become its siblings. `n_unreturned` counts calls
    that the profiler closed only at the trace's end, although their caller had already gone on to
    call others.
    """

    parent: Sequence[int] | pl.Series
    depth: Sequence[int] | pl.Series
    self_ns: Sequence[int] | pl.Series
    call_span: Sequence[int] | pl.Series
    n_overlaps: int
    n_unreturned: int


def nest(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Nest spans and place calls in them.

    Spans have process_id, thread_id, start_ns, duration_ns and parent_hint. Within a thread, spans
    nest by containment. Sorted by start, longest first, each is the child of the innermost open
    span in which it ends, within TOLERANCE_NS. `parent_hint` is the row of the caller that the
    profiler recorded, or None. Any open span between that caller and this span counts as ended at
    this moment, whatever its recorded end. A span without length encloses nothing. `self_ns` is the
    duration, up to such an early end, minus the union of the children's time within it. A call
    belongs to the innermost open span that contains it.
    """
    is_fast = LIBRARY is not None and spans.height + calls.height >= _MANY
    return nest_fast(spans, calls) if is_fast else nest_in_python(spans, calls)


def as_rows(numbers: Sequence[int] | pl.Series) -> pl.Series:
    """Return row numbers of a Nesting as a column in Polars' index type, None for -1."""
    rows = pl.Series(numbers, dtype=pl.Int64)
    return rows.set(rows < 0, None).cast(pl.get_index_type())


def nest_in_python(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Nest in plain Python; this defines the result of `nest`."""
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
            call_span[row - n_spans] = walk.around(start, end)
    return Nesting(
        walk.parent, walk.depth, walk.self_ns, call_span, walk.n_overlaps, walk.n_unreturned
    )


def _in_time_order(spans: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return row, thread, start and end of spans and calls, in time order.

    Rows of calls follow those of the spans. A parent comes before its children.
    """
    columns = ["process_id", "thread_id", "start_ns", "duration_ns"]
    both = pl.concat(
        [spans.select(columns), calls.select(columns)],
        how="vertical_relaxed",
    ).with_row_index("row")
    thread_key = pl.struct("process_id", "thread_id")
    return (
        both.with_columns(
            thread=thread_key.rank("dense").cast(pl.Int64),
            end=pl.col("start_ns") + pl.col("duration_ns"),
        )
        .sort(
            "thread",
            "start_ns",
            "end",
            "row",
            descending=[False, False, True, False],
        )
        .select(
            pl.col("row").cast(pl.Int64),
            "thread",
            "start_ns",
            "end",
        )
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
        """Return the innermost open span that contains the interval, -1 if none does.

        Spans that ended before it are closed.
        """
        stack = self.open
        ends = self._ends
        while stack and ends[stack[-1]] < start:
            stack.pop()
        return next(
            (row for row in reversed(stack) if self._holds(row, start, end)),
            -1,
        )

    def _holds(self, row: int, start: int, end: int) -> bool:
        """Return whether the open span contains an interval, within the tolerance.

        The interval starts no earlier than that span.
        """
        own_end = self._ends[row]
        if own_end == start:
            return start == end and self._starts[row] < own_end
        return own_end > start and end <= own_end + TOLERANCE_NS

    def _cover(self, parent: int, start: int, end: int) -> None:
        """Subtract the time that a child takes from its parent's self time.

        No moment is subtracted twice.
        """
        begin = max(start, self._covered[parent])
        until = min(end, self._ends[parent])
        if until > begin:
            self.self_ns[parent] -= until - begin
            self._covered[parent] = until

    def _close_unreturned(self, caller: int, moment: int) -> None:
        """Close open spans inside the recorded caller: they had returned by `moment`.

        Of the spans inside the caller, the outermost that has a recorded caller itself is closed,
        with all spans inside it. The self time of the closed spans ends at `moment`, and so does
        the time that they take from the span around them.
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
                    self.self_ns[row] -= max(
                        0,
                        self._ends[row] - max(moment, self._covered[row]),
                    )
                above = stack[i - 1]
                self.self_ns[above] += max(0, self._covered[above] - moment)
                self._covered[above] = min(self._covered[above], moment)
                del stack[i:]
                return


# Nesting in C, with the same result.


def nest_fast(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Nest in C like `nest`, but return Series.

    Rows that are in time order already, as `assemble` has them, need no sorting and a third of the
    memory.
    """
    assert LIBRARY is not None
    order = _time_order(spans)
    call_order = _time_order(calls)
    spans_at, calls_at = (None if rows is None else rows.arg_sort() for rows in (order, call_order))
    threads, n_threads = _thread_numbers(spans, calls)
    n = spans.height
    parents, depths, tops = (pa.allocate_buffer(4 * size) for size in (n, n, n_threads))
    self_ns = pa.allocate_buffer(8 * n)
    covered = pa.allocate_buffer(8 * n)
    around = pa.allocate_buffer(4 * calls.height)
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
    return Nesting(
        _at(_rows_of(series(parents, _I32), order), spans_at),
        _at(series(depths, _I32), spans_at),
        _at(series(self_ns, _I64), spans_at),
        _at(_rows_of(series(around, _I32), order), calls_at),
        n_overlaps,
        n_unreturned,
    )


def _time_order(frame: pl.DataFrame) -> pl.Series | None:
    """Return the order of the rows by start, longest first; None if they are in that order."""
    later = pl.col("start_ns").diff()
    shorter = pl.col("duration_ns").diff()
    is_shorter = (later == 0) & (shorter <= 0)
    is_sorted = frame.select(((later > 0) | is_shorter).fill_null(value=True).all()).item()
    if is_sorted:
        return None
    order = pl.arg_sort_by(
        "start_ns",
        "duration_ns",
        descending=[False, True],
        maintain_order=True,
    )
    return frame.select(order).to_series()


def _at(values: pl.Series, rows: pl.Series | None) -> pl.Series:
    return values if rows is None else values.gather(rows)


def _rows_of(places: pl.Series, order: pl.Series | None) -> pl.Series:
    """Return the rows at these positions of the time order; -1 remains -1."""
    return (
        places
        if order is None
        else order.cast(pl.Int32).gather(places.set(places < 0, None)).fill_null(-1)
    )


def _times(frame: pl.DataFrame, order: pl.Series | None) -> tuple[pa.Buffer, pa.Buffer]:
    """Return starts and ends in time order."""
    starts = frame["start_ns"].cast(pl.Int64)
    return memory(_at(starts, order), _I64), memory(_at(starts + frame["duration_ns"], order), _I64)


def _hints(
    spans: pl.DataFrame,
    order: pl.Series | None,
    places: pl.Series | None,
) -> pa.Buffer | None:
    """Return recorded callers as positions in time order, -1 for a span without one.

    Return None if no span has a recorded caller.
    """
    if "parent_hint" not in spans.columns or not spans["parent_hint"].count():
        return None
    hints = spans["parent_hint"].cast(pl.Int64)
    is_row = hints.is_between(0, spans.height - 1)
    hints = _at(hints.set(~is_row, None), order)
    return memory(
        (hints if places is None else places.cast(pl.Int64).gather(hints)).fill_null(-1),
        _I32,
    )


def _thread_numbers(spans: pl.DataFrame, calls: pl.DataFrame) -> tuple[list[pl.Series] | None, int]:
    """Return a number for the thread of each span and of each call; None for one thread.

    Also return the largest possible number of threads.
    """
    threads = [pl.zeros(frame.height, pl.Int64, eager=True) for frame in (spans, calls)]
    n_threads = 1
    for name in ("process_id", "thread_id"):
        columns = [frame[name].cast(pl.Int64) for frame in (spans, calls)]
        # Usually there is one thread of one process, and checking for that is faster than finding
        # distinct values.
        edges = {
            edge for column in columns for edge in (column.min(), column.max()) if edge is not None
        }
        if len(edges) <= 1 and not any(column.null_count() for column in columns):
            continue
        values = pl.concat([column.unique() for column in columns]).unique()
        numbers = pl.int_range(len(values), eager=True)
        coded = [
            column.replace_strict(values, numbers, return_dtype=pl.Int64) for column in columns
        ]
        threads = [thread * len(values) + code for thread, code in zip(threads, coded, strict=True)]
        n_threads *= len(values)
    n_rows = spans.height + calls.height
    if n_threads > n_rows + _MANY:
        dense_rank = pl.concat(threads).rank("dense")
        dense = dense_rank.cast(pl.Int64) - 1
        return [dense[: spans.height], dense[spans.height :]], n_rows
    return (None if n_threads == 1 else threads), n_threads


def _thread_memory(
    threads: list[pl.Series] | None,
    which: int,
    order: pl.Series | None,
) -> pa.Buffer | None:
    return None if threads is None else memory(_at(threads[which], order), _I32)
