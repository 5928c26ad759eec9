"""Turn one rank's raw frames, from any profiler, into the tables of a trace."""

import polars as pl
from msgspec import Struct, field

from tracelens.derive.columns.filling import gathered
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.events.api_names import api_kind, strip_version
from tracelens.derive.events.call_tree import nearest
from tracelens.derive.events.correlation import Callers, fill_process, mark_nodes, spans_of_nodes
from tracelens.derive.events.launch_sites import find_sites
from tracelens.derive.events.modules import list_layers, mark_modules
from tracelens.derive.events.nesting import as_rows, nest
from tracelens.derive.events.phases import mark_phases
from tracelens.derive.events.steps import StepTimes, find_marks, mark_steps
from tracelens.derive.kernels.device_limits import complete_devices
from tracelens.derive.kernels.kernel_classes import classify
from tracelens.derive.time.host_activity import list_activities
from tracelens.schemas import TABLES
from tracelens.storage.limits import MODULES
from tracelens.storage.store import Store
from tracelens.trace.capture import Diagnostics
from tracelens.trace.cleaning import clean_frame

_WORK_IDS = {
    "kernels": "kernel_id",
    "memcpys": "memcpy_id",
    "memsets": "memset_id",
    "synchronizations": "synchronization_id",
}
_ORDERS = {"allocations": "time_ns", "counters": "time_ns", "collectives": "kernel_id"}
_NOTHING = pl.DataFrame()
_OVERFLOW_NS = 86_400 * 10**9


def assemble(
    raw: dict[str, pl.DataFrame],
    diagnostics: Diagnostics,
    store: Store | None = None,
) -> dict[str, pl.DataFrame]:
    """Turn a rank's raw rows into sorted tables with ids, nesting, steps, phases and classes.

    `raw` holds the source's rows by table name, in any order:

    - spans may also have parent_hint (row number of the calling span), backend and exact_path
      (a module call's full path)
    - kernels, copies and fills may lack process_id
    - graph_nodes has one row per created CUDA graph node: process_id, thread_id, start_ns,
      graph_node_id and original_id (for a copied node, the node that was copied)

    Each frame is removed from `raw` when it is processed, to save memory. The result has no rank
    column and no empty tables. Integers may be narrower than in the schema, strings are
    Categorical. With a store, spans, calls and device work are written to the store, and only the
    other tables are returned.
    """
    rank = _Rank(raw, diagnostics, store)
    for stage in _STAGES:
        stage(rank)
    return {
        name: rank.tables[name]
        for name in TABLES
        if name in rank.tables and rank.tables[name].height
    }


class _Rank(Struct):
    """Holds the events of one rank while its raw rows are turned into tables."""

    raw: dict[str, pl.DataFrame]
    diagnostics: Diagnostics
    store: Store | None
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    spans: pl.DataFrame = field(default_factory=pl.DataFrame)
    calls: pl.DataFrame = field(default_factory=pl.DataFrame)
    main_process: int = 0
    marks: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The starts of steps, from `find_marks`."""
    contexts: pl.Series | None = None
    """The op around each span, which helps to classify the kernels that the span launches."""
    nodes: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The span in which each CUDA graph node was captured."""

    def finish(self, name: str, frame: pl.DataFrame) -> None:
        """Write a finished table to the store; if there is no store, add it to the result."""
        if self.store is None:
            self.tables[name] = _declared(name, frame)
        elif frame.height:
            self.store.put(
                TABLES[name],
                clean_frame(name, _declared(name, frame), self.diagnostics),
            )


def _order(rank: _Rank) -> None:
    """Sort spans and calls by start, and find the main process."""
    derived_from = ("sequence_number", "forward_thread_id", "backend", "exact_path")
    rank.spans = _filled(
        _in_order(rank.raw.pop("spans", _NOTHING)),
        "spans",
        derived_from,
    )
    rank.calls = _by_start(
        _filled(
            rank.raw.pop("api_calls", _NOTHING),
            "api_calls",
            ("correlation_id",),
        )
    )
    events = rank.calls if rank.calls.height else rank.spans
    rank.main_process = _most_frequent(events["process_id"])


