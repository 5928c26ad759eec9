"""Kernels over JSON text at raw addresses: white space, strings, numbers, whole values, and a table of strings.

Every text ends in PAD bytes of 0xFF, which are no white space, no token and no end of a string: a scan that meets them
stops, and a load of up to 32 bytes at any place of the text stays inside. All arithmetic is on signed 64-bit integers
(numba makes a float of int64 with uint64). What is accepted is what msgspec accepts: JSON without leniency.
"""

from __future__ import annotations

from tracelens.collectors.torch.fast.layout import (
    ARENA,
    ARENA_ROOM,
    COUNT,
    HASHES,
    LENGTHS,
    MASK,
    OFFSETS,
    ROOM,
    SEED,
    SLOTS,
    STALE,
    USED,
    WANTED,
)
from tracelens.fast.machine import (
    call,
    high32,
    inline,
    load8,
    load64,
    plus,
    special32,
    store64,
    times,
    trailing_zeros,
    wrap,
)

ESCAPED, NOT_ASCII, UNICODE_ESCAPE = 1, 2, 4
_DEEPEST = 60
_MULTIPLIER = 0x7F51AFD7ED558CCD


@inline
def space(i):
    """The first place from i on that is no white space."""
    c = load8(i)
    while c == 32 or c == 10 or c == 13 or c == 9:
        i += 1
        c = load8(i)
    return i


@inline
def hex4(i):
    """The number that four hexadecimal digits write; -1 where one is none."""
    value = 0
    for k in range(4):
        c = load8(i + k)
        if 48 <= c <= 57:
            value = value * 16 + c - 48
        elif 65 <= c <= 70 or 97 <= c <= 102:
            value = value * 16 + (c & 7) + 9
        else:
            return -1
    return value


@call
def string_end(i, n):
    """From the first byte of a string's content: 8 times the address of its closing quote, plus flags; or -1."""
    flags = 0
    while i < n:
        found = special32(i)
        high = high32(i)
        if found == 0:
            if high != 0:
                flags |= NOT_ASCII
            i += 32
            continue
        at = trailing_zeros(found)
        if (high & ((1 << at) - 1)) != 0:
            flags |= NOT_ASCII
        i += at
        c = load8(i)
        if c == 34:
            return i * 8 + flags
        if c != 92:
            return -1
        c = load8(i + 1)
        flags |= ESCAPED
        if c == 117:
            flags |= UNICODE_ESCAPE
            code = hex4(i + 2)
            if code < 0 or 0xDC00 <= code < 0xE000:
                return -1
            i += 6
            if 0xD800 <= code < 0xDC00:
                if load8(i) != 92 or load8(i + 1) != 117:
                    return -1
                code = hex4(i + 2)
                if code < 0xDC00 or code >= 0xE000:
                    return -1
                i += 6
        elif c == 34 or c == 92 or c == 47 or c == 98 or c == 102 or c == 110 or c == 114 or c == 116:
            i += 2
        else:
            return -1
    return -1


@call
def is_utf8(i, end):
    """Whether the bytes are what Python's strict decoder takes; nothing at or after `end` decides."""
    while i < end:
        c = load8(i)
        if c < 0x80:
            i += 1
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= c <= 0xDF:
            more = 1
        elif 0xE0 <= c <= 0xEF:
            more = 2
            if c == 0xE0:
                low = 0xA0
            elif c == 0xED:
                high = 0x9F
        elif 0xF0 <= c <= 0xF4:
            more = 3
            if c == 0xF0:
                low = 0x90
            elif c == 0xF4:
                high = 0x8F
        else:
            return False
        if i + more >= end:
            return False
        for k in range(1, more + 1):
            c = load8(i + k)
            if c < low or c > high:
                return False
            low, high = 0x80, 0xBF
        i += more + 1
    return True


@inline
def digits(i, powers):
    """Decimal digits at i → (value, end), eight a step. Past 18 digits the value is wrong: callers look at the end."""
    value = 0
    while True:
        word = load64(i) ^ 0x3030303030303030
        others = (plus(word, 0x7676767676767676) | word) & -0x7F7F7F7F7F7F7F80
        k = 8
        if others != 0:
            k = trailing_zeros(others) >> 3
            if k == 0:
                return value, i
            word = wrap(word << (64 - 8 * k))
        word = plus(times(word, 10), (word >> 8) & 0x00FFFFFFFFFFFFFF)
        even = times(word & 0x000000FF000000FF, 0x000F424000000064)
        odd = times((word >> 16) & 0x000000FF000000FF, 0x0000271000000001)
        value = plus(times(value, load64(powers + 8 * k)), (plus(even, odd) >> 32) & 0xFFFFFFFF)
        i += k
        if k < 8:
            return value, i


