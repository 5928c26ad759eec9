"""Convert moments in results to times since the trace's first event."""

import polars as pl

from tracelens.trace import Trace

MOMENTS = ("start_ns", "time_ns", "example_ns")
"""Columns of results that hold a moment in nanoseconds."""
_EVENTS = ("spans", "api_calls", "kernels", "memcpys", "memsets")


def first_moment(trace: Trace) -> int:
    """Return the start of the first event of all ranks in ns, 0 without events."""
    return trace.derived(_first_moment)


def _first_moment(trace: Trace) -> int:
    moments = [trace.select(name, "start_ns")["start_ns"].min() for name in _EVENTS]
    return min(
        (int(moment) for moment in moments if isinstance(moment, int)),
        default=0,
    )


def since_start(trace: Trace, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with its moments relative to the trace's first event."""
    moments = [name for name in MOMENTS if name in frame.columns]
    if not moments or frame.is_empty():
        return frame
    return frame.with_columns(pl.col(moments) - first_moment(trace))
