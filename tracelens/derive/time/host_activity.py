"""Activities of the host threads that launch device work: stretches of time with one cause each."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.intervals import union
from tracelens.derive.columns.lookup import last_before
from tracelens.derive.columns.per_unique import each_once, each_pair_once
from tracelens.derive.columns.split_intervals import overlay
from tracelens.derive.events.api_names import waits_for_device
from tracelens.derive.time.call_path import OWN_HOOKS, between, describe
from tracelens.derive.time.cpu_busy import with_op_time

PROFILER = "the profiler's own work"
"""The place of time that the profiler takes for itself in a thread, for example to allocate a
buffer."""
PAUSE_NS = 100_000
"""A pause between two ops shorter than this belongs to issuing them: a framework's own Python
takes 1 to 50 µs between ops. Recording Python calls slows them by several times; the limit is
then STACKS_SLOW_BY times as long."""
STACKS_SLOW_BY = 4

_LAUNCHES = ("kernel_launch", "graph_launch", "memcpy", "memset")
_LOADS = (
    r"^(cuda|cu|hip)(Module(Load|Unload)|Library(Load|Unload)|Link|CtxCreate|DevicePrimaryCtxRetain|Init$|InitDevice"
    r"|GraphInstantiate)|^(nvrtc|hiprtc)Compile"
)
_INPUT = (
    # torch's and other loaders by their own names; annotations for loading data.
    r"DataLoader|_next_data|(?:^|/)(?:torch/utils/data|webdataset|ffcv|nvidia/dali|petastorm)/|datasets/iterable_dataset"
    r"|(?i)^\W*(?:data|dataset|loader|input|batch)s?"
    r"(?:[ _-]?(?:load(?:ing|er)?|fetch(?:ing)?|time|wait|next|prep\w*))?\W*$"
    r"|(?i)^\W*(?:load|fetch|get|next|read|prepare|wait[ _-]for)[ _-]?(?:the[ _-])?(?:next[ _-])?"
    r"(?:data|batch|input|sample)(?:es|s)?\W*$|(?i)^\W*(?:load|fetch)(?:ing)?\W*$"
)
_LOADING = (
    # dynamo_timed's regions, and the Python of compilers and of imports.
    r"\(dynamo_timed\)|(?:^|/)torch/_dynamo/(?:convert_frame|output_graph)\.py"
    r"|(?:^|/)torch/_inductor/(?:compile_fx|graph|codecache|async_compile)\.py"
    r"|(?:^|/)triton/(?:compiler|runtime/(?:build|autotuner))|(?:^|/)torch/utils/cpp_extension\.py|^<frozen"
    r" importlib"
)
_OPERATOR = r"^\w+::\w+$|^\w+::\w+\.\w+$"
"""An operator of a library, such as aten::add or aten::add.out;
autograd::engine::evaluate_function: … is none."""
_HOOK_AROUND_CALL = r"/(?:steps|calls)\.py\(\d+\): (?:call|following|init|tracing)$"
"""Hooks inside which the program's own calls run: of modules, loaders, optimizers and tracing."""
_DRIVER_LOADS = r"(?i)loading|compiler"
"""Overhead caused by the driver: Runtime Triggered Module Loading, Lazy Function Loading, Driver
Compiler."""
_CLASSES = ("profiler", "loading", "call", "waiting", "input", "computing", "launch", "host")
"""Classes of activity on a thread by priority where several overlap: an API call within
compilation is compilation."""


@dataclass(frozen=True, slots=True)
class _Lane:
    """Spans and calls of one thread, by start, each with `row`, its row in the whole table, start_ns and end_ns.

    `overhead` holds spans in which the profiler works for itself, or the driver loads.
    `calls_are_known`: the source recorded API calls, so a thread without any made none.
    """

    process_id: int
    thread_id: int
    spans: pl.DataFrame
    calls: pl.DataFrame
    overhead: pl.DataFrame
    is_main: bool
    calls_are_known: bool


