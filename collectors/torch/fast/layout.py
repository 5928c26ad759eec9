"""The numbers that the kernels and Python agree on: words of the structures between them, reasons, marks."""

from __future__ import annotations

PAD = 64
"""Bytes of 0xFF after every text. They are no token, and vector loads may reach into them."""

LONG = 1 << 20
"""Longer events are left to Python, so that one that never ends costs no more than this. As `damage` has it."""

NULL = 0x7FF8_5AFE_C0DE_0001
"""Null in a column: larger than any integer taken here, and among floats one NaN, which JSON cannot write."""

TRACK_BASE = 1 << 61
"""A track that is named by a string: this plus the string's number."""

NUMBER_BITS = 30
"""A string in a column: its number in its worker's table; above these bits, the number of the worker."""

# Words of the parser's state.
(
    AT, END_OF_TEXT, KEY_SLOTS, KEY_TEXT, KEYS, POWERS, FIELDS, TABLES, COLUMNS, STRINGS, REFUSED, REFUSED_ROOM,
    N_REFUSED, ROW_ROOM, N_EVENTS, HAS_FRACTION,
) = range(16)  # fmt: skip

# Why the parser stopped: the text is over, the list is closed, a buffer is full, the string tables must grow, no JSON.
TEXT_OVER, LIST_CLOSED, FULL, GROW, DAMAGED = range(5)

# Words of a string table.
SLOTS, MASK, HASHES, OFFSETS, LENGTHS, COUNT, ROOM, ARENA, USED, ARENA_ROOM, SEED, STALE, WANTED = range(13)
TABLE_WORDS = 16

# The key table: a key is found by its first eight bytes, its length and its level (2: categories).
LEVEL_SHIFT = 64
CATEGORY_LEVEL = 2
N_KEY_SLOTS = 256
KEY_MULTIPLIER = 0x1E3779B97F4A7C15
MAX_TABLES = 9
