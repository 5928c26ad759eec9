"""The passes of `ancestry`, `charging`, `op_times` and `breakdown` as a kernel over raw addresses, a walk each."""

from __future__ import annotations

from tracelens.fast.machine import entry, inline, load8, load32, load64, plus, store32, store64, times

# Words of the state. Arrays are by row: ROWS (for each row another row, NONE for none), FLAGS (a byte a row), OWN and
# RESULT, and whatever else a pass names. ROWS may be a part, from row FIRST on, of what the other arrays hold. CALLS,
# PLACED and LAUNCHED take NONE also where VALID, if not 0, has no bit: one a row, as Arrow's, from N_SKIPPED on.
(
    WHAT, N_ROWS, ROWS, FLAGS, OWN, RESULT, N_RESULT, STARTS, ENDS, LANES, TABLE, N_TABLE, FIRST, PARENTS, N_PARENTS,
    CODES, KINDS, NODES, PLACES, N_PLACES, VALID, N_SKIPPED, NAMES, N_NAMES, SORTS, N_SORTS,
) = range(26)  # fmt: skip
# Of all spans, whose ROWS are their parents; parts come in order, of WITHIN the last first.
NEAREST, OUTERMOST, COUNT, WITHIN = range(4)
# Of the spans at ROWS, by PARENTS: three words, the outermost span flagged 1, and how many are flagged 1 and 2.
ABOVE = 4
# What is charged to ROWS of the result: OWN as it is, or the time of calls that is not within other calls.
CHARGE, CALLS = 5, 6
# Of ops by the ops around them: a node for each chain of names (CODES) from the outermost op to an op, so that of
# millions of spans a few hundred nodes are left, and a word a span. PLACES has the node of the innermost op at or above
# each span in 32 bits, times four, with IS_OP where it is the span itself, and OWNED where the span's own time is that
# op's: with no more than Python calls between. Nodes have N_WORDS words each; the first stands for no op.
# PLACED reads parents (ROWS) from row FIRST on, which LANES holds too, and finds nodes. CODES and KINDS are of 32 bits,
# places in NAMES, which holds codes, and in SORTS, which holds flags: both of an op, OWNED of a Python call. TABLE has
# how many nodes there are; then by hash nodes, 0 for none.
# LAUNCHED adds OWN of the work launched at ROWS to nodes, TIMES their own time (OWN less STARTS, of the calls within).
# ORDERED puts OWN of ops in RESULT by code, where TABLE says that the next one goes.
# TOTALS: of each code three words, what its nodes launched, their own time, and what they and nodes below launched.
PLACED, LAUNCHED, TIMES, ORDERED, TOTALS = 7, 8, 9, 10, 11
IS_OP, OWNED = 1, 2
CODE, UP, N_OPS, OWN_NS, DEVICE_NS, N_WORDS = range(6)
N_NODES, HEAD = 0, 1
# CALLS: how many lanes there are, the last call's start and end; then of each lane process, thread, how far it reached.
N_LANES, LAST_START, LAST_END = range(3)
# Of device work in order of group (ROWS) and start, its sort in FLAGS, OWN the return of its call: six words a group.
LENGTHS = 12
NONE = -(1 << 62)


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
    if what == CHARGE:
        return charge(state)
    if what == CALLS:
        return charge_calls(state)
    if what == PLACED:
        return placed(state)
    if what < TOTALS:
        return charge_nodes(state)
    if what == TOTALS:
        return totals(state)
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
    """CHARGE."""
    rows, own, result = load64(state + 8 * ROWS), load64(state + 8 * OWN), load64(state + 8 * RESULT)
    n_result = load64(state + 8 * N_RESULT)
    for row in range(load64(state + 8 * N_ROWS)):
        to = load64(rows + 8 * row)
        if to >= n_result or (to < 0 and to != NONE):
            return 1
        if to >= 0:
            store64(result + 8 * to, load64(result + 8 * to) + load64(own + 8 * row))
    return 0


