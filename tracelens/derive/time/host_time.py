"""The host of each rank: when API calls returned, on which threads, and the activities of these threads."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa

from tracelens.derive.columns.cutting import overlay
from tracelens.derive.columns.distinct import distinct_rows
from tracelens.derive.columns.lookup import by_value, numbered
from tracelens.derive.time.completing import activities_of
from tracelens.schemas.events import CAUSES
from tracelens.trace import Trace

Thread: TypeAlias = tuple[int | None, int | None]
"""A process id and a thread id."""

HOST, UNKNOWN = CAUSES.index("host"), CAUSES.index("unknown")
SEGMENTS: dict[str, type[pl.DataType]] = {
    "start_ns": pl.Int64, "end_ns": pl.Int64, "cause": pl.UInt8, "place": pl.Int32,
}  # fmt: skip
_CALLS = ("api_call_id", "start_ns", "duration_ns", "process_id", "thread_id", "site_id", "api")
_KEPT: dict[str, type[pl.DataType]] = {"returned": pl.Int64, "thread": pl.Int32, "place": pl.Int32}


@dataclass(frozen=True, slots=True)
class HostTime:
    """One rank's host. Causes, places and threads are indices into CAUSES, `places` and `threads`.

    `calls` has a row for each API call: when it `returned`, its thread, and its place: the outermost op around it, else
    its function. `ids` are the calls' ids where these are not their rows. `lanes` has each thread's activities as
    SEGMENTS, by start; a place of -1 is unknown. `mains` has the main thread of each process, first the one with most
    known time.
    """

    trace: Trace
    rank: int
    calls: pl.DataFrame
    ids: pl.Series | None
    places: list[str]
    threads: list[Thread]
    lanes: dict[Thread, pl.DataFrame]
    mains: dict[int | None, Thread]
    _timelines: dict[Thread, pl.DataFrame] = field(default_factory=dict)

    @property
    def unrecorded(self) -> int:
        """The cause of time without any known activity."""
        return HOST if self.lanes else UNKNOWN

    def rows(self, ids: pl.Series) -> pl.Series:
        """The rows of `calls` with these ids; a number that is no row, such as -1, where there is none."""
        if self.ids is not None:
            rows = pl.DataFrame({"id": self.ids}).with_row_index("row")
            found = pl.DataFrame({"id": ids}).join(rows, on="id", how="left", maintain_order="left")
            ids = found["row"].cast(pl.Int64)
        return ids.fill_null(-1) if ids.null_count() else ids

    def timeline(self, thread: Thread) -> pl.DataFrame:
        """SEGMENTS, by start, for what held a launching thread up: its own activities or another thread's.

        A thread without spans, or which only runs Python, may wait for another that works: the other threads'
        activities come first, then its own Python, then that of the main thread.
        """
        key = thread if thread in self.lanes else (thread[0], None)
        if key not in self._timelines:
            nothing = pl.DataFrame(schema=SEGMENTS)
            own, main = (self.lanes.get(one, nothing) for one in (key, self.mains.get(key[0], key)))
            others = [part for other, part in self.lanes.items() if other != key and other[0] == key[0]]
            busy = [part.filter(pl.col("cause") != HOST) for part in (own, *others)]
            layers = [*busy, own.filter(pl.col("cause") == HOST), main.filter(pl.col("cause") == HOST)]
            self._timelines[key] = overlay([one for one in layers if one.height] or [nothing]).select(*SEGMENTS)
        return self._timelines[key]

    def last_thread(self, work: Iterable[pl.DataFrame]) -> int:
        """The thread to blame for time after all work (start_ns, call) of a device; -1 if none is known.

        It is the main thread of the process that launched the last work; if unknown, the main thread with most known
        time.
        """
        found = next(iter(self.mains.values()), None)
        if len(self.mains) > 1:
            launched = [part.filter(pl.col("call").is_between(0, self.calls.height - 1)).tail(1) for part in work]
            last = pl.concat(part.select("start_ns", "call") for part in launched).sort("start_ns", maintain_order=True)
            for thread in self.calls["thread"].gather(last["call"].tail(1)):
                found = self.mains.get(self.threads[thread][0], found)
        return -1 if found is None else self.threads.index(found)

    def uses(self) -> pl.DataFrame:
        """The rank's kernels by start: the name's category number, and the row of the call that launched each."""
        own = self.trace.select("kernels", "name", "start_ns", "api_call_id", rank=self.rank).sort("start_ns")
        return own.select(pl.col("name").to_physical(), call=self.rows(own["api_call_id"]))


def host_times(trace: Trace, ranks: Iterable[int]) -> dict[int, HostTime]:
    """The hosts of these ranks.

    Calls are read in batches, and only what is needed of each is kept: see `Trace.batches`.
    """
    activities = dict(by_value(activities_of(trace), "rank"))
    reading = {rank: _Reading(trace, rank) for rank in ranks}
    for rank, batches in trace.batches("api_calls", *_CALLS):
        if rank in reading and batches:
            calls: Any = pl.from_arrow(pa.Table.from_batches(batches), rechunk=False)
            reading[rank].take(calls)
    return {rank: one.finished(activities.get(rank, activities_of(trace).clear())) for rank, one in reading.items()}


def host_of_calls(trace: Trace, rank: int, ids: pl.Series) -> HostTime:
    """The host of a rank, of whose calls only those with these ids are known: for a step of many."""
    reading = _Reading(trace, rank)
    near = pl.col("api_call_id").is_between(ids.min(), ids.max()) & pl.col("api_call_id").is_in(ids.unique().implode())
    calls = trace.select("api_calls", *_CALLS, where=near, rank=rank)
    reading.take(calls)
    activities = activities_of(trace).filter(pl.col("rank") == rank)
    return replace(reading.finished(activities), ids=calls["api_call_id"])


class _Reading:
    """A rank's host while its calls are read; places and threads are numbered in the order of their appearance."""

    def __init__(self, trace: Trace, rank: int) -> None:
        self.trace, self.rank = trace, rank
        self.places: dict[str, int] = {}
        self.threads: dict[Thread, int] = {}
        self.parts = [pl.DataFrame(schema=_KEPT)]
        self.n_calls, self.are_rows = 0, True
        sites = self.of_rank("sites", "site_id", "op")
        highest = sites["site_id"].max()
        ops = pl.repeat(-1, highest + 1 if isinstance(highest, int) else 0, dtype=pl.Int32, eager=True)
        self.ops = ops.scatter(sites["site_id"], self.numbers(sites["op"]))

    def of_rank(self, table: str, *columns: str) -> pl.DataFrame:
        """Columns of the rank's rows of a table."""
        return self.trace.select(table, *columns, rank=self.rank)

    def numbers(self, places: pl.Series) -> pl.Series:
        """The indices of places in `places`; -1 for null."""
        rows, like = distinct_rows(places.cast(pl.Categorical).to_physical())
        found = places.gather(rows).cast(pl.String).to_list()
        numbers = [-1 if place is None else self.places.setdefault(place, len(self.places)) for place in found]
        return pl.Series(numbers, dtype=pl.Int32).gather(like)

    def take(self, calls: pl.DataFrame) -> None:
        """Add a batch of calls."""
        first, self.n_calls = self.n_calls, self.n_calls + calls.height
        self.are_rows &= (calls["api_call_id"] == pl.int_range(first, self.n_calls, eager=True)).all()
        like, found = numbered(calls, ["process_id", "thread_id"])
        threads = [self.threads.setdefault((process, thread), len(self.threads)) for process, thread in found.rows()]
        site = calls["site_id"]
        place = self.ops.gather(site.set(site >= len(self.ops), None)).fill_null(-1)
        has_op = place >= 0
        if not has_op.all():
            place = place.zip_with(has_op, self.numbers(calls["api"]))
        returned = pl.col("start_ns") + pl.col("duration_ns")
        thread = pl.Series(threads, dtype=pl.Int32).gather(like)
        self.parts.append(calls.select(returned=returned, thread=thread, place=place))

    def finished(self, activities: pl.DataFrame) -> HostTime:
        """The host with the rank's activities, after all calls were read."""
        own = activities.select(
            "process_id", "thread_id", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"),
            cause=pl.col("cause").cast(pl.Enum(CAUSES)).to_physical().cast(pl.UInt8),
            place=self.numbers(activities["what"]),
        )  # fmt: skip
        lanes = {
            (process, thread): part.drop("process_id", "thread_id").sort("start_ns")
            for (process, thread), part in own.partition_by("process_id", "thread_id", as_dict=True).items()
        }
        # The main thread is the one with most known time.
        known = {thread: int((part["end_ns"] - part["start_ns"]).sum()) for thread, part in lanes.items()}
        mains: dict[int | None, Thread] = {}
        for thread in sorted(known, key=lambda thread: (-known[thread], thread)):
            mains.setdefault(thread[0], thread)
        for thread in mains.values():
            self.threads.setdefault(thread, len(self.threads))
        ids = None if self.are_rows else self.of_rank("api_calls", "api_call_id")["api_call_id"]
        calls = pl.concat(self.parts, rechunk=True)
        return HostTime(self.trace, self.rank, calls, ids, list(self.places), list(self.threads), lanes, mains)
