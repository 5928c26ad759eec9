"""Leave out broken rows of raw tables, which some sources hold."""

import polars as pl

from tracelens.schemas.raw import RAW_TABLES
from tracelens.trace.capture import Diagnostics

_LATEST_NS = 2**62
_RANGES = {"start_ns": (-_LATEST_NS, _LATEST_NS), "duration_ns": (0, _LATEST_NS)}
"""Least and greatest possible values of columns."""


def sound_rows(raw: dict[str, pl.DataFrame], diagnostics: Diagnostics) -> dict[str, pl.DataFrame]:
    """Return the raw tables without rows that lack required values or end before they begin.

    Rows that are left out are counted as a loss. Columns get their declared types; a value that
    does not fit is None. Tables without rows are left out.
    """
    sound = {}
    text = "events that lack a required value, or that end before they begin; left out"
    for name, frame in raw.items():
        columns = [column for column in RAW_TABLES[name] if column.name in frame.columns]
        typed_columns = []
        rules = []
        for column in columns:
            values = pl.col(column.name)
            typed_columns.append(values.cast(column.dtype, strict=False))
            if not column.nullable:
                rules.append(values.is_not_null())
            if column.name in _RANGES:
                least, greatest = _RANGES[column.name]
                rules.append(values.is_between(least, greatest))
        typed = frame.with_columns(typed_columns)
        kept = typed.filter(*rules)
        n_left_out = frame.height - kept.height
        diagnostics.add("loss", "event_damaged", text, n_left_out)
        if kept.height:
            sound[name] = kept
    return sound
