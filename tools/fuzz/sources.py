"""Damage sources of every kind, and trace directories, at random.

    python -m tools.fuzz.sources INPUTS [NAME [FIRST]]

judging.py decides whether an input passes. `python -m tools.fuzz.sources 1 NAME NUMBER` tries one
input again.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sys
from pathlib import Path

from tests.fast_and_slow import same_of_file
from tests.nsys_exports import (
    KERNEL,
    MEMCPY,
    MEMSET,
    NVTX,
    RUNTIME,
    SYNCHRONIZATION,
    call,
    gpu,
    kernel,
    packed,
    rewrite,
    strings,
    version,
    write,
)
from tests.test_gdb import SIMPLE
from tests.test_jax import EVENTS
from tests.test_live_sidecar import BESIDE, MODULES
from tests.test_rocprof import as_json, as_rocpd
from tests.test_torch_cuts import completes, n_read, whole_events
from tests.test_trace_log import LOG
from tools.fuzz import traces
from tools.fuzz.changes import change_bytes, change_lines, change_values
from tools.fuzz.exports import change_columns, change_database, change_end, change_pages
from tools.fuzz.judging import Source, advise, export, plan, query, try_all
from tracelens.native import LIBRARY

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
_REAL = [
    file
    for folder in (SAMPLES, SAMPLES.parents[1] / "shared" / "data")
    for file in folder.glob("nsys/*.sqlite")
]
"""Exports that nsys itself wrote, from samples/ and from captures outside of the checkout."""
_TORCH = ("little_work", "compute_memory.stacks", "compute_cuda_graph", "comm_all_reduce.rank0")
_WORK = {
    "start": 240,
    "end": 300,
    "deviceId": 0,
    "contextId": 1,
    "streamId": 7,
    "globalPid": packed(7),
}
_EXPORT = {
    "StringIds": strings(
        "cudaLaunchKernel_v7000", "gemm", "relu", "step 0", "cudaMemcpyAsync_v3020"
    ),
    "META_DATA_EXPORT": version("3.20.3"),
    "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 1_700_000_000_000_000_000}],
    "TARGET_INFO_GPU": [gpu(0)],
    "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 0, "cudaId": 0, "pid": 7}],
    "DIAGNOSTIC_EVENT": [
        {"source": 1, "severity": 2, "text": "events were lost", "timestamp": 5, "timestampType": 1}
    ],
    RUNTIME: [
        call(
            20 * i,
            20 * i + 9,
            1 if i % 3 else 5,
            i,
            packed(7, 8 + i % 2),
        )
        for i in range(20)
    ],
    KERNEL: [
        kernel(
            20 * i + 12,
            20 * i + 25,
            2 + i % 2,
            i,
            registersPerThread=32,
        )
        for i in range(20)
        if i % 3
    ],
    MEMCPY: (
        [_WORK | {"correlationId": 3, "bytes": 4096, "copyKind": 1, "srcKind": 0, "dstKind": 2}] * 3
    ),
    MEMSET: [_WORK | {"correlationId": 6, "bytes": 512, "value": 0, "memKind": 2}],
    SYNCHRONIZATION: [_WORK | {"correlationId": 9, "syncType": 3, "eventId": 1}],
    NVTX: [
        {
            "start": 100 * i,
            "end": 100 * i + 90,
            "eventType": 59,
            "text": f"step {i}",
            "globalTid": packed(7, 8),
        }
        for i in range(4)
    ]
    + [
        {
            "start": 10,
            "end": 30,
            "eventType": 59,
            "textId": 2,
            "globalTid": packed(7, 8),
        }
    ],
}


def torch_text(folder: Path, chance: random.Random) -> Path:
    """Write a trace of torch.profiler."""
    sample = SAMPLES / "planted" / "captures" / f"{chance.choice(_TORCH)}.pt.trace.json.gz"
    path = folder / "run.pt.trace.json"
    path.write_bytes(gzip.decompress(sample.read_bytes()))
    return path


def cut(path: Path, chance: random.Random) -> str:
    """Cut the text after its first few events; compress half of the texts as gzip."""
    content = path.read_bytes()
    first = content.index(b'"traceEvents"') + 1000
    content = content[: chance.randrange(first, len(content) - 1)]
    if chance.random() < 0.5:
        content = gzip.compress(content, 1)
    path.write_bytes(content)
    return f"cut to {len(content)} bytes"


def keeps_whole_events(path: Path) -> None:
    """Check that all complete events before the cut are read, and that the cut is reported."""
    content = path.read_bytes()
    content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    n_kept, is_complete, codes = n_read(path)
    # The json module decides which events are complete.
    assert n_kept == completes(whole_events(content))
    assert not is_complete
    assert codes["trace_cut"] == 1


def gzipped(path: Path, chance: random.Random) -> str:
    """Compress the text as gzip, and damage the compressed file."""
    path.write_bytes(gzip.compress(path.read_bytes()))
    return change_bytes(path, chance)


def live(folder: Path, _: random.Random) -> Path:
    """Write a trace with the sidecar of a live capture beside it; return the sidecar."""
    (folder / "run.pt.trace.json").write_text(json.dumps({"traceEvents": MODULES}))
    times = {
        "unprofiled_step_ns": {"n": 4, "median": 2_290_000},
        "profiled_step_ns": {"n": 3, "mean": 8_150_000},
    }
    (folder / "run.live.json").write_text(json.dumps(BESIDE | times))
    return folder / "run.pt.trace.json"


def beside(path: Path, chance: random.Random) -> str:
    """Damage the sidecar, not the trace."""
    return chance.choice([change_bytes, change_values])(path.with_name("run.live.json"), chance)


def database(folder: Path, chance: random.Random) -> Path:
    """Write an nsys export as SQLite, most often a small one."""
    if chance.random() < 0.1:
        return real_database(folder, chance)
    return write(folder / "run.sqlite", _EXPORT)


def real_database(folder: Path, chance: random.Random) -> Path:
    """Copy an export that nsys wrote for a real program."""
    return shutil.copyfile(chance.choice(_REAL), folder / "run.sqlite")


def real_folder(folder: Path, chance: random.Random) -> Path:
    """Copy an export of a real program, as a directory of Parquet or Arrow files."""
    kind, ending = chance.choice([("run_pqtdir", ".parquet"), ("run_arwdir", ".arrow")])
    return rewrite(real_database(folder, chance), folder / kind, ending)


def parquetdir(folder: Path, _: random.Random) -> Path:
    """Write an nsys export as a directory of Parquet files."""
    return rewrite(write(folder / "run.sqlite", _EXPORT), folder / "run_pqtdir", ".parquet")


def arrowdir(folder: Path, _: random.Random) -> Path:
    """Write an nsys export as a directory of Arrow streams."""
    return rewrite(write(folder / "run.sqlite", _EXPORT), folder / "run_arwdir", ".arrow")


def gdb_log(folder: Path, chance: random.Random) -> Path:
    """Write a log of gdb."""
    sample = SAMPLES / "stacks" / "h200_torch211_cudnn_v8.txt"
    path = folder / "stacks.txt"
    path.write_text(chance.choice([SIMPLE, sample.read_text()]))
    return path


def provenance(folder: Path, _: random.Random) -> Path:
    """Write a sidecar of --compile-provenance."""
    node = {
        "node": "n",
        "aten_op": "aten.mm",
        "module_path": "fc",
        "rule": "nn_module_stack",
        "output_bytes": 64,
    }
    calls = [
        {
            "name": f"triton_{i}",
            "is_extern": i % 2 == 0,
            "nodes": [node] * i,
        }
        for i in range(3)
    ]
    graphs = [{"key": f"f{i}", "is_backward": i == 1, "calls": calls} for i in range(2)]
    about = {
        "format": "tracelens-provenance",
        "version": 1,
        "torch": "2.11.0",
        "rank": 0,
        "notes": ["a", "b"],
    }
    path = folder / "run.provenance.json"
    path.write_text(json.dumps(about | {"graphs": graphs}, indent=1))
    return path


def graph(folder: Path, chance: random.Random) -> Path:
    """Write a sidecar of --graph."""
    shape = {
        "dtype": "float32",
        "strides": [64, 1],
        "module_path": "fc",
        "alias_of": None,
    }
    nodes = [
        shape
        | {
            "node": f"n{i}",
            "op": chance.choice(["aten.mm", "aten.relu", "aten.view"]),
            "shape": [2, 64],
        }
        | {
            "inputs": [f"n{i - 1}" if i else None, None],
            "arguments": [None, [1, -1]],
            "is_input": i == 0,
        }
        | {"is_output": i == 4}
        for i in range(5)
    ]
    about = {
        "format": "tracelens-graph",
        "version": 1,
        "torch": "2.11.0",
        "rank": 0,
        "notes": ["a"],
    }
    path = folder / "run.graph.json"
    path.write_text(
        json.dumps(
            about | {"graph_key": "g", "source": "export", "nodes": nodes},
            indent=1,
        )
    )
    return path


def compile_log(folder: Path, _: random.Random) -> Path:
    """Write a structured log of torch."""
    path = folder / "dedicated_log_torch_trace_rank_2_abc.log"
    path.write_text(LOG)
    return path


def jax_trace(folder: Path, chance: random.Random) -> Path:
    """Write a trace of jax.profiler: a recorded trace of a CPU, or a synthetic trace of a GPU."""
    path = folder / "host.trace.json"
    sample = gzip.decompress((SAMPLES / "jax" / "perceptron.trace.json.gz").read_bytes())
    about = {"metadata": {"highres-ticks": True}, "traceEvents": EVENTS}
    path.write_bytes(chance.choice([sample, json.dumps(about, indent=1).encode()]))
    return path


def rocprof_json(folder: Path, _: random.Random) -> Path:
    """Write rocprofv3's JSON."""
    return as_json(folder / "70_results.json")


