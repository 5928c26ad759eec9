"""Nesting: the span that encloses each span and each API call."""

import polars as pl

from tracelens.derive.events.nesting_fast import nest_fast
from tracelens.derive.events.nesting_walk import Nesting, nest_in_python

_MANY = 1 << 10
"""Below this number of spans and calls the Python loop is faster than preparing columns for C."""


def nest(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Nest spans (process_id, thread_id, start_ns, duration_ns, parent_hint) and place calls in them.

    Within a thread, spans nest by containment: sorted by start, longest first, each is the child of the innermost span
    still open that it ends in, within TOLERANCE_NS. `parent_hint` is the row of the caller that the profiler itself
    recorded, or null: an open span between that caller and this one is over, whatever its recorded end. A zero-length
    span encloses nothing. `self_ns` is the duration less the union of the children's time within it; for a span that
    was over before its recorded end, the time until then. A call goes to the innermost open span that contains it.
    """
    found = nest_fast(spans, calls) if spans.height + calls.height >= _MANY else None
    return nest_in_python(spans, calls) if found is None else found
