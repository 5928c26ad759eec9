"""Classify activities of host threads: waiting, loading, input, communication or computing."""

import polars as pl

from tracelens.derive.columns.intervals import union
from tracelens.derive.columns.per_unique import each_once, each_pair_once, matching
from tracelens.derive.columns.split_intervals import overlay
from tracelens.derive.events.api_names import WAITS_FOR_DEVICE
from tracelens.derive.events.autograd_nodes import PYTHON_NODE
from tracelens.derive.time.activity_places import CLASSES
from tracelens.derive.time.busy_ops import LOADING_NS, OPERATOR
from tracelens.derive.time.code_owner import OWN_HOOKS
from tracelens.derive.time.cpu_busy import find_communication
from tracelens.derive.time.thread_axis import PAUSE_NS, ThreadAxis

_LOADS = (
    r"^(cuda|cu|hip)(Module(Load|Unload)|Library(Load|Unload)|Link|CtxCreate|DevicePrimaryCtxRetain|Init$|InitDevice"
    r"|GraphInstantiate)|^(nvrtc|hiprtc)Compile"
)
_LOADERS = (
    r"DataLoader|(?:^|/)(?:torch/utils/data|webdataset|ffcv|nvidia/dali|petastorm)/"
    r"|datasets/iterable_dataset"
)
"""Pattern for spans of data loaders, of torch and of other packages."""
_DATA = (
    r"(?i)^\W*(?:(?:data|dataset|loader|input|batch)s?"
    r"(?:[ _-]?(?:load(?:ing|er)?|fetch(?:ing)?|time|wait|next|prep[0-9a-z_]*))?"
    r"|(?:load|fetch|get|next|read|prepare|wait[ _-]for)[ _-]?(?:the[ _-])?(?:next[ _-])?"
    r"(?:data|batch|input|sample)(?:es|s)?|(?:load|fetch)(?:ing)?)\W*$"
)
"""Pattern for annotations around the loading of data. It also matches some names of steps."""
_LOADING = (
    # Regions of torch's dynamo_timed, and Python code of compilers and of imports.
    r"\(dynamo_timed\)|(?:^|/)torch/_dynamo/(?:convert_frame|output_graph)\.py"
    r"|(?:^|/)torch/_inductor/(?:compile_fx|graph|codecache|async_compile)\.py"
    r"|(?:^|/)triton/(?:compiler|runtime/(?:build|autotuner))|(?:^|/)torch/utils/cpp_extension\.py|^<frozen"
    r" importlib"
)
_HOOK_AROUND_CALL = (
    r"/(?:steps|calls|repeated_calls)\.py\(\d+\): (?:call|following|init|tracing|repeated)$"
)
"""Pattern for hooks of a live capture that wrap the program's own calls, such as module calls."""


def interval_classes(
    axis: ThreadAxis, all_spans: pl.DataFrame, causing: pl.DataFrame
) -> list[pl.DataFrame]:
    """Return one frame of intervals per class of CLASSES: start_ns, end_ns, row, cause.

    A class's intervals are disjoint and sorted by start. In the class `call`, `row` is the row
    number of the API call. In other classes, `row` is None. `causing` is the result of
    `causing_calls`.
    """
    spans = axis.spans
    no_marks = pl.Series("name", [], pl.Categorical)
    marked = each_once(spans["name"], _by_name) if spans.height else no_marks
    times = spans.select("start_ns", "end_ns")

    def named(name: str, overhead: pl.DataFrame) -> pl.DataFrame:
        of_name = times.filter(marked == name)
        both = pl.concat([of_name, overhead.select(times.columns)])
        return union(both.sort("start_ns"))

    loads_code = pl.col("loads")
    computing = _computing(spans, axis.calls) if axis.calls_are_known else times.clear()
    is_op = spans["kind"] == "op"
    is_overhead = spans["kind"] == "overhead"
    intervals = {
        "profiler": named("profiler", axis.overhead.filter(~loads_code)),
        "loading": named("loading", axis.overhead.filter(loads_code)),
        "call": causing,
        "waiting": _waiting(spans, causing),
        "input": union(_input(axis, marked)),
        "computing": union(computing),
        "python": _python_of_nodes(axis),
        "launch": _issuing(axis),
        "host": union(times.filter(~is_op & ~is_overhead)),
    }
    classes = {name: _with_cause(name, frame) for name, frame in intervals.items()}
    communication = find_communication(axis, all_spans)
    classes["communication"] = _with_cause("communication", communication)
    return [classes[name] for name in CLASSES]


