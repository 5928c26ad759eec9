# ruff: noqa: PLC0415 - a contender pays for its own imports only
"""Time one contender in this process: `python -m benchmarks.contenders NAME ARGUMENTS...`.

Each prints one line of JSON with the `seconds` of its work. Peers are timed without starting Python
and importing libraries, which favours them: `tracelens collect` is timed from start to exit.
"""

from __future__ import annotations

import gc
import gzip
import importlib
import importlib.util
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Said = dict[str, Any]
HTA_PARSERS = ("json", "ijson", "ijson_batched", "ijson_batch_and_compress")


def hta(parser: str, trace: str) -> Said:
    """Let HTA's TraceAnalysis read and prepare a trace; run none of its analyses."""
    # Not import statements: HTA ships no types, and where it is not installed a type checker
    # stumbles.
    backend = importlib.import_module("hta.configs.parser_config").ParserBackend(parser)
    importlib.import_module("hta.common.trace_parser").set_default_trace_parsing_backend(backend)
    prepare = importlib.import_module("hta.trace_analysis").TraceAnalysis
    begin = time.perf_counter()
    analysis = prepare(trace_files={0: trace}, trace_dir="")
    return {
        "seconds": time.perf_counter() - begin,
        "rows": len(analysis.t.traces[0]),
    }


def hta_ranks(folder: str) -> Said:
    """Let HTA's TraceAnalysis read a folder of ranks, in as many processes as it chooses."""
    prepare = importlib.import_module("hta.trace_analysis").TraceAnalysis
    files = {
        int(file.name.split(".")[0].removeprefix("rank")): str(file)
        for file in Path(folder).iterdir()
    }
    begin = time.perf_counter()
    analysis = prepare(trace_files=files, trace_dir=folder)
    return {
        "seconds": time.perf_counter() - begin,
        "rows": sum(map(len, analysis.t.traces.values())),
    }


def hta_handed(trace: str) -> Said:
    """Open a collected trace, and make HTA's TraceAnalysis of it."""
    import tracelens as tl

    importlib.import_module("hta.trace_analysis")
    hta = tl.interop.hta
    begin = time.perf_counter()
    analysis = hta(tl.open(trace))
    return {
        "seconds": time.perf_counter() - begin,
        "rows": sum(map(len, analysis.t.traces.values())),
    }


def job(sources: str, out: str) -> Said:
    """Collect a job in processes of this machine; return also the peak memory of the driver."""
    from tracelens.jobs.engines import engine_of
    from tracelens.jobs.job import Job, collect_job

    begin = time.perf_counter()
    trace, failed = collect_job(
        Job(sources, out),
        engine_of("local"),
        lambda _: None,
    )
    seconds = time.perf_counter() - begin
    driver = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "ranks": len(trace.manifest.ranks),
        "failed": len(failed),
        "driver_mb": driver / 1024,
    }


def masking(trace: str, out: str) -> Said:
    """Collect a trace five times; return the least share of processor time that masking took.

    Masking looks for secrets in names and texts. It takes less than two runs differ, so its share
    is of the same run's time.
    """
    import shutil

    from tracelens.cli.collect.request import Request, write_files
    from tracelens.trace import cleaning

    masked_s = 0.0

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            nonlocal masked_s
            begin = time.process_time()
            try:
                return function(*arguments)
            finally:
                masked_s += time.process_time() - begin

        return run

    for name in ("_clean_frame", "_clean_value"):
        setattr(cleaning, name, timed(getattr(cleaning, name)))
    masked = []
    for _ in range(5):
        masked_s, begin = 0.0, time.process_time()
        write_files(
            [Path(trace)],
            "torch",
            Request(Path(out), force=False, ranks=None),
        )
        seconds = time.process_time() - begin
        masked.append((masked_s / seconds, seconds))
        shutil.rmtree(out)
    share, seconds = min(masked)
    return {"seconds": seconds, "masked_frac": round(share, 4)}


