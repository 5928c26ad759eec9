"""The kernel that reads events: the bytes of a block into columns, one pass, without the interpreter's lock.

An event is taken only if the slow path would read it in the same way: strict JSON, no key twice, every value of the
kind its key is known for. Anything else that is JSON is handed back as a range of bytes, for the slow path to judge;
where it is no JSON, the kernel stops.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from tracelens.collectors.torch.fast.fields import (
    ALLOCATIONS,
    ARGS,
    COUNTERS,
    JSON,
    NAME,
    NUMERAL,
    REAL,
    SHAPE,
    SKIPPED,
    TEXT,
    TIME,
    TRACK,
    TRIPLE,
    UNLESS_ZERO,
    UNPLACED,
    WORD,
)
from tracelens.collectors.torch.fast.layout import (
    AT,
    CATEGORY_LEVEL,
    COLUMNS,
    DAMAGED,
    END_OF_TEXT,
    FIELDS,
    FULL,
    GROW,
    HAS_FRACTION,
    KEY_MULTIPLIER,
    KEY_SLOTS,
    KEY_TEXT,
    KEYS,
    LEVEL_SHIFT,
    LIST_CLOSED,
    LONG,
    MAX_TABLES,
    N_EVENTS,
    N_KEY_SLOTS,
    N_REFUSED,
    NULL,
    POWERS,
    REFUSED,
    REFUSED_ROOM,
    ROW_ROOM,
    STALE,
    STRINGS,
    TABLE_WORDS,
    TABLES,
    TEXT_OVER,
    TRACK_BASE,
)
from tracelens.collectors.torch.fast.scanning import (
    ESCAPED,
    NOT_ASCII,
    UNICODE_ESCAPE,
    digits,
    intern,
    is_utf8,
    rebuild,
    same,
    space,
    string_end,
    value_end,
    word_end,
)
from tracelens.fast.machine import (
    entry,
    float_bits,
    inline,
    load8,
    load64,
    special32,
    store64,
    times,
    trailing_zeros,
)

_TIME_LIMIT_US = 2305843009213693
_EXACT_FLOAT = 1 << 53
_MEMORY = int.from_bytes(b"[memory]", "little")


@inline
def find_key(state, i, length, level):
    """The number of a key (or, at level 2, of a category) in the key table; -1 when it is none of them."""
    word = load64(i)
    if length < 8:
        word &= (1 << (8 * length)) - 1
    tagged = length + LEVEL_SHIFT * level
    j = (times(word ^ tagged, KEY_MULTIPLIER) >> 55) & (N_KEY_SLOTS - 1)
    while True:
        k = load64(load64(state + 8 * KEY_SLOTS) + 8 * j)
        if k < 0:
            return k
        key = load64(state + 8 * KEYS) + 32 * k
        if load64(key) == tagged and same(load64(state + 8 * KEY_TEXT) + load64(key + 8), i, length):
            return k
        j = (j + 1) & (N_KEY_SLOTS - 1)


@inline
def table_of(state, has):
    """The table an event belongs to by phase, category and name; -1 for none."""
    fields = load64(state + 8 * FIELDS)
    if (has & 1) == 0 or load64(fields + 8) != 2:
        return UNPLACED
    phase = load8(load64(fields))
    if phase == 88:  # X
        if (has & 2) == 0:
            return UNPLACED
        k = find_key(state, load64(fields + 16), load64(fields + 24) - 1, CATEGORY_LEVEL)
        return load64(load64(state + 8 * KEYS) + 32 * k + 16) if k >= 0 else UNPLACED
    if phase == 105:  # i
        is_memory = (has & 4) != 0 and load64(fields + 40) == 9 and load64(load64(fields + 32)) == _MEMORY
        return ALLOCATIONS if is_memory else UNPLACED
    if phase == 67:  # C
        return COUNTERS
    return -1 if phase == 77 or phase == 115 or phase == 116 or phase == 102 else UNPLACED  # M s t f


@inline
def place(state, table, has):
    """Append the event to its table; False when a string table has to grow first, and the event is to be read again."""
    fields = load64(state + 8 * FIELDS)
    strings = load64(state + 8 * STRINGS)
    row = load64(table + 24)
    for c in range(load64(table), load64(table + 8)):
        column = load64(state + 8 * COLUMNS) + 32 * c
        how, a, b = load64(column), load64(column + 8), load64(column + 16)
        present = (has >> a) & 1
        value = NULL
        if how == UNLESS_ZERO:
            if (has >> b) & 1 and load64(fields + 16 * b) == 0:
                present = 0
            b = -1
        if b >= 0 and (present == 0 or ((how == WORD or how == NAME) and load64(fields + 16 * a + 8) == 1)):
            a = b
            present = (has >> a) & 1
        if present:
            value = load64(fields + 16 * a)
            length = load64(fields + 16 * a + 8) - 1
            if length >= 0:
                kind = how == SHAPE
                number = intern(value, length, strings + 8 * TABLE_WORDS * kind)
                if number < 0:
                    return False
                value = number
                if how != WORD and how != NAME and how != SHAPE:
                    value += TRACK_BASE
        elif how == NAME:
            value = intern(fields, 0, strings)
            if value < 0:
                return False
        store64(load64(column + 24) + 8 * row, value)
    store64(table + 24, row + 1)
    return True


@inline
def refuse(state, begin, end):
    """Note the bytes of an event for the slow path, and how many rows each table has before it."""
    n = load64(state + 8 * N_REFUSED)
    note = load64(state + 8 * REFUSED) + 8 * (2 + MAX_TABLES) * n
    store64(note, begin)
    store64(note + 8, end)
    for t in range(MAX_TABLES):
        store64(note + 16 + 8 * t, load64(load64(state + 8 * TABLES) + 48 * t + 24))
    store64(state + 8 * N_REFUSED, n + 1)


def _digest():
    """Of the kernels' sources: numba itself would not notice that a function another file brings has changed."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return int.from_bytes(hashlib.sha256(b"".join(file.read_bytes() for file in sources)).digest()[:7], "little")


