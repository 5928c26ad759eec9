"""Arrange the activities of host threads, to look up what delayed a thread at a moment.

A track is a list of disjoint intervals, sorted by start. Each thread has a track of its activities.
Work is activity with another cause than `host`. Each process with several threads has a track of
all its threads' work. What happens at a moment is looked up in this order:

- the thread's own work
- the work of all threads of the process
- the thread's other activity, such as Python
- the activity of the process's main thread
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeAlias

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.lookup import numbered
from tracelens.derive.columns.split_intervals import overlay
from tracelens.schemas.host import CAUSES

Thread: TypeAlias = tuple[int | None, int | None]
"""A process id and a thread id."""

PROFILER_KIND = "profiler"
"""Kind of idle time in which the profiler itself works. In results, it is part of `host`."""
IDLE_KINDS = (*CAUSES, PROFILER_KIND)
"""Kinds of idle time by their codes: the causes, then the profiler's own work."""
CAUSE_OF_KIND = (*CAUSES, "host")
"""The cause of each of IDLE_KINDS."""
HOST, UNKNOWN = CAUSES.index("host"), CAUSES.index("unknown")
PROFILER_CODE = IDLE_KINDS.index(PROFILER_KIND)
IS_WORK = ~pl.col("cause").is_in([HOST, PROFILER_CODE])
SEGMENTS: dict[str, type[pl.DataType]] = {
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "cause": pl.UInt8,
    "place": pl.Int32,
}
TRACKS_OF_THREAD = {"own": pl.Int32, "shared": pl.Int32, "main": pl.Int32}
_THREAD = ["rank", "process_id", "thread_id"]


class Tracks(Struct, frozen=True):
    """Holds the activities that explain delays of one rank's threads, as tracks.

    A track is a list of disjoint intervals, sorted by start.
    """

    segments: pl.DataFrame
    """Intervals of the tracks of all ranks, track after track, with the columns SEGMENTS."""
    bounds: list[tuple[int, int]]
    """For each track of this rank, its first row in `segments` and the row after its last."""
    of_threads: pl.DataFrame
    """One row per thread, with indices of `bounds`, -1 for no track.

    Columns: `own` for the thread, `shared` for the work of all threads of the process, `main` for
    the main thread.
    """


