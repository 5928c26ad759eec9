"""Time programs of samples/whatif with and without nsys.

    python samples/nsys/costs/take.py OUT.json [--record]

Every program is timed in blocks of steps between two waits for the device. Then `N_RECORDED` steps
of each are timed in the range of cudaProfilerStart and cudaProfilerStop, or without `--record`
without these two calls. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "whatif"))

from programs import DEVICE, PROGRAMS, Steps

N_WARM_UP, N_BLOCKS, BLOCK_S, N_LEAST, MOST_STEPS = 8, 5, 0.06, 4, 60
N_SETTLE, N_RECORDED, N_OF_LOADER, CYCLE = 4, 16, 6, 24
PUSH, POP = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop


def forever(step: Callable[[], object]) -> Steps:
    """The step again and again."""
    while True:
        step()
        yield


def repeated(call: Callable[[], object], n: int) -> Steps:
    """Steps of so many calls, and a wait for the device."""

    def step() -> None:
        for _ in range(n):
            call()
        torch.cuda.synchronize()

    return forever(step)


def calls() -> Steps:
    """Kernels that do next to nothing."""
    x = torch.zeros(16, device=DEVICE)
    return repeated(lambda: x.add_(1), 300)


def copies() -> Steps:
    """Copies of 64 bytes."""
    x, y = torch.zeros(16, device=DEVICE), torch.ones(16, device=DEVICE)
    return repeated(lambda: x.copy_(y), 200)


def marks() -> Steps:
    """NVTX ranges, one in the other by twos."""

    def two() -> None:
        PUSH("outer")
        PUSH("inner")
        POP()
        POP()

    return repeated(two, 250)


OWN = {
    "calls": calls,
    "events": lambda: repeated(torch.cuda.Event().record, 300),
    "copies": copies,
    "marks": marks,
}
NAMES = [
    "gpt_train_small",
    "gpt_decode",
    "gpt_decode.cuda_graph",
    "conv_infer",
    "conv_infer.cuda_graph",
    "conv_train",
    "mlp_train",
    "sync_item",
    "sync_loss_narrow",
    "copy_small",
    "copy_double",
    "repeat_mixed",
    "vit_infer",
    "input_main",
    "input_one",
]


def steps_of(name: str) -> Steps:
    """The steps of a program, begun."""
    if name in OWN:
        return OWN[name]()
    name, _, option = name.partition(".")
    return PROGRAMS[name].steps(option or None, **PROGRAMS[name].settings)


def block_ms(steps: Steps, n: int) -> float:
    """The mean time of a step, of n steps between two waits for the device."""
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for i in range(n):
        PUSH(f"step {i}")
        next(steps)
        POP()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - began) / n / 1e6


def timed_ms(name: str, steps: Steps) -> float:
    """The median of several blocks of steps."""
    once = max(block_ms(steps, 3), 1e-3)
    if name.startswith("input"):
        return block_ms(steps, CYCLE)
    n = max(N_LEAST, min(MOST_STEPS, round(BLOCK_S * 1e3 / once)))
    return statistics.median(block_ms(steps, n) for _ in range(N_BLOCKS))


def main() -> None:
    """Time every program before, inside and after, and write the times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    running: dict[str, Steps] = {}
    times: dict[str, dict[str, float]] = {}
    for name in [*OWN, *NAMES]:
        running[name] = steps_of(name)
        for _ in islice(running[name], N_WARM_UP):
            pass
        times[name] = {"before": timed_ms(name, running[name])}
    if given.record:
        torch.cuda.cudart().cudaProfilerStart()
    for name, steps in running.items():
        PUSH(f"settle {name}")
        for _ in islice(steps, N_SETTLE):
            pass
        torch.cuda.synchronize()
        POP()
        PUSH(f"program {name}")
        n = N_OF_LOADER if name.startswith("input") else N_RECORDED
        times[name]["inside"] = block_ms(steps, n)
        POP()
    if given.record:
        torch.cuda.cudart().cudaProfilerStop()
        time.sleep(10)  # while nsys writes its report
    for name, steps in running.items():
        times[name]["after"] = timed_ms(name, steps)
    given.out.write_text(json.dumps(times, indent=1))


if __name__ == "__main__":
    main()