def _nest(rank: _Rank) -> None:
    """Add nesting to spans, calls and allocations.

    Spans get ids, parents, depth and self time. Calls get ids and their innermost span. Allocations
    get their innermost span.
    """
    calls = _times(rank.calls)
    moments = rank.raw.get("allocations", _NOTHING)
    if moments.height:  # an allocation is nested like a call without duration
        as_calls = moments.with_columns(start_ns="time_ns", duration_ns=pl.lit(0))
        calls = pl.concat([calls, _times(as_calls)], how="vertical_relaxed")
    result = nest(_times(rank.spans), calls)
    span_around = as_rows(result.call_span).alias("span_id")
    n_calls = rank.calls.height
    if moments.height:
        around_moments = span_around[n_calls:]
        rank.raw["allocations"] = moments.with_columns(around_moments)
    text = "spans that start inside another and outlast it; not nested in it"
    rank.diagnostics.add("info", "spans_overlap", text, result.n_overlaps)
    text = "Python calls whose end was not recorded, although their caller went on"
    rank.diagnostics.add("info", "calls_unreturned", text, result.n_unreturned)
    rank.spans = (
        rank.spans.drop("parent_hint", strict=False)
        .with_row_index("span_id")
        .with_columns(
            as_rows(result.parent).alias("parent_id"),
            pl.Series("depth", result.depth, dtype=pl.Int32).shrink_dtype(),
            pl.Series("self_ns", result.self_ns, dtype=pl.Int64).shrink_dtype(),
        )
    )
    nested_calls = rank.calls.with_columns(span_around[:n_calls])
    rank.calls = nested_calls.with_row_index("api_call_id")


def _mark_spans(rank: _Rank) -> None:
    """Add phases to spans, and module paths if the source has none."""
    spans = rank.spans
    parent = rank.spans["parent_id"]
    has_modules = "module_path" in spans.columns and spans["module_path"].count() > 0
    if not has_modules:
        paths, n_ambiguous, n_too_deep = mark_modules(spans, parent)
        text = "autograd nodes whose forward op could be on several threads"
        rank.diagnostics.add("info", "backward_ambiguous", text, n_ambiguous)
        text = (
            "modules nested too deep; what they contain counts for the last module above them;"
            f" {MODULES.how_to_raise}"
        )
        rank.diagnostics.add("loss", "modules_too_deep", text, n_too_deep)
        spans = spans.with_columns(paths.alias("module_path"))
    rank.spans = spans.with_columns(mark_phases(spans, parent))


def _name_calls(rank: _Rank) -> None:
    """Add to calls the API function's name without its version, and the kind of call."""
    api = each_once(rank.calls["raw_api"], strip_version)
    kind = each_once(api, api_kind)
    rank.calls = rank.calls.with_columns(api.alias("api"), kind.alias("kind"))


def _step(rank: _Rank) -> None:
    """Add the step to spans and calls."""
    rank.marks = find_marks(rank.spans)
    rank.spans = mark_steps(rank.spans, rank.marks)
    rank.calls = mark_steps(rank.calls, rank.marks)


def _list(rank: _Rank) -> None:
    """Make the tables of modules, call sites and thread activities."""
    sites, columns_of_sites = find_sites(
        rank.spans,
        rank.calls["span_id"],
        rank.calls["start_ns"],
    )
    rank.calls = rank.calls.with_columns(columns_of_sites)
    rank.tables["layers"] = list_layers(rank.spans)
    rank.tables["sites"] = sites
    rank.tables["activities"] = list_activities(rank.spans, rank.calls, rank.marks)


def _finish_spans(rank: _Rank) -> None:
    """Finish the table of spans, and release its memory.

    The device work still needs the op around each span and the span of each graph node. Only these
    are kept.
    """
    is_op = rank.spans["kind"] == "op"
    if "kernels" in rank.raw and is_op.any():
        rank.contexts = _ops_around(rank.spans)
    nodes = rank.raw.pop("graph_nodes", _NOTHING)
    if nodes.height:
        rank.nodes = spans_of_nodes(nodes, rank.spans)
    spans, rank.spans = rank.spans, _NOTHING
    rank.finish("spans", spans)


def _link(rank: _Rank) -> None:
    """Link device work to calls, classify kernels, and make the table of steps."""
    steps = StepTimes(rank.marks, rank.calls)
    callers = Callers(rank.calls)
    for name, number in _WORK_IDS.items():
        if name not in rank.raw:
            continue
        raw = _by_start(
            _filled(
                rank.raw.pop(name),
                name,
                ("correlation_id",),
            )
        )
        of_process = fill_process(raw, rank.calls, rank.main_process)
        linked = callers.link(of_process).with_row_index(number)
        has_overflowed = pl.col("duration_ns") > _OVERFLOW_NS
        n_overflowed = linked.filter(has_overflowed).height
        text = "durations of more than a day: the profiler's counter overflowed"
        rank.diagnostics.add("warning", "duration_overflow", text, n_overflowed)
        work = linked
        if name == "kernels":
            kernels = mark_nodes(linked, rank.nodes) if rank.nodes.height else linked
            op_around = None
            if rank.contexts is not None:
                op_around = rank.contexts.gather(kernels["span_id"])
            classes = classify(kernels["name"], op_around)
            work = kernels.with_columns(classes.drop("primitive_source"))
        if name == "synchronizations":
            steps.take_waits(work)
        else:
            steps.take(name, work)
        rank.finish(name, work)
    rank.tables["steps"] = steps.steps()


