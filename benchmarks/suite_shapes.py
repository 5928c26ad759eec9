"""Time unusual traces, each at two sizes, that once took far too much time or memory."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator

from benchmarks.bench import Bench, Contender, tracelens
from benchmarks.results import Row
from tracelens.storage.limits import MODULES, TRACES

GROUP, COLLECT, REPORT = "odd shapes", "tracelens collect torch", "tracelens report --all"
_EVENT = b'{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
_DOCUMENT = b'{"traceEvents": [' + _EVENT + b"]}\n"


def odd_shapes(bench: Bench) -> None:
    """Collect each shape, compressed where the original attack was."""
    for name, text in shapes():
        packed = name.endswith("gzip")
        source = bench.folder / f"shape.json{'.gz' if packed else ''}"
        source.write_bytes(gzip.compress(text) if packed else text)
        contender = Contender(
            COLLECT,
            tracelens("collect", "torch", str(source), "--out", "{out}"),
        )
        bench.race(
            [contender],
            Row(GROUP, "", f"{name}, {source.stat().st_size / 1e3:.0f} kB", len(text) / 1e6, "MB"),
        )
        source.unlink()
    for n in (300_000, 3_000_000) if bench.settings.runs > 1 else (30_000, 300_000):
        _report_of_names(bench, n)


def _report_of_names(bench: Bench, n: int) -> None:
    """Race the report of a trace in which all names of ops and kernels differ."""
    source, trace = bench.folder / "names.json", bench.folder / "names.tracelens"
    with source.open("w") as stream:
        stream.writelines(named(n))
    bench.collect("torch", source, trace)
    contender = Contender(
        REPORT,
        tracelens("report", "--all", str(trace)),
        is_slow=True,
    )
    bench.race(
        [contender],
        Row(
            GROUP,
            "",
            f"{n} names",
            round(source.stat().st_size / 1e6, 1),
            "MB",
        ),
    )
    source.unlink()
    shutil.rmtree(trace)


def named(n: int) -> Iterator[str]:
    """Yield the lines of a trace of `n` ops that launch a kernel each; every name occurs once."""
    yield '{"traceEvents": [\n'
    for i in range(n):
        start, host = 20 * i, '"ph": "X", "pid": 1, "tid": 1'
        yield (
            f'{{{host}, "cat": "cpu_op", "name": "op_{i}", "ts": {start + 1}, "dur": 5}},\n'
            f'{{{host}, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": {start + 2},'
            f' "dur": 3, "args": {{"correlation": {i + 1}}}}},\n'
            f'{{"ph": "X", "cat": "kernel", "name": "kernel_{i}", "pid": 0, "tid": 7,'
            f' "ts": {start + 7}, "dur": {4 + i % 9},'
            f' "args": {{"device": 0, "stream": 7, "correlation": {i + 1}}}}}'
            f"{',' if i < n - 1 else ''}\n"
        )
    yield "]}"


def shapes() -> Iterator[tuple[str, bytes]]:
    """Yield name and text of each shape, at two sizes.

    The second text is ten times as long as the first; at most, it reaches a limit of the collector.
    """
    for n in (40_000, 400_000):
        yield (
            "`{},` repeated, gzip",
            b'{"traceEvents": [' + _EVENT + b"," + b"{}," * n + _EVENT + b"]}",
        )
    for n in (10_000, 100_000):
        yield '`{"ph":` repeated', b'{"traceEvents": [' + _EVENT + b"," + b'{"ph":' * n
    for n in (TRACES.value // 10, TRACES.value):
        yield f"{n} documents in one file", _DOCUMENT * n
    for n in (MODULES.value // 10, MODULES.value):
        yield f"{n} nested modules", nested(n)
    for n in (200, 2_000):
        yield f"{n} threads of 3 events", launched(n, thread=True)
    for n in (1_000, 10_000):
        yield f"{n} streams", launched(n, stream=True)
        yield f"{n} processes", launched(n, process=True)
        yield f"{n} steps", launched(n, step=True)


def launched(
    n: int,
    *,
    thread: bool = False,
    stream: bool = False,
    process: bool = False,
    step: bool = False,
) -> bytes:
    """Return a trace of `n` ops that launch a kernel each.

    If asked, each has a thread, stream, process or step of its own.
    """
    events: list[dict[str, object]] = []
    for i in range(n):
        host = {
            "ph": "X",
            "pid": i if process else 1,
            "tid": i if thread else 1,
        }
        start, called = 20 * i, {"correlation": i + 1}
        on_device = called | {"device": 0, "stream": i if stream else 7}
        events += [
            host | {"cat": "cpu_op", "name": "aten::mm", "ts": start + 1, "dur": 5},
            host
            | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": start + 2, "dur": 3}
            | {"args": called},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7}
            | {"ts": start + 7, "dur": 4, "args": on_device},
        ]
        if step:
            mark = {"cat": "user_annotation", "name": f"ProfilerStep#{i}", "ts": start, "dur": 15}
            events.append(host | mark)
    return json.dumps({"traceEvents": events}).encode()


def nested(n: int) -> bytes:
    """Return a trace of `n` modules, each called in the one before."""
    events = [
        {
            "ph": "X",
            "cat": "python_function",
            "name": f"nn.Module: M_{i}",
            "ts": i,
            "dur": 10 * n - 2 * i,
            "pid": 1,
            "tid": 1,
            "args": {"Python id": i + 1, "Python parent id": i or None, "Python module id": 0},
        }
        for i in range(n)
    ]
    return json.dumps({"traceEvents": events}).encode()
