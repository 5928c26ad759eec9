"""Lay host threads end to end on one time axis, so that all can be processed like one thread."""

from collections.abc import Iterator

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.columns.lookup import last_before

PAUSE_NS = 100_000
"""Host time between two ops counts as launching if it is shorter than this.

A framework's own Python takes 1 to 50 µs between ops.
"""
STACKS_SLOW_BY = 4
LAUNCHES = ("kernel_launch", "graph_launch", "memcpy", "memset")
_DRIVER_LOADS = r"(?i)loading|compiler"
"""Pattern for overhead in which the driver loads code, such as Lazy Function Loading."""
IN_ANOTHER_THREAD = " in another thread"
"""Suffix of the name of a function that blocks another thread's launch."""
_END_APART = 0.1
"""An allocation blocks a launch if their ends differ by this share of the launch at most."""
BLOCKED_NS = 1_000_000
"""Shortest launch that is taken to be blocked. A launch usually takes microseconds."""
_KEY = ["process_id", "thread_id"]
_APART_NS = 4 * STACKS_SLOW_BY * PAUSE_NS
"""The distance between two threads on one axis, longer than any pause."""
_MOST_ROWS = 1 << 17
"""Largest number of rows on one axis: spans, calls and overhead. All rows are copied in memory."""
_LONGEST_NS = 1 << 62


class ThreadAxis(Struct, frozen=True):
    """Holds spans and calls of threads that lie one after another on one time axis."""

    threads: pl.DataFrame
    """One row per thread: process_id, thread_id and more.

    - `is_main`: True for one thread per process: one that marks steps, or else launches most
    - `pause_ns`: host time between two ops counts as launching if it is shorter than this
    - `first_ns`: the thread's start on the axis
    - `shift_ns`: number added to the thread's times
    """
    spans: pl.DataFrame
    """One row per span, sorted by start: `row` (row number in the table), start_ns, end_ns."""
    calls: pl.DataFrame
    """One row per call, sorted by start: `row` (row number in the table), start_ns, end_ns."""
    overhead: pl.DataFrame
    """Spans in which the profiler itself works or the driver loads code."""
    calls_are_known: bool
    """True if the source records API calls, so that a thread without calls made none."""

    def thread_of(self, moments: pl.Series) -> pl.Series:
        """Return the row of the thread that each moment of the axis belongs to."""
        return last_before(self.threads["first_ns"], moments)

    def of_threads(self, column: str, moments: pl.Series) -> pl.Series:
        """Return the value of a column of `threads` for the thread of each moment."""
        return self.threads[column].gather(self.thread_of(moments))

    def recorded(self, moments: pl.Series) -> pl.Series:
        """Convert moments on the axis back to the recorded times."""
        return moments - self.of_threads("shift_ns", moments)


def axes_in_batches(
    spans: pl.DataFrame,
    calls: pl.DataFrame,
    marks: pl.DataFrame,
) -> Iterator[ThreadAxis]:
    """Yield time axes that together hold all threads that launch work or mark steps."""
    launching = _launching(spans, calls, marks)
    threads = _with_extent(launching, spans, calls)
    overhead = _overhead(spans)
    batches = [*_batches(threads, overhead)]
    is_split = any(batch.height > 1 for batch in batches)
    span_rows = _rows_by_thread(spans, threads) if is_split else None
    call_rows = _rows_by_thread(calls, threads) if is_split else None
    for batch in batches:
        axis = ThreadAxis(
            batch,
            _of_threads(spans, batch, span_rows),
            _of_threads(calls, batch, call_rows),
            overhead.clear(),
            calls.height > 0,
        )
        yield replace(axis, overhead=_overhead_on_axis(overhead, axis))


