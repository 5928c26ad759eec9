"""Raw frames of one rank, from whichever profiler, into the tables of a trace."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tracelens.capture import Diagnostics
from tracelens.derive.ancestry import nearest
from tracelens.derive.api_names import api_kind, strip_version
from tracelens.derive.device_limits import complete_devices
from tracelens.derive.kernel_classes import classify
from tracelens.derive.linking import fill_process, link_work
from tracelens.derive.modules import list_layers, mark_modules
from tracelens.derive.nesting import nest
from tracelens.derive.steps import mark_phases, mark_steps, step_intervals
from tracelens.schemas import TABLES
from tracelens.schemas.events import RANK

_WORK_IDS = {"kernels": "kernel_id", "memcpys": "memcpy_id", "memsets": "memset_id"}
_OVERFLOW_NS = 86_400 * 10**9


def assemble(raw: dict[str, pl.DataFrame], diagnostics: Diagnostics) -> dict[str, pl.DataFrame]:
    """Tables without the rank column, sorted, with ids, nesting, links, steps, phases, modules and kernel classes.

    `raw` holds what the source gave, by table name, rows in any order; spans may bring parent_hint (row number of the
    recorded caller) and backend, device work may lack process_id. A table the source did not give is left out. Takes
    each frame out of `raw` as it comes to it, so that no table is held twice.
    """
    spans = _filled("spans", raw, ("sequence_number", "forward_thread_id", "backend", "module_path"))
    calls = _filled("api_calls", raw, ("correlation_id",)).sort("start_ns", maintain_order=True)
    calls = calls.with_columns(api=strip_version(pl.col("raw_api"))).with_columns(kind=api_kind(pl.col("api")))
    spans, enclosing = _nested(spans, calls, diagnostics)
    steps = step_intervals(spans)
    spans, calls = mark_steps(spans, steps), mark_steps(calls, steps)
    calls = calls.with_columns(enclosing).with_row_index("api_call_id")
    tables: dict[str, pl.DataFrame] = {"spans": spans, "api_calls": calls, "layers": list_layers(spans)}
    main_process = calls["process_id"].mode().min() if calls.height else spans["process_id"].mode().min()
    fallback = main_process if isinstance(main_process, int) else 0
    for name in ("kernels", "memcpys", "memsets", "synchronizations"):
        if name not in raw:
            continue
        work = fill_process(_filled(name, raw, ("correlation_id",)), calls, fallback).sort(
            "start_ns", maintain_order=True
        )
        work = link_work(work, calls).with_row_index(_WORK_IDS.get(name, "synchronization_id"))
        days = work.filter(pl.col("duration_ns") > _OVERFLOW_NS).height
        diagnostics.add(
            "warning", "duration_overflow", "durations of more than a day: the profiler's counter overflowed", days
        )
        tables[name] = _classified(work, spans) if name == "kernels" else work
    for name in ("allocations", "counters", "collectives"):
        if name in raw:
            tables[name] = raw.pop(name).sort("time_ns" if name != "collectives" else "kernel_id")
    if "devices" in raw:
        tables["devices"] = complete_devices(conform("devices", raw["devices"]))
    return {name: conform(name, tables.pop(name)) for name in list(tables) if tables[name].height}


def conform(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame as the table declares it, without the rank column."""
    with_rank = frame.drop("rank", strict=False).select(pl.lit(0, RANK.dtype).alias("rank"), pl.all())
    return TABLES[name].check(TABLES[name].conform(with_rank)).drop("rank")


def _filled(name: str, raw: dict[str, pl.DataFrame], columns: tuple[str, ...]) -> pl.DataFrame:
    """The raw frame, or an empty one; columns that derivations look at are there, null where the source has none."""
    frame = raw.pop(name, pl.DataFrame())
    if not frame.width:
        frame = TABLES[name].empty().drop("rank", "span_id", "api_call_id", "step", "phase", "kind", strict=False)
        if name == "spans":
            frame = frame.with_columns(kind=pl.lit(None, pl.String))
    schema = TABLES[name].schema
    missing = [pl.lit(None, schema.get(c, pl.String)).alias(c) for c in columns if c not in frame.columns]
    return frame.with_columns(missing)


def _nested(spans: pl.DataFrame, calls: pl.DataFrame, diagnostics: Diagnostics) -> tuple[pl.DataFrame, pl.Series]:
    """Spans with ids, parents, depth, self time, modules and phases; and the span id around each call."""
    result = nest(spans, calls)
    diagnostics.add(
        "info", "spans_overlap", "spans that start inside another and outlast it; not nested in it", result.n_overlaps
    )
    diagnostics.add(
        "info",
        "calls_unreturned",
        "Python calls still open at the end though their caller went on",
        result.n_unreturned,
    )
    own_order = (
        spans.select("start_ns", "duration_ns")
        .with_row_index("row")
        .sort("start_ns", "duration_ns", "row", descending=[False, True, False])["row"]
        .cast(pl.Int64)
    )
    place = pl.Series("place", own_order.arg_sort(), dtype=pl.Int64)
    parent = place.gather(_none_below(result.parent)).gather(own_order)
    spans = spans.with_columns(
        depth=pl.Series(result.depth, dtype=pl.Int32), self_ns=pl.Series(result.self_ns, dtype=pl.Int64)
    )
    spans = spans[own_order].with_row_index("span_id").with_columns(parent.alias("parent_id"))
    if spans["module_path"].null_count() == spans.height:
        paths, n_ambiguous = mark_modules(spans, parent)
        diagnostics.add(
            "info", "backward_ambiguous", "autograd nodes whose forward op could be on several threads", n_ambiguous
        )
        spans = spans.with_columns(paths.alias("module_path"))
    spans = spans.with_columns(mark_phases(spans, parent))
    return spans, place.gather(_none_below(result.call_span)).alias("span_id")


def _none_below(rows: Sequence[int] | pl.Series) -> pl.Series:
    """Row numbers with -1 as null."""
    series = pl.Series("row", rows, dtype=pl.Int64)
    return series.set(series < 0, None)


def _classified(kernels: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Kernels with library, primitive and is_communication, judged by name and by the op that launched them."""
    ops = spans.select(
        op=pl.when(pl.col("kind") == "op").then(
            pl.when(pl.col("backend") == "triton").then(pl.lit("triton")).otherwise(pl.col("name"))
        )
    ).to_series()
    contexts = nearest(spans["parent_id"], ops).gather(kernels["span_id"]) if spans.height else None
    classes = classify(kernels["name"], contexts)
    return kernels.with_columns(classes.select("library", "primitive", "is_communication"))
