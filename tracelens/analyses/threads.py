"""Divide the time of each host thread by activity."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import polars as pl
from msgspec import Struct, field

from tracelens.analyses.analysis import Analysis, Chart, Parallel, Scope, SplitBars, named
from tracelens.derive.columns.intervals import END, covered_by, union
from tracelens.derive.columns.lookup import by_value
from tracelens.derive.columns.per_unique import each_once, matching
from tracelens.derive.columns.ratios import over
from tracelens.derive.events.api_names import WAITS_FOR_DEVICE
from tracelens.derive.time.program_phases import program
from tracelens.errors import MissingTableError
from tracelens.schemas.results.calls import THREADS
from tracelens.trace import Trace

_THREAD = ("process_id", "thread_id")
_COLUMNS = [
    *(pl.col(name).cast(pl.Int64) for name in (*_THREAD, "start_ns")),
    END.cast(pl.Int64).alias("end_ns"),
]
_WAITS = (
    r"^(?:.*/)?(?:threading|selectors|queue|multiprocessing/\w+|concurrent/futures/\w+)\.py\(\d+\): "
    r"(?:wait|wait_for|join|get|poll|select|recv|_wait_for_tstate_lock|result)$"
    r"|^<built-in (?:method|function)"
    r" (?:acquire|wait|sleep|select|poll|epoll_wait|sem_timedwait)\b|^time\.sleep"
)
"""Names of Python calls that wait: for a lock, queue, pipe, thread or time."""
_PARTS = ("wait", "op", "api", "python")
_OTHER = len(_PARTS)

_SHARES = ("wait", "op", "api", "python", "unrecorded")


def threads(trace: Trace) -> pl.DataFrame:
    """List the threads with spans or API calls: one row per rank, process and thread.

    The time of all steps is split into waits, ops, API calls, Python code and unrecorded time. On a
    rank without steps, the time between start-up and tear-down is split. Rows are sorted by rank,
    then by time in ops, longest first. Raises MissingTableError without spans and API calls.
    """
    if not trace.has("spans") and not trace.has("api_calls"):
        raise MissingTableError(
            "threads needs spans or api_calls, both empty here; tracelens collect torch or nsys"
            " gives them"
        )
    times = thread_times(trace)
    shares = (
        over(pl.col(f"{part}_ns"), pl.col("window_ns")).alias(f"{part}_frac") for part in _SHARES
    )
    times = times.with_columns(shares)
    order = ["rank", "op_ns", "api_ns", "python_ns", "process_id", "thread_id"]
    return THREADS.conform(
        times.sort(
            order,
            descending=[False, True, True, True, False, False],
        )
    )


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {
        "op_ns": "ops",
        "wait_ns": "waits",
        "api_ns": "API calls",
        "python_ns": "Python",
        "unrecorded_ns": "nothing recorded",
    }
    return [
        SplitBars("What each thread did", frame, named(frame, "process_id", "thread_id"), parts)
    ]


class _Thread(Struct):
    """A thread: the time that its events cover, and its number of ops."""

    rank: int
    process_id: int | None
    thread_id: int | None
    # For each of _PARTS and for _OTHER, one frame of intervals per batch of events
    intervals: list[list[pl.DataFrame]] = field(
        default_factory=lambda: [[] for _ in range(_OTHER + 1)]
    )
    n_ops: int = 0

    def times(self, windows: pl.DataFrame) -> dict[str, int | None]:
        """Return the thread's row of `thread_times`."""
        cover, before = pl.DataFrame(schema={"start_ns": pl.Int64, "end_ns": pl.Int64}), 0
        window_ns = int((windows["end_ns"] - windows["start_ns"]).sum())
        row = {
            "rank": self.rank,
            "process_id": self.process_id,
            "thread_id": self.thread_id,
            "window_ns": window_ns,
        }
        for name, intervals_of_part in zip(_PARTS, self.intervals, strict=False):
            if not intervals_of_part:
                row[f"{name}_ns"] = 0
                continue
            # Usually all intervals but waits are in order already, and merging takes a fraction of
            # sorting.
            intervals = pl.concat([cover.clear(), *intervals_of_part])
            intervals = (
                intervals if intervals["start_ns"].is_sorted() else intervals.sort("start_ns")
            )
            cover = union(cover.merge_sorted(intervals, "start_ns"))
            covered = int(covered_by(cover, windows).sum())
            row[f"{name}_ns"], before = covered - before, covered
        return {**row, "unrecorded_ns": window_ns - before, "n_ops": self.n_ops}


