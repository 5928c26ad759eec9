"""Help to test idle time: its causes, and the code that caused it, in µs."""

import polars as pl
import pytest

from tracelens.analyses import idle_gaps, time_breakdown
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import IDLE_GAPS, TIME_BREAKDOWN
from tracelens.trace import Trace

US = 1000


def total(*stretches: tuple[float, float, str]) -> dict[str, float]:
    """Sum µs by cause; each item has a start and an end in µs, and a cause."""
    found: dict[str, float] = {}
    for start, end, cause in stretches:
        found[cause] = found.get(cause, 0) + end - start
    return found


def causes(trace: Trace, step: int | None = 0, device: int = 0) -> dict[str, float]:
    """Return a step's idle µs by cause, without zeros, and check that they sum to its idle time."""
    frame = TIME_BREAKDOWN.check(time_breakdown(trace))
    (row,) = frame.filter(
        pl.col("step").eq_missing(step) & (pl.col("device_id") == device)
    ).to_dicts()
    found = {cause: row[f"idle_{cause}_ns"] / US for cause in CAUSES if row[f"idle_{cause}_ns"]}
    assert sum(found.values()) == pytest.approx(row["idle_ns"] / US)
    assert row["window_ns"] == sum(
        row[f"{part}_ns"] for part in ("compute", "exposed_communication", "exposed_copy", "idle")
    )
    return found


def places(trace: Trace) -> list[tuple[str, str | None, float]]:
    """Return cause, place and µs of idle time, the largest first."""
    found = IDLE_GAPS.check(idle_gaps(trace))
    return found.select("cause", "what", pl.col("idle_ns") / US).rows()