def rocpd(folder: Path, _: random.Random) -> Path:
    """Write a rocpd file of rocprofv3."""
    return as_rocpd(folder / "70_results.db")


_TEXT = (change_bytes, change_values, change_values, change_lines, gzipped)
SOURCES = {
    "torch": Source("torch", torch_text, _TEXT, holds=same_of_file if LIBRARY else None),
    "cuts": Source("torch", torch_text, (cut,), holds=keeps_whole_events),
    "live": Source("torch", live, (beside,)),
    "sqlite": Source("nsys", database, (change_bytes, change_database, change_database)),
    "parquetdir": Source(
        "nsys",
        parquetdir,
        (change_bytes, change_columns, change_columns, change_end, change_pages),
    ),
    "arrowdir": Source(
        "nsys", arrowdir, (change_bytes, change_columns, change_columns, change_end)
    ),
    "jax": Source("jax", jax_trace, _TEXT),
    "rocprof": Source("rocprof", rocprof_json, _TEXT[:-1]),
    "rocpd": Source("rocprof", rocpd, (change_bytes, change_database, change_database)),
    "gdb": Source("gdb", gdb_log, _TEXT[:-1]),
    "provenance": Source("provenance", provenance, _TEXT),
    "trace_log": Source("trace_log", compile_log, _TEXT[:-1]),
    "graph": Source("graph", graph, _TEXT),
    "nsys_real": Source("nsys", real_database, (change_bytes, change_database, change_database)),
    "nsys_real_dir": Source(
        "nsys", real_folder, (change_bytes, change_columns, change_columns, change_end)
    ),
    "commands": Source(
        None,
        traces.asked,
        traces.CHANGES,
        (advise, plan, export, query),
    ),
    "traces": Source(None, traces.copied, (*traces.CHANGES, change_pages)),
}

if __name__ == "__main__":
    sys.exit(try_all(SOURCES, "tools.fuzz.sources"))
