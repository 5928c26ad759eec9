"""The passes of `ancestry`, `charging`, `op_times` and `breakdown` as a kernel over raw addresses, a walk each."""

from __future__ import annotations

from tracelens.fast.machine import entry, inline, load8, load64, store64

# Words of the state. Arrays are by row: ROWS (for each row another row, NONE for none), FLAGS (a byte a row), OWN and
# RESULT, and whatever else a pass names. ROWS may be a part, from row FIRST on, of what the other arrays hold.
(
    WHAT, N_ROWS, ROWS, FLAGS, OWN, RESULT, N_RESULT, STARTS, ENDS, LANES, TABLE, N_TABLE, FIRST, PARENTS, N_PARENTS,
    CODES, WIDTH,
) = range(17)  # fmt: skip
# Of all spans, whose ROWS are their parents; parts come in order, of WITHIN the last first.
NEAREST, OUTERMOST, COUNT, WITHIN = range(4)
# Of the spans at ROWS, by PARENTS: three words, the outermost span flagged 1, and how many are flagged 1 and 2.
ABOVE = 4
# What is charged to ROWS of the result: OWN as it is, or the time of calls that is not within other calls.
CHARGE, CALLS = 5, 6
# By code of ops (flagged 1; 2 are Python calls), four words each: LAUNCHED adds OWN of the work launched at ROWS to the
# innermost op's first; TIMES adds up OWN (on the host) and STARTS (of work within, where no op around has the code) in
# the second and third, and counts ops in the fourth.
LAUNCHED, TIMES = 7, 8
# OWN of the rows flagged 1, ordered by code; TABLE holds where each code's begin, and then where they end.
ORDERED = 9
# Of device work in order of group (ROWS) and start, its sort in FLAGS, OWN the return of its call: six words a group.
LENGTHS = 10
NONE = -(1 << 62)


@inline
def code_of(codes, width, row):
    """The code of a row, of `width` bytes."""
    code = load8(codes + width * row)
    if width > 1:
        code |= load8(codes + width * row + 1) << 8
    if width > 2:
        code |= load8(codes + width * row + 2) << 16 | load8(codes + width * row + 3) << 24
    return code


@entry
def climb(state):
    """Fill RESULT; returns 0, or 1 where it cannot, and RESULT is then worth nothing.

    Parents must stand before their children, calls be in order of start, the longer first, and lanes fit the table.
    """
    what = load64(state + 8 * WHAT)
    if what < ABOVE:
        return among(state)
    if what == ABOVE:
        return above(state)
    if what < LAUNCHED:
        return charge(state)
    if what < LENGTHS:
        return by_code(state)
    return lengths(state)


@inline
def among(state):
    """NEAREST, OUTERMOST, COUNT and WITHIN."""
    what = load64(state + 8 * WHAT)
    n_rows = load64(state + 8 * N_ROWS)
    rows, flags, result = load64(state + 8 * ROWS), load64(state + 8 * FLAGS), load64(state + 8 * RESULT)
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
        found = NONE
        if what == COUNT:
            found = 0
        if parent >= 0:
            found = load64(result + 8 * parent)
        if load8(flags + row) != 0:
            if what == COUNT:
                found += 1
            elif what == NEAREST or found == NONE:
                found = row
        store64(result + 8 * row, found)
    return 0


@inline
def charge(state):
    """CHARGE and CALLS."""
    what = load64(state + 8 * WHAT)
    rows, own, result = load64(state + 8 * ROWS), load64(state + 8 * OWN), load64(state + 8 * RESULT)
    n_result = load64(state + 8 * N_RESULT)
    starts, ends = load64(state + 8 * STARTS), load64(state + 8 * ENDS)
    lanes, table = load64(state + 8 * LANES), load64(state + 8 * TABLE)
    n_lanes = 0
    place = 0
    last_start = -(1 << 63)
    last_end = 0
    for row in range(load64(state + 8 * N_ROWS)):
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
            # TABLE: of each lane its number, and where its calls have reached.
            if place >= n_lanes or load64(table + 16 * place) != lane:
                place = 0
                while place < n_lanes and load64(table + 16 * place) != lane:
                    place += 1
            if place == n_lanes:
                if n_lanes == load64(state + 8 * N_TABLE):
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