_Threads: TypeAlias = dict[tuple[int, int | None, int | None], _Thread]


def thread_times(trace: Trace) -> pl.DataFrame:
    """List each rank's threads with n_ops, window_ns and its parts.

    The parts are wait, op, api, python and unrecorded.
    """
    threads: _Threads = {}
    # Events are read in batches, and only their intervals kept, to save memory.
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(
                lambda read: read(trace, threads),
                (_read_spans, _read_calls),
            )
        )
        windows = {
            rank: _windows(trace, rank, threads)
            for rank in {thread.rank for thread in threads.values()}
        }
        rows = list(
            pool.map(
                lambda thread: thread.times(windows[thread.rank]),
                threads.values(),
            )
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _read_spans(trace: Trace, threads: _Threads) -> None:
    for rank, spans in _chunks(trace, "spans", "kind", "name"):
        waits = matching(spans["name"], _WAITS)[0]
        part = (
            pl.when(~pl.col("kind").is_in(["op", "python", "module"]))
            .then(_OTHER)
            .when(pl.col("kind") == "op")
            .then(_PARTS.index("op"))
            .when(waits)
            .then(_PARTS.index("wait"))
            .otherwise(_PARTS.index("python"))
        )
        _take(threads, rank, spans.select(*_COLUMNS, part=part))


def _read_calls(trace: Trace, threads: _Threads) -> None:
    for rank, calls in _chunks(trace, "api_calls", "api"):
        waits = each_once(
            calls["api"],
            lambda apis: apis.str.contains(WAITS_FOR_DEVICE),
        )
        part = pl.when(waits).then(_PARTS.index("wait")).otherwise(_PARTS.index("api"))
        _take(threads, rank, calls.select(*_COLUMNS, part=part))


def _chunks(trace: Trace, table: str, *columns: str) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield a table in batches, each with the rank of its rows."""
    for rows in trace.chunks(table, "rank", *columns, *_THREAD, "start_ns", "duration_ns"):
        yield from by_value(rows, "rank")


def _take(threads: _Threads, rank: int, events: pl.DataFrame) -> None:
    """Add a rank's events to the threads that they belong to."""
    for alike in _alike(events, ("thread_id", "process_id", "part")):
        process, thread_id, _, _, part = alike.row(0)
        thread = threads.setdefault(
            (rank, process, thread_id),
            _Thread(rank, process, thread_id),
        )
        thread.intervals[part].append(union(alike.select("start_ns", "end_ns")))
        if _PARTS[part : part + 1] == ("op",):
            thread.n_ops += alike.height


def _alike(frame: pl.DataFrame, keys: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Split a frame into parts with one value in each column of `keys`."""
    if not keys or not frame.height:
        yield from [frame] * bool(frame.height)
        return
    # By one column after the other: most columns have only one value already.
    column = frame[keys[0]]
    is_one = column.min() == column.max() and not column.null_count()
    for part in [frame] if is_one else frame.partition_by(keys[0]):
        yield from _alike(part, keys[1:])


def _windows(trace: Trace, rank: int, threads: _Threads) -> pl.DataFrame:
    """Return the windows (start_ns, end_ns) of a rank's program.

    Without windows, return one from the rank's first event to its last.
    """
    windows = program(trace).filter(pl.col("rank") == rank).select("start_ns", "end_ns")
    if windows.height:
        return windows
    every = pl.concat(
        frame
        for thread in threads.values()
        if thread.rank == rank
        for part in thread.intervals
        for frame in part
    )
    return every.select(pl.col("start_ns").min(), pl.col("end_ns").max())


ANALYSIS = Analysis(
    "What does each host thread do?",
    THREADS,
    threads,
    shown=(
        "rank",
        "process_id",
        "thread_id",
        "op_frac",
        "wait_frac",
        "api_frac",
        "python_frac",
        "unrecorded_frac",
        "op_ns",
        "n_ops",
    ),
    charts=_charts,
    scope=Scope.HOST,
    parallel=Parallel.BY_RANK,
)
