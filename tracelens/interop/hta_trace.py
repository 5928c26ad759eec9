"""Fill HTA's TraceAnalysis from a trace's tables, in frames with HTA's own columns."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import span_trees
from tracelens.trace import Trace

_BASE_NS = 7_889_238 * 10**9
"""Kineto rounds baseTimeNanoseconds down to multiples of this, and writes times relative to it."""
_CATEGORIES = {
    "op": "cpu_op",
    "annotation": "user_annotation",
    "nvtx": "user_annotation",
    "module": "python_function",
    "python": "python_function",
}
_DIRECTIONS = {"h2d": "HtoD", "d2h": "DtoH", "d2d": "DtoD", "p2p": "PtoP", "h2h": "HtoH"}
_WAITS = {
    "event": "Event Sync",
    "stream_wait": "Stream Wait Event",
    "stream": "Stream Sync",
    "context": "Context Sync",
}
_NONE = pl.lit(-1, pl.Int64)
_COLUMNS = {
    "pid": _NONE,
    "tid": _NONE,
    "stream": _NONE,
    "correlation": _NONE,
    "bytes": _NONE,
    "memory_bw_gbps": pl.lit(0.0),
    "wait_on_stream": _NONE,
    "wait_on_cuda_event_record_corr_id": _NONE,
    "external_id": _NONE,
    "python_id": _NONE,
    "python_parent_id": _NONE,
    "collective_name": pl.lit(""),
    "msg_dtype": pl.lit(""),
    "group_size": pl.lit(0),
}
"""HTA's further columns of an event, with their defaults."""
_PROFILER = {
    "ph": "X",
    "cat": "Trace",
    "name": "PyTorch Profiler (0)",
    "pid": "Spans",
    "tid": "PyTorch Profiler",
}
"""The event that Kineto writes for the whole capture, without which HTA cannot write a trace."""


