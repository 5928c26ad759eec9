"""Why a device was idle: every nanosecond of it, by what the thread that launches the next work did then."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracelens.derive.completing import activities_of
from tracelens.derive.lookup import rows_of
from tracelens.schemas.events import CAUSES
from tracelens.trace import Trace

LOADING_NS = 1_000_000
"""An op that launches takes microseconds; one that takes this long before the first use of a kernel loads it."""
LATENCY_NS = 10_000
"""Work may start this much after its launching call returned before it counts as waiting for other work."""

CAUSE = pl.Enum(CAUSES)
_PIECES = {
    "rank": pl.Int32, "device_id": pl.Int32, "step": pl.Int64, "gap": pl.Int64, "start_ns": pl.Int64,
    "end_ns": pl.Int64, "cause": CAUSE, "activity": pl.Int64, "next_call": pl.Int64, "within": pl.Boolean,
}  # fmt: skip
_QUERY = ("gap", "start_ns", "end_ns")


@dataclass(frozen=True, slots=True)
class HostTime:
    """What is known of a rank's host: its calls by api_call_id, the activities of each thread, and who is the main one.

    `lanes` has a frame (start_ns, end_ns, cause, activity) a (process, thread).
    """

    trace: Trace
    rank: int
    calls: pl.DataFrame
    lanes: dict[tuple[int, int], pl.DataFrame]
    mains: dict[int, tuple[int, int]]

    def first_uses(self) -> pl.Series:
        """The calls (api_call_id) that launched a kernel as the first of its name."""
        kernels, _ = self.trace.coded("kernels", "rank", "name", "start_ns", "api_call_id")
        own = kernels.filter(pl.col("rank") == self.rank).sort("start_ns")
        return own.filter(pl.col("name").is_first_distinct())["api_call_id"].drop_nulls()


def cut(queries: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """The pieces into which segments (start_ns, end_ns; disjoint, by start) cut each query (start_ns, end_ns, …).

    The queries' columns with the piece's times, and `at`: the row of the segment that it lies in, null outside of any.
    """
    edges = pl.concat([segments["start_ns"], segments["end_ns"]]).sort()
    first = edges.search_sorted(queries["start_ns"], side="right").cast(pl.Int64)
    last = edges.search_sorted(queries["end_ns"], side="left").cast(pl.Int64)
    tiles = queries.with_columns(tile=first, n=(last - first).clip(0))
    several = tiles.filter(pl.col("n") > 0)
    if several.height:
        apart = several.with_columns(tile=pl.int_ranges("tile", pl.col("tile") + pl.col("n") + 1)).explode("tile")
        tile = apart["tile"]
        lows = edges.gather((tile - 1).set(tile == 0, None))
        highs = edges.gather(tile.set(tile == len(edges), None))
        apart = apart.with_columns(
            start_ns=pl.max_horizontal("start_ns", lows), end_ns=pl.min_horizontal("end_ns", highs)
        ).filter(pl.col("end_ns") > pl.col("start_ns"))
        tiles = pl.concat([tiles.filter(pl.col("n") == 0), apart])
    # Between the k-th edge and the next there is a segment where k is odd.
    at = pl.when(pl.col("tile") % 2 == 1).then((pl.col("tile") - 1) // 2)
    return tiles.with_columns(at=at).drop("tile", "n")


def idle_pieces(trace: Trace, work: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The idle time of each device, in pieces of one cause and one step: the columns of _PIECES.

    `work` is all device work by start (rank, device_id, start_ns, duration_ns, api_call_id), `windows` the time that is
    looked at (rank, start_ns, end_ns, step), disjoint in a rank. `activity` is a row of the table of activities (of
    `activities_of`), `next_call` the api_call_id of the call that launched what came next; `within` says that the piece
    lies between the device's first and last work. A gap is numbered over all.
    """
    activities = activities_of(trace)
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns", "duration_ns", "process_id", "thread_id")
    found: list[pl.DataFrame] = []
    n_gaps = 0
    for rank, own in _by_rank(work):
        host = _host_time(trace, rank, calls, activities)
        of_rank = windows.filter(pl.col("rank") == rank)
        for device, device_work in _by(own, "device_id"):
            gaps = _gaps(device_work, of_rank, host).with_columns(gap=pl.int_range(pl.len(), dtype=pl.Int64) + n_gaps)
            n_gaps += gaps.height
            pieces = _with_steps(_caused(gaps, host), of_rank)
            found.append(pieces.with_columns(rank=pl.lit(rank, pl.Int32), device_id=pl.lit(device, pl.Int32)))
    pieces = [frame.select(pl.col(name).cast(dtype) for name, dtype in _PIECES.items()) for frame in found]
    return pl.concat(pieces) if pieces else pl.DataFrame(schema=_PIECES)