def page(trace: str) -> Said:
    """Write the HTML page of a trace, and return its size."""
    from tracelens.report import build_report
    from tracelens.trace import Trace
    from tracelens.views.formats import FORMATS
    from tracelens.views.formats.format import Screen

    begin = time.perf_counter()
    written = FORMATS["html"].write(
        build_report(Trace.open(trace)),
        Screen(rows=FORMATS["html"].rows),
    )
    seconds = time.perf_counter() - begin
    assert isinstance(written, str)
    return {"seconds": seconds, "page_mb": len(written.encode()) / 1e6}


def json_loads(trace: str) -> Said:
    """Parse with the standard library; also return the time to read and decompress."""
    return _parsed(json.loads, trace)


def orjson_loads(collect_garbage: str, trace: str) -> Said:
    """Parse into Python objects with orjson, the fastest general JSON parser for Python."""
    import orjson

    if collect_garbage == "off":
        gc.disable()
    return _parsed(orjson.loads, trace)


def _parsed(loads: Callable[[bytes], Any], trace: str) -> Said:
    begin = time.perf_counter()
    text = (
        gzip.decompress(Path(trace).read_bytes())
        if trace.endswith(".gz")
        else Path(trace).read_bytes()
    )
    read = time.perf_counter()
    parsed = loads(text)
    end = time.perf_counter()
    return {
        "seconds": end - read,
        "read_s": read - begin,
        "rows": len(parsed["traceEvents"]),
    }


def connectorx_columns(wanted: str, export: str) -> Said:
    """Read with connectorx, into Arrow, the columns of an export that tracelens also reads.

    Tables that connectorx cannot read are left out.
    """
    import connectorx

    queries = []
    for table, columns in json.loads(wanted).items():
        names = ", ".join(f'"{column}"' for column in columns)
        queries.append(f'SELECT {names} FROM "{table}"')  # noqa: S608 - names from the file itself
    left_out = 0
    begin = time.perf_counter()
    for query in queries:
        try:
            connectorx.read_sql(f"sqlite://{export}", query, return_type="arrow")
        except Exception:  # noqa: BLE001 - it refuses text columns that start with NULLs
            left_out += 1
    return {
        "seconds": time.perf_counter() - begin,
        "queries": len(queries),
        "left_out": left_out,
    }


def wanted_columns() -> Said:
    """Return, by table, the columns that the collector reads from an export."""
    from benchmarks.enlarge_nsys import SAMPLE
    from tracelens.collectors import nsys
    from tracelens.collectors.nsys.export import Export

    asked: dict[str, list[str]] = {}
    original = Export.chunks

    def recorded(self: Export, table: str, columns: Any) -> Any:
        available = [c for c in columns if c in self.columns.get(table, ())]
        if available:
            asked[table] = list(dict.fromkeys([*asked.get(table, []), *available]))
        return original(self, table, columns)

    Export.chunks = recorded  # type: ignore[method-assign]
    try:
        nsys.read(SAMPLE)
    finally:
        Export.chunks = original  # type: ignore[method-assign]
    return {"columns": asked}


def polars_rewrite(folder: str) -> Said:
    """Read every Parquet file of a directory with Polars and write it again."""
    import polars as pl

    with tempfile.TemporaryDirectory(dir=Path(folder).parent) as out:
        begin = time.perf_counter()
        for file in sorted(Path(folder).glob("*.parquet")):
            pl.read_parquet(file).write_parquet(Path(out) / file.name, compression="zstd")
        return {"seconds": time.perf_counter() - begin}


def analysis(name: str, folder: str) -> Said:
    """Open a trace and run one analysis, with its notes.

    An analysis of two traces gets the same trace twice.
    """
    from tracelens.analyses import ANALYSES
    from tracelens.report import run_section
    from tracelens.trace import Trace

    chosen = ANALYSES[name]
    begin = time.perf_counter()
    trace = Trace.open(folder)
    base = Trace.open(folder) if chosen.is_pair or chosen.takes_base else None
    section = run_section(chosen, trace, base)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "rows": section.frame.height, "missing": section.missing}