@inline
def charge_calls(state):
    """CALLS; what is charged to no row of the result is left out."""
    rows, result, n_result = load64(state + 8 * ROWS), load64(state + 8 * RESULT), load64(state + 8 * N_RESULT)
    starts, own = load64(state + 8 * STARTS), load64(state + 8 * OWN)
    processes, threads = load64(state + 8 * CODES), load64(state + 8 * LANES)
    valid, n_skipped = load64(state + 8 * VALID), load64(state + 8 * N_SKIPPED)
    table, room = load64(state + 8 * TABLE), load64(state + 8 * N_TABLE)
    n_lanes = load64(table + 8 * N_LANES)
    last_start = load64(table + 8 * LAST_START)
    last_end = load64(table + 8 * LAST_END)
    place = 0
    for row in range(load64(state + 8 * N_ROWS)):
        start = load64(starts + 8 * row)
        end = start + load64(own + 8 * row)
        if start < last_start or (start == last_start and end > last_end):
            return 1
        last_start = start
        last_end = end
        process, thread = load64(processes + 8 * row), load64(threads + 8 * row)
        slot = table + 24 + 24 * place
        if place >= n_lanes or load64(slot) != process or load64(slot + 8) != thread:
            place = 0
            slot = table + 24
            while place < n_lanes and (load64(slot) != process or load64(slot + 8) != thread):
                place += 1
                slot += 24
            if place == n_lanes:
                if n_lanes == room:
                    return 1
                n_lanes += 1
                store64(slot, process)
                store64(slot + 8, thread)
                store64(slot + 16, start)
        reached = load64(slot + 16)
        store64(slot + 16, max(end, reached))
        to = row_at(rows, valid, n_skipped, row)
        if 0 <= to < n_result:
            store64(result + 8 * to, load64(result + 8 * to) + max(0, end - max(start, reached)))
    store64(table + 8 * N_LANES, n_lanes)
    store64(table + 8 * LAST_START, last_start)
    store64(table + 8 * LAST_END, last_end)
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
def row_at(rows, valid, n_skipped, place):
    """What ROWS has at a place, NONE where VALID has no bit."""
    if valid != 0:
        bit = n_skipped + place
        if (load8(valid + (bit >> 3)) >> (bit & 7)) & 1 == 0:
            return NONE
    return load64(rows + 8 * place)


@inline
def placed(state):
    """PLACED."""
    rows, ids, first = load64(state + 8 * ROWS), load64(state + 8 * LANES), load64(state + 8 * FIRST)
    valid, n_skipped = load64(state + 8 * VALID), load64(state + 8 * N_SKIPPED)
    codes, names, n_names = load64(state + 8 * CODES), load64(state + 8 * NAMES), load64(state + 8 * N_NAMES)
    kinds, sorts, n_sorts = load64(state + 8 * KINDS), load64(state + 8 * SORTS), load64(state + 8 * N_SORTS)
    places, nodes, table = load64(state + 8 * PLACES), load64(state + 8 * NODES), load64(state + 8 * TABLE)
    n_nodes = load64(table + 8 * N_NODES)
    n_rows = load64(state + 8 * N_ROWS)
    if first + n_rows > load64(state + 8 * N_PLACES):
        return 1
    for place in range(n_rows):
        row = first + place
        parent = row_at(rows, valid, n_skipped, place)
        name, kind = load32(codes + 4 * place), load32(kinds + 4 * place)
        if load64(ids + 8 * place) != row or parent >= row or (parent < 0 and parent != NONE):
            return 1
        if name >= n_names or kind >= n_sorts:
            return 1
        found = 0
        if parent >= 0:
            found = load32(places + 4 * parent)
        sort = load64(sorts + 8 * kind)
        if sort & IS_OP != 0:
            up = found >> 2
            code = load64(names + 8 * name)
            # Nodes fill at most half the table, so that a free slot is soon found.
            mask = load64(state + 8 * N_TABLE) - 1
            mixed = plus(times(up, 0x9E3779B1), times(code, 0x85EBCA6B))
            slot = (mixed ^ (mixed >> 15)) & mask
            node = load64(table + 8 * (HEAD + slot))
            at = nodes + 8 * N_WORDS * node
            while node != 0 and (load64(at + 8 * CODE) != code or load64(at + 8 * UP) != up):
                slot = (slot + 1) & mask
                node = load64(table + 8 * (HEAD + slot))
                at = nodes + 8 * N_WORDS * node
            if node == 0:
                if 2 * n_nodes > mask:
                    return 1
                node = n_nodes
                n_nodes += 1
                store64(table + 8 * (HEAD + slot), node)
                at = nodes + 8 * N_WORDS * node
                store64(at + 8 * CODE, code)
                store64(at + 8 * UP, up)
            store64(at + 8 * N_OPS, load64(at + 8 * N_OPS) + 1)
            found = node << 2 | sort
        else:
            found &= sort - 1 - IS_OP - OWNED
        store32(places + 4 * row, found)
    store64(table + 8 * N_NODES, n_nodes)
    return 0


