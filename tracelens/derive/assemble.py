"""Raw frames of one rank, from whichever profiler, into the tables of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from tracelens.derive.columns.distinct import as_categories, each_once
from tracelens.derive.events.ancestry import nearest
from tracelens.derive.events.api_names import api_kind, strip_version
from tracelens.derive.events.graph_nodes import mark_nodes, spans_of_nodes
from tracelens.derive.events.linking import Callers, fill_process
from tracelens.derive.events.modules import list_layers, mark_modules
from tracelens.derive.events.nesting import nest
from tracelens.derive.events.phases import mark_phases
from tracelens.derive.events.sites import find_sites
from tracelens.derive.events.steps import StepTimes, find_marks, mark_steps
from tracelens.derive.kernels.device_limits import complete_devices
from tracelens.derive.kernels.kernel_classes import classify
from tracelens.derive.time.activities import list_activities
from tracelens.limits import MODULES
from tracelens.schemas import TABLES
from tracelens.storage.store import Store
from tracelens.trace.capture import Diagnostics
from tracelens.trace.cleaning import clean_frame

_WORK_IDS = {
    "kernels": "kernel_id", "memcpys": "memcpy_id", "memsets": "memset_id", "synchronizations": "synchronization_id",
}  # fmt: skip
_ORDERS = {"allocations": "time_ns", "counters": "time_ns", "collectives": "kernel_id"}
_NOTHING = pl.DataFrame()
_OVERFLOW_NS = 86_400 * 10**9


def assemble(
    raw: dict[str, pl.DataFrame], diagnostics: Diagnostics, store: Store | None = None
) -> dict[str, pl.DataFrame]:
    """Tables without the rank column, sorted, with ids, nesting, links, steps, phases, modules and kernel classes.

    `raw` holds what the source gave, by table name, rows in any order; spans may bring parent_hint (row number of the
    recorded caller), backend and exact_path (a module call's own path), device work may lack process_id; graph_nodes,
    as `spans_of_nodes` takes them, say where the nodes of replayed graphs were made. A table the
    source did not give is left out. Takes each frame out of `raw` as it comes to it, so that no table is held twice.
    The tables are as `Table.conform` takes them: integers may be narrower than declared, strings Categorical. With a
    store, spans, calls and device work go there as they are finished, and the tables given back are the others.
    """
    rank = _Rank(raw, diagnostics, store)
    for stage in _STAGES:
        stage(rank)
    return {name: rank.tables[name] for name in TABLES if name in rank.tables and rank.tables[name].height}


@dataclass(slots=True)
class _Rank:
    """The events of one rank while they become tables: what the source gave, and what was found so far."""

    raw: dict[str, pl.DataFrame]
    diagnostics: Diagnostics
    store: Store | None
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    spans: pl.DataFrame = field(default_factory=pl.DataFrame)
    calls: pl.DataFrame = field(default_factory=pl.DataFrame)
    main_process: int = 0
    marks: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Where steps begin, as `find_marks` gives them."""
    contexts: pl.Series | None = None
    """The op around each span, by which kernels are classified."""
    nodes: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The span that each node of a CUDA graph was made in."""

    def finish(self, name: str, frame: pl.DataFrame) -> None:
        """Take a table that may be large, as far as its columns are declared."""
        if self.store is None:
            self.tables[name] = _declared(name, frame)
        elif frame.height:
            self.store.put(TABLES[name], clean_frame(name, _declared(name, frame), self.diagnostics))


def _order(rank: _Rank) -> None:
    """Take spans and calls in order of time."""
    derived_from = ("sequence_number", "forward_thread_id", "backend", "exact_path")
    rank.spans = _filled(_in_order(rank.raw.pop("spans", _NOTHING)), "spans", derived_from)
    rank.calls = _by_start(_filled(rank.raw.pop("api_calls", _NOTHING), "api_calls", ("correlation_id",)))
    rank.main_process = _most_frequent((rank.calls if rank.calls.height else rank.spans)["process_id"])


def _nest(rank: _Rank) -> None:
    """Give spans ids, parents, depth and self time, and calls ids and the span around each."""
    result = nest(_times(rank.spans), _times(rank.calls))
    text = "spans that start inside another and outlast it; not nested in it"
    rank.diagnostics.add("info", "spans_overlap", text, result.n_overlaps)
    text = "Python calls still open at the end though their caller went on"
    rank.diagnostics.add("info", "calls_unreturned", text, result.n_unreturned)
    rank.spans = (
        rank.spans.drop("parent_hint", strict=False)
        .with_row_index("span_id")
        .with_columns(
            _none_below(result.parent).alias("parent_id"),
            pl.Series("depth", result.depth, dtype=pl.Int32).shrink_dtype(),
            pl.Series("self_ns", result.self_ns, dtype=pl.Int64).shrink_dtype(),
        )
    )
    around = _none_below(result.call_span).alias("span_id")
    rank.calls = rank.calls.with_columns(around).with_row_index("api_call_id")


def _mark_spans(rank: _Rank) -> None:
    """Give spans their module and phase, where the source does not."""
    spans, parent = rank.spans, rank.spans["parent_id"]
    if "module_path" not in spans.columns or spans["module_path"].null_count() == spans.height:
        paths, n_ambiguous, n_too_deep = mark_modules(spans, parent)
        text = "autograd nodes whose forward op could be on several threads"
        rank.diagnostics.add("info", "backward_ambiguous", text, n_ambiguous)
        text = f"modules so deep in others that what they hold counts to the last one above; {MODULES.how_to_raise}"
        rank.diagnostics.add("loss", "modules_too_deep", text, n_too_deep)
        spans = spans.with_columns(paths.alias("module_path"))
    rank.spans = spans.with_columns(mark_phases(spans, parent))


def _name_calls(rank: _Rank) -> None:
    """Give calls the name of the function, and what it does."""
    api = each_once(rank.calls["raw_api"], strip_version).alias("api")
    rank.calls = rank.calls.with_columns(api, each_once(api, api_kind).alias("kind"))


def _step(rank: _Rank) -> None:
    """Give spans and calls the step that they are in."""
    rank.marks = find_marks(rank.spans)
    rank.spans, rank.calls = mark_steps(rank.spans, rank.marks), mark_steps(rank.calls, rank.marks)


def _list(rank: _Rank) -> None:
    """List modules, the sites that calls are made at, and what threads do."""
    sites, at = find_sites(rank.spans, rank.calls["span_id"], rank.calls["start_ns"])
    rank.calls = rank.calls.with_columns(at)
    rank.tables["layers"] = list_layers(rank.spans)
    rank.tables["sites"] = sites
    rank.tables["activities"] = list_activities(rank.spans, rank.calls, rank.marks)


def _leave_spans(rank: _Rank) -> None:
    """Keep of spans what device work is judged by, and finish them: with a store, their memory is free from here on."""
    if "kernels" in rank.raw and (rank.spans["kind"] == "op").any():
        rank.contexts = _ops_around(rank.spans)
    nodes = rank.raw.pop("graph_nodes", _NOTHING)
    if nodes.height:
        rank.nodes = spans_of_nodes(nodes, rank.spans)
    spans, rank.spans = rank.spans, _NOTHING
    rank.finish("spans", spans)


def _link(rank: _Rank) -> None:
    """Tie device work to calls, classify kernels, and end the steps where their work does."""
    callers, steps = Callers(rank.calls), StepTimes(rank.marks, rank.calls["start_ns"])
    for name, number in _WORK_IDS.items():
        if name not in rank.raw:
            continue
        work = _by_start(_filled(rank.raw.pop(name), name, ("correlation_id",)))
        work = callers.link(fill_process(work, rank.calls, rank.main_process)).with_row_index(number)
        days = work.filter(pl.col("duration_ns") > _OVERFLOW_NS).height
        text = "durations of more than a day: the profiler's counter overflowed"
        rank.diagnostics.add("warning", "duration_overflow", text, days)
        if name == "kernels":
            work = mark_nodes(work, rank.nodes) if rank.nodes.height else work
            around = None if rank.contexts is None else rank.contexts.gather(work["span_id"])
            work = work.with_columns(classify(work["name"], around).drop("primitive_source"))
        if name != "synchronizations":
            steps.take(name, work)
        rank.finish(name, work)
    rank.tables["steps"] = steps.steps()


def _take_others(rank: _Rank) -> None:
    """Finish calls, the tables that need no more than an order, and what is known of devices."""
    rank.finish("api_calls", rank.calls)
    for name, order in _ORDERS.items():
        if name in rank.raw:
            rank.tables[name] = _declared(name, rank.raw.pop(name).sort(order))
    if "devices" in rank.raw:
        rank.tables["devices"] = complete_devices(TABLES["devices"].without("rank").conform(rank.raw.pop("devices")))


_STAGES = (_order, _nest, _mark_spans, _name_calls, _step, _list, _leave_spans, _link, _take_others)
"""What is done to a rank's events, in this order."""


def _in_order(spans: pl.DataFrame) -> pl.DataFrame:
    """Spans by start, those that start together longest first. Columns are copied one by one, so never all twice."""
    if not spans.width:
        return spans
    order = spans.select(
        pl.arg_sort_by("start_ns", "duration_ns", descending=[False, True], maintain_order=True)
    ).to_series()
    if "parent_hint" in spans.columns:
        spans = spans.with_columns(parent_hint=order.arg_sort().gather(spans["parent_hint"]))
    columns = spans.get_columns()
    del spans
    for i in range(len(columns)):
        columns[i] = columns[i].gather(order)
    return pl.DataFrame(columns)


def _declared(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table's columns, as far as they are there, without what was needed to find them."""
    return frame.select(column for column in TABLES[name].names if column in frame.columns and column != "rank")


def _filled(frame: pl.DataFrame, name: str, columns: tuple[str, ...]) -> pl.DataFrame:
    """The raw frame, or an empty one; columns that derivations look at are there, null where the source has none."""
    if not frame.width:
        frame = TABLES[name].empty().drop("rank", "span_id", "api_call_id", "step", "phase", "kind", strict=False)
        if name == "spans":
            frame = frame.with_columns(kind=pl.lit(None, pl.String))
    schema = TABLES[name].schema
    missing = [pl.lit(None, schema.get(c, pl.Categorical)).alias(c) for c in columns if c not in frame.columns]
    return frame.with_columns(missing)


def _most_frequent(processes: pl.Series) -> int:
    """The process of most rows, 0 where none is known; mostly there is one, which needs no counting."""
    found = processes.min()
    if found != processes.max():
        found = processes.mode().min()
    return found if isinstance(found, int) else 0


def _by_start(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by start; most profilers write them so, and then they stay where they are."""
    return frame if frame["start_ns"].is_sorted() else frame.sort("start_ns", maintain_order=True)


def _times(frame: pl.DataFrame) -> pl.DataFrame:
    """What nesting looks at."""
    names = ["process_id", "thread_id", "start_ns", "duration_ns"]
    hint = [pl.col("parent_hint").cast(pl.Int64)] if "parent_hint" in frame.columns else []
    return frame.select(*names, *hint)


def _none_below(rows: Sequence[int] | pl.Series) -> pl.Series:
    """Row numbers with -1 as null, as narrow as Polars takes them."""
    found = pl.Series(rows, dtype=pl.Int64)
    return found.set(found < 0, None).cast(pl.get_index_type())


def _ops_around(spans: pl.DataFrame) -> pl.Series:
    """The name of the innermost op around each span, itself included; `triton` where the profiler knows it for one."""
    ops = spans.select(
        pl.when(pl.col("kind") == "op").then(
            pl.when(pl.col("backend") == "triton").then(pl.lit("triton")).otherwise(pl.col("name"))
        )
    ).to_series()
    return nearest(spans["parent_id"], as_categories(ops))
