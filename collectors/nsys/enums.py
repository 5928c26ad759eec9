"""Translate the codes in exports into words.

Before schema 3.0, exports had no ENUM_ tables with the words, so the words are listed here.
"""

import polars as pl

PUSH_POP, START_END, MARK = (59, 70), (60, 71), (34,)
"""NVTX event types of push/pop ranges, start/end ranges and marks.

The second number of a pair is for ranges that nsys imported from an nvtxt file. NVTX's other event
types are neither ranges nor marks.
"""

DOMAIN_CREATE = 75

API_CLASSES = {0: "runtime", 1: "driver"}

DIRECTIONS = {
    1: "h2d",
    2: "d2h",
    3: "h2d",
    4: "d2h",
    5: "d2d",
    6: "d2d",
    7: "d2d",
    8: "d2d",
    9: "h2h",
    10: "p2p",
    11: "h2d",
    12: "d2h",
    13: "d2d",
}
"""Directions of copies by copyKind. Kinds 3 to 7 copy to or from an array."""

MIGRATIONS = (11, 12, 13)
"""Kinds of copies (copyKind) that migrate pages of managed memory.

Their srcKind and dstKind are not set.
"""

MEMORIES = {
    0: "pageable",
    1: "pinned",
    2: "device",
    3: "array",
    4: "managed",
    5: "device",
    6: "managed",
}
"""Kinds of memory by srcKind, dstKind and memKind. 5 and 6 are device and managed variables."""

SYNCHRONIZATIONS = {1: "event", 2: "stream_wait", 3: "stream", 4: "context"}

SEVERITIES = {2: "warning", 3: "error"}
"""Severities of DIAGNOSTIC_EVENT that are reported. 1 is information and 4 is verbose."""

NONE_U32 = 2**32 - 1
"""CUPTI's value for a synchronization without a stream, device or event."""


def word(code: pl.Expr, words: dict[int, str], default: str | None = "unknown") -> pl.Expr:
    """Return the words for a column of codes, as Categorical.

    A code that is absent or not listed becomes `default`.
    """
    categories = pl.Series(list(words.values()), dtype=pl.Categorical)
    named = code.replace_strict(list(words), categories, default=None, return_dtype=pl.Categorical)
    return named if default is None else named.fill_null(default)


def constant(text: str) -> pl.Expr:
    """Return the text on every row, as Categorical."""
    return pl.repeat(text, pl.len()).cast(pl.Categorical)
