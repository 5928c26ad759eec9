"""Return a trace's steps and activities, and the ranks that run ops but no kernels.

A trace without the tables of steps and activities gets them from its events.
"""

import polars as pl
from msgspec.structs import replace

from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.events.span_trees import refuse_circles
from tracelens.derive.events.steps import StepTimes, find_marks, mark_steps
from tracelens.derive.time.host_activity import list_activities
from tracelens.errors import MissingTableError, UsageError
from tracelens.schemas import DEVICE_WORK, TABLES
from tracelens.trace import Trace

_SPANS = (
    "span_id",
    "parent_id",
    "kind",
    "name",
    "process_id",
    "thread_id",
    "start_ns",
    "duration_ns",
)
_CALLS = (
    "api_call_id",
    "span_id",
    "kind",
    "api",
    "process_id",
    "thread_id",
    "start_ns",
    "duration_ns",
)
WORK = ("device_id", "stream_id", "start_ns", "duration_ns", "api_call_id", "link")
STREAM_WAITS = ("kind", "device_id", "stream_id", "start_ns", "duration_ns")
_MARKED = {"spans": "span_id", "api_calls": "api_call_id"}


def steps_of(trace: Trace) -> pl.DataFrame:
    """Return the table of steps, which is empty if nothing marks steps."""
    return _table(trace, "steps")


def activities_of(trace: Trace) -> pl.DataFrame:
    """Return the table of activities, which is empty if the source records no host."""
    return _table(trace, "activities")


def process_ranks(trace: Trace) -> list[int]:
    """Return the ranks that run ops but neither run nor launch a kernel.

    Analyses report the time of such a rank's process, because it has no time of a device.
    """
    has_op_time = pl.col("op_ns").is_not_null()
    with_ops = activities_of(trace).filter(has_op_time)
    ranks = with_ops["rank"].unique().sort().to_list()
    n_kernels = trace.heights("kernels") if trace.has("kernels") else {}
    return [rank for rank in ranks if not n_kernels.get(rank)]


def require_time(trace: Trace, analysis: str) -> None:
    """Raise MissingTableError if the trace has neither kernels nor a process that runs ops."""
    if not trace.has("kernels") and not process_ranks(trace):
        raise MissingTableError(
            f"{analysis} needs the table kernels, or spans of ops in a trace that launches nothing;"
            " tracelens collect torch or nsys gives them"
        )


def _table(trace: Trace, name: str) -> pl.DataFrame:
    if trace.has(name) or name in trace.manifest.empty_tables:
        return trace.frame(name)
    return trace.derived(_steps_and_activities)[name]


def _steps_and_activities(trace: Trace) -> dict[str, pl.DataFrame]:
    parts = [_of_rank(trace, rank) for rank in trace.manifest.ranks]
    return {
        "steps": _joined(parts, "steps"),
        "activities": _joined(parts, "activities"),
    }


def _joined(
    parts: list[dict[str, pl.DataFrame]],
    name: str,
) -> pl.DataFrame:
    """Join a table's rows of all ranks."""
    table = TABLES[name]
    frames = [part[name] for part in parts if part[name].height]
    return pl.concat(
        [
            table.empty(),
            *map(table.conform, frames),
        ]
    )


