"""Raw frames of one rank, from whichever profiler, into the tables of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import polars as pl

from tracelens.derive.columns.distinct import as_categories, told_apart
from tracelens.derive.events.ancestry import nearest
from tracelens.derive.events.api_names import api_kind, strip_version
from tracelens.derive.events.graph_nodes import mark_nodes, spans_of_nodes
from tracelens.derive.events.linking import Callers
from tracelens.derive.events.modules import list_layers, mark_modules
from tracelens.derive.events.nesting import nest
from tracelens.derive.events.phases import mark_phases
from tracelens.derive.events.sites import find_sites
from tracelens.derive.events.steps import StepTimes, find_marks, mark_steps
from tracelens.derive.kernels.device_limits import complete_devices
from tracelens.derive.kernels.kernel_classes import classify
from tracelens.derive.time.activities import list_activities
from tracelens.schemas import TABLES
from tracelens.storage.store import Store
from tracelens.trace.capture import Diagnostics
from tracelens.trace.cleaning import clean_frame

_WORK_IDS = {
    "kernels": "kernel_id", "memcpys": "memcpy_id", "memsets": "memset_id", "synchronizations": "synchronization_id",
}  # fmt: skip
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
    derived_from = ("sequence_number", "forward_thread_id", "backend", "exact_path")
    spans = _filled(_in_order(raw.pop("spans", _NOTHING)), "spans", derived_from)
    calls = _by_start(_filled(raw.pop("api_calls", _NOTHING), "api_calls", ("correlation_id",)))
    main_process = _most_frequent((calls if calls.height else spans)["process_id"])
    has_ops = bool((spans["kind"] == "op").any())
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(_said_of_calls, calls["raw_api"])
        ahead = None if store else pool.submit(_look_ahead, raw, calls, said, main_process, has_ops=has_ops)
        spans, enclosing = _nested(spans, calls, diagnostics)
        marks = find_marks(spans)
        spans, calls = mark_steps(spans, marks), mark_steps(calls, marks)
        sites, at = find_sites(spans, enclosing, calls["start_ns"])
    calls = calls.with_columns(*said.result(), enclosing, *at).with_row_index("api_call_id")
    contexts = _contexts(spans) if has_ops and "kernels" in raw else None
    tables = _Tables(store, diagnostics)
    tables.small["layers"] = list_layers(spans)
    tables.small["sites"] = sites
    tables.small["activities"] = list_activities(spans, calls, marks)
    steps = StepTimes(marks, calls["start_ns"])
    made = spans_of_nodes(nodes, spans) if (nodes := raw.pop("graph_nodes", _NOTHING)).height else _NOTHING
    finished = [_declared("spans", spans)]
    del spans
    tables.add("spans", finished.pop())
    callers, found = ahead.result() if ahead else (Callers(calls), {})
    callers.tell(calls)
    for name, number in _WORK_IDS.items():
        if name not in raw:
            continue
        work = _of_processes(raw.pop(name), name, callers, main_process)
        work = callers.link(work, found.get(name)).with_row_index(number)
        days = work.filter(pl.col("duration_ns") > _OVERFLOW_NS).height
        diagnostics.add(
            "warning", "duration_overflow", "durations of more than a day: the profiler's counter overflowed", days
        )
        if name == "kernels":
            work = _classified(mark_nodes(work, made) if made.height else work, contexts)
        if name != "synchronizations":
            steps.take(name, work)
        tables.add(name, _declared(name, work))
    tables.small["steps"] = steps.steps()
    tables.add("api_calls", _declared("api_calls", calls))
    tables.small |= _as_given(raw)
    return {name: tables.small[name] for name in TABLES if name in tables.small and tables.small[name].height}


def _as_given(raw: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables that need no more than an order, and what is known of devices."""
    orders = {"allocations": "time_ns", "counters": "time_ns", "collectives": "kernel_id"}
    tables = {name: _declared(name, raw.pop(name).sort(order)) for name, order in orders.items() if name in raw}
    if "devices" in raw:
        tables["devices"] = complete_devices(TABLES["devices"].without("rank").conform(raw["devices"]))
    return tables


def _look_ahead(
    raw: dict[str, pl.DataFrame], calls: pl.DataFrame, said: Future[pl.DataFrame], main_process: int, *, has_ops: bool
) -> tuple[Callers, dict[str, pl.DataFrame]]:
    """What linking needs, said by a thread of its own while calls are placed in spans: callers, and each table's calls.

    Leaves device work as it is linked, kernels classified where no op could tell more than their names. For tables that
    are held anyway: it is as much as a tenth of them.
    """
    callers = Callers(calls.with_columns(*said.result()))
    for name in _WORK_IDS.keys() & raw.keys():
        raw[name] = _of_processes(raw[name], name, callers, main_process)
    if "kernels" in raw and not has_ops:
        raw["kernels"] = _classified(raw["kernels"], None)
    return callers, {name: callers.find(raw[name]) for name in _WORK_IDS if name in raw}