def _with_cause(name: str, intervals: pl.DataFrame) -> pl.DataFrame:
    """Add `cause` and `row` to the intervals of the class `name`, unless they have a cause."""
    if "cause" in intervals.columns:
        return intervals
    of_host = ("computing", "python", "profiler")
    cause = "host" if name in of_host else name
    return intervals.with_columns(
        cause=pl.lit(cause),
        row=pl.lit(None, pl.Int64),
    )


def _python_of_nodes(axis: ThreadAxis) -> pl.DataFrame:
    """Return long times of Python work inside the program's own autograd functions."""
    edges = ["start_ns", "end_ns"]
    (is_node,) = matching(axis.spans["name"], PYTHON_NODE)
    nodes = axis.spans.filter(is_node).select(edges)
    if nodes.is_empty():
        return nodes
    is_op = axis.spans["kind"] == "op"
    other_ops = axis.spans.filter(is_op & ~is_node).select(edges)
    calls = axis.calls.select(edges)
    issued = pl.concat([other_ops, calls]).sort("start_ns")
    layered = overlay([union(issued), union(nodes)])
    between = layered.filter(pl.col("layer") == 1)
    # A framework's autograd functions, such as torch.compile's, pause only briefly between ops and
    # launches. Recording Python calls makes these pauses longer.
    slowed = axis.of_threads("pause_ns", between["start_ns"]) / PAUSE_NS
    length = pl.col("end_ns") - pl.col("start_ns")
    return between.filter(length >= slowed * LOADING_NS).select(edges)


def _issuing(axis: ThreadAxis) -> pl.DataFrame:
    """Return the times of ops and calls, and the short pauses between them."""
    edges = ["start_ns", "end_ns"]
    spans = axis.spans
    is_op = pl.col("kind") == "op"
    ops = spans.filter(is_op).select(edges)
    issued_calls = union(axis.calls.select(edges))
    busy = pl.concat([union(ops), issued_calls]).sort("start_ns")
    distinct_pauses = axis.threads["pause_ns"].unique().sort()
    pauses = distinct_pauses.to_list()
    if len(pauses) == 1:
        return union(busy, pauses[0])
    pause = axis.of_threads("pause_ns", busy["start_ns"])
    parts = [union(busy.filter(pause == longest), longest) for longest in pauses]
    return pl.concat(parts).sort("start_ns")


def _by_name(name: pl.Expr) -> pl.Expr:
    """Classify a span by its name: `profiler`, `input`, `data`, `loading` or None.

    - `profiler`: the live capture's own work
    - `input`: code of a data loader
    - `data`: a user's name for the loading of data
    - `loading`: code of a compiler or an import
    """
    is_hook = name.str.contains(OWN_HOOKS)
    is_own = is_hook & ~name.str.contains(_HOOK_AROUND_CALL)
    rules = (
        (is_own, "profiler"),
        (name.str.contains(_LOADERS), "input"),
        (name.str.contains(_DATA), "data"),
        (name.str.contains(_LOADING), "loading"),
    )
    return pl.coalesce(pl.when(condition).then(pl.lit(word)) for condition, word in rules)


def _input(axis: ThreadAxis, marked: pl.Series) -> pl.DataFrame:
    """Return the times of spans in which a thread waits for input or prepares it."""
    times = axis.spans.select("start_ns", "end_ns")
    of_input = times.filter(marked == "input")
    called = axis.spans.filter(marked == "data").select("name", "start_ns", "end_ns")
    if called.is_empty():
        return of_input
    is_kernel = pl.col("kind").is_in(["kernel_launch", "graph_launch"])
    launches = axis.calls.filter(is_kernel)["start_ns"]
    thread_of_launch = axis.thread_of(launches).rename("thread")
    of_thread = thread_of_launch.value_counts(name="n_thread")
    n_before_start = launches.search_sorted(called["start_ns"])
    n_before_end = launches.search_sorted(called["end_ns"])
    counted = called.with_columns(
        thread=axis.thread_of(called["start_ns"]),
        n=n_before_end.cast(pl.Int64) - n_before_start,
    )
    with_thread = counted.join(
        of_thread,
        on="thread",
        how="left",
        maintain_order="left",
    )
    n_inside = pl.col("n").sum().over("name", "thread")
    # An annotation named like input surrounds the work of steps if most of the thread's kernel
    # launches lie in annotations of its name.
    is_step = n_inside > pl.col("n_thread").fill_null(0) / 2
    only_named_like_input = with_thread.filter(~is_step).select(times.columns)
    both = pl.concat([of_input, only_named_like_input])
    return both.sort("start_ns")


