"""Read the excerpt that a replay needs: the events of a few consecutive steps of one rank."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.intervals import END
from tracelens.derive.events.api_names import WAITS_FOR_DEVICE
from tracelens.derive.time.program_phases import program_steps
from tracelens.derive.time.step_kinds import are_of_several_kinds
from tracelens.derive.time.step_table import activities_of
from tracelens.trace import Trace

MOST_STEPS = 8
"""At most this many steps are replayed if all steps are of one kind.

Steps of several kinds are limited only by MOST_EVENTS, because a few could all be of a rare kind.
"""
MOST_EVENTS = 60_000
"""The replayed steps have at most this many API calls and kernels together.

A trace without steps is replayed as a whole if it has no more events than this.
"""
_LONGEST_LEAD_NS = 10_000_000_000
"""The host is assumed to run ahead of the device by at most this time."""
_WORK = ("start_ns", "duration_ns", "device_id", "stream_id", "api_call_id", "link", "span_id")


class Excerpt(Struct, frozen=True):
    """Holds the events of consecutive steps of one rank. Times are ns since `origin_ns`."""

    rank: int
    origin_ns: int  # when the host began the first step
    steps: pl.DataFrame  # step, start, duration
    marks: list[int]  # when the host began each step, and when it ended the last one
    calls: pl.DataFrame  # outermost API calls, sorted by start
    launches: pl.DataFrame  # calls that launch kernels: start, ns (their time)
    work: pl.DataFrame  # device work, sorted by start; `call` is the row of its API call
    ops: pl.DataFrame  # outermost ops
    spans: pl.DataFrame  # all spans, cut to the excerpt
    waits: pl.DataFrame  # recorded waits of streams, events and the device
    profiler: pl.DataFrame  # intervals that the host spent in the profiler
    activities: pl.DataFrame  # what the host did, for the whole rank; in trace time
    is_marked: bool  # False for a trace without steps


def read_excerpt(trace: Trace, rank: int) -> Excerpt | None:
    """Return the steps around the rank's median step, or the whole trace as one step.

    The whole trace is taken if it has no steps, or if it lacks the host's span of one of the steps.
    Return None if the host was not recorded. Return None for a whole trace of more than MOST_EVENTS
    events.
    """
    steps = _chosen_steps(trace, rank)
    marks = _marks(trace, rank, steps) if steps.height else []
    if not marks:
        steps, marks = _whole(trace, rank)
        if not marks or _n_events(trace, rank) > MOST_EVENTS:
            return None
    is_marked = steps["step"].null_count() == 0
    origin = marks[0]
    until = marks[-1]
    start_ns = pl.col("start_ns")
    inside = (start_ns < until) & END.gt(origin)
    spans = _spans(trace, rank, inside, (origin, until))
    calls, rows = _calls(trace, rank, (start_ns >= origin) & inside, origin)
    return Excerpt(
        rank,
        origin,
        steps.with_columns(start=start_ns - origin).select("step", "start", duration="duration_ns"),
        [mark - origin for mark in marks],
        calls,
        _launches(calls),
        _work(trace, rank, (origin, until), rows),
        _outermost(spans.filter(pl.col("is_op")), "thread"),
        spans,
        _stream_waits(trace, rank, rows),
        _profiler_times(trace, rank, inside, origin),
        activities_of(trace).filter(pl.col("rank") == rank).sort("start_ns"),
        is_marked,
    )


def _launches(calls: pl.DataFrame) -> pl.DataFrame:
    is_launch = pl.col("api").str.contains("^cu.*LaunchKernel")
    launches = calls.filter(is_launch)
    return launches.select("start", ns=pl.col("end") - pl.col("start"))


def _chosen_steps(trace: Trace, rank: int) -> pl.DataFrame:
    """Return consecutive steps around the rank's median step, all of one capture window."""
    steps = program_steps(trace).filter(pl.col("rank") == rank).sort("start_ns")
    if not steps.height:
        return steps
    order = steps["duration_ns"].arg_sort()
    median = int(order[(steps.height - 1) // 2])
    window = steps["window"][median]
    n_events = max(_n_events(trace, rank), 1)
    lengths = steps["duration_ns"].to_list()
    most = steps.height if are_of_several_kinds(lengths) else MOST_STEPS
    affordable = max(
        1,
        min(most, MOST_EVENTS * steps.height // n_events),
    )
    first = max(
        0,
        min(median - affordable // 2, steps.height - affordable),
    )
    return steps.slice(first, affordable).filter(pl.col("window") == window)


def _n_events(trace: Trace, rank: int) -> int:
    """Count the rank's API calls and kernels."""
    return sum(trace.heights(table).get(rank, 0) for table in ("kernels", "api_calls"))


def _marks(trace: Trace, rank: int, steps: pl.DataFrame) -> list[int]:
    """Return when the host began each step and ended the last.

    The list is empty if the trace lacks the span of a step on the host.
    """
    names = steps["name"].unique().to_list()
    begin = steps["start_ns"][0]
    end = steps.select(END).to_series()[-1]
    start_ns = pl.col("start_ns")
    step_spans = trace.select(
        "spans",
        "name",
        "start_ns",
        "duration_ns",
        where=pl.col("name").is_in(names) & (start_ns <= end) & END.ge(begin - _LONGEST_LEAD_NS),
        rank=rank,
    ).sort("start_ns", "duration_ns", descending=[False, True])
    marks: list[int] = []
    host_end = 0
    for name, host_ns in steps.select("name", "host_ns").iter_rows():
        later = step_spans.filter((pl.col("name") == name) & (start_ns >= host_end))
        if not later.height:
            return []
        marks.append(later["start_ns"][0])
        host_end = marks[-1] + host_ns
    return [*marks, host_end]


def _whole(trace: Trace, rank: int) -> tuple[pl.DataFrame, list[int]]:
    """Return the rank's whole trace as one step, and when the host began and ended.

    The times are an empty list if the host was not recorded.
    """
    edges: dict[str, tuple[int, int]] = {}
    for table in ("api_calls", "spans", "kernels", "memcpys", "memsets"):
        times = trace.select(table, "start_ns", "duration_ns", rank=rank)
        ends = times.select(
            pl.col("start_ns").min(),
            end=END.max(),
        )
        if ends["start_ns"][0] is not None:
            edges[table] = ends.row(0)
    host = [edges[table] for table in ("api_calls", "spans") if table in edges]
    empty = pl.DataFrame(schema={"step": pl.Int64, "start_ns": pl.Int64, "duration_ns": pl.Int64})
    if not host:
        return empty, []
    begin = min(edge[0] for edge in host)
    host_end = max(edge[1] for edge in host)
    end = max(edge[1] for edge in edges.values())
    row = pl.DataFrame(
        [(None, begin, end - begin)],
        empty.schema,
        orient="row",
    )
    return row, [begin, host_end]


def _spans(
    trace: Trace,
    rank: int,
    where: pl.Expr,
    edges: tuple[int, int],
) -> pl.DataFrame:
    """Return the spans that overlap the excerpt, cut to its time.

    `begins_inside` and `ends_inside` say whether the span really begins and ends in the excerpt.
    """
    origin, until = edges
    kind = pl.col("kind")
    start_ns = pl.col("start_ns")
    wanted = where & ~kind.is_in(["overhead", "annotation"])
    spans = trace.select(
        "spans",
        "start_ns",
        "duration_ns",
        "process_id",
        "thread_id",
        "kind",
        "name",
        "module_path",
        where=wanted,
        rank=rank,
    )
    return spans.select(
        start=(start_ns - origin).clip(lower_bound=0),
        end=(END - origin).clip(upper_bound=until - origin),
        thread=pl.struct("process_id", "thread_id").rank("dense").cast(pl.Int64),
        process_id="process_id",
        thread_id="thread_id",
        is_op=kind == "op",
        # An NVTX range also costs time at both ends
        is_python=kind.is_in(["python", "module", "nvtx"]),
        is_generated=(kind == "op") & pl.col("name").cast(pl.String).str.starts_with("triton_"),
        begins_inside=start_ns >= origin,
        ends_inside=END.le(until),
        name="name",
        module_path="module_path",
    ).sort("start", "end", descending=[False, True])


_STEP_OF_PROFILER = r"torch[/.\\]profiler[/.\\]profiler\.py\(\d+\): step$"


def _profiler_times(
    trace: Trace,
    rank: int,
    where: pl.Expr,
    origin: int,
) -> pl.DataFrame:
    """Return when the function `torch.profiler.profile.step` ran, one row per interval.

    Columns: start, end, process_id and thread_id.
    """
    name = pl.col("name").cast(pl.String)
    is_mark = (pl.col("kind") == "annotation") & name.str.starts_with("ProfilerStep#")
    is_call = (pl.col("kind") == "python") & name.str.contains(_STEP_OF_PROFILER)
    columns = ("kind", "name", "start_ns", "duration_ns", "process_id", "thread_id")
    thread = ("process_id", "thread_id")
    is_wanted = where & (is_mark | is_call)
    profiler_spans = trace.select("spans", *columns, where=is_wanted, rank=rank).sort("start_ns")
    begin, end = pl.col("start_ns") - origin, END - origin
    # The call ends one step's mark and begins the next step's mark (torch 2.11), so it fills the
    # time between them. A trace with stacks shows the whole call.
    between = profiler_spans.filter(is_mark).select(
        start=end,
        end=begin.shift(-1).over(thread),
        process_id="process_id",
        thread_id="thread_id",
    )
    calls = profiler_spans.filter(is_call).select(*thread, start=begin, end=end)
    whole = pl.concat([between, calls.select(between.columns)])
    return whole.filter(pl.col("end") > pl.col("start")).sort("start")


def _calls(
    trace: Trace,
    rank: int,
    where: pl.Expr,
    origin: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the outermost API calls, sorted by start, and a frame with one row per API call.

    Columns of the second frame: api_call_id, row, correlation_id and call_start. `row` is the row
    number of the call's outermost call in the first frame.
    """
    recorded = trace.select(
        "api_calls",
        "api_call_id",
        "api",
        "kind",
        "start_ns",
        "duration_ns",
        "process_id",
        "thread_id",
        "correlation_id",
        "span_id",
        "site_id",
        where=where,
        rank=rank,
    )
    api = pl.col("api")
    end = pl.col("end")
    calls = recorded.select(
        start=pl.col("start_ns") - origin,
        end=END - origin,
        process_id="process_id",
        thread_id="thread_id",
        api=api.cast(pl.String),
        kind=pl.col("kind").cast(pl.String),
        api_call_id="api_call_id",
        correlation_id="correlation_id",
        span_id="span_id",
        site_id="site_id",
    ).sort("start", "end", descending=[False, True])
    key = ("process_id", "thread_id")
    reached = end.cum_max().shift(1).over(key)
    is_outer = ((end > reached) | reached.is_null()).fill_null(value=True)
    marked = calls.with_columns(
        waits=api.str.contains(WAITS_FOR_DEVICE),
        is_outer=is_outer,
    )
    outer_row = pl.when("is_outer").then(pl.col("is_outer").cum_sum() - 1).cast(pl.Int64)
    placed = marked.with_columns(row=outer_row).with_columns(pl.col("row").forward_fill().over(key))
    rows = placed.select("api_call_id", "row", "correlation_id", call_start="start")
    return placed.filter("is_outer").drop("is_outer", "row"), rows


def _work(
    trace: Trace,
    rank: int,
    edges: tuple[int, int],
    rows: pl.DataFrame,
) -> pl.DataFrame:
    """Return device work that the excerpt launched, or that ran when it began, sorted by start.

    Work that ran when the excerpt began is cut to start with it.
    """
    origin, _ = edges
    frames = [pl.DataFrame(schema=_SCHEMA)]
    for table, columns in _OF_TABLES.items():
        work = _work_of_table(trace, rank, table, edges, rows)
        if work.height:
            frames.append(work.with_columns(**_COMMON | columns).select(*_SCHEMA).cast(_SCHEMA))
    queue = pl.struct("device_id", "stream_id").rank("dense").cast(pl.Int64) - 1
    return (
        pl.concat(frames)
        .with_columns(
            start=(pl.col("start") - origin).clip(lower_bound=0),
            end=pl.col("end") - origin,
            queue=queue,
        )
        .sort("start", "end", maintain_order=True)
    )


def _work_of_table(
    trace: Trace,
    rank: int,
    table: str,
    edges: tuple[int, int],
    rows: pl.DataFrame,
) -> pl.DataFrame:
    """Return the excerpt's device work in one table, with `row` and `call_start` from `rows`.

    `row` and `call_start` are None for work without an API call in `rows`.
    """
    origin, until = edges
    is_open = END.gt(origin)
    # Work that begins after the last work of the excerpt's calls does not belong to the excerpt.
    is_launched = pl.col("api_call_id").is_in(rows["api_call_id"].implode())
    launched = trace.select(table, "start_ns", where=is_open & is_launched, rank=rank)
    last_ns = max(launched["start_ns"].to_list(), default=until)
    is_near = is_open & (pl.col("start_ns") <= max(last_ns, until))
    of_table = (name for expr in _OF_TABLES[table].values() for name in expr.meta.root_names())
    columns = dict.fromkeys((*_WORK, *of_table))
    near = trace.select(table, *columns, where=is_near, rank=rank)
    calls = rows.select("api_call_id", "row", "call_start")
    work = near.with_columns(pl.col(pl.Categorical).cast(pl.String)).join(
        calls, on="api_call_id", how="left", maintain_order="left"
    )
    # A stream works in order, so work launched after the excerpt begins after all work of the
    # excerpt.
    start_ns = pl.col("start_ns")
    is_own = pl.col("row").is_not_null()
    last_own = start_ns.filter(is_own).max().over("device_id", "stream_id").fill_null(until)
    return work.filter(is_own | (start_ns < last_own))


_SCHEMA = pl.Schema(
    {
        "start": pl.Int64,
        "end": pl.Int64,
        "device_id": pl.Int32,
        "stream_id": pl.Int64,
        "call": pl.Int64,
        "call_start": pl.Int64,
        "kind": pl.String,
        "name": pl.String,
        "is_graph": pl.Boolean,
        "is_pageable": pl.Boolean,
        "size_bytes": pl.Int64,
        "id": pl.Int64,
        "site_id": pl.Int64,
        "span_id": pl.Int64,
        "primitive": pl.String,
    }
)
_COMMON = {
    "start": pl.col("start_ns"),
    "end": END,
    "call": pl.col("row"),
    "is_graph": pl.col("link") == "graph",
    "is_pageable": pl.lit(value=False),
    "size_bytes": pl.lit(None),
    "site_id": pl.lit(None),
    "primitive": pl.lit(None),
}
"""Default expressions for the columns of _SCHEMA. _OF_TABLES has each table's own expressions."""
_MEMORIES = pl.concat_str(["source_memory", "destination_memory"], separator=">")
_KERNEL_KIND = pl.when("is_communication").then(pl.lit("collective")).otherwise(pl.lit("kernel"))
_OF_TABLES = {
    "kernels": {
        "kind": _KERNEL_KIND,
        "name": pl.col("name"),
        "id": pl.col("kernel_id"),
        "site_id": pl.col("site_id"),
        "primitive": pl.col("primitive"),
    },
    "memcpys": {
        "kind": pl.lit("copy"),
        "name": pl.concat_str(["direction", _MEMORIES], separator=" "),
        "is_pageable": _MEMORIES.str.contains("pageable"),
        "size_bytes": pl.col("size_bytes"),
        "id": pl.col("memcpy_id"),
    },
    "memsets": {
        "kind": pl.lit("fill"),
        "name": pl.lit("fill"),
        "size_bytes": pl.col("size_bytes"),
        "id": pl.col("memset_id"),
    },
}


def _stream_waits(trace: Trace, rank: int, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the recorded synchronizations whose API call is in the excerpt.

    - row, call_start: the API call
    - kind, stream_id, waited_stream_id: as in `synchronizations`
    - recorded_at: the start of the call that recorded the event, None if unknown
    """
    waits = trace.select(
        "synchronizations",
        "kind",
        "stream_id",
        "api_call_id",
        "waited_stream_id",
        "waited_correlation_id",
        rank=rank,
    )
    recorded = rows.drop_nulls("correlation_id").select("correlation_id", recorded_at="call_start")
    return (
        waits.with_columns(pl.col("kind").cast(pl.String))
        .join(
            rows.select("api_call_id", "row", "call_start"),
            on="api_call_id",
        )
        .join(
            recorded.unique("correlation_id"),
            left_on="waited_correlation_id",
            right_on="correlation_id",
            how="left",
        )
        .sort("call_start")
    )


def _outermost(spans: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return the outermost spans of each thread; `spans` are sorted by start."""
    reached = pl.col("end").cum_max().shift(1).over(key)
    return spans.filter(((pl.col("start") >= reached) | reached.is_null()).fill_null(value=True))
