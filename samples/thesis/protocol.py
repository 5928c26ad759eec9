"""Time a run: the thesis's protocol, kernel time, and compile time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from tracelens.advisor.plan import compile_module

ROUNDS, EXECUTIONS = 10, 2
"""The thesis's protocol: medians over ten rounds of two executions."""
WARMUP_ROUNDS = 2


def timed_ms(run: Callable[[], Any], device: str) -> dict[str, float]:
    """Time an execution by the protocol in ms: median and quartiles; on a GPU by CUDA events."""
    rounds = []
    for number in range(WARMUP_ROUNDS + ROUNDS):
        executions = []
        for _ in range(EXECUTIONS):
            if device == "cuda":
                start = torch.cuda.Event(enable_timing=True)
                end = torch.cuda.Event(enable_timing=True)
                torch.cuda.synchronize()
                start.record()
                run()
                end.record()
                end.synchronize()
                executions.append(start.elapsed_time(end))
            else:
                began = time.perf_counter_ns()
                run()
                executions.append((time.perf_counter_ns() - began) / 1e6)
        if number >= WARMUP_ROUNDS:
            rounds.append(statistics.median(executions))
    low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive")
    return {"p25_ms": low, "median_ms": middle, "p75_ms": high}


def kernel_ms(run: Callable[[], Any], executions: int = 5) -> dict[str, float]:
    """Return milliseconds of an execution's kernels by the first words of their names.

    The profiler measures them on the GPU.
    """
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as recording:
        for _ in range(executions):
            run()
        torch.cuda.synchronize()
    sums: dict[str, float] = {}
    for event in recording.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            without_types, _, _ = event.name.removeprefix("void ").partition("<")
            name = without_types.partition("(")[0][:80]
            duration_ms = event.device_time_total / 1000 / executions
            sums[name] = sums.get(name, 0.0) + duration_ms
    return sums


def compiled(network: Any, mode: str, x: Any) -> tuple[Any, float]:
    """Compile the model and run it once; returns it with the seconds that this took."""
    # Every module here is compiled several times; after eight times, Dynamo would run it eager
    # without a warning.
    config = torch._dynamo.config  # noqa: SLF001 - the documented place of these settings
    config.recompile_limit = config.accumulated_recompile_limit = 4096
    result = torch.compile(network, mode=None if mode == "default" else mode)
    began = time.perf_counter()
    result(x)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return result, time.perf_counter() - began


def region_ns(device: str) -> float:
    """Return the host's cost of calling a compiled region.

    It is the time of a tiny compiled region minus the time of its eager call.
    """
    x = torch.zeros(8, device=device)
    eager, region = torch.nn.ReLU(), torch.nn.ReLU()
    compile_module(region)
    medians = []
    for module in (eager, region):
        times = []
        for _ in range(220):
            began = time.perf_counter_ns()
            module(x)
            times.append(time.perf_counter_ns() - began)
        medians.append(statistics.median(times[20:]))
    return medians[1] - medians[0]
