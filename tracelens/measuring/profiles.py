"""Times of layers from torch.profiler: CPU self, CUDA self and CUDA total."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from tracelens.measuring.timers import EXECUTION, RANGE

QUANTITIES = ("CPU_self", "CUDA_self", "CUDA_total")
Sums = dict[str | None, dict[str, int]]
"""Nanoseconds of each quantity by layer, null being the whole model."""


def profiler(torch: Any) -> AbstractContextManager[Any]:
    """The profiler without shapes, stacks or memory."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    found: AbstractContextManager[Any] = torch.profiler.profile(activities=activities)
    return found


def sums_of_executions(events: Iterable[Any]) -> list[Sums]:
    """For each execution in the profile, the sums over the events within it, and within each layer's range.

    CPU_self and CUDA_self are summed over every op and annotation in the range but the ranges themselves, so each
    moment counts once; CUDA_total over the outermost ones.
    """
    executions = sorted((e for e in events if e.name == EXECUTION), key=lambda e: e.time_range.start)
    return [_sums(execution) for execution in executions]


def _sums(execution: Any) -> Sums:
    microseconds: dict[str | None, dict[str, float]] = defaultdict(lambda: dict.fromkeys(QUANTITIES, 0.0))
    for event, path, is_outermost in _below(execution, None, True):
        for place in {None, path}:
            found = microseconds[place]
            found["CPU_self"] += event.self_cpu_time_total
            found["CUDA_self"] += event.self_device_time_total
            found["CUDA_total"] += event.device_time_total if is_outermost else 0
    return {path: {name: round(v * 1000) for name, v in found.items()} for path, found in microseconds.items()}


def _below(event: Any, path: str | None, is_outermost: bool) -> Iterator[tuple[Any, str | None, bool]]:
    """The events below this one, except our own ranges, with their layer and whether they are outermost in it."""
    for child in event.cpu_children:
        if child.name.startswith(RANGE):
            yield from _below(child, child.name.removeprefix(RANGE), is_outermost)
        else:
            yield child, path, is_outermost
            yield from _below(child, path, False)