@inline
def above(state):
    """ABOVE."""
    rows, flags, result = load64(state + 8 * ROWS), load64(state + 8 * FLAGS), load64(state + 8 * RESULT)
    parents, n_parents = load64(state + 8 * PARENTS), load64(state + 8 * N_PARENTS)
    for row in range(load64(state + 8 * N_ROWS)):
        at = load64(rows + 8 * row)
        if at >= n_parents or (at < 0 and at != NONE):
            return 1
        top = NONE
        ones = 0
        twos = 0
        while at >= 0:
            flag = load8(flags + at)
            if flag == 1:
                top = at
                ones += 1
            elif flag == 2:
                twos += 1
            up = load64(parents + 8 * at)
            if up >= at:
                return 1
            at = up
        store64(result + 24 * row, top)
        store64(result + 24 * row + 8, ones)
        store64(result + 24 * row + 16, twos)
    return 0


@inline
def by_code(state):
    """LAUNCHED, TIMES and ORDERED."""
    what = load64(state + 8 * WHAT)
    rows, flags, own = load64(state + 8 * ROWS), load64(state + 8 * FLAGS), load64(state + 8 * OWN)
    parents, n_parents = load64(state + 8 * PARENTS), load64(state + 8 * N_PARENTS)
    codes, width = load64(state + 8 * CODES), load64(state + 8 * WIDTH)
    within, table, result = load64(state + 8 * STARTS), load64(state + 8 * TABLE), load64(state + 8 * RESULT)
    for row in range(load64(state + 8 * N_ROWS)):
        at = row
        if what == LAUNCHED:
            at = load64(rows + 8 * row)
            if at >= n_parents or (at < 0 and at != NONE):
                return 1
        if what == ORDERED:
            if load8(flags + at) == 1:
                slot = table + 8 * code_of(codes, width, at)
                store64(result + 8 * load64(slot), load64(own + 8 * row))
                store64(slot, load64(slot) + 1)
            continue
        flag = 0
        # LAUNCHED: up to the innermost op. TIMES: a Python call's time is that of the op it runs directly in.
        while at >= 0:
            flag = load8(flags + at)
            if flag == 1 or (what == TIMES and flag != 2):
                break
            up = load64(parents + 8 * at)
            if up >= at:
                return 1
            at = up
        if at < 0 or flag != 1:
            continue
        code = code_of(codes, width, at)
        slot = result + 32 * code
        if what == LAUNCHED:
            store64(slot, load64(slot) + load64(own + 8 * row))
            continue
        store64(slot + 8, load64(slot + 8) + max(0, load64(own + 8 * row)))
        if at != row:
            continue
        store64(slot + 24, load64(slot + 24) + 1)
        if load64(within + 8 * row) > 0:
            up = load64(parents + 8 * at)
            while up >= 0 and (load8(flags + up) != 1 or code_of(codes, width, up) != code):
                if load64(parents + 8 * up) >= up:
                    return 1
                up = load64(parents + 8 * up)
            if up < 0:
                store64(slot + 16, load64(slot + 16) + load64(within + 8 * row))
    return 0


@inline
def lengths(state):
    """LENGTHS: what compute, communication, copies, kernels, all work cover, and how long devices waited for calls."""
    rows, flags, own = load64(state + 8 * ROWS), load64(state + 8 * FLAGS), load64(state + 8 * OWN)
    starts, ends = load64(state + 8 * STARTS), load64(state + 8 * ENDS)
    result, n_result = load64(state + 8 * RESULT), load64(state + 8 * N_RESULT)
    group = -1
    # How far compute, communication, copies, kernels and all work of the group have reached.
    reached0, reached1, reached2, reached3, reached4 = NONE, NONE, NONE, NONE, NONE
    for row in range(load64(state + 8 * N_ROWS)):
        to = load64(rows + 8 * row)
        if to < group or to < 0 or to >= n_result:
            return 1
        start, end, sort = load64(starts + 8 * row), load64(ends + 8 * row), load8(flags + row)
        slot = result + 48 * to
        if to != group:
            group = to
            reached0, reached1, reached2, reached3, reached4 = NONE, NONE, NONE, NONE, NONE
        elif start > reached4:
            returned = load64(own + 8 * row)
            if returned != NONE:
                store64(slot + 40, load64(slot + 40) + max(0, min(returned, start) - reached4))
        if sort == 0:
            store64(slot, load64(slot) + max(0, end - max(start, reached0)))
            reached0 = max(reached0, end)
        elif sort == 1:
            store64(slot + 8, load64(slot + 8) + max(0, end - max(start, reached1)))
            reached1 = max(reached1, end)
        else:
            store64(slot + 16, load64(slot + 16) + max(0, end - max(start, reached2)))
            reached2 = max(reached2, end)
        if sort < 2:
            store64(slot + 24, load64(slot + 24) + max(0, end - max(start, reached3)))
            reached3 = max(reached3, end)
        store64(slot + 32, load64(slot + 32) + max(0, end - max(start, reached4)))
        reached4 = max(reached4, end)
    return 0
