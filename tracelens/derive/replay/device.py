"""Add device work to a replay's graph, with the dependencies that decide when it can start."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.replay.excerpt import Excerpt
from tracelens.derive.replay.moment_graph import (
    COLLECTIVE,
    COPY,
    DEPENDENCY,
    FILL,
    KERNEL,
    LAUNCH,
    QUEUE,
    START,
    Edges,
    Flags,
    Ints,
)

LEAST_LATENCY_NS = 1_500
"""A launch takes at least this long to reach an idle device."""
_USUAL_LATENCY_NS, _USUAL_GAP_NS = 5_000, 1_000
"""Launch latency and gap in ns that are assumed if the excerpt shows none."""
_LONG_GAP_NS, _LONG_LATENCY_NS = 10_000, 20_000
"""Longest delays of work that does not wait for work on another stream, in ns.

Queued work begins at most _LONG_GAP_NS after the previous work's end. The launch latency of work
that is not queued exceeds the usual launch latency by at most _LONG_LATENCY_NS.
"""
_LEAST_DELAY = 0.1
"""Above this relative delay, a stream's first work waited for work from before the excerpt.

The relative delay is the time from launch to start, divided by the time from the excerpt's begin to
the launch.
"""
_NEAR_NS = 5_000
"""Work may have waited for other work that ended at most this long before the waiting work began.
"""
WORK_KINDS = {"kernel": KERNEL, "copy": COPY, "fill": FILL, "collective": COLLECTIVE}


class Work(Struct, frozen=True):
    """Holds device work (kernels, copies, fills) as arrays, sorted by start. Times are in ns."""

    starts: Ints
    ends: Ints
    queues: Ints
    calls: Ints  # row of the API call, -1 for a call before the excerpt
    kinds: Ints
    is_graph: Ints
    previous: Ints  # row of the previous work on the same stream, -1 for none
    launched: Ints  # start of the API call, -1 for a call before the excerpt
    begin_moments: Ints  # index of the moment of the start in the graph
    end_moments: Ints  # index of the moment of the end


def read_work(excerpt: Excerpt, first_moment: int) -> Work:
    """Return the excerpt's device work.

    Moments of the replay's graph are numbered from `first_moment`: the begins of all work first,
    then the ends.
    """
    frame = excerpt.work
    starts, ends = (frame[name].to_numpy().astype(np.int64) for name in ("start", "end"))
    queues = frame["queue"].to_numpy().astype(np.int64)
    calls = frame["call"].fill_null(-1).to_numpy().astype(np.int64)
    order = np.lexsort((np.arange(len(starts)), queues))
    previous = np.full(len(starts), -1, np.int64)
    same = queues[order][1:] == queues[order][:-1]
    previous[order[1:][same]] = order[:-1][same]
    call_starts = excerpt.calls["start"].to_numpy()
    launched = np.full(len(starts), -1, np.int64)
    launched[calls >= 0] = call_starts[calls[calls >= 0]]
    kinds = frame["kind"].replace_strict(WORK_KINDS, return_dtype=pl.Int64).to_numpy()
    places = first_moment + np.arange(len(starts), dtype=np.int64)
    return Work(
        starts,
        ends,
        queues,
        calls,
        kinds.astype(np.int64),
        frame["is_graph"].fill_null(value=False).to_numpy().astype(np.int64),
        previous,
        launched,
        places,
        places + len(starts),
    )


class Latency(Struct, frozen=True):
    """Holds the usual launch latency and the usual pause between queued work in an excerpt."""

    launch_ns: int  # from a launch to the start of its work on an idle device
    gap_ns: int


class _Starts(Struct, frozen=True):
    """Holds what each work waited for before it started, and for how long. Times are in ns."""

    awaited: Ints  # row of the awaited work on another stream, -1 for none
    is_recorded: Flags  # whether the trace records this wait
    awaited_ns: Ints  # from the awaited work's end to the start
    is_after_unseen: Flags  # whether the work waited for work from before the excerpt
    launch_ns: Ints  # from the launch, without time of other waits
    queue_ns: Ints  # from the end of the previous work on the stream, without time of other waits


def add_device_edges(
    edges: Edges,
    excerpt: Excerpt,
    work: Work,
    call_begins: Ints,
    origin: int,
) -> Latency:
    """Add the dependencies of device work to the graph; return the usual latencies.

    `call_begins` has the graph moment at which each API call begins. `origin` is the moment at
    which the excerpt begins.
    """
    starts, usual = _starts(excerpt, work)
    launched = np.flatnonzero(work.calls >= 0)
    edges.add(
        call_begins[work.calls[launched]],
        work.begin_moments[launched],
        starts.launch_ns[launched],
        LAUNCH,
        launched,
        n_calls=1,
    )
    _add_queue_edges(edges, work, np.flatnonzero(work.previous >= 0), starts.queue_ns)
    waiting = np.flatnonzero(starts.awaited >= 0)
    edges.add(
        work.end_moments[starts.awaited[waiting]],
        work.begin_moments[waiting],
        np.minimum(starts.awaited_ns[waiting], usual.gap_ns * 4),
        DEPENDENCY,
        waiting,
        is_inferred=~starts.is_recorded[waiting],
    )
    without_cause = np.flatnonzero((work.calls < 0) | starts.is_after_unseen)
    edges.add(
        origin,
        work.begin_moments[without_cause],
        work.starts[without_cause],
        START,
        without_cause,
    )
    edges.add(
        work.begin_moments,
        work.end_moments,
        work.ends - work.starts,
        work.kinds,
        np.arange(len(work.starts)),
    )
    return usual


def _starts(excerpt: Excerpt, work: Work) -> tuple[_Starts, Latency]:
    """Find what each work waited for; also return the usual latencies.

    Work starts once it is launched and the previous work on its stream is done. Work that starts
    later waited for other work: for the work named by a recorded wait, or else for the work of
    another stream that had just ended.
    """
    has_previous = work.previous >= 0
    is_launched = work.calls >= 0
    gaps = np.where(has_previous, work.starts - work.ends[work.previous], -1)
    latencies = np.where(is_launched, work.starts - work.launched, -1)
    is_queued = has_previous & (work.ends[work.previous] > work.launched + LEAST_LATENCY_NS)
    usual = _usual(latencies[is_launched & ~is_queued], gaps[is_queued])
    is_late = np.where(
        is_queued, gaps > _LONG_GAP_NS, latencies > usual.launch_ns + _LONG_LATENCY_NS
    )
    awaited, is_recorded = _recorded_waits(excerpt, work)
    for row in np.flatnonzero(is_late & is_launched & (awaited < 0)):
        awaited[row] = _just_ended(work, int(row))
    since_awaited_ns = work.starts - work.ends[awaited]
    is_explained = (awaited >= 0) & (since_awaited_ns < _NEAR_NS)
    is_pageable = excerpt.work["is_pageable"].fill_null(value=False).to_numpy()
    # A stream's first work that is late for no such reason waited for work from before the excerpt.
    is_after_unseen = is_late & is_launched & ~has_previous & ~is_explained & ~is_pageable
    is_after_unseen &= latencies > _LEAST_DELAY * work.launched
    launch_ns = np.where(
        is_queued | is_explained | is_after_unseen,
        np.minimum(latencies, usual.launch_ns),
        latencies,
    )
    starts = _Starts(
        awaited,
        is_recorded,
        np.where(is_explained, since_awaited_ns, 0),
        is_after_unseen,
        _graph_latencies(work, launch_ns),
        np.where(is_queued & ~is_explained, gaps, np.minimum(gaps, usual.gap_ns)),
    )
    return starts, usual


def _usual(latencies: Ints, gaps: Ints) -> Latency:
    """Return the median latency of launches and the median pause between queued work.

    A long latency or pause is left out, because the work waited for something else.
    """
    short = latencies[(latencies >= 0) & (latencies < _LONG_LATENCY_NS)]
    close = gaps[(gaps >= 0) & (gaps < _NEAR_NS)]
    return Latency(
        int(np.median(short)) if len(short) else _USUAL_LATENCY_NS,
        int(np.median(close)) if len(close) else _USUAL_GAP_NS,
    )


def _graph_latencies(work: Work, launch_ns: Ints) -> Ints:
    """Limit the latency of a replayed graph's kernels to the latency of its first kernel.

    The graph's other kernels wait for each other, not for the launch.
    """
    result = launch_ns.copy()
    first: dict[int, int] = {}
    for row in np.flatnonzero((work.is_graph == 1) & (work.calls >= 0)).tolist():
        call = int(work.calls[row])
        result[row] = min(
            int(launch_ns[row]),
            first.setdefault(call, int(launch_ns[row])),
        )
    return result


def _add_queue_edges(edges: Edges, work: Work, rows: Ints, queue_ns: Ints) -> None:
    """Add the dependencies between successive work of a stream."""
    before = work.previous[rows]
    overlap = work.ends[before] > work.starts[rows]
    apart = rows[~overlap]
    over = rows[overlap]
    edges.add(
        work.end_moments[work.previous[apart]],
        work.begin_moments[apart],
        np.maximum(queue_ns[apart], 0),
        QUEUE,
        apart,
    )
    before = work.previous[over]
    edges.add(
        work.begin_moments[before],
        work.begin_moments[over],
        work.starts[over] - work.starts[before],
        work.kinds[before],
        before,
    )


def _just_ended(work: Work, row: int) -> int:
    """Return the row of another stream's work that ended last before this work, -1 for none.

    Only work that ended up to _NEAR_NS earlier, and after this work's launch, is considered.
    """
    begin = work.starts[row]
    queue = work.queues[row]
    earlier = slice(max(0, row - 256), row)
    ends = work.ends[earlier]
    likely = (ends <= begin) & (ends > begin - _NEAR_NS) & (work.queues[earlier] != queue)
    likely &= ends > work.launched[row]
    if not likely.any():
        return -1
    return int(earlier.start + np.flatnonzero(likely)[np.argmax(ends[likely])])


def _recorded_waits(excerpt: Excerpt, work: Work) -> tuple[Ints, Flags]:
    """Return the row of the work that each device work had to wait for, and a flag for each.

    For work without a recorded wait, the row is -1 and the flag is False.
    """
    awaited = np.full(len(work.starts), -1, np.int64)
    streams = excerpt.work["stream_id"].to_numpy()
    waits = excerpt.waits.filter(pl.col("kind") == "stream_wait")
    for called_at, stream, waited, recorded_at in waits.select(
        "call_start", "stream_id", "waited_stream_id", "recorded_at"
    ).iter_rows():
        after = np.flatnonzero((streams == stream) & (work.launched > called_at))
        until = called_at if recorded_at is None else recorded_at
        before = np.flatnonzero((streams == waited) & (work.launched < until))
        if len(after) and len(before) and stream != waited:
            target = after[0]
            source = before[np.argmax(work.ends[before])]
            if awaited[target] < 0 or work.ends[source] > work.ends[awaited[target]]:
                awaited[target] = source
    return awaited, awaited >= 0