def _of_rank(trace: Trace, rank: int, pattern: str | None = None) -> dict[str, pl.DataFrame]:
    """Return one rank's frames `steps`, `activities`, `spans` and `api_calls`.

    The last two have the id and the step of each span and API call. Spans with names that match
    `pattern` mark steps. None means the usual names of marks.
    """
    spans, calls = (
        trace.select(name, "rank", *columns).filter(pl.col("rank") == rank)
        for name, columns in (("spans", _SPANS), ("api_calls", _CALLS))
    )
    spans = spans.sort(
        "start_ns",
        "duration_ns",
        descending=[False, True],
        maintain_order=True,
    )
    calls = calls.sort("start_ns")
    placed = spans.with_columns(parent_id=_rows_of_ids(spans, "span_id", spans, "parent_id"))
    refuse_circles(placed["parent_id"], rank)
    marks = find_marks(spans, pattern)
    marked = mark_steps(calls.select("process_id", "start_ns"), marks)
    times = StepTimes(marks, calls)
    for name in DEVICE_WORK:
        work = trace.select(name, "rank", *WORK)
        work = work.filter(pl.col("rank") == rank)
        row = _rows_of_ids(calls, "api_call_id", work, "api_call_id")
        step_of_row = marked["step"].gather(row)
        times.take(name, work.with_columns(row, step_of_row))
    waits = trace.select("synchronizations", "rank", *STREAM_WAITS)
    times.take_waits(waits.filter(pl.col("rank") == rank))
    activities = list_activities(
        placed,
        calls.with_columns(_rows_of_ids(spans, "span_id", calls, "span_id")),
        marks,
    )
    if activities.height:
        activities = activities.with_columns(
            spans["span_id"].gather(activities["span_id"]),
            calls["api_call_id"].gather(activities["api_call_id"]),
        )
    tables = {
        "steps": times.steps(),
        "activities": activities,
        "spans": mark_steps(spans.select("process_id", "start_ns", "span_id"), marks),
        "api_calls": calls.select("api_call_id").with_columns(marked["step"]),
    }
    of_rank = pl.lit(rank, pl.Int32).alias("rank")
    return {
        name: frame.with_columns(of_rank) if frame.height else frame
        for name, frame in tables.items()
    }


def mark_steps_by(trace: Trace, pattern: str) -> Trace:
    """Mark steps by spans with names that match a pattern, instead of the trace's own marks.

    `pattern` is a regular expression. Raises UsageError if it is invalid, or if no span matches.
    """
    parts = [_of_rank(trace, rank, pattern) for rank in trace.manifest.ranks]
    derived = {
        name: [part[name] for part in parts if part[name].height]
        for name in ("steps", "activities", *_MARKED)
    }
    if not derived["steps"]:
        raise UsageError(
            f"no span has a name that {pattern!r} finds; tracelens report --section time_by_range"
            " shows names"
        )
    tables = {name: trace.frame(name) for name in TABLES}
    for name in ("steps", "activities"):
        tables[name] = pl.concat(
            [
                TABLES[name].empty(),
                *map(TABLES[name].conform, derived[name]),
            ]
        )
    for name, id_column in _MARKED.items():
        columns = tables[name].select("rank", id_column, "step")
        step = pl.col("step").cast(pl.Int64)
        marked = [frame.select("rank", id_column, step) for frame in derived[name]]
        tables[name] = _with_steps(
            tables[name],
            pl.concat([columns.clear(), *marked]),
        )
    steps_of_calls = tables["api_calls"].select("rank", "api_call_id", "step")
    for name in DEVICE_WORK:
        tables[name] = _with_steps(tables[name], steps_of_calls)
    still_empty = {
        name: why for name, why in trace.manifest.empty_tables.items() if not tables[name].height
    }
    lazy = {name: TABLES[name].conform(frame).lazy() for name, frame in tables.items()}
    return Trace(
        replace(
            trace.manifest,
            n_rows={},
            n_names={},
            empty_tables=still_empty,
        ),
        lazy,
    )


def _with_steps(table: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Return `table` with the column `step` of `steps`, joined on the other columns of `steps`."""
    key = [name for name in steps.columns if name != "step"]
    return table.drop("step").join(
        steps,
        on=key,
        how="left",
        maintain_order="left",
    )


def _rows_of_ids(
    frame: pl.DataFrame,
    ids: str,
    other: pl.DataFrame,
    wanted: str,
) -> pl.Series:
    """Return, per row of `other`, the row of `frame` with the same id.

    `ids` is the column with the ids in `frame`, `wanted` the column in `other`.
    """
    ids_of_other = other.select("rank", wanted)
    return rows_of(frame["rank"], frame[ids], ids_of_other).alias(wanted)
