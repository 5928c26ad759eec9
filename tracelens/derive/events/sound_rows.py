"""Keep the rows of raw tables that can be assembled; some sources also hold broken rows."""

import polars as pl

from tracelens.schemas.raw import RAW_TABLES
from tracelens.trace.capture import Diagnostics

_LATEST_NS = 2**62


def sound_rows(raw: dict[str, pl.DataFrame], diagnostics: Diagnostics) -> dict[str, pl.DataFrame]:
    """Return the raw tables without rows that lack required values or end before they begin.

    Columns get their declared types; a value that does not fit is None. Rows that are left out are
    counted as a loss. Tables without rows are left out.
    """
    sound = {}
    for name, frame in raw.items():
        declared = {c.name: c for c in RAW_TABLES[name] if c.name in frame.columns}
        typed = frame.with_columns(
            pl.col(column.name).cast(column.dtype, strict=False) for column in declared.values()
        )
        needed = [pl.col(c.name).is_not_null() for c in declared.values() if not c.nullable]
        times = [
            pl.col(c).is_between(-_LATEST_NS, _LATEST_NS) for c in ("start_ns",) if c in declared
        ]
        lasts = [pl.col(c).is_between(0, _LATEST_NS) for c in ("duration_ns",) if c in declared]
        kept = typed.filter(*needed, *times, *lasts)
        text = "events that lack a required value, or that end before they begin; left out"
        diagnostics.add("loss", "event_damaged", text, frame.height - kept.height)
        if kept.height:
            sound[name] = kept
    return sound
