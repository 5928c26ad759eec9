"""Nesting: the span that encloses each span and each API call."""

from dataclasses import replace

import polars as pl

from tracelens.derive.events.nesting_fast import nest_fast
from tracelens.derive.events.nesting_walk import Nesting, nest_in_python
from tracelens.derive.events.placing import place_calls

_MANY_SPANS = 1 << 10
"""Below this number of spans the Python loop is faster than preparing columns for C."""
_MANY_CALLS = 10_000
"""From this number of calls on, if they outnumber the spans, they are placed by whole columns instead of one by one."""


def nest(spans: pl.DataFrame, calls: pl.DataFrame) -> Nesting:
    """Nest spans (process_id, thread_id, start_ns, duration_ns, parent_hint) and place calls in them.

    Within a thread, spans nest by containment: sorted by start, longest first, each is the child of the innermost span
    still open that it ends in, within TOLERANCE_NS. `parent_hint` is the row of the caller that the profiler itself
    recorded, or null: an open span between that caller and this one is over, whatever its recorded end. A zero-length
    span encloses nothing. `self_ns` is the duration less the union of the children's time within it; for a span that
    was over before its recorded end, the time until then. A call goes to the innermost open span that contains it.
    """
    if calls.height > max(spans.height, _MANY_CALLS):
        spans = spans.with_columns(pl.selectors.integer().cast(pl.Int64))
        nesting = nest(spans, calls.clear())
        return replace(nesting, call_span=place_calls(spans, nesting.parent, calls))
    found = nest_fast(spans, calls) if spans.height >= _MANY_SPANS else None
    return nest_in_python(spans, calls) if found is None else found