def _of_processes(work: pl.DataFrame, name: str, callers: Callers, main_process: int) -> pl.DataFrame:
    """Device work in order, with its process."""
    return callers.fill_process(_by_start(_filled(work, name, ("correlation_id",))), main_process)


class _Tables:
    """Finished tables: the small ones here, the others in the store where there is one."""

    def __init__(self, store: Store | None, diagnostics: Diagnostics) -> None:
        self.small: dict[str, pl.DataFrame] = {}
        self._store, self._diagnostics = store, diagnostics

    def add(self, name: str, frame: pl.DataFrame) -> None:
        """Take a finished table that may be large."""
        if self._store is None:
            self.small[name] = frame
        elif frame.height:
            self._store.put(TABLES[name], clean_frame(name, frame, self._diagnostics))


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


def _said_of_calls(raw_api: pl.Series) -> pl.DataFrame:
    """The api and kind of each call."""
    raw = as_categories(raw_api)
    rows, places = told_apart(raw.to_physical())
    distinct = raw.gather(rows).cast(pl.String).to_frame().select(api=strip_version(pl.first()))
    said = distinct.with_columns(kind=api_kind(pl.col("api"))).cast(pl.Categorical)
    return said.select(pl.all().gather(places))


def _most_frequent(processes: pl.Series) -> int:
    """The process of most rows, 0 where none is known; mostly there is one, which needs no counting."""
    found = processes.min()
    if found != processes.max():
        found = processes.mode().min()
    return found if isinstance(found, int) else 0


def _by_start(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by start; most profilers write them so, and then they stay where they are."""
    return frame if frame["start_ns"].is_sorted() else frame.sort("start_ns", maintain_order=True)


def _nested(spans: pl.DataFrame, calls: pl.DataFrame, diagnostics: Diagnostics) -> tuple[pl.DataFrame, pl.Series]:
    """Spans with ids, parents, depth, self time, modules and phases; and the span id around each call."""
    result = nest(_times(spans), _times(calls))
    diagnostics.add(
        "info", "spans_overlap", "spans that start inside another and outlast it; not nested in it", result.n_overlaps
    )
    diagnostics.add(
        "info",
        "calls_unreturned",
        "Python calls still open at the end though their caller went on",
        result.n_unreturned,
    )
    parent = _none_below(result.parent).alias("parent_id")
    spans = spans.drop("parent_hint", strict=False).with_row_index("span_id")
    spans = spans.with_columns(
        parent,
        pl.Series("depth", result.depth, dtype=pl.Int32).shrink_dtype(),
        pl.Series("self_ns", result.self_ns, dtype=pl.Int64).shrink_dtype(),
    )
    enclosing = _none_below(result.call_span).alias("span_id")
    del result
    if "module_path" not in spans.columns or spans["module_path"].null_count() == spans.height:
        paths, n_ambiguous = mark_modules(spans, parent)
        diagnostics.add(
            "info", "backward_ambiguous", "autograd nodes whose forward op could be on several threads", n_ambiguous
        )
        spans = spans.with_columns(paths.alias("module_path"))
    return spans.with_columns(mark_phases(spans, parent)), enclosing


def _times(frame: pl.DataFrame) -> pl.DataFrame:
    """What nesting looks at."""
    names = ["process_id", "thread_id", "start_ns", "duration_ns"]
    hint = [pl.col("parent_hint").cast(pl.Int64)] if "parent_hint" in frame.columns else []
    return frame.select(*names, *hint)


def _none_below(rows: Sequence[int] | pl.Series) -> pl.Series:
    """Row numbers with -1 as null, as narrow as Polars takes them."""
    series = rows if isinstance(rows, pl.Series) else pl.Series("row", rows, dtype=pl.Int64)
    return series.set(series < 0, None).cast(pl.get_index_type())


def _contexts(spans: pl.DataFrame) -> pl.Series | None:
    """The name of the innermost op around each span, itself included; `triton` where the profiler knows it for one."""
    if not spans.height:
        return None
    ops = spans.select(
        pl.when(pl.col("kind") == "op").then(
            pl.when(pl.col("backend") == "triton").then(pl.lit("triton")).otherwise(pl.col("name"))
        )
    ).to_series()
    return nearest(spans["parent_id"], as_categories(ops))


def _classified(kernels: pl.DataFrame, contexts: pl.Series | None) -> pl.DataFrame:
    """Kernels with library, primitive and is_communication, judged by name and by the op that launched them, once."""
    if "library" in kernels.columns:
        return kernels
    classes = classify(kernels["name"], None if contexts is None else contexts.gather(kernels["span_id"]))
    return kernels.with_columns(classes.select("library", "primitive", "is_communication"))
