"""The passes of `ancestry` as a kernel over raw addresses: one walk over the rows, parents before children."""

from __future__ import annotations

from tracelens.fast.machine import entry, load8, load64, store64

# Words of the state. Arrays are by row: PARENTS (NONE at the top), FLAGS (a byte a row), OWN and RESULT. Of REPEATS
# PARENTS are the nearest rows above that have a code, OWN the codes.
(WHAT, N_ROWS, PARENTS, FLAGS, OWN, RESULT) = range(6)
NEAREST, OUTERMOST, COUNT, WITHIN, REPEATS = range(5)
NONE = -(1 << 62)


@entry
def climb(state):
    """Fill RESULT; returns 0, or 1 where a parent does not stand before its child (RESULT is then worth nothing)."""
    what = load64(state + 8 * WHAT)
    n_rows = load64(state + 8 * N_ROWS)
    parents, flags = load64(state + 8 * PARENTS), load64(state + 8 * FLAGS)
    own, result = load64(state + 8 * OWN), load64(state + 8 * RESULT)
    for row in range(n_rows):
        parent = load64(parents + 8 * row)
        if parent >= row or (parent < 0 and parent != NONE):
            return 1
    if what == WITHIN:
        # RESULT holds the rows' own; each is complete when all rows after it have been added to their parents.
        for back in range(n_rows):
            row = n_rows - 1 - back
            parent = load64(parents + 8 * row)
            if parent >= 0:
                store64(result + 8 * parent, load64(result + 8 * parent) + load64(result + 8 * row))
        return 0
    for row in range(n_rows):
        parent = load64(parents + 8 * row)
        if what == REPEATS:
            found = 0
            if load8(flags + row) != 0:
                code = load64(own + 8 * row)
                while parent >= 0:
                    if load64(own + 8 * parent) == code:
                        found = 1
                        break
                    parent = load64(parents + 8 * parent)
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
