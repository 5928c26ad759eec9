"""What torch.profiler adds to each op, Python call and API call, measured: run as a program, prints JSON.

It imports torch and the standard library only, since the program's Python may be another one than
tracelens runs in. Each loop runs with the profiler and without; the difference over the events that
one round records is the cost. About half a minute.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shapes": {"record_shapes": True, "profile_memory": True},
    "stacks": {"record_shapes": True, "with_stack": True, "with_modules": True},
}
_KINDS = {
    "cpu_op": "op",
    "python_function": "python",
    "cuda_runtime": "call",
    "cuda_driver": "call",
}
_N, _REPEATS = 2_000, 5


def host_ops() -> Callable[[], None]:
    """A round of ops that launch nothing."""
    x, y, z = torch.ones(4), torch.ones(4), torch.ones(4)

    def run() -> None:
        for _ in range(_N):
            torch.add(x, y, out=z)

    return run


def python_calls() -> Callable[[], None]:
    """A round of calls of a function of Python."""

    def called() -> None:
        pass

    def run() -> None:
        for _ in range(_N):
            called()

    return run


def launches() -> Callable[[], None]:
    """A round of ops that launch a small kernel each."""
    x, y, z = (torch.ones(4, device="cuda") for _ in range(3))

    def run() -> None:
        for i in range(_N):
            torch.add(x, y, out=z)
            if i % 256 == 255:
                torch.cuda.synchronize()

    return run


def per_round_ns(run: Callable[[], None]) -> float:
    """The time of a round over its repeats, the median of several."""
    times = []
    for _ in range(_REPEATS):
        began = time.perf_counter_ns()
        run()
        times.append((time.perf_counter_ns() - began) / _N)
    return statistics.median(times)


def recorded(run: Callable[[], None], options: dict[str, Any]) -> tuple[float, Counter[str]]:
    """The time of a repeat under the profiler, and how many events of each kind it records."""
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities, **options) as profiler:
        run()
        took = per_round_ns(run)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    counts = Counter(_KINDS[e["cat"]] for e in events if e.get("cat") in _KINDS)
    n_rounds = _N * (_REPEATS + 1)
    return took, Counter({kind: n / n_rounds for kind, n in counts.items()})


def costs(options: dict[str, Any]) -> dict[str, float]:
    """Cost in ns of an op, a Python call and an API call under these options; 0 for what is not recorded."""
    found = {"op": 0.0, "python": 0.0, "call": 0.0}
    loops = [("python", python_calls)] if options.get("with_stack") else []
    loops.append(("op", host_ops))
    if torch.cuda.is_available():
        loops.append(("call", launches))
    for kind, make in loops:
        run = make()
        run()
        bare = per_round_ns(run)
        took, counts = recorded(run, options)
        known = sum(n * found[other] for other, n in counts.items() if other != kind)
        if counts[kind]:
            found[kind] = max((took - bare - known) / counts[kind], 0.0)
    return {f"{kind}_ns": round(ns, 1) for kind, ns in found.items()}


def main() -> None:
    """Print the costs under each set of options, with the versions they hold for."""
    with profile():  # the first profiler of a process takes long to start
        torch.ones(1)
    result: dict[str, Any] = {"torch": torch.__version__, "device": "cpu"}
    if torch.cuda.is_available():
        result["device"] = torch.cuda.get_device_name()
    result["costs"] = {name: costs(options) for name, options in OPTIONS.items()}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
