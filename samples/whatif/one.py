"""One program in this process: `one.py NAME OPTION BATCH TAKES DIR`, started by run.py.

OPTION and BATCH are `-` where there is none. TAKES: `time` (steps without the profiler) or `all`
(the same before and after traces, and the traces). It imports torch, waits for a line, and prints a
line of JSON.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from programs import ON_GPU, PROGRAMS, Steps
from torch.profiler import ProfilerActivity, profile, schedule

N_WARM_UP, N_BLOCKS, BLOCK_S = 8, 7, 0.12
N_SETTLE, N_RECORDED = 3, 4
TRACES = {
    "plain": {},
    "shapes": {"record_shapes": True, "profile_memory": True},
    "stacks": {"record_shapes": True, "with_stack": True, "with_modules": True},
}


def synchronize() -> None:
    """Wait for the device."""
    if ON_GPU:
        torch.cuda.synchronize()


def block_ms(steps: Steps, n: int) -> float:
    """The mean time of a step, of n steps between two waits for the device."""
    synchronize()
    began = time.perf_counter_ns()
    for _ in islice(steps, n):
        pass
    synchronize()
    return (time.perf_counter_ns() - began) / n / 1e6


def timed(steps: Steps) -> dict[str, Any]:
    """Times of a step in several blocks of steps, without the profiler."""
    once = max(block_ms(steps, 3), 1e-3)
    n = max(4, min(60, round(BLOCK_S * 1e3 / once)))
    blocks = [round(block_ms(steps, n), 4) for _ in range(N_BLOCKS)]
    return {"n_steps": n, "median_ms": statistics.median(blocks), "blocks_ms": blocks}


def trace(steps: Steps, options: dict[str, Any], path: Path) -> None:
    """Record some steps."""
    synchronize()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if ON_GPU else [])]
    plan = schedule(wait=0, warmup=N_SETTLE, active=N_RECORDED, repeat=1)
    with profile(
        activities=activities,
        schedule=plan,
        on_trace_ready=lambda profiler: write(profiler, path),
        **options,
    ) as profiler:
        for _ in islice(steps, N_SETTLE + N_RECORDED):
            profiler.step()


def write(profiler: profile, path: Path) -> None:
    """Export a trace, compressed, without this machine's name and folders."""
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / path.name.removesuffix(".gz")
        profiler.export_chrome_trace(str(exported))
        text = exported.read_text().replace(folder + "/", "")
    text = re.sub(r'"/[^"\n]*?/(?:site-packages|dist-packages|lib/python[\d.]+)/', '"', text)
    text = re.sub(r'"host_name": "[^"]*"', '"host_name": "host"', text)
    text = re.sub(r'"/(?:[^"/\n ]+/)+([^"/\n]*)"', r'"\1"', text)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


def main() -> None:
    """Run the program once told to go on."""
    name, option, batch, takes, out = sys.argv[1:]
    sys.stdin.readline()
    torch.zeros(1, device="cuda" if ON_GPU else "cpu")
    chosen = PROGRAMS[name]
    settings = {**chosen.settings, **({} if batch == "-" else {"batch": int(batch)})}
    steps = chosen.steps(None if option == "-" else option, **settings)
    for _ in islice(steps, N_WARM_UP):
        pass
    result: dict[str, Any] = {"program": name, "option": option, "batch": batch, "takes": takes}
    result["before"] = timed(steps)
    if takes == "all":
        result["files"] = {}
        for kind, options in TRACES.items():
            stem = name if batch == "-" else f"{name}.b{batch}"
            path = Path(out) / f"{stem}.{kind}.pt.trace.json.gz"
            trace(steps, options, path)
            result["files"][kind] = path.name
        result["after"] = timed(steps)
    print(json.dumps(result), flush=True)
    steps.close()


if __name__ == "__main__":
    main()