class Axis(Struct, frozen=True):
    """Maps the times of all tracks to one axis of integers, on which tracks do not overlap.

    Track n begins at `n * len(times)`. A time's index in `times` is added to this begin.
    """

    times: pl.Series

    @classmethod
    def of(cls, *frames: pl.DataFrame) -> "Axis":
        """Make the axis of all times (start_ns, end_ns) of the frames."""
        times = [frame[edge] for frame in frames for edge in ("start_ns", "end_ns")]
        return cls(pl.concat(times).unique().sort())

    def _positions(self, moments: pl.Series) -> pl.Series:
        return self.times.search_sorted(moments).cast(pl.Int64)

    def laid_out(self, frame: pl.DataFrame, track: str) -> pl.DataFrame:
        """Return the intervals sorted, with numbers of the axis instead of times.

        `track` names the column with the track. Intervals of one track are disjoint.
        """
        first = pl.col(track).cast(pl.Int64) * len(self.times)
        moved = frame.with_columns(
            start_ns=first + self._positions(frame["start_ns"]),
            end_ns=first + self._positions(frame["end_ns"]),
        )
        return moved.sort("start_ns")

    def read_back(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the intervals with times instead of numbers of the axis."""
        n_times = len(self.times)
        return frame.with_columns(
            start_ns=self.times.gather(frame["start_ns"] % n_times),
            end_ns=self.times.gather(frame["end_ns"] % n_times),
        )


def tracks_by_rank(
    segments: pl.DataFrame,
    active_threads: pl.DataFrame,
    mains: Mapping[int, Mapping[int | None, Thread]],
    threads: Mapping[int, Iterable[Thread]],
) -> dict[int, Tracks]:
    """Return the `Tracks` of each rank.

    - `segments`: intervals with the columns SEGMENTS and thread_number
    - `active_threads`: threads with activities: rank, process_id, thread_id and thread_number
    - `mains`: main thread of each process, by rank
    - `threads`: each rank's threads, in the order of `Tracks.of_threads`
    """
    process, _ = numbered(active_threads, ["rank", "process_id"])
    n_threads = pl.len().over(process)
    with_processes = active_threads.select(
        "thread_number",
        *_THREAD,
        process=process.cast(pl.Int64),
        n=n_threads,
    )
    columns = segments.select("thread_number", *SEGMENTS)
    own_segments = columns.sort("thread_number", "start_ns")
    shared_threads = with_processes.filter(pl.col("n") > 1)
    work = own_segments.filter(IS_WORK).join(shared_threads, on="thread_number")
    shared = first_of_threads(work.sort("thread_number", "start_ns"))
    both = pl.concat(
        [
            own_segments.select(SEGMENTS.keys()),
            shared.select(SEGMENTS.keys()),
        ]
    )
    n_active = with_processes.height
    bounds = _bounds(own_segments["thread_number"], n_active, 0)
    shared_bounds = _bounds(shared["process"], n_active, own_segments.height)
    of_threads: dict[int, dict[Thread, tuple[int, int]]] = {rank: {} for rank in threads}
    of_processes: dict[int, dict[int | None, tuple[int, int]]] = {rank: {} for rank in threads}
    for thread_number, rank, process_id, thread_id, number, n in with_processes.iter_rows():
        of_threads[rank][process_id, thread_id] = bounds[thread_number]
        if n > 1:
            of_processes[rank][process_id] = shared_bounds[number]
    tracks = {}
    for rank, threads_of_rank in threads.items():
        tracks[rank] = _of_rank(
            both,
            of_threads[rank],
            of_processes[rank],
            mains[rank],
            threads_of_rank,
        )
    return tracks


def first_of_threads(segments: pl.DataFrame) -> pl.DataFrame:
    """Merge the segments of each process's threads, with the columns process and SEGMENTS.

    Of overlapping segments, the one of the thread with the lowest number counts. `segments` has the
    columns process, thread_number and SEGMENTS. Segments of one thread are disjoint.
    """
    axis = Axis.of(segments)
    number_in_process = pl.col("thread_number").rank("dense").over("process") - 1
    order = pl.col("order")
    merged = segments.select(
        "process",
        *SEGMENTS,
        order=number_in_process.cast(pl.Int64),
    )
    # Merge threads two by two, for all processes at once, so that the time grows with n log n.
    while merged.height and merged.select(order.max() > 0).item():
        paired = merged.with_columns(pair=order // 2, side=order % 2)
        number, pairs = numbered(paired, ["process", "pair"])
        laid_out = axis.laid_out(paired.with_columns(number=number), "number")
        first = laid_out.filter(side=0).select(SEGMENTS.keys())
        second = laid_out.filter(side=1).select(SEGMENTS.keys())
        both = overlay([first, second]).select(SEGMENTS.keys())
        number_of_pair = both["start_ns"] // len(axis.times)
        pair_of_row = pairs[number_of_pair].select("process", order="pair")
        merged = axis.read_back(both).hstack(pair_of_row)
    in_order = merged.sort("process", "start_ns")
    return in_order.select("process", *SEGMENTS)


def _bounds(numbers: pl.Series, n: int, offset: int) -> list[tuple[int, int]]:
    """Return, for each number below n, its first row and the row after its last row.

    `numbers` are sorted. `offset` is added to all rows.
    """
    every_number = pl.int_range(n + 1, eager=True)
    edges = numbers.cast(pl.Int64).search_sorted(every_number) + offset
    return [*pairwise(edges.to_list())]


def _of_rank(
    segments: pl.DataFrame,
    thread_bounds: Mapping[Thread, tuple[int, int]],
    processes: Mapping[int | None, tuple[int, int]],
    mains: Mapping[int | None, Thread],
    threads: Iterable[Thread],
) -> Tracks:
    """Return the `Tracks` of one rank.

    - `thread_bounds`: row bounds of each thread's segments
    - `processes`: row bounds of the merged segments of each process with several threads
    """
    track_numbers = {thread: number for number, thread in enumerate(thread_bounds)}
    first_shared = len(thread_bounds)
    shared_tracks = {process: first_shared + number for number, process in enumerate(processes)}
    of_threads = []
    for process, thread in threads:
        main = track_numbers[mains[process]] if process in mains else -1
        if process not in shared_tracks:
            of_threads.append((main, -1, -1))
            continue
        without_thread = track_numbers.get((process, None), -1)
        own_track = track_numbers.get((process, thread), without_thread)
        of_threads.append((own_track, shared_tracks[process], main))
    return Tracks(
        segments,
        [*thread_bounds.values(), *processes.values()],
        pl.DataFrame(of_threads, schema=TRACKS_OF_THREAD, orient="row"),
    )
