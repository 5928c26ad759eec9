"""The walk of `nesting` as a kernel over raw addresses: the same definition, statement by statement."""

from __future__ import annotations

from tracelens.fast.machine import entry, load64, store64

# Words of the state. Arrays are by row, spans before calls, except ORDER: the rows in the order of the walk.
(
    N_ROWS, N_SPANS, ORDER, LANES, STARTS, ENDS, HINTS, PARENTS, DEPTHS, SELF, COVERED, CALL_SPANS, STACK, TOLERANCE,
    N_OVERLAPS, N_UNRETURNED,
) = range(16)  # fmt: skip


@entry
def walk(state):
    """Nest all spans and place all calls; returns 0."""
    n_spans = load64(state + 8 * N_SPANS)
    starts, ends = load64(state + 8 * STARTS), load64(state + 8 * ENDS)
    lanes, hints = load64(state + 8 * LANES), load64(state + 8 * HINTS)
    own, covered = load64(state + 8 * SELF), load64(state + 8 * COVERED)
    stack = load64(state + 8 * STACK)
    tolerance = load64(state + 8 * TOLERANCE)
    height = 0
    lane = -1
    for k in range(load64(state + 8 * N_ROWS)):
        row = load64(load64(state + 8 * ORDER) + 8 * k)
        start, end = load64(starts + 8 * row), load64(ends + 8 * row)
        if load64(lanes + 8 * row) != lane:
            lane = load64(lanes + 8 * row)
            height = 0
        if row >= n_spans:
            while height > 0 and load64(ends + 8 * load64(stack + 8 * (height - 1))) < start:
                height -= 1
        overlapped = 0
        place = height - 1
        found = -1
        while place >= 0:
            top = load64(stack + 8 * place)
            top_end = load64(ends + 8 * top)
            if top_end == start:
                holds = start == end and load64(starts + 8 * top) < top_end
            else:
                holds = top_end > start and end <= top_end + tolerance
            if holds:
                found = top
                break
            if start < top_end:
                overlapped = 1
            place -= 1
        if row >= n_spans:
            store64(load64(state + 8 * CALL_SPANS) + 8 * (row - n_spans), found)
            continue
        height = place + 1
        store64(state + 8 * N_OVERLAPS, load64(state + 8 * N_OVERLAPS) + overlapped)
        caller = load64(hints + 8 * row)
        if caller >= 0:
            # Close what the profiler never saw return.
            place = height - 1
            while place >= 0 and load64(stack + 8 * place) != caller:
                place -= 1
            place += 1
            if place > 0:
                while place < height and load64(hints + 8 * load64(stack + 8 * place)) < 0:
                    place += 1
                if place < height:
                    for above in range(place, height):
                        top = load64(stack + 8 * above)
                        if load64(hints + 8 * top) >= 0:
                            store64(state + 8 * N_UNRETURNED, load64(state + 8 * N_UNRETURNED) + 1)
                        lost = load64(ends + 8 * top) - max(start, load64(covered + 8 * top))
                        if lost > 0:
                            store64(own + 8 * top, load64(own + 8 * top) - lost)
                    top = load64(stack + 8 * (place - 1))
                    lost = load64(covered + 8 * top) - start
                    if lost > 0:
                        store64(own + 8 * top, load64(own + 8 * top) + lost)
                        store64(covered + 8 * top, start)
                    height = place
        if height > 0:
            top = load64(stack + 8 * (height - 1))
            begin = max(start, load64(covered + 8 * top))
            until = min(end, load64(ends + 8 * top))
            if until > begin:
                store64(own + 8 * top, load64(own + 8 * top) - (until - begin))
                store64(covered + 8 * top, until)
            store64(load64(state + 8 * PARENTS) + 8 * row, top)
            store64(load64(state + 8 * DEPTHS) + 8 * row, height)
        store64(stack + 8 * height, row)
        height += 1
    return 0
