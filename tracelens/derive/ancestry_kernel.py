"""The passes of `ancestry` and `charging` as a kernel over raw addresses: one walk over the rows each."""

from __future__ import annotations

from tracelens.fast.machine import entry, load8, load64, store64

# Words of the state. Arrays are by row: ROWS (for each row another row, NONE for none), FLAGS (a byte a row), OWN and
# RESULT; of CALLS also STARTS, ENDS, LANES, and TABLE: of each lane its number and where its calls have reached.
(WHAT, N_ROWS, ROWS, FLAGS, OWN, RESULT, N_RESULT, STARTS, ENDS, LANES, TABLE, N_TABLE, FIRST) = range(13)
# Of spans, whose ROWS are their parents; of REPEATS the nearest rows above that have a code, and OWN the codes.
NEAREST, OUTERMOST, COUNT, WITHIN, REPEATS = range(5)
# Of whatever is charged to ROWS of the result: OWN as it is, or the time of calls that is not within other calls.
CHARGE, CALLS = 5, 6
NONE = -(1 << 62)


@entry
def climb(state):
    """Fill RESULT; returns 0, or 1 where it cannot, and RESULT is then worth nothing.

    Parents must stand before their children, calls be in order of start, the longer first, and lanes fit the table.
    """
    what = load64(state + 8 * WHAT)
    n_rows = load64(state + 8 * N_ROWS)
    rows, flags = load64(state + 8 * ROWS), load64(state + 8 * FLAGS)
    own, result = load64(state + 8 * OWN), load64(state + 8 * RESULT)
    if what >= CHARGE:
        n_result = load64(state + 8 * N_RESULT)
        starts, ends = load64(state + 8 * STARTS), load64(state + 8 * ENDS)
        lanes, table = load64(state + 8 * LANES), load64(state + 8 * TABLE)
        n_table = load64(state + 8 * N_TABLE)
        n_lanes = 0
        place = 0
        last_start = -(1 << 63)
        last_end = 0
        for row in range(n_rows):
            to = load64(rows + 8 * row)
            if to >= n_result or (to < 0 and to != NONE):
                return 1
            if what == CHARGE:
                time = load64(own + 8 * row)
            else:
                start, end, lane = load64(starts + 8 * row), load64(ends + 8 * row), load64(lanes + 8 * row)
                if start < last_start or (start == last_start and end > last_end):
                    return 1
                last_start = start
                last_end = end
                if place >= n_lanes or load64(table + 16 * place) != lane:
                    place = 0
                    while place < n_lanes and load64(table + 16 * place) != lane:
                        place += 1
                if place == n_lanes:
                    if n_lanes == n_table:
                        return 1
                    n_lanes += 1
                    store64(table + 16 * place, lane)
                    store64(table + 16 * place + 8, start)
                reached = load64(table + 16 * place + 8)
                time = max(0, end - max(start, reached))
                store64(table + 16 * place + 8, max(end, reached))
            if to >= 0:
                store64(result + 8 * to, load64(result + 8 * to) + time)
        return 0
    # ROWS may be a part, from FIRST on, of what the other arrays hold: parts come in order, of WITHIN the last first.
    first = load64(state + 8 * FIRST)
    for place in range(n_rows):
        parent = load64(rows + 8 * place)
        if parent >= first + place or (parent < 0 and parent != NONE):
            return 1
    if what == WITHIN:
        # RESULT holds the rows' own; each is complete when all rows after it have been added to their parents.
        for back in range(n_rows):
            row = first + n_rows - 1 - back
            parent = load64(rows + 8 * (row - first))
            if parent >= 0:
                store64(result + 8 * parent, load64(result + 8 * parent) + load64(result + 8 * row))
        return 0
    for row in range(first, first + n_rows):
        parent = load64(rows + 8 * (row - first))
        if what == REPEATS:
            found = 0
            if load8(flags + row) != 0:
                code = load64(own + 8 * row)
                while parent >= 0:
                    if load64(own + 8 * parent) == code:
                        found = 1
                        break
                    parent = load64(rows + 8 * parent)
            store64(result + 8 * row, found)
            continue
        above = NONE
        if what == COUNT:
            above = 0
        if parent >= 0:
            above = load64(result + 8 * parent)
        if load8(flags + row) != 0:
            if what == COUNT:
                above += 1
            elif what == NEAREST or above == NONE:
                above = row
        store64(result + 8 * row, above)
    return 0
