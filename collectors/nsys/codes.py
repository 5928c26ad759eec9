"""Codes that exports use. The ENUM_ tables that spell them out came with schema 3.0, so they stand here."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from tracelens.derive.columns.distinct import distinct_rows

PUSH_POP, START_END, MARK = (59, 70), (60, 71), (34,)
"""NVTX event types of a range or mark, with their twins from nvtxt files; all other types are bookkeeping."""

DOMAIN_CREATE = 75

API_CLASSES = {0: "runtime", 1: "driver"}

DIRECTIONS = {
    1: "h2d", 2: "d2h", 3: "h2d", 4: "d2h", 5: "d2d", 6: "d2d", 7: "d2d", 8: "d2d", 9: "h2h", 10: "p2p",
    11: "h2d", 12: "d2h", 13: "d2d",
}  # fmt: skip
"""copyKind; 3 to 7 go to or from an array."""

MIGRATIONS = (11, 12, 13)
"""copyKind of pages of managed memory that move; srcKind and dstKind say nothing of theirs."""

MEMORIES = {0: "pageable", 1: "pinned", 2: "device", 3: "array", 4: "managed", 5: "device", 6: "managed"}
"""srcKind, dstKind and memKind; 5 and 6 are device and managed variables."""

SYNCHRONIZATIONS = {1: "event", 2: "stream_wait", 3: "stream", 4: "context"}

SEVERITIES = {2: "warning", 3: "error"}
"""DIAGNOSTIC_EVENT; 1 is information and 4 verbose."""

NONE_U32 = 2**32 - 1
"""What CUPTI puts where a synchronization has no stream, device or event."""


def word(code: pl.Expr, words: dict[int, str]) -> pl.Expr:
    """The word for a code, `unknown` for one that is absent or not listed; Categorical."""
    named = code.replace_strict(list(words), as_words(words.values()), default=None, return_dtype=pl.Categorical)
    return named.fill_null("unknown")


def each_word(codes: pl.Series, words: dict[int, str]) -> pl.Series:
    """The word for each code, null for one that is absent or not listed; Categorical."""
    rows, places = distinct_rows(codes)
    distinct = codes.gather(rows)
    named = distinct.replace_strict(list(words), as_words(words.values()), default=None, return_dtype=pl.Categorical)
    return named.gather(places)


def as_words(words: Iterable[str]) -> pl.Series:
    """Words as Categorical, of which a million take four megabytes."""
    return pl.Series(list(words), dtype=pl.Categorical)


def constant(text: str) -> pl.Expr:
    """The word on every row, Categorical."""
    return pl.repeat(text, pl.len()).cast(pl.Categorical)