def analysis_of(trace: Trace, *, include_last_profiler_step: bool) -> Any:
    """Return HTA's TraceAnalysis of the trace; see `tracelens.interop.hta`."""
    analysis = import_module("hta.trace_analysis")
    module = import_module("hta.common.trace")
    trace.require("hta", "kernels")
    hta_trace = _trace_class(module.Trace)()
    ranks = trace.manifest.ranks
    hta_trace.trace_files = {rank: f"{trace.name}.rank{rank}.json.gz" for rank in ranks}
    first = trace.kernels["start_ns"].min()
    base_ns = _BASE_NS * (first // _BASE_NS) if isinstance(first, int) else 0
    counters = trace.counters.filter(pl.col("kernel").is_not_null())
    for rank in ranks:
        events = _events(
            trace,
            rank,
            counters.filter(pl.col("rank") == rank),
        )
        hta_trace.symbol_table.add_symbols(
            pl.concat([events["name"].unique(), events["cat"].unique()])
        )
        hta_trace.traces[rank] = _frame(module, hta_trace.symbol_table, _timed(events, base_ns))
        device = import_module("hta.common.trace_parser").infer_gpu_type(
            None, hta_trace.symbol_table.get_sym_id_map()
        )
        hta_trace.meta_data[rank] = {"device_type": device, "baseTimeNanoseconds": base_ns}
    hta_trace.align_and_filter_trace(include_last_profiler_step)
    for rank, frame in hta_trace.traces.items():
        hta_trace.traces[rank] = frame.set_index("index", drop=False).rename_axis(None)
    result = analysis.TraceAnalysis.__new__(analysis.TraceAnalysis)
    result.t = hta_trace
    return result


def _trace_class(reader: Any) -> Any:
    """Return a subclass of HTA's Trace that holds and writes events from a trace's tables."""

    class Handed(reader):  # type: ignore[misc]  # HTA has no types
        def __init__(self) -> None:
            self.trace_path, self.parser_config, self.min_ts, self.is_parsed = "", None, 0, True
            self.traces: dict[int, Any] = {}
            self.meta_data: dict[int, dict[str, Any]] = {}
            self.symbol_table = import_module("hta.common.trace_symbol_table").TraceSymbolTable()

        def parse_traces(self, *_: Any, **__: Any) -> None:
            """Do nothing, because HTA's TraceDiff calls this although the traces are parsed."""

        def get_raw_trace_for_one_rank(self, rank: int = 0) -> dict[str, Any]:
            """Return a rank's events as a Chrome trace.

            An event's position in the list of events is its `index` in HTA's frame.
            """
            frame = self.get_trace(rank)
            symbols = self.symbol_table.get_sym_table()
            events: list[dict[str, Any]] = [
                dict(
                    _PROFILER,
                    ts=self.min_ts,
                    dur=0,
                    args={},
                )
            ]
            events += [
                {"ph": "M", "name": "left_out", "args": {}}
                for _ in range(int(frame["index"].max()))
            ]
            for event in frame.to_dict("records"):
                args = {
                    name: event[name]
                    for name in ("stream", "correlation", "bytes")
                    if event[name] >= 0
                }
                times = {
                    "ts": event["ts"] + self.min_ts,
                    "dur": event["dur"],
                    "pid": event["pid"],
                    "tid": event["tid"],
                }
                names = {
                    "name": symbols[event["name"]],
                    "cat": symbols[event["cat"]],
                }
                events[event["index"]] = {"ph": "X", **names, **times, "args": args}
            return {"schemaVersion": 1, **self.meta_data[rank], "traceEvents": events}

    return Handed


def _events(trace: Trace, rank: int, counters: pl.DataFrame) -> pl.DataFrame:
    """Return a rank's events in HTA's terms: cat, name, start_ns, duration_ns and `_COLUMNS`."""
    is_of_rank = pl.col("rank") == rank
    all_spans = trace.frame("spans")
    spans = next(
        span_trees(all_spans.filter(is_of_rank)),
        all_spans.clear(),
    )
    work = {
        name: trace.frame(name).filter(is_of_rank) for name in ("kernels", "memcpys", "memsets")
    }
    places = pl.concat([events.select(_PLACED) for events in work.values()])
    parts = [
        _spans(spans),
        _calls(trace.frame("api_calls").filter(is_of_rank)),
        _device_work(work, trace.collectives.filter(is_of_rank)),
        _waits(trace.frame("synchronizations").filter(is_of_rank)),
        _profiler_ranges(counters),
        _annotations(spans, places),
    ]
    events = pl.concat(
        [part for part in parts if part.height],
        how="diagonal_relaxed",
    )
    missing = [value.alias(name) for name, value in _COLUMNS.items() if name not in events.columns]
    return events.with_columns(missing).with_columns(
        pl.col(name).fill_null(value) for name, value in _COLUMNS.items()
    )


def _device_work(work: Mapping[str, pl.DataFrame], collectives: pl.DataFrame) -> pl.DataFrame:
    """Return the kernels, copies and fills of a rank, in order of start."""
    groups = collectives.select(
        "kernel_id",
        "group_size",
        collective_name="name",
        msg_dtype=pl.col("dtype").fill_null(""),
    )
    kernels = work["kernels"].join(groups, on="kernel_id", how="left", maintain_order="left")
    memories = [pl.col(f"{end}_memory").str.to_titlecase() for end in ("source", "destination")]
    direction = pl.col("direction").replace(_DIRECTIONS)
    copy_name = pl.format("Memcpy {} ({} -> {})", direction, *memories)
    memory = pl.col("memory").fill_null("unknown").str.to_titlecase()
    fill_name = pl.format("Memset ({})", memory)
    events = (
        _on_device(kernels, "kernel", "name"),
        _on_device(work["memcpys"], "gpu_memcpy", copy_name),
        _on_device(work["memsets"], "gpu_memset", fill_name),
    )
    # HTA takes the last of a graph's nodes as the work that its launch started.
    return pl.concat(events, how="diagonal_relaxed").sort("start_ns", maintain_order=True)


def _spans(spans: pl.DataFrame) -> pl.DataFrame:
    is_python = spans["kind"].is_in(["python", "module"])
    parent = spans["parent_id"]
    callers = nearest_row(parent, is_python).gather(parent)
    return spans.select(
        "name",
        "start_ns",
        "duration_ns",
        "external_id",
        cat=pl.coalesce(
            pl.col("kind").replace_strict(_CATEGORIES, default=None),
            "category",
            pl.lit("other"),
        ),
        pid="process_id",
        tid="thread_id",
        python_id=pl.when(is_python).then("span_id"),
        python_parent_id=pl.when(is_python).then(callers),
    )


def _calls(calls: pl.DataFrame) -> pl.DataFrame:
    source = (
        pl.when(pl.col("source_api") == "driver")
        .then(pl.lit("cuda_driver"))
        .otherwise(pl.lit("cuda_runtime"))
    )
    return calls.select(
        "start_ns",
        "duration_ns",
        cat=source,
        name="raw_api",
        pid="process_id",
        tid="thread_id",
        correlation="correlation_id",
    )


def _on_device(
    work: pl.DataFrame,
    category: str,
    name: str | pl.Expr,
) -> pl.DataFrame:
    is_sized = "size_bytes" in work.columns
    duration_ns = pl.col("duration_ns")
    size_bytes = pl.col("size_bytes")
    rate = pl.when(duration_ns > 0).then(size_bytes / duration_ns) if is_sized else None
    stream = pl.col("stream_id").fill_null(0)  # HTA takes work without a stream as work of the host
    return work.select(
        "start_ns",
        "duration_ns",
        *(
            column
            for column in ("collective_name", "msg_dtype", "group_size")
            if column in work.columns
        ),
        *([size_bytes.alias("bytes"), rate.alias("memory_bw_gbps")] if rate is not None else []),
        cat=pl.lit(category),
        name=name,
        pid="device_id",
        tid=stream,
        stream=stream,
        correlation="correlation_id",
    )


def _waits(waits: pl.DataFrame) -> pl.DataFrame:
    return waits.select(
        "start_ns",
        "duration_ns",
        cat=pl.lit("cuda_sync"),
        name=pl.col("kind").replace(_WAITS),
        pid="device_id",
        tid="stream_id",
        stream="stream_id",
        correlation="correlation_id",
        wait_on_stream="waited_stream_id",
        wait_on_cuda_event_record_corr_id="waited_correlation_id",
    )


def _profiler_ranges(counters: pl.DataFrame) -> pl.DataFrame:
    """Return one row per profiled kernel, with one column per counter."""
    keys = ["time_ns", "duration_ns", "device_id", "kernel"]
    if not counters.height:
        return counters.select(keys)
    return (
        counters.pivot("name", index=keys, values="value", maintain_order=True)
        .rename({"time_ns": "start_ns", "kernel": "name", "device_id": "pid"})
        .with_columns(
            cat=pl.lit("cuda_profiler_range"),
            tid=pl.lit(0),
        )
    )


_PLACED = ("span_id", "device_id", "stream_id", "start_ns", "duration_ns")


def _annotations(spans: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """Return Kineto's events of category gpu_user_annotation, one per annotation and stream.

    An event lasts from the first start to the last end of the stream's work that was launched
    directly in the annotation.
    """
    marks = (spans["category"] == "user_annotation").fill_null(value=False)
    names = spans.select("span_id", mark=nearest_row(spans["parent_id"], marks)).drop_nulls("mark")
    of_mark = work.join(names, on="span_id").with_columns(
        end=pl.col("start_ns") + pl.col("duration_ns")
    )
    ranges = of_mark.group_by("mark", "device_id", "stream_id", maintain_order=True).agg(
        # Kineto's events are one nanosecond wider at both ends.
        pl.min("start_ns") - 1,
        duration_ns=pl.max("end") - pl.min("start_ns") + 2,
    )
    return ranges.sort("start_ns").select(
        "start_ns",
        "duration_ns",
        cat=pl.lit("gpu_user_annotation"),
        name=pl.lit(spans["name"]).gather("mark"),
        pid="device_id",
        tid="stream_id",
    )


def _timed(events: pl.DataFrame, base_ns: int) -> pl.DataFrame:
    """Return events with `ts` and `dur` in microseconds, rounded by HTA's rule.

    The values are the floats that HTA would parse from a file.
    """
    # Polars multiplies by 0.001 instead, which may not give the float nearest to the digits.
    ts, dur = (
        (events[name] - base).to_numpy() / 1000
        for name, base in (("start_ns", base_ns), ("duration_ns", 0))
    )
    timed = events.with_columns(ts=pl.Series(ts), dur=pl.Series(dur))
    has_fractions = (events["start_ns"] % 1000 != 0).any() or (
        events["duration_ns"] % 1000 != 0
    ).any()
    if has_fractions and not import_module("hta.configs.env_options").disable_ns_rounding():
        start = pl.col("ts").ceil()
        end = (pl.col("ts") + pl.col("dur")).floor()
        timed = timed.with_columns(ts=start, dur=end - start)
    return timed.drop("start_ns", "duration_ns").with_row_index("index", offset=1)


def _frame(module: Any, symbols: Any, events: pl.DataFrame) -> Any:
    """Return the events as HTA's pandas frame.

    `name` and `cat` become numbers of HTA's symbol table. Added columns: iteration (the step),
    end, and index_correlation: for a launch the `index` of its kernel, for a kernel the `index` of
    its launch.
    """
    known = symbols.get_sym_id_map()
    numbers = [
        pl.col(name).replace_strict(known, return_dtype=pl.Int64) for name in ("cat", "name")
    ]
    counted = pl.exclude(*_COLUMNS, "index", "ts", "dur", "cat", "name").fill_null(-1)
    frame = events.with_columns(
        pl.col("index").cast(pl.Int64),
        *numbers,
        counted,
    ).to_pandas()
    frame.index = frame["index"]
    frame = module.transform_correlation_to_index(frame, symbols)
    frame["iteration"] = _iterations(frame, symbols.get_sym_table())
    frame["end"] = frame["ts"] + frame["dur"]
    return frame


def _iterations(frame: Any, symbols: list[str]) -> np.ndarray[Any, Any]:
    """Return the step of each event by HTA's rules, -1 without a step.

    A host event belongs to the step in which it lies, a device event to the step of its launch.
    """
    # HTA's function compares every event with every step in Python, so it is replaced.
    steps = {
        i: int(name[13:])
        for i, name in enumerate(symbols)
        if name.startswith("ProfilerStep#") and name[13:].isdigit()
    }
    names = frame["name"].to_numpy()
    starts = frame["ts"].to_numpy()
    order = np.argsort(starts, kind="stable")
    step_of_row = np.full(len(frame), -1)
    for row in np.flatnonzero(np.isin(names, list(steps))):
        low, high = np.searchsorted(
            starts,
            [
                starts[row],
                starts[row] + frame["dur"].iat[row],
            ],
            sorter=order,
        )
        step_of_row[order[low:high]] = steps[names[row]]
    linked = frame["index_correlation"].to_numpy()
    is_work = frame["stream"].to_numpy() >= 0
    # An event's index is its row number, counted from 1.
    return np.where(
        is_work,
        np.where(linked > 0, step_of_row[linked - 1], -1),
        step_of_row,
    )