def list_activities(spans: pl.DataFrame, calls: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """The activities of every thread that launches device work or marks steps: the table without the rank.

    `spans` has parent_id (row number), kind, name, process_id, thread_id, start_ns, duration_ns;
    `calls` likewise kind, api, and span_id as row number. Within a thread activities do not
    overlap. Time that no span covers is an activity only on a process's main thread (the one that
    marks steps, else the one that launches most): any other thread without spans waits for others
    to give it work. Where nothing launches device work, `with_op_time` adds what ops compute.
    """
    columns = (
        "process_id",
        "thread_id",
        "start_ns",
        "duration_ns",
        "cause",
        "what",
        "span_id",
        "api_call_id",
    )
    made, mains = [], []
    for lane in _lanes(spans, calls, marks):  # one at a time: each holds a copy of its spans
        frame = _of_lane(lane, spans)
        if frame.height:
            made.append(frame.select(columns))
            mains += [(lane.process_id, lane.thread_id)] * lane.is_main
    if not made:
        return pl.DataFrame()
    found = pl.concat(made).sort("start_ns")
    if calls["kind"].is_in(_LAUNCHES).any() or not (spans["kind"] == "op").any():
        return found
    return with_op_time(found, spans, marks, mains)


def _lanes(spans: pl.DataFrame, calls: pl.DataFrame, marks: pl.DataFrame) -> Iterable[_Lane]:
    """The threads that launch work or mark steps, each with its spans and calls."""
    key = ["process_id", "thread_id"]
    launching = calls.filter(pl.col("kind").is_in(_LAUNCHES)).group_by(key).len()
    if not launching.height:
        launching = spans.filter(pl.col("kind") == "op").group_by(key).len()
    launching = launching.select(*(pl.col(name).cast(pl.Int64) for name in key), n="len")
    marking = marks.select(key).unique().with_columns(n=pl.lit(2**62, pl.Int64))
    ranked = (
        pl.concat([launching.select(*key, pl.col("n").cast(pl.Int64)), marking])
        .group_by(key)
        .agg(pl.max("n"))
    )
    ranked = ranked.drop_nulls().sort(
        "process_id", "n", "thread_id", descending=[False, True, False]
    )
    ranked = ranked.with_columns(is_main=pl.col("process_id").is_first_distinct())
    start = pl.col("start_ns").cast(pl.Int64)
    overhead = spans.filter(pl.col("kind") == "overhead").select(
        start_ns=start,
        end_ns=start + pl.col("duration_ns"),
        loads=pl.col("name").cast(pl.String).str.contains(_DRIVER_LOADS),
    )
    for process, thread, _, is_main in ranked.iter_rows():
        own, called = _of_thread(spans, process, thread), _of_thread(calls, process, thread)
        stopped = _stopped_by(overhead, own, called)
        yield _Lane(process, thread, own, called, stopped, is_main, calls.height > 0)


def _of_thread(frame: pl.DataFrame, process: int, thread: int) -> pl.DataFrame:
    """The rows of a thread by start, with their row in the frame and end_ns."""
    wide = (
        pl.lit(process, pl.Int64),
        pl.lit(thread, pl.Int64),
    )  # ids of a frame may be as narrow as its own allow
    is_mine = frame.select(
        (pl.col("process_id") == wide[0]) & (pl.col("thread_id") == wide[1])
    ).to_series()
    rows = is_mine.arg_true().alias("row")
    names = [name for name in ("kind", "name", "api", "span_id") if name in frame.columns]
    part = frame.select(*names, "start_ns", "duration_ns")
    part = part if len(rows) == frame.height else part[rows]
    start = pl.col("start_ns").cast(pl.Int64)
    part = part.select(rows, *names, start, end_ns=start + pl.col("duration_ns"))
    return part if part["start_ns"].is_sorted() else part.sort("start_ns", maintain_order=True)


def _stopped_by(overhead: pl.DataFrame, spans: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The overhead during which the thread stood still: nothing begins in it meanwhile.

    torch does not record the thread of this overhead; it is one that calls the API.
    """
    begins = pl.concat(
        [spans.filter(pl.col("kind") != "overhead")["start_ns"], calls["start_ns"]]
    ).sort()
    rows = overhead.sort("start_ns")
    first, after = (
        begins.search_sorted(rows[edge], side="left").cast(pl.Int64)
        for edge in ("start_ns", "end_ns")
    )
    return rows.filter((first == after) & (first > 0))


def _of_lane(lane: _Lane, spans: pl.DataFrame) -> pl.DataFrame:
    """The activities of one thread."""
    causing = _causing(lane.calls)
    classes = _classes(lane, causing)
    found = overlay([part.select("start_ns", "end_ns", "cause", "row") for part in classes])
    segments = _joined(
        found.select("start_ns", "end_ns", pl.col("layer").alias("class"), "cause", at="row")
    )
    if not segments.height:
        return segments
    if lane.is_main:
        segments = _without_gaps(segments)
    is_short = pl.col("end_ns") - pl.col("start_ns") < _pause(lane.spans)
    is_launch = (pl.col("class") == _CLASSES.index("host")) & is_short
    segments = segments.with_columns(
        pl.when(is_launch).then(_CLASSES.index("launch")).otherwise("class").alias("class")
    )
    return _described(_joined(segments), lane, spans, causing)


def _classes(lane: _Lane, causing: pl.DataFrame) -> list[pl.DataFrame]:
    """For each of _CLASSES its intervals, disjoint, by start: start_ns, end_ns, row (of a call, else null), cause."""
    spans, calls = lane.spans, lane.calls
    marked = (
        each_once(spans["name"], _by_name)
        if spans.height
        else pl.Series("name", [], pl.Categorical)
    )
    is_op = spans["kind"] == "op"
    times = spans.select("start_ns", "end_ns")
    computing = _computing(spans, calls) if lane.calls_are_known else times.clear()
    busy = pl.concat([union(times.filter(is_op)), union(calls.select(times.columns))])
    overhead = {
        "profiler": lane.overhead.filter(~pl.col("loads")),
        "loading": lane.overhead.filter("loads"),
    }
    named = {
        name: union(
            pl.concat([times.filter(marked == name), more.select(times.columns)]).sort("start_ns")
        )
        for name, more in overhead.items()
    }
    intervals = named | {
        "call": causing,
        "waiting": _waiting(spans, causing),
        "input": union(times.filter(marked == "input")),
        "computing": union(computing),
        "launch": union(busy.sort("start_ns"), _pause(spans)),
        "host": union(times.filter(~is_op & (spans["kind"] != "overhead"))),
    }
    causes = {"computing": "host", "profiler": "host"}
    return [
        (
            found
            if "cause" in found.columns
            else found.with_columns(
                cause=pl.lit(causes.get(name, name)), row=pl.lit(None, pl.Int64)
            )
        )
        for name, found in intervals.items()
    ]


def _pause(spans: pl.DataFrame) -> int:
    """The longest pause between two ops that belongs to issuing them."""
    return PAUSE_NS * (STACKS_SLOW_BY if (spans["kind"] == "python").any() else 1)


def _by_name(name: pl.Expr) -> pl.Expr:
    """A span's class by name: `profiler`, a live capture's own work, `input` or `loading`; else null."""
    is_own = name.str.contains(OWN_HOOKS) & ~name.str.contains(_HOOK_AROUND_CALL)
    rules = (
        (is_own, "profiler"),
        (name.str.contains(_INPUT), "input"),
        (name.str.contains(_LOADING), "loading"),
    )
    return pl.coalesce(pl.when(found).then(pl.lit(word)) for found, word in rules)


def _causing(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls that wait for the device, allocate or load: their columns and cause; the outermost of nested calls."""
    found = calls.with_columns(each_pair_once(calls["kind"], calls["api"], _by_function))
    found = found.drop_nulls("cause").filter(pl.col("end_ns") > pl.col("start_ns"))
    return _outer(
        found.with_columns(pl.col("row", "span_id").cast(pl.Int64), pl.col("cause").cast(pl.String))
    )


def _by_function(calls: pl.DataFrame) -> pl.DataFrame:
    """The cause of calls by kind and api; null for those that do none of it."""
    return calls.select(
        cause=pl.when(pl.col("api").str.contains(_LOADS))
        .then(pl.lit("loading"))
        .when(waits_for_device(pl.col("api")))
        .then(pl.lit("sync"))
        .when(pl.col("kind") == "memory")
        .then(pl.lit("allocation"))
    )


def _waiting(spans: pl.DataFrame, causing: pl.DataFrame) -> pl.DataFrame:
    """Operators that wait for the device, such as aten::item: the innermost around each waiting call, with its row.

    A framework's own regions, and autograd's around a whole backward function, may do much else.
    """
    waits = causing.filter(pl.col("cause") == "sync").with_columns(span="span_id")
    ops = spans.filter(pl.col("row").is_in(waits["span"].drop_nulls().unique().implode())).filter(
        (pl.col("kind") == "op") & pl.col("name").cast(pl.String).str.contains(_OPERATOR)
    )
    ops = ops.select(
        pl.col("row").cast(pl.Int64).alias("span"), op_start="start_ns", op_end="end_ns"
    )
    found = waits.join(ops, on="span", how="inner", maintain_order="left")
    return _outer(found.select(start_ns="op_start", end_ns="op_end", row="row", cause="cause"))


def _outer(intervals: pl.DataFrame) -> pl.DataFrame:
    """The intervals (start_ns, end_ns, …) by start, without those that lie within another one."""
    ordered = intervals.sort("start_ns", "end_ns", descending=[False, True], maintain_order=True)
    reached = pl.col("end_ns").cum_max().shift(1)
    return ordered.filter((pl.col("start_ns") >= reached).fill_null(value=True))


def _computing(spans: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Ops that compute on the host: long ones in which no function of the API is called.

    Operators have a library in their name, as aten::add; a framework's own regions have none.
    """
    is_operator = pl.col("name").cast(pl.String).str.contains(_OPERATOR)
    is_long = pl.col("end_ns") - pl.col("start_ns") >= PAUSE_NS
    long = spans.filter(is_long & (pl.col("kind") == "op")).filter(is_operator)
    first, after = (calls["start_ns"].search_sorted(long[edge]) for edge in ("start_ns", "end_ns"))
    return long.filter(first == after)


def _without_gaps(segments: pl.DataFrame) -> pl.DataFrame:
    """The segments, with the time between them filled by segments of class and cause host."""
    following = segments["start_ns"].shift(-1)
    missing = segments.select(start_ns="end_ns", end_ns=following).filter(
        pl.col("end_ns") > pl.col("start_ns")
    )
    missing = missing.with_columns(
        pl.lit(_CLASSES.index("host"), pl.Int32).alias("class"),
        at=pl.lit(None, pl.Int64),
        cause=pl.lit("host"),
    )
    return _joined(pl.concat([segments, missing.select(segments.columns)]).sort("start_ns"))


def _joined(segments: pl.DataFrame) -> pl.DataFrame:
    """Adjacent segments of one class and call joined."""
    differs = pl.any_horizontal(
        pl.col(name).ne_missing(pl.col(name).shift(1)) for name in ("class", "at")
    )
    is_new = differs | (pl.col("start_ns") != pl.col("end_ns").shift(1)).fill_null(value=True)
    number = segments.select(is_new.cum_sum()).to_series()
    grouped = segments.with_columns(number.alias("number")).group_by("number", maintain_order=True)
    launch = _CLASSES.index("launch")
    return grouped.agg(
        pl.col("start_ns", "class", "at").first(),
        pl.col("end_ns").last(),
        cause=pl.when(pl.col("class").first() == launch)
        .then(pl.lit("launch"))
        .otherwise(pl.col("cause").first()),
    ).drop("number")


def _described(
    segments: pl.DataFrame, lane: _Lane, spans: pl.DataFrame, causing: pl.DataFrame
) -> pl.DataFrame:
    """The segments as activities, with what and span_id; `causing` holds the calls that `at` names.

    span_id is the span around a call, else the innermost one that covers at least half of the
    segment.
    """
    is_call = pl.col("at").is_not_null()
    is_named = is_call | (pl.col("class") != _CLASSES.index("launch"))
    segments = segments.with_row_index("segment").with_columns(is_call=is_call)
    segments = segments.with_columns(
        what=pl.when(pl.col("class") == _CLASSES.index("profiler")).then(pl.lit(PROFILER))
    )
    called = segments.filter("is_call").with_columns(pl.col("at").alias("row"))
    called = called.join(
        causing.select("row", "api", "span_id"), on="row", how="left", maintain_order="left"
    )
    rest = segments.filter(is_named & ~is_call & pl.col("what").is_null()).select(
        "segment", "start_ns", "end_ns"
    )
    rest = rest.with_columns(_around(spans, lane.spans, (rest["start_ns"] + rest["end_ns"]) // 2))
    named = describe(
        spans, pl.concat([called.select("segment", "api", "span_id"), rest], how="diagonal_relaxed")
    )
    bare = (
        named.filter(pl.col("what").is_null())
        .select("segment", "span_id")
        .join(rest, on="segment", how="left")
    )
    middle = (bare["start_ns"] + bare["end_ns"]) // 2
    named = named.drop_nulls("what").vstack(
        bare.select("segment", "span_id", _between(spans, lane, middle))
    )
    return segments.join(named, on="segment", how="left", maintain_order="left").select(
        process_id=pl.lit(lane.process_id, pl.Int64),
        thread_id=pl.lit(lane.thread_id, pl.Int64),
        start_ns="start_ns",
        duration_ns=pl.col("end_ns") - pl.col("start_ns"),
        cause="cause",
        what=pl.coalesce("what", "what_right"),
        span_id="span_id",
        api_call_id=pl.when("is_call").then("at"),
    )


def _around(spans: pl.DataFrame, own: pl.DataFrame, moments: pl.Series) -> pl.Series:
    """The row of the innermost span around each moment of a thread; null where there is none."""
    row = own["row"].cast(pl.Int64).gather(last_before(own["start_ns"], moments))
    while True:
        is_over = (
            spans["start_ns"].gather(row).cast(pl.Int64) + spans["duration_ns"].gather(row)
            <= moments
        )
        if not is_over.any():
            return row.alias("span_id")
        row = row.zip_with(
            ~is_over.fill_null(value=False), spans["parent_id"].gather(row).cast(pl.Int64)
        )


def _between(spans: pl.DataFrame, lane: _Lane, moments: pl.Series) -> pl.Series:
    """A text for each moment without a span: the last thing that the thread did before it and the first after."""
    own, is_span = (lane.spans, True) if lane.spans.height else (lane.calls, False)
    after = own["start_ns"].search_sorted(moments, side="right").cast(pl.Int64)
    all_names = own["name" if is_span else "api"]
    following = all_names.gather(after.set(after == own.height, None))
    row = own["row"].cast(pl.Int64).gather((after - 1).set(after == 0, None))
    while is_span and row.count():
        above = spans["parent_id"].gather(row).cast(pl.Int64)
        ended = (
            spans["start_ns"].gather(above).cast(pl.Int64) + spans["duration_ns"].gather(above)
            <= moments
        )
        if not ended.any():
            break
        row = above.zip_with(ended.fill_null(value=False), row)
    before = (
        spans["name"].gather(row)
        if is_span
        else all_names.gather((after - 1).set(after == 0, None))
    )
    names = pl.DataFrame({"before": before.cast(pl.String), "after": following.cast(pl.String)})
    return names.select(between(pl.col("before"), pl.col("after"))).to_series().alias("what")