def _make(sources):
    @entry
    def parse(state):
        """Read events from AT on. Returns why it stopped, and leaves AT there: at the bracket, or an event's start."""
        _ = sources  # numba's cache tells functions apart by what they close over
        n = load64(state + 8 * END_OF_TEXT)
        keys = load64(state + 8 * KEYS)
        powers = load64(state + 8 * POWERS)
        fields = load64(state + 8 * FIELDS)
        i = space(load64(state + 8 * AT))
        events = 0
        why = TEXT_OVER
        for t in range(2):
            table = load64(state + 8 * STRINGS) + 8 * TABLE_WORDS * t
            if load64(table + 8 * STALE):
                rebuild(table)
        while i < n:
            begin = i
            limit = min(n, i + LONG)
            c = load8(i)
            if c == 93:
                why = LIST_CLOSED
                break
            if load64(state + 8 * N_REFUSED) >= load64(state + 8 * REFUSED_ROOM):
                why = FULL
                break
            if c != 123:
                why = DAMAGED
                break
            i = space(i + 1)
            level = 0
            seen = 0  # keys met
            has = 0  # fields with a value
            odd = 0  # fields whose value is not of the key's kind, which matters only if the event's table takes it
            fractions = False
            taken = False
            while load8(i) == 34:
                # A key.
                i += 1
                found = special32(i)
                key = -1
                if found != 0:
                    end = i + trailing_zeros(found)
                    if load8(end) != 34:
                        break
                    key = find_key(state, i, end - i, level)
                else:
                    end = string_end(i, limit)
                    if end < 0 or end & ESCAPED:
                        break
                    end >>= 3
                i = space(end + 1)
                if load8(i) != 58:
                    break
                i = space(i + 1)
                # Its value.
                c = load8(i)
                kind = SKIPPED
                at = 0
                if key >= 0:
                    kind = load64(keys + 32 * key + 16)
                    at = load64(keys + 32 * key + 24)
                    if (seen >> at) & 1:
                        break
                    seen |= 1 << at
                if kind == SKIPPED:
                    if c == 34:
                        i = (string_end(i + 1, limit) >> 3) + 1
                        if i <= 0:
                            break
                    else:
                        i = value_end(i, limit)
                        if i < 0:
                            break
                elif kind == ARGS:
                    if c == 123:
                        i = space(i + 1)
                        if load8(i) == 34:
                            level = 1
                            continue
                        if load8(i) != 125:
                            break
                        i += 1
                    else:
                        i = word_end(i)
                        if i < 0 or c != 110:
                            break
                elif c == 110 or c == 116 or c == 102:
                    begin_word = i
                    i = word_end(i)
                    if i < 0:
                        break
                    if kind == JSON:
                        has |= 1 << at
                        store64(fields + 16 * at, begin_word)
                        store64(fields + 16 * at + 8, i - begin_word + 1)
                    elif kind == TIME:
                        break
                    elif c != 110:
                        odd |= 1 << at
                elif kind == JSON:
                    end = value_end(i, limit)
                    if end < 0:
                        break
                    has |= 1 << at
                    store64(fields + 16 * at, i)
                    store64(fields + 16 * at + 8, end - i + 1)
                    i = end
                elif c == 34:
                    i += 1
                    end = string_end(i, limit)
                    if end < 0:
                        break
                    flags = end & 7
                    end >>= 3
                    if flags & NOT_ASCII and not is_utf8(i, end):
                        break
                    if kind == TEXT:
                        if flags & UNICODE_ESCAPE or (flags & ESCAPED and at < 2):
                            odd |= 1 << at
                        has |= 1 << at
                        store64(fields + 16 * at, i)
                        store64(fields + 16 * at + 8, end - i + 1)
                    elif kind == TRACK or kind == NUMERAL:
                        minus = load8(i) == 45
                        value, after = digits(i + minus, powers)
                        if after == end and after > i + minus and after - i - minus <= 18:
                            has |= 1 << at
                            store64(fields + 16 * at, -value if minus else value)
                            store64(fields + 16 * at + 8, 0)
                        elif kind == TRACK and (flags & UNICODE_ESCAPE) == 0:
                            has |= 1 << at
                            store64(fields + 16 * at, i)
                            store64(fields + 16 * at + 8, end - i + 1)
                        else:
                            odd |= 1 << at
                    elif kind == TIME:
                        break
                    else:
                        odd |= 1 << at
                    i = end + 1
                elif kind == TRIPLE:
                    if c != 91:
                        break
                    good = 0
                    for axis in range(3):
                        i = space(i + 1)
                        value, end = digits(i, powers)
                        if end == i or end - i > 10 or value >= 1 << 31 or (load8(i) == 48 and end > i + 1):
                            break
                        store64(fields + 16 * (at + axis), value)
                        store64(fields + 16 * (at + axis) + 8, 0)
                        i = space(end)
                        if load8(i) != (93 if axis == 2 else 44):
                            break
                        good += 1
                    if good < 3:
                        break
                    has |= 7 << at
                    i += 1
                else:
                    minus = c == 45
                    if minus:
                        i += 1
                    value, end = digits(i, powers)
                    n_digits = end - i
                    if n_digits == 0 or n_digits > 18 or (load8(i) == 48 and n_digits > 1):
                        break
                    c = load8(end)
                    if kind == TIME:
                        if value >= _TIME_LIMIT_US or (minus and at == 6):
                            break
                        value *= 1000
                        if c == 46:
                            fractions |= at == 5
                            fraction, i = digits(end + 1, powers)
                            n_digits = i - end - 1
                            if n_digits == 0 or n_digits > 18:
                                break
                            if n_digits <= 3:
                                value += fraction * load64(powers + 8 * (3 - n_digits))
                            else:  # half to even
                                unit = load64(powers + 8 * (n_digits - 3))
                                whole = fraction // unit
                                rest = 2 * (fraction - whole * unit)
                                value += whole
                                if rest > unit or (rest == unit and (value & 1) == 1):
                                    value += 1
                            end = i
                            c = load8(end)
                    elif kind == REAL:
                        n_fraction = 0
                        if c == 46:
                            fraction, i = digits(end + 1, powers)
                            n_fraction = i - end - 1
                            if n_fraction == 0 or n_digits + n_fraction > 18:
                                break
                            value = value * load64(powers + 8 * n_fraction) + fraction
                            end = i
                            c = load8(end)
                        if value >= _EXACT_FLOAT:
                            break
                        # Both are exact as floats, so the quotient is the nearest float to what is written.
                        real = value / load64(powers + 8 * n_fraction)
                        value = float_bits(-real if minus and (value != 0 or n_fraction > 0) else real)
                        minus = False
                    elif kind == TEXT:
                        break
                    if c == 46 or c == 101 or c == 69:
                        break
                    has |= 1 << at
                    store64(fields + 16 * at, -value if minus else value)
                    store64(fields + 16 * at + 8, 0)
                    i = end
                # What follows it.
                i = space(i)
                c = load8(i)
                if c == 125 and level == 1:
                    level = 0
                    i = space(i + 1)
                    c = load8(i)
                if c == 125:
                    i += 1
                    taken = (odd & 3) == 0
                    break
                if c != 44:
                    break
                i = space(i + 1)
            if taken and i - begin > LONG:
                i = begin
                why = DAMAGED
                break
            if taken:
                t = table_of(state, has)
                if t >= 0:
                    table = load64(state + 8 * TABLES) + 48 * t
                    required = load64(table + 16)
                    if (has & required) != required or (odd & load64(table + 32)) != 0:
                        taken = False
                    elif load64(table + 24) >= load64(state + 8 * ROW_ROOM):
                        why = FULL
                    elif not place(state, table, has):
                        why = GROW
                    elif fractions and t != UNPLACED:
                        store64(state + 8 * HAS_FRACTION, 1)
            if why != TEXT_OVER:
                i = begin
                break
            if not taken:
                i = value_end(begin, limit)
                if i < 0 or i - begin > LONG:
                    i = begin
                    why = DAMAGED
                    break
                refuse(state, begin, i)
            events += 1
            i = space(i)
            if i < n:
                c = load8(i)
                if c == 44:
                    i = space(i + 1)
                elif c != 93 and c != 123:  # no comma between two events is no damage
                    why = DAMAGED
                    break
        store64(state + 8 * AT, i)
        store64(state + 8 * N_EVENTS, load64(state + 8 * N_EVENTS) + events)
        return why

    return parse


parse = _make(_digest())
