"""Find Python code that another thread ran while the host worked.

Of a process's threads, only the one that holds Python's lock runs Python.
"""

import polars as pl

from tracelens.derive.columns.intervals import END, covered_by, union
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.columns.split_intervals import overlay
from tracelens.derive.time.host_waits import WAITS
from tracelens.derive.time.time_parts import TimeModel
from tracelens.trace import Trace

_RELEASES = (
    rf"{WAITS}|^<(?:built-in )?(?:method|function) '?(?:poll|select|wait\w*|acquire|recv\w*|accept"
    r"|read\w*|write|sleep|join|fsync|run_backward)\b"
)
"""Pattern for functions that release the lock while they wait, for example for a file."""
_MOST = 0.5
"""Another thread is named if it runs Python for at least this share of the host's time."""
_FRAMES = 100
"""Number of functions to examine, beginning with those of the longest total time."""
_EDGES = ["start_ns", "end_ns"]
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def python_of_another_thread(model: TimeModel, rank: int, cause: str, place: str) -> str | None:
    """Return the Python function that other threads ran during most of the host's time in `place`.

    `place` is a call path. Only time with this `cause` counts. If several threads were in `place`,
    the one with the longest time there is the host's thread. Return None if other threads ran
    Python during less than half of the host's time.
    """
    at_place = _activities_at(model, rank, cause, place)
    if at_place.is_empty():
        return None
    of_threads = at_place.group_by(
        "process_id",
        "thread_id",
        maintain_order=True,
    )
    times = of_threads.agg(ns=_LENGTH.sum())
    by_time = times.sort("ns", descending=True, maintain_order=True)
    process, thread, _ = by_time.row(0)
    frames, locked = _python_of_others(model.trace, rank, process, thread)
    of_host = at_place.filter(pl.col("thread_id") == thread)
    running = _intersection(union(of_host.select(_EDGES)), locked)
    ran_ns = int(running.select(_LENGTH.sum()).item())
    host_ns = at_place.select(_LENGTH.sum()).item()
    if not ran_ns or ran_ns < _MOST * host_ns:
        return None
    return _innermost(frames, running, ran_ns)


def _python_of_others(
    trace: Trace,
    rank: int,
    process: int | None,
    thread: int | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the Python frames of a process's other threads, and the intervals of Python's lock.

    In these intervals, one of the other threads holds the lock.
    """
    columns = ("kind", "name", "process_id", "thread_id", "start_ns", "duration_ns")
    spans = trace.select("spans", *columns, rank=rank)
    is_of_process = pl.col("process_id") == process
    is_of_thread = pl.col("thread_id") == thread
    others = spans.filter(is_of_process & ~is_of_thread).with_columns(
        pl.col("start_ns").cast(pl.Int64),
        end_ns=END.cast(pl.Int64),
    )
    (is_waiting,) = matching(others["name"], _RELEASES)
    # Ops and waiting functions release Python's lock.
    holds_lock = (others["kind"] == "python") & ~is_waiting
    frames = others.filter(holds_lock)
    in_python = union(frames.select(_EDGES))
    released = union(others.filter(~holds_lock).select(_EDGES))
    return frames, _without(in_python, released)


def _activities_at(model: TimeModel, rank: int, cause: str, place: str) -> pl.DataFrame:
    """Return the host's activities with this cause and call path.

    Columns: process_id, thread_id, start_ns, end_ns.
    """
    is_there = pl.col("cause") == cause
    # Launching counts on every call path.
    if cause != "launch":
        is_there &= pl.col("what") == place
    is_of_rank = pl.col("rank") == rank
    activities = model.host.filter(is_of_rank, is_there)
    return activities.select(
        pl.col("process_id", "thread_id").cast(pl.Int64),
        "start_ns",
        end_ns=END,
    )


def _without(intervals: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return the parts of disjoint intervals that other disjoint intervals do not cover."""
    return overlay([others, intervals]).filter(pl.col("layer") == 1).select(_EDGES)


def _intersection(intervals: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return the parts of disjoint intervals that other disjoint intervals cover."""
    return _without(intervals, _without(intervals, others))


def _innermost(frames: pl.DataFrame, running: pl.DataFrame, ran_ns: int) -> str | None:
    """Return the innermost function whose calls cover most of `running`, None if there is none.

    If several functions do, the one with the shortest median call is taken to be the innermost.
    `ran_ns` is the sum of the intervals in `running`.
    """
    length = pl.col("duration_ns")
    by_name = frames.group_by("name").agg(
        total=length.sum(),
        usual=length.median(),
    )
    longest = by_name.sort("total", descending=True).head(_FRAMES)
    for name in longest.sort("usual", "name")["name"]:
        open_ns = covered_by(
            running,
            union(frames.filter(name=name).select(_EDGES)),
        ).sum()
        if open_ns >= _MOST * ran_ns:
            return str(name)
    return None
