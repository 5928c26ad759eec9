"""Timers around each layer of one execution: by the wall clock, by CUDA events, by ranges of the profiler."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

RANGE = "tracelens layer: "
EXECUTION = "tracelens execution"


class Waits:
    """Waits for the device around each layer, and times nothing."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self._wait = wait

    def begin(self, _: str) -> None:
        """Before a layer's forward pass."""
        self._wait()

    def end(self, _: str) -> None:
        """After it."""
        self._wait()


class WallTimers:
    """Nanoseconds of the wall clock in each layer, summed over its calls; `wait` is called before each reading."""

    clock = "wall"

    def __init__(self, wait: Callable[[], None] | None = None) -> None:
        self.durations: Counter[str] = Counter()
        self._wait = wait
        self._starts: dict[str, int] = {}

    def begin(self, path: str) -> None:
        """Before a layer's forward pass."""
        if self._wait is not None:
            self._wait()
        self._starts[path] = time.perf_counter_ns()

    def end(self, path: str) -> None:
        """After it."""
        if self._wait is not None:
            self._wait()
        self.durations[path] += time.perf_counter_ns() - self._starts[path]

    def read(self) -> dict[str, int]:
        """The durations since the last reading."""
        found = dict(self.durations)
        self.durations.clear()
        return found


class EventTimers:
    """Nanoseconds between two CUDA events around each layer, which the device records as it reaches them."""

    clock = "cuda_event"

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._events: dict[str, list[Any]] = defaultdict(list)

    def begin(self, path: str) -> None:
        """Before a layer's forward pass."""
        self._record(path)

    def end(self, path: str) -> None:
        """After it."""
        self._record(path)

    def _record(self, path: str) -> None:
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        self._events[path].append(event)

    def read(self) -> dict[str, int]:
        """The durations since the last reading; waits for the device."""
        self._torch.cuda.synchronize()
        found = {
            path: round(sum(a.elapsed_time(b) for a, b in zip(events[::2], events[1::2], strict=True)) * 1e6)
            for path, events in self._events.items()
        }
        self._events.clear()
        return found


class Ranges:
    """A range of the profiler around each layer."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._open: dict[str, Any] = {}

    def begin(self, path: str) -> None:
        """Before a layer's forward pass."""
        self._open[path] = self._torch.profiler.record_function(RANGE + path)
        self._open[path].__enter__()

    def end(self, path: str) -> None:
        """After it."""
        self._open.pop(path).__exit__(None, None, None)


Timers = Waits | WallTimers | EventTimers | Ranges


@contextmanager
def around(modules: Mapping[str, Any], timers: Timers) -> Iterator[None]:
    """The timers' begin and end as the innermost hooks of the modules."""

    def before(path: str) -> Callable[..., None]:
        return lambda *_: timers.begin(path)

    def after(path: str) -> Callable[..., None]:
        return lambda *_: timers.end(path)

    handles = [module.register_forward_pre_hook(before(path)) for path, module in modules.items()]
    handles += [module.register_forward_hook(after(path), prepend=True) for path, module in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
