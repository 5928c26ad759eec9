"""Timing one execution, and each layer in it: by the wall clock, by CUDA events, by ranges of the profiler."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

RANGE = "tracelens layer: "
EXECUTION = "tracelens execution"


def clocked(run: Callable[[], Any], wait: Callable[[], None]) -> int:
    """Nanoseconds that `run` takes, from an idle device until it is idle again; `wait` waits for the device."""
    wait()
    start = time.perf_counter_ns()
    run()
    wait()
    return time.perf_counter_ns() - start


@contextmanager
def around(
    modules: Mapping[str, Any], begin: Callable[[str], Any], end: Callable[[str], Any] | None = None
) -> Iterator[None]:
    """Call `begin(path)` before and `end(path)` after every forward pass of the modules, as their innermost hooks."""

    def hook(call: Callable[[str], Any], path: str) -> Callable[..., None]:
        def called(*_: Any) -> None:
            call(path)

        return called

    handles = [module.register_forward_pre_hook(hook(begin, path)) for path, module in modules.items()]
    if end is not None:
        handles += [module.register_forward_hook(hook(end, path), prepend=True) for path, module in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class WallTimers:
    """Wall-clock nanoseconds in each layer, summed over its calls; `wait` is called before the clock is read."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self.durations: Counter[str] = Counter()
        self._wait = wait
        self._starts: dict[str, int] = {}

    def begin(self, path: str) -> None:
        """Before a layer's forward pass."""
        self._wait()
        self._starts[path] = time.perf_counter_ns()

    def end(self, path: str) -> None:
        """After a layer's forward pass."""
        self._wait()
        self.durations[path] += time.perf_counter_ns() - self._starts[path]

    def read(self) -> dict[str, int]:
        """The durations since the last reading."""
        found = dict(self.durations)
        self.durations.clear()
        return found


class EventTimers:
    """Nanoseconds between two CUDA events around each layer, which the device records as it reaches them."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._events: dict[str, list[Any]] = defaultdict(list)

    def record(self, path: str) -> None:
        """Before and after a layer's forward pass."""
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
        """After a layer's forward pass."""
        self._open.pop(path).__exit__(None, None, None)
