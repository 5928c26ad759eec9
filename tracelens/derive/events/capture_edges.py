"""Find whether a capture begins or ends while the device works.

If so, it begins with work that was launched earlier, or it lacks work that it launched at its end.
"""

from collections.abc import Sequence

import polars as pl
from msgspec import Struct, field

from tracelens.derive.events.api_names import WAITS_FOR_DEVICE

LATE_NS = 100_000
"""Work that starts this long after its launching call returned waited for something.

Otherwise work starts within some 10 µs.
"""
_LEADS = 0.5
"""Work explains a delay if it fills at least this share of the delay."""
_STARTS_KERNELS = ("kernel_launch", "graph_launch")
_CAPTURES_GRAPH = r"Stream(Begin|End)Capture"
CALLS = ("api_call_id", "api", "kind", "start_ns", "duration_ns")
_END = pl.col("start_ns").cast(pl.Int64) + pl.col("duration_ns")
_START = pl.col("start_ns").cast(pl.Int64)


class CaptureEdges(Struct):
    """Find, from a rank's device work, whether its capture begins or ends while the device works.

    At the beginning, work may have been launched before the capture (link pre_window). Such work
    may be unrecorded. Then a stream's first work starts long after its launch, or the host waits
    for a device that was given nothing yet. At the end, there may be launches whose work is
    missing. `calls` are the rank's API calls, with the columns CALLS.
    """

    calls: pl.DataFrame
    parts: list[pl.DataFrame] = field(default_factory=list)
    waits: list[pl.DataFrame] = field(default_factory=list)

    def take_waits(self, waits: pl.DataFrame) -> None:
        """Add recorded waits of streams: kind, device_id, stream_id, start_ns, duration_ns."""
        known = {"device_id", "stream_id"} <= {*waits.columns}
        stream_waits = waits.filter(pl.col("kind") == "stream_wait") if known else waits.clear()
        if stream_waits.height:
            ids = pl.col("device_id", "stream_id").cast(pl.Int64)
            self.waits.append(stream_waits.select(ids, wait_ns=_START, end_ns=_END))

    def take(self, work: pl.DataFrame) -> None:
        """Add a table of work.

        Columns: device_id, stream_id, start_ns, duration_ns, api_call_id, link.
        """
        columns = ["device_id", "stream_id", "start_ns", "duration_ns", "api_call_id", "link"]
        known = [name for name in columns if name in work.columns]
        if work.height:
            is_sorted = work["start_ns"].is_sorted()  # mostly; a check takes less than sorting
            by_start = work if is_sorted else work.sort("start_ns")
            self.parts.append(by_start.select(known))

    def earlier_end(self) -> int | None:
        """Return the end of the last work that was launched before the capture, if there is any."""
        if not any(part["api_call_id"].count() for part in self.parts):
            return None  # no launch of recorded work is known
        ends = [
            *self._recorded_ends(),
            *self._late_starts(),
            *self._early_waits(),
        ]
        return max(ends, default=None)

    def unrecorded_end(self) -> int | None:
        """Return the end of the last unrecorded work launched before the capture.

        Return None if there is no such work.
        """
        if not any(part["api_call_id"].count() for part in self.parts):
            return None
        return max(
            [*self._late_starts(), *self._early_waits()],
            default=None,
        )

    def later_start(self) -> int | None:
        """Return the start of work that the capture's end cut off.

        That work was launched at the end and is not recorded. Return None if there is none.
        """
        launching = [part["api_call_id"].max() for part in self.parts]
        last = max(
            (call for call in launching if isinstance(call, int)),
            default=None,
        )
        if last is None:
            return None
        starts_kernels = pl.col("kind").is_in(_STARTS_KERNELS)
        launches = self.calls.filter((pl.col("api_call_id") > last) & starts_kernels)
        launches = self._that_would_run(launches)
        if launches.is_empty():
            return None
        done = max(int(part.select(_END.max()).item()) for part in self.parts)
        first_launch = int(launches["start_ns"].min())  # type: ignore[arg-type]
        return max(done, first_launch)

    def _recorded_ends(self) -> list[int]:
        """Return the end of the recorded work that was launched before the capture.

        The list is empty if that work outlasts all work that the capture launched.
        """
        launched_before = pl.col("link") == "pre_window"
        before = [part.filter(launched_before) for part in self.parts]
        in_capture = [part.drop_nulls("api_call_id") for part in self.parts]
        end_of_earlier = _last_end(before)
        last_end = _last_end(in_capture)
        if end_of_earlier is None or last_end is None or end_of_earlier >= last_end:
            return []
        return [end_of_earlier]

    def _late_starts(self) -> list[int]:
        """Return the starts of streams' first work that nothing recorded explains."""
        firsts = pl.concat([_first_of_streams(part) for part in self.parts])
        by_start = firsts.sort("start_ns")
        firsts = by_start.unique(["device_id", "stream_id"], keep="first")
        ids = firsts["api_call_id"].unique()
        has_launched = pl.col("api_call_id").is_in(ids.implode())
        calls = self.calls.filter(has_launched)
        returned = calls.select("api_call_id", returned=_END)
        firsts = firsts.join(returned.cast(pl.Int64), on="api_call_id")
        delay_ns = pl.col("start_ns") - pl.col("returned")
        late = firsts.filter(delay_ns >= LATE_NS)
        unexplained = self._without_waits(late).select("start_ns", "api_call_id")
        rows = unexplained.iter_rows()
        return [start for start, call in rows if self._is_unexplained(start, call)]

    def _without_waits(self, late: pl.DataFrame) -> pl.DataFrame:
        """Leave out the late starts that a recorded wait of their stream explains."""
        if not self.waits:
            return late
        all_waits = pl.concat(self.waits)
        both = late.join(all_waits, on=["device_id", "stream_id"])
        end_ns = pl.col("end_ns")
        start_ns = pl.col("start_ns")
        waited = end_ns - pl.max_horizontal("wait_ns", "returned")
        ends_before = (start_ns - end_ns).is_between(0, LATE_NS)
        is_long = waited >= _LEADS * (start_ns - pl.col("returned"))
        explained = both.filter(ends_before & is_long)
        return late.join(explained, on=["device_id", "stream_id"], how="anti")

    def _is_unexplained(self, start: int, call: int) -> bool:
        """Return whether no recorded work explains the delay.

        Work explains it if it ends just before, is of the same launch, or fills the time.
        """
        begun = [part.filter(pl.col("start_ns") < start) for part in self.parts]
        ends = [int(part.select(_END.max()).item()) for part in begun if part.height]
        if ends and start - max(ends) < LATE_NS:
            return False
        if any((part["api_call_id"] == call).any() for part in begun):
            return False
        launched = [part.drop_nulls("api_call_id") for part in begun]
        busy = sum(int(part["duration_ns"].cast(pl.Int64).sum()) for part in launched)
        return busy < _LEADS * (start - self._begin())

    def _early_waits(self) -> list[int]:
        """Return ends of long waits for the device before any launch whose work is recorded.

        Another thread may launch during a wait, and the wait may be for that work. So the wait must
        end before any recorded work begins.
        """
        launching = [part["api_call_id"].min() for part in self.parts]
        first = min(call for call in launching if isinstance(call, int))
        calls = self.calls.filter(pl.col("api_call_id") < first)
        api = pl.col("api").cast(pl.String)
        is_long = pl.col("duration_ns") >= LATE_NS
        waits = calls.filter(api.str.contains(WAITS_FOR_DEVICE), is_long)
        launched = [part.drop_nulls("api_call_id")["start_ns"].min() for part in self.parts]
        first_work = min(start for start in launched if isinstance(start, int))
        waits = waits.filter(pl.col("kind") == "sync", first_work >= _END)
        return [int(end) for end in waits.select(_END).to_series()]

    def _that_would_run(self, launches: pl.DataFrame) -> pl.DataFrame:
        """Leave out launches that run nothing now, or whose kind of work is never recorded.

        A launch into a graph that is being captured runs nothing.
        """
        if launches.is_empty():
            return launches
        running = launches.filter(self._n_open_captures(launches["start_ns"]) <= 0)
        if not (running["kind"] == "graph_launch").any():
            return running
        ids = pl.concat([part["api_call_id"].drop_nulls().unique() for part in self.parts])
        has_work = pl.col("api_call_id").is_in(ids.implode())
        recorded_kinds = self.calls.filter(has_work)["kind"].unique()
        return running.filter(pl.col("kind").is_in(recorded_kinds.implode()))

    def _n_open_captures(self, moments: pl.Series) -> pl.Series:
        """Return how many captures of graphs have begun, but not ended, before each moment."""
        api = pl.col("api").cast(pl.String)
        calls = self.calls.filter(api.str.contains(_CAPTURES_GRAPH)).sort("start_ns")
        change = pl.when(api.str.contains("Begin")).then(1).otherwise(-1)
        changes = calls.select(change.cast(pl.Int64)).to_series()
        none_open = pl.Series([0], dtype=pl.Int64)
        n_open = pl.concat([none_open, changes.cum_sum()])
        starts = calls["start_ns"].cast(pl.Int64)
        return n_open.gather(starts.search_sorted(moments.cast(pl.Int64)))

    def _begin(self) -> int:
        """Return the start of the first call or work."""
        starts = [int(part["start_ns"].min()) for part in self.parts]  # type: ignore[arg-type]
        first_calls = self.calls.filter(pl.col("api_call_id") == 0)
        first = first_calls["start_ns"].min()
        return min(
            [
                *starts,
                *([first] if isinstance(first, int) else []),
            ]
        )


def _last_end(parts: Sequence[pl.DataFrame]) -> int | None:
    """Return the last end of any work; None without work."""
    ends = [int(part.select(_END.max()).item()) for part in parts if part.height]
    return max(ends, default=None)


def _first_of_streams(work: pl.DataFrame) -> pl.DataFrame:
    """Return the first launched work per stream: device_id, stream_id, start_ns, api_call_id.

    The work is sorted by start.
    """
    names = ["device_id", "stream_id", "start_ns", "api_call_id"]
    work = work.with_columns(
        pl.lit(None, pl.Int64).alias(name) for name in names if name not in work.columns
    )
    # Neighbours are mostly of one stream, so that only some rows need to be grouped.
    launched = work.select(names).drop_nulls("api_call_id")
    stream = pl.col("device_id", "stream_id")
    is_other_stream = pl.any_horizontal(stream.ne_missing(stream.shift()))
    begins = launched.filter(is_other_stream | (pl.int_range(pl.len()) == 0))
    firsts = begins.unique(["device_id", "stream_id"], keep="first", maintain_order=True)
    return firsts.cast(pl.Int64)