def _by_rank(frame: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    return _by(frame, "rank")


def _by(frame: pl.DataFrame, column: str) -> list[tuple[int, pl.DataFrame]]:
    """The rows of each value, by value; one alone is not copied."""
    values = frame[column]
    if values.min() == values.max():
        return [(values[0], frame)] if frame.height else []
    return [(int(key[0]), part) for key, part in sorted(frame.partition_by(column, as_dict=True).items())]


def _host_time(trace: Trace, rank: int, calls: pl.DataFrame, activities: pl.DataFrame) -> HostTime:
    """What is known of the rank's host."""
    own = calls if calls["rank"].min() == calls["rank"].max() == rank else calls.filter(pl.col("rank") == rank)
    mine = activities.with_row_index("activity").filter(pl.col("rank") == rank)
    mine = mine.with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    lanes = {
        (process, thread): part.select("start_ns", "end_ns", "cause", pl.col("activity").cast(pl.Int64))
        for (process, thread), part in mine.partition_by("process_id", "thread_id", as_dict=True).items()
    }
    # The main thread is the one of which most time is known.
    mains: dict[int, tuple[int, int]] = {}
    known = {lane: int((part["end_ns"] - part["start_ns"]).sum()) for lane, part in lanes.items()}
    for lane in sorted(known, key=lambda lane: (-known[lane], lane)):
        mains.setdefault(lane[0], lane)
    return HostTime(trace, rank, own, lanes, mains)


def _gaps(work: pl.DataFrame, windows: pl.DataFrame, host: HostTime) -> pl.DataFrame:
    """The times at which a device does nothing, from the first window's start to the last one's end.

    start_ns, end_ns, the launching call's returned (when), process_id, thread_id, next_call, within.
    """
    start, reached = work["start_ns"], (work["start_ns"] + work["duration_ns"]).cum_max()
    low = min(edge for edge in (start.min(), windows["start_ns"].min()) if edge is not None)
    high = max(edge for edge in (reached.max(), windows["end_ns"].max()) if edge is not None)
    before = reached.shift(1, fill_value=low)
    rows = (start > before).arg_true()
    call = work["api_call_id"].gather(rows)
    # A replayed graph's later kernels wait for its earlier ones, whether or not the call has returned.
    is_same = (call == work["api_call_id"].gather((rows.cast(pl.Int64) - 1).set(rows == 0, None))).fill_null(
        value=False
    )
    at = rows_of(
        host.calls["rank"], host.calls["api_call_id"], pl.DataFrame([work["rank"].gather(rows), call.alias("id")])
    )
    begins = host.calls["start_ns"].gather(at)
    returned = (
        (begins + host.calls["duration_ns"].gather(at)).zip_with(
            ~is_same, pl.Series([low - LATENCY_NS]).new_from_index(0, len(rows))
        )
        if len(rows)
        else begins
    )
    gaps = pl.DataFrame(
        {
            "start_ns": before.gather(rows), "end_ns": start.gather(rows), "returned": returned, "next_call": call,
            "process_id": host.calls["process_id"].gather(at), "thread_id": host.calls["thread_id"].gather(at),
            "within": rows > 0,
        }
    )  # fmt: skip
    last = int(reached[-1])
    if high > last:
        process = work["process_id"].mode()[0] if "process_id" in work.columns else next(iter(host.mains), None)
        end = gaps.clear().vstack(
            pl.DataFrame(
                [{"start_ns": last, "end_ns": high, "returned": high, "next_call": None, "process_id": process,
                  "thread_id": host.mains.get(process, (None, None))[1], "within": False}],
                schema=gaps.schema,
            )
        )  # fmt: skip
        gaps = pl.concat([gaps, end])
    return gaps


def _caused(gaps: pl.DataFrame, host: HostTime) -> pl.DataFrame:
    """The gaps in pieces of one cause: gap, start_ns, end_ns, cause, activity, next_call, within."""
    returned = pl.col("returned").clip(pl.col("start_ns"), pl.col("end_ns"))
    launched = (pl.col("returned") + LATENCY_NS).clip(pl.col("start_ns"), pl.col("end_ns"))
    edges = gaps.with_columns(host_end=returned, launch_end=launched, known=pl.col("returned").is_not_null())
    none = {"cause": pl.lit(None, CAUSE), "activity": pl.lit(None, pl.Int64)}
    known = edges.filter("known")
    parts = [
        known.select("gap", "start_ns", end_ns="host_end", process_id="process_id", thread_id="thread_id"),
        known.select("gap", start_ns="host_end", end_ns="launch_end", cause=pl.lit("launch", CAUSE)),
        known.select("gap", start_ns="launch_end", end_ns="end_ns", cause=pl.lit("dependency", CAUSE)),
        edges.filter(~pl.col("known")).select(*_QUERY, cause=pl.lit("unknown", CAUSE)),
    ]
    on_host, *others = (part.filter(pl.col("end_ns") > pl.col("start_ns")) for part in parts)
    columns = [*_QUERY, "cause", "activity"]
    pieces = [part.with_columns(activity=none["activity"]).select(columns) for part in others]
    pieces += [part.select(columns) for part in _on_host(on_host, host)]
    whole = _refilled(pl.concat(pieces).sort("gap", "start_ns"))
    at = whole["gap"] - (int(gaps["gap"][0]) if gaps.height else 0)
    return _first_uses(whole.with_columns(gaps["next_call"].gather(at), gaps["within"].gather(at)), host)


def _on_host(queries: pl.DataFrame, host: HostTime) -> list[pl.DataFrame]:
    """The pieces of time (gap, start_ns, end_ns, process_id, thread_id) by what their thread did.

    A thread of which nothing is recorded, or which only runs Python, may wait for another that works: what that one did
    counts first.
    """
    found: list[pl.DataFrame] = []
    for (process, thread), own in queries.partition_by("process_id", "thread_id", as_dict=True).items():
        left = own.select(_QUERY)
        is_known = (process, thread) in host.lanes
        if is_known:
            pieces = _looked_up(left, host.lanes[process, thread])
            told = (pl.col("cause") != "host").fill_null(value=False)
            found.append(pieces.filter(told))
            left = pieces.filter(~told)
        for lane, activities in host.lanes.items():
            if lane == (process, thread) or lane[0] != process or not left.height:
                continue
            busy = activities.filter(pl.col("cause") != "host")
            pieces = _looked_up(left.select(_QUERY), busy)
            found.append(pieces.drop_nulls("cause"))
            left = pieces.filter(pl.col("cause").is_null())
        for lane in dict.fromkeys([(process, thread), host.mains.get(process)]):
            if lane in host.lanes and left.height:
                pieces = _looked_up(left.select(_QUERY), host.lanes[lane])
                found.append(pieces.drop_nulls("cause"))
                left = pieces.filter(pl.col("cause").is_null())
        nothing = pl.lit("host" if host.lanes else "unknown", CAUSE)
        found.append(left.select(*_QUERY, cause=nothing, activity=pl.lit(None, pl.Int64)))
    return found


def _looked_up(queries: pl.DataFrame, activities: pl.DataFrame) -> pl.DataFrame:
    """The queries in pieces with the cause and row of a thread's activity then, null where it has none."""
    pieces = cut(queries.select(_QUERY), activities)
    at = pieces["at"]
    return pieces.select(
        *_QUERY, cause=activities["cause"].cast(CAUSE).gather(at), activity=activities["activity"].gather(at)
    )


def _refilled(pieces: pl.DataFrame) -> pl.DataFrame:
    """The pieces, launching that follows a wait for the device in the same gap as part of what that wait costs."""
    waits = pl.col("cause") == "sync"
    if not pieces.select(waits.any()).item():
        return pieces
    is_new = pl.col("gap") != pl.col("gap").shift(1)
    wait = pl.when(waits).then("activity").when(is_new | (pl.col("cause") != "launch")).then(pl.lit(-1))
    waited = wait.forward_fill()
    is_refill = (pl.col("cause") == "launch") & (waited >= 0)
    return pieces.with_columns(
        cause=pl.when(is_refill).then(pl.lit("sync", CAUSE)).otherwise("cause"),
        activity=pl.when(is_refill).then(waited).otherwise("activity"),
    )


def _first_uses(pieces: pl.DataFrame, host: HostTime) -> pl.DataFrame:
    """The pieces, long launching before the first kernel of its name as loading.

    Libraries and kernels are loaded when they are first used, inside the op or the launch, and no profiler tells of it.
    """
    launching = pieces.filter(pl.col("cause") == "launch").group_by("gap", "next_call")
    long = launching.agg(ns=(pl.col("end_ns") - pl.col("start_ns")).sum()).filter(pl.col("ns") >= LOADING_NS)
    if not long.height:
        return pieces
    chosen = long.filter(pl.col("next_call").is_in(host.first_uses().implode()))["gap"].implode()
    loads = (pl.col("cause") == "launch") & pl.col("gap").is_in(chosen)
    return pieces.with_columns(cause=pl.when(loads).then(pl.lit("loading", CAUSE)).otherwise("cause"))


def _with_steps(pieces: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The pieces cut at the windows' edges, with the step that each lies in; null outside of windows."""
    ordered = windows.sort("start_ns", "end_ns").filter(pl.col("end_ns") > pl.col("start_ns"))
    placed = cut(pieces, ordered)
    return placed.with_columns(step=ordered["step"].gather(placed["at"])).drop("at")
