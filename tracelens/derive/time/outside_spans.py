"""Name host time outside of any span by the thread's events just before and just after it."""

import polars as pl

from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.time.call_path import UNINFORMATIVE, shortened
from tracelens.derive.time.thread_axis import ThreadAxis


def name_by_neighbours(spans: pl.DataFrame, axis: ThreadAxis, moments: pl.Series) -> pl.Series:
    """Describe each moment outside of any span by the spans just before and just after it."""
    neighbours = _neighbours(spans, axis, moments)
    before = pl.col("before")
    call_before = pl.col("call_before")
    call_after = pl.col("call_after")
    has_call_after = call_after.is_not_null()
    # A nearer API call, such as the launch of a graph replay, says more than a span that marks a
    # step. It is also used if there is no span.
    by_call_after = pl.col("is_mark_after") & pl.col("is_call_earlier") & has_call_after
    no_span_before = before.is_null() | by_call_after
    has_call_before = pl.col("is_call_later") & call_before.is_not_null()
    by_call_before = no_span_before & has_call_before
    event_before = pl.when(by_call_before).then(call_before).otherwise(before)
    event_after = pl.when(by_call_after).then(call_after).otherwise("after")
    is_outside = pl.col("is_outside")
    sides = neighbours.select(
        before=_named(event_before, is_outside, "begin", "one step"),
        after=_named(event_after, is_outside, "end", "the next"),
    )
    text = _text_between(pl.col("before"), pl.col("after"))
    return sides.select(what=text).to_series()


def _neighbours(spans: pl.DataFrame, axis: ThreadAxis, moments: pl.Series) -> pl.DataFrame:
    """Return, per moment, the names of the spans and calls just before and just after it.

    - `before`, `after`: names of spans
    - `call_before`, `call_after`: names of calls
    - `is_mark_after`: whether the span `after` marks a step
    - `is_call_later`: whether `call_before` starts later than `before`
    - `is_call_earlier`: whether `call_after` starts earlier than `after`
    - `is_outside`: whether the span `before` marks a step and has ended
    """
    previous, following = _nearest(axis.spans, axis, moments)
    calls = _bare_calls(axis.calls, spans)
    last_call, next_call = _nearest(calls, axis, moments)
    recorded = axis.recorded(moments)
    row = axis.spans["row"].cast(pl.Int64).gather(previous)
    row_before = _outermost_ended(spans, row, recorded)
    name_before = spans["name"].gather(row_before)
    name_after = axis.spans["name"].gather(following)
    is_mark_before = each_once(name_before, _is_uninformative).fill_null(value=False)
    is_mark_after = each_once(name_after, _is_uninformative).fill_null(value=True)
    has_mark_ended = (_ends(spans, row_before) <= recorded).fill_null(value=False)
    call_start = calls["start_ns"]
    span_start = axis.spans["start_ns"]
    is_call_later = call_start.gather(last_call) >= span_start.gather(previous)
    is_call_earlier = call_start.gather(next_call) < span_start.gather(following)
    api = calls["api"]
    return pl.DataFrame(
        {
            "before": name_before.cast(pl.String),
            "after": name_after.cast(pl.String),
            "call_before": api.gather(last_call).cast(pl.String),
            "call_after": api.gather(next_call).cast(pl.String),
            "is_mark_after": is_mark_after,
            "is_call_later": is_call_later.fill_null(value=True),
            "is_call_earlier": is_call_earlier.fill_null(value=True),
            "is_outside": is_mark_before & has_mark_ended,
        }
    )


def _outermost_ended(
    spans: pl.DataFrame,
    row: pl.Series,
    moments: pl.Series,
) -> pl.Series:
    """Return, per span, the row of the outermost ancestor that has ended at the span's moment.

    `row` and `moments` have the row and the moment of each span. The row of a span without such an
    ancestor is kept.
    """
    while row.count():
        parent = spans["parent_id"].gather(row).cast(pl.Int64)
        has_ended = (_ends(spans, parent) <= moments).fill_null(value=False)
        if not has_ended.any():
            break
        row = parent.zip_with(has_ended, row)
    return row


def _nearest(
    events: pl.DataFrame, axis: ThreadAxis, moments: pl.Series
) -> tuple[pl.Series, pl.Series]:
    """Return two rows of `events` per moment: the last event before, and the first event after it.

    Only events on the thread of the moment count. A row is None if there is no such event.
    """
    first_after = events["start_ns"].search_sorted(moments, "right").cast(pl.Int64)
    thread = axis.thread_of(moments)

    def of_thread(row: pl.Series) -> pl.Series:
        is_outside = (row < 0) | (row >= events.height)
        existing = row.set(is_outside, None)
        row_thread = axis.thread_of(events["start_ns"].gather(existing))
        is_of_thread = (row_thread == thread).fill_null(value=False)
        return existing.set(~is_of_thread, None)

    return of_thread(first_after - 1), of_thread(first_after)


def _ends(spans: pl.DataFrame, rows: pl.Series) -> pl.Series:
    """Return the ends of the spans in these rows."""
    starts = spans["start_ns"].gather(rows).cast(pl.Int64)
    return starts + spans["duration_ns"].gather(rows)


def _bare_calls(calls: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that lie in no span, or only in a span that marks a step."""
    around = spans["name"].gather(calls["span_id"])
    return calls.filter(each_once(around, _is_uninformative).fill_null(value=True))


def _named(
    name: pl.Expr,
    is_outside: pl.Expr,
    edge: str,
    outside: str,
) -> pl.Expr:
    """Return the short name of the event before or after a moment.

    A span that marks a step is named "the step's begin" or "the step's end", as `edge` says. If
    `is_outside` is True, the moment lies between steps, and the text is `outside`.
    """
    edge_of_step = pl.lit(f"the step's {edge}")
    of_step = pl.when(is_outside).then(pl.lit(outside)).otherwise(edge_of_step)
    return pl.when(_is_uninformative(name)).then(of_step).otherwise(shortened(name))


def _text_between(before: pl.Expr, after: pl.Expr) -> pl.Expr:
    """Describe time without recorded events by the event before and the event after it."""
    return (
        pl.when(before.is_null())
        .then("before " + after)
        .when(after.is_null())
        .then("after " + before)
        .otherwise("between " + before + " and " + after)
    )


def _is_uninformative(name: pl.Expr) -> pl.Expr:
    """Return whether a name does not help to find code, such as the name of a marked step."""
    return name.str.contains(UNINFORMATIVE)