@call
def number_end(i):
    """After a JSON number that starts at i, or -1."""
    if load8(i) == 45:
        i += 1
    c = load8(i)
    if c == 48:
        i += 1
        c = load8(i)
        if 48 <= c <= 57:
            return -1
    elif 49 <= c <= 57:
        while 48 <= c <= 57:
            i += 1
            c = load8(i)
    else:
        return -1
    if c == 46:
        i += 1
        c = load8(i)
        if c < 48 or c > 57:
            return -1
        while 48 <= c <= 57:
            i += 1
            c = load8(i)
    if c == 101 or c == 69:
        i += 1
        c = load8(i)
        if c == 43 or c == 45:
            i += 1
            c = load8(i)
        if c < 48 or c > 57:
            return -1
        while 48 <= c <= 57:
            i += 1
            c = load8(i)
    return i


@inline
def word_end(i):
    """After true, false or null at i, or -1."""
    word = load64(i)
    if (word & 0xFFFFFFFF) == 0x65757274 or (word & 0xFFFFFFFF) == 0x6C6C756E:
        return i + 4
    if (word & 0xFFFFFFFFFF) == 0x65736C6166:
        return i + 5
    return -1


@call
def value_end(i, n):
    """After the JSON value that starts at i; -1 where there is none, or one nested deeper than 60."""
    depth = 0
    objects = 0  # bit 0: the innermost container is an object; bit 1: the one around it; and so on
    while True:
        c = load8(i)
        if c == 91 or c == 123:
            depth += 1
            if depth > _DEEPEST:
                return -1
            objects = objects * 2 + (c == 123)
            i = space(i + 1)
            if load8(i) != c + 2:
                if c == 91:
                    continue
            else:
                depth -= 1
                objects >>= 1
                i += 1
                c = 0
        elif c == 34:
            i = string_end(i + 1, n) >> 3
            if i < 0:
                return -1
            i += 1
        elif c == 45 or 48 <= c <= 57:
            i = number_end(i)
            if i < 0:
                return -1
        else:
            i = word_end(i)
            if i < 0:
                return -1
        # Now either a value is over, or an object is open and its first key comes.
        while c != 123:
            if depth == 0:
                return i
            i = space(i)
            c = load8(i)
            if c == 44:
                i = space(i + 1)
                break
            if c != 93 + 32 * (objects & 1):
                return -1
            depth -= 1
            objects >>= 1
            i += 1
        if objects & 1:
            if load8(i) != 34:
                return -1
            i = string_end(i + 1, n) >> 3
            if i < 0:
                return -1
            i = space(i + 1)
            if load8(i) != 58:
                return -1
            i = space(i + 1)


@inline
def same(i, j, length):
    """Whether two texts of one length are the same."""
    while length > 8:
        if load64(i) != load64(j):
            return False
        i += 8
        j += 8
        length -= 8
    return length <= 0 or wrap((load64(i) ^ load64(j)) << (64 - 8 * length)) == 0


@inline
def hashed(i, length, seed):
    """A hash of the text."""
    h = seed ^ length
    while length > 8:
        h = times(h ^ load64(i), _MULTIPLIER)
        h ^= (h >> 32) & 0xFFFFFFFF
        i += 8
        length -= 8
    if length > 0:
        h ^= wrap(load64(i) << (64 - 8 * length))
    h = times(h, _MULTIPLIER)
    return h ^ ((h >> 29) & 0x7FFFFFFFF)


@call
def rebuild(table):
    """Fill the slots of a table anew, after it has grown."""
    slots, mask = load64(table + 8 * SLOTS), load64(table + 8 * MASK)
    for j in range(mask + 1):
        store64(slots + 8 * j, -1)
    for k in range(load64(table + 8 * COUNT)):
        j = load64(load64(table + 8 * HASHES) + 8 * k) & mask
        while load64(slots + 8 * j) >= 0:
            j = (j + 1) & mask
        store64(slots + 8 * j, k)
    store64(table + 8 * STALE, 0)


@call
def intern(i, length, table):
    """The number of the text in the table, where it is put if it is new; -1 when the table has to grow first."""
    slots, mask = load64(table + 8 * SLOTS), load64(table + 8 * MASK)
    arena = load64(table + 8 * ARENA)
    h = hashed(i, length, load64(table + 8 * SEED))
    j = h & mask
    while True:
        k = load64(slots + 8 * j)
        if k < 0:
            break
        if (
            load64(load64(table + 8 * HASHES) + 8 * k) == h
            and load64(load64(table + 8 * LENGTHS) + 8 * k) == length
            and same(arena + load64(load64(table + 8 * OFFSETS) + 8 * k), i, length)
        ):
            return k
        j = (j + 1) & mask
    k = load64(table + 8 * COUNT)
    used = load64(table + 8 * USED)
    if k >= load64(table + 8 * ROOM) or used + length > load64(table + 8 * ARENA_ROOM):
        store64(table + 8 * WANTED, length)
        return -1
    store64(slots + 8 * j, k)
    store64(load64(table + 8 * HASHES) + 8 * k, h)
    store64(load64(table + 8 * OFFSETS) + 8 * k, used)
    store64(load64(table + 8 * LENGTHS) + 8 * k, length)
    for at in range(0, length, 8):  # up to 7 bytes more than the text: arenas are that much longer
        store64(arena + used + at, load64(i + at))
    store64(table + 8 * COUNT, k + 1)
    store64(table + 8 * USED, used + length)
    return k
