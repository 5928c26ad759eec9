"""Find device work that runs across the begin or the end of a capture.

At the begin, the work was launched before the capture. At the end, the launch is recorded, but the
work is not.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeAlias

import polars as pl
from msgspec import Struct, field

from tracelens.derive.columns.lookup import by_start
from tracelens.derive.events.api_names import WAITS_FOR_DEVICE

LATE_NS = 100_000
"""Work that starts this long after its launching call returned had to wait.

Work that does not wait starts within some 10 µs.
"""
_LEAST_EXPLAINED = 0.5
"""Work explains a delay if the work takes at least this share of the delay."""
_STARTS_KERNELS = ("kernel_launch", "graph_launch")
ReadCalls: TypeAlias = Callable[[pl.Expr | None], pl.DataFrame]
_CAPTURES_GRAPH = r"Stream(Begin|End)Capture"
CALLS = ("api_call_id", "api", "kind", "start_ns", "duration_ns")
_STREAM = ("device_id", "stream_id")
_START = pl.col("start_ns").cast(pl.Int64)
_END = _START + pl.col("duration_ns")
_HAS_CALL = pl.col("api_call_id").is_not_null()
"""True for work with a recorded call that launched it."""


class CaptureEdges(Struct, dict=True):
    """Finds a rank's device work that runs across the begin or the end of the capture.

    All work is added before the first question.
    """

    read_calls: ReadCalls
    """Returns the rank's API calls that meet a condition, with the columns CALLS.

    If the condition is None, all calls are returned.
    """
    parts: list[pl.DataFrame] = field(default_factory=list)
    waits: list[pl.DataFrame] = field(default_factory=list)

    @cached_property
    def calls(self) -> pl.DataFrame:
        """The few calls, of millions, that are needed to find work across an edge.

        They are the first call, and each call that launches the first work of a stream. Calls
        before the first launch of recorded work, and after the last one, are needed, too.
        """
        call = pl.col("api_call_id")
        is_outside = (call < min(self.launch_ids)) | (call > max(self.launch_ids))
        of_streams = self.first_work["api_call_id"]
        is_of_stream = call.is_in(of_streams.implode())
        is_first = call == 0
        return self.read_calls(is_first | is_outside | is_of_stream)

    def take_waits(self, waits: pl.DataFrame) -> None:
        """Add recorded waits of streams: kind, device_id, stream_id, start_ns, duration_ns."""
        has_stream = {*_STREAM} <= {*waits.columns}
        if not has_stream:
            return
        is_of_stream = pl.col("kind") == "stream_wait"
        stream_waits = waits.filter(is_of_stream)
        if stream_waits.height:
            stream = pl.col(_STREAM).cast(pl.Int64)
            times = stream_waits.select(stream, wait_ns=_START, end_ns=_END)
            self.waits.append(times)

    def take(self, work: pl.DataFrame) -> None:
        """Add a table of work.

        Columns: device_id, stream_id, start_ns, duration_ns, api_call_id, link.
        """
        if work.is_empty():
            return
        columns = (*_STREAM, "start_ns", "duration_ns", "api_call_id", "link")
        known_columns = [name for name in columns if name in work.columns]
        part = by_start(work).select(known_columns)
        self.parts.append(part)

    @cached_property
    def launch_ids(self) -> list[int]:
        """The smallest and the largest api_call_id of each table's work, as one list.

        The list is empty if no launch of recorded work is known.
        """
        ids = [part["api_call_id"] for part in self.parts]
        smallest = [ids_of_table.min() for ids_of_table in ids]
        largest = [ids_of_table.max() for ids_of_table in ids]
        return _integers(smallest + largest)

    @cached_property
    def first_work(self) -> pl.DataFrame:
        """The first work with a launch of each stream."""
        firsts_of_tables = [_first_of_streams(part) for part in self.parts]
        firsts = pl.concat(firsts_of_tables)
        return by_start(firsts).unique(_STREAM, keep="first")

    def earlier_end(self) -> int | None:
        """Return the end of the last work launched before the capture; None without such work."""
        if not self.launch_ids:
            return None
        ends = [
            *self._recorded_ends(),
            *self._late_starts(),
            *self._early_waits(),
        ]
        return max(ends, default=None)

    def unrecorded_end(self) -> int | None:
        """Return the end of the last unrecorded work that was launched before the capture.

        Return None if there is no such work.
        """
        if not self.launch_ids:
            return None
        # Unrecorded work makes a stream's first work start long after its launch, or lets the host
        # wait for the device before any recorded launch.
        ends = [*self._late_starts(), *self._early_waits()]
        return max(ends, default=None)

    def later_start(self) -> int | None:
        """Return the earliest possible start of work that was launched, but not recorded.

        Return None if there is no such work.
        """
        if not self.launch_ids:
            return None
        starts_kernels = pl.col("kind").is_in(_STARTS_KERNELS)
        is_later = pl.col("api_call_id") > max(self.launch_ids)
        later_launches = self.calls.filter(is_later, starts_kernels)
        launches = self._of_recorded_kind(later_launches)
        first_launch = launches["start_ns"].min()
        if not isinstance(first_launch, int):
            return None
        return max(first_launch, *_ends(self.parts))

    def _recorded_ends(self) -> list[int]:
        """Return the end of the recorded work that was launched before the capture, in a list.

        The list is empty if there is no such work, or if all work that was launched during the
        capture ends earlier.
        """
        launched_before = pl.col("link") == "pre_window"
        ends_of_earlier = _ends(self._work(launched_before))
        ends_in_capture = _ends(self._work(_HAS_CALL))
        if not ends_of_earlier or not ends_in_capture:
            return []
        end_of_earlier = max(ends_of_earlier)
        outlasts_all = end_of_earlier >= max(ends_in_capture)
        return [] if outlasts_all else [end_of_earlier]

    def _work(self, condition: pl.Expr) -> list[pl.DataFrame]:
        """Return the work that meets a condition, table by table."""
        return [part.filter(condition) for part in self.parts]

    def _late_starts(self) -> list[int]:
        """Return the starts of streams' first work, if it is late without a recorded reason."""
        firsts = self.first_work
        calls = _calls_among(self.calls, firsts["api_call_id"])
        returned = calls.select("api_call_id", returned=_END)
        wide = returned.cast(pl.Int64)
        with_launch = firsts.join(wide, on="api_call_id")
        delay_ns = pl.col("start_ns") - pl.col("returned")
        is_late = delay_ns >= LATE_NS
        late = with_launch.filter(is_late)
        without_waits = self._without_waits(late)
        candidates = without_waits.select("start_ns", "api_call_id")
        unexplained = []
        for start, call in candidates.iter_rows():
            if self._is_unexplained(start, call):
                unexplained.append(start)
        return unexplained

    def _without_waits(self, late: pl.DataFrame) -> pl.DataFrame:
        """Leave out late work if a recorded wait of its stream explains the delay."""
        if not self.waits:
            return late
        all_waits = pl.concat(self.waits)
        both = late.join(all_waits, on=_STREAM)
        end_ns = pl.col("end_ns")
        start_ns = pl.col("start_ns")
        delay_ns = start_ns - pl.col("returned")
        waited_ns = end_ns - pl.max_horizontal("wait_ns", "returned")
        from_end_ns = start_ns - end_ns
        ends_before = from_end_ns.is_between(0, LATE_NS)
        is_long = waited_ns >= _LEAST_EXPLAINED * delay_ns
        explained = both.filter(ends_before & is_long)
        return late.join(explained, on=_STREAM, how="anti")

    def _is_unexplained(self, start: int, call: int) -> bool:
        """Return whether no recorded work explains why a stream's first work started late.

        `start` and `call` are the start and the launching call of the first work.
        """
        has_begun = pl.col("start_ns") < start
        begun = self._work(has_begun)
        last_end = max(_ends(begun), default=None)
        # Earlier work explains the delay if it ends just before, has the same launching call, or
        # fills much of the time.
        if last_end is not None and start - last_end < LATE_NS:
            return False
        is_of_launch = [part["api_call_id"] == call for part in begun]
        if any(flags.any() for flags in is_of_launch):
            return False
        launched = [part.filter(_HAS_CALL) for part in begun]
        busy_ns = 0
        for part in launched:
            durations_ns = part["duration_ns"].cast(pl.Int64)
            busy_ns += int(durations_ns.sum())
        time_ns = start - self._begin()
        return busy_ns < _LEAST_EXPLAINED * time_ns

    def _early_waits(self) -> list[int]:
        """Return the ends of long waits for the device, one per waiting call.

        Only calls before the first launch of recorded work count.
        """
        # The wait must end before recorded work begins. Otherwise it may be for the work of another
        # thread.
        first_work_ns = self.first_work["start_ns"].min()
        api = pl.col("api").cast(pl.String)
        is_earlier = pl.col("api_call_id") < min(self.launch_ids)
        is_sync = pl.col("kind") == "sync"
        is_long = pl.col("duration_ns") >= LATE_NS
        early_syncs = self.calls.filter(is_earlier, is_sync, is_long)
        waits = early_syncs.filter(
            api.str.contains(WAITS_FOR_DEVICE),
            first_work_ns >= _END,
        )
        ends = waits.select(_END).to_series()
        return [int(end) for end in ends]

    def _of_recorded_kind(self, launches: pl.DataFrame) -> pl.DataFrame:
        """Return the launches that start work of a kind that the profiler recorded."""
        if launches.is_empty():
            return launches
        # A launch into a CUDA graph that is being captured starts no work.
        n_open = self._n_open_captures(launches["start_ns"])
        running = launches.filter(n_open <= 0)
        is_graph = running["kind"] == "graph_launch"
        if not is_graph.any():
            return running
        # Some captures record no work of graph launches.
        launching = [part["api_call_id"].unique() for part in self.parts]
        with_work = _calls_among(self.read_calls(None), pl.concat(launching))
        recorded_kinds = with_work["kind"].unique()
        is_recorded = pl.col("kind").is_in(recorded_kinds.implode())
        return running.filter(is_recorded)

    def _n_open_captures(self, moments: pl.Series) -> pl.Series:
        """Return the number of CUDA graph captures that are in progress at each moment."""
        api = pl.col("api").cast(pl.String)
        is_capture = api.str.contains(_CAPTURES_GRAPH)
        is_begin = api.str.contains("Begin")
        change = pl.when(is_begin).then(1).otherwise(-1)
        every_capture = self.read_calls(None).filter(is_capture)
        captures = every_capture.sort("start_ns")
        starts = captures["start_ns"].cast(pl.Int64)
        changes = captures.select(change.cast(pl.Int64)).to_series()
        none_open = pl.Series([0], dtype=pl.Int64)
        n_open_after = changes.cum_sum()
        n_open = pl.concat([none_open, n_open_after])
        n_changes = starts.search_sorted(moments.cast(pl.Int64))
        return n_open.gather(n_changes)

    def _begin(self) -> int:
        """Return the start of the first call or work."""
        is_first_call = pl.col("api_call_id") == 0
        first_call = self.calls.filter(is_first_call)
        starts = [part["start_ns"].min() for part in (*self.parts, first_call)]
        return min(_integers(starts))


