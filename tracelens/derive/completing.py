"""Steps and activities of a trace; of one that was collected before there were such tables, derived."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import polars as pl

from tracelens.derive.activities import list_activities
from tracelens.derive.lookup import rows_of
from tracelens.derive.steps import StepTimes, find_marks, mark_steps
from tracelens.schemas import TABLES
from tracelens.trace import Trace

_WORK = ("kernels", "memcpys", "memsets")
_SPANS = ("span_id", "parent_id", "kind", "name", "process_id", "thread_id", "start_ns", "duration_ns")
_CALLS = ("api_call_id", "span_id", "kind", "api", "process_id", "thread_id", "start_ns", "duration_ns")
_derived: WeakKeyDictionary[Trace, dict[str, pl.DataFrame]] = WeakKeyDictionary()


def steps_of(trace: Trace) -> pl.DataFrame:
    """The table of steps; empty where nothing marks any."""
    return _table(trace, "steps")


def activities_of(trace: Trace) -> pl.DataFrame:
    """The table of activities; empty where nothing is known of the host."""
    return _table(trace, "activities")


def _table(trace: Trace, name: str) -> pl.DataFrame:
    if trace.has(name) or name in trace.manifest.empty_tables:
        return trace.frame(name)
    if trace not in _derived:
        parts = [_of_rank(trace, rank) for rank in trace.manifest.ranks]
        _derived[trace] = {
            table: pl.concat(
                [TABLES[table].empty(), *(TABLES[table].conform(part[table]) for part in parts if part[table].height)]
            )
            for table in ("steps", "activities")
        }
    return _derived[trace][name]


def _of_rank(trace: Trace, rank: int) -> dict[str, pl.DataFrame]:
    """The tables of one rank, from its spans, calls and device work."""
    spans, calls = (
        trace.select(name, "rank", *columns).filter(pl.col("rank") == rank)
        for name, columns in (("spans", _SPANS), ("api_calls", _CALLS))
    )
    spans, calls = (
        spans.sort("start_ns", "duration_ns", descending=[False, True], maintain_order=True),
        calls.sort("start_ns"),
    )
    spans = spans.with_columns(parent_id=_row(spans, "span_id", "parent_id"))
    calls_ = calls.with_columns(span_id=_found(spans, "span_id", calls, "span_id"))
    marks = find_marks(spans)
    marked = mark_steps(calls.select("process_id", "start_ns"), marks)
    times = StepTimes(marks, calls["start_ns"])
    for name in _WORK:
        work = trace.select(name, "rank", "start_ns", "duration_ns", "api_call_id", "link").filter(
            pl.col("rank") == rank
        )
        row = _found(calls, "api_call_id", work, "api_call_id")
        times.take(name, work.with_columns(row.alias("api_call_id"), marked["step"].gather(row)))
    activities = list_activities(spans, calls_, marks)
    if activities.height:
        activities = activities.with_columns(
            spans["span_id"].gather(activities["span_id"]), calls["api_call_id"].gather(activities["api_call_id"])
        )
    of_rank = pl.lit(rank, pl.Int32).alias("rank")
    tables = {"steps": times.steps(), "activities": activities}
    return {name: frame.with_columns(of_rank) if frame.height else frame for name, frame in tables.items()}


def _row(frame: pl.DataFrame, ids: str, wanted: str) -> pl.Series:
    """The row of the span that a column names, null for none."""
    return _found(frame, ids, frame, wanted).alias(wanted)


def _found(frame: pl.DataFrame, ids: str, other: pl.DataFrame, wanted: str) -> pl.Series:
    """The rows of `frame` whose ids a column of another frame names."""
    return rows_of(frame["rank"], frame[ids], other.select("rank", wanted)).alias(wanted)
