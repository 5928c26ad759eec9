"""One program in this process: `one.py NAME OPTION BATCH TAKES DIR`, started by run.py.

OPTION and BATCH are `-` where there is none. TAKES: `time` (steps without the profiler), `plain`
(the same before and after a trace, and the trace), `all` (likewise with traces of each kind), or
`warm` (one step, so that what it compiles is in PyTorch's cache). It imports torch, waits for a
line, and prints a line of JSON after each result.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from networks import NETWORKS
from programs import ON_GPU, PROGRAMS, Steps
from torch.profiler import ProfilerActivity, profile, schedule

N_WARM_UP, N_BLOCKS, BLOCK_S = 8, 7, 0.1
N_SETTLE, N_RECORDED = 3, 3
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
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        **options,
    ) as profiler:
        for _ in islice(steps, N_SETTLE + N_RECORDED):
            profiler.step()


def main() -> None:
    """Run the program once told to go on."""
    name, option, batch, takes, out = sys.argv[1:]
    chosen = {**PROGRAMS, **NETWORKS}[name]
    if name in NETWORKS:
        import torchvision  # noqa: F401, PLC0415 - before the clock runs
        import transformers  # noqa: F401, PLC0415
    sys.stdin.readline()
    torch.zeros(1, device="cuda" if ON_GPU else "cpu")
    settings = {**chosen.settings, **({} if batch == "-" else {"batch": int(batch)})}
    steps = chosen.steps(None if option == "-" else option, **settings)
    result: dict[str, Any] = {"program": name, "option": option, "batch": batch, "takes": takes}
    if option != "-":
        result["expression"] = chosen.changes[option]
    for _ in islice(steps, 1 if takes == "warm" else N_WARM_UP):
        pass
    if takes != "warm":
        result["before"] = timed(steps)
    kinds = list(TRACES) if takes == "all" else [takes] if takes in TRACES else []
    if kinds:
        result["files"] = {}
        parts = [
            name,
            *([] if option == "-" else [option]),
            *([] if batch == "-" else [f"b{batch}"]),
        ]
        for kind in kinds:
            path = Path(out) / ".".join([*parts, kind, "pt.trace.json"])
            trace(steps, TRACES[kind], path)
            result["files"][kind] = f"{path.name}.gz"
            print(json.dumps(result), flush=True)
        result["after"] = timed(steps)
    print(json.dumps(result), flush=True)
    steps.close()


if __name__ == "__main__":
    main()
