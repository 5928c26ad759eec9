"""Count what takes a capture's time, by rules short enough to check by eye.

Only raw events are read. The time runs from the first step's mark to the end of the last step and
its work; without marks, from the first to the last work of the device. Each moment gets the first
part that fits:

- compute, communication or copy: such work runs on the device
- dependency: the device is idle, and the next work's launching call had returned before
- sync, allocation, loading, input: the launching thread does this until its call
- launch or host: the rest. Raw events do not distinguish Python between ops from other work.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from samples.accuracy.raw_events import HostEvent, RawEvents, Work

_PARTS = ("compute", "communication", "copy")
HOST = "launch or host"
_CALLS = (
    (re.compile(r"Synchronize|cudaMemcpy$|hipMemcpy$"), "sync"),
    (re.compile(r"Malloc|Free|HostAlloc|HostRegister|HostUnregister"), "allocation"),
    (re.compile(r"ModuleLoad|LibraryLoad|LoadData|FuncGetAttributes|ModuleGetFunction"), "loading"),
)
_INPUT = re.compile(r"DataLoader")
Interval = tuple[int, int]


def count(raw: RawEvents) -> dict[str, float] | None:
    """Return the share of the time by part; None if there is no device work."""
    if not raw.work:
        return None
    begin, end = _window(raw)
    if end <= begin:
        return None
    parts: Counter[str] = Counter()
    covered: list[Interval] = []
    for part in _PARTS:
        mine = _union([(w.start, w.end) for w in raw.work if w.part == part], begin, end)
        before, covered = covered, _union([*covered, *mine], begin, end)
        parts[part] = _length(covered) - _length(before)
    for cause, ns in _idle(raw, covered, begin, end):
        parts[cause] += ns
    total = end - begin
    if raw.unprofiled_ns and raw.marks:
        total = _without_profiler(parts, raw.unprofiled_ns * len(raw.marks))
    return {part: ns / total for part, ns in parts.most_common() if ns}


def _without_profiler(parts: Counter[str], unprofiled_ns: float) -> float:
    """Shrink idle time so that steps are as long as without the profiler.

    Returns the time that was removed.
    """
    busy = sum(parts[part] for part in _PARTS)
    idle = sum(parts.values()) - busy
    left = max(min(unprofiled_ns - busy, idle), 0)
    for part in set(parts) - set(_PARTS):
        parts[part] = round(parts[part] * left / max(idle, 1))
    return busy + left


def _window(raw: RawEvents) -> Interval:
    if not raw.marks:
        return min(w.start for w in raw.work), max(w.end for w in raw.work)
    begin, end = min(start for start, _ in raw.marks), max(end for _, end in raw.marks)
    launched = [w.end for w in raw.work if begin <= _launch(raw, w) < end]
    return begin, max([end, *launched])


def _launch(raw: RawEvents, work: Work) -> int:
    call = raw.calls.get(work.call)
    return call.start if call else work.start


def _union(intervals: Sequence[Interval], begin: int, end: int) -> list[Interval]:
    """Return sorted intervals without overlap, cut to the window."""
    merged: list[Interval] = []
    for start, stop in sorted((max(a, begin), min(b, end)) for a, b in intervals):
        if stop <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged


def _length(intervals: Sequence[Interval]) -> int:
    return sum(stop - start for start, stop in intervals)


def _idle(raw: RawEvents, busy: list[Interval], begin: int, end: int) -> Iterator[tuple[str, int]]:
    """Return cause and length of each part of the device's idle intervals."""
    threads = {thread: _segments(events) for thread, events in _by_thread(raw.host).items()}
    by_start = sorted(raw.work, key=lambda work: work.start)
    starts = [work.start for work in by_start]
    launching = Counter(call.thread for call in raw.calls.values())
    main = launching.most_common(1)[0][0] if launching else None
    edges = [begin, *(edge for interval in busy for edge in interval), end]
    for left, right in zip(edges[::2], edges[1::2], strict=True):
        if right <= left:
            continue
        place = bisect_right(starts, right - 1)
        call = raw.calls.get(by_start[place].call) if place < len(starts) else None
        if call is not None and call.end <= left and right < end:
            yield "dependency", right - left
            continue
        launched = min(max(call.start, left), right) if call is not None else right
        thread = call.thread if call is not None else main
        yield from _doing(threads.get(thread, []), left, launched)
        yield HOST, right - launched


def _by_thread(events: list[HostEvent]) -> dict[object, list[HostEvent]]:
    threads: dict[object, list[HostEvent]] = {}
    for event in events:
        threads.setdefault(event.thread, []).append(event)
    return threads


def _label(event: HostEvent, above: str) -> str:
    """Return the part of the innermost event, but input if input is fetched around it."""
    if above == "input" or _INPUT.search(event.name):
        return "input"
    if event.is_call:
        return next((label for words, label in _CALLS if words.search(event.name)), HOST)
    return HOST


def _segments(events: list[HostEvent]) -> list[tuple[int, int, str]]:
    """Return the intervals of one thread in order, each with the part of its innermost event."""
    segments: list[tuple[int, int, str]] = []
    open_events: list[tuple[int, str]] = []
    reached = 0
    last = max((event.end for event in events), default=0)
    ordered = sorted(events, key=lambda event: (event.start, -event.end))
    for event in [
        *ordered,
        HostEvent(
            last + 1,
            last + 1,
            "",
            None,
            is_call=False,
        ),
    ]:
        while open_events and open_events[-1][0] <= event.start:
            stop, label = open_events.pop()
            segments.append((reached, stop, label))
            reached = max(reached, stop)
        label = open_events[-1][1] if open_events else HOST
        segments.append((reached, event.start, label))
        reached = max(reached, event.start)
        open_events.append((event.end, _label(event, label)))
    return [segment for segment in segments if segment[1] > segment[0]]


def _doing(segments: list[tuple[int, int, str]], begin: int, end: int) -> Iterator[tuple[str, int]]:
    """Return what a thread did from begin to end."""
    first = max(bisect_right(segments, (begin, 0, "")) - 1, 0)
    reached = begin
    for start, stop, label in segments[first:]:
        if start >= end:
            break
        overlap = min(stop, end) - max(start, begin)
        if overlap > 0:
            yield label, overlap
            reached = min(stop, end)
    if end > reached:
        yield HOST, end - reached