def _overhead(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the overhead of all threads, sorted by start: start_ns, end_ns and loads.

    `loads` is True if the driver loads code.
    """
    is_overhead = pl.col("kind") == "overhead"
    start = pl.col("start_ns").cast(pl.Int64)
    name = pl.col("name").cast(pl.String)
    times = spans.filter(is_overhead).select(
        start_ns=start,
        end_ns=start + pl.col("duration_ns"),
        loads=name.str.contains(_DRIVER_LOADS),
    )
    return times.sort("start_ns")


def _launching(
    spans: pl.DataFrame,
    calls: pl.DataFrame,
    marks: pl.DataFrame,
) -> pl.DataFrame:
    """List the threads that launch work or mark steps: process_id, thread_id and is_main.

    Of a process's threads, those that mark steps come first. The others follow by the number of
    their launches, or by the number of their ops if nothing launches. `is_main` is True for the
    first thread of a process.
    """
    kind = pl.col("kind")
    launches = calls.filter(kind.is_in(LAUNCHES))
    counts = launches.group_by(_KEY).len()
    if not counts.height:
        ops = spans.filter(kind == "op")
        counts = ops.group_by(_KEY).len()
    launching = counts.select(
        pl.col(_KEY).cast(pl.Int64),
        n=pl.col("len").cast(pl.Int64),
    )
    more_than_any = pl.lit(2**62, pl.Int64)
    marking = marks.select(_KEY).unique().with_columns(n=more_than_any)
    both = pl.concat([launching, marking])
    threads = both.group_by(_KEY).agg(pl.max("n"))
    by_use = threads.drop_nulls().sort(
        "process_id",
        "n",
        "thread_id",
        descending=[False, True, False],
    )
    return by_use.select(
        *_KEY,
        is_main=pl.col("process_id").is_first_distinct(),
    )


def _with_extent(
    threads: pl.DataFrame,
    spans: pl.DataFrame,
    calls: pl.DataFrame,
) -> pl.DataFrame:
    """Add columns to the threads.

    - `number`: number of the row
    - `low_ns`, `high_ns`: the thread's first and last moment
    - `n_rows`: number of the thread's spans and calls
    - `pause_ns`: as in `ThreadAxis.threads`
    """
    is_python = pl.col("kind") == "python"
    extents = pl.concat(
        [
            _extents(spans, has_python=is_python.any()),
            _extents(calls, has_python=pl.lit(value=False)),
        ]
    )
    extent = extents.group_by(_KEY).agg(
        pl.col("low_ns").min(),
        pl.col("high_ns").max(),
        pl.col("n_rows").sum(),
        pl.col("has_python").any(),
    )
    longest_pause = PAUSE_NS * STACKS_SLOW_BY
    pause_ns = pl.when("has_python").then(longest_pause).otherwise(PAUSE_NS)
    joined = threads.join(
        extent,
        on=_KEY,
        how="left",
        maintain_order="left",
    )
    paused = joined.with_columns(pause_ns=pause_ns.cast(pl.Int64))
    return paused.drop("has_python").with_row_index("number")


def _extents(frame: pl.DataFrame, has_python: pl.Expr) -> pl.DataFrame:
    """Return one row per thread in `frame`.

    - `low_ns`, `high_ns`: the thread's first and last moment
    - `n_rows`: number of the thread's rows in `frame`
    - `has_python`: the value of the expression `has_python`
    """
    start = pl.col("start_ns").cast(pl.Int64)
    end = start + pl.col("duration_ns")
    extents = frame.group_by(_KEY).agg(
        low_ns=start.min(),
        high_ns=end.max(),
        n_rows=pl.len().cast(pl.Int64),
        has_python=has_python,
    )
    return extents.with_columns(pl.col(_KEY).cast(pl.Int64))


def _batches(threads: pl.DataFrame, overhead: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the threads of each axis, with the columns first_ns and shift_ns of ThreadAxis.threads.

    A thread that lasts very long or has very many rows gets an axis of its own.
    """
    last = overhead["end_ns"].max()
    until = pl.col("high_ns") if last is None else pl.max_horizontal("high_ns", pl.lit(last))
    n_rows_with_overhead = pl.col("n_rows") + overhead.height
    extents = threads.select(
        "low_ns",
        until,
        n_rows=n_rows_with_overhead,
    ).rows()
    first = 0
    n_rows = 0
    axis_ns = 0
    shifts = [0]
    for number, (low, high, n) in enumerate(extents):
        length = high - low + _APART_NS
        is_too_large = n_rows + n > _MOST_ROWS
        is_too_long = abs(axis_ns) + length > _LONGEST_NS
        if number > first and (is_too_large or is_too_long):
            yield _placed(
                threads[first:number],
                shifts[:-1],
            )
            first = number
            n_rows = 0
            shifts = [0]
        axis_ns = low + shifts[-1] + length
        following = extents[number + 1][0] if number + 1 < len(extents) else 0
        shifts.append(axis_ns - following)
        n_rows += n
    if extents:
        yield _placed(threads[first:], shifts[:-1])


def _placed(threads: pl.DataFrame, shifts: list[int]) -> pl.DataFrame:
    shift = pl.Series("shift_ns", shifts, dtype=pl.Int64)
    return threads.with_columns(shift, first_ns=pl.col("low_ns") + shift)


def _rows_by_thread(frame: pl.DataFrame, threads: pl.DataFrame) -> pl.DataFrame:
    """Sort the threads' rows by the thread's number and start."""
    ids = pl.col(_KEY).cast(pl.Int64)
    columns = frame.lazy().select(ids, "start_ns")
    rows = columns.with_row_index("row")
    thread_numbers = threads.lazy().select(*_KEY, "number")
    numbered = rows.join(thread_numbers, on=_KEY)
    in_order = numbered.sort("number", "start_ns", "row")
    return in_order.select("number", "row").collect()


def _of_threads(
    frame: pl.DataFrame,
    threads: pl.DataFrame,
    by_thread: pl.DataFrame | None,
) -> pl.DataFrame:
    """Return the rows of `frame` on these threads, with times on the axis of the threads.

    The rows are sorted by start. The column `row` has the number of each row in `frame`.
    `by_thread` is the result of `_rows_by_thread`, which a single thread does not need.
    """
    names = [name for name in ("kind", "name", "api", "span_id") if name in frame.columns]
    columns = frame.select(*names, "start_ns", "duration_ns")
    start = pl.col("start_ns").cast(pl.Int64)
    if by_thread is None or threads.height == 1:
        rows = _rows_of_one(
            frame,
            *threads.select(_KEY).row(0),
        )
        part = columns if len(rows) == frame.height else columns[rows]
    else:
        numbers = by_thread["number"]
        first = threads["number"][0]
        begin = numbers.search_sorted(first)
        end = numbers.search_sorted(first + threads.height)
        rows_of_batch = by_thread[begin:end]
        rows = rows_of_batch["row"]
        part = columns[rows]
        thread = rows_of_batch["number"] - first
        start += threads["shift_ns"].gather(thread)
    end_ns = start + pl.col("duration_ns")
    placed = part.select(
        rows,
        *names,
        start,
        end_ns=end_ns,
    )
    if placed["start_ns"].is_sorted():
        return placed
    return placed.sort("start_ns", maintain_order=True)


def _rows_of_one(frame: pl.DataFrame, process: int, thread: int) -> pl.Series:
    """Return the rows of a thread."""
    # The columns may have a narrower type than the ids.
    is_of_process = pl.col("process_id") == pl.lit(process, pl.Int64)
    is_of_thread = pl.col("thread_id") == pl.lit(thread, pl.Int64)
    flags = frame.select(is_of_process & is_of_thread).to_series()
    return flags.arg_true().alias("row")


def _overhead_on_axis(overhead: pl.DataFrame, axis: ThreadAxis) -> pl.DataFrame:
    """Return overhead with times on the axis, once for each thread that it may have stopped.

    A thread may have been stopped if it has begun, and none of its events begins in the overhead.
    """
    spans = axis.spans.filter(pl.col("kind") != "overhead")
    events = pl.concat([spans["start_ns"], axis.calls["start_ns"]])
    begins = events.sort()
    threads = axis.threads.select("shift_ns", "first_ns")
    pairs = threads.join(overhead, how="cross")
    times = pl.col("start_ns", "end_ns")
    on_axis = pairs.with_columns(times + pl.col("shift_ns"))
    rows = on_axis.filter(pl.col("start_ns") >= pl.col("first_ns"))

    def n_begun_before(edge: str) -> pl.Series:
        return begins.search_sorted(rows[edge], side="left")

    n_before_thread = n_begun_before("first_ns")
    n_before_start = n_begun_before("start_ns")
    n_before_end = n_begun_before("end_ns")
    # torch does not record which thread was stopped.
    has_no_event = n_before_start == n_before_end
    thread_has_begun = n_before_start > n_before_thread
    return rows.filter(has_no_event & thread_has_begun).select(overhead.columns)


def launches_behind_allocation(calls: pl.DataFrame) -> pl.DataFrame:
    """List launches of at least BLOCKED_NS that return together with another thread's allocation.

    `calls` has process_id, thread_id, kind, api, start_ns and duration_ns. The result has one row
    per launch: `row`, its row in `calls`, and `by`, the blocking function in words.
    """
    is_long = pl.col("duration_ns") >= BLOCKED_NS
    if not calls.select(is_long.any()).item():
        return pl.DataFrame(schema={"row": pl.UInt32, "by": pl.String})
    start_ns = pl.col("start_ns").cast(pl.Int64)
    long_calls = calls.lazy().with_row_index("row").filter(is_long)
    timed = long_calls.select(
        "process_id",
        "thread_id",
        "kind",
        "api",
        pl.col("row").cast(pl.UInt32),
        start_ns=start_ns,
        end_ns=start_ns + pl.col("duration_ns"),
    )
    kind = pl.col("kind")
    launches = timed.filter(kind == "kernel_launch")
    allocations = timed.filter(kind == "memory")
    pairs = launches.join(allocations, on="process_id", suffix="_other")
    # The driver has one lock for launches and allocations.
    blocked = pairs.filter(_waits_for_other()).unique("row", keep="first")
    by = pl.col("api_other").cast(pl.String) + IN_ANOTHER_THREAD
    return blocked.select("row", by=by).sort("row").collect()


def _waits_for_other() -> pl.Expr:
    """Return the condition that a launch waits for another thread's earlier allocation.

    The launch is taken to wait if it ends at about the same time as the allocation. A row holds the
    launch, and the allocation in columns with the suffix `_other`.
    """
    start_ns = pl.col("start_ns")
    end_ns = pl.col("end_ns")
    tolerance_ns = _END_APART * (end_ns - start_ns)
    is_other_thread = pl.col("thread_id") != pl.col("thread_id_other")
    begins_after = pl.col("start_ns_other") <= start_ns + tolerance_ns
    end_difference_ns = (end_ns - pl.col("end_ns_other")).abs()
    ends_with = end_difference_ns <= tolerance_ns
    return is_other_thread & begins_after & ends_with