def analysis_names() -> Said:
    """Return the names of all analyses."""
    from tracelens.analyses import ANALYSES

    return {"names": list(ANALYSES)}


def nesting(n_spans: str, folder: str) -> Said:
    """Nest `n_spans` spans: copies of the busiest thread's spans, one after the other."""
    import polars as pl

    from tracelens.derive.events.nesting import nest
    from tracelens.trace import Trace

    spans = Trace.open(folder).spans.select("process_id", "thread_id", "start_ns", "duration_ns")
    thread = spans.group_by("process_id", "thread_id").len().sort("len").tail(1)
    spans = spans.join(
        thread.drop("len"),
        on=["process_id", "thread_id"],
        how="semi",
    )
    length = int((spans["start_ns"] + spans["duration_ns"]).max() - spans["start_ns"].min()) + 1000  # type: ignore[operator,arg-type]
    turns = pl.DataFrame(
        {
            "turn": pl.int_range(
                -(-int(n_spans) // spans.height),
                eager=True,
            )
        }
    )
    many = (
        turns.join(spans, how="cross")
        .with_columns(pl.col("start_ns") + pl.col("turn") * length)
        .drop("turn")
    )
    many = many.head(int(n_spans))
    calls = many.clear()
    nest(many.head(1000), calls)
    begin = time.perf_counter()
    result = nest(many, calls)
    return {
        "seconds": time.perf_counter() - begin,
        "rows": many.height,
        "overlaps": result.n_overlaps,
    }


def replay(n_events: str, folder: str) -> Said:
    """Replay a step of `n_events` events: copies of the trace's replay, one after the other.

    An event has two moments, its begin and its end.
    """
    import numpy as np

    from tracelens.derive.replay.moment_graph import MomentGraph, earliest_times
    from tracelens.derive.replay.replay import replays
    from tracelens.trace import Trace

    graph = next(iter(replays(Trace.open(folder)).values())).table.graph
    n_copies = -(-2 * int(n_events) // graph.n_moments)
    copies = np.arange(n_copies, dtype=np.int64)[:, None]
    offsets = (graph.offsets[:-1] + copies * graph.offsets[-1]).ravel()
    large = MomentGraph(
        np.append(offsets, n_copies * graph.offsets[-1]),
        (graph.sources + copies * graph.n_moments).ravel(),
        np.tile(graph.weights, n_copies),
    )
    begin = time.perf_counter()
    earliest_times(large)
    return {"seconds": time.perf_counter() - begin, "moments": large.n_moments}


def nvml_sampler() -> Said:
    """Measure the processor time that sampling takes, as a share of a core. The GPU is idle."""
    from tracelens.running.nvml import Sampler

    begin = time.perf_counter()
    with Sampler() as sampler:
        time.sleep(10)
    capture = sampler.capture()
    results: Said = {
        "seconds": time.perf_counter() - begin,
        "cpu_frac": capture.settings.get("cpu_frac"),
    }
    if "counters" not in capture.tables:
        results["missing"] = capture.reasons["counters"]
    return results


def installed(*modules: str) -> bool:
    """Return whether all of the modules could be imported."""
    return all(importlib.util.find_spec(module) is not None for module in modules)


CONTENDERS: dict[str, Callable[..., Said]] = {
    function.__name__: function
    for function in (
        hta,
        hta_ranks,
        hta_handed,
        job,
        masking,
        page,
        json_loads,
        orjson_loads,
        wanted_columns,
        connectorx_columns,
        polars_rewrite,
        analysis_names,
        analysis,
        nesting,
        replay,
        nvml_sampler,
    )
}

if __name__ == "__main__":
    print(json.dumps(CONTENDERS[sys.argv[1]](*sys.argv[2:])))