def _calls_among(calls: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Return the calls with these api_call_ids; a None among the ids is ignored."""
    known_ids = ids.drop_nulls().unique()
    is_among = pl.col("api_call_id").is_in(known_ids.implode())
    return calls.filter(is_among)


def _integers(values: Iterable[object]) -> list[int]:
    """Return the values that are not None.

    The minimum and the maximum of an empty table are None.
    """
    return [value for value in values if isinstance(value, int)]


def _ends(parts: Iterable[pl.DataFrame]) -> list[int]:
    """Return the last end of work in each table; empty tables are left out."""
    last_ends = [part.select(_END.max()).item() for part in parts]
    return _integers(last_ends)


def _first_of_streams(work: pl.DataFrame) -> pl.DataFrame:
    """Return each stream's first work with a launch: device_id, stream_id, start_ns, api_call_id.

    `work` is sorted by start.
    """
    names = (*_STREAM, "start_ns", "api_call_id")
    unknown = pl.lit(None, pl.Int64)
    columns = []
    for name in names:
        column = pl.col(name) if name in work.columns else unknown.alias(name)
        columns.append(column)
    wanted = work.select(columns)
    launched = wanted.drop_nulls("api_call_id")
    # Neighbours are mostly of one stream, so that only some rows need to be grouped.
    stream = pl.col(_STREAM)
    differs = stream.ne_missing(stream.shift())
    is_other_stream = pl.any_horizontal(differs)
    is_first = pl.int_range(pl.len()) == 0
    begins = launched.filter(is_other_stream | is_first)
    firsts = begins.unique(
        _STREAM,
        keep="first",
        maintain_order=True,
    )
    return firsts.cast(pl.Int64)