@inline
def charge_nodes(state):
    """LAUNCHED, TIMES and ORDERED."""
    what, first, n_rows = load64(state + 8 * WHAT), load64(state + 8 * FIRST), load64(state + 8 * N_ROWS)
    rows, own, nodes = load64(state + 8 * ROWS), load64(state + 8 * OWN), load64(state + 8 * NODES)
    places, n_places = load64(state + 8 * PLACES), load64(state + 8 * N_PLACES)
    calls = load64(state + 8 * STARTS)
    table, result, n_result = load64(state + 8 * TABLE), load64(state + 8 * RESULT), load64(state + 8 * N_RESULT)
    if what == LAUNCHED:
        valid, n_skipped = load64(state + 8 * VALID), load64(state + 8 * N_SKIPPED)
        for row in range(n_rows):
            to = row_at(rows, valid, n_skipped, row)
            if 0 <= to < n_places:
                slot = nodes + 8 * (N_WORDS * (load32(places + 4 * to) >> 2) + DEVICE_NS)
                store64(slot, load64(slot) + load64(own + 8 * row))
        return 0
    if first + n_rows > n_places:
        return 1
    for row in range(n_rows):
        found = load32(places + 4 * (first + row))
        at = nodes + 8 * N_WORDS * (found >> 2)
        if what == TIMES and found & OWNED != 0:
            time = max(0, load64(own + 8 * row) - load64(calls + 8 * (first + row)))
            store64(at + 8 * OWN_NS, load64(at + 8 * OWN_NS) + time)
        elif what == ORDERED and found & IS_OP != 0:
            slot = table + 8 * load64(at + 8 * CODE)
            to = load64(slot)
            if to >= n_result:
                return 1
            store64(result + 8 * to, load64(own + 8 * row))
            store64(slot, to + 1)
    return 0


@inline
def totals(state):
    """TOTALS. TABLE has a word a code, the last node that it was found above, from -1 on."""
    nodes, table, result = load64(state + 8 * NODES), load64(state + 8 * TABLE), load64(state + 8 * RESULT)
    for node in range(1, load64(state + 8 * N_ROWS)):
        at = nodes + 8 * N_WORDS * node
        device = load64(at + 8 * DEVICE_NS)
        slot = result + 24 * load64(at + 8 * CODE)
        store64(slot, load64(slot) + device)
        store64(slot + 8, load64(slot + 8) + load64(at + 8 * OWN_NS))
        up = node
        while up > 0 and device != 0:
            at = nodes + 8 * N_WORDS * up
            code = load64(at + 8 * CODE)
            if load64(table + 8 * code) != node:
                store64(table + 8 * code, node)
                slot = result + 24 * code + 16
                store64(slot, load64(slot) + device)
            up = load64(at + 8 * UP)
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
