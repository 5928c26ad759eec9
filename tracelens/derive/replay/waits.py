"""Find API calls that return only when device work is done, or when a queue has room."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.replay.device import Work
from tracelens.derive.replay.excerpt import Excerpt
from tracelens.derive.replay.moment_graph import COPY, Ints

_USUAL_CALL_NS = 4_000
"""Assumed own time of a call, if all calls of its API function in the excerpt waited."""
_USUAL_RETURN_NS = 8_000
_IMPLICIT = (
    r"^(cuda|cu|hip)(Mem)?(Free|FreeHost|HostFree|HostUnregister|HostAlloc|HostRegister)(_v\d)?$"
)
"""Pattern of API calls that allocate, free or register memory; they wait for a busy device."""
_LONG_LAUNCH_NS = 50_000
_FULL_QUEUE = 128
"""A long launch waits for room in the queue if at least this many kernels are pending."""
_NEAR_NS = 50_000
"""A call that ends this shortly after device work may have waited for it."""


class HostWait(Struct, frozen=True):
    """Holds an API call's wait for device work."""

    call: int  # row of the API call
    work: int  # row of the device work
    own_ns: int  # time of the call without the wait, -1 if unknown
    return_ns: int  # time from the work's end to the call's end
    is_inferred: bool


def find_waits(excerpt: Excerpt, work: Work) -> list[HostWait]:
    """Return the waits of API calls for device work.

    Calls that would only wait if the host were faster are included.
    """
    calls = excerpt.calls
    starts = calls["start"].to_numpy()
    ends = calls["end"].to_numpy()
    waits = [
        *_synchronizations(excerpt, work, starts, ends),
        *_blocking_copies(excerpt, work, ends),
        *_full_queues(excerpt, work, starts, ends),
    ]
    return _with_usual_times(excerpt, waits, starts, ends)


def _synchronizations(excerpt: Excerpt, work: Work, starts: Ints, ends: Ints) -> list[HostWait]:
    """Return waits for a device, stream or event, and waits in memory calls of _IMPLICIT."""
    calls = excerpt.calls
    is_implicit = calls["api"].str.contains(_IMPLICIT).to_numpy()
    names = calls["api"].to_list()
    is_sync = (calls["waits"] & (calls["kind"] != "memcpy")).to_numpy()
    streams = excerpt.work["stream_id"].to_numpy()
    recorded = dict(
        excerpt.waits.filter(pl.col("kind").is_in(["stream", "event"]))
        .select("row", "stream_id")
        .iter_rows()
    )
    waits = []
    for call in np.flatnonzero(is_sync | is_implicit).tolist():
        begin = int(starts[call])
        end = int(ends[call])
        candidates = (work.launched < begin) & (work.ends <= end)
        stream = recorded.get(call)
        has_stream = stream is not None and bool((streams == stream).any())
        if has_stream:
            candidates &= streams == stream
        rows = np.flatnonzero(candidates)
        if not len(rows):
            continue
        awaited = int(rows[np.argmax(work.ends[rows])])
        has_waited = work.ends[awaited] > begin
        if not has_waited and (is_implicit[call] or "Event" in names[call]):
            continue  # nothing shows what it would have waited for
        after_work_ns = end - int(work.ends[awaited])
        if has_waited and is_implicit[call] and after_work_ns > end - begin:
            continue
        waits.append(
            HostWait(
                call,
                awaited,
                -1 if has_waited else end - begin,
                after_work_ns,
                not has_stream,
            )
        )
    return waits


def _blocking_copies(excerpt: Excerpt, work: Work, ends: Ints) -> list[HostWait]:
    """Return the waits in synchronous copies and in copies of pageable memory."""
    is_pageable = excerpt.work["is_pageable"].fill_null(value=False).to_numpy()
    waits_by_name = (excerpt.calls["waits"] & (excerpt.calls["kind"] == "memcpy")).to_numpy()
    waits = []
    for row in np.flatnonzero((is_pageable | (work.kinds == COPY)) & (work.calls >= 0)).tolist():
        call = int(work.calls[row])
        if not (is_pageable[row] or waits_by_name[call]) or ends[call] < work.ends[row]:
            continue
        waits.append(
            HostWait(
                call,
                row,
                -1,
                int(ends[call] - work.ends[row]),
                is_inferred=False,
            )
        )
    return waits


def _full_queues(excerpt: Excerpt, work: Work, starts: Ints, ends: Ints) -> list[HostWait]:
    """Return the waits of long launches for room in the device's queue of about 1,000 kernels."""
    is_launch = (excerpt.calls["kind"] == "kernel_launch").to_numpy()
    long = np.flatnonzero(is_launch & (ends - starts > _LONG_LAUNCH_NS))
    waits = []
    for call in long.tolist():
        begin = starts[call]
        end = ends[call]
        pending = (work.launched < begin) & (work.ends > begin) & (work.launched >= 0)
        if pending.sum() < _FULL_QUEUE:
            continue
        done = np.flatnonzero(pending & (work.ends <= end) & (work.ends > end - _NEAR_NS))
        if len(done):
            row = int(done[np.argmax(work.ends[done])])
            waits.append(
                HostWait(
                    call,
                    row,
                    -1,
                    int(end - work.ends[row]),
                    is_inferred=True,
                )
            )
    return waits


def _with_usual_times(
    excerpt: Excerpt,
    waits: list[HostWait],
    starts: Ints,
    ends: Ints,
) -> list[HostWait]:
    """Replace a time of each wait by a usual one: own_ns if the call waited, else return_ns."""
    # A call that waited does not show its own time: it gets the median time of calls of the same
    # function that did not wait. A call that did not wait does not show the time to return from a
    # wait: it gets at most the median of calls that waited.
    names = excerpt.calls["api"].to_list()
    waiting = {wait.call for wait in waits if wait.own_ns < 0}
    by_name: dict[str, list[int]] = {}
    for call, name in enumerate(names):
        if call not in waiting:
            by_name.setdefault(name, []).append(int(ends[call] - starts[call]))
    usual = {name: int(np.median(durations)) for name, durations in by_name.items()}
    returns = [wait.return_ns for wait in waits if wait.own_ns < 0]
    usual_return = int(np.median(returns)) if returns else _USUAL_RETURN_NS
    complete = []
    for wait in waits:
        took = int(ends[wait.call] - starts[wait.call])
        if wait.own_ns >= 0:
            return_ns = min(wait.return_ns, usual_return)
            complete.append(
                HostWait(wait.call, wait.work, wait.own_ns, return_ns, wait.is_inferred)
            )
            continue
        usual_ns = min(
            took,
            usual.get(names[wait.call], _USUAL_CALL_NS),
            _USUAL_CALL_NS * 4,
        )
        complete.append(HostWait(wait.call, wait.work, usual_ns, wait.return_ns, wait.is_inferred))
    return complete