def _take_others(rank: _Rank) -> None:
    """Finish calls and devices, and sort the remaining tables."""
    rank.finish("api_calls", rank.calls)
    for name, order in _ORDERS.items():
        if name in rank.raw:
            rank.tables[name] = _declared(
                name,
                rank.raw.pop(name).sort(order, maintain_order=True),
            )
    if "devices" in rank.raw:
        rank.tables["devices"] = complete_devices(
            TABLES["devices"].without("rank").conform(rank.raw.pop("devices"))
        )


_STAGES = (
    _order,
    _nest,
    _mark_spans,
    _name_calls,
    _step,
    _list,
    _finish_spans,
    _link,
    _take_others,
)
"""The steps of assembling a rank's tables, in order."""


def _in_order(spans: pl.DataFrame) -> pl.DataFrame:
    """Return spans sorted by start, and by descending duration if they start together.

    Columns are copied one by one, so that not all are in memory twice.
    """
    if not spans.width:
        return spans
    order = spans.select(
        pl.arg_sort_by(
            "start_ns",
            "duration_ns",
            descending=[False, True],
            maintain_order=True,
        )
    ).to_series()
    if "parent_hint" in spans.columns:
        position_of_row = order.arg_sort()
        hints = position_of_row.gather(spans["parent_hint"])
        spans = spans.with_columns(parent_hint=hints)
    columns = spans.get_columns()
    del spans
    for i in range(len(columns)):
        columns[i] = gathered(columns[i], order)
    return pl.DataFrame(columns)


def _declared(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that the table declares, without rank."""
    return frame.select(
        column for column in TABLES[name].names if column in frame.columns and column != "rank"
    )


def _filled(
    frame: pl.DataFrame,
    name: str,
    columns: tuple[str, ...],
) -> pl.DataFrame:
    """Return the raw frame; missing ones of `columns` are filled with None.

    A raw frame without columns becomes an empty frame of the table `name`.
    """
    schema = TABLES[name].schema
    raw = frame if frame.width else _empty_raw(name)
    missing = [
        pl.lit(None, schema.get(column, pl.Categorical)).alias(column)
        for column in columns
        if column not in raw.columns
    ]
    return raw.with_columns(missing)


def _empty_raw(name: str) -> pl.DataFrame:
    """Return the empty table `name` without the columns that are derived."""
    empty = TABLES[name].empty()
    raw = empty.drop(
        "rank",
        "span_id",
        "api_call_id",
        "step",
        "phase",
        "kind",
        strict=False,
    )
    if name != "spans":
        return raw
    no_kind = pl.lit(None, pl.String)
    return raw.with_columns(kind=no_kind)


def _most_frequent(processes: pl.Series) -> int:
    """Return the most frequent process id, 0 if unknown."""
    process = processes.min()
    if process != processes.max():  # mostly there is one process
        process = processes.mode().min()
    return process if isinstance(process, int) else 0


def _by_start(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows sorted by start.

    Sorted rows, as most profilers write them, are not copied.
    """
    if frame["start_ns"].is_sorted():
        return frame
    return frame.sort("start_ns", maintain_order=True)


def _times(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that nesting needs."""
    names = ["process_id", "thread_id", "start_ns", "duration_ns"]
    if "parent_hint" not in frame.columns:
        return frame.select(names)
    hint = pl.col("parent_hint").cast(pl.Int64)
    return frame.select(*names, hint)


def _ops_around(spans: pl.DataFrame) -> pl.Series:
    """Return the name of the innermost op around each span; for an op, its own name.

    An op whose backend is `triton` has the name `triton`.
    """
    is_op = pl.col("kind") == "op"
    is_triton = pl.col("backend") == "triton"
    triton = pl.lit("triton")
    name = pl.when(is_triton).then(triton).otherwise(pl.col("name"))
    name_if_op = pl.when(is_op).then(name)
    ops = spans.select(name_if_op).to_series()
    return nearest(spans["parent_id"], ops.cast(pl.Categorical))
