"""Record a program's run with exact times, in torch.profiler's format.

One host thread drives a device with streams.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LATENCY_US = 3.0
"""Time from the start of a launching call to the start of its work on an idle stream."""
HOST, THREAD, COMPUTE = 4000, 4000, 7
"""Default process, thread and stream."""

Event = dict[str, Any]


class Recorder:
    """Events of one process; all times in microseconds.

    `now` is the host's clock, which calls and ops advance. `free` says when each stream has
    finished its work.
    """

    def __init__(
        self,
        *,
        device: int = 0,
        hip: bool = False,
        prefix: str | None = None,
        runtime: str = "cuda_runtime",
        first_correlation: int = 0,
        **facts: Any,
    ) -> None:
        """Start at 1 s; `facts` are further keys of the file, besides its events.

        `prefix` begins the names of calls, `runtime` is their category; correlation ids count up
        from the first.
        """
        self.now = 1_000_000.0
        self.free: dict[int, float] = {}
        self.events: list[Event] = []
        self._device, self._correlation = device, first_correlation
        self._prefix, self._runtime = prefix or ("hip" if hip else "cuda"), runtime
        name = "AMD Instinct MI300X" if hip else "NVIDIA H100"
        self._facts = {"deviceProperties": [{"id": device, "name": name}]} | facts

    def host(self, us: float) -> None:
        """Advance the host's clock without recording an event."""
        self.now += us

    @contextmanager
    def span(self, name: str, category: str = "cpu_op") -> Iterator[None]:
        """Record an op, or a user_annotation, around the block."""
        start = self.now
        yield
        self._add(name, category, start, self.now - start, HOST, THREAD, {})

    def call(self, name: str, us: float, category: str = "cuda_runtime") -> int:
        """Record an API call and return its correlation id.

        The name comes without the API's prefix.
        """
        self._correlation += 1
        prefix = "cu" if category == "cuda_driver" else self._prefix
        category = self._runtime if category == "cuda_runtime" else category
        category = category if name[0].isupper() else "mtia_runtime"
        full = f"{prefix}{name}" if name[0].isupper() else name
        args = {"correlation": self._correlation}
        self._add(full, category, self.now, us, HOST, THREAD, args)
        self.now += us
        return self._correlation

    def work(self, name: str, us: float, correlation: int, **options: Any) -> float:
        """Record device work and return its end.

        It starts at least `LATENCY_US` after its call began.
        """
        stream = int(options.pop("stream", COMPUTE))
        category = str(options.pop("category", "kernel"))
        earliest = float(options.pop("earliest", 0.0))
        start = max(self.free.get(stream, 0.0) + float(options.pop("gap", 0.0)), earliest)
        args = {"device": self._device, "stream": stream, "correlation": correlation} | options
        if category == "kernel":
            args = {"grid": [132, 1, 1], "block": [256, 1, 1]} | args
        self._add(name, category, start, us, self._device, stream, args)
        self.free[stream] = start + us
        return start + us

    def launch(self, kernel: str, us: float, *, cost: float = 5.0, **options: Any) -> float:
        """Launch a kernel; return when the kernel ends.

        The call takes the host `cost`.
        """
        began = self.now
        correlation = self.call(str(options.pop("api", "LaunchKernel")), cost)
        earliest = max(began + LATENCY_US, options.pop("earliest", 0.0))
        return self.work(kernel, us, correlation, earliest=earliest, **options)

    def op(
        self, name: str, kernel: str, us: float, *, host_us: float = 10.0, **options: Any
    ) -> None:
        """Run an op that takes the host `host_us` and launches one kernel."""
        with self.span(name):
            self.host(max(host_us - 5.0, 0.0))
            self.launch(kernel, us, **options)

    def copy(self, us: float, size: int, **options: Any) -> None:
        """Copy pinned memory to the device, asynchronously."""
        began = self.now
        correlation = self.call("MemcpyAsync", 5.0)
        self.work(
            "Memcpy HtoD (Pinned -> Device)",
            us,
            correlation,
            category="gpu_memcpy",
            earliest=began + LATENCY_US,
            bytes=size,
            **options,
        )

    def graph(self, kernels: list[tuple[str, float]], *, gap: float, **options: Any) -> None:
        """Replay a graph of these kernels, with a gap before each except the first."""
        began = self.now
        correlation = self.call("GraphLaunch", 12.0)
        for at, (name, us) in enumerate(kernels):
            first = max(began + LATENCY_US, options.get("earliest", 0.0))
            self.work(name, us, correlation, earliest=first, gap=gap if at else 0.0)

    def synchronize(self, name: str = "StreamSynchronize") -> None:
        """Wait until the device has finished everything."""
        done = max(self.free.values(), default=self.now)
        self.call(name, max(done - self.now, 0.0) + 4.0)

    def keep(
        self, first_us: float, last_us: float, *, device_until_us: float | None = None
    ) -> None:
        """Cut the file as servers do: keep what the host began from first to last, and its work.

        Its work is what those calls launched. If `device_until_us` is given, only work that began
        by then is kept.
        """
        until = float("inf") if device_until_us is None else device_until_us
        on_host = [event for event in self.events if event["pid"] == HOST]
        kept = [event for event in on_host if first_us <= event["ts"] < last_us]
        calls = {event["args"].get("correlation") for event in kept}
        work = [event for event in self.events if event["pid"] != HOST and event["ts"] < until]
        self.events = kept + [event for event in work if event["args"]["correlation"] in calls]

    def write(self, path: Path) -> None:
        """Write the trace, the same bytes each time."""
        document = {"schemaVersion": 1, **self._facts, "traceEvents": self.events}
        text = json.dumps(document, separators=(",", ":"))
        path.write_bytes(gzip.compress(text.encode(), mtime=0))

    def _add(self, name: str, category: str, start: float, us: float, *place: Any) -> None:
        pid, tid, args = place
        keys = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args")
        values = ("X", category, name, pid, tid, round(start, 3), round(us, 3), args)
        self.events.append(dict(zip(keys, values, strict=True)))
