"""Run one program in this process: `one.py NAME OPTIONS BATCHES TAKES DIR`, started by run.py.

OPTIONS and BATCHES are joined by `+`; `-` stands for none. TAKES is `pairs` (steps without the
profiler of each variant, then a trace of each change), `all` (steps, traces of each kind of
profile, and steps again), or `warm` (one step, so that PyTorch's cache holds what it compiles). The
process imports torch, waits for a line of input, and prints one line of JSON per result.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from held_out_hosts import HELD_OUT
from networks import NETWORKS
from programs import ON_GPU, PROGRAMS, Steps
from torch.profiler import ProfilerActivity, profile, schedule

N_WARM_UP, N_BLOCKS, BLOCK_S, N_LEAST = (8, 7, 0.1, 4) if ON_GPU else (1, 1, 0, 1)
N_BLOCKS_OF_LOADER = 2 if ON_GPU else 1
CYCLE = 24 if ON_GPU else 1
"""Steps per block, a multiple of 1 to 4, 6 and 8.

Steps that wait for N workers come in cycles of N, so a block holds whole cycles.
"""
N_SETTLE, N_RECORDED = (3, 3) if ON_GPU else (1, 1)
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
    """Return the mean time of a step over n steps between two synchronizations."""
    synchronize()
    began = time.perf_counter_ns()
    for _ in islice(steps, n):
        pass
    synchronize()
    return (time.perf_counter_ns() - began) / n / 1e6


def timed(steps: Steps, *, waits_for_loader: bool) -> dict[str, Any]:
    """Time steps in several blocks, without the profiler."""
    once = max(block_ms(steps, min(3, N_LEAST)), 1e-3)
    n = max(N_LEAST, min(60, round(BLOCK_S * 1e3 / once)))
    if waits_for_loader:
        n = CYCLE * math.ceil(n / CYCLE)
    n_blocks = N_BLOCKS_OF_LOADER if waits_for_loader else N_BLOCKS
    blocks = [round(block_ms(steps, n), 4) for _ in range(n_blocks)]
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


@dataclass(frozen=True, slots=True)
class Variant:
    """The program unchanged, with an option, or with another batch size."""

    program: str
    option: str
    batch: str

    @property
    def is_plain(self) -> bool:
        """True if this is the unchanged program."""
        return (self.option, self.batch) == ("-", "-")

    @property
    def is_loaded(self) -> bool:
        """True if a loader's workers can make the batches of this program."""
        return self.program.startswith("input_")

    @property
    def waits_for_loader(self) -> bool:
        """True if a loader makes the batches of this variant."""
        return self.is_loaded and self.option != "input_ready"

    def steps(self) -> Steps:
        """Start the program and return its steps."""
        entry = {**PROGRAMS, **NETWORKS, **HELD_OUT}[self.program]
        batch = {} if self.batch == "-" else {"batch": int(self.batch)}
        option = None if self.option == "-" else self.option
        return entry.steps(option, **{**entry.settings, **batch})

    def row(self) -> dict[str, Any]:
        """Return the variant's row in pairs.json, before anything is measured."""
        row: dict[str, Any] = {
            "program": self.program,
            "option": self.option,
            "batch": self.batch,
        }
        if self.option != "-":
            entry = {**PROGRAMS, **NETWORKS, **HELD_OUT}[self.program]
            row["expression"] = entry.changes[self.option]
        return row

    def path(self, kind: str, folder: Path) -> Path:
        """Return the path of a trace of this kind of profile."""
        parts = [self.program]
        parts += [] if self.option == "-" else [self.option]
        parts += [] if self.batch == "-" else [f"b{self.batch}"]
        return folder / ".".join([*parts, kind, "pt.trace.json"])


def say(row: dict[str, Any]) -> None:
    """Print a result; a later one of the same variant replaces it."""
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def measure(variants: list[Variant], takes: str, folder: Path) -> None:
    """Time every variant, then record each; with `all`, time each again afterwards."""
    measured = []
    for variant in variants:
        row = variant.row() | {"takes": takes}
        try:
            steps = variant.steps()
            for _ in islice(steps, 1 if takes == "warm" else N_WARM_UP):
                pass
            if takes != "warm":
                row["before"] = timed(steps, waits_for_loader=variant.waits_for_loader)
            measured.append((variant, row, steps))
        except Exception as error:  # noqa: BLE001 - the other variants go on
            row["error"] = f"{type(error).__name__}: {error}"[:300]
        say(row)
        if variant.is_loaded and takes == "pairs" and "before" in row:
            measured.pop()[2].close()  # workers of several loaders would share the processor
    for variant, row, steps in measured:
        kinds = list(TRACES) if takes == "all" else ["plain"] * (takes == "pairs")
        for kind in [] if takes == "pairs" and variant.is_plain else kinds:
            path = variant.path(kind, folder)
            trace(steps, TRACES[kind], path)
            row.setdefault("files", {})[kind] = f"{path.name}.gz"
            say(row)
        if takes == "all":
            row["after"] = timed(steps, waits_for_loader=variant.waits_for_loader)
            say(row)


def main() -> None:
    """Wait for a line of input, then run the program."""
    name, options, batches, takes, out = sys.argv[1:]
    if name in NETWORKS:
        import torchvision  # noqa: F401, PLC0415 - before the clock runs
        import transformers  # noqa: F401, PLC0415
    variants = [
        Variant(name, option, batch)
        for option in options.split("+")
        for batch in batches.split("+")
    ]
    sys.stdin.readline()
    torch.zeros(1, device="cuda" if ON_GPU else "cpu")
    measure(variants, takes, Path(out))


if __name__ == "__main__":
    main()