def causing_calls(calls: pl.DataFrame, blocked: pl.DataFrame) -> pl.DataFrame:
    """Return the outermost calls that wait for the device, allocate or load, with their cause.

    A launch that another thread's allocation blocks has the allocating function's name and the
    cause `allocation`.
    """
    causes = each_pair_once(calls["kind"], calls["api"], _by_function)
    with_cause = calls.with_columns(causes)
    if blocked.height:
        with_cause = _with_causes_of_others(with_cause, blocked)
    takes_time = pl.col("end_ns") > pl.col("start_ns")
    causing = with_cause.drop_nulls("cause").filter(takes_time)
    typed = causing.with_columns(
        pl.col("row", "span_id").cast(pl.Int64),
        pl.col("cause").cast(pl.String),
    )
    return _outer(typed)


def _with_causes_of_others(calls: pl.DataFrame, blocked: pl.DataFrame) -> pl.DataFrame:
    """Give blocked launches the name and the cause of the blocking call on another thread."""
    by_others = blocked.select("row", "by", by_cause=pl.lit("allocation"))
    with_others = calls.join(
        by_others,
        on="row",
        how="left",
        maintain_order="left",
    )
    own_api = pl.col("api").cast(pl.String)
    own_cause = pl.col("cause").cast(pl.String)
    named = with_others.with_columns(
        api=pl.coalesce("by", own_api).cast(pl.Categorical),
        cause=pl.coalesce("by_cause", own_cause),
    )
    return named.drop("by", "by_cause")


def _by_function(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the cause of each pair of kind and api, None for a call without a cause."""
    api = pl.col("api")
    return calls.select(
        cause=pl.when(api.str.contains(_LOADS))
        .then(pl.lit("loading"))
        .when(api.str.contains(WAITS_FOR_DEVICE))
        .then(pl.lit("sync"))
        .when(pl.col("kind") == "memory")
        .then(pl.lit("allocation"))
    )


def _waiting(spans: pl.DataFrame, causing: pl.DataFrame) -> pl.DataFrame:
    """Return the operators directly around a call that waits for the device, such as aten::item.

    `row` is the row of the waiting call. Of nested operators, only the outer one is returned.
    """
    is_wait = pl.col("cause") == "sync"
    waits = causing.filter(is_wait).with_columns(span="span_id")
    waiting_spans = waits["span"].drop_nulls().unique()
    row = pl.col("row")
    is_op = pl.col("kind") == "op"
    # Regions of a framework may also do other work than waiting.
    is_operator = pl.col("name").cast(pl.String).str.contains(OPERATOR)
    around_waits = spans.filter(row.is_in(waiting_spans.implode()))
    ops = around_waits.filter(is_op & is_operator).select(
        span=row.cast(pl.Int64),
        op_start="start_ns",
        op_end="end_ns",
    )
    waiting_ops = waits.join(
        ops,
        on="span",
        how="inner",
        maintain_order="left",
    )
    times = waiting_ops.select(
        start_ns="op_start",
        end_ns="op_end",
        row="row",
        cause="cause",
    )
    return _outer(times)


def _outer(intervals: pl.DataFrame) -> pl.DataFrame:
    """Sort intervals by start, and drop intervals that begin within an earlier interval."""
    ordered = intervals.sort(
        "start_ns",
        "end_ns",
        descending=[False, True],
        maintain_order=True,
    )
    reached = pl.col("end_ns").cum_max().shift(1)
    is_outer = pl.col("start_ns") >= reached
    return ordered.filter(is_outer.fill_null(value=True))


def _computing(spans: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return long ops that compute on the host and call no API function."""
    ops = spans.filter(pl.col("kind") == "op")
    long = ops.filter(_lasts(PAUSE_NS))
    calls_before_start = calls["start_ns"].search_sorted(long["start_ns"])
    calls_before_end = calls["start_ns"].search_sorted(long["end_ns"])
    without_calls = long.filter(calls_before_start == calls_before_end)
    ops_until_start = ops["start_ns"].search_sorted(without_calls["start_ns"], side="right")
    ops_before_end = ops["start_ns"].search_sorted(without_calls["end_ns"])
    has_no_op = ops_until_start == ops_before_end
    # A framework's region may do much besides computing, so it has to be very long and contain no
    # op. An example is the region in which torch.compile checks its guards.
    is_long_region = has_no_op & _lasts(LOADING_NS)
    is_operator = pl.col("name").cast(pl.String).str.contains(OPERATOR)
    return without_calls.filter(is_operator | is_long_region)


def _lasts(ns: int) -> pl.Expr:
    """Return the condition that an interval lasts at least `ns`."""
    return pl.col("end_ns") - pl.col("start_ns") >= ns
