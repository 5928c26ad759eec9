"""Read each host thread's spans and API calls in order of start, some rows at a time."""

from collections.abc import Iterator

import polars as pl
from msgspec import Struct

from tracelens.exports.export import ROWS_AT_ONCE, Selection

_THREAD = ("process_id", "thread_id")
_TIMES = ("start_ns", "duration_ns")
_END = (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")
_NAMES = {"spans": "name", "api_calls": "api"}
"""The column with the name of an event, by table."""


class Thread(Struct, frozen=True):
    """A thread of a rank."""

    process: int
    number: int
    # Start of the first event and end of the last event
    start_ns: int
    end_ns: int
    # Yields the events in order of start, longest first: start_ns, end_ns, name.
    parts: Iterator[pl.DataFrame]


def threads_of(selection: Selection, rank: int) -> Iterator[Thread]:
    """Yield the rank's threads that have events, in order of process and thread id.

    Threads with few events are read together.
    """
    for group in _groups(_extents(selection, rank)):
        if group.height == 1:
            yield _thread(
                group.row(0),
                _parts(selection, rank, group),
            )
            continue
        events = _merged(selection, rank, _is_of(group))
        by_thread = events.partition_by(_THREAD, as_dict=True, include_key=False)
        for row in group.iter_rows():
            yield _thread(
                row,
                iter([by_thread[row[:2]]]),
            )


def _thread(
    row: tuple[int, ...],
    parts: Iterator[pl.DataFrame],
) -> Thread:
    process, number, start_ns, end_ns, *_ = row
    return Thread(process, number, start_ns, end_ns, parts)


def _extents(selection: Selection, rank: int) -> pl.DataFrame:
    """Return one row per thread: process_id, thread_id, start_ns, end_ns, spans, api_calls.

    `spans` and `api_calls` count the thread's rows in the tables of these names.
    """
    no_rows = pl.lit(0, pl.UInt32)
    extents = []
    for table in _NAMES:
        counts = {name: pl.len() if name == table else no_rows for name in _NAMES}
        for window in selection.windows_of_rows(rank, table):
            events = selection.rows(table, rank, *_THREAD, *_TIMES, where=window)
            by_thread = events.group_by(_THREAD)
            extent = by_thread.agg(
                pl.col("start_ns").min(),
                _END.max(),
                **counts,
            )
            extents.append(extent)
    by_thread = pl.concat(extents).group_by(_THREAD)
    totals = pl.col(*_NAMES).sum()
    merged = by_thread.agg(
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        totals,
    )
    return merged.sort(_THREAD)


def _groups(threads: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield groups of threads, each with one thread or with several threads of few events."""
    n_events = threads.select(pl.sum_horizontal(*_NAMES)).to_series()
    first = 0
    total = 0
    for row, n in enumerate(n_events):
        if row > first and total + n > ROWS_AT_ONCE:
            yield threads[first:row]
            first = row
            total = 0
        total += n
    if threads.height:
        yield threads[first:]


def _is_of(threads: pl.DataFrame) -> pl.Expr:
    """Return the condition that a row belongs to one of the threads."""
    is_of_each = []
    for process, number in threads.select(_THREAD).iter_rows():
        is_of_process = pl.col("process_id") == process
        is_of_each.append(is_of_process & (pl.col("thread_id") == number))
    return pl.any_horizontal(is_of_each)


def _parts(selection: Selection, rank: int, thread: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield a thread's events in parts."""
    n_spans, n_calls = thread.select(*_NAMES).row(0)
    larger = "spans" if n_spans >= n_calls else "api_calls"
    is_of_thread = _is_of(thread)
    for window in selection.windows_of_rows(rank, larger, where=is_of_thread):
        yield _merged(selection, rank, is_of_thread & window)


def _merged(selection: Selection, rank: int, where: pl.Expr) -> pl.DataFrame:
    """Return spans and API calls by start: process_id, thread_id, start_ns, end_ns, name."""
    tables = []
    for table, name in _NAMES.items():
        events = selection.rows(table, rank, *_THREAD, *_TIMES, name, where=where)
        tables.append(events.select(*_THREAD, "start_ns", _END, name=name))
    both = pl.concat(tables)
    return both.sort(
        "start_ns",
        "end_ns",
        descending=[False, True],
        maintain_order=True,
    )
