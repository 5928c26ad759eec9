"""The walk of `nesting` as a kernel over raw addresses: the same definition, all threads in one pass through time."""

from __future__ import annotations

from tracelens.fast.machine import entry, load64, store64

# Words of the state, then what is by row of the sorted spans, of the sorted calls, by lane, and what is counted.
# PLACES: lane << 32 | hint + 1. UPS: depth << 32 | parent + 1, also the stack of open spans, linked from TOPS down.
# CALLS: the lane, then the row of the span around the call.
(
    N_SPANS, N_CALLS, STARTS, ENDS, PLACES, UPS, OWN, COVERED, CALL_STARTS, CALL_ENDS, CALLS, TOPS, TOLERANCE,
    N_OVERLAPS, N_UNRETURNED,
) = range(15)  # fmt: skip
_LOW = 0xFFFFFFFF


@entry
def walk(state):
    """Nest all spans and place all calls; returns 0."""
    n_spans, n_calls = load64(state + 8 * N_SPANS), load64(state + 8 * N_CALLS)
    starts, ends, places = load64(state + 8 * STARTS), load64(state + 8 * ENDS), load64(state + 8 * PLACES)
    ups, own, covered = load64(state + 8 * UPS), load64(state + 8 * OWN), load64(state + 8 * COVERED)
    call_starts, call_ends = load64(state + 8 * CALL_STARTS), load64(state + 8 * CALL_ENDS)
    calls, tops = load64(state + 8 * CALLS), load64(state + 8 * TOPS)
    tolerance = load64(state + 8 * TOLERANCE)
    row, call = 0, 0
    while row < n_spans or call < n_calls:
        is_span = 0
        start, end = 0, 0
        if row < n_spans:
            start, end = load64(starts + 8 * row), load64(ends + 8 * row)
            is_span = 1
        if call < n_calls:
            call_start, call_end = load64(call_starts + 8 * call), load64(call_ends + 8 * call)
            if is_span == 0 or call_start < start or (call_start == start and call_end > end):
                start, end = call_start, call_end
                is_span = 0
        if is_span == 0:
            lane = load64(calls + 8 * call)
            found = load64(tops + 8 * lane)
            while found >= 0 and load64(ends + 8 * found) < start:
                found = (load64(ups + 8 * found) & _LOW) - 1
            store64(tops + 8 * lane, found)
        else:
            lane = load64(places + 8 * row) >> 32
            found = load64(tops + 8 * lane)
        overlapped = 0
        while found >= 0:
            found_end = load64(ends + 8 * found)
            if found_end == start:
                holds = start == end and load64(starts + 8 * found) < found_end
            else:
                holds = found_end > start and end <= found_end + tolerance
            if holds:
                break
            if start < found_end:
                overlapped = 1
            found = (load64(ups + 8 * found) & _LOW) - 1
        if is_span == 0:
            store64(calls + 8 * call, found)
            call += 1
            continue
        store64(state + 8 * N_OVERLAPS, load64(state + 8 * N_OVERLAPS) + overlapped)
        caller = (load64(places + 8 * row) & _LOW) - 1
        if caller >= 0:
            # Close what the profiler never saw return: all from the first one above the caller that has a caller too.
            above = found
            first = -1
            while above >= 0 and above != caller:
                if (load64(places + 8 * above) & _LOW) > 0:
                    first = above
                above = (load64(ups + 8 * above) & _LOW) - 1
            if above >= 0 and first >= 0:
                last = (load64(ups + 8 * first) & _LOW) - 1
                while found != last:
                    if (load64(places + 8 * found) & _LOW) > 0:
                        store64(state + 8 * N_UNRETURNED, load64(state + 8 * N_UNRETURNED) + 1)
                    lost = load64(ends + 8 * found) - max(start, load64(covered + 8 * found))
                    if lost > 0:
                        store64(own + 8 * found, load64(own + 8 * found) - lost)
                    found = (load64(ups + 8 * found) & _LOW) - 1
                lost = load64(covered + 8 * found) - start
                if lost > 0:
                    store64(own + 8 * found, load64(own + 8 * found) + lost)
                    store64(covered + 8 * found, start)
        if found >= 0:
            begin = max(start, load64(covered + 8 * found))
            until = min(end, load64(ends + 8 * found))
            if until > begin:
                store64(own + 8 * found, load64(own + 8 * found) - (until - begin))
                store64(covered + 8 * found, until)
            depth = (load64(ups + 8 * found) >> 32) + 1
            store64(ups + 8 * row, depth << 32 | found + 1)
        store64(tops + 8 * lane, row)
        row += 1
    return 0
