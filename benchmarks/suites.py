"""Run the parts of the benchmark: each makes inputs, races contenders, and removes the inputs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from benchmarks.bench import Bench, Contender, peer, tracelens
from benchmarks.contenders import HTA_PARSERS, installed
from benchmarks.layouts import LAYOUTS
from benchmarks.machine import memory_bytes
from benchmarks.results import Row
from benchmarks.suite_compile import compile_provenance
from benchmarks.suite_gdb import gdb_hits
from benchmarks.suite_hta import hta_ranks
from benchmarks.suite_live import live_capture
from benchmarks.suite_ranks import many_ranks
from benchmarks.suite_shapes import odd_shapes
from benchmarks.suite_sizes import installed_sizes
from tracelens.native import LIBRARY

COLLECT = "tracelens collect torch"
PLAIN_PYTHON = f"{COLLECT}, without the native library"
HTA = "HTA TraceAnalysis"
ORJSON = "orjson.loads, garbage collector off"
ORJSON_GC = "orjson.loads"
JSON = "json.loads"
COLLECT_NSYS = "tracelens collect nsys"
MASKING = "masking secrets"
CONNECTORX = "connectorx, same columns"
POLARS = "polars, read and write"
REPLAY, REPLAYED_EVENTS = "replay", 20_000
_ROOT = Path(__file__).resolve().parents[1]
_STACKS = _ROOT / "samples" / "stacks"
_MANY_MB = 400
"""At larger sizes, contenders that take longer than a quarter of a minute run once only."""
PAGE, PAGE_MILLIONS = "report --html", 5
"""The page, and how many millions of kernels it is timed on."""
_TRAINING = _ROOT / "samples" / "torch" / "resnet50_train_f64_pageable.pt.trace.json.gz"
_PYTHON_OBJECTS = 7.5
"""Bytes of memory that a byte of JSON needs as Python objects, at most (seen: 5.5 to 6.8)."""


def collect_torch(bench: Bench) -> None:
    """Time tracelens, its slow path and the peers on traces of every size, plain and compressed."""
    for size in bench.settings.sizes_mb:
        for suffix in (".json", ".json.gz"):
            trace = bench.folder / f"trace{suffix}"
            printed = bench.make("benchmarks.enlarge", str(trace), "--megabytes", str(size)).said
            form = "gzip" if suffix == ".json.gz" else "plain"
            row = Row("collect torch", "", f"{size:g} MB {form}", printed["bytes"] / 1e6, "MB")
            bench.race(
                [
                    *_collectors(bench, trace, size),
                    *_peers(bench, trace, size),
                ],
                row,
            )
            trace.unlink()


def _collect(trace: Path) -> Contender:
    return Contender(
        COLLECT,
        tracelens("collect", "torch", str(trace), "--out", "{out}"),
    )


def _collectors(bench: Bench, trace: Path, size: float) -> list[Contender]:
    """Return tracelens and, for plain traces only, tracelens without the native library."""
    warm = _collect(trace)
    bench.once(warm)
    if trace.suffix == ".gz":
        return [warm]
    if LIBRARY is None:
        bench.leave_out(PLAIN_PYTHON, "the native library is not there to be left out")
        return [warm]
    return [
        warm,
        Contender(
            PLAIN_PYTHON,
            warm.command,
            native="off",
            is_slow=size > _MANY_MB,
        ),
    ]


def _peers(bench: Bench, trace: Path, size: float) -> list[Contender]:
    if size > bench.settings.peer_limit_mb or size * 1e6 * _PYTHON_OBJECTS > memory_bytes(
        "MemAvailable"
    ):
        bench.leave_out(
            f"peers at {size:g} MB",
            "a trace as Python objects needs up to 7.5 bytes a byte of JSON",
        )
        return []
    packed = trace.suffix == ".gz"
    contenders = (
        []
        if packed
        else [
            Contender(
                JSON,
                peer("json_loads", str(trace)),
                is_slow=size > _MANY_MB,
            )
        ]
    )
    if installed("orjson"):
        contenders.append(Contender(ORJSON_GC, peer("orjson_loads", "on", str(trace))))
        contenders.append(Contender(ORJSON, peer("orjson_loads", "off", str(trace))))
    else:
        bench.leave_out("orjson", "it is not installed")
    if not installed("hta"):
        bench.leave_out(HTA, "it is not installed")
        return contenders
    return contenders + _hta(bench, trace, size)


def _hta(bench: Bench, trace: Path, size: float) -> list[Contender]:
    """List HTA's parsers for a trace; they take minutes.

    All race on the smallest plain trace. On other traces one races, and of compressed traces only
    on the largest.
    """
    sizes = [s for s in bench.settings.sizes_mb if s <= bench.settings.peer_limit_mb]
    if trace.suffix == ".gz" and size != max(sizes):
        return []
    every = size == min(sizes) and trace.suffix == ".json"
    contenders = []
    for parser in HTA_PARSERS if every else HTA_PARSERS[:1]:
        if parser.startswith("ijson") and not installed("ijson"):
            bench.leave_out(f"{HTA}, {parser}", "ijson is not installed")
            continue
        name = HTA if parser == "json" else f"{HTA}, {parser}"
        contenders.append(
            Contender(
                name,
                peer("hta", parser, str(trace)),
                is_slow=True,
            )
        )
    return contenders


def layouts(bench: Bench) -> None:
    """Collect the same events in every layout."""
    size = bench.settings.layouts_mb
    repetitions = max(2, round(size / 9.5))
    for layout in LAYOUTS:
        trace = bench.folder / "trace.json"
        bench.make(
            "benchmarks.enlarge",
            str(trace),
            "--repetitions",
            str(repetitions),
            "--layout",
            layout,
        )
        bench.race(
            [_collect(trace)],
            Row(
                "layouts",
                "",
                layout,
                round(trace.stat().st_size / 1e6, 1),
                "MB",
            ),
        )
        trace.unlink()


def masking(bench: Bench) -> None:
    """Measure the share of masking secrets in the time to collect the largest compared trace."""
    size = max(size for size in bench.settings.sizes_mb if size <= bench.settings.peer_limit_mb)
    trace = bench.folder / "trace.json"
    printed = bench.make("benchmarks.enlarge", str(trace), "--megabytes", str(size)).said
    contender = Contender(
        MASKING,
        peer("masking", str(trace), "{out}"),
        is_slow=True,
    )
    bench.race(
        [contender],
        Row(MASKING, "", f"{size:g} MB plain", printed["bytes"] / 1e6, "MB"),
    )
    trace.unlink()


def several_files(bench: Bench) -> None:
    """Collect one rank, and four in one command."""
    size = bench.settings.layouts_mb
    files = [bench.folder / f"rank{rank}.json" for rank in range(4)]
    printed = bench.make(
        "benchmarks.enlarge",
        str(files[0]),
        "--megabytes",
        str(size),
    ).said
    for file in files[1:]:
        shutil.copyfile(files[0], file)
    for chosen in (files[:1], files):
        command = tracelens(
            "collect",
            "torch",
            *map(str, chosen),
            "--out",
            "{out}",
        )
        total = len(chosen) * printed["bytes"] / 1e6
        bench.race(
            [Contender(COLLECT, command)],
            Row("several files", "", f"{len(chosen)} of {size:g} MB", total, "MB"),
        )
    for file in files:
        file.unlink()


def collect_nsys(bench: Bench) -> None:
    """Time collecting exports of every size: SQLite beside connectorx, Parquet beside Polars."""
    columns = json.dumps(bench.once(Contender("", peer("wanted_columns"))).said["columns"])
    for millions in bench.settings.nsys_kernels:
        for out in (bench.folder / "export.sqlite", bench.folder / "export_pqtdir"):
            is_sqlite = out.suffix == ".sqlite"
            bench.make(
                "benchmarks.enlarge_nsys",
                str(out),
                "--kernels",
                str(round(millions * 1e6)),
            )
            contenders = [
                Contender(
                    COLLECT_NSYS,
                    tracelens("collect", "nsys", str(out), "--out", "{out}"),
                )
            ]
            if not is_sqlite:
                contenders.append(Contender(POLARS, peer("polars_rewrite", str(out))))
            elif installed("connectorx"):
                contenders.append(
                    Contender(CONNECTORX, peer("connectorx_columns", columns, str(out)))
                )
            else:
                bench.leave_out("connectorx", "it is not installed")
            form = "SQLite" if is_sqlite else "parquetdir"
            bench.race(
                contenders,
                Row(f"collect nsys, {form}", "", f"{millions:g} M kernels", millions, "M kernels"),
            )
            out.unlink() if is_sqlite else shutil.rmtree(out)


def analyses(bench: Bench) -> None:
    """Time opening a trace and each analysis of it, for every number of kernels.

    Then nesting spans, and replaying a step, are timed for one number each.
    """
    base, trace = bench.folder / "base.json", bench.folder / "base.tracelens"
    size = min(100, max(bench.settings.sizes_mb))
    bench.make("benchmarks.enlarge", str(base), "--megabytes", str(size))
    logs = sorted(str(log) for log in _STACKS.glob("*.txt"))
    bench.make(
        "tracelens",
        "collect",
        "files",
        str(base),
        *logs,
        "--out",
        str(trace),
    )
    base.unlink()
    for millions in bench.settings.kernels:
        large = bench.folder / "large.tracelens"
        bench.make(
            "benchmarks.enlarge_tables",
            str(large),
            str(trace),
            "--kernels",
            str(round(millions * 1e6)),
        )
        for name in bench.once(Contender("", peer("analysis_names"))).said["names"]:
            row = Row("analysis", "", f"{millions:g} M kernels", millions, "M kernels")
            for done in bench.race(
                [Contender(name, peer("analysis", name, str(large)))],
                row,
            ):
                if done.said.get("missing"):
                    bench.results.rows.remove(done)
                    bench.leave_out(
                        name,
                        str(done.said["missing"]).split(":")[0],
                    )
        shutil.rmtree(large)
    nesting = Contender(
        "nest",
        peer(
            "nesting",
            str(round(bench.settings.spans * 1e6)),
            str(trace),
        ),
    )
    row = Row(
        "nesting",
        "",
        f"{bench.settings.spans:g} M spans on one thread",
        bench.settings.spans,
        "M spans",
    )
    bench.race([nesting], row)
    replay = Contender(
        REPLAY,
        peer("replay", str(REPLAYED_EVENTS), str(trace)),
    )
    bench.race(
        [replay],
        Row(REPLAY, "", f"{REPLAYED_EVENTS:,} events", REPLAYED_EVENTS, "events"),
    )
    shutil.rmtree(trace)


def report(bench: Bench) -> None:
    """Time the whole text report of collected traces of every size, from start to exit.

    Then the page is timed, on millions of kernels.
    """
    for size in bench.settings.sizes_mb:
        source, trace = bench.folder / "trace.json", bench.folder / "trace.tracelens"
        printed = bench.make("benchmarks.enlarge", str(source), "--megabytes", str(size)).said
        bench.collect("torch", source, trace)
        source.unlink()
        contender = Contender("tracelens report", tracelens("report", str(trace)))
        bench.race(
            [contender],
            Row("report", "", f"{size:g} MB", printed["bytes"] / 1e6, "MB"),
        )
        shutil.rmtree(trace)
    _page(bench)


def _page(bench: Bench) -> None:
    """Time the HTML page of a trace of millions of kernels, with opening it and all analyses.

    The trace's spans are ops; it has no Python calls.
    """
    source, base, large = (
        bench.folder / name for name in ("trace.json", "base.tracelens", "large.tracelens")
    )
    millions = PAGE_MILLIONS if bench.settings.runs > 1 else max(bench.settings.kernels)
    size = min(100, max(bench.settings.sizes_mb))
    bench.make(
        "benchmarks.enlarge",
        str(source),
        str(_TRAINING),
        "--megabytes",
        str(size),
    )
    bench.collect("torch", source, base)
    source.unlink()
    bench.make(
        "benchmarks.enlarge_tables",
        str(large),
        str(base),
        "--kernels",
        str(round(millions * 1e6)),
    )
    shutil.rmtree(base)
    row = Row("page", "", f"{millions:g} M kernels", millions, "M kernels")
    bench.race(
        [Contender(PAGE, peer("page", str(large)))],
        row,
    )
    shutil.rmtree(large)


SUITES = {
    function.__name__: function
    for function in (
        collect_torch,
        layouts,
        masking,
        several_files,
        many_ranks,
        collect_nsys,
        analyses,
        report,
        hta_ranks,
        gdb_hits,
        live_capture,
        compile_provenance,
        odd_shapes,
        installed_sizes,
    )
}
