"""Run one planted program in this process: `one.py NAME TAKES DIR`.

run.py starts it and sets its environment. TAKES is any of time (steps without the profiler), plain
and stacks (a trace without and with Python stacks), joined by commas; the result is a line of JSON
on standard output. `one.py --list` prints the table of programs.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Generator
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from parts import DEVICE, ON_GPU, Program
from programs import PROGRAMS
from torch.profiler import ProfilerActivity, profile, record_function, schedule

N_WARM_UP = 5
# steps in which the profiler is ready but does not record, and loaders use up what they read ahead
N_SETTLE = 4
N_RECORDED = 3


def synchronize_all() -> None:
    """Wait for every device."""
    for device in range(torch.cuda.device_count() if ON_GPU else 0):
        torch.cuda.synchronize(device)


def step_ms(steps: Generator[None], rounds: int) -> float:
    """Time three steps by the host's clock, several times; return the median time of a step.

    The device is synchronized at both ends.
    """
    took = []
    for _ in range(rounds):
        synchronize_all()
        began = time.perf_counter_ns()
        for _ in islice(steps, N_RECORDED):
            pass
        synchronize_all()
        took.append((time.perf_counter_ns() - began) / N_RECORDED / 1e6)
    return statistics.median(took)


def trace(program: Program, steps: Generator[None], stacks: bool, path: Path) -> None:
    """Record three steps with the program's marks, and write the trace without paths."""
    options: dict[str, Any] = {
        "activities": [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if ON_GPU else [])],
        "record_shapes": True,
        "with_stack": stacks,
        "with_modules": stacks,
        "on_trace_ready": lambda profiler: write(profiler, path),
    }
    if program.marks == "profiler":
        n_settle = 1 if program.fresh or program.rounds == 1 else N_SETTLE
        plan = schedule(wait=0, warmup=n_settle, active=N_RECORDED, repeat=1)
        with profile(schedule=plan, **options) as profiler:
            for _ in islice(steps, n_settle + N_RECORDED):
                profiler.step()
        return
    with profile(
        activities=options["activities"]
    ):  # a process's first profiler takes long to start
        next(steps)
    synchronize_all()
    with profile(**options):
        for i in range(N_RECORDED):
            with record_function(f"step {i}"):
                next(steps)


def write(profiler: profile, path: Path) -> None:
    """Export a compressed trace without this machine's folders."""
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / path.name.removesuffix(".gz")
        profiler.export_chrome_trace(str(exported))
        text = clean(exported.read_text().replace(folder + "/", ""))
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


def clean(text: str) -> str:
    """Shorten a trace's paths to what follows the packages' folder, or to the file's name.

    Host names are removed.
    """
    text = re.sub(r'"/[^"\n]*?/(?:site-packages|dist-packages|lib/python[\d.]+)/', '"', text)
    text = re.sub(r'"host_name": "[^"]*"', '"host_name": "host"', text)
    return re.sub(r'"/(?:[^"/\n ]+/)+([^"/\n]*)"', r'"\1"', text)


def n_warm_up(program: Program, takes: list[str]) -> int:
    """Count the steps before the measured ones.

    If the planted cause is in the first steps, there is one when steps are timed, and none for a
    trace, which begins with a warm-up step of its own.
    """
    if program.fresh:
        return int(takes == ["time"])
    return 1 if program.rounds == 1 else N_WARM_UP


def measure(program: Program, takes: list[str], out: Path) -> dict[str, Any]:
    """Take the requested measurements in this order: time, plain, stacks."""
    rank = int(os.environ.get("RANK", "0"))
    files: dict[str, str] = {}
    took = None
    torch.zeros(1, device=DEVICE)
    steps = program.steps()
    for _ in islice(steps, n_warm_up(program, takes)):
        pass
    if "time" in takes:
        took = round(step_ms(steps, 1 if program.fresh else program.rounds), 4)
    for take in ("plain", "stacks"):
        if take in takes:
            parts = [
                program.name,
                *([f"rank{rank}"] if program.ranks > 1 else []),
                *(["stacks"] * (take == "stacks")),
            ]
            files[take] = ".".join(parts) + ".pt.trace.json.gz"
            synchronize_all()
            trace(program, steps, take == "stacks", out / files[take])
    synchronize_all()
    steps.close()
    return {"program": program.name, "rank": rank, "step_ms": took, "files": files}


def listed() -> dict[str, Any]:
    """Return the table of programs for JSON, and versions."""
    fields = {name: dataclasses.asdict(program) for name, program in PROGRAMS.items()}
    for row in fields.values():
        del row["steps"]
    found = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if ON_GPU else "cpu",
    }
    for package in ("numpy", "triton"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {"programs": fields, "versions": found}


def main() -> None:
    """Wait for the signal to start and run one program, or print the table."""
    if sys.argv[1] == "--list":
        print(json.dumps(listed()))
        return
    name, takes, out = sys.argv[1:]
    program = PROGRAMS[name]
    sys.stdin.readline()
    if program.needs_gpu and not ON_GPU:
        print("needs a GPU")
        return
    if program.ranks > 1:
        if ON_GPU:
            torch.cuda.set_device(int(os.environ["RANK"]))
        dist.init_process_group("nccl" if ON_GPU else "gloo")
    print(json.dumps(measure(program, takes.split(","), Path(out))), flush=True)
    if program.ranks > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
